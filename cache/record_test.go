package cache

import (
	"bytes"
	"strings"
	"testing"
)

func TestRecord(t *testing.T) {
	ring := testRing(t)
	name := []byte("a name")
	tg := tags{tenant: tag{1}, namespace: tag{2}, model: tag{3}, upstream: tag{4}}
	for _, plain := range [][]byte{nil, []byte("short"), []byte(strings.Repeat("long ", 1000))} {
		for _, compress := range []bool{false, true} {
			b := ring.sealRecord(recordAnswer, name, &tg, plain, compress)
			got, err := ring.openRecord(recordAnswer, name, b)
			if err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%d bytes, compress %v: %q, %v", len(plain), compress, got, err)
			}
			if packed := len(b) < len(plain); packed != (compress && len(plain) > compressFrom) {
				t.Errorf("%d bytes, compress %v: a record of %d", len(plain), compress, len(b))
			}
			if back, err := recordTags(b); err != nil || back != tg {
				t.Errorf("tags %v, %v", back, err)
			}
			if _, err := ring.openRecord(recordAnswer, []byte("another name"), b); err != errForeign {
				t.Errorf("under another name: %v", err)
			}
			if _, err := ring.openRecord(recordSummary, name, b); err != errForeign {
				t.Errorf("as another kind: %v", err)
			}
			for i := range b {
				harmed := bytes.Clone(b)
				harmed[i] ^= 0x10
				if _, err := ring.openRecord(recordAnswer, name, harmed); err == nil {
					t.Fatalf("a flipped bit in byte %d of %d went unnoticed", i, len(b))
				}
				if _, err := ring.openRecord(recordAnswer, name, b[:i]); err == nil {
					t.Fatalf("the first %d bytes of %d passed for the whole", i, len(b))
				}
			}
		}
	}
}

// resealed is the record b with the checksum that fits it.
func resealed(b []byte) string {
	end := len(b) - recordTail
	sum := checksum(b[:end])
	for i := range recordTail {
		b[end+i] = byte(sum >> (8 * i))
	}
	return string(b)
}

// Whatever bytes stand where a record is expected, with a checksum that fits
// or without, they are an error and not a panic.
func FuzzOpenRecord(f *testing.F) {
	ring := testRing(f)
	e := &entry{ContentType: "application/json", Body: []byte(strings.Repeat(chatAnswer, 4)), created: 1, expires: 2}
	f.Add(ring.sealEntry([]byte("n"), &tags{}, e, true), false)
	f.Add(ring.sealEntry([]byte("n"), &tags{}, e, false), true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, b []byte, fit bool) {
		if fit && len(b) > recordTail {
			b = []byte(resealed(b))
		}
		got, err := ring.openEntry([]byte("n"), b)
		if err == nil && !bytes.Equal(got.Body, e.Body) {
			t.Errorf("%q", got.Body)
		}
		var r reader
		r.b = b
		r.int64()
		r.field()
		if s, err := summaryFrom(b); err == nil && len(b) < 32 {
			t.Errorf("%+v", s)
		}
	})
}
