package jsonspan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// checkSpaced compares Spaced with what Compact does, with and without the
// vector code.
func checkSpaced(t *testing.T, raw []byte) {
	t.Helper()
	if !json.Valid(raw) {
		Spaced(raw) // must not panic
		return
	}
	want := len(Compact(nil, raw)) != len(raw)
	defer func(v bool) { useAVX2 = v }(useAVX2)
	for _, vector := range []bool{useAVX2, false} {
		useAVX2 = vector
		if got := Spaced(raw); got != want {
			t.Fatalf("Spaced(%q) = %v", raw, got)
		}
	}
}

func TestSpaced(t *testing.T) {
	for _, s := range []string{
		`1`, ` 1`, "1\n", `{"a":1}`, `{"a": 1}`, `{"a":" "}`, `{"a b":"c d","e":[1,2]}`, "[1,\n2]", "[1,\r2]", "[1,\t2]",
		`["\" ","x"]`, `["\\" ,"x"]`, `["\\\" "]`, `["\\\" " ]`, `["` + strings.Repeat(`\\`, 50) + `" ]`, `["` + strings.Repeat(`\\`, 50) + `"]`,
		`["ż ó ł ć"]`, `["ż" ]`, `["` + strings.Repeat(" ", 90) + `"]`, `["` + strings.Repeat("x", 90) + `" ]`,
	} {
		// At every place in a block, and over the end of a batch.
		for pad := range blockSize + 1 {
			for _, more := range []int{0, blockSize*spaceBatch - 40} {
				checkSpaced(t, []byte(`["`+strings.Repeat("1", pad+more)+`",`+s+`]`))
				checkSpaced(t, []byte(`[`+s+`,"`+strings.Repeat("1", pad+more)+`"]`))
			}
		}
	}
}

func FuzzSpaced(f *testing.F) {
	f.Add([]byte(`{"a":"b \" c", "d":[1,2 ]}`))
	f.Add([]byte(`["` + strings.Repeat(`\\\"`, 40) + `" ]`))
	f.Fuzz(checkSpaced)
}

func BenchmarkSpaced(b *testing.B) {
	raw := bytes.Repeat([]byte(`{"id":17,"path":"internal/module_17/handler.go","diagnostic":"unused variable shadows package-level identifier in the retry branch"},`), 80)
	b.Run("spaced", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			Spaced(raw)
		}
	})
	b.Run("compact", func(b *testing.B) {
		dst := make([]byte, 0, len(raw))
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			Compact(dst, raw)
		}
	})
}
