package cache

import (
	"bytes"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// errDuplicateKey is why a body has no canonical form: readers disagree about
// which of two equal keys counts, so two providers may see two requests.
var errDuplicateKey = errors.New("an object has the same key twice")

// canon writes the canonical form of JSON documents. Two documents have the
// same form if and only if they differ in nothing but white space, the order
// of object members and the way characters of a string are escaped. Numbers
// stay as written: 1 and 1.0 are two requests, because some providers take
// them for two. The form itself is JSON, without white space and with the
// members of every object in descending order of their keys. Most of what
// clients send is in that order as it comes ("role", "content"; "type",
// "text"), and what need not be changed is copied in long runs.
//
// The zero value is ready for use and keeps its memory from one document to
// the next.
type canon struct {
	doc    *jsonspan.Doc
	src    []byte
	out    []byte
	run    jsonspan.Span // of src: the end of the form, not yet copied to out
	keys   []member      // the members of all open objects that must be sorted, innermost last
	used   int           // how far keys was filled
	names  []byte        // forms of keys that hold an escape
	ignore []string      // members of the top level that are left out
	err    error

	// watch is a string value of the document, or None; watched is where its
	// form stands in out, quotes included.
	watch   jsonspan.Ref
	watched jsonspan.Span
}

// member is one member of an open object. name is the form of its key, quotes
// included.
type member struct {
	name  []byte
	value jsonspan.Ref
}

// append adds the form of doc's root to out. The members of the root that
// ignore names are left out, and watched says where the string watch went.
func (c *canon) append(doc *jsonspan.Doc, ignore []string, watch jsonspan.Ref) error {
	c.doc, c.src, c.ignore, c.watch, c.watched = doc, doc.Source(), ignore, watch, jsonspan.Span{}
	c.keys, c.names, c.run, c.err = c.keys[:0], c.names[:0], jsonspan.Span{}, nil
	c.value(doc.Root())
	c.flush()
	clear(c.keys[:c.used]) // they point into the request's body
	c.doc, c.src, c.keys, c.used = nil, nil, c.keys[:0], 0
	return c.err
}

// copy adds the bytes of src from start to end.
func (c *canon) copy(start, end int) {
	if start != c.run.End {
		c.flush()
		c.run.Start = start
	}
	c.run.End = end
}

// put adds one byte, which the source may happen to have next.
func (c *canon) put(b byte) {
	if end := c.run.End; end < len(c.src) && c.src[end] == b {
		c.run.End++
		return
	}
	c.flush()
	c.out = append(c.out, b)
	c.run = jsonspan.Span{Start: len(c.src), End: len(c.src)}
}

// flush copies what is left of the run.
func (c *canon) flush() {
	c.out = append(c.out, c.src[c.run.Start:c.run.End]...)
	c.run.Start = c.run.End
}

// at is how long the form is so far.
func (c *canon) at() int { return len(c.out) + c.run.Len() }

// value adds the form of r. It recurses once per level; jsonspan.MaxDepth
// bounds it. On an error it stops early and sets err.
func (c *canon) value(r jsonspan.Ref) {
	span := c.doc.Span(r)
	switch c.doc.Kind(r) {
	case jsonspan.String:
		start := c.at()
		c.string(r, span)
		if r == c.watch {
			c.watched = jsonspan.Span{Start: start, End: c.at()}
		}
	case jsonspan.Array:
		c.copy(span.Start, span.Start+1)
		for e := c.doc.First(r); e != jsonspan.None && c.err == nil; {
			c.value(e)
			if e = c.doc.Next(e); e != jsonspan.None {
				c.put(',')
			}
		}
		c.put(']')
	case jsonspan.Object:
		c.copy(span.Start, span.Start+1)
		if c.inOrder(r) {
			c.members(r)
		} else {
			c.sorted(r)
		}
		c.put('}')
	default:
		c.copy(span.Start, span.End)
	}
}

// string adds the form of the string or key r, which stands at span.
func (c *canon) string(r jsonspan.Ref, span jsonspan.Span) {
	if !c.doc.Escaped(r) || isCanonicalText(c.src[span.Start+1:span.End-1]) {
		c.copy(span.Start, span.End)
		return
	}
	c.flush()
	c.out = appendCanonicalString(c.out, c.src[span.Start:span.End])
	c.run = jsonspan.Span{Start: span.End, End: span.End}
}

// inOrder reports whether the members of r need not be sorted: their keys hold
// no escapes and descend. Then no two of them are equal.
func (c *canon) inOrder(r jsonspan.Ref) bool {
	k := c.doc.First(r)
	if k == jsonspan.None {
		return true
	}
	if c.doc.Escaped(k) {
		return false
	}
	last := c.doc.Raw(k)
	for k = c.doc.Next(k); k != jsonspan.None; k = c.doc.Next(k) {
		name := c.doc.Raw(k)
		if c.doc.Escaped(k) || bytes.Compare(last, name) <= 0 {
			return false
		}
		last = name
	}
	return true
}

// members adds the members of r as they come.
func (c *canon) members(r jsonspan.Ref) {
	first := true
	for k := c.doc.First(r); k != jsonspan.None && c.err == nil; k = c.doc.Next(k) {
		span := c.doc.Span(k)
		if r == 0 && c.ignored(c.src[span.Start:span.End]) {
			continue
		}
		if !first {
			c.put(',')
		}
		first = false
		c.copy(span.Start, span.End)
		c.put(':')
		v := c.doc.Value(k)
		if c.doc.Kind(v) == jsonspan.String && !c.doc.Escaped(v) && v != c.watch {
			span = c.doc.Span(v) // most values are plain strings
			c.copy(span.Start, span.End)
			continue
		}
		c.value(v)
	}
}

// sorted adds the members of r in descending order of their keys.
func (c *canon) sorted(r jsonspan.Ref) {
	base := len(c.keys)
	for k := c.doc.First(r); k != jsonspan.None; k = c.doc.Next(k) {
		name := c.doc.Raw(k)
		if c.doc.Escaped(k) {
			start := len(c.names)
			c.names = appendCanonicalString(c.names, name)
			name = c.names[start:]
		}
		c.keys = append(c.keys, member{name, c.doc.Value(k)})
	}
	end := len(c.keys)
	c.used = max(c.used, end)
	if !sortMembers(c.keys[base:end]) {
		c.err = errDuplicateKey
		return
	}
	first := true
	for i := base; i < end && c.err == nil; i++ {
		m := &c.keys[i]
		if r == 0 && c.ignored(m.name) {
			continue
		}
		if !first {
			c.put(',')
		}
		first = false
		c.flush()
		c.out = append(c.out, m.name...)
		c.run = jsonspan.Span{Start: len(c.src), End: len(c.src)}
		c.put(':')
		c.value(m.value)
	}
	c.keys = c.keys[:base]
}

// ignored reports whether ignore holds the key whose form is name.
func (c *canon) ignored(name []byte) bool {
	return len(c.ignore) > 0 && slices.Contains(c.ignore, string(name[1:len(name)-1]))
}

// insertionLimit is the number of members up to which insertion sort is used.
// Objects of requests have few members, mostly in an order of their own.
const insertionLimit = 24

// sortMembers orders m by name, descending, and reports whether all names differ.
func sortMembers(m []member) bool {
	if len(m) > insertionLimit {
		slices.SortFunc(m, func(a, b member) int { return bytes.Compare(b.name, a.name) })
		for i := 1; i < len(m); i++ {
			if bytes.Equal(m[i-1].name, m[i].name) {
				return false
			}
		}
		return true
	}
	for i := 1; i < len(m); i++ {
		x, j := m[i], i
		for ; j > 0; j-- {
			order := bytes.Compare(x.name, m[j-1].name)
			if order == 0 {
				return false
			}
			if order < 0 {
				break
			}
			m[j] = m[j-1]
		}
		m[j] = x
	}
	return true
}

// appendCanonicalString appends the form of the string whose source is raw,
// quotes included.
func appendCanonicalString(dst, raw []byte) []byte {
	dst = append(dst, '"')
	dst = appendCanonicalText(dst, raw[1:len(raw)-1])
	return append(dst, '"')
}

// isCanonicalText reports whether raw, valid encoded text, is its own form: it
// holds no escapes but short ones that must be.
func isCanonicalText(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return true
		}
		if raw[i+1] == 'u' || raw[i+1] == '/' {
			return false
		}
		raw = raw[i+2:]
	}
}

// appendCanonicalText appends the one spelling of the string whose valid
// encoded text is raw. What must be escaped is escaped in the shortest way, a
// lone surrogate as \u and four lower-case digits; everything else stands as
// UTF-8. Bytes of raw that are no escape are copied as they are, so text that
// is not UTF-8 never meets text that is.
func appendCanonicalText(dst, raw []byte) []byte {
	for len(raw) > 0 {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		raw = raw[i:]
		switch raw[1] {
		case '/':
			dst, raw = append(dst, '/'), raw[2:]
		case 'u':
			var r rune
			r, raw = decodeEscape(raw)
			dst = appendCanonicalRune(dst, r)
		default: // one of `"\bfnrt`, already the shortest
			dst, raw = append(dst, '\\', raw[1]), raw[2:]
		}
	}
	return dst
}

// decodeEscape reads the \u escape that raw starts with, both halves if it is
// a surrogate pair, and returns what follows it.
func decodeEscape(raw []byte) (rune, []byte) {
	r := hexRune(raw[2:6])
	raw = raw[6:]
	if isHighSurrogate(r) && len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
		if low := hexRune(raw[2:6]); isLowSurrogate(low) {
			return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), raw[6:]
		}
	}
	return r, raw
}

func isHighSurrogate(r rune) bool { return 0xD800 <= r && r < 0xDC00 }
func isLowSurrogate(r rune) bool  { return 0xDC00 <= r && r < 0xE000 }

func hexRune(digits []byte) rune {
	var r rune
	for _, c := range digits {
		switch {
		case c <= '9':
			r = r<<4 | rune(c-'0')
		default:
			r = r<<4 | rune(c|0x20-'a'+10)
		}
	}
	return r
}

func appendCanonicalRune(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r == '\b':
		return append(dst, `\b`...)
	case r == '\f':
		return append(dst, `\f`...)
	case r == '\n':
		return append(dst, `\n`...)
	case r == '\r':
		return append(dst, `\r`...)
	case r == '\t':
		return append(dst, `\t`...)
	case r < 0x20 || isHighSurrogate(r) || isLowSurrogate(r):
		return append(dst, '\\', 'u', digits[r>>12], digits[r>>8&15], digits[r>>4&15], digits[r&15])
	}
	return utf8.AppendRune(dst, r)
}
