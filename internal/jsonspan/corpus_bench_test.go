package jsonspan

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkParseCorpus scans real requests, folder by folder.
func BenchmarkParseCorpus(b *testing.B) {
	root := filepath.FromSlash("../../../shared/corpus")
	for _, folder := range []string{"requests/anthropic", "requests/openai_chat", "requests/openai_responses", "sessions/*/*"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.json"))
		if err != nil {
			b.Fatal(err)
		}
		var bodies [][]byte
		size := 0
		for _, f := range files {
			src, err := os.ReadFile(f)
			if err != nil {
				b.Fatal(err)
			}
			bodies = append(bodies, src)
			size += len(src)
		}
		if size == 0 {
			continue
		}
		b.Run(folder, func(b *testing.B) {
			implementations(b, func(b *testing.B) {
				var d Doc
				nodes := 0
				for b.Loop() {
					nodes = 0
					for _, src := range bodies {
						if err := d.Parse(src); err != nil {
							b.Fatal(err)
						}
						nodes += d.Nodes()
					}
				}
				perByte(b, size)
				b.ReportMetric(float64(size)/float64(nodes), "bytes/node")
			})
		})
	}
}
