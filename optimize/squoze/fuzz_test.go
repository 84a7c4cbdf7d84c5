package squoze_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/squoze"
)

// FuzzEngine makes a conversation of pieces of text that come again and again,
// under calls of several kinds, and checks the promises turn by turn. Each byte
// of plan chooses what stands next.
func FuzzEngine(f *testing.F) {
	seeds := []string{
		lines(12, "func {w}() { return {i} }") + "\x00" + lines(9, "ok  \tpkg/{w}\t0.{i}s") + "\x00--- FAIL: TestX (0.0s)\n    x_test.go:3: want 1, got 2\n",
		lines(30, "2031-04-02 INFO counted {i}") + "\x00ERROR disk full\n\x00" + lines(9, "{w} {i} [... squoze: 3 lines elided, x · ref kkkkkkkkkkkk ...]"),
		`[{"a":1,"bbbbbbbbbbbbbbb":"xxxxxxxxxxxxxxxxxx"},{"a":2,"bbbbbbbbbbbbbbb":"xxxxxxxxxxxxxxxxxx"},{"a":3,"bbbbbbbbbbbbbbb":"xxxxxxxxxxxxxxxxxx"}]` + "\x00\x1b[31mred\x1b[0m\r10%\r20%\n\x00\n\n\n\n\n\n\n\n\n\n",
		lines(25, "FAILED tests/{w}.py::test_{i} - assert {d} == 3") + "\x00pattern: «1» x\na\nb\n\x00" + lines(10, "same line, different number {i} and a tail that goes on"),
	}
	for i, s := range seeds {
		f.Add([]byte(s), []byte("\x00\x11\x22\x01\x10\x42\x80\x00\x11\x22\x91"), byte(i))
	}
	f.Fuzz(func(t *testing.T, text, plan []byte, setting byte) {
		pieces := strings.Split(strings.ToValidUTF8(string(text), "?"), "\x00")
		if len(pieces) > 8 || len(plan) > 24 || len(text) > 4<<10 {
			return
		}
		format := allFormats[int(setting)%len(allFormats)]
		config := func() squoze.Config {
			var gates [squoze.Families]int
			gates[squoze.Other] = 256
			return squoze.Config{Gates: gates, References: squoze.References(setting >> 2 % 3), Originals: squoze.NewOriginals(int64(setting>>4) << 12), RequireOriginals: setting>>3&1 == 1}
		}
		e := squoze.New(config())
		var turns []string
		var before [][]byte
		for n, choice := range plan {
			// A result is one to four pieces, repeated up to three times.
			var result strings.Builder
			for k := range int(choice&3) + 1 {
				for range int(choice>>2&3) + 1 {
					result.WriteString(pieces[(int(choice>>4)+k)%len(pieces)])
				}
			}
			turns = append(turns, fuzzTurn(format, n, fuzzCalls[int(choice>>4)%len(fuzzCalls)], result.String(), choice == 0x80))
			body := fuzzBody(format, turns)
			out, report := e.Explain(format, body)
			if len(out) > len(body) || !json.Valid(out) {
				t.Fatalf("%d bytes became %d: %s", len(body), len(out), out)
			}
			if fresh, _ := squoze.New(config()).Apply(format, body); !bytes.Equal(fresh, out) {
				t.Fatalf("another engine:\n%s\n%s", out, fresh)
			}
			if again, _ := e.Apply(format, out); !bytes.Equal(again, out) {
				t.Fatalf("again:\n%s\n%s", out, again)
			}
			now := elements(t, format, out)
			for i := range before {
				if !bytes.Equal(before[i], now[i]) {
					t.Fatalf("message %d changed from %s to %s", i, before[i], now[i])
				}
			}
			before = now
			checkUntouched(t, "fuzz", format, body, out)
			checkTexts(t, "fuzz", format, body, out, report)
		}
	})
}

var fuzzCalls = []struct{ tool, args string }{
	{"shell", `{"command":"./run.sh"}`}, {"Read", `{"file_path":"a.go"}`}, {"Bash", `{"command":"go test ./..."}`}, {"query", `{}`},
	{"Bash", `{"command":"tail -n 900 app.log"}`}, {"Bash", `{"command":"git diff"}`},
}

func fuzzTurn(f adapter.Format, n int, call struct{ tool, args string }, result string, failed bool) string {
	q := func(s string) string { return string(jsonspan.AppendQuoted(nil, []byte(s))) }
	switch f {
	case adapter.Messages:
		flag := ""
		if failed {
			flag = `"is_error":true,`
		}
		return fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":%s,"input":%s}]},{"role":"user","content":[{"type":"tool_result",%s"tool_use_id":"c%[1]d","content":%[5]s}]}`, n, q(call.tool), call.args, flag, q(result))
	case adapter.Responses:
		return fmt.Sprintf(`{"type":"function_call","call_id":"c%d","name":%s,"arguments":%s},{"type":"function_call_output","call_id":"c%[1]d","output":%[4]s}`, n, q(call.tool), q(call.args), q(result))
	}
	return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":%s,"arguments":%s}}]},{"role":"tool","tool_call_id":"c%[1]d","content":[{"type":"text","text":%[4]s}]}`, n, q(call.tool), q(call.args), q(result))
}

func fuzzBody(f adapter.Format, turns []string) []byte {
	list := "messages"
	if f == adapter.Responses {
		list = "input"
	}
	return []byte(`{"model":"m","` + list + `":[{"role":"user","content":"Look."},` + strings.Join(turns, ",") + `]}`)
}
