package main

import (
	"fmt"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
)

// promise is a target with what was measured.
type promise struct {
	what   string
	is     float64
	bound  float64
	atMost bool // else at least
	show   func(float64) string
}

// met reports whether a promise is kept.
func (p promise) met() bool {
	if p.atMost {
		return p.is <= p.bound
	}
	return p.is >= p.bound
}

// promiseTable says which promises are kept.
func promiseTable(promises []promise) report.Table {
	t := report.Table{Title: "Targets", Head: []string{"target", "bound", "measured", ""}, Left: []int{3}}
	for _, p := range promises {
		sign, verdict := ">=", "missed"
		if p.atMost {
			sign = "<="
		}
		if p.met() {
			verdict = "met"
		}
		t.Add(p.what, sign+" "+p.show(p.bound), p.show(p.is), verdict)
	}
	return t
}

// whole writes a number without decimals.
func whole(v float64) string { return report.Count(v) }

// points writes a difference of shares in points.
func points(v float64) string { return fmt.Sprintf("%.1f points", 100*v) }
