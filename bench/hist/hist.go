// Package hist counts durations in buckets of constant relative width, so
// that percentiles over any number of requests cost constant memory and are
// exact to within one percent.
package hist

import (
	"math"
	"math/bits"
	"time"
)

// Buckets: the first 1<<subBits nanoseconds have a bucket each, and every
// doubling above is cut into 1<<subBits buckets. The largest value that is told
// apart is maxValue; larger ones count as that.
const (
	subBits  = 7
	maxExp   = 44 // about 4.9 hours in nanoseconds
	maxValue = 1<<maxExp - 1
	buckets  = (maxExp - subBits + 1) << subBits
)

// Hist is a histogram of durations. The zero value is empty and ready for use.
// It is not safe for concurrent use; merge one per goroutine instead.
type Hist struct {
	n        int64
	sum      float64 // nanoseconds
	min, max int64
	counts   []int64
}

// Add counts d. A negative duration counts as 0.
func (h *Hist) Add(d time.Duration) {
	v := min(max(int64(d), 0), maxValue)
	if h.counts == nil {
		h.counts = make([]int64, buckets)
		h.min = math.MaxInt64
	}
	h.n++
	h.sum += float64(v)
	h.min, h.max = min(h.min, v), max(h.max, v)
	h.counts[index(v)]++
}

// Merge adds everything that o counted.
func (h *Hist) Merge(o *Hist) {
	if o.n == 0 {
		return
	}
	if h.counts == nil {
		h.counts = make([]int64, buckets)
		h.min = math.MaxInt64
	}
	h.n += o.n
	h.sum += o.sum
	h.min, h.max = min(h.min, o.min), max(h.max, o.max)
	for i, c := range o.counts {
		h.counts[i] += c
	}
}

// Reset forgets everything and keeps the memory.
func (h *Hist) Reset() {
	clear(h.counts)
	h.n, h.sum, h.min, h.max = 0, 0, math.MaxInt64, 0
}

// Count is the number of durations counted.
func (h *Hist) Count() int64 { return h.n }

// Mean is the exact arithmetic mean, 0 when nothing was counted.
func (h *Hist) Mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return time.Duration(h.sum / float64(h.n))
}

// Max is the exact maximum, 0 when nothing was counted.
func (h *Hist) Max() time.Duration { return time.Duration(h.max) }

// Quantile is the smallest value that at least the share q (0 to 1) of all
// durations does not exceed, to within one percent; 0 when nothing was counted.
func (h *Hist) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := int64(math.Ceil(q * float64(h.n)))
	switch {
	case rank <= 1:
		return time.Duration(h.min)
	case rank >= h.n:
		return time.Duration(h.max)
	}
	var seen int64
	for i, c := range h.counts {
		if seen += c; seen >= rank {
			return time.Duration(min(max(middle(i), h.min), h.max))
		}
	}
	return time.Duration(h.max)
}

// index is the bucket of v, which is not negative and at most maxValue.
func index(v int64) int {
	exp := max(bits.Len64(uint64(v))-subBits-1, 0)
	return exp<<subBits + int(v>>exp)
}

// middle is the value in the middle of bucket i.
func middle(i int) int64 {
	exp := max(i>>subBits-1, 0)
	low := int64(i-exp<<subBits) << exp
	return low + (int64(1)<<exp-1)/2
}
