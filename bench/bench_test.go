package main

import (
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/gate"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/load"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

func names(ms []mode) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.name)
	}
	return out
}

func TestPickModes(t *testing.T) {
	for list, want := range map[string][]string{
		"off":                    {"baseline", "off"},
		"squoze,rtk-[as]*":       {"baseline", "rtk-standard", "rtk-aggressive", "rtk-auto", "squoze"},
		"baseline":               {"baseline"},
		"headroom-balanced, all": {"baseline", "headroom-balanced", "all"},
	} {
		got, err := pickModes(list)
		if err != nil || !slices.Equal(names(got), want) {
			t.Errorf("%s: %v, %v", list, names(got), err)
		}
	}
	if all, err := pickModes("*"); err != nil || len(all) != len(modes) || len(modes) != 15 {
		t.Errorf("* is %v, %v", names(all), err)
	}
	for _, bad := range []string{"", "nonsense", "off,rtk", "["} {
		if _, err := pickModes(bad); !errors.As(err, new(*usageError)) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestPick(t *testing.T) {
	profiles, err := pickProfiles("huge,small")
	if err != nil || !slices.Equal(profiles, []testbody.Profile{testbody.ProfileSmall, testbody.ProfileHuge}) {
		t.Errorf("%v, %v", profiles, err)
	}
	if _, err := pickLegs("tls,quic"); !errors.As(err, new(*usageError)) {
		t.Errorf("quic: %v", err)
	}
	if got, err := numbers("1,20"); err != nil || !slices.Equal(got, []int{1, 20}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "0", "1,x"} {
		if _, err := numbers(bad); err == nil {
			t.Errorf("%q is a list of numbers", bad)
		}
	}
}

func TestUsage(t *testing.T) {
	ctx := context.Background()
	stderr := os.Stderr
	t.Cleanup(func() { os.Stderr = stderr })
	os.Stderr, _ = os.Open(os.DevNull)
	for _, tc := range []struct {
		args []string
		want int
	}{
		{nil, 2}, {[]string{"nonsense"}, 2}, {[]string{"matrix", "-nonsense"}, 2}, {[]string{"matrix", "extra"}, 2},
		{[]string{"matrix", "-modes", "x"}, 2}, {[]string{"matrix", "-conc", "0"}, 2}, {[]string{"compare"}, 2}, {[]string{"compare", "/nonexistent.json"}, 1},
	} {
		if got := dispatch(ctx, tc.args); got != tc.want {
			t.Errorf("%v: status %d, want %d", tc.args, got, tc.want)
		}
	}
}

func TestCommandNamesWhatMatters(t *testing.T) {
	f := newFlags("matrix")
	c := addCommon(f)
	f.Duration("cell", time.Second, "")
	f.Bool("tokens", false, "")
	f.Bool("check", true, "")
	if err := f.Parse([]string{"-binary", "/tmp/x", "-out", "/tmp/y", "-publish", "-cell", "2s", "-tokens", "-check=false"}); err != nil {
		t.Fatal(err)
	}
	if got, want := c.command(), "go run ./bench matrix -cell 2s -check=false -tokens"; got != want {
		t.Errorf("got %q", got)
	}
}

// syntheticRun is a run with every cell, whose figures depend on the mode.
func syntheticRun(change func(k result.Key, s *result.Sample)) *result.Run {
	r := &result.Run{Settings: result.Settings{Conns: 20, Rounds: 2, CellSecs: 1}, Limits: map[string]float64{"small": 50_000}}
	for _, leg := range []string{"plain", "tls"} {
		for _, bodies := range []string{repeat, fresh} {
			for _, p := range testbody.Profiles {
				for _, m := range modes {
					for range 2 {
						k := result.Key{Leg: leg, Bodies: bodies, Profile: p.String(), Mode: m.name}
						s := result.Sample{Requests: 1000, RPS: 1000, CPU: 1}
						if m.name != result.Baseline {
							s.Overhead = result.Quantiles{Avg: 0.02, P50: 0.02, P95: 0.03, P99: 0.05}
						}
						if change != nil {
							change(k, &s)
						}
						r.Add(k, s)
						share := 0.01
						if s.Error == "collects" {
							share = 0.06
						}
						r.Find(k).GCShare = &share
					}
				}
			}
		}
	}
	r.Summarize()
	return r
}

func TestTargetsNoticeEveryMiss(t *testing.T) {
	judge := func(r *result.Run) map[string]string {
		missed := make(map[string]string)
		for _, row := range targetTable(r).Rows {
			if row[5] != "" {
				missed[row[0]] = row[5]
			}
		}
		return missed
	}
	if got := judge(syntheticRun(nil)); len(got) != 0 {
		t.Errorf("a good run misses %v", got)
	}
	if got := len(targetTable(syntheticRun(nil)).Rows); got != len(targets) {
		t.Errorf("%d of %d targets are about something", got, len(targets))
	}
	for name, tc := range map[string]struct {
		change func(k result.Key, s *result.Sample)
		want   string // beginning of the target
		cells  int
	}{
		"off slow": {func(k result.Key, s *result.Sample) {
			if k.Mode == "off" && k.Profile == "huge" {
				s.RPS = 949
			}
		}, "off, rps", 4},
		"off at 0.96": {func(k result.Key, s *result.Sample) {
			if k.Mode == "off" {
				s.RPS = 960
			}
		}, "off, rps", 8},
		"off own time": {func(k result.Key, s *result.Sample) {
			if k.Mode == "off" && k.Profile == "large" {
				s.Overhead.P50 = 0.09
			}
		}, "off, own time p50", 4},
		"off own tail": {func(k result.Key, s *result.Sample) {
			if k.Mode == "off" && k.Leg == "tls" {
				s.Overhead.P99 = 0.2
			}
		}, "off, own time p99", 6},
		"tls repeat": {func(k result.Key, s *result.Sample) {
			if k.Mode == "squoze" && k.Leg == "tls" && k.Bodies == repeat {
				s.SavedBytes, s.RPS = 9, 999
			}
		}, "working modes, repeat, TLS", 3},
		"tls repeat none": {func(k result.Key, s *result.Sample) {
			if k.Mode == "squoze" && k.Leg == "tls" && k.Bodies == repeat {
				s.RPS = 949
			}
		}, "working modes, repeat, TLS", 3},
		"plain repeat": {func(k result.Key, s *result.Sample) {
			if k.Mode == "all" && k.Leg == "plain" && k.Bodies == repeat {
				s.RPS = 929
			}
		}, "working modes, repeat, plain", 3},
		"tls fresh": {func(k result.Key, s *result.Sample) {
			if k.Mode == "all" && k.Leg == "tls" && k.Bodies == fresh {
				s.SavedBytes, s.RPS = 9, 949
			}
		}, "working modes, fresh, TLS", 3},
		"gate": {func(k result.Key, s *result.Sample) {
			if k.Mode == "rtk-auto" && k.Profile == "small" {
				s.Overhead.P50 = 0.031
			}
		}, "size-gated", 4},
		"caveman": {func(k result.Key, s *result.Sample) {
			if k.Mode == "caveman-full" && k.Profile == "small" {
				s.Overhead.P50 = 0.041
			}
		}, "caveman", 4},
		"garbage": {func(k result.Key, s *result.Sample) {
			if k.Mode == "squoze" && k.Profile == "large" {
				s.Error = "collects"
			}
		}, "garbage", 4},
	} {
		got := judge(syntheticRun(tc.change))
		if len(got) != 1 {
			t.Errorf("%s: missed %v", name, got)
		}
		for target, cells := range got {
			if !strings.HasPrefix(target, tc.want) || len(strings.Split(cells, ", ")) != tc.cells {
				t.Errorf("%s: %s by %s, want %d cells", name, target, cells, tc.cells)
			}
		}
	}
}

func TestMatrixReport(t *testing.T) {
	r := syntheticRun(func(k result.Key, s *result.Sample) {
		if k.Mode == "squoze" {
			s.Applied, s.RPS, s.UpstreamBytes, s.SavedTokens = "squoze=on", 1500, 2048, 1234
		}
	})
	if got := len(groups(r)); got != 12 {
		t.Errorf("%d groups", got)
	}
	full, brief := groupTable(r, groups(r)[0]), briefTable(r, groups(r)[0])
	for _, table := range []report.Table{full, brief} {
		if len(table.Rows) != len(modes) {
			t.Errorf("%d rows", len(table.Rows))
		}
		last := table.Rows[len(table.Rows)-1]
		for _, want := range []string{"squoze", "1,500", "1.500", "squoze=on", "2.0 KiB"} {
			if !slices.Contains(last, want) {
				t.Errorf("no %q in %v", want, last)
			}
		}
		if len(last) != len(table.Head) {
			t.Errorf("%d cells under %d heads", len(last), len(table.Head))
		}
	}
	svg := matrixChart(r)
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Count(svg, "<text") < 6*3+len(modes)-1 {
		t.Error("labels are missing")
	}
	// With one profile, leg and mode only, it is still a chart.
	matrixChart(&result.Run{})
	if text := strings.Join(matrixText(r), "\n"); !strings.Contains(text, "small 50,000") {
		t.Errorf("got %s", text)
	}
}

func TestPublish(t *testing.T) {
	f := newFlags("matrix")
	c := addCommon(f)
	dir := filepath.Join(t.TempDir(), "new")
	if err := f.Parse([]string{"-out", dir}); err != nil {
		t.Fatal(err)
	}
	o := &outcome{title: "T", data: map[string]int{"a": 1}, text: []string{"para"}, chart: "<svg/>", tables: []report.Table{{Head: []string{"h"}}}}
	if err := o.publish(c); err != nil {
		t.Fatal(err)
	}
	md, err := os.ReadFile(filepath.Join(dir, "matrix.md"))
	if err != nil || !strings.Contains(string(md), "![T](matrix.svg)") || !strings.Contains(string(md), "| h |") || !strings.Contains(string(md), "go run ./bench matrix\n") {
		t.Errorf("%s, %v", md, err)
	}
	for _, name := range []string{"matrix.json", "matrix.svg"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSampleOf(t *testing.T) {
	res := &load.Result{Requests: 90, Total: 100, Elapsed: time.Second, SavedBytes: 1000, SavedTokens: 200, Applied: map[string]int64{"a": 3, "b": 97}}
	res.Latency.Add(4 * time.Millisecond)
	s := sampleOf(res,
		proc.Usage{CPU: time.Second, Allocated: 1 << 20, Mallocs: 1000},
		proc.Usage{CPU: 2 * time.Second, Allocated: 2 << 20, Mallocs: 3000},
		provider.Stats{Requests: 100, BodyBytes: 5000})
	if s.RPS != 90 || s.CPU != 10 || s.Alloc != 10.24 || s.Mallocs != 20 || s.UpstreamBytes != 50 || s.SavedBytes != 10 || s.SavedTokens != 2 || s.Applied != "b" || s.Latency.P50 != 4 {
		t.Errorf("got %+v", s)
	}
	s = sampleOf(&load.Result{Errors: 3, Error: "e"}, proc.Usage{CPU: -1}, proc.Usage{CPU: -1}, provider.Stats{})
	if s.RPS != 0 || s.CPU != 0 || s.Errors != 3 || s.Error != "e" {
		t.Errorf("got %+v", s)
	}
}

// Bodies that change are of the profile's size and new for every connection
// and every cell.
func TestRequests(t *testing.T) {
	q := newRequests()
	up := provider.New(provider.Config{Check: true})
	u, err := startUpstreamFor(t, up)
	if err != nil {
		t.Fatal(err)
	}
	for _, bodies := range []string{repeat, fresh} {
		for _, p := range testbody.Profiles {
			before := up.Stats()
			res, err := load.Run(context.Background(), load.Plan{Addr: u, Conns: 2, Limit: 2, Request: q.of(u, p, bodies, 2)})
			if err != nil || res.Errors > 0 {
				t.Fatalf("%s %s: %v, %+v", bodies, p, err, res)
			}
			if got := up.Stats().BodyBytes - before.BodyBytes; got != 4*int64(len(testbody.Body(p))) {
				t.Errorf("%s %s: %d bytes", bodies, p, got)
			}
		}
	}
}

func startUpstreamFor(t *testing.T, p *provider.Provider) (string, error) {
	u := &upstream{provider: p, addr: make(upstreamAddrs)}
	t.Cleanup(u.close)
	return u.listen("127.0.0.1:0")
}

func TestVerdictOutcome(t *testing.T) {
	recorded := syntheticRun(nil)
	run := syntheticRun(func(k result.Key, s *result.Sample) {
		switch {
		case k.Profile == "huge" && k.Mode == "squoze":
			s.Overhead.P50 += 40
		case k.Profile == "small" && k.Leg == "tls":
			s.RPS /= 3
		}
	})
	o := verdictOutcome(gate.Compare(recorded, run), recorded, run, false)
	if got := o.tables[0].Rows[0]; !slices.Equal(got, []string{"336", "4", "2"}) {
		t.Errorf("verdict %v", got)
	}
	worse := 0
	for _, row := range o.tables[2].Rows {
		if row[9] == "WORSE" {
			worse++
			if row[2] != "huge" || row[3] != "squoze" || row[8] != "40.0" {
				t.Errorf("row %v", row)
			}
		}
	}
	if worse != 4 {
		t.Errorf("%d rows are worse", worse)
	}
}

func TestProgress(t *testing.T) {
	var b strings.Builder
	p := progress{w: &b, over: true, total: 2, start: time.Now()}
	p.step("a long line")
	p.step("short")
	p.end()
	if got := b.String(); strings.Count(got, "\r") != 2 || !strings.HasSuffix(got, "\n") || !strings.Contains(got, "[2/2] short") {
		t.Errorf("got %q", got)
	}
	b.Reset()
	p = progress{w: &b, total: 2, start: time.Now()}
	p.step("x")
	p.end()
	if got := b.String(); strings.Count(got, "\n") != 1 {
		t.Errorf("got %q", got)
	}
}

func TestHelpIsNoError(t *testing.T) {
	f := newFlags("x")
	f.SetOutput(io.Discard)
	if err := parse(f, []string{"-h"}, 0); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v", err)
	}
}
