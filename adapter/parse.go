package adapter

import (
	"errors"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// ParseError says why Parse made no view of a body.
type ParseError uint8

// Reasons why a body has no view.
const (
	_             ParseError = iota
	InvalidJSON              // not valid JSON
	TooDeep                  // nested deeper than jsonspan.MaxDepth
	TooLarge                 // larger than jsonspan can address
	NotObject                // the root is not an object
	DuplicateKey             // a key that matters stands twice in one object
	ForeignShape             // not the shape of the format
	UnknownFormat            // Parse was called for a format that does not exist
)

func (e ParseError) Error() string {
	switch e {
	case InvalidJSON:
		return "the body is not valid JSON"
	case TooDeep:
		return "the body is nested too deep"
	case TooLarge:
		return "the body is too large"
	case NotObject:
		return "the body is not a JSON object"
	case DuplicateKey:
		return "a key stands twice in one object"
	case ForeignShape:
		return "the body does not have the shape of its endpoint"
	}
	return "unknown wire format"
}

// fault is a ParseError inside of this package, 0 if all is well.
type fault = ParseError

// Parse makes r the view of body, which must not change while r is in use. On
// an error, which is a ParseError, Messages, Blocks, Calls and Results are
// empty: nothing may be changed in the body. Unless the body is no JSON
// object, Format, Root, Model, ModelState and Stream are set even then.
func (r *Request) Parse(f Format, body []byte) error {
	r.clear()
	if f >= maxFormats || wires[f] == nil {
		return UnknownFormat
	}
	if err := r.Doc.Parse(body); err != nil {
		switch {
		case errors.Is(err, jsonspan.ErrDepth):
			return TooDeep
		case errors.Is(err, jsonspan.ErrTooLarge):
			return TooLarge
		}
		return InvalidJSON
	}
	root := r.Doc.Root()
	if !r.Doc.Is(root, jsonspan.Object) {
		return NotObject
	}
	r.Format, r.Root = f, root
	members := &r.members
	unique := members.read(&r.Doc, root)
	r.findModel(members)
	r.Stream = r.Doc.Is(members.get(fieldStream), jsonspan.True)
	if !unique {
		return DuplicateKey
	}
	if fault := wires[f].parse(r, members); fault != 0 {
		r.drop()
		return fault
	}
	return nil
}

// Reset forgets the body but keeps the memory, for a pool.
func (r *Request) Reset() {
	r.Doc.Reset()
	r.clear()
	r.args.reset()
}

func (r *Request) clear() {
	r.Format, r.Root, r.Stream = Unknown, jsonspan.None, false
	r.Model, r.ModelState = jsonspan.None, ModelAbsent
	r.drop()
}

// drop empties everything that a pass might act upon.
func (r *Request) drop() {
	r.System, r.List, r.Tools, r.Schema = jsonspan.None, jsonspan.None, jsonspan.None, false
	r.Messages, r.Blocks, r.Calls, r.Results = r.Messages[:0], r.Blocks[:0], r.Calls[:0], r.Results[:0]
	r.ids.clear()
	r.args.clear()
}

// findModel sets Model and ModelState. Names that only some servers take for
// "model" are looked for one by one, since fields knows the exact ones only.
func (r *Request) findModel(root *fields) {
	const name = "model"
	d := &r.Doc
	keys := 0
	for k := d.First(r.Root); k != jsonspan.None; k = d.Next(k) {
		key := d.Inner(k)
		if d.Escaped(k) && len(key) <= 6*len(name) {
			var buf [6 * len(name)]byte
			key = jsonspan.AppendUnquoted(buf[:0], key)
		}
		if len(key) == len(name) && strings.EqualFold(string(key), name) {
			keys++
		}
	}
	value := root.get(fieldModel)
	switch {
	case keys > 1, keys == 1 && value == jsonspan.None:
		r.ModelState = ModelDuplicate
	case keys == 0:
		r.ModelState = ModelAbsent
	case d.Is(value, jsonspan.String):
		r.Model, r.ModelState = value, ModelUnique
	default:
		r.ModelState = ModelNotString
	}
}

// add appends a block that belongs to no call.
func (r *Request) add(kind BlockKind, message int, node jsonspan.Ref, frozen bool) {
	r.Blocks = append(r.Blocks, Block{Kind: kind, Message: message, Node: node, Call: -1, Frozen: frozen})
}

// addCall appends a call and its arguments, if they are a string.
func (r *Request) addCall(message int, kind string, id, name, arguments jsonspan.Ref) int {
	d := &r.Doc
	n := len(r.Calls)
	if d.Kind(arguments) == jsonspan.Null {
		arguments = jsonspan.None
	}
	r.Calls = append(r.Calls, Call{Message: message, ID: id, Name: name, Type: kind, Arguments: arguments})
	if d.Is(arguments, jsonspan.String) {
		r.Blocks = append(r.Blocks, Block{Kind: ToolArguments, Message: message, Node: arguments, Call: n})
	}
	r.ids.add(r, id, n)
	r.Messages[message].Calls++
	return n
}

// openResult appends a result that answers call, or -1. The blocks added
// until closeResult are its.
func (r *Request) openResult(message, call int, node jsonspan.Ref, isError, frozen bool) {
	n := len(r.Blocks)
	frozen = frozen || call >= 0 && r.Calls[call].Programmatic
	r.Results = append(r.Results, Result{Message: message, Call: call, Node: node, IsError: isError, Frozen: frozen, First: n, End: n})
	r.Messages[message].Results++
	if call >= 0 {
		r.Calls[call].Results++
	}
}

func (r *Request) closeResult() { r.Results[len(r.Results)-1].End = len(r.Blocks) }

// addResultText appends a text of the open result.
func (r *Request) addResultText(node jsonspan.Ref, frozen bool) {
	res := &r.Results[len(r.Results)-1]
	r.Blocks = append(r.Blocks, Block{Kind: ToolResult, Message: res.Message, Node: node, Call: res.Call, IsError: res.IsError, Frozen: frozen || res.Frozen})
}

// programmatic reports whether a member called caller says that a call was not
// made by the model itself but by code that the provider runs.
//
// Sources: OpenAI's programmatic tool calling ("program"), Anthropic's
// ("code_execution_..."); both call the other kind "direct".
func programmatic(d *jsonspan.Doc, caller jsonspan.Ref) bool {
	return d.Kind(caller) != jsonspan.Null && !d.Equal(only(d, caller, "type"), "direct")
}

// beginMessage appends a message, endMessage closes it.
func (r *Request) beginMessage(node jsonspan.Ref, role Role, kind string) int {
	n := len(r.Blocks)
	r.Messages = append(r.Messages, Message{Node: node, Role: role, Type: kind, First: n, End: n})
	return len(r.Messages) - 1
}

func (r *Request) endMessage() { r.Messages[len(r.Messages)-1].End = len(r.Blocks) }

// roleOf is the role that the string node names, NoRole if it is not known.
func roleOf(d *jsonspan.Doc, node jsonspan.Ref) Role {
	switch string(d.Inner(node)) {
	case "system", "developer":
		return System
	case "user":
		return User
	case "assistant":
		return Assistant
	case "tool", "function":
		return Tool
	}
	return NoRole
}

// textKind is the kind of what role says in plain text.
func textKind(role Role) BlockKind {
	switch role {
	case System:
		return SystemText
	case Assistant:
		return AssistantText
	case Tool:
		return ToolResult
	}
	return UserText
}

// filled reports whether node is an array or object that is not empty, or a
// string that is not empty.
func filled(d *jsonspan.Doc, node jsonspan.Ref) bool {
	switch d.Kind(node) {
	case jsonspan.String:
		return len(d.Inner(node)) > 0
	case jsonspan.Array, jsonspan.Object:
		return d.First(node) != jsonspan.None
	}
	return false
}

// structured reports whether a format object (response_format, text.format,
// output_format) demands anything but plain text.
func structured(d *jsonspan.Doc, node jsonspan.Ref) (bool, fault) {
	if d.Kind(node) != jsonspan.Object {
		return d.Kind(node) != jsonspan.Null, 0
	}
	var f fields
	if !f.read(d, node) {
		return true, DuplicateKey
	}
	return !d.Equal(f.get(fieldType), "text"), 0
}
