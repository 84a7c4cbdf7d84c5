package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/load"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

// tier is a number of connections with its measurements.
type tier struct {
	Conns  int         `json:"connections"`
	Answer int         `json:"answer_bytes"`
	Run    *result.Run `json:"run"`
}

// runTiers measures small requests at rising numbers of connections.
func runTiers(ctx context.Context, args []string) error {
	f := newFlags("tiers")
	c := addCommon(f)
	concList := f.String("conc", "10,16,50,100,500", "concurrent connections")
	modeList := f.String("modes", "off,rtk-auto,caveman-full,squoze", "modes beside the baseline")
	cell := f.Duration("cell", 4*time.Second, "length of one measurement")
	rounds := f.Int("rounds", 3, "measurements of each cell")
	answer := f.Int("answer", 1200, "length of the answer's text in bytes")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	conc, err := numbers(*concList)
	if err != nil {
		return usagef("conc: %v", err)
	}
	picked, err := pickModes(*modeList)
	if err != nil {
		return err
	}
	m := &matrix{
		modes: picked, profiles: []testbody.Profile{testbody.ProfileSmall}, bodies: []string{repeat}, legs: []proc.Leg{proc.Plain}, cell: *cell,
		settings: result.Settings{CellSecs: cell.Seconds(), Rounds: *rounds, WarmUp: 3, AnswerSize: *answer, Conns: conc[0]},
		req:      newRequests(load.Header{Name: "Bench-Answer-Bytes", Value: strconv.Itoa(*answer)}),
	}
	if m.rig, err = newRig(ctx, c, provider.Config{}, m.legs...); err != nil {
		return err
	}
	tiers, err := m.tiers(ctx, conc)
	if err := errors.Join(err, m.rig.close()); err != nil {
		return err
	}
	o := tiersOutcome(tiers)
	if err := o.publish(c); err != nil {
		return err
	}
	for _, t := range tiers {
		m.run = t.Run
		if err := m.failures(); err != nil {
			return err
		}
	}
	return nil
}

// numbers reads a comma-separated list of positive numbers.
func numbers(s string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no positive number", part)
		}
		out = append(out, n)
	}
	return out, nil
}

// tiers runs the matrix once for each number of connections, on the same
// servers.
func (m *matrix) tiers(ctx context.Context, conc []int) ([]tier, error) {
	if err := m.start(ctx); err != nil {
		return nil, err
	}
	var tiers []tier
	for _, n := range conc {
		m.settings.Conns = n
		m.run = &result.Run{Host: m.run.Host, Started: m.run.Started, Settings: m.settings}
		if err := m.measure(ctx); err != nil {
			return nil, err
		}
		tiers = append(tiers, tier{n, m.settings.AnswerSize, m.run})
	}
	return tiers, nil
}

// tiersOutcome shows the tiers.
func tiersOutcome(tiers []tier) *outcome {
	s := tiers[0].Run.Settings
	o := &outcome{
		title: "Small requests at rising concurrency", host: tiers[0].Run.Host, data: tiers,
		text: []string{fmt.Sprintf("Bodies of %d bytes, answers of %d bytes of text, %d rounds of %g s, medians. Times in milliseconds.", len(testbody.Small()), s.AnswerSize, s.Rounds, s.CellSecs)},
	}
	t := report.Table{Head: []string{"connections", "mode", "rps", "x base", "rounds", "err", "own p50", "p95", "p99", "TTFB p50", "p95", "p99", "+TTFB p50", "p99", "CPU", "x base"}, Left: []int{1}}
	for _, tier := range tiers {
		for _, mode := range modes {
			i := slices.IndexFunc(tier.Run.Cells, func(c result.Cell) bool { return c.Mode == mode.name })
			if i < 0 {
				continue
			}
			c := &tier.Run.Cells[i]
			q := c.Median
			row := []string{strconv.Itoa(tier.Conns), mode.name, report.Count(q.RPS), "", "", report.Count(q.Errors), "", "", "",
				report.Millis(q.TTFB.P50), report.Millis(q.TTFB.P95), report.Millis(q.TTFB.P99), "", "", report.Millis(q.CPU), ""}
			if d := c.Baseline; d != nil {
				row[3], row[4] = report.Ratio(d.RPS), report.Ratio(d.RPSLow)+"-"+report.Ratio(d.RPSHigh)
				row[6], row[7], row[8] = report.Millis(q.Overhead.P50), report.Millis(q.Overhead.P95), report.Millis(q.Overhead.P99)
				row[12], row[13], row[15] = report.Millis(d.TTFB.P50), report.Millis(d.TTFB.P99), report.Ratio(d.CPU)
			}
			t.Add(row...)
		}
	}
	var promises []promise
	for _, tier := range tiers {
		if tier.Conns != 16 {
			continue
		}
		for _, mode := range modes {
			i := slices.IndexFunc(tier.Run.Cells, func(c result.Cell) bool { return c.Mode == mode.name && c.Baseline != nil })
			if i >= 0 {
				promises = append(promises, promise{"16 connections, " + mode.name + ": requests per second by plain Caddy's", tier.Run.Cells[i].Baseline.RPS, 0.9, false, report.Ratio})
			}
		}
	}
	if promises != nil {
		o.tables = append(o.tables, promiseTable(promises))
	}
	o.tables = append(o.tables, t)
	return o
}
