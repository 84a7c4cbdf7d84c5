package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
)

// entry is an access log entry of Caddy's.
func entry(uri string) string {
	return fmt.Sprintf(`{"level":"info","ts":1700000000.5,"logger":"http.log.access.log0","msg":"handled request","request":{"method":"POST","uri":%q},"status":200}`, uri)
}

func TestReadLog(t *testing.T) {
	var good []string
	for i := range orderedRequests {
		good = append(good, entry(fmt.Sprintf("/v1/chat/completions?n=%d", i)))
	}
	good = append(good, entry("/v1/chat/completions"))
	swapped := append([]string(nil), good...)
	swapped[7], swapped[8] = swapped[8], swapped[7]
	lost := append(append([]string(nil), good[:5]...), good[6:]...)
	for name, tc := range map[string]struct {
		lines []string
		want  logLines
		ok    bool
	}{
		"good":    {good, logLines{Lines: 501, InOrder: 500}, true},
		"swapped": {swapped, logLines{Lines: 501, InOrder: 498}, false},
		"lost":    {lost, logLines{Lines: 500, InOrder: 5}, false},
		"ours":    {append(good, `{"level":"info","logger":"http.handlers.llm_gateway","msg":"optimised"}`), logLines{Lines: 501, InOrder: 500, Foreign: 1}, false},
		"broken":  {append(good, "cut of"), logLines{Lines: 501, InOrder: 500, Foreign: 1}, false},
	} {
		got, err := readLog(strings.NewReader(strings.Join(tc.lines, "\n") + "\n"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		tc.want.Ordered = orderedRequests
		if *got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, *got, tc.want)
		}
		got.Requests = 501
		if got.ok() != tc.ok {
			t.Errorf("%s: ok is %v", name, got.ok())
		}
	}
}

func TestCountLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stderr")
	text := `{"level":"info","logger":"admin.api","msg":"received request"}` + "\n" + entry("/x") + "\n" +
		`{"level":"error","logger":"http.handlers.llm_gateway","msg":"x"}` + "\n" + `{"level":"info","msg":"serving initial configuration"}` + "\npanic: x\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := countLines(path); n != 3 || err != nil {
		t.Errorf("%d lines, %v", n, err)
	}
}

func TestPairedRatios(t *testing.T) {
	figure := func(s result.Sample) float64 { return s.RPS }
	a := []result.Sample{{RPS: 90}, {RPS: 40}, {RPS: 100}}
	b := []result.Sample{{RPS: 100}, {RPS: 50}, {RPS: 100}, {RPS: 7}}
	if median, low, high := pairedRatios(a, b, figure); median != 0.9 || low != 0.8 || high != 1 {
		t.Errorf("got %v, %v, %v", median, low, high)
	}
	if median, _, _ := pairedRatios(a, nil, figure); !math.IsNaN(median) {
		t.Errorf("of nothing: %v", median)
	}
}

func TestLogcostOutcome(t *testing.T) {
	l := &logging{rounds: 1}
	for mode, f := range map[string]float64{result.Baseline: 1, result.Off: 0.98} {
		for log, g := range map[string]float64{"off": 1, "file": 0.9 * f, "debug": 0.5} {
			l.cells = append(l.cells, &logCell{Mode: mode, Log: log, Samples: []result.Sample{{RPS: 1000 * f * g, CPU: 0.1 / f / g}}})
		}
	}
	// In the order in which they are measured.
	for _, mode := range []string{result.Off, result.Baseline} {
		for i, c := range l.cells {
			if c.Mode == mode {
				l.cells = append([]*logCell{c}, append(l.cells[:i:i], l.cells[i+1:]...)...)
			}
		}
	}
	tables := l.outcome(report.Host{}, 10).tables
	if rows := tables[0].Rows; len(rows) != 2 || rows[0][3] != "missed" || rows[1][3] != "met" {
		t.Errorf("targets %v", rows)
	}
	for _, row := range tables[1].Rows {
		if row[0] == result.Off && row[1] == "file" && (row[3] != "0.882" || row[8] != "0.900" || row[9] != "-1.8 %") {
			t.Errorf("row %v", row)
		}
	}
}
