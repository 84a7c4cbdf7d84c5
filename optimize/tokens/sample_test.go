package tokens

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

// TestSampleRaw compares a sample with the whole.
func TestSampleRaw(t *testing.T) {
	var mixed strings.Builder
	for i := range 40 {
		mixed.WriteString(strings.Repeat("some plain words of a sentence, ", 20+i))
		mixed.WriteString(strings.Repeat("dGhpcyBpcyBiYXNlNjQgdGV4dA", 10+i))
		mixed.WriteString(strings.Repeat("网关只读取一次请求", 10))
		mixed.WriteString(strings.Repeat("\t\tif x[i] != y[j] { return nil, err }\n", 12))
	}
	for name, text := range map[string]string{
		"words":      strings.Repeat("some plain words of a sentence, ", 400),
		"escapes":    strings.Repeat("\"\\\t\x01", 4000),
		"surrogates": strings.Repeat("a😀", 3000),
		"slashes":    strings.Repeat("\\", 9000),
		"mixed":      mixed.String(),
		"rows":       string(testbody.Large()),
	} {
		for _, encoded := range [][]byte{jsonspan.AppendQuoted(nil, []byte(text)), escaped(text)} {
			raw := encoded[1 : len(encoded)-1]
			got, want := SampleRaw(raw), EstimateRaw(raw)
			if e := off(got, want); math.Abs(e) > 0.1 {
				t.Errorf("%s: %d, the whole %d (%+.1f %%)", name, got, want, 100*e)
			}
		}
		short := jsonspan.AppendQuoted(nil, []byte(text))[1:1000]
		short = short[:jsonspan.Cut(short, 900)]
		if got, want := SampleRaw(short), EstimateRaw(short); got != want {
			t.Errorf("%s: a short text has %d, not %d", name, got, want)
		}
	}
}

// escaped encodes everything beyond ASCII as escapes.
func escaped(text string) []byte {
	out := []byte{'"'}
	for _, r := range text {
		piece := jsonspan.AppendQuoted(nil, []byte(string(r)))
		if r < 0x80 {
			out = append(out, piece[1:len(piece)-1]...)
			continue
		}
		for _, u := range utf16Of(r) {
			out = append(out, '\\', 'u')
			for shift := 12; shift >= 0; shift -= 4 {
				out = append(out, "0123456789abcdef"[u>>shift&15])
			}
		}
	}
	return append(out, '"')
}

func utf16Of(r rune) []uint16 {
	if r < 0x10000 {
		return []uint16{uint16(r)}
	}
	r -= 0x10000
	return []uint16{0xD800 + uint16(r>>10), 0xDC00 + uint16(r&0x3FF)}
}

func FuzzSampleRaw(f *testing.F) {
	f.Add([]byte(strings.Repeat("a\\ \"", 2000)))
	f.Fuzz(func(t *testing.T, text []byte) {
		text = bytes.ToValidUTF8(text, nil)
		raw := jsonspan.AppendQuoted(nil, bytes.Repeat(text, 1+8000/(1+len(text))))
		n := SampleRaw(raw[1 : len(raw)-1])
		if n < 0 || len(text) > 0 && n == 0 || n > 4*len(raw) {
			t.Errorf("%d tokens in %d bytes", n, len(raw))
		}
	})
}
