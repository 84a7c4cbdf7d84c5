package adapter

import (
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// Anthropic messages. Source: Anthropic's API reference and Go SDK.

func init() {
	register(Messages, &wire{
		name: "messages", suffix: "/messages", parse: parseMessages, appendSystem: appendMessagesSystem, reply: messagesReply, dialect: anthropic,
		foreign: func(path string) bool {
			// OpenAI's threads and stored completions have messages, too.
			return strings.Contains(path, "/threads/") || strings.Contains(path, "/chat/completions/")
		},
	})
}

func parseMessages(r *Request, root *fields) fault {
	d := &r.Doc
	r.Tools = root.given(d, fieldTools)
	if format := root.given(d, fieldOutputFormat); format != jsonspan.None {
		demanded, fault := structured(d, format)
		if fault != 0 {
			return fault
		}
		r.Schema = demanded
	}
	if config := root.given(d, fieldOutputConfig); d.Is(config, jsonspan.Object) {
		var f fields
		if !f.read(d, config) {
			return DuplicateKey
		}
		demanded, fault := structured(d, f.given(d, fieldFormat))
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
	if system := root.given(d, fieldSystem); system != jsonspan.None {
		r.System = system
		if fault := messagesContent(r, -1, System, system); fault != 0 {
			return fault
		}
	}
	var m fields
	for node := d.First(messages); node != jsonspan.None; node = d.Next(node) {
		if !d.Is(node, jsonspan.Object) {
			return ForeignShape
		}
		if !m.read(d, node) {
			return DuplicateKey
		}
		roleNode := m.str(d, fieldRole)
		if roleNode == jsonspan.None {
			return ForeignShape
		}
		role := roleOf(d, roleNode)
		if role == Tool {
			role = NoRole // results are parts of a user message here
		}
		n := r.beginMessage(node, role, "")
		if fault := messagesContent(r, n, role, m.get(fieldContent)); fault != 0 {
			return fault
		}
		r.endMessage()
	}
	return 0
}

// messagesContent adds the texts of the content of message n, or of system
// with n = -1.
func messagesContent(r *Request, n int, role Role, content jsonspan.Ref) fault {
	d := &r.Doc
	switch d.Kind(content) {
	case jsonspan.Null: // absent, too
		return 0
	case jsonspan.String:
		r.add(textKind(role), n, content, role == NoRole)
		return 0
	case jsonspan.Array:
	default:
		return ForeignShape
	}
	var p fields
	for part := d.First(content); part != jsonspan.None; part = d.Next(part) {
		if !d.Is(part, jsonspan.Object) {
			return ForeignShape
		}
		if !p.read(d, part) {
			return DuplicateKey
		}
		if fault := messagesPart(r, n, role, part, &p); fault != 0 {
			return fault
		}
	}
	return 0
}

func messagesPart(r *Request, n int, role Role, part jsonspan.Ref, p *fields) fault {
	d := &r.Doc
	switch string(d.Inner(p.get(fieldType))) {
	case "text":
		if text := p.str(d, fieldText); text != jsonspan.None {
			r.add(textKind(role), n, text, role == NoRole || filled(d, p.get(fieldCitations)))
		}
	case "thinking":
		if text := p.str(d, fieldThinking); text != jsonspan.None {
			r.add(Reasoning, n, text, true)
		}
	case "redacted_thinking":
		if text := p.str(d, fieldData); text != jsonspan.None {
			r.add(Reasoning, n, text, true)
		}
	case "tool_use":
		if role != Assistant {
			return ForeignShape
		}
		call := r.addCall(n, "tool_use", p.str(d, fieldID), p.str(d, fieldName), p.get(fieldInput))
		r.Calls[call].Programmatic = programmatic(d, p.get(fieldCaller))
	case "tool_result":
		if role != User {
			return ForeignShape
		}
		r.openResult(n, r.ids.answer(r, p.get(fieldToolUseID)), part, d.Is(p.get(fieldIsError), jsonspan.True), false)
		fault := messagesResult(r, p.get(fieldContent), false)
		r.closeResult()
		return fault
	case "mcp_tool_result":
		// The provider ran the tool and wants its result back as it was.
		return messagesForeignResult(r, n, p.get(fieldContent))
	case "image", "document", "container_upload", "server_tool_use", "mcp_tool_use":
	default:
		// Also the results of server tools, which hold encrypted content.
		for _, id := range [...]field{fieldText, fieldContent} {
			if text := p.str(d, id); text != jsonspan.None {
				r.add(textKind(role), n, text, true)
			}
		}
	}
	return 0
}

// messagesResult adds the texts of the open tool result.
func messagesResult(r *Request, content jsonspan.Ref, frozen bool) fault {
	d := &r.Doc
	switch d.Kind(content) {
	case jsonspan.Null: // absent, too: a tool that said nothing
		return 0
	case jsonspan.String:
		r.addResultText(content, frozen)
		return 0
	case jsonspan.Array:
	default:
		return ForeignShape
	}
	var p fields
	for part := d.First(content); part != jsonspan.None; part = d.Next(part) {
		if !d.Is(part, jsonspan.Object) {
			return ForeignShape
		}
		if !p.read(d, part) {
			return DuplicateKey
		}
		switch string(d.Inner(p.get(fieldType))) {
		case "text":
			if text := p.str(d, fieldText); text != jsonspan.None {
				r.addResultText(text, frozen || filled(d, p.get(fieldCitations)))
			}
		case "search_result":
			// Citations point into its texts.
			if fault := messagesResult(r, p.get(fieldContent), true); fault != 0 {
				return fault
			}
		case "image", "document", "tool_reference":
		default:
			for _, id := range [...]field{fieldText, fieldContent} {
				if text := p.str(d, id); text != jsonspan.None {
					r.addResultText(text, true)
				}
			}
		}
	}
	return 0
}

// messagesForeignResult adds the texts of a result that no call of the request's
// Calls led to. They are frozen.
func messagesForeignResult(r *Request, n int, content jsonspan.Ref) fault {
	d := &r.Doc
	if d.Is(content, jsonspan.String) {
		r.add(ToolResult, n, content, true)
		return 0
	}
	var p fields
	for part := d.First(content); part != jsonspan.None; part = d.Next(part) {
		if !d.Is(part, jsonspan.Object) {
			return ForeignShape
		}
		if !p.read(d, part) {
			return DuplicateKey
		}
		if text := p.str(d, fieldText); text != jsonspan.None {
			r.add(ToolResult, n, text, true)
		}
	}
	return 0
}

// appendMessagesSystem adds text to system: to the string, as a new last block,
// or as a new system.
func appendMessagesSystem(r *Request, text string) ([]jsonspan.Edit, bool) {
	d := &r.Doc
	switch d.Kind(r.System) {
	case jsonspan.String:
		return appendToString(d, r.System, text)
	case jsonspan.Array:
		return appendElement(d, r.System, textPart("text", text))
	}
	if hasMember(d, r.Root, "system") || d.First(r.List) == jsonspan.None {
		return nil, false
	}
	return appendMember(d, r.Root, "system", text)
}

// messagesReply is how messages are answered.
var messagesReply = func() *reply {
	message := map[string]sight{
		"id":                 seeID,
		"model":              seeModel,
		"stop_reason":        seeFinish,
		"content[].type":     seeItem,
		"content[].text":     seeText,
		"content[].thinking": seeThought,
		"usage":              seeUsage,
	}
	start := below("content_block.", map[string]sight{"type": seeItem, "text": seeText, "thinking": seeThought})
	delta := below("delta.", map[string]sight{
		"text":         seeText,
		"thinking":     seeThought,
		"partial_json": seePiece, // of a call or of a server tool's
		"stop_reason":  seeFinish,
	})
	kind := map[string]sight{"type": seeType}
	return &reply{
		json:       watching(kind, message, messagesUsage("usage"), errorSights),
		event:      watching(kind, below("message.", message), messagesUsage("message.usage"), start, delta, messagesUsage("usage"), errorSights),
		commit:     commitMessages,
		cumulative: true,
	}
}()

// messagesUsage is what is watched of a usage object at path.
func messagesUsage(path string) map[string]sight {
	return below(path, map[string]sight{
		"":                                       seeUsage,
		".input_tokens":                          seeCounter + sight(countInput),
		".output_tokens":                         seeCounter + sight(countOutput),
		".cache_read_input_tokens":               seeCounter + sight(countRead),
		".cache_creation_input_tokens":           seeCounter + sight(countWrite),
		".output_tokens_details.thinking_tokens": seeCounter + sight(countReasoning),
		".cache_creation.ephemeral_5m_input_tokens": seeCounter + sight(countWrite5m),
		".cache_creation.ephemeral_1h_input_tokens": seeCounter + sight(countWrite1h),
	})
}

// commitMessages ends a body or an event.
func commitMessages(m *Meter) {
	a := &m.answer
	switch string(m.kind.bytes()) {
	case "error":
		a.Failed = true
	case "message":
		m.terminated = !m.stream
	case "message_start":
		a.choice(0)
	case "content_block_start":
		m.blocks++
	case "content_block_stop":
		m.blocks--
	case "message_stop":
		if m.blocks != 0 {
			a.fault(FaultCut) // a block did not end
		}
		m.terminated = true
	}
}
