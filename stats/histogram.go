package stats

import "math"

// histogram counts milliseconds in steps of a fifth of an octave, from a
// microsecond to about twenty minutes, so a percentile is off by at most 15 %.
type histogram struct {
	counts [histogramSteps]uint32
	n      int64
}

const (
	histogramSteps = 152
	stepsPerOctave = 5
	smallestMS     = 0.001
)

func (h *histogram) add(ms float64) {
	i := 0
	if ms > smallestMS {
		i = int(math.Log2(ms/smallestMS)*stepsPerOctave) + 1
	}
	h.counts[min(i, histogramSteps-1)]++
	h.n++
}

func (h *histogram) merge(o *histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.n += o.n
}

func (h *histogram) percentiles() Percentiles {
	return Percentiles{h.quantile(0.50), h.quantile(0.95), h.quantile(0.99)}
}

// quantile is the middle of the step that holds the q-th share.
func (h *histogram) quantile(q float64) float64 {
	if h.n == 0 {
		return 0
	}
	rank := int64(math.Ceil(q * float64(h.n)))
	var seen int64
	for i, n := range h.counts {
		seen += int64(n)
		if seen >= rank {
			if i == 0 {
				return smallestMS
			}
			ms := smallestMS * math.Exp2((float64(i)-0.5)/stepsPerOctave)
			return math.Round(ms*1e4) / 1e4
		}
	}
	return 0
}
