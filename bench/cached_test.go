package main

import (
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
)

func TestCachedOutcome(t *testing.T) {
	r := new(result.Run)
	for mode, rps := range map[string]float64{result.Baseline: 1000, result.Off: 950, "exact": 6000, "similar": 4000, static: 8000} {
		s := result.Sample{RPS: rps, Forwarded: 1, CPU: 100 / rps}
		if rps > 1000 && mode != static {
			s.Hits, s.Forwarded = 1, 0
		}
		r.Add(result.Key{Profile: "small", Mode: mode}, s)
	}
	r.Summarize()
	o := cachedOutcome(r)
	if rows := o.tables[0].Rows; len(rows) != 2 || rows[0][3] != "met" || rows[1][3] != "missed" {
		t.Errorf("targets %v", rows)
	}
	if row := o.tables[1].Rows[2]; row[1] != "exact" || row[4] != "6.316" || row[5] != "100.0 %" || row[6] != "-" || row[12] != "6.316" {
		t.Errorf("row %v", row)
	}
	if row := o.tables[1].Rows[4]; row[1] != static || row[4] != "8.421" || row[5] != "0.0 %" {
		t.Errorf("row %v", row)
	}
}
