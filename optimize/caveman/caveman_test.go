package caveman_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/caveman"
)

// apply runs one level over a body; nil if it stays as it is.
func apply(t *testing.T, level string, f adapter.Format, body string) ([]byte, optimize.Result) {
	t.Helper()
	p, ok := caveman.New(level)
	if !ok {
		t.Fatalf("no level %q", level)
	}
	var req adapter.Request
	if err := req.Parse(f, []byte(body)); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	res := optimize.Run(&req, []optimize.Pass{p}, nil)
	if res.Panic != nil {
		t.Fatalf("fault: %v\n%s", res.Panic.Value, res.Panic.Stack)
	}
	return res.Body, res
}

func TestDirectivesFitTheirBudget(t *testing.T) {
	o200k, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	for level, most := range map[string]int{caveman.Lite: 90, caveman.Full: 200} {
		text := caveman.Directive(level)
		n, err := o200k.Count(text)
		if err != nil || n > most || n < most/4 {
			t.Errorf("%s takes %d tokens (%v), at most %d are allowed", level, n, err, most)
		}
		if quoted, _ := json.Marshal(text); string(quoted) != `"`+text+`"` {
			t.Errorf("%s holds characters that JSON escapes", level)
		}
	}
	if strings.Contains(caveman.Directive(caveman.Full), caveman.Directive(caveman.Lite)) {
		t.Error("full contains lite, so the two cannot be told apart")
	}
}

func TestWhereTheDirectiveGoes(t *testing.T) {
	lite := caveman.Directive(caveman.Lite)
	for _, c := range []struct {
		name   string
		format adapter.Format
		body   string
		want   string // LITE stands for the directive; "" for untouched
	}{
		{"chat, string system", adapter.Chat,
			`{"model":"m", "messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"hi"}]}`,
			`{"model":"m", "messages":[{"role":"system","content":"Be kind.\n\nLITE"},{"role":"user","content":"hi"}]}`},
		{"chat, developer with parts", adapter.Chat,
			`{"messages":[{"role":"developer","content":[{"type":"text","text":"A","x":1}]},{"role":"user","content":"hi"}]}`,
			`{"messages":[{"role":"developer","content":[{"type":"text","text":"A","x":1},{"type":"text","text":"LITE"}]},{"role":"user","content":"hi"}]}`},
		{"chat, no system", adapter.Chat,
			`{"messages":[{"role":"user","content":"hi"}]}`,
			`{"messages":[{"role":"system","content":"LITE"},{"role":"user","content":"hi"}]}`},
		{"chat, no messages", adapter.Chat, `{"messages":[]}`, ""},
		{"chat, schema", adapter.Chat,
			`{"messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{}}}`, ""},
		{"chat, json object", adapter.Chat,
			`{"messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_object"}}`, ""},
		{"chat, plain text format", adapter.Chat,
			`{"messages":[{"role":"user","content":"hi"}],"response_format":{"type":"text"}}`,
			`{"messages":[{"role":"system","content":"LITE"},{"role":"user","content":"hi"}],"response_format":{"type":"text"}}`},
		{"responses, instructions", adapter.Responses,
			`{"instructions":"Be kind.","input":[{"role":"user","content":"hi"}]}`,
			`{"instructions":"Be kind.\n\nLITE","input":[{"role":"user","content":"hi"}]}`},
		{"responses, plain input", adapter.Responses,
			`{"input":"hi"}`, `{"input":"hi","instructions":"LITE"}`},
		{"responses, null instructions", adapter.Responses,
			`{"instructions":null,"input":"hi"}`, `{"instructions":"LITE","input":"hi"}`},
		{"responses, no input", adapter.Responses, `{"model":"m","conversation":"conv_1"}`, ""},
		{"responses, stored prompt", adapter.Responses, `{"prompt":{"id":"pmpt_1"},"input":"hi"}`, ""},
		{"responses, schema", adapter.Responses,
			`{"input":"hi","text":{"format":{"type":"json_schema","name":"n","schema":{}}}}`, ""},
		{"messages, string system", adapter.Messages,
			`{"system":"Be kind.","messages":[{"role":"user","content":"hi"}]}`,
			`{"system":"Be kind.\n\nLITE","messages":[{"role":"user","content":"hi"}]}`},
		{"messages, marked blocks", adapter.Messages,
			`{"system":[{"type":"text","text":"A","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"hi"}]}`,
			`{"system":[{"type":"text","text":"A","cache_control":{"type":"ephemeral"}},{"type":"text","text":"LITE"}],"messages":[{"role":"user","content":"hi"}]}`},
		{"messages, no system", adapter.Messages,
			`{"messages":[{"role":"user","content":"hi"}]}`,
			`{"messages":[{"role":"user","content":"hi"}],"system":"LITE"}`},
		{"messages, no messages", adapter.Messages, `{"system":"Be kind.","messages":[]}`, ""},
		{"completions", adapter.Completions, `{"model":"m","prompt":"Once upon"}`, ""},
		{"embeddings", adapter.Embeddings, `{"model":"m","input":"Once upon"}`, ""},
	} {
		got, res := apply(t, caveman.Lite, c.format, c.body)
		want := strings.ReplaceAll(c.want, "LITE", lite)
		if string(got) != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, want)
		}
		if c.want == "" {
			if len(res.Passes) != 0 {
				t.Errorf("%s: reports %+v", c.name, res.Passes)
			}
			continue
		}
		if grown := len(got) - len(c.body); len(res.Passes) != 1 || res.SavedBytes != -grown || res.SavedTokens >= 0 || res.Passes[0].Level != caveman.Lite {
			t.Errorf("%s: the body grew by %d bytes, the report is %+v", c.name, grown, res)
		}
		// Neither the same nor another level adds a second one.
		for _, level := range []string{caveman.Lite, caveman.Full, caveman.Auto} {
			if again, _ := apply(t, level, c.format, string(got)); again != nil {
				t.Errorf("%s: %s changes it again: %s", c.name, level, again)
			}
		}
	}
}

// TestOnlyTheSystemPromptIsBelieved: a user or a tool that quotes the directive
// does not keep it away.
func TestOnlyTheSystemPromptIsBelieved(t *testing.T) {
	body := `{"messages":[{"role":"user","content":"What does this mean? ` + caveman.Directive(caveman.Full) + `"}]}`
	got, _ := apply(t, caveman.Full, adapter.Chat, body)
	if n := strings.Count(string(got), caveman.Directive(caveman.Full)); n != 2 {
		t.Errorf("the directive stands %d times", n)
	}
}

func TestAutoGoesByTheToolsDeclared(t *testing.T) {
	for _, c := range []struct{ tools, level string }{
		{`"tools":[{"type":"function","function":{"name":"f"}}],`, caveman.Full},
		{`"tools":[],`, caveman.Lite},
		{`"tools":null,`, caveman.Lite},
		{``, caveman.Lite},
	} {
		// The level stays what it is while the conversation grows.
		messages := `{"role":"system","content":"Be kind."},{"role":"user","content":"hi"}`
		for _, more := range []string{``,
			`,{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"done"}`,
			`,{"role":"assistant","content":"ok"},{"role":"user","content":"more"}`} {
			messages += more
			got, res := apply(t, caveman.Auto, adapter.Chat, `{`+c.tools+`"messages":[`+messages+`]}`)
			if !strings.Contains(string(got), `Be kind.\n\n`+caveman.Directive(c.level)+`"}`) || res.Passes[0].Level != c.level {
				t.Errorf("tools %q: not %s: %s", c.tools, c.level, got)
			}
		}
	}
}

func TestUnknownLevel(t *testing.T) {
	for _, level := range []string{"", "off", "ultra"} {
		if _, ok := caveman.New(level); ok {
			t.Errorf("level %q exists", level)
		}
	}
}
