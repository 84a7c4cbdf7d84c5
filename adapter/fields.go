package adapter

import "github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"

// field is a member name that decides how a request is read. One that stands
// twice in an object makes the whole request unreadable: nobody can say which
// of the two the provider takes.
type field uint8

const (
	noField field = iota
	fieldAction
	fieldAnnotations
	fieldArguments
	fieldCallID
	fieldCaller
	fieldCitations
	fieldContent
	fieldCustom
	fieldData
	fieldEncryptedContent
	fieldFormat
	fieldFunction
	fieldFunctionCall
	fieldID
	fieldInput
	fieldInstructions
	fieldIsError
	fieldMessages
	fieldModel
	fieldName
	fieldOperation
	fieldOutput
	fieldOutputConfig
	fieldOutputFormat
	fieldPrompt
	fieldReasoning
	fieldReasoningContent
	fieldReasoningDetails
	fieldRefusal
	fieldResponseFormat
	fieldRole
	fieldSignature
	fieldStatus
	fieldStderr
	fieldStdout
	fieldStream
	fieldSummary
	fieldSystem
	fieldText
	fieldThinking
	fieldThinkingBlocks
	fieldToolCallID
	fieldToolCalls
	fieldToolUseID
	fieldTools
	fieldType
	// fieldGuided stands for the members by which local servers are told to
	// constrain the output (vLLM, SGLang, llama.cpp). There may be several.
	fieldGuided
	numFields
)

// fieldOf is the field that a decoded member name stands for.
func fieldOf(name []byte) field {
	switch string(name) {
	case "action":
		return fieldAction
	case "annotations":
		return fieldAnnotations
	case "arguments":
		return fieldArguments
	case "call_id":
		return fieldCallID
	case "caller":
		return fieldCaller
	case "citations":
		return fieldCitations
	case "content":
		return fieldContent
	case "custom":
		return fieldCustom
	case "data":
		return fieldData
	case "encrypted_content":
		return fieldEncryptedContent
	case "format":
		return fieldFormat
	case "function":
		return fieldFunction
	case "function_call":
		return fieldFunctionCall
	case "id":
		return fieldID
	case "input":
		return fieldInput
	case "instructions":
		return fieldInstructions
	case "is_error":
		return fieldIsError
	case "messages":
		return fieldMessages
	case "model":
		return fieldModel
	case "name":
		return fieldName
	case "operation":
		return fieldOperation
	case "output":
		return fieldOutput
	case "output_config":
		return fieldOutputConfig
	case "output_format":
		return fieldOutputFormat
	case "prompt":
		return fieldPrompt
	case "reasoning":
		return fieldReasoning
	case "reasoning_content":
		return fieldReasoningContent
	case "reasoning_details":
		return fieldReasoningDetails
	case "refusal":
		return fieldRefusal
	case "response_format":
		return fieldResponseFormat
	case "role":
		return fieldRole
	case "signature":
		return fieldSignature
	case "status":
		return fieldStatus
	case "stderr":
		return fieldStderr
	case "stdout":
		return fieldStdout
	case "stream":
		return fieldStream
	case "summary":
		return fieldSummary
	case "system":
		return fieldSystem
	case "text":
		return fieldText
	case "thinking":
		return fieldThinking
	case "thinking_blocks":
		return fieldThinkingBlocks
	case "tool_call_id":
		return fieldToolCallID
	case "tool_calls":
		return fieldToolCalls
	case "tool_use_id":
		return fieldToolUseID
	case "tools":
		return fieldTools
	case "type":
		return fieldType
	case "guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs",
		"json_schema", "grammar", "regex", "ebnf":
		return fieldGuided
	}
	return noField
}

// fields are the structural members of one object: the value by field, 0 for
// one that is absent (0 is the root, which is no member).
type fields struct {
	value [numFields]jsonspan.Ref
	twice field // a field that stands more than once, noField if there is none
}

// read fills f with the members of obj, which is an object, and reports
// whether each field stands there at most once.
func (f *fields) read(d *jsonspan.Doc, obj jsonspan.Ref) bool {
	*f = fields{}
	var buf [24]byte // longer than every field's name
	for k := d.First(obj); k != jsonspan.None; k = d.Next(k) {
		name := d.Inner(k)
		if d.Escaped(k) {
			// A name takes at most six bytes per letter.
			if len(name) > 6*len(buf) {
				continue
			}
			name = jsonspan.AppendUnquoted(buf[:0], name)
		}
		id := fieldOf(name)
		if id == noField {
			continue
		}
		if f.value[id] != 0 && id != fieldGuided && f.twice == noField {
			f.twice = id
		}
		f.value[id] = d.Value(k)
	}
	return f.twice == noField
}

// get is the value of id, None if it is absent.
func (f *fields) get(id field) jsonspan.Ref {
	if v := f.value[id]; v != 0 {
		return v
	}
	return jsonspan.None
}

// given is get, with null for absent.
func (f *fields) given(d *jsonspan.Doc, id field) jsonspan.Ref {
	v := f.value[id]
	if v == 0 || d.Kind(v) == jsonspan.Null {
		return jsonspan.None
	}
	return v
}

// str is the string that is the value of id, None if it is not a string.
func (f *fields) str(d *jsonspan.Doc, id field) jsonspan.Ref {
	if v := f.value[id]; v != 0 && d.Kind(v) == jsonspan.String {
		return v
	}
	return jsonspan.None
}
