package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
)

// goBenchmarks are the benchmarks that stand beside the code and are told in
// the document.
var goBenchmarks = []struct{ title, pkg, pattern string }{
	{"JSON scanner", "./internal/jsonspan", "."},
	{"Request views and answers", "./adapter", "."},
	{"Passes over whole requests", "./optimize", "."},
	{"rtk", "./optimize/rtk", "."},
	{"squoze", "./optimize/squoze", "."},
	{"Token estimate", "./optimize/tokens", "."},
	{"Memo", "./internal/memo", "."},
	{"Similar cache", "./cache/similar", "."},
	{"Exact cache", "./cache", "ExactHit|LookupSimilar|InsertEvict|Hash4K|Canonical|Tenant"},
	{"Keys and limits", "./access", "."},
}

// measurement is one line of go test -bench.
type measurement struct {
	Name    string             `json:"name"`
	Runs    int64              `json:"runs"`
	Metrics map[string]float64 `json:"metrics"` // by unit
}

// benchGroup is the benchmarks of one package.
type benchGroup struct {
	Title        string        `json:"title"`
	Package      string        `json:"package"`
	Measurements []measurement `json:"measurements"`
}

// runGobench is the verb.
func runGobench(ctx context.Context, args []string) error {
	f := newFlags("gobench")
	c := addCommon(f)
	only := f.String("only", "", "regular expression for packages")
	pattern := f.String("bench", "", "regular expression for benchmarks, in place of the usual ones")
	benchtime := f.String("benchtime", "1s", "as of go test")
	count := f.Int("count", 3, "repetitions; medians are shown")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return usagef("only: %v", err)
	}
	root, err := proc.Root()
	if err != nil {
		return err
	}
	var groups []benchGroup
	for _, b := range goBenchmarks {
		if !wanted.MatchString(b.pkg) {
			continue
		}
		if *pattern != "" {
			b.pattern = *pattern
		}
		fmt.Fprintln(os.Stderr, b.pkg, "...")
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", b.pattern, "-benchmem", "-benchtime", *benchtime, "-count", strconv.Itoa(*count), "-timeout", "2h", b.pkg)
		cmd.Dir = root
		var out, fail bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &fail
		if err := cmd.Run(); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", b.pkg, err), errors.New(out.String()+fail.String()))
		}
		all, err := parseBench(&out)
		if err != nil {
			return fmt.Errorf("%s: %w", b.pkg, err)
		}
		groups = append(groups, benchGroup{b.title, b.pkg, all})
	}
	return gobenchOutcome(groups, report.ThisHost(ctx, root), *benchtime, *count).publish(c)
}

// benchLine is a benchmark's line: name, processors, runs, then figures with
// their units.
var benchLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+(\d+)\s+(.+)$`)

// parseBench reads the output of go test -bench. Several runs of one benchmark
// become their medians.
func parseBench(r io.Reader) ([]measurement, error) {
	var names []string
	runs := make(map[string][]measurement)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := benchLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		n, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			return nil, err
		}
		one := measurement{Name: m[1], Runs: n, Metrics: make(map[string]float64)}
		fields := strings.Fields(m[3])
		for i := 0; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", lines.Text(), err)
			}
			one.Metrics[fields[i+1]] = v
		}
		if runs[one.Name] == nil {
			names = append(names, one.Name)
		}
		runs[one.Name] = append(runs[one.Name], one)
	}
	var out []measurement
	for _, name := range names {
		all := runs[name]
		median := measurement{Name: name, Runs: all[0].Runs, Metrics: make(map[string]float64)}
		for unit := range all[0].Metrics {
			median.Metrics[unit] = medianOf(all, func(m measurement) float64 { return m.Metrics[unit] })
		}
		out = append(out, median)
	}
	return out, lines.Err()
}

// firstUnits come first among the columns, in this order.
var firstUnits = []string{"ns/op", "ns/byte", "MB/s", "B/op", "allocs/op"}

// gobenchOutcome shows the groups.
func gobenchOutcome(groups []benchGroup, host report.Host, benchtime string, count int) *outcome {
	o := &outcome{
		title: "Benchmarks beside the code", host: host, data: groups,
		text: []string{fmt.Sprintf("`go test -bench . -benchmem -benchtime %s -count %d`, medians.", benchtime, count)},
	}
	for _, g := range groups {
		var units []string
		for _, m := range g.Measurements {
			for unit := range m.Metrics {
				if !slices.Contains(units, unit) {
					units = append(units, unit)
				}
			}
		}
		slices.SortFunc(units, func(a, b string) int {
			rank := func(u string) int {
				if i := slices.Index(firstUnits, u); i >= 0 {
					return i
				}
				return len(firstUnits)
			}
			if d := rank(a) - rank(b); d != 0 {
				return d
			}
			return strings.Compare(a, b)
		})
		t := report.Table{Title: g.Title + " (" + g.Package + ")", Head: append([]string{"benchmark"}, units...)}
		for _, m := range g.Measurements {
			row := []string{m.Name}
			for _, unit := range units {
				v, ok := m.Metrics[unit]
				if !ok {
					row = append(row, "")
					continue
				}
				row = append(row, figure(v))
			}
			t.Add(row...)
		}
		o.tables = append(o.tables, t)
	}
	return o
}

// figure writes a number with as many decimals as it needs.
func figure(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 1:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return report.Count(v)
}
