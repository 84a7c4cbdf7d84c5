package engine

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

func TestAll(t *testing.T) {
	var out strings.Builder
	for i := range 900 {
		if i == 400 {
			out.WriteString(`--- FAIL: TestX (0.00s)\n    x_test.go:9: got 1, want 2\n`)
		}
		fmt.Fprintf(&out, `ok  \texample.test/pkg%d\t0.%ds\n`, i, i)
	}
	body := []byte(`{"model":"gpt-5","messages":[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{\"command\":\"go test ./...\"}"}}]},{"role":"tool","tool_call_id":"a","content":"` + out.String() + `"}]}`)
	names := map[string]bool{}
	for _, e := range All {
		if names[e.Name] {
			t.Errorf("%s: twice", e.Name)
		}
		names[e.Name] = true
		if got, ok := Named(e.Name); !ok || got.Name != e.Name {
			t.Errorf("%s: not found by its name", e.Name)
		}
		apply := e.New()
		got, err := apply(adapter.Chat, body)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		got = bytes.Clone(got)
		if shrinks := !strings.HasPrefix(e.Name, "headroom"); shrinks != (len(got) < len(body)/2) || !bytes.Contains(got, []byte("got 1, want 2")) {
			t.Errorf("%s: %d bytes became %d", e.Name, len(body), len(got))
		}
		// What is not JSON is an error or stays as it is.
		if got, err := apply(adapter.Chat, []byte("{")); err == nil && string(got) != "{" {
			t.Errorf("%s: made %q of a broken body", e.Name, got)
		}
	}
	if _, ok := Named("nonsense"); ok {
		t.Error("an engine of any name")
	}
}
