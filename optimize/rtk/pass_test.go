package rtk

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

var goTestRun = filler("ok  \texample.test/shop/early%d\t0.01s", 200) + "--- FAIL: TestLedgerClose (0.01s)\n    ledger_test.go:88: got 4107, want 4170\n" + filler("ok  \texample.test/shop/late%d\t0.01s", 200)

// fill puts a text as JSON string in place of OUT.
func fill(template, text string) []byte {
	return bytes.Replace([]byte(template), []byte(`"OUT"`), jsonspan.AppendQuoted(nil, []byte(text)), 1)
}

// The same tool result becomes the same text in every wire format.
func TestFormats(t *testing.T) {
	p, err := New("standard", nil)
	if err != nil {
		t.Fatal(err)
	}
	hint := output.HintOf((&adapter.Request{}).Args(-1))
	if hint != (output.Hint{}) {
		t.Errorf("without a call there is a hint: %+v", hint)
	}
	want, r := run(t, Standard, "go test ./...", goTestRun)
	if !r.Changed {
		t.Fatal("nothing to do")
	}
	for path, templates := range map[string][]string{
		"/v1/chat/completions": {
			`{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"go test ./...\"}"}}]},{"role":"tool","tool_call_id":"c","content":"OUT"}]}`,
			`{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"exec","arguments":"{\"cmd\":[\"bash\",\"-lc\",\"go test ./...\"]}"}}]},{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"OUT"}]}]}`,
			`{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"exec","arguments":"{\"command\":\"go\",\"args\":[\"test\",\"./...\"]}"}}]},{"role":"tool","tool_call_id":"c","content":"OUT"}]}`,
		},
		"/v1/responses": {
			`{"input":[{"type":"function_call","call_id":"c","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"cd x && go test ./... 2>&1\"]}"},{"type":"function_call_output","call_id":"c","output":"OUT"}]}`,
		},
		"/v1/messages": {
			`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"go test ./..."}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"OUT"}]}]}`,
			`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"go test ./..."}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","cache_control":{"type":"ephemeral"},"content":[{"type":"text","text":"OUT"}]}]}]}`,
		},
	} {
		for _, template := range templates {
			out := through(t, path, fill(template, goTestRun), p)
			if wanted := fill(template, want); !bytes.Equal(out, wanted) {
				t.Errorf("%s, %s:\ngot  %.300s\nwant %.300s", path, template, out, wanted)
			}
		}
	}
}

// What is not a tool result, is an error, or says so, is left alone.
func TestLeftAlone(t *testing.T) {
	p, _ := New("aggressive", NewMemo(1<<20))
	for path, templates := range map[string][]string{
		"/v1/chat/completions": {
			`{"messages":[{"role":"user","content":"OUT"}]}`, `{"messages":[{"role":"system","content":"OUT"}]}`, `{"messages":[{"role":"assistant","content":"OUT"}]}`,
			`{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"Read","arguments":"{\"file_path\":\"a.go\"}"}}]},{"role":"tool","tool_call_id":"c","content":"OUT"}]}`,
		},
		"/v1/messages": {
			`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"go test ./..."}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"OUT"}]}]}`,
			`{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"OUT","signature":"x"}]}]}`,
			`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"OUT"}}]}]}`,
		},
		"/v1/embeddings": {`{"input":"OUT"}`},
	} {
		for _, template := range templates {
			body := fill(template, goTestRun)
			if out := through(t, path, body, p); !bytes.Equal(out, body) {
				t.Errorf("%s, %s: changed", path, template)
			}
		}
	}
}

// The report says what was done, and the memo does not change that.
func TestOutcome(t *testing.T) {
	body := fill(`{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"go test ./...\"}"}}]},{"role":"tool","tool_call_id":"c","content":"OUT"}]}`, goTestRun)
	p, _ := New("auto", NewMemo(1<<20))
	var first optimize.Result
	for i := range 3 {
		var req adapter.Request
		if err := req.Parse(adapter.Chat, body); err != nil {
			t.Fatal(err)
		}
		res := optimize.Run(&req, []optimize.Pass{p}, nil)
		if i == 0 {
			first = res
		}
		if len(res.Passes) != 1 || res.Passes[0].Name != "rtk" || res.Passes[0].Level != "standard" || res.Passes[0].Changed != 1 ||
			res.SavedBytes != len(body)-len(res.Body) || res.SavedTokens < res.SavedBytes/8 || res.SavedTokens != first.SavedTokens {
			t.Errorf("%d: %+v", i, res.Passes)
		}
	}
	if n := p.memo.changes.Len(); n != 1 {
		t.Errorf("the memo holds %d changes", n)
	}
	if _, err := New("most", nil); err == nil || !strings.Contains(err.Error(), "aggressive") {
		t.Errorf("%v", err)
	}
}

// The same text from another call, or at another level, is another matter.
func TestMemoTellsApart(t *testing.T) {
	m := NewMemo(1 << 20)
	template := `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"COMMAND\"}"}}]},{"role":"tool","tool_call_id":"c","content":"OUT"}]}`
	for range 2 {
		for _, level := range []string{"light", "standard", "aggressive", "auto"} {
			for _, command := range []string{"go test ./...", "cat a.go", "ls", "./frob"} {
				body := fill(strings.Replace(template, "COMMAND", command, 1), goTestRun)
				with, _ := New(level, m)
				without, _ := New(level, nil)
				if !bytes.Equal(through(t, "/v1/chat/completions", body, with), through(t, "/v1/chat/completions", body, without)) {
					t.Errorf("%s, %s: the memo mixes up", level, command)
				}
			}
		}
	}
}

func TestConcurrent(t *testing.T) {
	list, err := cases.Load("../../testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := New("standard", NewMemo(64<<10)) // small, so that entries leave
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, c := range list {
				if c.Area != "optimize" {
					continue
				}
				alone, _ := New("standard", nil)
				for _, body := range c.Bodies() {
					if a, b := through(t, c.Path, body, p), through(t, c.Path, body, alone); !bytes.Equal(a, b) {
						t.Errorf("%s: differs", c.Name)
					}
				}
			}
		})
	}
	wg.Wait()
}
