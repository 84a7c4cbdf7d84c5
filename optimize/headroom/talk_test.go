package headroom_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// talk is a made-up conversation of an agent in one wire format.
type talk struct {
	format adapter.Format
	items  []string // messages or input items
	roles  []string // of each item: system, user, assistant, tool
	ends   []int    // numbers of items with which a request ends
	signed [][]int  // items with signed thinking by turn
	shapes []string // see shape
}

var paths = map[adapter.Format]string{
	adapter.Chat:      "/v1/chat/completions",
	adapter.Messages:  "/v1/messages",
	adapter.Responses: "/v1/responses",
}

// request is the body of a request that ends after n items. The cache marks
// stand where Anthropic's clients put them, on the last user messages.
func (c *talk) request(n int) []byte {
	items := append([]string(nil), c.items[:n]...)
	if c.format == adapter.Messages {
		marks := 0
		for i := n - 1; i >= 0 && marks < 2; i-- {
			if at := strings.LastIndex(items[i], `}]}`); c.roles[i] == "user" && at >= 0 {
				items[i] = items[i][:at] + `,"cache_control":{"type":"ephemeral"}}]}`
				marks++
			}
		}
		return []byte(`{"model":"m","max_tokens":99,"system":"You are a coding agent.","messages":[` + strings.Join(items, ",") + `]}`)
	}
	list, extra := "messages", ""
	if c.format == adapter.Responses {
		list, extra = "input", `"instructions":"You are a coding agent.",`
	}
	return []byte(`{"model":"m",` + extra + `"` + list + `": [` + strings.Join(items, ", ") + `], "n":1.0}`)
}

// style says what a made-up conversation holds.
type style struct {
	items    int
	turns    bool // more than one user message
	tools    bool
	thinking bool // signed thinking, encrypted or plain reasoning
	midway   bool // system messages in the middle
	result   int  // bytes of the longest tool result
}

// newTalk makes a conversation; the same seed makes the same one.
func newTalk(f adapter.Format, s style, seed uint64) *talk {
	r := rand.New(rand.NewPCG(seed, 17))
	c := &talk{format: f}
	words := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString([]string{"pump", "valve", "tank", "meter", "checked", "nothing new", "0x2f", "in order", "line\n", "\"quoted\"", "größer", "泵"}[r.IntN(12)])
			b.WriteByte(' ')
		}
		return strings.TrimSpace(b.String()) + "."
	}
	quote := func(text string) string {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			panic(err)
		}
		return strings.TrimSpace(b.String())
	}
	add := func(role, item string) {
		c.items = append(c.items, item)
		c.roles = append(c.roles, role)
	}
	sign := func() {
		c.signed[len(c.signed)-1] = append(c.signed[len(c.signed)-1], len(c.items))
	}
	user := func() {
		text := quote(words(20 + r.IntN(300)))
		c.signed = append(c.signed, nil)
		switch f {
		case adapter.Responses:
			add("user", `{"role":"user","content":[{"type":"input_text","text":`+text+`}]}`)
		default:
			if f == adapter.Messages && r.IntN(2) == 0 {
				text = `[{"type":"text","text":` + text + `}]`
			}
			add("user", `{"role":"user","content":`+text+`}`)
		}
		c.ends = append(c.ends, len(c.items))
	}
	calls := 0
	round := func() {
		n := 1
		if r.IntN(4) == 0 {
			n = 2 + r.IntN(2)
		}
		args := make([]string, n)
		results := make([]string, n)
		for i := range n {
			args[i] = `{"command":` + quote(words(10+r.IntN(120))) + `}`
			results[i] = quote(words(1 + r.IntN(s.result)))
		}
		id := func(i int) string { return fmt.Sprintf("call_%d", calls+i) }
		switch f {
		case adapter.Chat:
			var list []string
			for i := range n {
				list = append(list, `{"id":"`+id(i)+`","type":"function","function":{"name":"shell","arguments":`+quote(args[i])+`}}`)
			}
			reasoning := ""
			if s.thinking && r.IntN(2) == 0 {
				reasoning = `"reasoning_content":` + quote(words(200)) + `,`
			}
			add("assistant", `{"role":"assistant",`+reasoning+`"content":null,"tool_calls":[`+strings.Join(list, ",")+`]}`)
			for i := range n {
				add("tool", `{"role":"tool","tool_call_id":"`+id(i)+`","content":`+results[i]+`}`)
			}
		case adapter.Messages:
			var uses, answers []string
			if s.thinking && r.IntN(2) == 0 {
				sign()
				uses = append(uses, `{"type":"thinking","thinking":`+quote(words(200))+`,"signature":"Eu8="}`)
			}
			for i := range n {
				uses = append(uses, `{"type":"tool_use","id":"`+id(i)+`","name":"Bash","input":`+args[i]+`}`)
				result := results[i]
				if r.IntN(2) == 0 {
					result = `[{"type":"text","text":` + result + `}]`
				}
				failed := ""
				if r.IntN(5) == 0 {
					failed = `,"is_error":true`
				}
				answers = append(answers, `{"type":"tool_result","tool_use_id":"`+id(i)+`","content":`+result+failed+`}`)
			}
			add("assistant", `{"role":"assistant","content":[`+strings.Join(uses, ",")+`]}`)
			add("user", `{"role":"user","content":[`+strings.Join(answers, ",")+`]}`)
		case adapter.Responses:
			if s.thinking && r.IntN(2) == 0 {
				add("assistant", fmt.Sprintf(`{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"%s"}`, calls, strings.Repeat("gAAAAx", 1+r.IntN(80))))
			}
			for i := range n {
				add("assistant", `{"type":"function_call","id":"fc_`+id(i)+`","call_id":"`+id(i)+`","name":"shell","arguments":`+quote(args[i])+`}`)
			}
			for i := range n {
				add("tool", `{"type":"function_call_output","call_id":"`+id(i)+`","output":`+results[i]+`}`)
			}
		}
		calls += n
		c.ends = append(c.ends, len(c.items))
	}
	answer := func() {
		text := quote(words(20 + r.IntN(600)))
		switch f {
		case adapter.Responses:
			if s.thinking && r.IntN(2) == 0 {
				add("assistant", fmt.Sprintf(`{"type":"reasoning","id":"rs_a%d","summary":[],"encrypted_content":"gAAAAx=="}`, len(c.items)))
			}
			add("assistant", fmt.Sprintf(`{"type":"message","id":"msg_%d","role":"assistant","content":[{"type":"output_text","text":%s,"annotations":[]}]}`, len(c.items), text))
		case adapter.Messages:
			add("assistant", `{"role":"assistant","content":[{"type":"text","text":`+text+`}]}`)
		default:
			add("assistant", `{"role":"assistant","content":`+text+`}`)
		}
	}
	if f == adapter.Chat {
		add("system", `{"role":"system","content":"You are a coding agent."}`)
	}
	user()
	for len(c.items) < s.items {
		for range r.IntN(12) {
			if s.tools {
				round()
			}
		}
		if !s.turns {
			if !s.tools {
				return c
			}
			continue
		}
		answer()
		if s.midway && r.IntN(3) == 0 && f != adapter.Messages {
			add("system", `{"role":"developer","content":"Only metric units in answers."}`)
		}
		user()
		if r.IntN(10) == 0 && f != adapter.Messages {
			user()
		}
	}
	return c
}
