package adapter

import (
	"reflect"
	"testing"
)

func TestCallArgs(t *testing.T) {
	type want struct {
		tool    string
		command string // of command or cmd, "-" for none
		list    []string
		text    string
	}
	cases := []struct {
		name   string
		format Format
		body   string
		want   want
	}{
		{"chat", Chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"Bash","arguments":"{\"command\":\"go test .\\/...\",\"timeout\":5}"}}]}]}`,
			want{"Bash", "go test ./...", nil, `{"command":"go test .\/...","timeout":5}`}},
		{"second key", Chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"sh","arguments":"{\"cmd\":\"ls\"}"}}]}]}`,
			want{"sh", "ls", nil, `{"cmd":"ls"}`}},
		{"the same key twice", Chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"sh","arguments":"{\"command\":\"ls\",\"command\":\"rm\"}"}}]}]}`,
			want{"sh", "-", nil, `{"command":"ls","command":"rm"}`}},
		{"no JSON", Chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"sh","arguments":"{\"command\":\"ls"}}]}]}`,
			want{"sh", "-", nil, `{"command":"ls`}},
		{"no object", Chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"sh","arguments":"[\"command\"]"}}]}]}`,
			want{"sh", "-", nil, `["command"]`}},
		{"empty", Chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"sh","arguments":""}}]}]}`,
			want{"sh", "-", nil, ""}},
		{"null", Chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"sh","arguments":null}}]}]}`,
			want{"sh", "-", nil, ""}},
		{"an object where a string belongs", Chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"sh","arguments":{"command":"ls"}}}]}]}`,
			want{"sh", "ls", nil, `{"command":"ls"}`}},
		{"no function", Chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"a"}]}]}`,
			want{"", "-", nil, ""}},
		{"messages", Messages, `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"B\u0061sh","input":{"command": "l\u0073"}}]}]}`,
			want{"Bash", "ls", nil, `{"command": "l\u0073"}`}},
		{"codex", Responses, `{"input":[{"type":"function_call","call_id":"a","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"go \\\"x\\\"\"]}"}]}`,
			want{"shell", "-", []string{"bash", "-lc", `go "x"`}, `{"command":["bash","-lc","go \"x\""]}`}},
		{"mixed array", Responses, `{"input":[{"type":"function_call","call_id":"a","name":"shell","arguments":"{\"command\":[\"bash\",7]}"}]}`,
			want{"shell", "-", nil, `{"command":["bash",7]}`}},
		{"local shell", Responses, `{"input":[{"type":"local_shell_call","call_id":"a","action":{"command":["ls"]}}]}`,
			want{"local_shell", "-", []string{"ls"}, `{"command":["ls"]}`}},
		{"custom", Responses, `{"input":[{"type":"custom_tool_call","call_id":"a","name":"apply_patch","input":"*** Begin\n"}]}`,
			want{"apply_patch", "-", nil, "*** Begin\n"}},
	}
	var r Request // one for all: nothing of the last body may show
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := r.Parse(c.format, []byte(c.body)); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time from what is kept
				a := r.Args(0)
				command, ok := a.String("command", "cmd")
				if !ok {
					command = "-"
				}
				list, _ := a.Strings("command")
				if got := (want{a.Tool(), command, list, string(a.Text())}); !reflect.DeepEqual(got, c.want) {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
			}
		})
	}
	for _, call := range []int{-1, 1, 100} {
		a := r.Args(call)
		_, s := a.String("command")
		_, l := a.Strings("command")
		if a.Tool() != "" || s || l || a.Text() != nil {
			t.Errorf("call %d has arguments", call)
		}
	}
}

// Texts stay as they are while those of other calls are decoded.
func TestCallArgsMany(t *testing.T) {
	body := []byte(`{"input":[`)
	const n = 300
	for i := range n {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"type":"function_call","call_id":"`...)
		body = append(body, byte('a'+i%26), byte('a'+i/26), '"')
		body = append(body, `,"name":"f","arguments":"{\"k\":\"`...)
		for range i {
			body = append(body, byte('a'+i%26))
		}
		body = append(body, `\"}"}`...)
	}
	body = append(body, `]}`...)
	var r Request
	if err := r.Parse(Responses, body); err != nil {
		t.Fatal(err)
	}
	texts := make([][]byte, n)
	for i := range n {
		texts[i] = r.Args(i).Text()
	}
	for i := range n {
		v, ok := r.Args(i).String("k")
		if !ok || len(v) != i || len(texts[i]) != i+8 || i > 0 && (v[0] != byte('a'+i%26) || texts[i][6] != v[0]) {
			t.Fatalf("call %d: %q, %q", i, v, texts[i])
		}
	}
}

// Asking for arguments of every call takes no memory of its own once the
// request has been used, but for the strings handed out.
func TestCallArgsAllocs(t *testing.T) {
	body := []byte(`{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"Bash","arguments":"{\"command\":\"x\"}"}},{"id":"b","function":{"name":"Bash","arguments":"{\"path\":\"y\"}"}}]}]}`)
	var r Request
	run := func() {
		if err := r.Parse(Chat, body); err != nil {
			t.Fatal(err)
		}
		for i := range r.Calls {
			r.Args(i).String("other", "none")
			r.Args(i).Strings("other")
			r.Args(i).Text()
		}
	}
	run()
	if n := testing.AllocsPerRun(50, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
