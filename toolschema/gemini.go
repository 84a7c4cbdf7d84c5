package toolschema

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// gemini writes one schema in the subset that Google takes.
type gemini struct {
	doc    *jsonspan.Doc
	root   jsonspan.Ref
	refs   bool // there are references
	inline bool // and all of them can be replaced
}

// Bounds of what references are replaced by.
const (
	maxRefs  = 256
	maxBytes = 256 << 10
)

// step is what has to be done with one keyword.
type step uint8

const (
	keep step = iota
	drop
	one      // a schema
	many     // an array of schemas
	named    // an object of schemas
	toEnum   // const
	noNull   // an enum with null
	bound    // exclusiveMinimum, exclusiveMaximum
	single   // a type that is a list
	merge    // the only schema that counts of an anyOf or allOf
	toAnyOf  // oneOf
	replaced // $ref
)

// look finds out about references.
func (c *gemini) look() {
	if !bytes.Contains(c.doc.Raw(c.root), []byte(`"$ref"`)) {
		return
	}
	c.refs = true
	left, room := maxRefs, maxBytes
	c.inline = c.resolvable(c.root, nil, &left, &room)
}

// resolvable reports whether every reference in n can be replaced.
func (c *gemini) resolvable(n jsonspan.Ref, open []jsonspan.Ref, left, room *int) bool {
	d := c.doc
	switch d.Kind(n) {
	case jsonspan.Array:
		for e := d.First(n); e != jsonspan.None; e = d.Next(e) {
			if !c.resolvable(e, open, left, room) {
				return false
			}
		}
	case jsonspan.Object:
		for k := d.First(n); k != jsonspan.None; k = d.Next(k) {
			v := d.Value(k)
			switch string(d.Inner(k)) {
			case "$ref":
				target := c.target(v)
				if target == jsonspan.None || c.collide(n, target) {
					return false
				}
				for _, o := range open {
					if o == target {
						return false
					}
				}
				*left--
				*room -= d.Span(target).Len()
				if *left < 0 || *room < 0 || !c.resolvable(target, append(open[:len(open):len(open)], target), left, room) {
					return false
				}
			case "$defs", "definitions":
				if n != c.root && !c.resolvable(v, open, left, room) {
					return false
				}
			case "default", "enum", "const", "examples", "example":
			default:
				if !c.resolvable(v, open, left, room) {
					return false
				}
			}
		}
	}
	return true
}

// target is the definition that the reference names, None if it is not one of
// the root's.
func (c *gemini) target(ref jsonspan.Ref) jsonspan.Ref {
	d := c.doc
	if !d.Is(ref, jsonspan.String) {
		return jsonspan.None
	}
	text := d.Text(ref)
	for _, defs := range [...]string{"$defs", "definitions"} {
		name, ok := strings.CutPrefix(text, "#/"+defs+"/")
		if !ok || strings.ContainsAny(name, "/%") {
			continue
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if t := d.Get(d.Get(c.root, defs), name); d.Is(t, jsonspan.Object) {
			return t
		}
	}
	return jsonspan.None
}

// step is what has to be done with the member k of the schema n.
func (c *gemini) step(n, k jsonspan.Ref) step {
	d := c.doc
	v := d.Value(k)
	is := func(kind jsonspan.Kind, s step) step {
		if d.Is(v, kind) {
			return s
		}
		return keep
	}
	switch string(d.Inner(k)) {
	case "$schema", "$id", "$anchor", "$comment", "additionalProperties", "unevaluatedProperties", "patternProperties",
		"propertyNames", "dependentRequired", "dependentSchemas", "if", "then", "else", "not", "contains", "minContains",
		"maxContains", "uniqueItems", "multipleOf", "examples", "readOnly", "writeOnly", "deprecated", "contentEncoding", "contentMediaType":
		return drop
	case "$defs", "definitions":
		if n == c.root && c.refs == c.inline {
			return drop
		}
	case "$ref":
		if c.inline {
			return replaced
		}
	case "properties":
		return is(jsonspan.Object, named)
	case "items":
		return one
	case "anyOf":
		if other := c.onlyOther(v); other != jsonspan.None && !c.collide(n, other) {
			return merge
		}
		return is(jsonspan.Array, many)
	case "oneOf":
		if d.Get(n, "anyOf") != jsonspan.None {
			return keep
		}
		if other := c.onlyOther(v); other != jsonspan.None && !c.collide(n, other) {
			return merge
		}
		return is(jsonspan.Array, toAnyOf)
	case "allOf":
		if d.Is(v, jsonspan.Array) && d.Len(v) == 1 && d.Is(d.First(v), jsonspan.Object) && !c.collide(n, d.First(v)) {
			return merge
		}
		return is(jsonspan.Array, many)
	case "const":
		if !d.Is(v, jsonspan.String) || d.Get(n, "enum") != jsonspan.None {
			return drop
		}
		return toEnum
	case "enum":
		strings, nulls := 0, 0
		for e := d.First(v); e != jsonspan.None; e = d.Next(e) {
			switch d.Kind(e) {
			case jsonspan.String:
				strings++
			case jsonspan.Null:
				nulls++
			}
		}
		switch {
		case strings == 0 || strings+nulls < d.Len(v):
			return drop
		case nulls > 0:
			return noNull
		}
	case "exclusiveMinimum":
		if !d.Is(v, jsonspan.Number) || d.Get(n, "minimum") != jsonspan.None {
			return drop
		}
		return bound
	case "exclusiveMaximum":
		if !d.Is(v, jsonspan.Number) || d.Get(n, "maximum") != jsonspan.None {
			return drop
		}
		return bound
	case "type":
		if !d.Is(v, jsonspan.Array) {
			return keep
		}
		others := 0
		for e := d.First(v); e != jsonspan.None; e = d.Next(e) {
			if !d.Is(e, jsonspan.String) {
				return keep
			}
			if !d.Equal(e, "null") {
				others++
			}
		}
		if others == 1 {
			return single
		}
	case "format":
		switch string(d.Inner(v)) {
		case "date-time", "enum", "float", "double", "int32", "int64":
		default:
			return drop
		}
	}
	return keep
}

// collide reports whether n and the schema that would be taken into it both
// say something that restricts values, so that one of the two would be lost.
func (c *gemini) collide(n, other jsonspan.Ref) bool {
	d := c.doc
	for k := d.First(n); k != jsonspan.None; k = d.Next(k) {
		switch string(d.Inner(k)) {
		case "title", "description", "default", "examples", "example", "$comment", "$ref", "$defs", "definitions", "$schema", "$id", "nullable", "additionalProperties":
			continue
		}
		v := d.Get(other, d.Text(k))
		if v != jsonspan.None && string(d.Raw(v)) != string(d.Raw(d.Value(k))) {
			return true
		}
	}
	return false
}

// onlyOther is the schema in the list that is not {"type": "null"}, if there
// are these two and no more.
func (c *gemini) onlyOther(list jsonspan.Ref) jsonspan.Ref {
	d := c.doc
	if !d.Is(list, jsonspan.Array) || d.Len(list) != 2 {
		return jsonspan.None
	}
	a := d.First(list)
	b := d.Next(a)
	isNull := func(n jsonspan.Ref) bool {
		return d.Is(n, jsonspan.Object) && d.Len(n) == 1 && d.Equal(d.Get(n, "type"), "null")
	}
	switch {
	case isNull(b) && !isNull(a) && d.Is(a, jsonspan.Object):
		return a
	case isNull(a) && !isNull(b) && d.Is(b, jsonspan.Object):
		return b
	}
	return jsonspan.None
}

// needs reports whether anything in n has to change.
func (c *gemini) needs(n jsonspan.Ref) bool {
	d := c.doc
	if d.Is(n, jsonspan.True) {
		return true
	}
	if !d.Is(n, jsonspan.Object) {
		return false
	}
	for k := d.First(n); k != jsonspan.None; k = d.Next(k) {
		v := d.Value(k)
		switch c.step(n, k) {
		case keep:
		case one:
			if c.needs(v) {
				return true
			}
		case many:
			for e := d.First(v); e != jsonspan.None; e = d.Next(e) {
				if c.needs(e) {
					return true
				}
			}
		case named:
			for p := d.First(v); p != jsonspan.None; p = d.Next(p) {
				if c.needs(d.Value(p)) {
					return true
				}
			}
		default:
			return true
		}
	}
	return false
}

// schema writes n as Google takes it.
func (c *gemini) schema(dst []byte, n jsonspan.Ref) []byte {
	d := c.doc
	if d.Is(n, jsonspan.True) {
		return append(dst, "{}"...)
	}
	if !c.needs(n) {
		return append(dst, d.Raw(n)...)
	}
	w := merged{object: object{doc: d, dst: append(dst, '{')}}
	c.members(&w, n)
	if w.nullable && !w.has("nullable") {
		w.add(`"nullable":true`)
	}
	return w.close(n)
}

// merged is an object that takes in the members of several.
type merged struct {
	object
	open     []jsonspan.Ref // the objects that are being taken in, the outermost first
	wrote    []string
	nullable bool
}

// has reports whether a member called name was written.
func (w *merged) has(name string) bool {
	for _, n := range w.wrote {
		if n == name {
			return true
		}
	}
	return false
}

// shadowed reports whether an object further out, or one that came before, has
// the member k as well.
func (w *merged) shadowed(k jsonspan.Ref) bool {
	name := w.doc.Text(k)
	for _, n := range w.open[:len(w.open)-1] {
		if w.doc.Get(n, name) != jsonspan.None {
			return true
		}
	}
	return len(w.open) > 1 && w.has(name)
}

// members writes the members of n into w.
func (c *gemini) members(w *merged, n jsonspan.Ref) {
	d := c.doc
	w.open = append(w.open, n)
	defer func() { w.open = w.open[:len(w.open)-1] }()
	for k := d.First(n); k != jsonspan.None; k = d.Next(k) {
		v, s := d.Value(k), c.step(n, k)
		// What is taken in from elsewhere has keywords of its own.
		switch s {
		case merge:
			target := c.onlyOther(v)
			if target != jsonspan.None {
				w.nullable = true
			} else {
				target = d.First(v)
			}
			c.members(w, target)
			continue
		case replaced:
			c.members(w, c.target(v))
			continue
		case drop:
			continue
		}
		if w.shadowed(k) {
			continue
		}
		name := d.Text(k)
		switch s {
		case keep:
			w.raw(k)
		case one:
			w.key(k)
			w.dst = c.schema(w.dst, v)
		case many:
			w.key(k)
			w.dst = listOf(d, w.dst, v, c.schema)
		case named:
			w.key(k)
			w.dst = mapOf(d, w.dst, v, c.schema)
		case toAnyOf:
			w.indent(k)
			w.dst = append(w.dst, `"anyOf":`...)
			w.dst = listOf(d, w.dst, v, c.schema)
			name = "anyOf"
		case toEnum:
			w.indent(k)
			w.dst = append(append(append(w.dst, `"enum":[`...), d.Raw(v)...), ']')
			name = "enum"
		case noNull:
			w.key(k)
			w.dst = append(w.dst, '[')
			first := true
			for e := d.First(v); e != jsonspan.None; e = d.Next(e) {
				if d.Is(e, jsonspan.Null) {
					continue
				}
				if !first {
					w.dst = append(w.dst, ',')
				}
				first = false
				w.dst = append(w.dst, d.Raw(e)...)
			}
			w.dst = append(w.dst, ']')
			w.nullable = true
		case single:
			w.key(k)
			for e := d.First(v); e != jsonspan.None; e = d.Next(e) {
				if d.Equal(e, "null") {
					w.nullable = true
				} else {
					w.dst = append(w.dst, d.Raw(e)...)
				}
			}
		case bound:
			name = "minimum"
			by := int64(1)
			if d.Equal(k, "exclusiveMaximum") {
				name, by = "maximum", -1
			}
			w.indent(k)
			w.dst = append(append(append(w.dst, '"'), name...), `":`...)
			if i, err := strconv.ParseInt(string(d.Raw(v)), 10, 64); err == nil && d.Equal(d.Get(n, "type"), "integer") && i > -1<<62 && i < 1<<62 {
				w.dst = strconv.AppendInt(w.dst, i+by, 10)
			} else {
				w.dst = append(w.dst, d.Raw(v)...)
			}
		}
		w.wrote = append(w.wrote, name)
	}
}
