package headroom_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/headroom"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/tokens"
)

// long is a text of about n tokens without line ends.
func long(word string, n int) string { return strings.TrimSpace(strings.Repeat(word+" ", n)) }

// elide replaces what differs from run to run of a marker's wording: nothing
// but the reference.
func elide(body []byte) string {
	var b strings.Builder
	for _, part := range strings.SplitAfter(string(body), " · ref ") {
		if b.Len() > 0 {
			part = "REF" + part[marker.RefLen:]
		}
		b.WriteString(part)
	}
	return b.String()
}

func TestShapes(t *testing.T) {
	a, z := long("pump", 400), long("valve", 400)
	const (
		three = "[... headroom: 3 messages elided, the oldest after the task · ref REF ...]"
		two   = "[... headroom: 2 messages elided, the oldest after the task · ref REF ...]"
	)
	cleared := func(text string) string {
		return "[... headroom: 1 line elided, " + string(marker.AppendCount(nil, len(text))) + " bytes of an old tool result · ref REF ...]"
	}
	for _, c := range []struct {
		name          string
		format        adapter.Format
		level         string
		keep, reserve int
		body          string
		want          string // "" for untouched
		notes         int
	}{
		{name: "chat: turns go, an assistant marker takes their place", format: adapter.Chat, level: headroom.Balanced, keep: 1, reserve: 100,
			body: `{"messages":[{"role":"user","content":"Task."},{"role":"assistant","content":"` + a + `"},{"role":"user","content":"` + z + `"}, {"role":"assistant","content":"Ok."},{"role":"user","content":"Next."}]}`,
			want: `{"messages":[{"role":"user","content":"Task."},{"role":"assistant","content":"` + three + `"},{"role":"user","content":"Next."}]}`},
		{name: "chat: rounds of the task go, a user marker takes their place", format: adapter.Chat, level: headroom.Balanced, keep: 1, reserve: 100,
			body: `{"messages":[{"role":"user","content":"Task."},` +
				`{"role":"assistant","content":"` + a + `","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"x"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"2","content":"y"}]}`,
			want: `{"messages":[{"role":"user","content":"Task."},{"role":"user","content":"` + two + `"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"2","content":"y"}]}`},
		{name: "messages: rounds of the task go, the marker is a part behind its string", format: adapter.Messages, level: headroom.Balanced, keep: 1, reserve: 100,
			body: `{"messages":[{"role":"user","content":"Ta\u0073k."},` +
				`{"role":"assistant","content":[{"type":"text","text":"` + a + `"},{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"y"}]}]}`,
			want: `{"messages":[{"role":"user","content":[{"type":"text","text":"Ta\u0073k."},{"type":"text","text":"` + two + `"}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"y"}]}]}`},
		{name: "messages: the marker is a part behind its parts", format: adapter.Messages, level: headroom.Balanced, keep: 1, reserve: 100,
			body: `{"messages":[{"role":"user","content":[{"type":"text","text":"Task.","cache_control":{"type":"ephemeral"}} ]},` +
				`{"role":"assistant","content":[{"type":"text","text":"` + a + `"},{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"y"}]}]}`,
			want: `{"messages":[{"role":"user","content":[{"type":"text","text":"Task.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"` + two + `"} ]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"y"}]}]}`},
		{name: "stage one is enough", format: adapter.Chat, level: headroom.Balanced, keep: 1, reserve: 400,
			body: `{"messages":[{"role":"user","content":"Task."},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"` + a + `"},` +
				`{"role":"assistant","content":"Ok."},{"role":"user","content":"` + long("tank", 60) + `"}]}`,
			want: `{"messages":[{"role":"user","content":"Task."},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"` + cleared(a) + `"},` +
				`{"role":"assistant","content":"Ok."},{"role":"user","content":"` + long("tank", 60) + `"}]}`},
		{name: "a running turn with signed thinking keeps its rounds, errors keep their text", format: adapter.Messages, level: headroom.Balanced, keep: 1, reserve: 100,
			body: `{"messages":[{"role":"user","content":"Task."},` +
				`{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"s"},{"type":"tool_use","id":"1","name":"f","input":{}},{"type":"tool_use","id":"2","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"` + a + `"},{"type":"tool_result","tool_use_id":"2","is_error":true,"content":"` + z + `"}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"3","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"3","content":"y"}]}]}`,
			want: `{"messages":[{"role":"user","content":"Task."},` +
				`{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"s"},{"type":"tool_use","id":"1","name":"f","input":{}},{"type":"tool_use","id":"2","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"` + cleared(a) + `"},{"type":"tool_result","tool_use_id":"2","is_error":true,"content":"` + z + `"}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"3","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"3","content":"y"}]}]}`,
			notes: 1},
		{name: "responses: reasoning goes with its item, parallel calls go together", format: adapter.Responses, level: headroom.Balanced, keep: 1, reserve: 100,
			body: `{"input":[{"role":"user","content":"Task."},{"type":"reasoning","id":"r1","summary":[]},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call","call_id":"2","name":"f","arguments":"{}"},` +
				`{"type":"function_call_output","call_id":"1","output":"x"},{"type":"function_call_output","call_id":"2","output":"` + a + `"},{"type":"reasoning","id":"r2","summary":[]},{"type":"message","role":"assistant","content":"` + z + `"},` +
				`{"role":"developer","content":"Rule."},{"role":"user","content":"Next."}]}`,
			want: `{"input":[{"role":"user","content":"Task."},{"role":"assistant","content":"[... headroom: 7 messages elided, the oldest after the task · ref REF ...]"},{"role":"developer","content":"Rule."},{"role":"user","content":"Next."}]}`},
		{name: "responses: unknown items and what thinks before them stay", format: adapter.Responses, level: headroom.Balanced, keep: 1, reserve: 100,
			body: `{"input":[{"role":"user","content":"Task."},{"type":"message","role":"assistant","content":"` + a + `"},{"type":"reasoning","id":"r1","summary":[]},{"type":"compaction","encrypted_content":"gAAA"},{"role":"user","content":"Next."}]}`,
			want: `{"input":[{"role":"user","content":"Task."},{"role":"user","content":"[... headroom: 1 message elided, the oldest after the task · ref REF ...]"},{"type":"reasoning","id":"r1","summary":[]},{"type":"compaction","encrypted_content":"gAAA"},{"role":"user","content":"Next."}]}`},
		{name: "responses: the provider keeps the rest", format: adapter.Responses, level: headroom.Balanced, keep: 1, reserve: 1,
			body:  `{"previous_response_id":"r","input":[{"role":"user","content":"Task."},{"role":"assistant","content":"` + a + `"},{"role":"user","content":"Next."}]}`,
			notes: 1},
		{name: "responses: an output without its call", format: adapter.Responses, level: headroom.Balanced, keep: 1, reserve: 1,
			body:  `{"input":[{"type":"function_call_output","call_id":"c","output":"` + a + `"},{"role":"user","content":"Next."}]}`,
			notes: 1},
		{name: "nothing but the task", format: adapter.Chat, level: headroom.Aggressive, keep: 1, reserve: 1,
			body:  `{"messages":[{"role":"user","content":"` + a + `"},{"role":"user","content":"` + z + `"}]}`,
			notes: 1},
		{name: "below the reserve", format: adapter.Chat, level: headroom.Aggressive,
			body: `{"messages":[{"role":"user","content":"Task."},{"role":"assistant","content":"` + a + `"},{"role":"user","content":"Next."}]}`},
		{name: "dropping would not make it smaller", format: adapter.Chat, level: headroom.Aggressive, keep: 1, reserve: 1,
			body:  `{"messages":[{"role":"user","content":"Task."},{"role":"assistant","content":"Ok."},{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]},{"role":"assistant","content":"Ok."},{"role":"user","content":"Next."}]}`,
			notes: 1},
		{name: "parallel results of the running round stay together", format: adapter.Chat, level: headroom.Aggressive, keep: 1, reserve: 1,
			body: `{"messages":[{"role":"user","content":"Task."},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"tool","tool_call_id":"1","content":"` + a + `"},{"role":"tool","tool_call_id":"2","content":"` + z + `"}]}`,
			notes: 1},
		{name: "a call that nobody answered stays", format: adapter.Chat, level: headroom.Aggressive, keep: 1, reserve: 1,
			body: `{"messages":[{"role":"user","content":"Task."},{"role":"assistant","content":"` + a + `","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"assistant","content":"` + z + `"},{"role":"user","content":"Next."}]}`,
			want: `{"messages":[{"role":"user","content":"Task."},{"role":"assistant","content":"` + a + `","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"assistant","content":"[... headroom: 1 message elided, the oldest after the task · ref REF ...]"},{"role":"user","content":"Next."}]}`,
			notes: 1},
		{name: "no text at all", format: adapter.Responses, level: headroom.Aggressive, keep: 1, reserve: 1, body: `{"input":"` + a + `"}`},
	} {
		p := newPass(t, c.level, c.keep, c.reserve)
		got, res := prune(t, c.format, []byte(c.body), p)
		want := c.want
		if want == "" {
			want = c.body
		}
		if elide(got) != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, elide(got), want)
		}
		notes := 0
		for _, r := range res.Passes {
			notes += len(r.Notes)
		}
		if notes != c.notes {
			t.Errorf("%s: %d notes, want %d: %+v", c.name, notes, c.notes, res.Passes)
		}
		if res.SavedBytes != len(c.body)-len(got) {
			t.Errorf("%s: %d bytes saved, reported %d", c.name, len(c.body)-len(got), res.SavedBytes)
		}
		if again, _ := prune(t, c.format, got, p); !bytes.Equal(again, got) {
			t.Errorf("%s: applied again, it changes: %s", c.name, again)
		}
	}
}

// TestClearingAloneNeedsNoMarker: what the marker for dropped messages would
// cost does not count against a cut that drops none.
func TestClearingAloneNeedsNoMarker(t *testing.T) {
	const reserve = 800 // a cut takes away a quarter at least
	result := "x"
	for tokens.Estimate([]byte(result)) < reserve/4+headroom.ClearedTokens+headroom.MarkerTokens/2 {
		result += " pump"
	}
	body := `{"messages":[{"role":"user","content":"` + long("valve", reserve) + `"},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"s"},{"type":"tool_use","id":"1","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"` + result + `"}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"y"}]}]}`
	got, res := prune(t, adapter.Messages, []byte(body), newPass(t, headroom.Balanced, 1, reserve))
	if res.Body == nil || res.SavedTokens < reserve/4 || !strings.Contains(string(got), " bytes of an old tool result") {
		t.Errorf("%d tokens saved: %s", res.SavedTokens, got)
	}
}

// TestAutoActsByHowFullItIs walks through the three zones of auto.
func TestAutoActsByHowFullItIs(t *testing.T) {
	c := newTalk(adapter.Chat, style{items: 600, turns: true, tools: true, result: 800}, 3)
	const reserve = 16_000
	p := newPass(t, headroom.Auto, 0, reserve)
	cleared, dropped := false, false
	for _, n := range c.ends {
		body := c.request(n)
		after, res := prune(t, c.format, body, p)
		tokens := weight(t, c.format, body)
		if tokens <= reserve/2 && res.Body != nil {
			t.Fatalf("%d tokens, not half of the reserve: changed", tokens)
		}
		gone := len(list(t, body)) > len(list(t, after))
		if res.Body == nil {
			continue
		}
		want := headroom.Conservative
		if gone {
			want, dropped = headroom.Aggressive, true
		} else {
			cleared = true
		}
		if !gone && dropped {
			t.Fatal("what was dropped came back")
		}
		if got := res.Passes[0].Level; !gone && got != want {
			t.Errorf("%d tokens: level %s, want %s", tokens, got, want)
		}
		if left := weight(t, c.format, after); left > reserve {
			t.Errorf("%d tokens are left, the reserve is %d", left, reserve)
		}
	}
	if !cleared || !dropped {
		t.Errorf("cleared: %v, dropped: %v", cleared, dropped)
	}
}

// TestMarkersWeighNoMoreThanReckoned: what the walk puts in for a marker is an
// upper bound, or applying headroom twice could make another cut.
func TestMarkersWeighNoMoreThanReckoned(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := make([]byte, r.IntN(20))
		for i := range text {
			text[i] = byte(r.IntN(256))
		}
		ref := marker.Ref(text)
		count := r.IntN(1 << r.IntN(31))
		detail := string(marker.AppendCount(nil, r.IntN(1<<r.IntN(31)))) + " bytes of an old tool result"
		line := marker.Append(nil, "headroom", count, "lines", detail, ref)
		if n := tokens.EstimateRaw(line); n > headroom.ClearedTokens {
			t.Fatalf("%d tokens: %s", n, line)
		}
		line = marker.Append(nil, "headroom", count, "messages", "the oldest after the task", ref)
		if n := tokens.EstimateRaw(line) + 4; n > headroom.MarkerTokens {
			t.Fatalf("%d tokens: %s", n, line)
		}
	}
}

func TestUnknownLevel(t *testing.T) {
	for _, level := range []string{"", "off", "light"} {
		if _, ok := headroom.New(level, 0, 0); ok {
			t.Errorf("level %q exists", level)
		}
	}
}

// FuzzPrune makes conversations of all kinds and sends them as they grow.
func FuzzPrune(f *testing.F) {
	seeds := uint64(200)
	if raceEnabled {
		seeds = 30
	}
	for seed := range seeds {
		f.Add(seed, uint8(seed), uint8(seed*7), uint16(seed*97), uint16(1+seed*11))
	}
	f.Fuzz(func(t *testing.T, seed uint64, kind, keep uint8, reserve, result uint16) {
		format := []adapter.Format{adapter.Chat, adapter.Messages, adapter.Responses}[kind%3]
		s := style{
			items: 40, result: 1 + int(result)%2500, turns: kind&4 != 0, tools: kind&8 != 0 || kind&4 == 0,
			thinking: kind&16 != 0, midway: kind&32 != 0,
		}
		levels := []string{headroom.Conservative, headroom.Balanced, headroom.Aggressive, headroom.Auto}
		last := 1 + int(keep)%20
		p := newPass(t, levels[kind>>6], last, 1+int(reserve)%6000)
		c := newTalk(format, s, seed)
		var was [][]byte
		for _, n := range c.ends {
			before := c.request(n)
			after, _ := prune(t, format, before, p)
			for _, err := range c.check(t, before, after, n, last) {
				t.Fatalf("%d messages: %v\n%s\n%s", n, err, before, after)
			}
			if again, _ := prune(t, format, after, p); !bytes.Equal(again, after) {
				t.Fatalf("%d messages: applied again, it changes:\n%s\n%s", n, after, again)
			}
			is := list(t, after)
			if !prefix(was, is) && fewer(was, is) {
				t.Fatalf("%d messages: what was gone came back:\n%s", n, after)
			}
			was = is
		}
	})
}

// fewer reports whether the messages is say less that was elided than the
// messages was.
func fewer(was, is [][]byte) bool { return elided(is) < elided(was) }

func elided(messages [][]byte) (n int) {
	for _, raw := range messages {
		for _, text := range cases.Texts(raw) {
			var count int
			at := strings.Index(text, "[... headroom: ")
			if at < 0 {
				continue
			}
			number, rest, _ := strings.Cut(text[at+len("[... headroom: "):], " ")
			if !strings.HasPrefix(rest, "message") {
				continue
			}
			if _, err := fmt.Sscan(strings.ReplaceAll(number, ",", ""), &count); err == nil {
				n += count
			}
		}
	}
	return n
}
