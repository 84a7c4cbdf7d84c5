package result

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/hist"
)

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		in   []float64
		want float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}, {[]float64{7}, 7}} {
		if got := Median(tc.in); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.in, got, tc.want)
		}
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("a median of nothing")
	}
}

func TestSummarizeComparesWithinRounds(t *testing.T) {
	var r Run
	base := Key{Leg: "tls", Bodies: "fresh", Profile: "huge", Mode: Baseline}
	mode := base
	mode.Mode = "squoze"
	// The host slows down by half in the second round: both rounds say 0.9.
	for _, f := range []float64{1, 2, 1} {
		r.Add(base, Sample{RPS: 1000 / f, Latency: Quantiles{P50: 20 * f}, CPU: 2 * f})
		r.Add(mode, Sample{RPS: 900 / f, Latency: Quantiles{P50: 22 * f}, Overhead: Quantiles{P50: 0.5 * f}, CPU: 3 * f, Errors: 1, Error: "e", Applied: "squoze=on"})
	}
	other := mode
	other.Profile = "small"
	r.Add(other, Sample{RPS: 5})
	r.Summarize()
	c := r.Find(mode)
	if d := c.Baseline; d == nil || d.RPS != 0.9 || d.RPSLow != 0.9 || d.RPSHigh != 0.9 || d.Latency.P50 != 2 || d.CPU != 1.5 || d.Overhead.P50 != 0.5 {
		t.Errorf("distance %+v", d)
	}
	if c.Off != nil {
		t.Error("a distance to a mode that was not measured")
	}
	if c.Median.RPS != 900 || c.Spread != 0.5 || c.Median.Errors != 3 || c.Median.Error != "e" || c.Median.Applied != "squoze=on" {
		t.Errorf("median %+v, spread %v", c.Median, c.Spread)
	}
	if r.Find(base).Baseline != nil || r.Find(other).Baseline != nil {
		t.Error("the baseline has a distance, or a mode without one")
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Run
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back.Find(mode), c) {
		t.Errorf("JSON gives back %+v, %v", back.Find(mode), err)
	}
}

func TestRoundsWithoutAnswersAreNotCompared(t *testing.T) {
	var r Run
	base, off := Key{Mode: Baseline}, Key{Mode: Off}
	r.Add(base, Sample{RPS: 0})
	r.Add(off, Sample{RPS: 10})
	r.Summarize()
	if d := r.Find(off).Baseline; d != nil {
		t.Errorf("distance %+v", d)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

func TestQuantilesOf(t *testing.T) {
	var h hist.Hist
	for i := range 100 {
		h.Add(time.Duration(i+1) * time.Millisecond)
	}
	q := QuantilesOf(&h)
	if math.Abs(q.Avg-50.5) > 0.01 || math.Abs(q.P50-50) > 0.5 || math.Abs(q.P95-95) > 1 || math.Abs(q.P99-99) > 1 {
		t.Errorf("got %+v", q)
	}
	if d := q.Minus(Quantiles{Avg: 0.5, P50: 1}); math.Abs(d.Avg-50) > 0.01 || d.P99 != q.P99 {
		t.Errorf("got %+v", d)
	}
}
