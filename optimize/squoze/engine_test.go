package squoze_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/squoze"
)

// routine is a log with n lines and an error in the middle.
func routine(n int) string {
	return lines(n/2, "2031-04-02T06:00:00Z INFO store: counted shelf {i}") + "2031-04-02T06:00:01Z ERROR store: shelf is empty\n" +
		lines(n/2, "2031-04-02T06:00:02Z INFO store: counted bin {i}")
}

func TestFamilies(t *testing.T) {
	for model, want := range map[string]squoze.Family{
		"claude-sonnet-4-5": squoze.Claude, "anthropic/Claude-Opus": squoze.Claude, "gpt-5-codex": squoze.GPT, "openai/gpt-4o": squoze.GPT, "o3-mini": squoze.GPT, "openai/o1": squoze.GPT,
		"o10": squoze.Other, "DeepSeek-V3": squoze.DeepSeek, "gemini-2.5-pro": squoze.Other, "": squoze.Other, "codex-mini": squoze.GPT, "qwen3-coder": squoze.Other,
	} {
		if got := squoze.FamilyOf(model); got != want {
			t.Errorf("%q: %v, want %v", model, got, want)
		}
	}
	for f, want := range map[squoze.Family]int{squoze.Claude: 4096, squoze.GPT: 2048, squoze.DeepSeek: 1024, squoze.Other: 2048} {
		if got := f.DefaultGate(); got != want {
			t.Errorf("%v: gate %d, want %d", f, got, want)
		}
	}
}

func TestGates(t *testing.T) {
	tests := []struct {
		model   string
		lines   int // some 50 bytes each
		changed bool
	}{
		{"claude-sonnet-4-5", 60, false}, {"claude-sonnet-4-5", 120, true}, {"gpt-5", 38, false}, {"gpt-5", 60, true},
		{"deepseek-chat", 16, false}, {"deepseek-chat", 32, true}, {"gemini-pro", 38, false}, {"gemini-pro", 60, true},
	}
	for _, tt := range tests {
		body := one(adapter.Chat, tt.model, "Bash", `{"command":"tail app.log"}`, routine(tt.lines))
		out, _ := squoze.New(squoze.Config{}).Apply(adapter.Chat, body)
		if changed := len(out) != len(body); changed != tt.changed {
			t.Errorf("%s with %d lines: changed %v", tt.model, tt.lines, changed)
		}
		var gates [squoze.Families]int
		gates[squoze.FamilyOf(tt.model)] = 100
		if out, _ := squoze.New(squoze.Config{Gates: gates}).Apply(adapter.Chat, body); tt.lines > 30 && len(out) == len(body) {
			t.Errorf("%s with %d lines: not changed with a gate of 100 bytes", tt.model, tt.lines)
		}
	}
}

func TestLimits(t *testing.T) {
	body := one(adapter.Chat, "gpt-5", "Bash", `{"command":"tail app.log"}`, routine(400))
	tests := []struct {
		name   string
		config squoze.Config
		skip   string
	}{
		{"body", squoze.Config{MaxBody: int64(len(body)) - 1}, "body over max_body"},
		{"block", squoze.Config{MaxBlock: 10_000}, "1 block over max_block"},
		{"none", squoze.Config{MaxBody: int64(len(body)), MaxBlock: int64(len(body))}, ""},
	}
	for _, tt := range tests {
		out, report := squoze.New(tt.config).Apply(adapter.Chat, body)
		if skipped := strings.Join(report.Skipped, "; "); skipped != tt.skip || (tt.skip == "") != (len(out) < len(body)) {
			t.Errorf("%s: skipped %q, %d bytes of %d", tt.name, skipped, len(out), len(body))
		}
	}
}

func TestNotARequest(t *testing.T) {
	for _, body := range []string{``, `{`, `[]`, `{"messages":null}`, `{"model":"m","messages":[{"role":"user","content":"x"}],"messages":[]}`} {
		out, report := squoze.New(squoze.Config{}).Apply(adapter.Chat, []byte(body))
		if string(out) != body || report.Original != len(body) || report.Sent != len(body) {
			t.Errorf("%q became %q; %+v", body, out, report)
		}
	}
}

func TestReferenceModes(t *testing.T) {
	file := lines(60, "	{W}{i}: {d}, // the entry of {w}")
	turn := func(id, result string) string {
		return fuzzTurn(adapter.Chat, 0, struct{ tool, args string }{"Read", `{"file_path":"a.go"}`}, result, false)
	}
	body := []byte(strings.ReplaceAll(string(fuzzBody(adapter.Chat, []string{turn("a", file), turn("b", file), turn("c", "package a\n"+file)})), `"c0"`, `"call"`))
	for mode, want := range map[squoze.References]int{squoze.ReferenceOff: 0, squoze.ReferenceBlocks: 1, squoze.ReferenceRuns: 2} {
		out, report := squoze.New(squoze.Config{References: mode}).Apply(adapter.Chat, body)
		if n := bytes.Count(out, []byte("the same as")); n != want || report.Squeezed != want {
			t.Errorf("mode %d: %d pointers, want %d", mode, n, want)
		}
	}
}

// TestPruningProvider checks that there are no pointers where the provider may
// take away what they lead to.
func TestPruningProvider(t *testing.T) {
	file := lines(60, "	{W}{i}: {d}, // the entry of {w}")
	for _, tt := range []struct {
		f        adapter.Format
		member   string
		pointers int
	}{
		{adapter.Messages, `"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]},`, 0},
		{adapter.Messages, `"context_management":null,`, 1},
		{adapter.Responses, `"truncation":"auto",`, 0},
		{adapter.Responses, `"truncation":"disabled",`, 1},
		{adapter.Chat, `"truncation":"auto",`, 1},
	} {
		body := request(tt.f, "Read", `{"file_path":"a.go"}`, file)
		body = append([]byte("{"+tt.member), body[1:]...)
		out, report := squoze.New(squoze.Config{}).Apply(tt.f, body)
		if n := bytes.Count(out, []byte("the same as")); n != tt.pointers || (n == 0) != (len(report.Skipped) == 1) {
			t.Errorf("%s with %s: %d pointers; %v", tt.f, tt.member, n, report.Skipped)
		}
	}
}

func TestErrorsAndFrozenStay(t *testing.T) {
	log := string(jsonspan.AppendQuoted(nil, []byte(routine(400))))
	for name, result := range map[string]string{
		"error":   `{"type":"tool_result","tool_use_id":"a","is_error":true,"content":` + log + `}`,
		"unknown": `{"type":"tool_result","tool_use_id":"a","content":[{"type":"novelty","text":` + log + `}]}`,
	} {
		body := []byte(`{"model":"claude-x","messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Bash","input":{"command":"tail app.log"}}]},{"role":"user","content":[` + result + `]}]}`)
		if out, _ := squoze.New(squoze.Config{}).Apply(adapter.Messages, body); !bytes.Equal(out, body) {
			t.Errorf("%s: changed", name)
		}
	}
}

func TestUserText(t *testing.T) {
	log := routine(400)
	diff := "diff --git a/go.sum b/go.sum\n--- a/go.sum\n+++ b/go.sum\n@@ -0,0 +1,80 @@\n" + lines(80, "+example.test/lib-{i} v1.{i}.0 h1:QkQkp9wJmR2sT8uV4xY6zA1bC3dE5fG7hI9jK0lM=")
	tests := []struct {
		name, before, in, after string
		changed                 bool
	}{
		{"wrapper", "Look at \"this\" <b>\u00e9\U0001F600\u2028\t:\n<bash-stdout>\n", log, "\n</bash-stdout>\nand do not touch the production database.", true},
		{"fence", "Here:\n```log\n", log, "```\nIMPORTANT: nothing else.", true},
		{"diff", "Here:\n```diff\n", diff, "```\n", true},
		{"source fence", "Here:\n```go\n", log, "```\n", false},
		{"no wrapper", "Here:\n", log, "Bye.", false},
		{"small", "<tool_output>", routine(10), "</tool_output>", false},
	}
	for _, tt := range tests {
		for _, escape := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " ", escape), func(t *testing.T) {
				quoted := func(s string) string {
					q := string(jsonspan.AppendQuoted(nil, []byte(s)))
					if escape { // as many clients write it
						b, err := json.Marshal(s)
						if err != nil {
							t.Fatal(err)
						}
						q = string(b)
					}
					return q[1 : len(q)-1]
				}
				body := `{"model":"gpt-5","messages":[{"role":"user","content":"` + quoted(tt.before) + quoted(tt.in) + quoted(tt.after) + `"}]}`
				e := squoze.New(squoze.Config{Originals: squoze.NewOriginals(1 << 20)})
				out, report := e.Apply(adapter.Chat, []byte(body))
				if (string(out) != body) != tt.changed {
					t.Fatalf("changed: %v, %+v", !tt.changed, report)
				}
				start, end := strings.Index(body, quoted(tt.before)), len(quoted(tt.after))+len(`"}]}`)
				if !strings.HasPrefix(string(out), body[:start+len(quoted(tt.before))]) || !strings.HasSuffix(string(out), body[len(body)-end:]) {
					t.Errorf("what the user wrote changed: %s", out)
				}
				if tt.changed && (len(out) > len(body)/4 || !strings.Contains(string(out), "ref")) {
					t.Errorf("%d bytes of %d", len(out), len(body))
				}
				if again, _ := e.Apply(adapter.Chat, out); !bytes.Equal(again, out) {
					t.Errorf("changed again: %s", again)
				}
			})
		}
	}
}

func TestUserOriginals(t *testing.T) {
	store := squoze.NewOriginals(1 << 20)
	e := squoze.New(squoze.Config{Originals: store})
	first, second := routine(400), routine(300)
	text := "A <tool_output>\n" + first + "</tool_output> B <system-output>" + second + "</system-output>"
	out, _ := e.Apply(adapter.Chat, []byte(`{"model":"gpt-5","messages":[{"role":"user","content":`+string(jsonspan.AppendQuoted(nil, []byte(text)))+`}]}`))
	for _, want := range []string{strings.TrimSuffix(first, "\n"), strings.TrimSuffix(second, "\n")} {
		ref := marker.Ref([]byte(want))
		if got, ok := store.Get("", ref); !ok || string(got) != want || !bytes.Contains(out, []byte(ref)) {
			t.Errorf("original %s: %v, %.40q", ref, ok, got)
		}
	}
}

func TestOriginals(t *testing.T) {
	log := routine(400)
	body := one(adapter.Messages, "claude-x", "Bash", `{"command":"tail app.log"}`, log)
	store := squoze.NewOriginals(1 << 20)
	e := squoze.New(squoze.Config{Originals: store})
	out, _ := e.ApplyFor("alice", adapter.Messages, body)
	ref := marker.Ref([]byte(log))
	if !bytes.Contains(out, []byte(" · ref "+ref+" ...]")) {
		t.Fatalf("no ref %s in %s", ref, out)
	}
	if got, ok := store.Get("alice", ref); !ok || string(got) != log {
		t.Errorf("the original is not what it was: %.60q", got)
	}
	if _, ok := store.Get("bob", ref); ok {
		t.Error("another tenant can read it")
	}
	// What was evicted is kept again when the request comes again, though the
	// engine knows the text.
	for i := range 200 {
		store.Keep("carol", fmt.Sprint("filler ", i), make([]byte, 100_000))
	}
	if _, ok := store.Get("alice", ref); ok {
		t.Fatal("not evicted")
	}
	again, _ := e.ApplyFor("alice", adapter.Messages, body)
	if _, ok := store.Get("alice", ref); !ok || !bytes.Equal(again, out) {
		t.Error("not kept again, or the body is another one")
	}
}

func TestOriginalNotKept(t *testing.T) {
	body := one(adapter.Messages, "claude-x", "Bash", `{"command":"tail app.log"}`, routine(400))
	for name, store := range map[string]*squoze.Originals{"no store": nil, "small store": squoze.NewOriginals(10_000)} {
		out, report := squoze.New(squoze.Config{Originals: store}).Explain(adapter.Messages, body)
		if !bytes.Contains(out, []byte("original not kept ...]")) || bytes.Contains(out, []byte("ref ")) || report.Texts[0].Ref != "" {
			t.Errorf("%s: %s", name, out)
		}
		if out, _ := squoze.New(squoze.Config{Originals: store, RequireOriginals: true}).Apply(adapter.Messages, body); !bytes.Equal(out, body) {
			t.Errorf("%s: changed though originals are required", name)
		}
	}
	// What loses nothing needs no original.
	e := squoze.New(squoze.Config{RequireOriginals: true})
	if out, _ := e.Apply(adapter.Chat, testbody.Large()); len(out) > testbody.LargeSize/2 {
		t.Error("no tables and pointers when originals are required")
	}
}

func TestOriginalsStore(t *testing.T) {
	s := squoze.NewOriginals(10_000)
	if s.Keeps(2_500) || !s.Keeps(2_000) || (*squoze.Originals)(nil).Keeps(1) {
		t.Error("what can be kept depends on the size alone")
	}
	for i := range 20 {
		if !s.Keep("t", fmt.Sprint(i), bytes.Repeat([]byte{byte(i)}, 1_000)) {
			t.Fatalf("%d is not kept", i)
		}
		s.Touch("t", "0") // always recent
	}
	entries, size := s.Usage()
	if size > 10_000 || entries != 7 {
		t.Errorf("%d entries, %d bytes", entries, size)
	}
	for i, want := range map[int]bool{0: true, 1: false, 12: false, 14: true, 19: true} {
		got, ok := s.Get("t", fmt.Sprint(i))
		if ok != want || ok && !bytes.Equal(got, bytes.Repeat([]byte{byte(i)}, 1_000)) {
			t.Errorf("%d: %v", i, ok)
		}
	}
	if s.Keep("t", "large", make([]byte, 5_000)) {
		t.Error("a large one is kept")
	}
}

func TestExplain(t *testing.T) {
	file := lines(60, "	{W}{i}: {d}, // the entry of {w}")
	var turns []string
	for i, x := range []struct{ tool, args, result string }{
		{"Read", `{"file_path":"a.go"}`, file}, {"Read", `{"file_path":"a.go"}`, file},
		{"Bash", `{"command":"tail app.log"}`, routine(400)}, {"query", `{}`, string(toolResult(t, testbody.Large()))},
	} {
		turns = append(turns, fuzzTurn(adapter.Messages, i, struct{ tool, args string }{x.tool, x.args}, x.result, false))
	}
	body := fuzzBody(adapter.Messages, turns)
	_, report := squoze.New(squoze.Config{Originals: squoze.NewOriginals(1 << 20)}).Explain(adapter.Messages, body)
	var got []string
	for _, x := range report.Texts {
		got = append(got, fmt.Sprint(x.Tool, " ", x.Class, " ", x.Steps, " ", x.Ref != ""))
		if (x.Before != x.After) != (len(x.Steps) > 0) {
			t.Errorf("%+v", x)
		}
	}
	want := []string{"Read source [] false", "Read source [reference] false", "Bash log [fold] true", "query json [table] false"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if report.Seen != 4 || report.Squeezed != 3 || report.Family != squoze.Other || report.Format != adapter.Messages || report.SavedTokens < 1000 {
		t.Errorf("%+v", report)
	}
}

// toolResult is the text of the first tool result of a chat body.
func toolResult(t testing.TB, body []byte) []byte {
	t.Helper()
	list, _ := texts(t.(*testing.T), adapter.Chat, body)
	return []byte(list[0][0])
}
