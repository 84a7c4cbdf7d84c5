package squoze

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// TestCarriageReturnsOnly keeps failures apart whose lines end with nothing but
// a carriage return.
func TestCarriageReturnsOnly(t *testing.T) {
	var lines []string
	for i := range 600 {
		lines = append(lines, fmt.Sprintf("ok  \tex.com/p%d\t0.012s", i))
	}
	lines = append(lines, "--- FAIL: TestZ (0.0s)", "    z_test.go:3: got 4 want 5", "FAIL")
	for i := range 600 {
		lines = append(lines, fmt.Sprintf("ok  \tex.com/q%d\t0.012s", i))
	}
	output, err := json.Marshal(strings.Join(lines, "\r"))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"model":"gpt-5-mini","messages":[{"role":"user","content":"run"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"shell","arguments":"{\"command\":\"go test ./...\"}"}}]},{"role":"tool","tool_call_id":"c","content":` + string(output) + `}]}`
	out, _ := New(Config{}).Apply(adapter.Chat, []byte(body))
	for _, want := range []string{`\r--- FAIL: TestZ (0.0s)\r`, `\r    z_test.go:3: got 4 want 5\r`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("lost: %s", want)
		}
	}
}
