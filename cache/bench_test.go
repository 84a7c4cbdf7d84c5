package cache

import (
	"slices"
	"testing"
	"time"
)

// quiet reports the time of the fastest tenth of many short runs of f, which
// is what it takes while nobody else has the processor.
func quiet(b *testing.B, f func()) {
	const runs, each = 400, 16
	times := make([]time.Duration, runs)
	for i := range times {
		start := time.Now()
		for range each {
			f()
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[runs/10])/each, "quiet-ns/op")
}
