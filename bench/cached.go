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
)

// cacheModes are the ways to answer a request that was asked before.
var cacheModes = []mode{
	{name: result.Baseline},
	{name: result.Off, gateway: []string{"optimize off"}},
	{name: "exact", gateway: []string{"cache exact {", "\tttl 1h", "}"}},
	{name: "similar", gateway: []string{"cache similar 0.95 {", "\tttl 1h", "}"}},
	{name: static, answer: "x"},
}

// static is Caddy without gateway and upstream that answers as many bytes by
// itself: what its server and the sockets cost, below which no cache gets.
const static = "static"

// runCached measures answers from the cache.
func runCached(ctx context.Context, args []string) error {
	f := newFlags("cached")
	c := addCommon(f)
	conns := f.Int("conc", 20, "concurrent connections")
	cell := f.Duration("cell", 4*time.Second, "length of one measurement")
	rounds := f.Int("rounds", 3, "measurements of each cell")
	answer := f.Int("answer", 1200, "length of the answer's text in bytes")
	profileDir := f.String("pprof", "", "folder for a CPU profile of the server in each cell, taken after its last round")
	profileList := f.String("profiles", "small,large", "profiles of the body")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	profiles, err := pickProfiles(*profileList)
	if err != nil {
		return err
	}
	modes := slices.Clone(cacheModes)
	for i := range modes {
		if modes[i].answer != "" {
			modes[i].answer = strings.Repeat("x", *answer)
		}
	}
	m := &matrix{
		modes: modes, pprof: *profileDir, profiles: profiles, bodies: []string{repeat}, legs: []proc.Leg{proc.Plain}, cell: *cell,
		settings: result.Settings{Conns: *conns, CellSecs: cell.Seconds(), Rounds: *rounds, WarmUp: 3, AnswerSize: *answer},
		req:      newRequests(load.Header{Name: "Bench-Answer-Bytes", Value: strconv.Itoa(*answer)}, load.Header{Name: "Authorization", Value: "Bearer sk-bench"}),
	}
	if m.rig, err = newRig(ctx, c, provider.Config{}, m.legs...); err != nil {
		return err
	}
	err = m.start(ctx)
	if err == nil {
		err = m.measure(ctx)
	}
	if err := errors.Join(err, m.rig.close()); err != nil {
		return err
	}
	if err := cachedOutcome(m.run).publish(c); err != nil {
		return err
	}
	return m.failures()
}

// cachedOutcome shows the run.
func cachedOutcome(r *result.Run) *outcome {
	s := r.Settings
	o := &outcome{
		title: "Answers from the cache", host: r.Host, data: r,
		text: []string{fmt.Sprintf("The same request over and over, to an upstream on the same machine that answers at once with %d bytes of text; %d connections, %d rounds of %g s, medians. "+
			"Forwarded: requests that reached the upstream by requests answered. Times in milliseconds. "+
			"CPU: processor time of the server for one request, and how many of them one request through to the upstream takes; the requests per second are also those that the load generator and the upstream on the same processors leave room for. "+
			"%s: Caddy alone that answers as many bytes from its configuration, below which no cache can get.", s.AnswerSize, s.Conns, s.Rounds, s.CellSecs, static)},
	}
	t := report.Table{Head: []string{"profile", "mode", "rps", "x plain Caddy", "x off", "hits", "forwarded", "own p50", "p99", "TTFB p50", "p99", "CPU", "off x"}, Left: []int{1}}
	var promises []promise
	for _, g := range groups(r) {
		for _, mode := range cacheModes {
			k := g
			k.Mode = mode.name
			c := r.Find(k)
			if c == nil {
				continue
			}
			q := c.Median
			row := []string{g.Profile, mode.name, report.Count(q.RPS), "", "", report.Percent(q.Hits), report.Ratio(q.Forwarded), "", "", report.Millis(q.TTFB.P50), report.Millis(q.TTFB.P99), report.Millis(q.CPU), ""}
			if c.Baseline != nil {
				row[3], row[7], row[8] = report.Ratio(c.Baseline.RPS), report.Millis(q.Overhead.P50), report.Millis(q.Overhead.P99)
			}
			if c.Off != nil && mode.name != result.Baseline {
				row[4] = report.Ratio(c.Off.RPS)
				if off := r.Find(offKey(k)); off != nil && q.CPU > 0 {
					row[12] = report.Ratio(off.Median.CPU / q.CPU)
				}
			}
			if c.Off != nil && mode.gateway != nil && mode.name != result.Off {
				promises = append(promises, promise{fmt.Sprintf("%s, %s: requests per second by the same through to the upstream", mode.name, g.Profile), c.Off.RPS, 5, false, report.Ratio})
			}
			t.Add(row...)
		}
	}
	o.tables = []report.Table{promiseTable(promises), t}
	return o
}

// offKey is the cell of k with the gateway's optimizers and cache off.
func offKey(k result.Key) result.Key {
	k.Mode = result.Off
	return k
}
