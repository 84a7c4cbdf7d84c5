package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/gate"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
)

// recordingFile is where the recorded run stands, below the root.
var recordingFile = filepath.Join("bench", "results", "recorded.json")

// runCompare is the verb.
func runCompare(ctx context.Context, args []string) error {
	f := newFlags("compare")
	c := addCommon(f)
	recordedFile := f.String("with", "", "recorded run (default "+recordingFile+")")
	all := f.Bool("all", false, "show every row, not only those that moved or were suppressed")
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "usage: go run ./bench compare [flags] RUN.json\n\nRUN.json is what matrix wrote with -out.")
		f.PrintDefaults()
	}
	if err := parse(f, args, 1); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return usagef("which run? give the matrix.json that matrix wrote with -out")
	}
	root, err := proc.Root()
	if err != nil {
		return err
	}
	if *recordedFile == "" {
		*recordedFile = filepath.Join(root, recordingFile)
	}
	recorded, err := readRun(*recordedFile)
	if err != nil {
		return err
	}
	run, err := readRun(f.Arg(0))
	if err != nil {
		return err
	}
	v := gate.Compare(recorded, run)
	o := verdictOutcome(v, recorded, run, *all)
	if err := o.publish(c); err != nil {
		return err
	}
	for _, r := range v.Flagged() {
		if r.Millis > 0 {
			return errVerdict
		}
	}
	return nil
}

// readRun reads a run of the matrix.
func readRun(path string) (*result.Run, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(result.Run)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.Summarize()
	return r, nil
}

// verdictOutcome shows a verdict.
func verdictOutcome(v *gate.Verdict, recorded, run *result.Run, all bool) *outcome {
	o := &outcome{
		title: "Against the recorded run", host: run.Host, data: v,
		text: []string{
			fmt.Sprintf("Recorded: %s, %s.", recorded.Host, recorded.Started.Format("2006-01-02")),
			fmt.Sprintf("A row is flagged when it moved by %.0f %% and by %g ms. A profile whose baseline is outside of %g to %g of the recorded requests per second is not judged.",
				100*gate.MinShare, gate.MinMillis, gate.HostLow, gate.HostHigh),
		},
	}
	flagged := v.Flagged()
	verdict := report.Table{Title: "Verdict", Head: []string{"rows", "flagged", "suppressed groups"}}
	verdict.Add(report.Count(len(v.Rows)), report.Count(len(flagged)), report.Count(len(v.Suppressed)))
	o.tables = append(o.tables, verdict)
	if len(v.Suppressed) > 0 {
		t := report.Table{Title: "Not judged", Head: []string{"upstream", "bodies", "profile", "reason"}, Left: []int{1, 2, 3}}
		for _, s := range v.Suppressed {
			t.Add(s.Group.Leg, s.Group.Bodies, s.Group.Profile, s.Reason)
		}
		o.tables = append(o.tables, t)
	}
	rows := report.Table{Title: "Distance from the baseline, recorded and now", Head: []string{"upstream", "bodies", "profile", "mode", "figure", "recorded", "now", "moved", "ms", ""}, Left: []int{1, 2, 3, 4, 9}}
	for _, r := range v.Rows {
		if !all && !r.Flagged && !r.Suppressed {
			continue
		}
		verdict := ""
		switch {
		case r.Suppressed:
			verdict = "not judged"
		case r.Flagged && r.Millis > 0:
			verdict = "WORSE"
		case r.Flagged:
			verdict = "better"
		}
		show := report.Millis
		if r.Metric == gate.Throughput {
			show = report.Ratio
		}
		rows.Add(r.Leg, r.Bodies, r.Profile, r.Mode, string(r.Metric), show(r.Before), show(r.Now), report.Percent(r.Share), report.Millis(r.Millis), verdict)
	}
	if len(rows.Rows) > 0 {
		o.tables = append(o.tables, rows)
	}
	if len(v.Notes) > 0 {
		t := report.Table{Title: "Notes", Head: []string{"cell"}}
		for _, n := range v.Notes {
			t.Add(n)
		}
		o.tables = append(o.tables, t)
	}
	return o
}
