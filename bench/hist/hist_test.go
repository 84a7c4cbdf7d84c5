package hist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestQuantilesAgainstSorting(t *testing.T) {
	for name, draw := range map[string]func(*rand.Rand) float64{
		"uniform":     func(r *rand.Rand) float64 { return r.Float64() * 1e9 },
		"exponential": func(r *rand.Rand) float64 { return r.ExpFloat64() * 3e5 },
		"tiny":        func(r *rand.Rand) float64 { return r.Float64() * 100 },
		"wide":        func(r *rand.Rand) float64 { return math.Pow(10, r.Float64()*13) },
		"two modes":   func(r *rand.Rand) float64 { return 1e4 + 1e8*float64(r.IntN(2)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var h Hist
			var all []int64
			var sum float64
			for range 20_000 {
				v := int64(draw(r))
				all, sum = append(all, v), sum+float64(v)
				h.Add(time.Duration(v))
			}
			slices.Sort(all)
			for _, q := range []float64{0, 0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
				want := all[max(int(math.Ceil(q*float64(len(all)))), 1)-1]
				got := int64(h.Quantile(q))
				if math.Abs(float64(got-want)) > 0.01*float64(want)+1 {
					t.Errorf("quantile %v: got %d, want %d within 1%%", q, got, want)
				}
			}
			if got := float64(h.Mean()); math.Abs(got-sum/20_000) > 1 {
				t.Errorf("mean: got %v, want %v", got, sum/20_000)
			}
			if got := int64(h.Max()); got != all[len(all)-1] {
				t.Errorf("max: got %d, want %d", got, all[len(all)-1])
			}
		})
	}
}

func TestBucketsAreContiguous(t *testing.T) {
	last := -1
	check := func(v int64) {
		i := index(v)
		if i < last || i >= buckets {
			t.Fatalf("index(%d) = %d after %d", v, i, last)
		}
		if m := middle(i); index(m) != i || math.Abs(float64(m-v)) > float64(v)/(1<<subBits)+1 {
			t.Fatalf("middle(%d) = %d for %d, of bucket %d", i, m, v, index(m))
		}
		last = i
	}
	for v := int64(0); v < 1<<16; v++ {
		check(v)
	}
	for v := int64(1 << 16); v < maxValue; v += v / 300 {
		check(v)
	}
	check(maxValue)
	if last != buckets-1 {
		t.Errorf("the largest value is in bucket %d, want %d", last, buckets-1)
	}
}

func TestEdges(t *testing.T) {
	var h Hist
	if h.Quantile(0.5) != 0 || h.Mean() != 0 || h.Max() != 0 || h.Count() != 0 {
		t.Error("an empty histogram is not zero")
	}
	h.Add(-5)
	h.Add(math.MaxInt64)
	if h.Count() != 2 || h.Quantile(0) != 0 || h.Max() != maxValue {
		t.Errorf("got %d values from %d to %d", h.Count(), h.Quantile(0), h.Max())
	}
	h.Reset()
	if h.Count() != 0 || h.Quantile(0.5) != 0 || h.Max() != 0 {
		t.Error("reset left something")
	}
	h.Add(7)
	if h.Quantile(0.5) != 7 || h.Mean() != 7 {
		t.Errorf("one value: got %d and %d", h.Quantile(0.5), h.Mean())
	}
}

func TestMergeIsAddingAll(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var all, a, b, empty Hist
	for i := range 10_000 {
		d := time.Duration(r.ExpFloat64() * 1e6)
		all.Add(d)
		if i%3 == 0 {
			a.Add(d)
		} else {
			b.Add(d)
		}
	}
	var merged Hist
	merged.Merge(&empty)
	merged.Merge(&a)
	merged.Merge(&b)
	if merged.Count() != all.Count() || merged.Max() != all.Max() || merged.Mean() != all.Mean() {
		t.Error("count, maximum or mean differ")
	}
	for q := 0.0; q <= 1; q += 0.01 {
		if merged.Quantile(q) != all.Quantile(q) {
			t.Errorf("quantile %v: %d, want %d", q, merged.Quantile(q), all.Quantile(q))
		}
	}
}
