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
	both(func() {
		if got := Spaced(raw); got != want {
			t.Fatalf("Spaced(%q) = %v", raw, got)
		}
	})
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

// checkCompactText: a text that is called compact is one line that Compact would
// leave as it is.
func checkCompactText(t *testing.T, text []byte) {
	t.Helper()
	raw := AppendQuoted(nil, text)
	raw = raw[1 : len(raw)-1]
	first := CompactText(raw)
	both(func() {
		if CompactText(raw) != first {
			t.Fatalf("CompactText(%q) differs", raw)
		}
	})
	if first && (bytes.ContainsAny(text, "\n\r\\") || Spaced(text) || len(Compact(nil, text)) != len(text)) {
		t.Fatalf("CompactText(%q)", raw)
	}
}

func TestCompactText(t *testing.T) {
	rows := strings.Repeat(`{"id":1,"text":"some words of it"},`, 9)
	for text, want := range map[string]bool{
		"[" + rows + "1]":                         true,
		`{"a b":` + strings.Repeat("1", 60) + "}": true,
		`{"a":1}`:                  false, // too short to be worth it
		" [" + rows + "1]":         false,
		"[" + rows + " 1]":         false,
		"[" + rows + "1] ":         false,
		"[" + rows + "1]\n":        false,
		"[\n" + rows + "1]":        false,
		"[" + rows + "\"a\\\"b\"]": false, // in doubt
		"[" + rows + "\"a\\\\b\"]": false,
		"[" + rows + "\"\t\"]":     false,
		"[" + rows + "\"\x01\"]":   false,
		"[" + rows + "\"open":      false,
		"plain words, " + rows:     false,
	} {
		if got := CompactText(AppendQuoted(nil, []byte(text))[1:][:len(AppendQuoted(nil, []byte(text)))-2]); got != want {
			t.Errorf("%q: %v", text, got)
		}
		for pad := range blockSize + 1 {
			checkCompactText(t, []byte(`["`+strings.Repeat("1", pad)+`",`+text+`]`))
		}
	}
}

func FuzzCompactText(f *testing.F) {
	f.Add([]byte("[" + strings.Repeat(`{"id":1,"text":"some words of it"},`, 3) + "1]"))
	f.Fuzz(checkCompactText)
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
