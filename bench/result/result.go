// Package result is what a matrix measures: samples by cell, their medians,
// and every mode as its distance from the baseline of its own run.
package result

import (
	"math"
	"slices"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/hist"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
)

// Names of the two modes that others are compared with.
const (
	Baseline = "baseline" // plain Caddy reverse_proxy
	Off      = "off"      // the gateway without optimizers
)

// Run is one run of a matrix.
type Run struct {
	Host     report.Host `json:"host"`
	Started  time.Time   `json:"started"`
	Settings Settings    `json:"settings"`
	// Limits are the requests per second of the load generator straight at
	// the upstream, by profile: what no proxy can reach.
	Limits map[string]float64 `json:"limits,omitempty"`
	Cells  []Cell             `json:"cells"`
}

// Settings are how a matrix was run.
type Settings struct {
	Conns      int     `json:"connections"`
	CellSecs   float64 `json:"cell_seconds"`
	Rounds     int     `json:"rounds"`
	WarmUp     int     `json:"warm_up"`
	AnswerSize int     `json:"answer_bytes"`
}

// Key names a cell.
type Key struct {
	Leg     string `json:"leg"`     // plain, tls, h2
	Bodies  string `json:"bodies"`  // repeat, fresh
	Profile string `json:"profile"` // small, large, huge
	Mode    string `json:"mode"`
}

// String is the key in one word.
func (k Key) String() string { return k.Leg + "/" + k.Bodies + "/" + k.Profile + "/" + k.Mode }

// Group is a Key without its mode: what is compared among itself.
func (k Key) Group() Key { k.Mode = ""; return k }

// Cell is one combination with its measurements.
type Cell struct {
	Key
	Rounds []Sample `json:"rounds"`
	Median Sample   `json:"median"`
	// Spread is the largest minus the smallest rps of the rounds, by the
	// median.
	Spread float64 `json:"spread"`
	// GCShare is the share of the proxy's CPU time in the garbage collector, by
	// a profile taken apart from the rounds; nil if none was taken.
	GCShare *float64 `json:"gc_share,omitempty"`
	// Distance is what lies between this mode and the baseline, or off,
	// taken in each round by itself and then the median. Nil if there is
	// nothing to compare with.
	Baseline *Distance `json:"vs_baseline,omitempty"`
	Off      *Distance `json:"vs_off,omitempty"`
}

// Distance is how one mode compares with another of the same round.
type Distance struct {
	RPS      float64   `json:"rps_ratio"`
	RPSLow   float64   `json:"rps_ratio_low"` // smallest and largest of the rounds
	RPSHigh  float64   `json:"rps_ratio_high"`
	Latency  Quantiles `json:"latency_ms"`  // differences
	TTFB     Quantiles `json:"ttfb_ms"`     // differences
	Overhead Quantiles `json:"overhead_ms"` // differences of what is self-reported, zero where one has none
	CPU      float64   `json:"cpu_ratio"`   // of the proxy's CPU time per request, 0 if not known
}

// Quantiles are durations in milliseconds.
type Quantiles struct {
	Avg float64 `json:"avg"`
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Sample is one measurement of a cell.
type Sample struct {
	Requests float64   `json:"requests"`
	Errors   float64   `json:"errors"`
	Error    string    `json:"error,omitempty"`
	RPS      float64   `json:"rps"`
	Latency  Quantiles `json:"latency_ms"`
	TTFB     Quantiles `json:"ttfb_ms"`
	Overhead Quantiles `json:"overhead_ms"` // as the gateway reports it

	UpstreamBytes float64 `json:"upstream_bytes"` // of the body, per request
	SavedBytes    float64 `json:"saved_bytes"`    // per request, as the gateway reports it
	SavedTokens   float64 `json:"saved_tokens"`   // per request, as the gateway reports it
	Applied       string  `json:"applied"`        // what most answers said
	Hits          float64 `json:"hits"`           // share answered from the cache
	Forwarded     float64 `json:"forwarded"`      // requests at the upstream by requests answered

	CPU     float64 `json:"cpu_ms"`   // of the proxy per request, 0 if not known
	Alloc   float64 `json:"alloc_kb"` // by the proxy per request, in KiB
	Mallocs float64 `json:"mallocs"`  // by the proxy per request
}

// QuantilesOf reads the quantiles off a histogram.
func QuantilesOf(h *hist.Hist) Quantiles {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return Quantiles{Avg: ms(h.Mean()), P50: ms(h.Quantile(0.5)), P95: ms(h.Quantile(0.95)), P99: ms(h.Quantile(0.99))}
}

// Minus is the difference q - o, figure by figure.
func (q Quantiles) Minus(o Quantiles) Quantiles {
	return Quantiles{Avg: q.Avg - o.Avg, P50: q.P50 - o.P50, P95: q.P95 - o.P95, P99: q.P99 - o.P99}
}

// Median is the median of values; NaN if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(values))
	m := len(v) / 2
	if len(v)%2 == 0 {
		return (v[m-1] + v[m]) / 2
	}
	return v[m]
}

// medianOf is the median of one figure over many of its kind.
func medianOf[T any](all []T, figure func(T) float64) float64 {
	values := make([]float64, len(all))
	for i, one := range all {
		values[i] = figure(one)
	}
	return Median(values)
}

// medianQuantiles is the median of each figure.
func medianQuantiles[T any](all []T, of func(T) Quantiles) Quantiles {
	return Quantiles{
		Avg: medianOf(all, func(t T) float64 { return of(t).Avg }),
		P50: medianOf(all, func(t T) float64 { return of(t).P50 }),
		P95: medianOf(all, func(t T) float64 { return of(t).P95 }),
		P99: medianOf(all, func(t T) float64 { return of(t).P99 }),
	}
}

// medianSample is the median of each figure; errors add up.
func medianSample(all []Sample) Sample {
	m := Sample{
		Requests:      medianOf(all, func(s Sample) float64 { return s.Requests }),
		RPS:           medianOf(all, func(s Sample) float64 { return s.RPS }),
		Latency:       medianQuantiles(all, func(s Sample) Quantiles { return s.Latency }),
		TTFB:          medianQuantiles(all, func(s Sample) Quantiles { return s.TTFB }),
		Overhead:      medianQuantiles(all, func(s Sample) Quantiles { return s.Overhead }),
		UpstreamBytes: medianOf(all, func(s Sample) float64 { return s.UpstreamBytes }),
		SavedBytes:    medianOf(all, func(s Sample) float64 { return s.SavedBytes }),
		SavedTokens:   medianOf(all, func(s Sample) float64 { return s.SavedTokens }),
		Hits:          medianOf(all, func(s Sample) float64 { return s.Hits }),
		Forwarded:     medianOf(all, func(s Sample) float64 { return s.Forwarded }),
		CPU:           medianOf(all, func(s Sample) float64 { return s.CPU }),
		Alloc:         medianOf(all, func(s Sample) float64 { return s.Alloc }),
		Mallocs:       medianOf(all, func(s Sample) float64 { return s.Mallocs }),
	}
	for _, s := range all {
		m.Errors += s.Errors
		if m.Error == "" {
			m.Error = s.Error
		}
		if m.Applied == "" {
			m.Applied = s.Applied
		}
	}
	return m
}

// Find returns the cell with that key, nil if there is none.
func (r *Run) Find(k Key) *Cell {
	for i := range r.Cells {
		if r.Cells[i].Key == k {
			return &r.Cells[i]
		}
	}
	return nil
}

// Add adds a sample to the cell with that key.
func (r *Run) Add(k Key, s Sample) {
	c := r.Find(k)
	if c == nil {
		r.Cells = append(r.Cells, Cell{Key: k})
		c = &r.Cells[len(r.Cells)-1]
	}
	c.Rounds = append(c.Rounds, s)
}

// Summarize computes medians, spreads and distances from the rounds.
func (r *Run) Summarize() {
	for i := range r.Cells {
		c := &r.Cells[i]
		c.Median = medianSample(c.Rounds)
		low, high := math.Inf(1), math.Inf(-1)
		for _, s := range c.Rounds {
			low, high = min(low, s.RPS), max(high, s.RPS)
		}
		c.Spread = 0
		if c.Median.RPS > 0 {
			c.Spread = (high - low) / c.Median.RPS
		}
		c.Baseline, c.Off = r.distance(c, Baseline), r.distance(c, Off)
	}
}

// distance compares c with another mode of its group, round by round.
func (r *Run) distance(c *Cell, mode string) *Distance {
	k := c.Key
	k.Mode = mode
	o := r.Find(k)
	if o == nil || c.Mode == mode {
		return nil
	}
	n := min(len(c.Rounds), len(o.Rounds))
	var all []Distance
	for i := range n {
		a, b := c.Rounds[i], o.Rounds[i]
		if a.RPS == 0 || b.RPS == 0 {
			continue // nothing was measured
		}
		d := Distance{RPS: a.RPS / b.RPS, Latency: a.Latency.Minus(b.Latency), TTFB: a.TTFB.Minus(b.TTFB), Overhead: a.Overhead.Minus(b.Overhead)}
		if b.CPU > 0 {
			d.CPU = a.CPU / b.CPU
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil
	}
	out := &Distance{
		RPS:      medianOf(all, func(d Distance) float64 { return d.RPS }),
		RPSLow:   math.Inf(1),
		Latency:  medianQuantiles(all, func(d Distance) Quantiles { return d.Latency }),
		TTFB:     medianQuantiles(all, func(d Distance) Quantiles { return d.TTFB }),
		Overhead: medianQuantiles(all, func(d Distance) Quantiles { return d.Overhead }),
		CPU:      medianOf(all, func(d Distance) float64 { return d.CPU }),
	}
	for _, d := range all {
		out.RPSLow, out.RPSHigh = min(out.RPSLow, d.RPS), max(out.RPSHigh, d.RPS)
	}
	return out
}
