package main

import (
	"fmt"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
)

// target is one promise about the matrix.
type target struct {
	what string
	// applies says which cells it is about.
	applies func(c *result.Cell, m mode) bool
	// figure is what is promised something about, bound what is promised;
	// atMost says in which direction.
	figure func(c *result.Cell) float64
	bound  func(c *result.Cell) float64
	atMost bool
	show   func(float64) string
}

// saves reports whether a mode made the body smaller.
func saves(c *result.Cell) bool { return c.Median.SavedBytes > 0 }

// constant is a bound that is the same for all cells.
func constant(v float64) func(*result.Cell) float64 { return func(*result.Cell) float64 { return v } }

// byProfile is a bound by profile.
func byProfile(small, large, huge float64) func(*result.Cell) float64 {
	return func(c *result.Cell) float64 {
		switch c.Profile {
		case "small":
			return small
		case "large":
			return large
		}
		return huge
	}
}

// bySaving is a bound that depends on whether the mode saves bytes.
func bySaving(yes, no float64) func(*result.Cell) float64 {
	return func(c *result.Cell) float64 {
		if saves(c) {
			return yes
		}
		return no
	}
}

func rpsRatio(c *result.Cell) float64   { return c.Baseline.RPS }
func ownP50(c *result.Cell) float64     { return c.Median.Overhead.P50 }
func ownOverOff(c *result.Cell) float64 { return c.Off.Overhead.P50 }
func is(name string) func(*result.Cell, mode) bool {
	return func(c *result.Cell, _ mode) bool { return c.Mode == name && c.Baseline != nil }
}

// working selects the cells of working modes with those bodies and that leg.
func working(bodies, leg string) func(*result.Cell, mode) bool {
	return func(c *result.Cell, m mode) bool {
		return m.working() && c.Bodies == bodies && c.Leg == leg && c.Baseline != nil
	}
}

// targets are the promises, for a machine with two cores that the generator
// and the upstream share.
var targets = []target{
	{"off, rps by plain Caddy's: at least 0.97 small and large, 0.95 huge", is(result.Off), rpsRatio, byProfile(0.97, 0.97, 0.95), false, report.Ratio},
	{"off, own time p50: at most 0.03 ms small, 0.08 large, 0.30 huge", is(result.Off), ownP50, byProfile(0.03, 0.08, 0.30), true, report.Millis},
	{"off, own time p99 within 5 times its p50", is(result.Off), func(c *result.Cell) float64 { return c.Median.Overhead.P99 / max(c.Median.Overhead.P50, 0.001) }, constant(5), true, report.Ratio},
	{"working modes, repeat, TLS, rps: at least 1.0 where bytes are saved, else 0.95", working(repeat, "tls"), rpsRatio, bySaving(1, 0.95), false, report.Ratio},
	{"working modes, repeat, plain, rps: at least 0.95 where bytes are saved, else 0.93", working(repeat, "plain"), rpsRatio, bySaving(0.95, 0.93), false, report.Ratio},
	{"working modes, fresh, TLS, rps: at least 0.95 where bytes are saved, else 0.90", working(fresh, "tls"), rpsRatio, bySaving(0.95, 0.90), false, report.Ratio},
	{"size-gated modes on small, own time p50 over off: at most 0.01 ms", func(c *result.Cell, m mode) bool { return m.gated && c.Profile == "small" && c.Off != nil }, ownOverOff, constant(0.01), true, report.Millis},
	{"caveman on small, own time p50 over off: at most 0.02 ms", func(c *result.Cell, m mode) bool {
		return strings.HasPrefix(m.name, "caveman") && c.Profile == "small" && c.Off != nil
	}, ownOverOff, constant(0.02), true, report.Millis},
	{"garbage collector on large: at most 5 % of the processor time", func(c *result.Cell, _ mode) bool { return c.Profile == "large" && c.GCShare != nil }, func(c *result.Cell) float64 { return *c.GCShare }, constant(0.05), true, report.Percent},
}

// judge applies a target to a run: how many cells it is about, which of them
// miss it, and the cell nearest to or furthest beyond its bound.
func (t target) judge(r *result.Run) (cells int, missed []string, worst *result.Cell) {
	margin := func(c *result.Cell) float64 {
		if t.atMost {
			return t.bound(c) - t.figure(c)
		}
		return t.figure(c) - t.bound(c)
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		m, ok := modeNamed(c.Mode)
		if !ok || !t.applies(c, m) {
			continue
		}
		cells++
		if margin(c) < 0 {
			missed = append(missed, c.Key.String()+" "+t.show(t.figure(c)))
		}
		if worst == nil || margin(c) < margin(worst) {
			worst = c
		}
	}
	return cells, missed, worst
}

// targetTable says which targets a run meets.
func targetTable(r *result.Run) report.Table {
	t := report.Table{Title: "Targets", Head: []string{"target", "met", "worst cell", "is", "bound", "missed by"}, Left: []int{1, 2, 5}}
	for _, target := range targets {
		cells, missed, worst := target.judge(r)
		if cells == 0 {
			continue
		}
		t.Add(target.what, fmt.Sprintf("%d of %d", cells-len(missed), cells),
			worst.Key.String(), target.show(target.figure(worst)), target.show(target.bound(worst)), strings.Join(missed, ", "))
	}
	return t
}
