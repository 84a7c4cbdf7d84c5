package reasoning_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/reasoning"
)

func apply(t testing.TB, level string, f adapter.Format, body []byte) ([]byte, optimize.Result) {
	t.Helper()
	p, ok := reasoning.New(level)
	if !ok {
		t.Fatalf("no level %q", level)
	}
	var req adapter.Request
	if err := req.Parse(f, body); err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	res := optimize.Run(&req, []optimize.Pass{p}, nil)
	if res.Panic != nil {
		t.Fatalf("fault: %v\n%s", res.Panic.Value, res.Panic.Stack)
	}
	if res.Body == nil {
		return body, res
	}
	return res.Body, res
}

// thought is a reasoning text of so many numbered lines, encoded.
func thought(topic string, lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, `Step %d: the %s has to be looked at, \"maybe\" at its größte part.\n`, i, topic)
	}
	return b.String() + "So the " + topic + " is fine."
}

// decoded is the text that stands encoded in a body.
func decoded(encoded string) string {
	return strings.NewReplacer(`\n`, "\n", `\"`, `"`).Replace(encoded)
}

func chat(extra string, messages ...string) []byte {
	return []byte(`{"model":"deepseek-reasoner",` + extra + `"messages":[` + strings.Join(messages, ",") + `]}`)
}

func said(role, text string) string { return `{"role":"` + role + `","content":"` + text + `"}` }

func thinking(text string) string {
	return `{"role":"assistant","reasoning_content":"` + text + `","content":"Done."}`
}

func TestOnlyReasoningOfTurnsThatAreOver(t *testing.T) {
	long := thought("pump", 200)
	call := `{"role":"assistant","reasoning_content":"` + long + `","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	result := `{"role":"tool","tool_call_id":"1","content":"x"}`
	for _, c := range []struct {
		name   string
		format adapter.Format
		body   []byte
		blocks int // that are shortened
	}{
		{"turn over", adapter.Chat, chat("", said("user", "a"), thinking(long), said("user", "b")), 1},
		{"turn with tools over", adapter.Chat, chat("", said("user", "a"), call, result, thinking(long), said("user", "b")), 2},
		{"turn running", adapter.Chat, chat("", said("user", "a"), call, result), 0},
		{"one over, one running", adapter.Chat, chat("", said("user", "a"), thinking(long), said("user", "b"), call, result), 1},
		{"other name", adapter.Chat, chat("", said("user", "a"), `{"role":"assistant","reasoning":"`+long+`","content":"Done."}`, said("user", "b")), 1},
		{"short", adapter.Chat, chat("", said("user", "a"), thinking(thought("pump", 5)), said("user", "b")), 0},
		{"one line", adapter.Chat, chat("", said("user", "a"), thinking(strings.Repeat("Hm. ", 5000)), said("user", "b")), 0},
		{"beside details", adapter.Chat, chat("", said("user", "a"),
			`{"role":"assistant","reasoning":"`+long+`","reasoning_details":[{"type":"reasoning.text","text":"`+long+`","signature":"s"}],"content":"Done."}`, said("user", "b")), 0},
		{"a marker in it", adapter.Chat, chat("", said("user", "a"), thinking(`[... rtk: 5 lines elided ...]\n`+long), said("user", "b")), 0},
		{"answers are not reasoning", adapter.Chat, chat("", said("user", long), said("assistant", long), said("user", "b")), 0},
		{"anthropic thinking", adapter.Messages, []byte(`{"messages":[` + said("user", "a") + `,{"role":"assistant","content":[{"type":"thinking","thinking":"` + long + `","signature":"s"},{"type":"text","text":"Done."}]},` + said("user", "b") + `]}`), 0},
		{"responses reasoning", adapter.Responses, []byte(`{"input":[` + said("user", "a") + `,{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"` + long + `"}]},` + said("assistant", "Done.") + `,` + said("user", "b") + `]}`), 0},
	} {
		for _, level := range []string{reasoning.Low, reasoning.High, reasoning.Auto} {
			got, res := apply(t, level, c.format, c.body)
			changed := 0
			for _, p := range res.Passes {
				changed += p.Changed
			}
			if changed != c.blocks || bytes.Equal(got, c.body) != (c.blocks == 0) {
				t.Errorf("%s, %s: %d blocks shortened, want %d", c.name, level, changed, c.blocks)
			}
			if again, _ := apply(t, level, c.format, got); !bytes.Equal(again, got) {
				t.Errorf("%s, %s: applied again, it changes: %s", c.name, level, again)
			}
		}
	}
}

func TestWhatIsLeft(t *testing.T) {
	long := thought("pump", 400)
	last := map[string]int{}
	for _, level := range []string{reasoning.Low, reasoning.High} {
		body := chat("", said("user", "a"), thinking(long), said("user", "b"))
		got, res := apply(t, level, adapter.Chat, body)
		texts := cases.Texts(got)
		var left string
		for _, text := range texts {
			if strings.HasPrefix(text, "Step 0: ") {
				left = text
			}
		}
		if err := cases.Marked(decoded(long), left); err != nil {
			t.Errorf("%s: %v", level, err)
		}
		if !strings.Contains(left, "\n[... reasoning: ") || !strings.HasSuffix(left, "\nSo the pump is fine.") {
			t.Errorf("%s: %s", level, left)
		}
		if res.Passes[0].Level != level || res.SavedBytes != len(body)-len(got) || res.SavedTokens <= 0 {
			t.Errorf("%s: %+v", level, res)
		}
		last[level] = len(left)
	}
	if !(last[reasoning.Low] < last[reasoning.High] && last[reasoning.High] < len(long)/2) {
		t.Errorf("low leaves %d bytes, high %d of %d", last[reasoning.Low], last[reasoning.High], len(long))
	}
}

func TestAutoGoesByTheEffort(t *testing.T) {
	for extra, want := range map[string]string{
		``:                                 reasoning.High,
		`"reasoning_effort":"low",`:        reasoning.Low,
		`"reasoning_effort":"minimal",`:    reasoning.Low,
		`"reasoning_effort":"none",`:       reasoning.Low,
		`"reasoning_effort":"medium",`:     reasoning.High,
		`"reasoning_effort":"high",`:       reasoning.High,
		`"reasoning_effort":null,`:         reasoning.High,
		`"reasoning":{"effort":"low"},`:    reasoning.Low,
		`"reasoning":{"effort":"high"},`:   reasoning.High,
		`"reasoning":{"max_tokens":2000},`: reasoning.High,
	} {
		_, res := apply(t, reasoning.Auto, adapter.Chat, chat(extra, said("user", "a"), thinking(thought("pump", 300)), said("user", "b")))
		if len(res.Passes) != 1 || res.Passes[0].Level != want {
			t.Errorf("%s: %+v, want level %s", extra, res.Passes, want)
		}
	}
}

// TestEachMessageChangesOnce sends a growing chat: a message is what it was
// until its turn is over, then it is something shorter, and so it stays.
func TestEachMessageChangesOnce(t *testing.T) {
	var messages []string
	for turn := range 8 {
		messages = append(messages, said("user", fmt.Sprint("question ", turn)))
		for round := range turn % 3 {
			id := fmt.Sprintf("c%d-%d", turn, round)
			messages = append(messages,
				`{"role":"assistant","reasoning_content":"`+thought("valve", 100+turn)+`","content":null,"tool_calls":[{"id":"`+id+`","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
				`{"role":"tool","tool_call_id":"`+id+`","content":"x"}`)
		}
		messages = append(messages, thinking(thought("tank", 90+turn)))
	}
	forms := make([][]string, len(messages))
	for n := 1; n <= len(messages); n++ {
		got, _ := apply(t, reasoning.Low, adapter.Chat, chat("", messages[:n]...))
		var view adapter.Request
		if err := view.Parse(adapter.Chat, got); err != nil {
			t.Fatal(err)
		}
		for i, m := range view.Messages {
			form := string(view.Doc.Raw(m.Node))
			if k := len(forms[i]); k == 0 || forms[i][k-1] != form {
				forms[i] = append(forms[i], form)
			}
		}
	}
	changed := 0
	for i, f := range forms {
		want := 1
		if strings.Contains(messages[i], "reasoning_content") && i < len(messages)-2 {
			want, changed = 2, changed+1
		}
		if len(f) > want || f[0] != messages[i] {
			t.Errorf("message %d had %d forms, want %d: %.200q", i, len(f), want, f)
		}
	}
	if changed == 0 {
		t.Error("nothing was ever shortened")
	}
}

func TestUnknownLevel(t *testing.T) {
	for _, level := range []string{"", "off", "medium"} {
		if _, ok := reasoning.New(level); ok {
			t.Errorf("level %q exists", level)
		}
	}
}

// FuzzShorten checks the promises on any reasoning text.
func FuzzShorten(f *testing.F) {
	f.Add(decoded(thought("pump", 40)), true)
	f.Add(strings.Repeat("a\n\n  b\r\n", 900), false)
	f.Add("\n"+strings.Repeat("word ", 900)+"\n"+strings.Repeat("\n", 3000), true)
	f.Fuzz(func(t *testing.T, text string, low bool) {
		level := reasoning.High
		if low {
			level = reasoning.Low
		}
		text = strings.ToValidUTF8(text, "?")
		quoted := string(jsonspan.AppendQuoted(nil, []byte(text)))
		body := []byte(`{"messages":[{"role":"user","content":"a"},{"role":"assistant","reasoning_content":` + quoted + `,"content":"b"},{"role":"user","content":"c"}]}`)
		got, _ := apply(t, level, adapter.Chat, body)
		if bytes.Equal(got, body) {
			return
		}
		if len(got) >= len(body) {
			t.Fatalf("it grew from %d to %d bytes", len(body), len(got))
		}
		texts := cases.Texts(got)
		if err := cases.Marked(text, texts[3]); err != nil && !strings.Contains(text, "[...") {
			t.Fatalf("%v\n%q\n%q", err, text, texts[3])
		}
		if again, _ := apply(t, level, adapter.Chat, got); !bytes.Equal(again, got) {
			t.Fatalf("applied again, it changes: %q", again)
		}
	})
}
