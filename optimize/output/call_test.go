package output

import (
	"strconv"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// Arguments that name nothing leave the hint to the tool's name.
func TestNameNothing(t *testing.T) {
	for args, want := range map[string]bool{
		`{}`:                                true,
		`{"step":3,"scope":"all"}`:          true,
		`{"page":1}`:                        true,
		`{"command":"go test ./..."}`:       false,
		`{"cmd":["go","test"]}`:             false,
		`{"CommandLine":"ls"}`:              false,
		`{"shell_command":"ls"}`:            false,
		`{"argv":["ls"]}`:                   false,
		`{"input":"ls"}`:                    false,
		`{"file_path":"app.log"}`:           false,
		`{"absolute_path":"/var/log/x"}`:    false,
		`{"filePath":"a.go"}`:               false,
		`{"uri":"https://x.test/a.log"}`:    false,
		`{"c\u006fmmand":"go test ./..."}`:  false, // written in an unusual way
		`{"note":"the command of the day"}`: false,
	} {
		for _, tool := range []string{"Bash", "Read", "run_tests", "list_orders", "grep"} {
			body := []byte(`{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"` + tool + `","arguments":` + strconv.Quote(args) + `}}]},{"role":"tool","tool_call_id":"a","content":"x"}]}`)
			var req adapter.Request
			if err := req.Parse(adapter.Chat, body); err != nil {
				t.Fatal(err)
			}
			got := NameNothing(req.Doc.Raw(req.Calls[0].Arguments))
			if got != want {
				t.Errorf("%s: %v", args, got)
			}
			if hint := HintOf(req.Args(0)); got && hint != HintFor(tool, "", "") {
				t.Errorf("%s %s: %v", tool, args, hint)
			}
		}
	}
	if NameNothing(make([]byte, maxPlain+1)) {
		t.Error("long arguments were read")
	}
	// Every key counts, also one that holds another.
	for _, key := range append(append([]string(nil), commandKeys[:]...), pathKeys[:]...) {
		if NameNothing([]byte(`{"` + key + `":1}`)) {
			t.Errorf("%s is nothing", key)
		}
	}
}
