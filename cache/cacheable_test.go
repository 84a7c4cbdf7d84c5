package cache

import (
	"strings"
	"testing"
)

func TestCacheable(t *testing.T) {
	const chat, responses, messages, completions, embeddings = "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/completions", "/v1/embeddings"
	zero := Policy{DeterministicOnly: true}
	for _, tc := range []struct {
		path, fields string // added to a plain request
		policy       Policy
		want         Reason
	}{
		{chat, ``, Policy{}, None},
		{chat, `"store":true`, Policy{}, Stores},
		{chat, `"store":false`, Policy{}, None},
		{chat, `"store":null`, Policy{}, None},
		{chat, `"sto\u0072e":true`, Policy{}, Stores},
		{chat, `"store":"yes"`, Policy{}, Stores},
		{chat, `"web_search_options":{}`, Policy{}, ServerTools},
		{chat, `"search_parameters":{"mode":"auto"}`, Policy{}, ServerTools},
		{chat, `"plugins":[{"id":"web"}]`, Policy{}, ServerTools},
		{chat, `"audio":{"voice":"a","format":"wav"}`, Policy{}, Stateful},
		{chat, `"tools":[{"type":"function","function":{"name":"f"}}]`, Policy{}, None},
		{chat, `"tools":[{"type":"custom","custom":{"name":"f"}}]`, Policy{}, None},
		{chat, `"tools":[{"type":"function","function":{"name":"f"}},{"type":"web_search"}]`, Policy{}, ServerTools},
		{chat, `"tools":[{"function":{"name":"f"}}]`, Policy{}, ServerTools},
		{chat, `"tools":[]`, Policy{}, None},
		{chat, `"tools":null`, Policy{}, None},
		{chat, `"temperature":1`, Policy{}, None},

		{chat, ``, zero, NotDeterministic},
		{chat, `"temperature":0`, zero, None},
		{chat, `"temperature":-0.0e5`, zero, None},
		{chat, `"temperature":0.01`, zero, NotDeterministic},
		{chat, `"temperature":1e-9`, zero, NotDeterministic},
		{chat, `"temperature":"0"`, zero, NotDeterministic},
		{chat, `"temperature":null`, zero, NotDeterministic},
		{embeddings, ``, zero, None},

		{responses, ``, Policy{}, None},
		{responses, ``, Policy{Scope: Shared}, Stores},
		{responses, ``, Policy{Scope: PerSite}, Stores},
		{responses, `"store":null`, Policy{Scope: PerSite}, Stores},
		{responses, `"store":false`, Policy{Scope: Shared}, None},
		{responses, `"store":true`, Policy{}, Stores},
		{responses, `"previous_response_id":"resp_1"`, Policy{}, Stateful},
		{responses, `"previous_response_id":null`, Policy{}, None},
		{responses, `"conversation":"conv_1"`, Policy{}, Stateful},
		{responses, `"conversation":{"id":"conv_1"}`, Policy{}, Stateful},
		{responses, `"prompt":{"id":"pmpt_1"}`, Policy{}, Stateful},
		{responses, `"background":true`, Policy{}, Background},
		{responses, `"background":false`, Policy{}, None},
		{responses, `"tools":[{"type":"function","name":"f"},{"type":"local_shell"}]`, Policy{}, None},
		{responses, `"tools":[{"type":"web_search_preview"}]`, Policy{}, ServerTools},
		{responses, `"tools":[{"type":"mcp","server_label":"x"}]`, Policy{}, ServerTools},
		{responses, `"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]`, Policy{}, ServerTools},
		{responses, `"tools":[{"type":"something_new"}]`, Policy{}, ServerTools},

		{messages, `"tools":[{"name":"f","input_schema":{"type":"object"}}]`, Policy{}, None},
		{messages, `"tools":[{"type":"custom","name":"f"},{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728","name":"e"}]`, Policy{}, None},
		{messages, `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, Policy{}, ServerTools},
		{messages, `"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`, Policy{}, ServerTools},
		{messages, `"mcp_servers":[{"type":"url","url":"https://x"}]`, Policy{}, ServerTools},
		{messages, `"container":"c_1"`, Policy{}, Stateful},
		{messages, `"metadata":{"user_id":"u"}`, Policy{}, None},

		{completions, ``, Policy{}, None},
	} {
		base := map[string]string{
			chat:        `{"model":"m","messages":[{"role":"user","content":"q"}]}`,
			responses:   `{"model":"m","input":"q"}`,
			messages:    `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"q"}]}`,
			completions: `{"model":"m","prompt":"q"}`,
			embeddings:  `{"model":"m","input":"q"}`,
		}[tc.path]
		if tc.fields != "" {
			base = strings.Replace(base, "{", "{"+tc.fields+",", 1)
		}
		if got := cacheable(viewOf(t, tc.path, base), &tc.policy); got != tc.want {
			t.Errorf("%s %s: %v, expected %v", tc.path, base, got, tc.want)
		}
	}
	item := `{"model":"m","input":[{"type":"item_reference","id":"msg_1"},{"role":"user","content":"q"}]}`
	if got := cacheable(viewOf(t, responses, item), &Policy{}); got != Stateful {
		t.Errorf("item reference: %v", got)
	}
	if got := cacheable(viewOf(t, embeddings, `{"model":"m","input":[1,2]}`), &Policy{}); got != None {
		t.Errorf("token input: %v", got)
	}
}

// A body with a key that stands twice is never looked up: who knows which of
// the two the provider takes.
func TestDuplicateKeysBypass(t *testing.T) {
	s := newSite(t, Policy{Mode: Exact}, Options{})
	s.provider = jsonAnswer(chatAnswer)
	for range 2 {
		got := s.ask("/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"q"}],"seed":1,"seed":2}`)
		if got.outcome != Bypass || got.reason != DuplicateKeys {
			t.Errorf("%v %v", got.outcome, got.reason)
		}
	}
	if n := s.cache.Stats().Bypasses["duplicate-keys"]; n != 2 {
		t.Errorf("counted %d times", n)
	}
}

func TestPolicyResolve(t *testing.T) {
	p, err := Policy{Mode: Similar}.Resolve()
	if err != nil || p.Threshold != DefaultThreshold || p.TTL != DefaultTTL || p.MaxEntry != DefaultMaxEntry {
		t.Errorf("%+v, %v", p, err)
	}
	for want, p := range map[string]Policy{
		"threshold":                      {Threshold: 0.4},
		"threshold: expected 0.5 to 1":   {Threshold: 1.1},
		"ttl":                            {TTL: 1},
		"max_entry":                      {MaxEntry: -1},
		"messages says what is asked":    {IgnoreFields: []string{"user", "messages"}},
		"a plain field name expected":    {IgnoreFields: []string{"a\"b"}},
		`"": a plain field name expecte`: {IgnoreFields: []string{""}},
	} {
		if _, err := p.Resolve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, expected %q", p, err, want)
		}
	}
	for i, name := range modeNames {
		if m, err := ParseMode(name); err != nil || m != Mode(i) || m.String() != name {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	for i, name := range scopeNames {
		if s, err := ParseScope(name); err != nil || s != Scope(i) || s.String() != name {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	if _, err := ParseMode("fuzzy"); err == nil || !strings.Contains(err.Error(), "off, exact, similar") {
		t.Errorf("%v", err)
	}
	for i, name := range reasonNames {
		if name == "" {
			t.Errorf("reason %d has no name", i)
		}
	}
}
