package llmgateway

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// toolBody is a chat request with a long test run in it.
func toolBody() []byte {
	var lines []string
	for range 900 {
		lines = append(lines, "ok  \texample.test/shop/pkg\t0.012s")
	}
	lines = append(lines, "--- FAIL: TestLedgerClose (0.01s)", "    ledger_test.go:88: got 4107, want 4170", "FAIL")
	output, _ := json.Marshal(strings.Join(lines, "\n"))
	return []byte(`{"model":"gpt-5-mini","messages":[{"role":"user","content":"run"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"shell","arguments":"{\"command\":\"go test ./...\"}"}}]},{"role":"tool","tool_call_id":"c","content":` + string(output) + `}]}`)
}

func TestOptimizeCommand(t *testing.T) {
	for _, mode := range []string{"squoze", "rtk=standard", "rtk=light, caveman=lite", "headroom=aggressive;keep=1;reserve=100"} {
		t.Run(mode, func(t *testing.T) {
			var out bytes.Buffer
			o := optimizeCommand{mode: mode, diff: true}
			if err := o.run(&out, toolBody()); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			if strings.Contains(mode, "headroom") {
				return
			}
			for _, want := range []string{"chat, " + mode, "tool result", "shell", "- ok  \texample.test/shop/pkg\t0.012s", "more lines went", "+ [..."} {
				if !strings.Contains(text, want) {
					t.Errorf("missing %q in:\n%s", want, text)
				}
			}
			if strings.Contains(text, "- --- FAIL") {
				t.Errorf("a failure went:\n%s", text)
			}
		})
	}
	var out bytes.Buffer
	o := optimizeCommand{mode: "squoze", json: true}
	if err := o.run(&out, toolBody()); err != nil {
		t.Fatal(err)
	}
	var report optimizeReport
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if report.BytesAfter >= report.BytesBefore/4 || len(report.Blocks) != 1 || report.Blocks[0].Tool != "shell" || report.Blocks[0].Class == "" || len(report.StepsSavings) == 0 {
		t.Errorf("%+v", report)
	}
	file := filepath.Join(t.TempDir(), "out.json")
	o = optimizeCommand{mode: "squoze", output: file}
	if err := o.run(&out, toolBody()); err != nil {
		t.Fatal(err)
	}
	if written, err := os.ReadFile(file); err != nil || len(written) != report.BytesAfter || !json.Valid(written) {
		t.Errorf("%d bytes, %v", len(written), err)
	}
	for name, tc := range map[string]struct {
		o    optimizeCommand
		body string
		want string
	}{
		"not JSON":       {optimizeCommand{mode: "squoze"}, "{", "not valid JSON"},
		"no messages":    {optimizeCommand{mode: "squoze"}, "{}", "no conversation"},
		"bad mode":       {optimizeCommand{mode: "zip"}, "{}", "unknown optimizer"},
		"bad format":     {optimizeCommand{mode: "squoze", format: "soap"}, "{}", "expected chat, responses or messages"},
		"wrong format":   {optimizeCommand{mode: "squoze", format: "responses"}, string(toolBody()), "does not have the shape"},
		"squoze and rtk": {optimizeCommand{mode: "squoze, rtk=light"}, "{}", "cannot be combined"},
	} {
		if err := tc.o.run(&out, []byte(tc.body)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

func TestKeyCommand(t *testing.T) {
	var out bytes.Buffer
	if err := runKey(&out, []string{"new", "alice"}, true); err != nil {
		t.Fatal(err)
	}
	var key struct{ Name, Secret, Caddyfile string }
	if err := json.Unmarshal(out.Bytes(), &key); err != nil {
		t.Fatal(err)
	}
	if key.Name != "alice" || !strings.HasPrefix(key.Secret, "sk-gw-") || !strings.HasPrefix(key.Caddyfile, "key alice sha256:") || strings.Contains(key.Caddyfile, key.Secret) {
		t.Errorf("%+v", key)
	}
	for _, args := range [][]string{{"old", "x"}, {"new", "two words"}, {"new", "br{ace"}} {
		if err := runKey(&out, args, false); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
