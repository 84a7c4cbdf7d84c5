package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
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

// logKind is a way of logging. The file is relative to the rig's folder.
type logKind struct {
	name  string
	file  bool
	debug bool
}

var logKinds = []logKind{{name: "off"}, {name: "file", file: true}, {name: "debug", file: true, debug: true}}

// logCell is a mode with a way of logging.
type logCell struct {
	Mode    string          `json:"mode"`
	Log     string          `json:"log"`
	Samples []result.Sample `json:"rounds"`
	Lines   *logLines       `json:"lines,omitempty"`
}

// logLines is what was found in a log file at level info.
type logLines struct {
	Requests int `json:"requests"` // that were answered
	Lines    int `json:"lines"`
	InOrder  int `json:"in_order"` // of the requests that came one after the other, those whose line stands in its place
	Ordered  int `json:"ordered"`  // how many those were
	Foreign  int `json:"foreign"`  // lines that are no access log entry
	Stderr   int `json:"stderr"`   // lines about requests on the server's standard error
}

// ok reports whether the log is what it should be.
func (l *logLines) ok() bool {
	return l.Lines == l.Requests && l.InOrder == l.Ordered && l.Foreign == 0 && l.Stderr == 0
}

// orderedRequests is how many requests are sent one after the other to see
// whether their lines keep the order.
const orderedRequests = 500

// logging is a run of the verb.
type logging struct {
	rig     *rig
	conns   int
	cell    time.Duration
	rounds  int
	cells   []*logCell
	servers []*server
	sent    []int // requests that each server has answered
	stderr  []int // lines of standard error once it was up
}

// runLogcost is the verb.
func runLogcost(ctx context.Context, args []string) error {
	f := newFlags("logcost")
	c := addCommon(f)
	modeList := f.String("modes", "off,rtk-auto", "modes beside the baseline")
	conns := f.Int("conc", 16, "concurrent connections")
	cell := f.Duration("cell", 4*time.Second, "length of one measurement")
	rounds := f.Int("rounds", 5, "measurements of each cell")
	answer := f.Int("answer", 1200, "length of the answer's text in bytes")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	picked, err := pickModes(*modeList)
	if err != nil {
		return err
	}
	l := &logging{conns: *conns, cell: *cell, rounds: *rounds}
	if l.rig, err = newRig(ctx, c, provider.Config{AnswerBytes: *answer}, proc.Plain); err != nil {
		return err
	}
	err = l.measure(ctx, picked)
	host := l.rig.host(ctx)
	if err := errors.Join(err, l.rig.close()); err != nil {
		return err
	}
	if err := l.outcome(host, *answer).publish(c); err != nil {
		return err
	}
	for _, c := range l.cells {
		if c.Lines != nil && !c.Lines.ok() {
			return errVerdict
		}
	}
	return nil
}

// logFile is the access log of a server.
func (l *logging) logFile(i int) string {
	return filepath.Join(l.rig.dir, fmt.Sprintf("%s-%s.log", l.cells[i].Mode, l.cells[i].Log))
}

func (l *logging) measure(ctx context.Context, picked []mode) error {
	for _, m := range picked {
		for _, kind := range logKinds {
			l.cells = append(l.cells, &logCell{Mode: m.name, Log: kind.name})
			opts := serverOptions{debug: kind.debug}
			if kind.file {
				opts.log = []string{"output file " + strconv.Quote(l.logFile(len(l.cells)-1)) + " {", "\troll_disabled", "}"}
			}
			s, err := l.rig.start(ctx, m.name+"-"+kind.name, m, opts)
			if err != nil {
				return err
			}
			l.servers = append(l.servers, s)
		}
	}
	l.sent, l.stderr = make([]int, len(l.cells)), make([]int, len(l.cells))
	for i, s := range l.servers {
		lines, err := countLines(s.Stderr())
		if err != nil {
			return err
		}
		l.stderr[i] = lines
		if err := l.inOrder(ctx, i); err != nil {
			return err
		}
	}
	progress := newProgress(l.rounds * len(l.cells))
	defer progress.end()
	for range l.rounds {
		for _, i := range rand.Perm(len(l.cells)) {
			sample, err := l.sample(ctx, i)
			if err != nil {
				return fmt.Errorf("%s, log %s: %w", l.cells[i].Mode, l.cells[i].Log, err)
			}
			l.cells[i].Samples = append(l.cells[i].Samples, sample)
			progress.step(fmt.Sprintf("%-21s log %-5s %8.0f rps", l.cells[i].Mode, l.cells[i].Log, sample.RPS))
		}
	}
	for i, c := range l.cells {
		if c.Log != "file" {
			continue
		}
		stderr := l.servers[i].Stderr()
		written, err := countLines(stderr)
		if err != nil {
			return err
		}
		// Stopping closes the file.
		if err := l.rig.stop(l.servers[i]); err != nil {
			return err
		}
		file, err := os.Open(l.logFile(i))
		if err != nil {
			return err
		}
		c.Lines, err = readLog(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		c.Lines.Requests, c.Lines.Stderr = l.sent[i], written-l.stderr[i]
	}
	return nil
}

// inOrder sends numbered requests one after the other.
func (l *logging) inOrder(ctx context.Context, i int) error {
	addr := l.servers[i].addr[proc.Plain]
	conn, err := load.Dial(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	for n := range orderedRequests {
		x, err := conn.Do(load.NewRequest(addr, chatPath+"?n="+strconv.Itoa(n), nil, testbody.Small()), nil, nil)
		if err != nil {
			return err
		}
		if x.Status != 200 {
			return fmt.Errorf("status %d", x.Status)
		}
	}
	l.sent[i] += orderedRequests
	return nil
}

// sample measures one cell once.
func (l *logging) sample(ctx context.Context, i int) (result.Sample, error) {
	s := l.servers[i]
	addr := s.addr[proc.Plain]
	req := load.NewRequest(addr, chatPath, nil, testbody.Small())
	var before proc.Usage
	var beforeErr error
	up := l.rig.up.provider.Stats()
	res, err := load.Run(ctx, load.Plan{
		Addr: addr, Conns: l.conns, WarmUp: 3, Duration: l.cell, Request: func(int) *load.Request { return req },
		Started: func() { before, beforeErr = s.Usage(ctx) },
	})
	if err != nil {
		return result.Sample{}, err
	}
	after, err := s.Usage(ctx)
	if err := errors.Join(beforeErr, err); err != nil {
		return result.Sample{}, err
	}
	now := l.rig.up.provider.Stats()
	l.sent[i] += int(res.Total) + 3*l.conns
	if res.Errors > 0 {
		return result.Sample{}, fmt.Errorf("%d errors, the first: %s", res.Errors, res.Error)
	}
	now.Requests -= up.Requests
	now.BodyBytes -= up.BodyBytes
	return sampleOf(res, before, after, now), nil
}

// countLines counts the lines of a server's own log that are about serving
// requests, not about its admin endpoint or its storage.
func countLines(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n := 0
	for line := range bytes.Lines(text) {
		var e accessEntry
		if json.Unmarshal(line, &e) != nil || strings.HasPrefix(e.Logger, "http") {
			n++
		}
	}
	return n, nil
}

// accessEntry is what is read of an access log entry.
type accessEntry struct {
	Level   string
	Logger  string
	Msg     string
	Request struct{ URI string }
}

// readLog checks an access log: that every line is an entry, and that the
// numbered requests stand in their order.
func readLog(r io.Reader) (*logLines, error) {
	out := &logLines{Ordered: orderedRequests}
	next := 0
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e accessEntry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || !strings.HasPrefix(e.Logger, "http.log.access") || e.Msg != "handled request" || e.Level != "info" {
			out.Foreign++
			continue
		}
		out.Lines++
		uri, err := url.Parse(e.Request.URI)
		if err != nil {
			return nil, fmt.Errorf("request of an entry: %w", err)
		}
		if n := uri.Query().Get("n"); n != "" {
			if n == strconv.Itoa(next) {
				out.InOrder++
			}
			next++
		}
	}
	return out, lines.Err()
}

// outcome shows the run.
func (l *logging) outcome(host report.Host, answer int) *outcome {
	o := &outcome{
		title: "What logging costs", host: host, data: l.cells,
		text: []string{fmt.Sprintf("%d connections, small bodies, answers of %d bytes of text, %d rounds of %v, medians. `file`: Caddy's access log in JSON to a file; `debug`: the same with the global option `debug`. "+
			"Ratios are to the same server without a log, of the same round. CPU: processor time of the server per request, in milliseconds.", l.conns, answer, l.rounds, l.cell)},
	}
	t := report.Table{Title: "Speed", Head: []string{"mode", "log", "rps", "x no log", "lowest-highest", "CPU", "x no log", "rps x plain Caddy", "its x no log", "difference"}, Left: []int{1}}
	ratios := make(map[string]float64) // of plain Caddy, by log
	var promises []promise
	for _, c := range l.cells {
		rps := medianOf(c.Samples, func(s result.Sample) float64 { return s.RPS })
		cpu := medianOf(c.Samples, func(s result.Sample) float64 { return s.CPU })
		row := []string{c.Mode, c.Log, report.Count(rps), "", "", report.Millis(cpu), "", "", "", ""}
		if off := l.cellOf(c.Mode, "off"); c != off {
			ratio, low, high := pairedRatios(c.Samples, off.Samples, func(s result.Sample) float64 { return s.RPS })
			row[3], row[4] = report.Ratio(ratio), report.Ratio(low)+"-"+report.Ratio(high)
			used, _, _ := pairedRatios(c.Samples, off.Samples, func(s result.Sample) float64 { return s.CPU })
			row[6] = report.Ratio(used)
			if c.Mode == result.Baseline {
				ratios[c.Log] = ratio
			} else if r, ok := ratios[c.Log]; ok {
				row[8], row[9] = report.Ratio(r), report.Percent(ratio-r)
				if c.Log == "file" {
					promises = append(promises,
						promise{c.Mode + ", log to a file: requests per second by those without", ratio, 0.9, false, report.Ratio},
						promise{c.Mode + ", log to a file: that ratio by plain Caddy's", ratio / r, 0.97, false, report.Ratio})
				}
			}
		}
		if base := l.cellOf(result.Baseline, c.Log); c != base {
			ratio, _, _ := pairedRatios(c.Samples, base.Samples, func(s result.Sample) float64 { return s.RPS })
			row[7] = report.Ratio(ratio)
		}
		t.Add(row...)
	}
	lines := report.Table{Title: "The file", Head: []string{"mode", "requests", "entries", "in order", "other lines in the file", "lines on standard error"}}
	for _, c := range l.cells {
		if n := c.Lines; n != nil {
			lines.Add(c.Mode, report.Count(n.Requests), report.Count(n.Lines), fmt.Sprintf("%d of %d", n.InOrder, n.Ordered), report.Count(n.Foreign), report.Count(n.Stderr))
		}
	}
	o.tables = []report.Table{promiseTable(promises), t, lines}
	return o
}

// cellOf finds a cell.
func (l *logging) cellOf(mode, log string) *logCell {
	for _, c := range l.cells {
		if c.Mode == mode && c.Log == log {
			return c
		}
	}
	return nil
}

// pairedRatios is the median, smallest and largest ratio of a figure between
// the samples of one round.
func pairedRatios(a, b []result.Sample, figure func(result.Sample) float64) (median, low, high float64) {
	var all []float64
	for i := range min(len(a), len(b)) {
		if f := figure(b[i]); f > 0 {
			all = append(all, figure(a[i])/f)
		}
	}
	median = result.Median(all)
	low, high = median, median
	for _, r := range all {
		low, high = min(low, r), max(high, r)
	}
	return median, low, high
}
