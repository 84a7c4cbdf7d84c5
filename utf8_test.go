package llmgateway_test

import (
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
)

// A body with bytes that are no text goes upstream as it came, and the client
// is told why.
func TestInvalidUTF8GoesUpstreamAsItCame(t *testing.T) {
	rec := record(t, nil)
	base := serve(t, "llm_gateway {\noptimize rtk aggressive\noptimize caveman full\n}\nreverse_proxy "+rec.URL)
	lines := strings.Repeat(`ok  \texample.test/shop\t0.01s\n`, 900)
	for _, c := range []struct {
		name, bad string
		left      bool
	}{
		{"valid", "é", false}, {"lone byte", "\xff", true}, {"cut off", "\xe2\x82", true}, {"surrogate", "\xed\xa0\x80", true}, {"too long", "\xc0\xaf", true},
	} {
		body := `{"model":"m","messages":[{"role":"user","content":"run ` + c.bad + `"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"go test ./...\"}"}}]},{"role":"tool","tool_call_id":"c","content":"` + lines + `"}]}`
		res, _ := post(t, base+"/v1/chat/completions", body)
		got := rec.take()
		if len(got) != 1 {
			t.Fatalf("%s: the upstream received %d requests", c.name, len(got))
		}
		if same := string(got[0].body) == body; same != c.left {
			t.Errorf("%s: went upstream as it came: %v, want %v", c.name, same, c.left)
		}
		skipped, applied := res.Header.Get("X-Gateway-Skipped"), res.Header.Get("X-Gateway-Applied")
		if c.left != (skipped == optimize.SkippedUTF8) || c.left != (applied == "") {
			t.Errorf("%s: skipped %q, applied %q", c.name, skipped, applied)
		}
	}
}
