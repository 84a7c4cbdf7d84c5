package headroom_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/headroom"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
)

func newPass(t testing.TB, level string, keep, reserve int) *headroom.Pass {
	t.Helper()
	p, ok := headroom.New(level, keep, reserve)
	if !ok {
		t.Fatalf("no level %q", level)
	}
	return p
}

var views = sync.Pool{New: func() any { return new(adapter.Request) }}

// prune sends a body through the pass; it comes back as it is if nothing
// applies.
func prune(t testing.TB, f adapter.Format, body []byte, p *headroom.Pass) ([]byte, optimize.Result) {
	t.Helper()
	req := views.Get().(*adapter.Request)
	defer views.Put(req)
	if err := req.Parse(f, body); err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	res := optimize.Run(req, []optimize.Pass{p}, nil)
	if res.Panic != nil {
		t.Fatalf("fault: %v\n%s", res.Panic.Value, res.Panic.Stack)
	}
	if res.Body == nil {
		return body, res
	}
	return res.Body, res
}

// list are the raw messages or items of a body.
func list(t testing.TB, body []byte) [][]byte {
	t.Helper()
	var d jsonspan.Doc
	if err := d.Parse(body); err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	array := d.Get(d.Root(), "messages")
	if array == jsonspan.None {
		array = d.Get(d.Root(), "input")
	}
	var all [][]byte
	for e := d.First(array); e != jsonspan.None; e = d.Next(e) {
		all = append(all, d.Raw(e))
	}
	return all
}

// unmarked is a message without its cache mark, which moves from request to
// request.
func unmarked(raw []byte) string {
	return strings.ReplaceAll(string(raw), `,"cache_control":{"type":"ephemeral"}`, "")
}

// check compares one request with what became of it and returns what is wrong.
func (c *talk) check(t testing.TB, before, after []byte, n, keep int) (errs []error) {
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !json.Valid(after) {
		fail("invalid JSON")
		return errs
	}
	if err := cases.PairsIntact(paths[c.format], before, after); err != nil {
		fail("%w", err)
	}
	was, is := list(t, before), list(t, after)

	// Walk both lists: what is not the next message is new or was dropped.
	dropped, inserted, cleared := 0, 0, 0
	gone := make([]bool, n)
	at := 0
	for _, raw := range is {
		to := at
		if to < len(was) && !bytes.Equal(was[to], raw) {
			shape := skeleton(raw)
			for to < len(was) && (shape == "" || shape != c.shape(to)) {
				to++
			}
		}
		if to == len(was) {
			inserted++
			continue
		}
		if !bytes.Equal(was[to], raw) {
			cleared++
		}
		for ; at < to; at++ {
			gone[at] = true
			dropped++
		}
		at++
	}
	dropped += len(was) - at
	for ; at < n; at++ {
		gone[at] = true
	}

	// The marker says how many messages went, and there is one.
	var counts []string
	for _, text := range cases.Texts(after) {
		for line := range strings.SplitSeq(text, "\n") {
			if marker.Is([]byte(line)) && strings.Contains(line, " elided, the oldest after the task") {
				counts = append(counts, line)
			}
		}
	}
	want := "[... headroom: " + string(marker.AppendCount(nil, dropped)) + " message"
	switch {
	case dropped == 0 && len(counts)+inserted > 0:
		fail("nothing was dropped, but there is a marker: %q", counts)
	case dropped > 0 && (len(counts) != 1 || !strings.HasPrefix(counts[0], want) || inserted > 1):
		fail("%d messages were dropped, the markers are %q, %d messages are new", dropped, counts, inserted)
	}

	// What must stay.
	for i := range n {
		if c.roles[i] == "system" && gone[i] {
			fail("system message %d was dropped", i)
		}
		if i >= n-keep && gone[i] {
			fail("message %d of %d was dropped, the last %d should stay", i, n, keep)
		}
	}
	first := slices.Index(c.roles, "user")
	if gone[first] {
		fail("the task was dropped")
	}
	for i := n - keep; i < n; i++ {
		if i >= 0 && !slices.ContainsFunc(is, func(raw []byte) bool { return bytes.Equal(raw, was[i]) }) {
			fail("message %d of %d was changed, the last %d should stay", i, n, keep)
		}
	}
	for turn, signed := range c.signed {
		kept := 0
		inside := 0
		for _, i := range signed {
			if i < n {
				inside++
				if !gone[i] {
					kept++
				}
			}
		}
		if kept != 0 && kept != inside {
			fail("of the signed thinking of turn %d, %d of %d messages are left", turn, kept, inside)
		}
	}

	// Roles take turns where they did.
	if c.format == adapter.Messages {
		for i := 1; i < len(is); i++ {
			if role(is[i]) == role(is[i-1]) {
				fail("messages %d and %d are both the %s's", i-1, i, role(is[i]))
			}
		}
		if role(is[0]) != "user" {
			fail("the first message is the %s's", role(is[0]))
		}
	}
	if len(after) > len(before) {
		fail("it grew from %d to %d bytes", len(before), len(after))
	}
	return errs
}

func role(raw []byte) string {
	var m struct {
		Role string `json:"role"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return "?"
	}
	return m.Role
}

// shape is the skeleton of item i.
func (c *talk) shape(i int) string {
	for n := len(c.shapes); n <= i; n++ {
		c.shapes = append(c.shapes, skeleton([]byte(c.items[n])))
	}
	return c.shapes[i]
}

// skeleton is a message without the texts of its tool results and without
// headroom's marker.
func skeleton(raw []byte) string {
	var m map[string]any
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	if _, ok := m["output"]; ok {
		m["output"] = ""
	}
	if m["role"] == "tool" {
		m["content"] = ""
	}
	if text, ok := m["content"].(string); ok && m["role"] == "user" {
		if strings.HasPrefix(text, "[... headroom: ") {
			return ""
		}
		m["content"] = []any{map[string]any{"type": "text", "text": text}}
	}
	if parts, ok := m["content"].([]any); ok {
		var rest []any
		for _, part := range parts {
			p := part.(map[string]any)
			if p["type"] == "tool_result" && p["is_error"] == nil {
				p["content"] = ""
			}
			if text, _ := p["text"].(string); strings.HasPrefix(text, "[... headroom: ") {
				continue
			}
			rest = append(rest, p)
		}
		m["content"] = rest
		for _, part := range rest {
			delete(part.(map[string]any), "cache_control")
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return string(text)
}

var styles = map[string]style{
	"turns":         {items: 500, turns: true, tools: true, result: 1000},
	"thinking":      {items: 500, turns: true, tools: true, thinking: true, result: 1000},
	"one task":      {items: 500, tools: true, result: 1000},
	"thinking task": {items: 200, tools: true, thinking: true, result: 1000},
	"chat":          {items: 200, turns: true},
	"midway":        {items: 200, turns: true, tools: true, midway: true, thinking: true, result: 500},
	"short outputs": {items: 200, turns: true, tools: true, result: 60},
	"large outputs": {items: 80, turns: true, tools: true, result: 10_000},
}

// TestGrowingConversations sends conversations message by message. At every
// step the request is valid, within an epoch the prefix is the same, and the
// number of epochs stays within the bound that the package states.
func TestGrowingConversations(t *testing.T) {
	type setting struct {
		level         string
		keep, reserve int
	}
	settings := []setting{
		{headroom.Conservative, 0, 10_000}, {headroom.Balanced, 0, 6_000}, {headroom.Aggressive, 0, 4_000},
		{headroom.Auto, 0, 8_000}, {headroom.Aggressive, 1, 1}, {headroom.Balanced, 3, 1_200},
	}
	if raceEnabled { // the walk has no goroutines; its races are those of the pools
		for name, s := range styles {
			s.items = min(s.items, 120)
			styles[name] = s
		}
	}
	// Every style meets every format, every format meets every setting.
	for i, name := range slices.Sorted(maps.Keys(styles)) {
		for j, f := range []adapter.Format{adapter.Chat, adapter.Messages, adapter.Responses} {
			c := newTalk(f, styles[name], uint64(len(name)))
			for k := range 2 {
				set := settings[(5*i+2*j+k)%len(settings)]
				t.Run(fmt.Sprintf("%s/%v/%s-%d-%d", name, f, set.level, set.keep, set.reserve), func(t *testing.T) {
					p := newPass(t, set.level, set.keep, set.reserve)
					keep := set.keep
					if keep == 0 {
						keep = map[string]int{headroom.Conservative: 16, headroom.Balanced: 8}[set.level]
					}
					if keep == 0 {
						keep = 4
					}
					epochs, changed := 0, false
					var last [][]byte
					for step, n := range c.ends {
						before := c.request(n)
						after, res := prune(t, f, before, p)
						changed = changed || res.Body != nil
						now := list(t, after)
						moved := !prefix(last, now)
						if moved {
							epochs++
						}
						last = now
						// Between two cuts only the end of the request differs.
						if moved || step%8 == 0 || step == len(c.ends)-1 {
							if again, _ := prune(t, f, after, p); !bytes.Equal(again, after) {
								t.Fatalf("%d messages: applied again, it changes:\n%.3000s\n%.3000s", n, after, again)
							}
							for _, err := range c.check(t, before, after, n, keep) {
								t.Fatalf("%d messages: %v", n, err)
							}
						}
					}
					whole := c.request(c.ends[len(c.ends)-1])
					tokens := weight(t, f, whole)
					bound := tokens / max(set.reserve/4, 64)
					if epochs > bound {
						t.Errorf("%d epochs in a conversation of %d tokens, the bound is %d", epochs, tokens, bound)
					}
					if !changed && tokens > 2*set.reserve {
						t.Errorf("a conversation of %d tokens was never changed", tokens)
					}
					t.Logf("%d requests, %d tokens, %d epochs (bound %d), the last request has %d of %d messages left",
						len(c.ends), tokens, epochs, bound, len(last), len(list(t, whole)))
				})
			}
		}
	}
}

// prefix reports whether the messages was begin the messages is, but for cache
// marks.
func prefix(was, is [][]byte) bool {
	if len(is) < len(was) {
		return false
	}
	for i := range was {
		if !bytes.Equal(was[i], is[i]) && unmarked(was[i]) != unmarked(is[i]) {
			return false
		}
	}
	return true
}

func weight(t testing.TB, f adapter.Format, body []byte) int {
	t.Helper()
	var req adapter.Request
	if err := req.Parse(f, body); err != nil {
		t.Fatal(err)
	}
	return headroom.Weight(&req)
}

// TestSameRequestSameBytes: no state is kept, so a request alone in a new
// process comes out as the same request did behind all others.
func TestSameRequestSameBytes(t *testing.T) {
	for f := range paths {
		c := newTalk(f, styles["turns"], 5)
		n := c.ends[len(c.ends)-1]
		p := newPass(t, headroom.Balanced, 0, 9_000)
		first, _ := prune(t, f, c.request(n), p)
		first = bytes.Clone(first)
		for _, m := range c.ends[len(c.ends)/2:] {
			prune(t, f, c.request(m), p)
		}
		second, _ := prune(t, f, c.request(n), newPass(t, headroom.Balanced, 0, 9_000))
		if !bytes.Equal(first, second) {
			t.Errorf("%v: the same request came out differently", f)
		}
	}
}
