package gate

import (
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
)

var profiles = []struct {
	name     string
	rps      float64 // of the baseline
	overhead float64 // of off, in milliseconds
}{{"small", 14_000, 0.02}, {"large", 5_000, 0.08}, {"huge", 900, 0.3}}

var modes = []struct {
	name   string
	rps    float64 // by the baseline
	factor float64 // of the overhead of off
}{{"baseline", 1, 0}, {"off", 0.98, 1}, {"rtk-standard", 0.9, 6}, {"headroom-balanced", 1.1, 4}, {"squoze", 1.3, 8}}

const conns = 20

// recording is a run with figures of the right order, in three rounds.
func recording() *result.Run {
	r := &result.Run{Settings: result.Settings{Conns: conns}}
	for _, p := range profiles {
		for _, m := range modes {
			for _, noise := range []float64{0.99, 1, 1.01} {
				rps := p.rps * m.rps * noise
				latency := 1000 * conns / rps
				overhead := p.overhead * m.factor / noise
				r.Add(result.Key{Leg: "tls", Bodies: "repeat", Profile: p.name, Mode: m.name}, result.Sample{
					RPS:      rps,
					Latency:  result.Quantiles{Avg: latency, P50: latency, P95: 2 * latency, P99: 3 * latency},
					Overhead: result.Quantiles{Avg: overhead, P50: overhead, P95: 2 * overhead, P99: 4 * overhead},
				})
			}
		}
	}
	r.Summarize()
	return r
}

// variant is the recording with every sample changed.
func variant(change func(result.Key, *result.Sample)) *result.Run {
	r := recording()
	for i := range r.Cells {
		for j := range r.Cells[i].Rounds {
			change(r.Cells[i].Key, &r.Cells[i].Rounds[j])
		}
	}
	r.Summarize()
	return r
}

// host makes everything as fast as a host that much faster would.
func host(factor float64) *result.Run {
	return variant(func(_ result.Key, s *result.Sample) {
		s.RPS *= factor
		s.Latency.P50 /= factor
		s.Overhead.P50 /= factor
	})
}

// The nine cases that tell whether the gates can be trusted.

func TestReplayOfTheRecordingFlagsNothing(t *testing.T) {
	v := Compare(recording(), recording())
	if len(v.Flagged()) != 0 || len(v.Suppressed) != 0 || len(v.Notes) != 0 {
		t.Errorf("flagged %v, suppressed %v, notes %v", v.Flagged(), v.Suppressed, v.Notes)
	}
	// Every mode but the baseline is restated, its time and its throughput.
	if want := len(profiles) * (len(modes) - 1) * 2; len(v.Rows) != want {
		t.Errorf("%d rows, want %d", len(v.Rows), want)
	}
}

// refused checks that every profile is refused and that the figures stay.
func refused(t *testing.T, run *result.Run) {
	t.Helper()
	v := Compare(recording(), run)
	if len(v.Flagged()) != 0 {
		t.Errorf("flagged %v", v.Flagged())
	}
	if len(v.Suppressed) != len(profiles) {
		t.Errorf("suppressed %v", v.Suppressed)
	}
	for i, p := range profiles {
		if i < len(v.Suppressed) && v.Suppressed[i].Group.Profile != p.name {
			t.Errorf("suppressed %v, want %s", v.Suppressed[i], p.name)
		}
	}
	if want := len(profiles) * (len(modes) - 1) * 2; len(v.Rows) != want {
		t.Errorf("%d rows kept, want %d", len(v.Rows), want)
	}
	for _, r := range v.Rows {
		if !r.Suppressed || r.Before == 0 || r.Now == 0 {
			t.Errorf("row %+v", r)
		}
	}
}

func TestContendedHostIsRefused(t *testing.T) { refused(t, host(0.5)) }

func TestHostTwiceAsFastIsRefused(t *testing.T) { refused(t, host(2)) }

func TestPlanted40msIsTheSingleFlaggedRow(t *testing.T) {
	v := Compare(recording(), variant(func(k result.Key, s *result.Sample) {
		if k.Profile == "huge" && k.Mode == "squoze" {
			s.Overhead.P50 += 40
			s.Latency.P50 += 40
		}
	}))
	flagged := v.Flagged()
	if len(flagged) != 1 {
		t.Fatalf("flagged %v", flagged)
	}
	if r := flagged[0]; r.Profile != "huge" || r.Mode != "squoze" || r.Metric == Throughput || r.Millis < 39.9 || r.Millis > 40.1 {
		t.Errorf("flagged %+v", r)
	}
}

func TestHalvedThroughputIsTheSingleThroughputRow(t *testing.T) {
	v := Compare(recording(), variant(func(k result.Key, s *result.Sample) {
		if k.Profile == "large" && k.Mode == "headroom-balanced" {
			s.RPS /= 2
		}
	}))
	flagged := v.Flagged()
	if len(flagged) != 1 {
		t.Fatalf("flagged %v", flagged)
	}
	if r := flagged[0]; r.Profile != "large" || r.Mode != "headroom-balanced" || r.Metric != Throughput || r.Share > -0.49 || r.Millis < MinMillis {
		t.Errorf("flagged %+v", r)
	}
}

func TestHundredthsOfAMillisecondAreSuppressed(t *testing.T) {
	v := Compare(
		variant(func(k result.Key, s *result.Sample) {
			if k.Profile == "small" && k.Mode == "off" {
				s.Overhead.P50 = 0.03
			}
		}),
		variant(func(k result.Key, s *result.Sample) {
			if k.Profile == "small" && k.Mode == "off" {
				s.Overhead.P50 = 0.05
			}
		}))
	if len(v.Flagged()) != 0 {
		t.Errorf("flagged %v", v.Flagged())
	}
	for _, r := range v.Rows {
		if r.Profile == "small" && r.Mode == "off" && r.Metric == Overhead && (r.Share < 0.6 || r.Millis < 0.019) {
			t.Errorf("row %+v", r)
		}
	}
}

// without is the recording less some cells.
func without(drop func(result.Key) bool) *result.Run {
	r := recording()
	var kept []result.Cell
	for _, c := range r.Cells {
		if !drop(c.Key) {
			kept = append(kept, c)
		}
	}
	r.Cells = kept
	r.Summarize()
	return r
}

func TestMissingBaselineMakesNoClaim(t *testing.T) {
	gone := without(func(k result.Key) bool { return k.Profile == "huge" && k.Mode == result.Baseline })
	slow := variant(func(k result.Key, s *result.Sample) {
		if k.Mode == "squoze" {
			s.RPS /= 3
			s.Latency.P50 *= 3
			s.Overhead.P50 += 50
		}
	})
	slowGone := &result.Run{Settings: slow.Settings}
	for _, c := range slow.Cells {
		if c.Profile != "huge" || c.Mode != result.Baseline {
			for _, s := range c.Rounds {
				slowGone.Add(c.Key, s)
			}
		}
	}
	slowGone.Summarize()
	for name, v := range map[string]*Verdict{"in the run": Compare(recording(), slowGone), "in the recording": Compare(gone, slow)} {
		for _, r := range v.Flagged() {
			if r.Profile == "huge" {
				t.Errorf("%s: a claim about huge: %+v", name, r)
			}
		}
		if len(v.Flagged()) == 0 {
			t.Errorf("%s: the other profiles are not judged", name)
		}
		if len(v.Suppressed) != 1 || v.Suppressed[0].Group.Profile != "huge" || !strings.Contains(v.Suppressed[0].Reason, "no baseline") {
			t.Errorf("%s: suppressed %v", name, v.Suppressed)
		}
	}
}

func TestUnknownProfileMakesNoClaim(t *testing.T) {
	v := Compare(without(func(k result.Key) bool { return k.Profile == "large" }), recording())
	if len(v.Flagged()) != 0 || len(v.Suppressed) != 1 || v.Suppressed[0].Group.Profile != "large" || v.Suppressed[0].Reason != "not in the recording" {
		t.Errorf("flagged %v, suppressed %v", v.Flagged(), v.Suppressed)
	}
	for _, r := range v.Rows {
		if r.Profile == "large" {
			t.Errorf("row %+v", r)
		}
	}
	if len(v.Notes) != len(modes)-1 {
		t.Errorf("notes %v", v.Notes)
	}
}

func TestUnknownModeMakesNoClaim(t *testing.T) {
	old := without(func(k result.Key) bool { return k.Mode == "squoze" })
	for name, tc := range map[string]struct {
		v    *Verdict
		note string
	}{
		"new":  {Compare(old, recording()), "is not in the recording"},
		"gone": {Compare(recording(), old), "is in the recording only"},
	} {
		if len(tc.v.Flagged()) != 0 || len(tc.v.Suppressed) != 0 {
			t.Errorf("%s: flagged %v, suppressed %v", name, tc.v.Flagged(), tc.v.Suppressed)
		}
		if len(tc.v.Notes) != len(profiles) || !strings.Contains(tc.v.Notes[0], "squoze "+tc.note) {
			t.Errorf("%s: notes %v", name, tc.v.Notes)
		}
		for _, r := range tc.v.Rows {
			if r.Mode == "squoze" {
				t.Errorf("%s: row %+v", name, r)
			}
		}
	}
}

// Beyond the nine: what moves for the better is told too, as such.
func TestImprovementIsFlaggedAsOne(t *testing.T) {
	v := Compare(recording(), variant(func(k result.Key, s *result.Sample) {
		if k.Profile == "huge" && k.Mode == "squoze" {
			s.RPS *= 2
		}
	}))
	if f := v.Flagged(); len(f) != 1 || f[0].Millis >= 0 || f[0].Share < 0.9 {
		t.Errorf("flagged %v", f)
	}
}

func TestCellsThatMeasuredNothing(t *testing.T) {
	v := Compare(recording(), variant(func(k result.Key, s *result.Sample) {
		if k.Mode == "off" {
			*s = result.Sample{Errors: 50}
		}
	}))
	if len(v.Flagged()) != 0 || len(v.Notes) != len(profiles) || !strings.Contains(v.Notes[0], "not measured") {
		t.Errorf("flagged %v, notes %v", v.Flagged(), v.Notes)
	}
}
