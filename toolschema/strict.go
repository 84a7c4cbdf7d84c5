package toolschema

import "github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"

// strict fills in what OpenAI demands of strict tools.
type strict struct{ doc *jsonspan.Doc }

// isObject reports whether n describes an object.
func (s strict) isObject(n jsonspan.Ref) bool {
	d := s.doc
	if d.Is(d.Get(n, "properties"), jsonspan.Object) {
		return true
	}
	t := d.Get(n, "type")
	if d.Is(t, jsonspan.Array) {
		for e := d.First(t); e != jsonspan.None; e = d.Next(e) {
			if d.Equal(e, "object") {
				return true
			}
		}
		return false
	}
	return d.Is(t, jsonspan.String) && d.Equal(t, "object")
}

// required reports whether n requires the property whose key is k.
func (s strict) required(n, k jsonspan.Ref) bool {
	d := s.doc
	for e := d.First(d.Get(n, "required")); e != jsonspan.None; e = d.Next(e) {
		if d.Is(e, jsonspan.String) && string(d.Inner(e)) == string(d.Inner(k)) {
			return true
		}
	}
	return false
}

// needs reports whether anything in n has to change.
func (s strict) needs(n jsonspan.Ref) bool {
	d := s.doc
	if !d.Is(n, jsonspan.Object) {
		return false
	}
	if s.isObject(n) {
		if !d.Is(d.Get(n, "additionalProperties"), jsonspan.False) || !d.Is(d.Get(n, "required"), jsonspan.Array) {
			return true
		}
		properties := d.Get(n, "properties")
		if d.Is(properties, jsonspan.Object) {
			for k := d.First(properties); k != jsonspan.None; k = d.Next(k) {
				if !s.required(n, k) {
					return true
				}
			}
		}
	}
	for k := d.First(n); k != jsonspan.None; k = d.Next(k) {
		v := d.Value(k)
		switch string(d.Inner(k)) {
		case "properties", "$defs", "definitions":
			if !d.Is(v, jsonspan.Object) {
				continue
			}
			for p := d.First(v); p != jsonspan.None; p = d.Next(p) {
				if s.needs(d.Value(p)) {
					return true
				}
			}
		case "anyOf", "allOf", "oneOf":
			if !d.Is(v, jsonspan.Array) {
				continue
			}
			for e := d.First(v); e != jsonspan.None; e = d.Next(e) {
				if s.needs(e) {
					return true
				}
			}
		case "items":
			if s.needs(v) {
				return true
			}
		}
	}
	return false
}

// schema writes n with what is missing.
func (s strict) schema(dst []byte, n jsonspan.Ref) []byte {
	d := s.doc
	if !s.needs(n) {
		return append(dst, d.Raw(n)...)
	}
	isObject := s.isObject(n)
	o := object{doc: d, dst: append(dst, '{')}
	for k := d.First(n); k != jsonspan.None; k = d.Next(k) {
		v := d.Value(k)
		switch name := string(d.Inner(k)); {
		case name == "properties" && d.Is(v, jsonspan.Object):
			o.key(k)
			p := object{doc: d, dst: append(o.dst, '{')}
			for q := d.First(v); q != jsonspan.None; q = d.Next(q) {
				p.key(q)
				p.dst = s.property(p.dst, d.Value(q), s.required(n, q))
			}
			o.dst = p.close(v)
		case (name == "$defs" || name == "definitions") && d.Is(v, jsonspan.Object):
			o.key(k)
			o.dst = mapOf(d, o.dst, v, s.schema)
		case (name == "anyOf" || name == "allOf" || name == "oneOf") && d.Is(v, jsonspan.Array):
			o.key(k)
			o.dst = listOf(d, o.dst, v, s.schema)
		case name == "items":
			o.key(k)
			o.dst = s.schema(o.dst, v)
		case name == "additionalProperties" && isObject:
			o.key(k)
			o.dst = append(o.dst, "false"...)
		case name == "required" && isObject:
			o.key(k)
			o.dst = s.names(o.dst, n)
		default:
			o.raw(k)
		}
	}
	if isObject && d.Get(n, "required") == jsonspan.None {
		o.add(`"required":`)
		o.dst = s.names(o.dst, n)
	}
	if isObject && d.Get(n, "additionalProperties") == jsonspan.None {
		o.add(`"additionalProperties":false`)
	}
	return o.close(n)
}

// names writes the list of n's properties: first those that are required
// already, as they stand, then the others.
func (s strict) names(dst []byte, n jsonspan.Ref) []byte {
	d := s.doc
	dst = append(dst, '[')
	first := true
	put := func(r jsonspan.Ref) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, d.Raw(r)...)
	}
	if required := d.Get(n, "required"); d.Is(required, jsonspan.Array) {
		for e := d.First(required); e != jsonspan.None; e = d.Next(e) {
			put(e)
		}
	}
	if properties := d.Get(n, "properties"); d.Is(properties, jsonspan.Object) {
		for k := d.First(properties); k != jsonspan.None; k = d.Next(k) {
			if !s.required(n, k) {
				put(k)
			}
		}
	}
	return append(dst, ']')
}

// property writes the schema of a property, so that it may be null if it was
// not required.
func (s strict) property(dst []byte, n jsonspan.Ref, required bool) []byte {
	if required || s.nullable(n) {
		return s.schema(dst, n)
	}
	dst = append(dst, `{"anyOf":[`...)
	dst = s.schema(dst, n)
	return append(dst, `,{"type":"null"}]}`...)
}

// nullable reports whether n accepts null for certain.
func (s strict) nullable(n jsonspan.Ref) bool {
	d := s.doc
	if !d.Is(n, jsonspan.Object) {
		return true // a schema that is true or false
	}
	t := d.Get(n, "type")
	if d.Is(t, jsonspan.Array) {
		for e := d.First(t); e != jsonspan.None; e = d.Next(e) {
			if d.Equal(e, "null") {
				return d.Get(n, "enum") == jsonspan.None && d.Get(n, "const") == jsonspan.None
			}
		}
		return false
	}
	for e := d.First(d.Get(n, "anyOf")); e != jsonspan.None; e = d.Next(e) {
		if d.Is(e, jsonspan.Object) && d.Equal(d.Get(e, "type"), "null") {
			return t == jsonspan.None
		}
	}
	return d.Is(t, jsonspan.String) && d.Equal(t, "null")
}
