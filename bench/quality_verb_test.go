package main

import (
	"errors"
	"slices"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/quality"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/replay"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
)

func TestQualitySummary(t *testing.T) {
	outcomes := []quality.Outcome{
		{Case: "a", Reference: true, Expected: "fires", Bytes: 100, SentBytes: 3, SavedBytes: 0.97, Bound: 0.98, Needles: 4, Found: 4},
		{Case: "200 different failures", Reference: true, Expected: "fires", Bytes: 100, SentBytes: 39, SavedBytes: 0.61, Bound: 0.8, Needles: 10, Found: 9, Lost: []string{"x"}},
		{Case: "b", Expected: "fires", Bytes: 100, SentBytes: 100},
		{Case: "c", Expected: "untouched", Bytes: 100, SentBytes: 99, SavedBytes: 0.01, Violations: []string{"v"}},
	}
	s := summarize(outcomes)
	if s.violations != 1 || s.needles != 14 || s.found != 13 || s.fired != 2 || s.expected != 3 || s.untouched != 1 || s.keptWhole != 0 || s.failures != 0.61 || s.median < 0.789 || s.median > 0.791 || s.mean != 0.61 || s.bound < 0.889 || s.bound > 0.891 || s.possible != 0.97 {
		t.Errorf("%+v", s)
	}
	if rows := qualityPromises([]qualityRun{{"squoze", outcomes}}).Rows; len(rows) != 6 || rows[0][3] != "missed" || rows[1][2] != "1" || rows[3][3] != "met" || rows[4][3] != "met" {
		t.Errorf("targets %v", rows)
	}
	o := qualityOutcome([]qualityRun{{"e", outcomes}}, report.Host{})
	if row := o.tables[1].Rows[0]; row[0] != "e" || row[2] != "13 of 14" || row[5] != "79.0 %" || row[6] != "89.0 %" || row[7] != "97.0 %" || row[10] != "61.0 %" {
		t.Errorf("row %v", row)
	}
	if row := o.tables[2].Rows[1]; row[5] != "80.0 %" || row[8] != "9/10" || row[9] != `lost "x"` {
		t.Errorf("row %v", row)
	}
}

func TestPickEngines(t *testing.T) {
	got, err := pickEngines("rtk-auto, squoze")
	var names []string
	for _, e := range got {
		names = append(names, e.Name)
	}
	if err != nil || !slices.Equal(names, []string{"rtk-auto", "squoze"}) {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := pickEngines("x"); !errors.As(err, new(*usageError)) {
		t.Errorf("x: %v", err)
	}
}

func TestRemembering(t *testing.T) {
	calls := 0
	count := remembering(func(s string) int { calls++; return len(s) })
	if count("ab")+count("ab")+count("c") != 5 || calls != 2 {
		t.Errorf("%d calls", calls)
	}
}

func TestSameTurns(t *testing.T) {
	results := []*replay.Result{
		{Engine: "e", Session: "s", Format: "chat", ByTurn: map[string][2]int{"turn_01": {100, 50}, "turn_02": {100, 90}}},
		{Engine: "e", Session: "s", Format: "messages", ByTurn: map[string][2]int{"turn_02": {200, 190}, "turn_03": {1, 1}}},
		{Engine: "e", Session: "alone", Format: "chat"},
	}
	table, apart := sameTurns(results)
	if len(table.Rows) != 1 || !slices.Equal(table.Rows[0], []string{"e", "s", "turn_02", "chat 10.0 %, messages 5.0 %", "5.0 points"}) {
		t.Errorf("rows %v", table.Rows)
	}
	if got := apart["e"]; got < 0.049 || got > 0.051 {
		t.Errorf("%v apart", got)
	}
	if got := len(sessionsOutcome(results, report.Host{}).tables); got != 3 {
		t.Errorf("%d tables", got)
	}
}
