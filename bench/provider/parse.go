package provider

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The checks are those that an optimizer can run into: a body that is not
// JSON, a list that became empty, a tool call without its result, a result
// without its call, an empty text.

// wanted is what is read of a body; what a provider does not look at is not
// listed.
type wanted struct {
	Model         json.RawMessage
	Stream        bool
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages       []message
	MaxTokens      *int `json:"max_tokens"`
	System         json.RawMessage
	Input          json.RawMessage
	Prompt         json.RawMessage
	Dimensions     int
	EncodingFormat string `json:"encoding_format"`
}

type message struct {
	Role       string
	Content    json.RawMessage
	ToolCallID string                `json:"tool_call_id"`
	ToolCalls  []struct{ ID string } `json:"tool_calls"`
}

type part struct {
	Type      string
	Text      string
	ID        string
	ToolUseID string `json:"tool_use_id"`
}

// item is an element of a Responses input.
type item struct {
	Type   string
	Role   string
	CallID string `json:"call_id"`
}

// parse reads and checks a whole body.
func (a *ask) parse() *problem {
	if !json.Valid(a.body) {
		return invalid("We could not parse the JSON body of your request.")
	}
	if body := bytes.TrimLeft(a.body, " \t\r\n"); body[0] != '{' {
		return invalid("The body of a request must be a JSON object.")
	}
	var w wanted
	if err := json.Unmarshal(a.body, &w); err != nil {
		return invalid("Invalid type: %v", err)
	}
	if len(w.Model) < 3 || w.Model[0] != '"' {
		return invalid("You must provide a model parameter.")
	}
	a.model = w.Model[1 : len(w.Model)-1]
	a.stream = w.Stream
	a.includeUsage = w.StreamOptions != nil && w.StreamOptions.IncludeUsage
	switch a.endpoint {
	case endpointChat:
		return checkChat(w.Messages)
	case endpointMessages, endpointCountTokens:
		if w.MaxTokens == nil && a.endpoint == endpointMessages {
			return invalid("max_tokens: Field required")
		}
		if problem := checkTexts("system", w.System); problem != nil {
			return problem
		}
		return checkMessages(w.Messages)
	case endpointResponses:
		return checkInput(w.Input)
	case endpointCompletions:
		if w.Prompt == nil {
			return invalid("You must provide a prompt.")
		}
	case endpointEmbeddings:
		if w.Input == nil {
			return invalid("You must provide an input.")
		}
		var several []string
		if json.Unmarshal(w.Input, &several) == nil && len(several) > 0 {
			a.inputs = len(several)
		}
		a.dimensions = min(max(w.Dimensions, 0), 1<<16)
		a.base64 = w.EncodingFormat == "base64"
	}
	return nil
}

// checkChat checks that every tool call is answered at once, by one message
// each, and that no tool message stands anywhere else.
func checkChat(messages []message) *problem {
	if len(messages) == 0 {
		return invalid("Invalid 'messages': empty array. Expected an array with minimum length 1.")
	}
	open := map[string]bool{}
	for i, m := range messages {
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				return invalid("messages.[%d]: a message with role 'tool' must answer a call of the preceding 'tool_calls' (%s).", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return invalid("An assistant message with 'tool_calls' must be followed by tool messages for each 'tool_call_id', before messages.[%d].", i)
		}
		switch m.Role {
		case "system", "developer", "user", "assistant", "function":
		default:
			return invalid("Invalid value for messages[%d].role: %q.", i, m.Role)
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		if m.Role == "user" && (m.Content == nil || string(m.Content) == "null") {
			return invalid("Invalid value for messages[%d].content: expected a string, got null.", i)
		}
	}
	if len(open) > 0 {
		return invalid("An assistant message with 'tool_calls' must be followed by tool messages for each 'tool_call_id'.")
	}
	return nil
}

// checkMessages checks the same for Anthropic, where the results of a turn's
// calls open the next message, texts are not empty and the user speaks first.
func checkMessages(messages []message) *problem {
	if len(messages) == 0 {
		return invalid("messages: at least one message is required")
	}
	if messages[0].Role != "user" {
		return invalid("messages: first message must use the \"user\" role")
	}
	var open []string
	for i, m := range messages {
		if m.Role != "user" && m.Role != "assistant" {
			return invalid("messages.%d.role: Input should be 'user' or 'assistant'", i)
		}
		if problem := checkTexts("messages", m.Content); problem != nil {
			return problem
		}
		var parts []part
		_ = json.Unmarshal(m.Content, &parts) // a string has no parts
		answered := map[string]bool{}
		var uses []string
		other := false
		for _, p := range parts {
			switch p.Type {
			case "tool_use":
				uses = append(uses, p.ID)
			case "tool_result":
				if other {
					return invalid("messages.%d: tool_result blocks must come first in the content", i)
				}
				answered[p.ToolUseID] = true
			default:
				other = true
			}
		}
		for _, id := range open {
			if !answered[id] {
				return invalid("messages.%d: tool_use ids were found without tool_result blocks immediately after: %s", i, id)
			}
			delete(answered, id)
		}
		for id := range answered {
			return invalid("messages.%d: unexpected tool_use_id found in tool_result blocks: %s", i, id)
		}
		open = uses
	}
	if len(open) > 0 {
		return invalid("messages: tool_use ids were found without tool_result blocks immediately after: %s", strings.Join(open, ", "))
	}
	return nil
}

// checkTexts checks that no text of an Anthropic content is empty.
func checkTexts(where string, content json.RawMessage) *problem {
	var parts []part
	if json.Unmarshal(content, &parts) != nil {
		if string(content) == `""` {
			return invalid("%s: content must be non-empty", where)
		}
		return nil
	}
	for _, p := range parts {
		if p.Type == "text" && p.Text == "" {
			return invalid("%s: text content blocks must be non-empty", where)
		}
	}
	return nil
}

// checkInput checks that calls and outputs of a Responses input pair up.
func checkInput(input json.RawMessage) *problem {
	if input == nil {
		return invalid("Missing required parameter: 'input'.")
	}
	var items []item
	if err := json.Unmarshal(input, &items); err != nil {
		var text string
		if json.Unmarshal(input, &text) != nil {
			return invalid("Invalid type for 'input': expected a string or an array.")
		}
		return nil
	}
	calls := map[string]bool{}
	for _, it := range items {
		switch it.Type {
		case "function_call", "custom_tool_call":
			calls[it.CallID] = false
		case "function_call_output", "custom_tool_call_output":
			if _, ok := calls[it.CallID]; !ok {
				return invalid("No tool call found for function call output with call_id %s.", it.CallID)
			}
			calls[it.CallID] = true
		}
	}
	for id, answered := range calls {
		if !answered {
			return invalid("No tool output found for function call %s.", id)
		}
	}
	return nil
}
