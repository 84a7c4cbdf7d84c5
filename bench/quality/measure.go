package quality

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/engine"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
)

// Outcome is what an engine made of a case.
type Outcome struct {
	Case      string `json:"case"`
	Reference bool   `json:"reference,omitempty"`
	Expected  string `json:"expected"` // fires, untouched, either

	Bytes       int     `json:"bytes"`
	SentBytes   int     `json:"sent_bytes"`
	Tokens      int     `json:"tokens"` // of all texts, o200k
	SentTokens  int     `json:"sent_tokens"`
	SavedBytes  float64 `json:"saved_bytes_share"`
	SavedTokens float64 `json:"saved_tokens_share"`
	Bound       float64 `json:"bound_bytes_share"` // the most that can be saved, see Case.Bound

	Needles int      `json:"needles"`
	Found   int      `json:"found"`
	Lost    []string `json:"lost,omitempty"` // the first few

	// Violations are contracts that were broken.
	Violations []string `json:"violations,omitempty"`

	ColdP50 float64 `json:"cold_p50_ms"` // of an engine that has not seen anything
	ColdP95 float64 `json:"cold_p95_ms"`
	WarmP50 float64 `json:"warm_p50_ms"` // of one that has seen the body before
	WarmP95 float64 `json:"warm_p95_ms"`
}

// Fired reports whether something was saved.
func (o *Outcome) Fired() bool { return o.SentBytes < o.Bytes }

// Recall is the share of needles found.
func (o *Outcome) Recall() float64 {
	if o.Needles == 0 {
		return 1
	}
	return float64(o.Found) / float64(o.Needles)
}

// Options of a measurement.
type Options struct {
	Count func(string) int // tokens; nil: not counted
	Runs  int              // timed runs, cold and warm each
}

// Measure runs an engine on a case and checks every contract.
func Measure(c *Case, e engine.Engine, opts Options) Outcome {
	o := Outcome{Case: c.Name, Reference: c.Reference, Needles: len(c.Needles), Expected: "either"}
	switch {
	case c.Untouched || c.Below && strings.HasPrefix(e.Name, "squoze"):
		o.Expected = "untouched"
	case c.Fires:
		o.Expected = "fires"
	}
	violate := func(format string, args ...any) { o.Violations = append(o.Violations, fmt.Sprintf(format, args...)) }

	// The conversation as one engine sees it, turn by turn.
	apply := e.New()
	var sent [][]byte
	for i, turn := range c.Turns {
		out, err := apply(c.Format, turn)
		if err != nil {
			violate("turn %d: %v", i, err)
			return o
		}
		sent = append(sent, bytes.Clone(out))
		if i > 0 {
			if err := cases.PrefixStable(sent[i-1], sent[i]); err != nil {
				violate("prefix of turn %d: %v", i, err)
			}
		}
	}
	before, after := c.Turns[len(c.Turns)-1], sent[len(sent)-1]
	o.Bytes, o.SentBytes = len(before), len(after)
	o.SavedBytes = share(o.Bytes, o.SentBytes)

	o.Bound, _ = c.Bound() // a body that cannot be read is a violation already
	for i := range c.Turns {
		o.Violations = append(o.Violations, contracts(c, c.Turns[i], sent[i])...)
	}
	if o.Expected == "untouched" && !bytes.Equal(before, after) {
		violate("it had to stay as it was")
	}
	// The same bytes from engines that know nothing, that know the body, and
	// that are given what came out.
	for i, turn := range c.Turns {
		for range 2 {
			if out, err := e.New()(c.Format, turn); err != nil || !bytes.Equal(out, sent[i]) {
				violate("a fresh engine makes something else of turn %d (%v)", i, err)
			}
		}
		if out, err := apply(c.Format, turn); err != nil || !bytes.Equal(out, sent[i]) {
			violate("turn %d comes out differently the second time (%v)", i, err)
		}
		if out, err := e.New()(c.Format, sent[i]); err != nil || !bytes.Equal(out, sent[i]) {
			violate("turn %d changes when it is sent again (%v)", i, err)
		}
	}
	texts := cases.Texts(after)
	o.Found, o.Lost = search(c.Needles, texts, c.AnyOrder)
	for _, words := range c.Words {
		if !slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, words) }) {
			violate("the user's own words changed: %.60q", words)
		}
	}
	if c.Exact && o.Fired() {
		if err := exact(c, before, after); err != nil {
			violate("%v", err)
		}
	}
	if opts.Count != nil {
		o.Tokens, o.SentTokens = count(cases.Texts(before), opts.Count), count(texts, opts.Count)
		o.SavedTokens = share(o.Tokens, o.SentTokens)
		if o.SentTokens > o.Tokens {
			violate("%d tokens became %d", o.Tokens, o.SentTokens)
		}
	}
	o.time(c, e, opts.Runs)
	return o
}

// share is how much of before was saved.
func share(before, after int) float64 {
	if before == 0 {
		return 0
	}
	return 1 - float64(after)/float64(before)
}

func count(texts []string, tokens func(string) int) int {
	n := 0
	for _, t := range texts {
		n += tokens(t)
	}
	return n
}

// contracts are the promises that hold for every request.
func contracts(c *Case, before, after []byte) []string {
	var out []string
	if !json.Valid(after) {
		return []string{"no valid JSON came out"}
	}
	if len(after) > len(before) {
		out = append(out, fmt.Sprintf("%d bytes became %d", len(before), len(after)))
	}
	if err := cases.PairsIntact(c.Path(), before, after); err != nil {
		out = append(out, err.Error())
	}
	was, is, err := parseBoth(c.Format, before, after)
	if err != nil {
		return append(out, err.Error())
	}
	if len(was.Blocks) != len(is.Blocks) {
		return append(out, fmt.Sprintf("%d texts became %d", len(was.Blocks), len(is.Blocks)))
	}
	for i, b := range was.Blocks {
		a, z := was.Doc.Raw(b.Node), is.Doc.Raw(is.Blocks[i].Node)
		if b.Kind != adapter.ToolResult && len(c.Words) == 0 && !bytes.Equal(a, z) {
			out = append(out, fmt.Sprintf("text %d is no tool result and changed", i))
		}
		if len(z) == 2 && len(a) > 2 {
			out = append(out, fmt.Sprintf("text %d became empty", i))
		}
	}
	return out
}

func parseBoth(format adapter.Format, before, after []byte) (was, is *adapter.Request, err error) {
	was, is = new(adapter.Request), new(adapter.Request)
	if err := was.Parse(format, before); err != nil {
		return nil, nil, err
	}
	return was, is, is.Parse(format, after)
}

// exact checks that every gap of every tool result is stated exactly.
func exact(c *Case, before, after []byte) error {
	was, is, err := parseBoth(c.Format, before, after)
	if err != nil {
		return err
	}
	for i, b := range was.Blocks {
		if b.Kind != adapter.ToolResult || i >= len(is.Blocks) {
			continue
		}
		if err := cases.Marked(was.Doc.Text(b.Node), is.Doc.Text(is.Blocks[i].Node)); err != nil {
			return err
		}
	}
	return nil
}

// maxLost is how many lost needles are told.
const maxLost = 5

// search counts the needles that stand in the texts, unless anyOrder is set
// each behind the one before it.
func search(needles, texts []string, anyOrder bool) (found int, lost []string) {
	all := strings.Join(texts, "\n")
	at := 0
	for _, n := range needles {
		if i := strings.Index(all[at:], n); i >= 0 {
			if !anyOrder {
				at += i
			}
			found++
			continue
		}
		if len(lost) < maxLost {
			what := n
			if strings.Contains(all, n) {
				what += " (out of order)"
			}
			lost = append(lost, what)
		}
	}
	return found, lost
}

// time measures the engine on the last turn.
func (o *Outcome) time(c *Case, e engine.Engine, runs int) {
	if runs == 0 {
		return
	}
	last := c.Turns[len(c.Turns)-1]
	var cold, warm []float64
	once := func(apply engine.Apply) float64 {
		start := time.Now()
		_, _ = apply(c.Format, last) // its error was reported already
		return float64(time.Since(start)) / float64(time.Millisecond)
	}
	for range runs {
		cold = append(cold, once(e.New()))
	}
	apply := e.New()
	once(apply)
	for range runs {
		warm = append(warm, once(apply))
	}
	o.ColdP50, o.ColdP95 = percentile(cold, 0.5), percentile(cold, 0.95)
	o.WarmP50, o.WarmP95 = percentile(warm, 0.5), percentile(warm, 0.95)
}

// percentile is the smallest value that at least the share q does not exceed.
func percentile(values []float64, q float64) float64 {
	v := slices.Sorted(slices.Values(values))
	i := int(q*float64(len(v))+0.999999) - 1
	return v[min(max(i, 0), len(v)-1)]
}
