package tokens

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// both runs f with the vector code, where there is any, and without.
func both(f func()) {
	had := useAVX2
	defer func() { useAVX2 = had }()
	f()
	if had {
		useAVX2 = false
		f()
	}
}

// mixed has every class of byte next to every other, sequences of UTF-8 cut
// off, and runs longer than a block.
func mixed(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	pieces := []string{"word", "Word", "camelCase", "HTTPServer", " ", "  ", "\n", "\r\n", "\t\t", "0", "12345678", "{\"", "\":", "...", "====",
		"é", "Привет", "漢字", "한국어", "😀", "—", "\xff", "\xe4", "\xf0\x9f", "\x00", "\x7f", "a3f9c1", "YWJjZGVmZ2hpamtsbW5vcA", strings.Repeat("-", 70), strings.Repeat("x", 130), strings.Repeat(" ", 66)}
	var b []byte
	for len(b) < n {
		b = append(b, pieces[r.IntN(len(pieces))]...)
	}
	return b[:n]
}

func TestEstimateIsTheSameEverywhere(t *testing.T) {
	for seed := range uint64(20) {
		text := mixed(seed, 3000)
		for n := 0; n < len(text); n += 1 + n/50 {
			var got []int
			both(func() { got = append(got, Estimate(text[:n]), Estimate(append([]byte(nil), text[:n]...))) })
			for _, g := range got {
				if g != got[0] {
					t.Fatalf("seed %d, %d bytes: %v", seed, n, got)
				}
			}
		}
	}
}

// TestClassify compares the masks with what is said of each byte alone.
func TestClassify(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	text := make([]byte, batch*blockSize)
	for round := range 50 {
		for i := range text {
			switch {
			case round < 4:
				text[i] = byte(i + 64*round) // every byte value
			case i > 0 && r.IntN(4) == 0:
				text[i] = text[i-1]
			default:
				text[i] = byte(r.Uint32())
			}
		}
		n := 1 + r.IntN(batch)
		if round < 4 {
			n = batch
		}
		both(func() {
			var m [batch]masks
			classify(&m, text[:n*blockSize])
			for i, c := range text[:n*blockSize] {
				got := &m[i/blockSize]
				bit := func(m uint64) bool { return m>>(i%blockSize)&1 != 0 }
				lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
				for _, f := range []struct {
					name      string
					got, want bool
				}{
					{"lower", bit(got.lower), lower},
					{"upper", bit(got.upper), upper},
					{"digit", bit(got.digit), digit},
					{"space", bit(got.space), c == ' '},
					{"newline", bit(got.newline), c == '\n' || c == '\r'},
					{"tab", bit(got.tab), c == '\t'},
					{"light", bit(got.light), strings.IndexByte(`"'(),.:;[]{}`, c) >= 0},
					{"vowel", bit(got.vowel), strings.IndexByte("aeiouyAEIOUY", c) >= 0},
					{"high", bit(got.high), c >= 0x80},
					{"lead", bit(got.lead), c >= 0xC0},
					{"equal", bit(got.equal), i%blockSize > 0 && text[i-1] == c},
					{"punctuation", bit(got.punctuation()), c < 0x80 && !lower && !upper && !digit && strings.IndexByte(" \t\r\n", c) < 0},
				} {
					if f.got != f.want {
						t.Fatalf("byte %d, %#x: %s is %v", i, c, f.name, f.got)
					}
				}
			}
		})
	}
}

// TestPrefixIsNeverMore checks that an estimate only grows with the text.
func TestPrefixIsNeverMore(t *testing.T) {
	for seed := range uint64(10) {
		checkPrefixes(t, mixed(seed, 700))
	}
}

func checkPrefixes(t *testing.T, text []byte) {
	t.Helper()
	last := 0
	for i := range len(text) + 1 {
		n := Estimate(text[:i])
		if n < last || (n == 0) != (i == 0) {
			t.Fatalf("%q: %d tokens, one byte less %d", text[:i], n, last)
		}
		last = n
	}
}

// TestPartsAreAboutTheWhole bounds what it costs to estimate in pieces.
func TestPartsAreAboutTheWhole(t *testing.T) {
	for seed := range uint64(50) {
		text := mixed(seed, 2000)
		whole := Estimate(text)
		for cut := 1; cut < len(text); cut += 97 {
			if d := Estimate(text[:cut]) + Estimate(text[cut:]) - whole; d < -8 || d > 8 {
				t.Fatalf("seed %d, cut at %d: %d tokens more than the whole", seed, cut, d)
			}
		}
	}
}

func TestEstimateRawIsEstimateOfTheText(t *testing.T) {
	escapes := []string{`\"`, `\\`, `\n`, `\u0041`, `\ud83d\ude00`, `\ud800`, `\udc00`, `\\\\\\`, `\u00e9`, "plain ", "é", strings.Repeat(`\\`, 300), strings.Repeat(`\ud83d\ude00`, 50)}
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 9))
		var raw []byte
		for len(raw) < 3*chunk {
			raw = append(raw, escapes[r.IntN(len(escapes))]...)
			if r.IntN(3) == 0 {
				raw = jsonspan.AppendEscaped(raw, mixed(r.Uint64(), r.IntN(300)))
			}
		}
		checkRaw(t, raw)
	}
	// Every escape over the end of a chunk, at every offset.
	for _, e := range escapes {
		for before := chunk - 14; before <= chunk; before++ {
			for _, fill := range []string{"a", `\`} { // runs of backslashes are even
				raw := strings.Repeat(fill, before&^1) + strings.Repeat("b", before&1) + e + "tail"
				checkRaw(t, []byte(raw))
			}
		}
	}
}

func checkRaw(t *testing.T, raw []byte) {
	t.Helper()
	text := jsonspan.AppendUnquoted(nil, raw)
	if got, want := EstimateRaw(raw), Estimate(text); got != want {
		t.Fatalf("%.200q: %d tokens, decoded %d", raw, got, want)
	}
	for at := 0; at < len(raw); {
		n := jsonspan.Cut(raw[at:], chunk)
		if n <= 0 || n > chunk || n < min(len(raw)-at, chunk-11) {
			t.Fatalf("cut after %d of %d bytes", n, len(raw)-at)
		}
		at += n
	}
}

func TestEstimateDoesNotAllocate(t *testing.T) {
	text := mixed(1, 20000)
	raw := jsonspan.AppendEscaped(nil, text)
	both(func() {
		if n := testing.AllocsPerRun(20, func() {
			Estimate(text)
			EstimateRaw(raw)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func FuzzEstimate(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(mixed(seed, 40*int(seed+1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got []int
		both(func() { got = append(got, Estimate(text)) })
		if got[0] != got[len(got)-1] {
			t.Fatalf("%q: %v", text, got)
		}
		checkPrefixes(t, text[:min(len(text), 300)])
		raw := jsonspan.AppendEscaped(nil, text)
		if bytes.Equal(jsonspan.AppendUnquoted(nil, raw), text) {
			checkRaw(t, raw)
		}
	})
}

func perByte(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/byte")
}

func BenchmarkEstimate(b *testing.B) {
	texts := map[string][]byte{
		"log":      bytes.Repeat([]byte("2024-05-01 12:00:00 INFO handler: request 7f3a9c12 served in 12 ms\n"), 150),
		"code":     bytes.Repeat([]byte("\tif err := h.serve(ctx, req); err != nil {\n\t\treturn fmt.Errorf(\"serve: %w\", err)\n\t}\n"), 120),
		"json":     bytes.Repeat([]byte(`{"id":17,"path":"internal/module_17/handler.go","diagnostic":"unused variable"},`), 130),
		"cyrillic": bytes.Repeat([]byte("Ошибка при чтении файла настроек.\n"), 160),
		"chinese":  bytes.Repeat([]byte("读取配置文件时发生错误，请检查路径。\n"), 180),
	}
	for _, name := range []string{"log", "code", "json", "cyrillic", "chinese"} {
		text := texts[name]
		raw := jsonspan.AppendEscaped(nil, text)
		b.Run(name, func(b *testing.B) {
			implementations(b, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Estimate(text)
				}
				perByte(b, len(text))
			})
		})
		b.Run(name+"/raw", func(b *testing.B) {
			implementations(b, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					EstimateRaw(raw)
				}
				perByte(b, len(raw))
			})
		})
	}
}

func implementations(b *testing.B, f func(b *testing.B)) {
	had := useAVX2
	defer func() { useAVX2 = had }()
	if had {
		b.Run("avx2", f)
	}
	useAVX2 = false
	b.Run("plain", f)
}
