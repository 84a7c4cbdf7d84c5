package proc

import (
	"bytes"
	"compress/gzip"
	"os"
	"runtime/pprof"
	"testing"
	"time"
)

// field writes a field of a message.
func field(number int, v any) []byte {
	put := func(b []byte, n uint64) []byte {
		for n >= 0x80 {
			b = append(b, byte(n)|0x80)
			n >>= 7
		}
		return append(b, byte(n))
	}
	switch v := v.(type) {
	case int:
		return put(put(nil, uint64(number)<<3), uint64(v))
	case string:
		return append(put(put(nil, uint64(number)<<3|2), uint64(len(v))), v...)
	case [][]byte:
		return field(number, string(bytes.Join(v, nil)))
	case []int: // packed
		var b []byte
		for _, n := range v {
			b = put(b, uint64(n))
		}
		return field(number, string(b))
	}
	panic("no such field")
}

func zipped(t *testing.T, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGCShare(t *testing.T) {
	names := []string{"", "main.work", "runtime.gcBgMarkWorker.func2", "runtime.mallocgc", "runtime.gcAssistAlloc1", "runtime.gcStartle"}
	var raw []byte
	for _, s := range names {
		raw = append(raw, field(profileString, s)...)
	}
	for i := 1; i < len(names); i++ {
		raw = append(raw, field(profileFunction, [][]byte{field(functionID, i), field(functionName, i)})...)
		raw = append(raw, field(profileLocation, [][]byte{field(locationID, 100+i), field(locationLine, [][]byte{field(lineFunction, i), field(2, 7)})})...)
	}
	for _, s := range [][]int{{101}, {102}, {104, 103, 101}, {105, 101}} { // from the leaf up
		raw = append(raw, field(profileSample, [][]byte{field(sampleLocation, s), field(sampleValue, []int{1, 10_000_000})})...)
	}
	got, err := GCShare(zipped(t, raw))
	if err != nil || got != 0.5 {
		t.Errorf("got %v, %v", got, err)
	}
	for name, bad := range map[string][]byte{"empty": nil, "text": []byte("x"), "no samples": zipped(t, nil), "cut": zipped(t, raw[:len(raw)-3])} {
		if _, err := GCShare(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A profile of the real kind is understood.
func TestGCShareOfThisProcess(t *testing.T) {
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err) // the whole run is profiled already
	}
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		garbage = make([]byte, 1<<16)
	}
	pprof.StopCPUProfile()
	p, err := parseProfile(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.samples {
		if len(s.stack(p)) == 0 || s.value <= 0 {
			t.Errorf("a sample of %d with the stack %v", s.value, s.stack(p))
		}
	}
}

var garbage []byte

func FuzzParseProfile(f *testing.F) {
	f.Add([]byte{0x12, 0x02, 0x08, 0x01})
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = GCShare(zipped(t, raw)) // must not panic
	})
}
