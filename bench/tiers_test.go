package main

import (
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
)

func TestTiersOutcome(t *testing.T) {
	var tiers []tier
	for _, n := range []int{10, 16} {
		r := new(result.Run)
		for mode, rps := range map[string]float64{result.Baseline: 1000, result.Off: 950, "squoze": 800} {
			r.Add(result.Key{Profile: "small", Mode: mode}, result.Sample{RPS: rps})
		}
		r.Summarize()
		tiers = append(tiers, tier{n, 1200, r})
	}
	o := tiersOutcome(tiers)
	if rows := o.tables[0].Rows; len(rows) != 2 || rows[0][3] != "met" || rows[1][3] != "missed" {
		t.Errorf("targets %v", rows)
	}
	if row := o.tables[1].Rows[4]; row[0] != "16" || row[1] != "off" || row[3] != "0.950" {
		t.Errorf("row %v", row)
	}
}
