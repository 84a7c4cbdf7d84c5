package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
)

// publish shows the run.
func (m *matrix) publish(c common) error {
	o := outcome{
		title: "Every mode against plain Caddy", host: m.run.Host, data: m.run,
		text: matrixText(m.run), chart: matrixChart(m.run),
		tables: []report.Table{targetTable(m.run)},
	}
	for _, g := range groups(m.run) {
		o.tables = append(o.tables, groupTable(m.run, g))
		o.brief = append(o.brief, briefTable(m.run, g))
	}
	o.brief = append(o.brief, o.tables[0])
	return o.publish(c)
}

// matrixText says how to read the tables.
func matrixText(r *result.Run) []string {
	s := r.Settings
	text := []string{fmt.Sprintf(
		"%d connections, %d rounds of %g s and %d warm-up requests per connection in each cell, medians over the rounds; answers of %d bytes of text. "+
			"Every mode is a server process of its own; `baseline` is Caddy's `reverse_proxy` with the same transport and no gateway. Load generator, upstream and server share the machine.",
		s.Conns, s.Rounds, s.CellSecs, s.WarmUp, s.AnswerSize)}
	if len(r.Limits) > 0 {
		var limits []string
		for _, p := range profileNames(r) {
			if l, ok := r.Limits[p]; ok {
				limits = append(limits, fmt.Sprintf("%s %s", p, report.Count(l)))
			}
		}
		text = append(text, "The generator straight at the upstream, without any proxy, in requests per second: "+strings.Join(limits, ", ")+".")
	}
	return append(text, "Columns: requests per second, their ratio to the baseline of the same round (median, and lowest to highest round) and to `off`, spread of rps over the rounds, failed requests; "+
		"the gateway's own time as it reports it, and its median over that of `off`; the difference in latency to the baseline as seen from outside, which at full load is little else than the ratio of rps; time to first byte; "+
		"body bytes that reach the upstream and tokens saved per request; processor time of the server per request and its ratio to the baseline's; share of that in the garbage collector, by a profile taken apart; "+
		"memory allocated per request; what the answers said was applied. Times in milliseconds.")
}

// groups are the groups of cells in the order of measurement.
func groups(r *result.Run) []result.Key {
	var out []result.Key
	seen := make(map[result.Key]bool)
	for i := range r.Cells {
		if g := r.Cells[i].Group(); !seen[g] {
			seen[g] = true
			out = append(out, g)
		}
	}
	return out
}

// profileNames are the profiles of a run in order of size.
func profileNames(r *result.Run) []string {
	var out []string
	seen := make(map[string]bool)
	for i := range r.Cells {
		if p := r.Cells[i].Profile; !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

// groupTable is the table of one group.
func groupTable(r *result.Run, g result.Key) report.Table {
	t := report.Table{
		Title: fmt.Sprintf("%s body, %s, upstream %s", g.Profile, g.Bodies, g.Leg),
		Head: []string{"mode", "requests", "rps", "x base", "rounds", "x off", "spread", "err", "own avg", "p50", "p95", "p99", "p50-off",
			"+lat avg", "+p50", "+p95", "+p99", "TTFB p50", "p95", "p99", "upstream", "tokens saved", "CPU", "x base", "GC", "alloc", "applied"},
		Left: []int{26},
	}
	for _, mode := range modes {
		k := g
		k.Mode = mode.name
		c := r.Find(k)
		if c == nil {
			continue
		}
		s := c.Median
		row := []string{mode.name, report.Count(s.Requests), report.Count(s.RPS), "", "", "", report.Percent(c.Spread), report.Count(s.Errors)}
		if d := c.Baseline; d != nil {
			row[3], row[4] = report.Ratio(d.RPS), report.Ratio(d.RPSLow)+"-"+report.Ratio(d.RPSHigh)
		}
		if d := c.Off; d != nil && mode.working() {
			row[5] = report.Ratio(d.RPS)
		}
		if q := s.Overhead; mode.name != result.Baseline {
			row = append(row, report.Millis(q.Avg), report.Millis(q.P50), report.Millis(q.P95), report.Millis(q.P99))
		} else {
			row = append(row, "", "", "", "")
		}
		if d := c.Off; d != nil && mode.working() {
			row = append(row, report.Millis(d.Overhead.P50))
		} else {
			row = append(row, "")
		}
		if d := c.Baseline; d != nil {
			row = append(row, report.Millis(d.Latency.Avg), report.Millis(d.Latency.P50), report.Millis(d.Latency.P95), report.Millis(d.Latency.P99))
		} else {
			row = append(row, "", "", "", "")
		}
		row = append(row, report.Millis(s.TTFB.P50), report.Millis(s.TTFB.P95), report.Millis(s.TTFB.P99),
			report.Bytes(s.UpstreamBytes), report.Count(s.SavedTokens), report.Millis(s.CPU))
		if d := c.Baseline; d != nil {
			row = append(row, report.Ratio(d.CPU))
		} else {
			row = append(row, "")
		}
		row = append(row, gcShare(c), report.Bytes(1024*s.Alloc), s.Applied)
		t.Add(row...)
	}
	return t
}

// gcShare shows a cell's share of garbage collection, if it was measured.
func gcShare(c *result.Cell) string {
	if c.GCShare == nil {
		return ""
	}
	return report.Percent(*c.GCShare)
}

// briefTable is what of a group fits on a terminal.
func briefTable(r *result.Run, g result.Key) report.Table {
	t := report.Table{
		Title: fmt.Sprintf("%s body, %s, upstream %s", g.Profile, g.Bodies, g.Leg),
		Head:  []string{"mode", "rps", "x base", "x off", "spread", "err", "own p50", "p99", "TTFB p50", "p99", "upstream", "CPU", "x base", "GC", "applied"},
		Left:  []int{14},
	}
	for _, mode := range modes {
		k := g
		k.Mode = mode.name
		c := r.Find(k)
		if c == nil {
			continue
		}
		s := c.Median
		row := []string{mode.name, report.Count(s.RPS), "", "", report.Percent(c.Spread), report.Count(s.Errors), "", "",
			report.Millis(s.TTFB.P50), report.Millis(s.TTFB.P99), report.Bytes(s.UpstreamBytes), report.Millis(s.CPU), "", gcShare(c), s.Applied}
		if d := c.Baseline; d != nil {
			row[2], row[12] = report.Ratio(d.RPS), report.Ratio(d.CPU)
			row[6], row[7] = report.Millis(s.Overhead.P50), report.Millis(s.Overhead.P99)
		}
		if d := c.Off; d != nil && mode.working() {
			row[3] = report.Ratio(d.RPS)
		}
		t.Add(row...)
	}
	return t
}

// matrixChart shows rps and overhead of every mode by profile; a series is a
// leg with a kind of bodies.
func matrixChart(r *result.Run) string {
	type series struct{ leg, bodies string }
	var all []series
	seen := make(map[series]bool)
	for _, g := range groups(r) {
		if s := (series{g.Leg, g.Bodies}); !seen[s] {
			seen[s] = true
			all = append(all, s)
		}
	}
	chart := report.Chart{Title: "Requests per second relative to plain Caddy, and the gateway's own time (p50)"}
	for _, s := range all {
		chart.Series = append(chart.Series, fmt.Sprintf("upstream %s, bodies %s", s.leg, s.bodies))
	}
	var rows []mode
	for _, m := range modes {
		if m.name == result.Baseline {
			continue
		}
		for i := range r.Cells {
			if r.Cells[i].Mode == m.name {
				rows = append(rows, m)
				chart.Rows = append(chart.Rows, m.name)
				break
			}
		}
	}
	panel := func(profile string, p report.Panel, value func(*result.Cell) float64) {
		for _, m := range rows {
			var values []float64
			for _, s := range all {
				c := r.Find(result.Key{Leg: s.leg, Bodies: s.bodies, Profile: profile, Mode: m.name})
				if c == nil {
					values = append(values, math.NaN())
					continue
				}
				values = append(values, value(c))
			}
			p.Values = append(p.Values, values)
		}
		chart.Panels = append(chart.Panels, p)
	}
	for _, profile := range profileNames(r) {
		panel(profile, report.Panel{Title: "rps, " + profile, Line: 1}, func(c *result.Cell) float64 {
			if c.Baseline == nil {
				return math.NaN()
			}
			return c.Baseline.RPS
		})
	}
	for _, profile := range profileNames(r) {
		panel(profile, report.Panel{Title: "own ms, " + profile, Log: true}, func(c *result.Cell) float64 {
			if c.Median.Overhead.P50 <= 0 {
				return math.NaN()
			}
			return c.Median.Overhead.P50
		})
	}
	return chart.SVG()
}
