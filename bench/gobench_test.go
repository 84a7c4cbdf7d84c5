package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
)

const benchOutput = `goos: linux
pkg: example.test/x
BenchmarkSimilarMiss/4096-2    100	 120.0 ns/op	 0.50 ns/byte	 3 B/op	 0 allocs/op
BenchmarkSimilarMiss/4096-2    100	 100.0 ns/op	 0.40 ns/byte	 1 B/op	 0 allocs/op
BenchmarkSimilarMiss/4096-2    100	 110.0 ns/op	 0.45 ns/byte	 2 B/op	 0 allocs/op
    bench_test.go:12: a note
BenchmarkExactHit 5000 1234.5 ns/op 251.0 x
PASS
`

func TestParseBench(t *testing.T) {
	got, err := parseBench(strings.NewReader(benchOutput))
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if m := got[0]; m.Name != "SimilarMiss/4096" || m.Runs != 100 || m.Metrics["ns/op"] != 110 || m.Metrics["ns/byte"] != 0.45 || m.Metrics["B/op"] != 2 {
		t.Errorf("%+v", m)
	}
	if m := got[1]; m.Name != "ExactHit" || m.Metrics["x"] != 251 {
		t.Errorf("%+v", m)
	}
	if _, err := parseBench(strings.NewReader("BenchmarkX 1 one ns/op\n")); err == nil {
		t.Error("a word is a figure")
	}
	o := gobenchOutcome([]benchGroup{{"T", "./x", got}}, report.Host{}, "1s", 3)
	if !slices.Equal(o.tables[0].Head, []string{"benchmark", "ns/op", "ns/byte", "B/op", "allocs/op", "x"}) {
		t.Errorf("head %v", o.tables[0].Head)
	}
	if row := o.tables[0].Rows[1]; !slices.Equal(row, []string{"ExactHit", "1,235", "", "", "", "251"}) {
		t.Errorf("row %v", row)
	}
}
