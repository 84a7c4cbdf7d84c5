package jsonspan

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

// implementations runs f with the vector code, where there is any, and without.
func implementations(b *testing.B, f func(b *testing.B)) {
	had := useAVX2
	defer func() { useAVX2 = had }()
	if had {
		b.Run("avx2", f)
	}
	useAVX2 = false
	b.Run("words", f)
}

func perByte(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/byte")
}

func BenchmarkParse(b *testing.B) {
	for _, p := range testbody.Profiles {
		src := testbody.Body(p)
		b.Run(p.String(), func(b *testing.B) {
			implementations(b, func(b *testing.B) {
				var d Doc
				if err := d.Parse(src); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := d.Parse(src); err != nil {
						b.Fatal(err)
					}
				}
				perByte(b, len(src))
			})
			b.Run("IndexByte", func(b *testing.B) {
				for b.Loop() {
					for rest := src; ; {
						i := bytes.IndexByte(rest, '"')
						if i < 0 {
							break
						}
						rest = rest[i+1:]
					}
				}
				perByte(b, len(src))
			})
			b.Run("encoding/json.Valid", func(b *testing.B) {
				for b.Loop() {
					json.Valid(src)
				}
				perByte(b, len(src))
			})
		})
	}
}
