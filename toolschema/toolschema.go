// Package toolschema changes the JSON schemas of the tools in a request where a
// provider would reject them. A schema that needs nothing stays as it is, byte
// for byte, and costs a look at it; of one that needs something only the
// objects concerned are written anew, their keys in the same order.
//
// # Gemini
//
// Google's endpoints take a subset of OpenAPI 3.0.
//
//   - Dropped: $schema, $id, $anchor, $comment, additionalProperties,
//     unevaluatedProperties, patternProperties, propertyNames,
//     dependentRequired, dependentSchemas, if, then, else, not, contains,
//     minContains, maxContains, uniqueItems, multipleOf, examples, readOnly,
//     writeOnly, deprecated, contentEncoding, contentMediaType. A format other
//     than date-time and enum (of a string) or float, double, int32 and int64
//     (of a number). An enum or a const that holds more than strings and null.
//   - const becomes an enum of one; oneOf becomes anyOf. Where the schema has
//     that one already, it is dropped (const) or left (oneOf).
//   - exclusiveMinimum and exclusiveMaximum become minimum and maximum: the
//     next whole number if the type is integer, else the number itself, which
//     is looser. They are dropped if there is a minimum or maximum, or if they
//     are no numbers.
//   - A type ["T", "null"] becomes "T" with nullable, an anyOf of one schema and
//     {"type": "null"} that schema with nullable; null in an enum, too. A list
//     of more than one other type is left.
//   - An allOf of one schema becomes that schema.
//   - Nothing is merged where both sides restrict values by the same keyword;
//     of title, description and default the outer one stays.
//   - $ref to $defs or definitions of the same schema is replaced by what it
//     names and these are dropped, if all the references of the schema can be
//     replaced: none leads back to itself, and the result stays within bounds.
//     Otherwise all of them are left.
//   - The schema true becomes {}.
//
// # Strict
//
// OpenAI accepts a tool that says "strict": true only if every object in its
// schema has "additionalProperties": false and requires all of its properties.
// Both are filled in, for such tools and no others. A property that was optional
// may then be null instead of absent.
package toolschema

import (
	"fmt"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// Mode is the provider whose rules the schemas are to meet.
type Mode uint8

// Modes.
const (
	Off Mode = iota
	Strict
	Gemini
)

// Names are the names of the modes, by Mode.
var Names = [...]string{Off: "off", Strict: "strict", Gemini: "gemini"}

// ParseMode reads the name of a mode; "" is Off.
func ParseMode(name string) (Mode, error) {
	for m, known := range Names {
		if name == known {
			return Mode(m), nil
		}
	}
	if name == "" {
		return Off, nil
	}
	return Off, fmt.Errorf("unknown tool schema %q, expected strict, gemini or off", name)
}

// Edits appends to dst what has to change in the request that doc holds. It
// allocates nothing when nothing has to.
func Edits(dst []jsonspan.Edit, doc *jsonspan.Doc, format adapter.Format, mode Mode) []jsonspan.Edit {
	if mode == Off {
		return dst
	}
	root := doc.Root()
	for tool := doc.First(doc.Get(root, "tools")); tool != jsonspan.None; tool = doc.Next(tool) {
		if !doc.Is(tool, jsonspan.Object) {
			continue
		}
		switch format {
		case adapter.Chat:
			dst = edit(dst, doc, doc.Get(tool, "function"), "parameters", mode)
		case adapter.Responses:
			dst = edit(dst, doc, tool, "parameters", mode)
		case adapter.Messages:
			if mode == Gemini {
				dst = edit(dst, doc, tool, "input_schema", mode)
			}
		}
	}
	if format == adapter.Chat {
		for f := doc.First(doc.Get(root, "functions")); f != jsonspan.None; f = doc.Next(f) {
			dst = edit(dst, doc, f, "parameters", mode)
		}
	}
	return dst
}

// edit appends the edit for the schema under name in the function f.
func edit(dst []jsonspan.Edit, doc *jsonspan.Doc, f jsonspan.Ref, name string, mode Mode) []jsonspan.Edit {
	if !doc.Is(f, jsonspan.Object) {
		return dst
	}
	schema := doc.Get(f, name)
	if !doc.Is(schema, jsonspan.Object) {
		return dst
	}
	var out []byte
	switch mode {
	case Gemini:
		c := gemini{doc: doc, root: schema}
		c.look()
		if !c.needs(schema) {
			return dst
		}
		out = c.schema(nil, schema)
	case Strict:
		if !doc.Is(doc.Get(f, "strict"), jsonspan.True) {
			return dst
		}
		s := strict{doc}
		if !s.needs(schema) {
			return dst
		}
		out = s.schema(nil, schema)
	}
	return append(dst, jsonspan.Edit{Span: doc.Span(schema), New: out})
}

// object writes an object whose members come, for the most part, from others.
// White space in front of keys is kept.
type object struct {
	doc  *jsonspan.Doc
	dst  []byte
	more bool // a member was written
}

// key writes what stands in front of the value of the member k.
func (o *object) key(k jsonspan.Ref) {
	o.indent(k)
	src := o.doc.Source()
	o.dst = append(o.dst, src[o.doc.Span(k).Start:o.doc.Span(o.doc.Value(k)).Start]...)
}

// indent writes the comma and the white space in front of the key k.
func (o *object) indent(k jsonspan.Ref) {
	if o.more {
		o.dst = append(o.dst, ',')
	}
	o.more = true
	src, at := o.doc.Source(), o.doc.Span(k).Start
	o.dst = append(o.dst, spaceBefore(src, at)...)
}

// raw writes the member k as it stands.
func (o *object) raw(k jsonspan.Ref) {
	o.key(k)
	o.dst = append(o.dst, o.doc.Raw(o.doc.Value(k))...)
}

// add writes a member of our own.
func (o *object) add(text string) {
	if o.more {
		o.dst = append(o.dst, ',')
	}
	o.more = true
	o.dst = append(o.dst, text...)
}

// close writes the end of the object like that of n.
func (o *object) close(n jsonspan.Ref) []byte {
	at := o.doc.Span(n).End - 1
	return append(append(o.dst, spaceBefore(o.doc.Source(), at)...), '}')
}

// spaceBefore is the white space that ends at src[at].
func spaceBefore(src []byte, at int) []byte {
	from := at
	for from > 0 && (src[from-1] == ' ' || src[from-1] == '\n' || src[from-1] == '\t' || src[from-1] == '\r') {
		from--
	}
	return src[from:at]
}

// mapOf writes the object n with every value replaced by what f writes.
func mapOf(doc *jsonspan.Doc, dst []byte, n jsonspan.Ref, f func([]byte, jsonspan.Ref) []byte) []byte {
	o := object{doc: doc, dst: append(dst, '{')}
	for k := doc.First(n); k != jsonspan.None; k = doc.Next(k) {
		o.key(k)
		o.dst = f(o.dst, doc.Value(k))
	}
	return o.close(n)
}

// listOf writes the array n with every element replaced by what f writes.
func listOf(doc *jsonspan.Doc, dst []byte, n jsonspan.Ref, f func([]byte, jsonspan.Ref) []byte) []byte {
	dst = append(dst, '[')
	for e, first := doc.First(n), true; e != jsonspan.None; e, first = doc.Next(e), false {
		if !first {
			dst = append(dst, ',')
		}
		dst = append(dst, spaceBefore(doc.Source(), doc.Span(e).Start)...)
		dst = f(dst, e)
	}
	return append(append(dst, spaceBefore(doc.Source(), doc.Span(n).End-1)...), ']')
}
