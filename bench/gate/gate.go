// Package gate decides whether a run of the matrix has drifted from a recorded
// one. It claims drift only where the two can be compared and where the
// difference is large in proportion and in milliseconds both: a contended host
// must not look like a slow gateway, nor a hundredth of a millisecond like a
// regression.
package gate

import (
	"fmt"
	"math"
	"slices"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
)

// The gates.
const (
	HostLow, HostHigh = 0.7, 1.4 // rps of the baseline, by that of the recording: within is comparable
	MinShare          = 0.20     // a smaller move is noise
	MinMillis         = 1.0      // so is one of less than this
)

// Metric is what a row is about.
type Metric string

// Metrics. A cell has a row for its time, overhead or latency, whichever moved
// more, and one for its throughput.
const (
	Overhead   Metric = "overhead"   // p50, as self-reported; the baseline has none
	Latency    Metric = "latency"    // p50, less the baseline's
	Throughput Metric = "throughput" // rps, by the baseline's
)

// Row is one mode restated as its distance from the baseline of its own run,
// and the same of the recording.
type Row struct {
	result.Key
	Metric Metric
	Before float64 // of the recording; milliseconds, or a ratio for Throughput
	Now    float64
	// Millis is the move in milliseconds, positive for the worse. For
	// Throughput it is that of the time between two answers of one connection.
	Millis float64
	// Share is the move by what it is a part of: the overhead, the whole
	// latency, the ratio.
	Share float64
	// Suppressed says that the profile is not comparable, so the row has
	// figures but no verdict.
	Suppressed bool
	Flagged    bool
}

// Suppression is why a group of cells publishes no drift.
type Suppression struct {
	Group  result.Key
	Reason string
}

// Verdict is the comparison of two runs.
type Verdict struct {
	Rows       []Row
	Suppressed []Suppression
	Notes      []string // cells that only one of the runs has
}

// Flagged are the rows that moved.
func (v *Verdict) Flagged() []Row {
	var out []Row
	for _, r := range v.Rows {
		if r.Flagged {
			out = append(out, r)
		}
	}
	return out
}

// Compare compares a run with a recorded one.
func Compare(recorded, run *result.Run) *Verdict {
	v := new(Verdict)
	refused := make(map[result.Key]bool)
	var groups []result.Key
	for i := range run.Cells {
		if g := run.Cells[i].Group(); !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		if reason := comparable(recorded, run, g); reason != "" {
			refused[g] = true
			v.Suppressed = append(v.Suppressed, Suppression{g, reason})
		}
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		old := recorded.Find(c.Key)
		switch {
		case c.Mode == result.Baseline:
		case old == nil:
			v.Notes = append(v.Notes, fmt.Sprintf("%s is not in the recording", c.Key))
		case c.Median.RPS == 0 || old.Median.RPS == 0:
			v.Notes = append(v.Notes, fmt.Sprintf("%s was not measured in both runs", c.Key))
		default:
			v.Rows = append(v.Rows, rows(recorded, old, c, refused[c.Group()])...)
		}
	}
	for i := range recorded.Cells {
		if c := &recorded.Cells[i]; slices.Contains(groups, c.Group()) && run.Find(c.Key) == nil {
			v.Notes = append(v.Notes, fmt.Sprintf("%s is in the recording only", c.Key))
		}
	}
	return v
}

// comparable says why a group cannot be compared, "" if it can.
func comparable(recorded, run *result.Run, group result.Key) string {
	k := group
	k.Mode = result.Baseline
	now, before := run.Find(k), recorded.Find(k)
	switch {
	case now == nil || now.Median.RPS == 0:
		return "this run has no baseline"
	case before == nil && !slices.ContainsFunc(recorded.Cells, func(c result.Cell) bool { return c.Group() == group }):
		return "not in the recording"
	case before == nil || before.Median.RPS == 0:
		return "the recording has no baseline"
	}
	if ratio := now.Median.RPS / before.Median.RPS; ratio < HostLow || ratio > HostHigh {
		return fmt.Sprintf("the baseline has %.2f of the recorded rps, outside of %g to %g: another host, or a busy one", ratio, HostLow, HostHigh)
	}
	return ""
}

// rows restates a cell and its recording.
func rows(recorded *result.Run, old, now *result.Cell, suppressed bool) []Row {
	var time, out []Row
	moved := func(m Metric, before, after, scale float64) Row {
		r := Row{Key: now.Key, Metric: m, Before: before, Now: after, Millis: after - before, Suppressed: suppressed}
		if scale > 0 {
			r.Share = r.Millis / scale
		}
		return r
	}
	if before, after := old.Median.Overhead.P50, now.Median.Overhead.P50; before > 0 && after > 0 {
		time = append(time, moved(Overhead, before, after, before))
	}
	if old.Baseline != nil && now.Baseline != nil {
		// A distance can be about nothing; what it is a part of cannot.
		time = append(time, moved(Latency, old.Baseline.Latency.P50, now.Baseline.Latency.P50, old.Median.Latency.P50))
		r := Row{Key: now.Key, Metric: Throughput, Before: old.Baseline.RPS, Now: now.Baseline.RPS, Suppressed: suppressed}
		r.Share = r.Now/r.Before - 1
		between := 1000 * float64(max(recorded.Settings.Conns, 1)) / (old.Median.RPS / r.Before)
		r.Millis = between/r.Now - between/r.Before
		out = append(out, r)
	}
	if len(time) > 0 {
		worst := time[0]
		for _, r := range time[1:] {
			if r.moves() && (!worst.moves() || math.Abs(r.Millis) > math.Abs(worst.Millis)) {
				worst = r
			}
		}
		out = append([]Row{worst}, out...)
	}
	for i := range out {
		out[i].Flagged = out[i].moves() && !suppressed
	}
	return out
}

// moves reports whether a row passes both gates.
func (r Row) moves() bool {
	return math.Abs(r.Share) >= MinShare && math.Abs(r.Millis) >= MinMillis
}
