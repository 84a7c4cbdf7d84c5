package adapter

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// OpenAI responses. Source: OpenAI's API reference and Go SDK.

func init() {
	register(Responses, &wire{name: "responses", suffix: "/responses", parse: parseResponses, appendSystem: appendInstructions, reply: responsesReply, dialect: openAI})
}

// itemClass says what an item of input or output is.
type itemClass uint8

const (
	itemMessage    itemClass = iota + 1
	itemReasoning            // reasoning, compaction
	itemCall                 // a call that the client answers
	itemResult               // the client's answer to a call
	itemServerTool           // a tool that the provider runs, call and result in one
	itemOther                // anything else: references, approvals, tool lists
)

// itemType is what is known about one type of item.
type itemType struct {
	name  string
	class itemClass
	role  Role  // whoever made it; a message says so itself
	call  field // where a call's arguments stand
	kind  string
}

// itemTypes are the types of items of the Responses API.
var itemTypes = []itemType{
	{name: "message", class: itemMessage},
	{name: "reasoning", class: itemReasoning, role: Assistant},
	{name: "compaction", class: itemReasoning, role: Assistant},
	{name: "compaction_summary", class: itemReasoning, role: Assistant},
	{name: "function_call", class: itemCall, role: Assistant, call: fieldArguments, kind: "function"},
	{name: "custom_tool_call", class: itemCall, role: Assistant, call: fieldInput, kind: "custom_tool_call"},
	{name: "local_shell_call", class: itemCall, role: Assistant, call: fieldAction, kind: "local_shell_call"},
	{name: "shell_call", class: itemCall, role: Assistant, call: fieldAction, kind: "shell_call"},
	{name: "apply_patch_call", class: itemCall, role: Assistant, call: fieldOperation, kind: "apply_patch_call"},
	{name: "computer_call", class: itemCall, role: Assistant, call: fieldAction, kind: "computer_call"},
	{name: "function_call_output", class: itemResult, role: Tool},
	{name: "custom_tool_call_output", class: itemResult, role: Tool},
	{name: "local_shell_call_output", class: itemResult, role: Tool},
	{name: "shell_call_output", class: itemResult, role: Tool},
	{name: "apply_patch_call_output", class: itemResult, role: Tool},
	{name: "computer_call_output", class: itemResult, role: Tool},
	{name: "mcp_call", class: itemServerTool, role: Assistant},
	{name: "mcp_list_tools", class: itemServerTool, role: Assistant},
	{name: "web_search_call", class: itemServerTool, role: Assistant},
	{name: "file_search_call", class: itemServerTool, role: Assistant},
	{name: "code_interpreter_call", class: itemServerTool, role: Assistant},
	{name: "image_generation_call", class: itemServerTool, role: Assistant},
	{name: "tool_search_call", class: itemServerTool, role: Assistant},
	{name: "program", class: itemServerTool, role: Assistant},
	{name: "program_output", class: itemServerTool, role: Assistant},
	{name: "tool_search_output", class: itemOther},
	{name: "configuration_update", class: itemOther},
	{name: "compaction_trigger", class: itemOther},
	{name: "mcp_approval_request", class: itemOther, role: Assistant},
	{name: "mcp_approval_response", class: itemOther, role: User},
	{name: "additional_tools", class: itemOther, role: System},
	{name: "item_reference", class: itemOther},
}

var itemTypeByName = func() map[string]*itemType {
	m := make(map[string]*itemType, len(itemTypes))
	for i := range itemTypes {
		m[itemTypes[i].name] = &itemTypes[i]
	}
	return m
}()

var unknownItem = &itemType{name: OtherType, class: itemOther}

// itemTypeOf is the type of the item with the members m; nil if it has the
// shape of none.
func itemTypeOf(d *jsonspan.Doc, m *fields) *itemType {
	node := m.given(d, fieldType)
	switch {
	case node == jsonspan.None && m.str(d, fieldRole) != jsonspan.None:
		return itemTypeByName["message"]
	case node == jsonspan.None && m.str(d, fieldID) != jsonspan.None:
		return itemTypeByName["item_reference"]
	case !d.Is(node, jsonspan.String):
		return nil
	}
	if t := itemTypeByName[string(d.Inner(node))]; t != nil {
		return t
	}
	return unknownItem
}

func parseResponses(r *Request, root *fields) fault {
	d := &r.Doc
	r.Tools = root.given(d, fieldTools)
	if config := root.given(d, fieldText); config != jsonspan.None {
		if !d.Is(config, jsonspan.Object) {
			return ForeignShape
		}
		var f fields
		if !f.read(d, config) {
			return DuplicateKey
		}
		demanded, fault := structured(d, f.given(d, fieldFormat))
		if fault != 0 {
			return fault
		}
		r.Schema = demanded
	}
	if format := root.given(d, fieldResponseFormat); format != jsonspan.None {
		demanded, fault := structured(d, format)
		if fault != 0 {
			return fault
		}
		r.Schema = r.Schema || demanded
	}
	if root.get(fieldGuided) != jsonspan.None {
		r.Schema = true
	}
	if instructions := root.given(d, fieldInstructions); instructions != jsonspan.None {
		if !d.Is(instructions, jsonspan.String) {
			return ForeignShape
		}
		r.System = instructions
		r.add(SystemText, -1, instructions, false)
	}
	input := root.given(d, fieldInput)
	switch d.Kind(input) {
	case jsonspan.String:
		r.add(UserText, -1, input, false)
		return 0
	case jsonspan.Null:
		// Without input a stored prompt or a conversation is continued.
		if root.get(fieldMessages) != jsonspan.None {
			return ForeignShape
		}
		return 0
	case jsonspan.Array:
	default:
		return ForeignShape
	}
	r.List = input
	var m fields
	for node := d.First(input); node != jsonspan.None; node = d.Next(node) {
		if !d.Is(node, jsonspan.Object) {
			return ForeignShape
		}
		if !m.read(d, node) {
			return DuplicateKey
		}
		if fault := responsesItem(r, node, &m); fault != 0 {
			return fault
		}
	}
	return 0
}

func responsesItem(r *Request, node jsonspan.Ref, m *fields) fault {
	d := &r.Doc
	t := itemTypeOf(d, m)
	if t == nil {
		return ForeignShape
	}
	role := t.role
	if said := m.str(d, fieldRole); said != jsonspan.None && (t.class == itemMessage || t.class == itemOther) {
		role = roleOf(d, said)
	}
	n := r.beginMessage(node, role, t.name)
	defer r.endMessage()
	switch t.class {
	case itemMessage:
		if role == Tool {
			role = NoRole // results are items of their own here
			r.Messages[n].Role = role
		}
		return responsesContent(r, n, role, m.get(fieldContent), role == NoRole)
	case itemReasoning:
		return responsesReasoning(r, n, m)
	case itemCall:
		call := r.addCall(n, t.kind, m.str(d, fieldCallID), m.str(d, fieldName), m.get(t.call))
		r.Calls[call].Programmatic = programmatic(d, m.get(fieldCaller))
	case itemResult:
		status := d.Inner(m.get(fieldStatus))
		failed := string(status) == "incomplete" || string(status) == "failed" || d.Is(m.get(fieldIsError), jsonspan.True)
		call := r.ids.answer(r, m.get(fieldCallID))
		if t.name == "local_shell_call_output" && call < 0 {
			// It has only an id, which may be that of the call or of its item.
			if call = r.ids.answer(r, m.get(fieldID)); call < 0 {
				call = localShellCall(r, m.str(d, fieldID))
			}
		}
		r.openResult(n, call, node, failed, programmatic(d, m.get(fieldCaller)))
		defer r.closeResult()
		return responsesOutput(r, n, m.get(fieldOutput))
	case itemServerTool:
		// Call and result come from the provider and go back as they were.
		for _, id := range [...]field{fieldArguments, fieldOutput} {
			if text := m.str(d, id); text != jsonspan.None {
				kind := ToolResult
				if id == fieldArguments {
					kind = ToolArguments
				}
				r.add(kind, n, text, true)
			}
		}
	default:
		if d.Kind(m.get(fieldContent)) >= jsonspan.String {
			return responsesContent(r, n, role, m.get(fieldContent), true)
		}
	}
	return 0
}

// localShellCall is the call whose item has the id, -1 if there is none. The
// result of a local shell call may name that instead of the call_id.
func localShellCall(r *Request, id jsonspan.Ref) int {
	d := &r.Doc
	for i := len(r.Calls) - 1; i >= 0 && id != jsonspan.None; i-- {
		c := &r.Calls[i]
		if c.Type != "local_shell_call" {
			continue
		}
		if own := d.Get(r.Messages[c.Message].Node, "id"); d.Is(own, jsonspan.String) && bytes.Equal(d.Inner(own), d.Inner(id)) {
			return i
		}
	}
	return -1
}

// responsesContent adds the texts of the content of a message.
func responsesContent(r *Request, n int, role Role, content jsonspan.Ref, frozen bool) fault {
	d := &r.Doc
	switch d.Kind(content) {
	case jsonspan.Null: // absent, too
		return 0
	case jsonspan.String:
		r.add(textKind(role), n, content, frozen)
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
		case "input_text", "output_text", "text":
			if text := p.str(d, fieldText); text != jsonspan.None {
				r.add(textKind(role), n, text, frozen || filled(d, p.get(fieldAnnotations)))
			}
		case "input_image", "input_file", "input_audio":
		default:
			for _, id := range [...]field{fieldText, fieldRefusal, fieldContent} {
				if text := p.str(d, id); text != jsonspan.None {
					r.add(textKind(role), n, text, true)
				}
			}
		}
	}
	return 0
}

// responsesReasoning adds the texts of a reasoning item. The provider checks
// it against what it sent, so all of them are frozen.
func responsesReasoning(r *Request, n int, m *fields) fault {
	d := &r.Doc
	var p fields
	for _, id := range [...]field{fieldSummary, fieldContent} {
		for part := d.First(m.get(id)); part != jsonspan.None; part = d.Next(part) {
			if !d.Is(part, jsonspan.Object) {
				return ForeignShape
			}
			if !p.read(d, part) {
				return DuplicateKey
			}
			if text := p.str(d, fieldText); text != jsonspan.None {
				r.add(Reasoning, n, text, true)
			}
		}
	}
	if text := m.str(d, fieldEncryptedContent); text != jsonspan.None {
		r.add(Reasoning, n, text, true)
	}
	return 0
}

// responsesOutput adds the texts of the open result: a string, an array of
// parts, or for the shell tool an array of what each command wrote.
func responsesOutput(r *Request, n int, output jsonspan.Ref) fault {
	d := &r.Doc
	switch d.Kind(output) {
	case jsonspan.Null, jsonspan.Object: // absent, too; an object is a screenshot
		return 0
	case jsonspan.String:
		r.addResultText(output, false)
		return 0
	case jsonspan.Array:
	default:
		return ForeignShape
	}
	var p fields
	for part := d.First(output); part != jsonspan.None; part = d.Next(part) {
		if !d.Is(part, jsonspan.Object) {
			return ForeignShape
		}
		if !p.read(d, part) {
			return DuplicateKey
		}
		kind := p.given(d, fieldType)
		switch string(d.Inner(kind)) {
		case "input_text", "output_text", "text":
			if text := p.str(d, fieldText); text != jsonspan.None {
				r.addResultText(text, filled(d, p.get(fieldAnnotations)))
			}
			continue
		case "input_image", "input_file":
			continue
		}
		shell := kind == jsonspan.None && r.Messages[n].Type == "shell_call_output"
		for _, id := range [...]field{fieldStdout, fieldStderr, fieldText, fieldContent} {
			if text := p.str(d, id); text != jsonspan.None {
				r.addResultText(text, !shell || id == fieldText || id == fieldContent)
			}
		}
	}
	return 0
}

// appendInstructions adds text to instructions, or adds instructions. A stored
// prompt may have its own, which new ones would replace.
func appendInstructions(r *Request, text string) ([]jsonspan.Edit, bool) {
	d := &r.Doc
	if r.System != jsonspan.None {
		return appendToString(d, r.System, text)
	}
	if d.Kind(d.Get(r.Root, "prompt")) != jsonspan.Null {
		return nil, false
	}
	if null := d.Get(r.Root, "instructions"); null != jsonspan.None {
		return []jsonspan.Edit{{Span: d.Span(null), New: jsonspan.AppendQuoted(nil, []byte(text))}}, true
	}
	return appendMember(d, r.Root, "instructions", text)
}

// responsesReply is how responses are answered. A stream tells everything
// piece by piece and in its last event once more as a whole.
var responsesReply = func() *reply {
	response := map[string]sight{
		"id":                        seeID,
		"model":                     seeModel,
		"status":                    seeStatus,
		"incomplete_details.reason": seeReason,
		"error":                     seeError,
		"error.code":                seeErrorType,
		"error.message":             seeErrorMessage,
		"output[].type":             seeItem,
		"output[].content[].type":   seeItem,
		"usage":                     seeUsage,
		"usage.input_tokens":        seeCounter + sight(countInput),
		"usage.output_tokens":       seeCounter + sight(countOutput),
		"usage.total_tokens":        seeCounter + sight(countTotal),
		"usage.input_tokens_details.cached_tokens":      seeCounter + sight(countRead),
		"usage.input_tokens_details.cache_write_tokens": seeCounter + sight(countWrite),
		"usage.output_tokens_details.reasoning_tokens":  seeCounter + sight(countReasoning),
	}
	body := map[string]sight{
		"object":                     seeType,
		"output[].content[].text":    seeText,
		"output[].content[].refusal": seeRefusal,
		"output[].summary[].text":    seeThought,
		"output[].arguments":         seePiece,
		"output[].input":             seePiece,
	}
	event := map[string]sight{
		"type":                             seeType,
		"delta":                            seeDelta,
		"item.type":                        seeItem,
		"part.type":                        seeItem,
		"code":                             seeErrorType,
		"message":                          seeErrorMessage,
		"response.output[].content[].text": seeTextAgain,
	}
	return &reply{
		json:   watching(response, body),
		event:  watching(below("response.", response), event, errorSights),
		commit: commitResponses,
	}
}()

// commitResponses ends a body or an event.
func commitResponses(m *Meter) {
	a := &m.answer
	kind, status := string(m.kind.bytes()), string(m.status.bytes())
	if !m.stream {
		if kind == "error" {
			a.Failed = true
		}
		m.endResponse(status)
		return
	}
	switch kind {
	case "response.completed":
		if status == "" {
			status = "completed"
		}
		m.endResponse(status)
	case "response.incomplete":
		m.endResponse("incomplete")
	case "response.failed", "response.cancelled":
		m.endResponse("failed")
	case "error":
		a.Failed = true
	case "response.output_text.delta":
		m.seeDelta(seeText)
	case "response.refusal.delta":
		m.seeDelta(seeRefusal)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		m.seeDelta(seeThought)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta", "response.shell_call_command.delta":
		m.seeDelta(seeArguments)
	case "response.mcp_call_arguments.delta", "response.code_interpreter_call_code.delta":
		m.seeDelta(seePiece)
	case "response.audio.delta", "response.image_generation_call.partial_image":
		a.Output, a.Content = true, true
	}
}

// seeDelta reports the event's delta as what it turned out to be.
func (m *Meter) seeDelta(id sight) {
	if m.delta > 0 {
		m.see(id, jsonspan.String, nil, m.delta)
	}
}

// endResponse notes how the response ended.
func (m *Meter) endResponse(status string) {
	finish := status
	if status == "incomplete" && m.reason.size > 0 {
		finish = string(m.reason.bytes())
	}
	if finish != "" {
		m.answer.finish(0, finish)
	}
	m.terminated = status == "completed"
}
