package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/engine"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/quality"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
)

// qualityRun is the outcome of one engine.
type qualityRun struct {
	Engine   string            `json:"engine"`
	Outcomes []quality.Outcome `json:"outcomes"`
}

// runQuality is the verb.
func runQuality(ctx context.Context, args []string) error {
	f := newFlags("quality")
	c := addCommon(f)
	engines := f.String("engines", "squoze,rtk-standard,rtk-aggressive", "engines, comma-separated")
	only := f.String("case", "", "only cases whose name contains this")
	runs := f.Int("runs", 20, "timed runs of each case, cold and warm each")
	tokens := f.Bool("tokens", true, "count tokens with o200k, which is slow")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	opts := quality.Options{Runs: *runs}
	if *tokens {
		count, err := o200k()
		if err != nil {
			return err
		}
		opts.Count = remembering(count)
	}
	picked, err := pickEngines(*engines)
	if err != nil {
		return err
	}
	root, err := proc.Root()
	if err != nil {
		return err
	}
	var corpus []quality.Case
	for _, one := range quality.Corpus() {
		if strings.Contains(one.Name, *only) {
			corpus = append(corpus, one)
		}
	}
	progress := newProgress(len(picked) * len(corpus))
	var all []qualityRun
	for _, e := range picked {
		run := qualityRun{Engine: e.Name}
		for i := range corpus {
			if err := ctx.Err(); err != nil {
				return err
			}
			run.Outcomes = append(run.Outcomes, quality.Measure(&corpus[i], e, opts))
			progress.step(e.Name + "  " + corpus[i].Name)
		}
		all = append(all, run)
	}
	progress.end()
	o := qualityOutcome(all, report.ThisHost(ctx, root))
	if err := o.publish(c); err != nil {
		return err
	}
	for _, run := range all {
		for _, one := range run.Outcomes {
			if len(one.Violations) > 0 {
				return errVerdict
			}
		}
	}
	return nil
}

// pickEngines are the engines that a comma-separated list names.
func pickEngines(list string) ([]engine.Engine, error) {
	var out []engine.Engine
	for name := range strings.SplitSeq(list, ",") {
		e, ok := engine.Named(strings.TrimSpace(name))
		if !ok {
			var names []string
			for _, e := range engine.All {
				names = append(names, e.Name)
			}
			return nil, usagef("engines: %q is none of %s", name, strings.Join(names, ", "))
		}
		out = append(out, e)
	}
	return out, nil
}

// remembering counts each text once.
func remembering(count func(string) int) func(string) int {
	seen := make(map[string]int)
	return func(text string) int {
		n, ok := seen[text]
		if !ok {
			n = count(text)
			seen[text] = n
		}
		return n
	}
}

// qualitySummary is what is promised about an engine, over all cases.
type qualitySummary struct {
	violations           int
	needles, found       int
	median, mean         float64 // bytes saved where the engine fires, of the reference's classes; mean over all cases that fire
	fired, expected      int     // cases that were expected to fire, and that did
	failures             float64 // bytes saved on the case with 200 failures
	tokensMedian         float64
	untouched, keptWhole int

	bound    float64 // median of the most that can be saved, of the cases that median is over
	possible float64 // median of bytes saved of those where as much as the target can be saved at all
}

// savingTarget is what is promised of the reference's classes, where the engine
// fires.
const savingTarget = 0.97

func summarize(outcomes []quality.Outcome) qualitySummary {
	var s qualitySummary
	var reference, all, tokens, bounds, possible []float64
	for i := range outcomes {
		o := &outcomes[i]
		s.violations += len(o.Violations)
		s.needles += o.Needles
		s.found += o.Found
		switch o.Expected {
		case "fires":
			s.expected++
			if o.Fired() {
				s.fired++
			}
		case "untouched":
			s.untouched++
			if !o.Fired() {
				s.keptWhole++
			}
		}
		if strings.HasPrefix(o.Case, "200 ") {
			s.failures = o.SavedBytes
		}
		if o.Fired() {
			all = append(all, o.SavedBytes)
			tokens = append(tokens, o.SavedTokens)
			if o.Reference {
				reference, bounds = append(reference, o.SavedBytes), append(bounds, o.Bound)
				if o.Bound >= savingTarget {
					possible = append(possible, o.SavedBytes)
				}
			}
		}
	}
	s.bound, s.possible = result.Median(bounds), result.Median(possible)
	s.median, s.mean, s.tokensMedian = result.Median(reference), result.Median(all), result.Median(tokens)
	return s
}

// qualityOutcome shows the runs.
func qualityOutcome(all []qualityRun, host report.Host) *outcome {
	o := &outcome{
		title: "What the engines make of tool output", host: host, data: all,
		text: []string{"Made-up output of the kinds that coding agents see. Recall: lines and values that a reader needs, found afterwards, of one text in their order. Violations: of valid JSON, pairing, texts that are no tool result, " +
			"exact counts in markers, never larger, same bytes from every engine and every time, applying twice, a prefix that stays. Cold: an engine that has seen nothing; warm: the same body again. Times in milliseconds. At most: " +
			"the saving of an engine that keeps nothing but what must stay (what no tool returned, needles, values of tables, package changes by name, the only copy of a file) and says nothing about the rest."},
	}
	sum := report.Table{Title: "Summary", Head: []string{"engine", "violations", "recall", "fires where expected", "untouched where required", "median saved, reference classes", "at most", "where 97 % can be had", "median saved, all that fire", "tokens", "200 failures"}}
	for _, run := range all {
		s := summarize(run.Outcomes)
		sum.Add(run.Engine, report.Count(s.violations), fmt.Sprintf("%d of %d", s.found, s.needles), fmt.Sprintf("%d of %d", s.fired, s.expected),
			fmt.Sprintf("%d of %d", s.keptWhole, s.untouched), report.Percent(s.median), report.Percent(s.bound), report.Percent(s.possible), report.Percent(s.mean), report.Percent(s.tokensMedian), report.Percent(s.failures))
	}
	o.tables = append(o.tables, qualityPromises(all), sum)
	for _, run := range all {
		t := report.Table{Title: run.Engine, Head: []string{"case", "expected", "bytes", "sent", "saved", "at most", "tokens", "saved", "recall", "violations", "cold p50", "p95", "warm p50", "p95"}, Left: []int{1, 9}}
		for _, one := range run.Outcomes {
			t.Add(one.Case, one.Expected, report.Count(one.Bytes), report.Count(one.SentBytes), report.Percent(one.SavedBytes), report.Percent(one.Bound), report.Count(one.Tokens), report.Percent(one.SavedTokens),
				fmt.Sprintf("%d/%d", one.Found, one.Needles), strings.Join(append(one.Violations, lost(one)...), "; "),
				report.Millis(one.ColdP50), report.Millis(one.ColdP95), report.Millis(one.WarmP50), report.Millis(one.WarmP95))
		}
		o.tables = append(o.tables, t)
	}
	return o
}

// qualityPromises are the targets, which are squoze's.
func qualityPromises(all []qualityRun) report.Table {
	var out []promise
	for _, run := range all {
		if run.Engine != "squoze" {
			continue
		}
		s := summarize(run.Outcomes)
		out = append(out,
			promise{"squoze: contracts violated", float64(s.violations), 0, true, whole},
			promise{"squoze: needles lost", float64(s.needles - s.found), 0, true, whole},
			promise{"squoze: median saving where it fires, reference classes", s.median, savingTarget, false, report.Percent},
			promise{"squoze: the same, where that much can be saved", s.possible, savingTarget, false, report.Percent},
			promise{"squoze: saving with 200 failures", s.failures, 0.60, false, report.Percent},
			promise{"squoze: untouched cases changed", float64(s.untouched - s.keptWhole), 0, true, whole})
	}
	return promiseTable(out)
}

// lost says which needles are gone.
func lost(o quality.Outcome) []string {
	var out []string
	for _, n := range o.Lost {
		out = append(out, fmt.Sprintf("lost %.60q", n))
	}
	return out
}
