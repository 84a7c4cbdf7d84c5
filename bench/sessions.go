package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/replay"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
)

// runSessions is the verb.
func runSessions(ctx context.Context, args []string) error {
	f := newFlags("sessions")
	c := addCommon(f)
	engines := f.String("engines", "squoze,squoze without references,rtk-light,rtk-standard,rtk-aggressive,rtk-auto,headroom-conservative,headroom-balanced,headroom-aggressive,headroom-auto", "engines, comma-separated")
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "usage: go run ./bench sessions [flags] [FOLDER]\n\nFOLDER holds a folder for each conversation, in it one for each wire format\n(anthropic, openai_chat, openai_responses), in that turn_NN.json.")
		f.PrintDefaults()
	}
	if err := parse(f, args, 1); err != nil {
		return err
	}
	root, err := proc.Root()
	if err != nil {
		return err
	}
	dir := f.Arg(0)
	if dir == "" {
		dir = filepath.Join(root, "..", "shared", "corpus", "sessions")
	}
	picked, err := pickEngines(*engines)
	if err != nil {
		return err
	}
	sessions, err := replay.Load(dir)
	if err != nil {
		return err
	}
	count, err := o200k()
	if err != nil {
		return err
	}
	count = remembering(count)
	progress := newProgress(len(picked) * len(sessions))
	var results []*replay.Result
	for _, e := range picked {
		for i := range sessions {
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := replay.Run(&sessions[i], e, count)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", e.Name, sessions[i].Name, err)
			}
			results = append(results, r)
			progress.step(fmt.Sprintf("%-26s %s/%s", e.Name, r.Session, r.Format))
		}
	}
	progress.end()
	o := sessionsOutcome(results, report.ThisHost(ctx, root))
	if err := o.publish(c); err != nil {
		return err
	}
	for _, r := range results {
		if len(r.Broken) > 0 && !strings.HasPrefix(r.Engine, "headroom") {
			return errVerdict
		}
	}
	return nil
}

// sessionsOutcome shows the results.
func sessionsOutcome(results []*replay.Result, host report.Host) *outcome {
	o := &outcome{
		title: "Recorded sessions of a coding agent", host: host, data: results,
		text: []string{fmt.Sprintf("Every turn of a conversation is the whole request; bytes, tokens (o200k) and costs are sums over all turns. Cached: tokens of the beginning that is the same as in the turn before, from 1,024 on. "+
			"Cost: %g for a cached token, %g for any other, by that of the same requests unchanged. Broken: pairs of turns of which the second does not begin as the first. "+
			"Lost: lines of files that were read and that stand nowhere in what is sent. Headroom drops what is old by design; it does so at most once in an epoch.", replay.ReadPrice, replay.WritePrice)},
	}
	t := report.Table{Head: []string{"engine", "session", "format", "turns", "bytes", "sent", "saved", "of tool results", "tokens", "sent", "saved", "cached before", "after", "cost saved", "broken", "source lines", "lost"}, Left: []int{1, 2}}
	for _, r := range results {
		t.Add(r.Engine, r.Session, r.Format, report.Count(r.Turns), report.Count(r.Bytes), report.Count(r.SentBytes), report.Percent(r.SavedBytes()), report.Percent(r.SavedTool()),
			report.Count(r.Tokens), report.Count(r.SentTokens), report.Percent(r.SavedTokens()), report.Count(r.Cached), report.Count(r.SentCached), report.Percent(r.SavedCost()),
			report.Count(len(r.Broken)), report.Count(r.SourceLines), report.Count(r.Lost))
	}
	same, apart := sameTurns(results)
	o.tables = append(o.tables, sessionPromises(results, apart), t, same)
	broken := report.Table{Title: "Broken prefixes", Head: []string{"engine", "session", "what"}, Left: []int{1, 2}}
	for _, r := range results {
		for _, b := range r.Broken {
			broken.Add(r.Engine, r.Session+"/"+r.Format, b[:min(len(b), 120)])
		}
	}
	if len(broken.Rows) > 0 {
		o.tables = append(o.tables, broken)
	}
	return o
}

// sessionPromises are the targets, which are squoze's. apart is by engine.
func sessionPromises(results []*replay.Result, apart map[string]float64) report.Table {
	const name = "squoze"
	broken, lost := 0, 0
	worst, best := math.Inf(1), math.Inf(-1)
	found := false
	for _, r := range results {
		if r.Engine != name {
			continue
		}
		found = true
		broken, lost = broken+len(r.Broken), lost+r.Lost
		worst, best = min(worst, r.SavedBytes()), max(best, r.SavedBytes())
	}
	if !found {
		return promiseTable(nil)
	}
	return promiseTable([]promise{
		{name + ": broken prefixes", float64(broken), 0, true, whole},
		{name + ": lines of source files lost", float64(lost), 0, true, whole},
		{name + ": bytes saved, the folder with the least", worst, 0.08, false, report.Percent},
		{name + ": bytes saved, the folder with the most", best, 0.20, false, report.Percent},
		{name + ": the formats of one conversation apart", apart[name], 0.02, true, points},
	})
}

// sameTurns compares the formats of one conversation over the turns that all
// of them have, and says how far they are apart at most, by engine.
func sameTurns(results []*replay.Result) (report.Table, map[string]float64) {
	apart := make(map[string]float64)
	t := report.Table{Title: "One conversation in several formats: bytes saved over the turns that all of them have", Head: []string{"engine", "session", "turns", "by format", "apart"}, Left: []int{1, 2, 3}}
	type key struct{ engine, session string }
	groups := make(map[key][]*replay.Result)
	var order []key
	for _, r := range results {
		k := key{r.Engine, r.Session}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	for _, k := range order {
		group := groups[k]
		if len(group) < 2 {
			continue
		}
		var turns []string
		for name := range group[0].ByTurn {
			if !slices.ContainsFunc(group, func(r *replay.Result) bool { _, ok := r.ByTurn[name]; return !ok }) {
				turns = append(turns, name)
			}
		}
		slices.Sort(turns)
		var by []string
		low, high := 1.0, -1.0
		for _, r := range group {
			before, after := 0, 0
			for _, name := range turns {
				before, after = before+r.ByTurn[name][0], after+r.ByTurn[name][1]
			}
			if before == 0 {
				continue
			}
			saved := 1 - float64(after)/float64(before)
			low, high = min(low, saved), max(high, saved)
			by = append(by, r.Format+" "+report.Percent(saved))
		}
		t.Add(k.engine, k.session, strings.Join(turns, ", "), strings.Join(by, ", "), points(high-low))
		apart[k.engine] = max(apart[k.engine], high-low)
	}
	return t, apart
}
