// Package quality is a corpus of tool output of the kinds that coding agents
// see, all of it made up, with the lines in it that must not be lost; and what
// an optimizer makes of it.
package quality

import (
	"encoding/json"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// step is one turn of a conversation: what the user says, and a call with its
// result, if there is one.
type step struct {
	user   string
	tool   string
	args   any
	result string
}

// shell is a step that runs a command.
func shell(command, result string) step {
	return step{user: "Run it.", tool: "bash", args: map[string]string{"command": command}, result: result}
}

// read is a step that reads a file.
func read(path, content string) step {
	return step{user: "Read it.", tool: "read", args: map[string]string{"path": path}, result: content}
}

type object = map[string]any

// formats are the formats that a conversation is written in, with their paths.
var formats = map[adapter.Format]string{
	adapter.Chat:      "/v1/chat/completions",
	adapter.Messages:  "/v1/messages",
	adapter.Responses: "/v1/responses",
}

// body writes a conversation down in a format. It ends with the last result
// or, if there is none, with what the user said.
func body(format adapter.Format, model string, steps []step) []byte {
	var list []object
	for i, s := range steps {
		id := "call_" + string(rune('a'+i))
		args := ""
		if s.tool != "" {
			args = encode(s.args)
		}
		if i > 0 {
			noted := object{"role": "assistant", "content": "Noted."}
			if format == adapter.Messages {
				noted["content"] = []object{{"type": "text", "text": "Noted."}}
			}
			list = append(list, noted)
		}
		switch format {
		case adapter.Chat:
			list = append(list, object{"role": "user", "content": s.user})
			if s.tool != "" {
				list = append(list,
					object{"role": "assistant", "content": nil, "tool_calls": []object{{"id": id, "type": "function", "function": object{"name": s.tool, "arguments": args}}}},
					object{"role": "tool", "tool_call_id": id, "content": s.result})
			}
		case adapter.Messages:
			list = append(list, object{"role": "user", "content": []object{{"type": "text", "text": s.user}}})
			if s.tool != "" {
				list = append(list,
					object{"role": "assistant", "content": []object{{"type": "tool_use", "id": id, "name": s.tool, "input": s.args}}},
					object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": id, "content": s.result}}})
			}
		case adapter.Responses:
			list = append(list, object{"role": "user", "content": s.user})
			if s.tool != "" {
				list = append(list,
					object{"type": "function_call", "call_id": id, "name": s.tool, "arguments": args},
					object{"type": "function_call_output", "call_id": id, "output": s.result})
			}
		}
	}
	switch format {
	case adapter.Messages:
		return []byte(encode(object{"model": model, "max_tokens": 1024, "system": "You fix code.", "messages": list}))
	case adapter.Responses:
		return []byte(encode(object{"model": model, "instructions": "You fix code.", "input": list}))
	}
	return []byte(encode(object{"model": model, "messages": append([]object{{"role": "system", "content": "You fix code."}}, list...)}))
}

// encode writes v as JSON without escapes that no client writes.
func encode(v any) string {
	var w writer
	e := json.NewEncoder(&w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // these values always encode
	}
	return string(w[:len(w)-1])
}

// writer collects what is written.
type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
