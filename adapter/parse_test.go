package adapter

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

var kindNames = map[BlockKind]string{
	SystemText: "system", UserText: "user", AssistantText: "assistant",
	Reasoning: "reasoning", ToolResult: "result", ToolArguments: "arguments",
}

// dump writes a view down, one line per block, call and result:
//
//	0 user: text of message 0       (- for no message)
//	1 assistant! frozen text
//	2 result>0E: error result of call 0
//	call 0 in 1: function name(arguments) x1, for one result
//	result 0 in 2: >0 has blocks 3 to 4
func dump(r *Request) string {
	d := &r.Doc
	var b strings.Builder
	for _, block := range r.Blocks {
		where := "-"
		if block.Message >= 0 {
			where = fmt.Sprint(block.Message)
		}
		fmt.Fprintf(&b, "%s %s", where, kindNames[block.Kind])
		if block.Kind == ToolResult || block.Kind == ToolArguments {
			fmt.Fprintf(&b, ">%d", block.Call)
		} else if block.Call != -1 {
			fmt.Fprintf(&b, "?%d", block.Call)
		}
		if block.IsError {
			b.WriteByte('E')
		}
		if block.Frozen {
			b.WriteByte('!')
		}
		fmt.Fprintf(&b, ": %s\n", d.Text(block.Node))
	}
	for i, c := range r.Calls {
		fmt.Fprintf(&b, "call %d in %d: %s %s %s(%s) x%d\n", i, c.Message, c.Type, d.Text(c.ID), d.Text(c.Name), d.Raw(c.Arguments), c.Results)
	}
	for i, res := range r.Results {
		fmt.Fprintf(&b, "result %d in %d: >%d has %d to %d", i, res.Message, res.Call, res.First, res.End)
		if res.IsError {
			b.WriteString(" E")
		}
		if res.Frozen {
			b.WriteString(" !")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var roleNames = map[Role]string{NoRole: "?", System: "system", User: "user", Assistant: "assistant", Tool: "tool"}

// roles writes the messages down.
func roles(r *Request) string {
	var list []string
	for _, m := range r.Messages {
		s := roleNames[m.Role]
		if m.Type != "" {
			s += "/" + m.Type
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

var parseCases = []struct {
	name   string
	format Format
	body   string
	roles  string
	want   string
}{
	{
		name: "chat", format: Chat,
		body: ` {"model":"m","stream":true,"messages":[
			{"role":"developer","content":"be brief"},
			{"content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:"}},{"type":"text","text":"here","cache_control":{"type":"ephemeral"}}],"role":"user","name":"ann"},
			{"role":"assistant","reasoning_content":"hm","content":null,"tool_calls":[
				{"id":"call_a","type":"function","function":{"name":"ls","arguments":"{\"path\":\".\"}"}},
				{"id":"call_b","type":"custom","custom":{"name":"sh","input":"ls -l"}},
				{"id":"call_c","function":{"name":"nothing","arguments":null}}]},
			{"role":"tool","tool_call_id":"call_b","content":[{"type":"text","text":"one"},{"type":"image_url"},{"type":"text","text":"two"}]},
			{"role":"tool","tool_call_id":"c\u0061ll_a","content":"three"},
			{"role":"tool","tool_call_id":"call_c","content":""},
			{"role":"tool","tool_call_id":"call_x","content":"orphan"},
			{"role":"assistant","content":"done"}]} `,
		roles: "system user assistant tool tool tool tool assistant",
		want: `0 system: be brief
1 user: look
1 user: here
2 reasoning: hm
2 arguments>0: {"path":"."}
2 arguments>1: ls -l
3 result>1: one
3 result>1: two
4 result>0: three
5 result>2: 
6 result>-1: orphan
7 assistant: done
call 0 in 2: function call_a ls("{\"path\":\".\"}") x1
call 1 in 2: custom call_b sh("ls -l") x1
call 2 in 2: function call_c nothing() x1
result 0 in 3: >1 has 6 to 8
result 1 in 4: >0 has 8 to 9
result 2 in 5: >2 has 9 to 10
result 3 in 6: >-1 has 10 to 11
`,
	},
	{
		name: "chat, legacy functions", format: Chat,
		body: `{"model":"m","messages":[
			{"role":"user","content":"q"},
			{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},
			{"role":"function","name":"f","content":"r"},
			{"role":"function","name":"f","content":"again"},
			{"role":"assistant","function_call":{"name":"g","arguments":"{}"}},
			{"role":"function","name":"h","content":"other"}]}`,
		roles: "user assistant tool tool assistant tool",
		want: `0 user: q
1 arguments>0: {}
2 result>0: r
3 result>-1: again
4 arguments>1: {}
5 result>-1: other
call 0 in 1: function  f("{}") x1
call 1 in 4: function  g("{}") x0
result 0 in 2: >0 has 2 to 3
result 1 in 3: >-1 has 3 to 4
result 2 in 5: >-1 has 5 to 6
`,
	},
	{
		name: "chat, frozen texts", format: Chat,
		body: `{"model":"m","messages":[
			{"role":"user","content":[{"type":"new","text":"a"},{"text":"b"},"c"]},
			{"role":"assistant","content":"cited","annotations":[{"type":"url_citation"}]},
			{"role":"assistant","content":"not","annotations":[],"refusal":"no"},
			{"role":"assistant","content":"x","reasoning":"r","reasoning_details":[{"type":"reasoning.text","text":"rt","signature":"s"},{"type":"reasoning.summary","summary":"rs"},{"type":"reasoning.encrypted","data":"rd"}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"th"}]},{"type":"text","text":"y"}],"reasoning_content":"free"},
			{"role":"critic","content":"z"}]}`,
		roles: "user assistant assistant assistant assistant ?",
		want: `0 user!: a
0 user!: b
0 user!: c
1 assistant!: cited
2 assistant: not
2 assistant!: no
3 reasoning!: r
3 reasoning!: rt
3 reasoning!: rs
3 reasoning!: rd
3 assistant: x
4 reasoning: free
4 reasoning!: th
4 assistant: y
5 user!: z
`,
	},
	{
		name: "chat, ids that come again", format: Chat,
		body: `{"messages":[
			{"role":"assistant","tool_calls":[{"id":"call_0","function":{"name":"a","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"call_0","content":"first"},
			{"role":"assistant","tool_calls":[{"id":"call_0","function":{"name":"b","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"call_0","content":"second"},
			{"role":"tool","tool_call_id":"call_0","content":"one too many"},
			{"role":"assistant","tool_calls":[{"id":"call_0","function":{"name":"c","arguments":"{}"}},{"id":"call_0","function":{"name":"d","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"call_0","content":"c or d"},
			{"role":"tool","tool_call_id":"call_0","content":"d or c"}]}`,
		roles: "assistant tool assistant tool tool assistant tool tool",
		want: `0 arguments>0: {}
1 result>0: first
2 arguments>1: {}
3 result>1: second
4 result>-1: one too many
5 arguments>2: {}
5 arguments>3: {}
6 result>-1: c or d
7 result>-1: d or c
call 0 in 0: function call_0 a("{}") x1
call 1 in 2: function call_0 b("{}") x1
call 2 in 5: function call_0 c("{}") x0
call 3 in 5: function call_0 d("{}") x0
result 0 in 1: >0 has 1 to 2
result 1 in 3: >1 has 3 to 4
result 2 in 4: >-1 has 4 to 5
result 3 in 6: >-1 has 7 to 8
result 4 in 7: >-1 has 8 to 9
`,
	},
	{
		name: "chat, no content", format: Chat,
		body:  `{"messages":[{"role":"user"},{"role":"user","content":null},{"role":"user","content":[]},{"role":"assistant","content":null,"tool_calls":null,"function_call":null},{"role":"user","tool_calls":[],"content":"x"}]}`,
		roles: "user user user assistant user",
		want:  "4 user: x\n",
	},
	{
		name: "messages", format: Messages,
		body: `{"messages":[
			{"role":"user","content":"go"},
			{"role":"assistant","content":[
				{"type":"thinking","thinking":"t","signature":"sig"},
				{"type":"redacted_thinking","data":"rd"},
				{"type":"text","text":"running"},
				{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}},
				{"type":"tool_use","id":"toolu_2","name":"Read","input":{"file_path":"a.go"}},
				{"type":"tool_use","id":"toolu_3","name":"Noop","input":{}}]},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"toolu_2","is_error":true,"content":"no such file"},
				{"type":"tool_result","tool_use_id":"toolu_1","content":[
					{"type":"text","text":"out","cache_control":{"type":"ephemeral"}},
					{"type":"image","source":{"type":"base64","data":"AAAA"}},
					{"type":"document","source":{"type":"text","data":"doc"}},
					{"type":"search_result","title":"t","content":[{"type":"text","text":"found"}]},
					{"type":"tool_reference","tool_name":"x"},
					{"type":"new","text":"?"},
					{"type":"text","text":"cited","citations":[{"type":"x"}]}]},
				{"type":"tool_result","tool_use_id":"toolu_3"},
				{"type":"text","text":"and then"}]},
			{"role":"assistant","content":[{"type":"text","text":"see","citations":[{"cited_text":"x"}]},{"type":"text","text":"free","citations":null}]}],
			"system":[{"type":"text","text":"you are","cache_control":{"type":"ephemeral"}},{"type":"text","text":"an agent"}],
			"model":"claude"}`,
		roles: "user assistant user assistant",
		want: `- system: you are
- system: an agent
0 user: go
1 reasoning!: t
1 reasoning!: rd
1 assistant: running
2 result>1E: no such file
2 result>0: out
2 result>0!: found
2 result>0!: ?
2 result>0!: cited
2 user: and then
3 assistant!: see
3 assistant: free
call 0 in 1: tool_use toolu_1 Bash({"command":"ls"}) x1
call 1 in 1: tool_use toolu_2 Read({"file_path":"a.go"}) x1
call 2 in 1: tool_use toolu_3 Noop({}) x1
result 0 in 2: >1 has 6 to 7 E
result 1 in 2: >0 has 7 to 11
result 2 in 2: >2 has 11 to 11
`,
	},
	{
		name: "messages, tools that the provider runs", format: Messages,
		body: `{"model":"c","system":"s","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[
			{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},
			{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","encrypted_content":"e"}]},
			{"type":"mcp_tool_use","id":"mcptoolu_1","name":"n","server_name":"s","input":{}},
			{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[{"type":"text","text":"m"}]},
			{"type":"text","text":"a"}]}]}`,
		roles: "user assistant",
		want: `- system: s
0 user: q
1 result>-1!: m
1 assistant: a
`,
	},
	{
		name: "messages, a role of its own", format: Messages,
		body:  `{"model":"c","system":null,"messages":[{"role":"tool","content":"x"},{"role":"system","content":"y"}]}`,
		roles: "? system",
		want:  "0 user!: x\n1 system: y\n",
	},
	{
		name: "responses, plain", format: Responses,
		body: `{"model":"m","instructions":"be brief","input":"hello"}`,
		want: "- system: be brief\n- user: hello\n",
	},
	{
		name: "responses, nothing to say", format: Responses,
		body: `{"model":"m","instructions":null,"previous_response_id":"resp_1"}`,
	},
	{
		name: "responses", format: Responses,
		body: `{"model":"m","input":[
			{"role":"developer","content":"d"},
			{"type":"message","role":"user","content":[{"type":"input_text","text":"u"},{"type":"input_image","image_url":"x"},{"type":"input_new","text":"n"}]},
			{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"content":[{"type":"reasoning_text","text":"c"}],"encrypted_content":"e"},
			{"type":"function_call","call_id":"call_1","name":"f","arguments":"{\"a\":1}"},
			{"type":"custom_tool_call","call_id":"call_2","name":"apply_patch","input":"*** Begin"},
			{"type":"function_call_output","call_id":"call_1","output":"o1"},
			{"type":"custom_tool_call_output","call_id":"call_2","output":[{"type":"input_text","text":"o2"},{"type":"input_image"},{"type":"output_text","text":"o3"},{"type":"text","text":"o4"},{"type":"later","text":"o5"}]},
			{"type":"function_call_output","call_id":"gone","output":"o6","status":"incomplete"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"output_text","text":"b","annotations":[{"type":"url_citation"}]},{"type":"refusal","refusal":"r"}]},
			{"role":"assistant","content":"plain"},
			{"type":"item_reference","id":"msg_1"},
			{"id":"msg_2"},
			{"type":"hologram","content":"h","role":"user"},
			{"type":"compaction","encrypted_content":"k"}]}`,
		roles: "system/message user/message assistant/reasoning assistant/function_call assistant/custom_tool_call tool/function_call_output tool/custom_tool_call_output tool/function_call_output " +
			"assistant/message assistant/message ?/item_reference ?/item_reference user/other assistant/compaction",
		want: `0 system: d
1 user: u
1 user!: n
2 reasoning!: s
2 reasoning!: c
2 reasoning!: e
3 arguments>0: {"a":1}
4 arguments>1: *** Begin
5 result>0: o1
6 result>1: o2
6 result>1: o3
6 result>1: o4
6 result>1!: o5
7 result>-1E: o6
8 assistant: a
8 assistant!: b
8 assistant!: r
9 assistant: plain
12 user!: h
13 reasoning!: k
call 0 in 3: function call_1 f("{\"a\":1}") x1
call 1 in 4: custom_tool_call call_2 apply_patch("*** Begin") x1
result 0 in 5: >0 has 8 to 9
result 1 in 6: >1 has 9 to 13
result 2 in 7: >-1 has 13 to 14 E
`,
	},
	{
		name: "responses, built-in tools", format: Responses,
		body: `{"model":"m","input":[
			{"type":"local_shell_call","id":"lsh_1","call_id":"call_1","action":{"type":"exec","command":["ls"]}},
			{"type":"local_shell_call_output","id":"lsh_1","output":"l1"},
			{"type":"local_shell_call","id":"lsh_2","call_id":"call_2","action":{"type":"exec","command":["pwd"]}},
			{"type":"local_shell_call_output","call_id":"call_2","output":"l2"},
			{"type":"shell_call","call_id":"call_3","action":{"commands":["go test"]}},
			{"type":"shell_call_output","call_id":"call_3","output":[{"stdout":"so","stderr":"se","outcome":{"type":"exit","exit_code":1}},{"stdout":"s2","stderr":"","outcome":{"type":"timeout"}}]},
			{"type":"apply_patch_call","call_id":"call_4","operation":{"type":"update_file","path":"a.go","diff":"x"}},
			{"type":"apply_patch_call_output","call_id":"call_4","status":"failed","output":"p"},
			{"type":"computer_call","call_id":"call_5","action":{"type":"screenshot"}},
			{"type":"computer_call_output","call_id":"call_5","output":{"type":"computer_screenshot","image_url":"data:"}},
			{"type":"mcp_call","id":"mcp_1","name":"n","arguments":"{}","output":"mo","error":null},
			{"type":"web_search_call","id":"ws_1","action":{"type":"search","query":"q"}}]}`,
		roles: "assistant/local_shell_call tool/local_shell_call_output assistant/local_shell_call tool/local_shell_call_output assistant/shell_call tool/shell_call_output assistant/apply_patch_call tool/apply_patch_call_output assistant/computer_call tool/computer_call_output assistant/mcp_call assistant/web_search_call",
		want: `1 result>0: l1
3 result>1: l2
5 result>2: so
5 result>2: se
5 result>2: s2
5 result>2: 
7 result>3E: p
10 arguments>-1!: {}
10 result>-1!: mo
call 0 in 0: local_shell_call call_1 ({"type":"exec","command":["ls"]}) x1
call 1 in 2: local_shell_call call_2 ({"type":"exec","command":["pwd"]}) x1
call 2 in 4: shell_call call_3 ({"commands":["go test"]}) x1
call 3 in 6: apply_patch_call call_4 ({"type":"update_file","path":"a.go","diff":"x"}) x1
call 4 in 8: computer_call call_5 ({"type":"screenshot"}) x1
result 0 in 1: >0 has 0 to 1
result 1 in 3: >1 has 1 to 2
result 2 in 5: >2 has 2 to 6
result 3 in 7: >3 has 6 to 7 E
result 4 in 9: >4 has 7 to 7
`,
	},
	{
		name: "responses, calls that a program made", format: Responses,
		body: `{"model":"m","input":[
			{"type":"program","id":"p","call_id":"prog","code":"f()","fingerprint":"x"},
			{"type":"function_call","call_id":"a","name":"f","arguments":"{}","caller":{"type":"program","caller_id":"prog"}},
			{"type":"function_call","call_id":"b","name":"f","arguments":"{}","caller":{"type":"direct"}},
			{"type":"function_call","call_id":"c","name":"f","arguments":"{}","caller":null},
			{"type":"function_call_output","call_id":"a","output":"data"},
			{"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"text"}]},
			{"type":"function_call_output","call_id":"c","output":"more","caller":{"type":"program","caller_id":"prog"}},
			{"type":"local_shell_call","call_id":"d","id":"lsh","action":{"command":["ls"]}},
			{"type":"local_shell_call_output","id":"d","output":"o"}]}`,
		roles: "assistant/program assistant/function_call assistant/function_call assistant/function_call tool/function_call_output tool/function_call_output tool/function_call_output assistant/local_shell_call tool/local_shell_call_output",
		want: `1 arguments>0: {}
2 arguments>1: {}
3 arguments>2: {}
4 result>0!: data
5 result>1: text
6 result>2!: more
8 result>3: o
call 0 in 1: function a f("{}") x1
call 1 in 2: function b f("{}") x1
call 2 in 3: function c f("{}") x1
call 3 in 7: local_shell_call d ({"command":["ls"]}) x1
result 0 in 4: >0 has 3 to 4 !
result 1 in 5: >1 has 4 to 5
result 2 in 6: >2 has 5 to 6 !
result 3 in 8: >3 has 6 to 7
`,
	},
	{
		name: "messages, calls that a program made", format: Messages,
		body: `{"model":"c","messages":[
			{"role":"assistant","content":[
				{"type":"tool_use","id":"a","name":"f","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}},
				{"type":"tool_use","id":"b","name":"f","input":{},"caller":{"type":"direct"}},
				{"type":"tool_use","id":"c","name":"f","input":{},"caller":{"type":"direct","type":"code"}}]},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"1"}]},
				{"type":"tool_result","tool_use_id":"b","content":"2"},
				{"type":"tool_result","tool_use_id":"c","content":"3"}]}]}`,
		roles: "assistant user",
		want: `1 result>0!: 1
1 result>1: 2
1 result>2!: 3
call 0 in 0: tool_use a f({}) x1
call 1 in 0: tool_use b f({}) x1
call 2 in 0: tool_use c f({}) x1
result 0 in 1: >0 has 0 to 1 !
result 1 in 1: >1 has 1 to 2
result 2 in 1: >2 has 2 to 3 !
`,
	},
	{
		name: "completions", format: Completions,
		body: `{"model":"m","prompt":["a","b"]}`,
		want: "- user: a\n- user: b\n",
	},
	{
		name: "completions, tokens", format: Completions,
		body: `{"model":"m","prompt":[1,2,3]}`,
	},
	{
		name: "embeddings", format: Embeddings,
		body: `{"input":"text","model":"m"}`,
		want: "- user: text\n",
	},
}

func TestParse(t *testing.T) {
	var r Request // one for all, as a pool would
	for _, c := range parseCases {
		t.Run(c.name, func(t *testing.T) {
			if err := r.Parse(c.format, []byte(c.body)); err != nil {
				t.Fatal(err)
			}
			if got := dump(&r); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if got := roles(&r); got != c.roles {
				t.Errorf("roles %q, want %q", got, c.roles)
			}
			checkView(t, &r)
		})
	}
}

// checkView checks what holds for every view.
func checkView(t *testing.T, r *Request) {
	t.Helper()
	d := &r.Doc
	body := d.Source()
	seen := make(map[jsonspan.Ref]bool)
	for i, b := range r.Blocks {
		s := d.Span(b.Node)
		if s.Start < 0 || s.End > len(body) || s.Len() < 2 || body[s.Start] != '"' || body[s.End-1] != '"' || d.Kind(b.Node) != jsonspan.String {
			t.Fatalf("block %d is no string: %v", i, s)
		}
		if seen[b.Node] {
			t.Fatalf("block %d stands there twice", i)
		}
		seen[b.Node] = true
		if b.Message < -1 || b.Message >= len(r.Messages) || b.Call < -1 || b.Call >= len(r.Calls) || b.Kind == 0 {
			t.Fatalf("block %d: %+v", i, b)
		}
	}
	calls, results, next := 0, 0, 0
	for i, m := range r.Messages {
		if m.First < next || m.End < m.First || m.End > len(r.Blocks) {
			t.Fatalf("message %d: %+v", i, m)
		}
		next = m.End
		for k := m.First; k < m.End; k++ {
			if r.Blocks[k].Message != i {
				t.Fatalf("block %d is in message %d, not %d", k, r.Blocks[k].Message, i)
			}
		}
		calls += m.Calls
		results += m.Results
		if !d.Is(m.Node, jsonspan.Object) {
			t.Fatalf("message %d is no object", i)
		}
	}
	if calls != len(r.Calls) || results != len(r.Results) {
		t.Fatalf("%d calls and %d results in messages, %d and %d in all", calls, results, len(r.Calls), len(r.Results))
	}
	answered := make([]int, len(r.Calls))
	for i, res := range r.Results {
		if res.First < 0 || res.End < res.First || res.End > len(r.Blocks) || res.Call < -1 || res.Call >= len(r.Calls) {
			t.Fatalf("result %d: %+v", i, res)
		}
		for k := res.First; k < res.End; k++ {
			if b := r.Blocks[k]; b.Kind != ToolResult || b.Call != res.Call || b.IsError != res.IsError || res.Frozen && !b.Frozen || b.Message != res.Message {
				t.Fatalf("block %d: %+v does not fit result %+v", k, b, res)
			}
		}
		if res.Call >= 0 {
			answered[res.Call]++
			if r.Calls[res.Call].Message > res.Message {
				t.Fatalf("result %d stands before its call", i)
			}
		}
	}
	for i, c := range r.Calls {
		if c.Results != answered[i] || c.Type == "" {
			t.Fatalf("call %d: %+v has %d results", i, c, answered[i])
		}
	}
}

func TestParseErrors(t *testing.T) {
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	cases := []struct {
		format Format
		body   string
		want   ParseError
	}{
		{Chat, ``, InvalidJSON},
		{Chat, `{"model":"m","messages":[]`, InvalidJSON},
		{Chat, `{"model":"m","messages":[]} x`, InvalidJSON},
		{Chat, `{"messages":[],"x":` + deep + `}`, TooDeep},
		{Chat, `[]`, NotObject},
		{Chat, `null`, NotObject},
		{Unknown, `{}`, UnknownFormat},
		{maxFormats, `{}`, UnknownFormat},
		{255, `{}`, UnknownFormat},

		{Chat, `{"messages":[],"messages":[]}`, DuplicateKey},
		{Chat, `{"messages":[],"mess\u0061ges":[]}`, DuplicateKey},
		{Chat, `{"messages":[],"tools":[],"tools":[]}`, DuplicateKey},
		{Chat, `{"messages":[],"stream":true,"stream":false}`, DuplicateKey},
		{Chat, `{"messages":[{"role":"user","role":"tool","content":"x"}]}`, DuplicateKey},
		{Chat, `{"messages":[{"role":"user","content":"x","content":"y"}]}`, DuplicateKey},
		{Chat, `{"messages":[{"role":"user","content":[{"type":"text","text":"x","text":"y"}]}]}`, DuplicateKey},
		{Chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","id":"b"}]}]}`, DuplicateKey},
		{Chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"x","arguments":"","arguments":""}}]}]}`, DuplicateKey},
		{Chat, `{"messages":[{"role":"assistant","function_call":{"name":"x","name":"y"}}]}`, DuplicateKey},
		{Chat, `{"messages":[{"role":"tool","tool_call_id":"a","tool_call_id":"b","content":""}]}`, DuplicateKey},
		{Chat, `{"messages":[{"role":"assistant","reasoning_details":[{"text":"a","text":"b"}]}]}`, DuplicateKey},
		{Chat, `{"messages":[],"response_format":{"type":"text","type":"json_object"}}`, DuplicateKey},
		{Messages, `{"messages":[],"system":"a","system":"b"}`, DuplicateKey},
		{Messages, `{"messages":[],"system":[{"type":"text","type":"x"}]}`, DuplicateKey},
		{Messages, `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"is_error":false}]}]}`, DuplicateKey},
		{Messages, `{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"a","text":"b"}]}]}]}`, DuplicateKey},
		{Responses, `{"input":"a","input":"b"}`, DuplicateKey},
		{Responses, `{"input":[{"type":"function_call_output","call_id":"a","call_id":"b","output":""}]}`, DuplicateKey},
		{Responses, `{"input":[{"type":"function_call_output","call_id":"a","output":"","output":""}]}`, DuplicateKey},
		{Responses, `{"input":"a","text":{"format":{"type":"text"},"format":{"type":"json_schema"}}}`, DuplicateKey},
		{Responses, `{"input":[{"type":"reasoning","summary":[{"text":"a","text":"b"}]}]}`, DuplicateKey},
		{Embeddings, `{"input":"a","input":"b"}`, DuplicateKey},

		{Chat, `{"model":"m"}`, ForeignShape},
		{Chat, `{"model":"m","messages":null}`, ForeignShape},
		{Chat, `{"model":"m","messages":{}}`, ForeignShape},
		{Chat, `{"model":"m","input":"x"}`, ForeignShape},
		{Chat, `{"messages":["x"]}`, ForeignShape},
		{Chat, `{"messages":[{"content":"x"}]}`, ForeignShape},
		{Chat, `{"messages":[{"role":1,"content":"x"}]}`, ForeignShape},
		{Chat, `{"messages":[{"role":"user","content":7}]}`, ForeignShape},
		{Chat, `{"messages":[{"role":"user","content":{"type":"text"}}]}`, ForeignShape},
		{Chat, `{"messages":[{"role":"user","content":[7]}]}`, ForeignShape},
		{Chat, `{"messages":[{"role":"user","tool_calls":[{"id":"a"}]}]}`, ForeignShape},
		{Chat, `{"messages":[{"role":"assistant","tool_calls":{}}]}`, ForeignShape},
		{Chat, `{"messages":[{"role":"assistant","tool_calls":["a"]}]}`, ForeignShape},
		{Chat, `{"messages":[{"role":"assistant","function_call":"auto"}]}`, ForeignShape},
		{Messages, `{"role":"user","content":"a thread's message"}`, ForeignShape},
		{Messages, `{"messages":[{"role":"user","content":["x"]}]}`, ForeignShape},
		{Messages, `{"messages":[],"system":{}}`, ForeignShape},
		{Messages, `{"messages":[{"role":"assistant","content":[{"type":"tool_result"}]}]}`, ForeignShape},
		{Messages, `{"messages":[{"role":"user","content":[{"type":"tool_use"}]}]}`, ForeignShape},
		{Messages, `{"messages":[{"role":"user","content":[{"type":"tool_result","content":true}]}]}`, ForeignShape},
		{Responses, `{"model":"m","messages":[]}`, ForeignShape},
		{Responses, `{"input":{}}`, ForeignShape},
		{Responses, `{"input":["x"]}`, ForeignShape},
		{Responses, `{"input":[{}]}`, ForeignShape},
		{Responses, `{"input":[{"type":7}]}`, ForeignShape},
		{Responses, `{"input":"a","instructions":[]}`, ForeignShape},
		{Responses, `{"input":"a","text":"b"}`, ForeignShape},
		{Responses, `{"input":[{"type":"function_call_output","output":7}]}`, ForeignShape},
		{Completions, `{"prompt":{}}`, ForeignShape},
		{Embeddings, `{"input":[true]}`, ForeignShape},
	}
	var r Request
	for _, c := range cases {
		err := r.Parse(c.format, []byte(c.body))
		if !errors.Is(err, c.want) {
			t.Errorf("%s %.80s: %v, want %v", c.format, c.body, err, c.want)
		}
		if len(r.Messages)+len(r.Blocks)+len(r.Calls)+len(r.Results) != 0 || r.List != jsonspan.None || r.System != jsonspan.None {
			t.Errorf("%s %.80s: something is left to act upon", c.format, c.body)
		}
	}
}

// Keys that decide nothing may stand twice.
func TestParseHarmlessDuplicates(t *testing.T) {
	for _, body := range []string{
		`{"messages":[],"x":1,"x":2}`,
		`{"messages":[{"role":"user","content":"a","x":1,"x":2}]}`,
		`{"messages":[],"temperature":1,"temperature":2}`,
		`{"messages":[],"tools":[{"type":"function","function":{"name":"a","name":"b"}}]}`,
	} {
		var r Request
		if err := r.Parse(Chat, []byte(body)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestModelState(t *testing.T) {
	cases := []struct {
		body  string
		state ModelState
		model string
	}{
		{`{"messages":[]}`, ModelAbsent, ""},
		{`{"model":"m","messages":[]}`, ModelUnique, "m"},
		{`{"messages":[{"role":"user","content":"x","model":"other"}],"mod\u0065l":"\u006d"}`, ModelUnique, "m"},
		{`{"model":"","messages":[]}`, ModelUnique, ""},
		{`{"model":"a","model":"b","messages":[]}`, ModelDuplicate, ""},
		{`{"model":"a","model":"a","messages":[]}`, ModelDuplicate, ""},
		{`{"model":"a","messages":[],"Model":"b"}`, ModelDuplicate, ""},
		{`{"model":"a","messages":[],"\u004dODEL":"b"}`, ModelDuplicate, ""},
		{`{"MODEL":"a","messages":[]}`, ModelDuplicate, ""},
		{`{"model":7,"messages":[]}`, ModelNotString, ""},
		{`{"model":null,"messages":[]}`, ModelNotString, ""},
		{`{"model":["a"],"messages":[]}`, ModelNotString, ""},
		// Whatever else is wrong.
		{`{"model":"m","messages":7}`, ModelUnique, "m"},
		{`{"model":"m","messages":[],"messages":[]}`, ModelUnique, "m"},
		{`{"model":"m"}`, ModelUnique, "m"},
	}
	var r Request
	for _, c := range cases {
		err := r.Parse(Chat, []byte(c.body))
		if r.ModelState != c.state || r.Doc.Text(r.Model) != c.model || (r.Model != jsonspan.None) != (c.state == ModelUnique) {
			t.Errorf("%s: state %d, model %q (%v)", c.body, r.ModelState, r.Doc.Text(r.Model), err)
		}
	}
}

func TestSchema(t *testing.T) {
	cases := []struct {
		format Format
		extra  string
		want   bool
	}{
		{Chat, ``, false},
		{Chat, `,"response_format":null`, false},
		{Chat, `,"response_format":{"type":"text"}`, false},
		{Chat, `,"response_format":{"type":"json_object"}`, true},
		{Chat, `,"response_format":{"type":"json_schema","json_schema":{}}`, true},
		{Chat, `,"response_format":{}`, true},
		{Chat, `,"guided_json":{},"guided_regex":"x"`, true},
		{Chat, `,"tool_choice":"required"`, false},
		{Messages, `,"output_format":{"type":"json_schema","schema":{}}`, true},
		{Messages, `,"output_config":{"effort":"low"}`, false},
		{Messages, `,"output_config":{"format":{"type":"json_schema","schema":{}}}`, true},
		{Responses, `,"text":{"verbosity":"low"}`, false},
		{Responses, `,"text":{"format":{"type":"text"}}`, false},
		{Responses, `,"text":{"format":{"type":"json_schema","name":"x","schema":{}}}`, true},
	}
	var r Request
	for _, c := range cases {
		body := `{"messages":[]` + c.extra + `}`
		if c.format == Responses {
			body = `{"input":[]` + c.extra + `}`
		}
		if err := r.Parse(c.format, []byte(body)); err != nil || r.Schema != c.want {
			t.Errorf("%s %s: %v, %v", c.format, body, r.Schema, err)
		}
	}
}

// A conversation that grows never changes what was read of its beginning.
func TestParsePrefixStable(t *testing.T) {
	for _, c := range parseCases {
		var whole Request
		if err := whole.Parse(c.format, []byte(c.body)); err != nil {
			t.Fatal(err)
		}
		for keep := range len(whole.Messages) {
			drop := make([]bool, len(whole.Messages))
			for i := keep + 1; i < len(drop); i++ {
				drop[i] = true
			}
			edits, ok := whole.DropMessages(drop, 0, "")
			if !ok {
				t.Fatalf("%s: nothing dropped", c.name)
			}
			var part Request
			if err := part.Parse(c.format, jsonspan.Splice(nil, []byte(c.body), edits)); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			// The systems of Messages stand before or behind the list.
			for i, b := range part.Blocks {
				w := whole.Blocks[i]
				if b.Kind != w.Kind || b.Message != w.Message || b.Call != w.Call || b.IsError != w.IsError || b.Frozen != w.Frozen {
					t.Errorf("%s, %d messages: block %d is %+v, later %+v", c.name, keep+1, i, b, w)
				}
			}
		}
	}
}
