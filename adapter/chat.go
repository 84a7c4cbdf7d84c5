package adapter

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// OpenAI chat completions, and what compatible providers add to them
// (reasoning text of DeepSeek, OpenRouter, Mistral).
// Source: OpenAI's and the providers' API references.

func init() {
	register(Chat, &wire{name: "chat", suffix: "/chat/completions", parse: parseChat, appendSystem: appendChatSystem, reply: chatReply, dialect: openAI})
}

func parseChat(r *Request, root *fields) fault {
	d := &r.Doc
	r.Tools = root.given(d, fieldTools)
	if root.get(fieldGuided) != jsonspan.None {
		r.Schema = true
	}
	if format := root.given(d, fieldResponseFormat); format != jsonspan.None {
		demanded, fault := structured(d, format)
		if fault != 0 {
			return fault
		}
		r.Schema = r.Schema || demanded
	}
	messages := root.get(fieldMessages)
	if !d.Is(messages, jsonspan.Array) {
		return ForeignShape
	}
	r.List = messages
	var m fields
	for node := d.First(messages); node != jsonspan.None; node = d.Next(node) {
		if !d.Is(node, jsonspan.Object) {
			return ForeignShape
		}
		if !m.read(d, node) {
			return DuplicateKey
		}
		if fault := chatMessage(r, node, &m); fault != 0 {
			return fault
		}
	}
	return 0
}

func chatMessage(r *Request, node jsonspan.Ref, m *fields) fault {
	d := &r.Doc
	roleNode := m.str(d, fieldRole)
	if roleNode == jsonspan.None {
		return ForeignShape
	}
	role := roleOf(d, roleNode)
	n := r.beginMessage(node, role, "")
	defer r.endMessage()
	calls, legacy := m.given(d, fieldToolCalls), m.given(d, fieldFunctionCall)
	if role != Assistant && (filled(d, calls) || legacy != jsonspan.None) {
		return ForeignShape
	}
	if role == Assistant {
		if fault := chatReasoning(r, n, m); fault != 0 {
			return fault
		}
	}
	if role == Tool {
		call := r.ids.answer(r, m.get(fieldToolCallID))
		if d.Equal(roleNode, "function") {
			call = legacyCall(r, n, m.str(d, fieldName))
		}
		r.openResult(n, call, node, d.Is(m.get(fieldIsError), jsonspan.True), false)
		defer r.closeResult()
	}
	cited := filled(d, m.get(fieldAnnotations))
	content := m.get(fieldContent)
	if fault := chatContent(r, n, role, content, cited); fault != 0 {
		return fault
	}
	if refusal := m.str(d, fieldRefusal); refusal != jsonspan.None && role == Assistant {
		r.add(AssistantText, n, refusal, true)
	}
	if calls != jsonspan.None {
		return chatCalls(r, n, calls)
	}
	if legacy != jsonspan.None {
		var f fields
		if !d.Is(legacy, jsonspan.Object) {
			return ForeignShape
		}
		if !f.read(d, legacy) {
			return DuplicateKey
		}
		r.addCall(n, "function", jsonspan.None, f.str(d, fieldName), f.get(fieldArguments))
	}
	return 0
}

// chatReasoning adds the reasoning of an assistant message. What stands beside
// a signature or structured details must go back unchanged.
func chatReasoning(r *Request, n int, m *fields) fault {
	d := &r.Doc
	details := m.given(d, fieldReasoningDetails)
	signed := filled(d, details) || filled(d, m.get(fieldThinkingBlocks)) || filled(d, m.get(fieldSignature))
	for _, id := range [...]field{fieldReasoningContent, fieldReasoning} {
		if text := m.str(d, id); text != jsonspan.None {
			r.add(Reasoning, n, text, signed)
		}
	}
	var f fields
	for e := d.First(details); e != jsonspan.None; e = d.Next(e) {
		if !d.Is(e, jsonspan.Object) {
			continue
		}
		if !f.read(d, e) {
			return DuplicateKey
		}
		for _, id := range [...]field{fieldText, fieldSummary, fieldData} {
			if text := f.str(d, id); text != jsonspan.None {
				r.add(Reasoning, n, text, true)
			}
		}
	}
	return 0
}

// chatContent adds the texts of a message's content.
func chatContent(r *Request, n int, role Role, content jsonspan.Ref, cited bool) fault {
	d := &r.Doc
	unknown := role == NoRole
	switch d.Kind(content) {
	case jsonspan.Null: // absent, too
		return 0
	case jsonspan.String:
		r.addSaid(n, role, content, unknown || cited)
		return 0
	case jsonspan.Array:
	default:
		return ForeignShape
	}
	var p fields
	for part := d.First(content); part != jsonspan.None; part = d.Next(part) {
		switch d.Kind(part) {
		case jsonspan.String: // some servers take plain strings for parts
			r.addSaid(n, role, part, true)
			continue
		case jsonspan.Object:
		default:
			return ForeignShape
		}
		if !p.read(d, part) {
			return DuplicateKey
		}
		switch string(d.Inner(p.get(fieldType))) {
		case "text":
			if text := p.str(d, fieldText); text != jsonspan.None {
				r.addSaid(n, role, text, unknown || cited || filled(d, p.get(fieldAnnotations)) || filled(d, p.get(fieldCitations)))
			}
		case "thinking": // Mistral: an array of text parts
			for t := d.First(p.get(fieldThinking)); t != jsonspan.None; t = d.Next(t) {
				if text := d.Get(t, "text"); d.Is(text, jsonspan.String) {
					r.add(Reasoning, n, text, true)
				}
			}
		case "image_url", "input_audio", "file":
		default:
			r.addUnknown(n, role, &p)
		}
	}
	return 0
}

// addSaid adds a text that role says in message n, within the open result if
// it is a tool's.
func (r *Request) addSaid(n int, role Role, node jsonspan.Ref, frozen bool) {
	if role == Tool {
		r.addResultText(node, frozen)
		return
	}
	r.add(textKind(role), n, node, frozen)
}

// addUnknown adds the texts of a part whose type is not known.
func (r *Request) addUnknown(n int, role Role, part *fields) {
	for _, id := range [...]field{fieldText, fieldContent, fieldRefusal} {
		if text := part.str(&r.Doc, id); text != jsonspan.None {
			r.addSaid(n, role, text, true)
		}
	}
}

func chatCalls(r *Request, n int, calls jsonspan.Ref) fault {
	d := &r.Doc
	if !d.Is(calls, jsonspan.Array) {
		return ForeignShape
	}
	var c, f fields
	for call := d.First(calls); call != jsonspan.None; call = d.Next(call) {
		if !d.Is(call, jsonspan.Object) {
			return ForeignShape
		}
		if !c.read(d, call) {
			return DuplicateKey
		}
		kind, body, text := "function", c.get(fieldFunction), fieldArguments
		if d.Equal(c.get(fieldType), "custom") {
			kind, body, text = "custom", c.get(fieldCustom), fieldInput
		}
		f = fields{}
		if d.Is(body, jsonspan.Object) && !f.read(d, body) {
			return DuplicateKey
		}
		r.addCall(n, kind, c.str(d, fieldID), f.str(d, fieldName), f.get(text))
	}
	return 0
}

// legacyCall is the function_call that a message of role function answers: the
// one of the message before it, if the names agree.
func legacyCall(r *Request, message int, name jsonspan.Ref) int {
	last := len(r.Calls) - 1
	if last < 0 {
		return -1
	}
	c := &r.Calls[last]
	if c.Message != message-1 || c.ID != jsonspan.None || c.Results > 0 ||
		name == jsonspan.None || c.Name == jsonspan.None || !sameText(&r.Doc, c.Name, []byte(r.Doc.Text(name))) {
		return -1
	}
	return last
}

// appendChatSystem adds text to the system or developer message that the
// conversation starts with, or a system message in front of it. A system
// message further on does not count: it may come later in a conversation
// whose start was sent without it.
func appendChatSystem(r *Request, text string) ([]jsonspan.Edit, bool) {
	d := &r.Doc
	first := d.First(r.List)
	if first == jsonspan.None {
		return nil, false
	}
	if len(r.Messages) == 0 || r.Messages[0].Role != System {
		at := d.Span(first).Start
		message := append(chatText("system", text), ',')
		return []jsonspan.Edit{{Span: jsonspan.Span{Start: at, End: at}, New: message}}, true
	}
	switch content := d.Get(first, "content"); d.Kind(content) {
	case jsonspan.String:
		return appendToString(d, content, text)
	case jsonspan.Array:
		return appendElement(d, content, textPart("text", text))
	}
	return nil, false
}

// chatReply is how chat completions answer, in one object or in chunks.
var chatReply = func() *reply {
	message := map[string]sight{
		"content":                         seeText,
		"content[].text":                  seeText, // Mistral
		"content[].thinking[].text":       seeThought,
		"reasoning_content":               seeThought,
		"reasoning":                       seeThought,
		"refusal":                         seeRefusal,
		"tool_calls[]":                    seeCall,
		"tool_calls[].function.arguments": seeArguments,
		"tool_calls[].custom.input":       seeArguments,
		"function_call":                   seeCall,
		"function_call.arguments":         seeArguments,
		"audio":                           seeMedia,
		"images[]":                        seeMedia,
		"annotations[]":                   seeServed, // of a web search
		"executed_tools[]":                seeServed, // Groq
		"reasoning_details[].data":        seeThought,
		"reasoning_details[].type":        seeItem,
	}
	root := watching(completionSights, errorSights,
		below("choices[].message.", message), below("choices[].delta.", message),
		chatUsage("usage"), chatUsage("choices[].usage"), chatUsage("x_groq.usage"))
	return &reply{json: root, event: root, commit: commitCompletion, marked: true}
}()
