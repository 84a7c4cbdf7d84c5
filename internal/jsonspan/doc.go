// Package jsonspan reads JSON by byte span and edits it by splice. A body is
// scanned once into a Doc, a flat list of nodes in document order; an Edit
// replaces one span of the source, and Splice applies a list of them. What no
// edit names is copied as it stands, so key order, white space, number
// literals, duplicate keys and escapes survive untouched.
//
// The scanner accepts exactly what encoding/json.Valid accepts, except that
// nesting deeper than MaxDepth is an error. It does not recurse and, once a
// Doc has grown to its working size, does not allocate.
package jsonspan

import (
	"errors"
	"math"
)

// MaxDepth is the deepest nesting of arrays and objects that Parse accepts.
const MaxDepth = 512

// Errors of Parse.
var (
	ErrSyntax   = errors.New("invalid JSON")
	ErrDepth    = errors.New("JSON nested too deep")
	ErrTooLarge = errors.New("JSON too large")
)

// Kind is the type of a JSON value.
type Kind uint8

// Kinds of JSON values.
const (
	Null Kind = iota
	False
	True
	Number
	String
	Array
	Object
)

// Span is a half-open range of bytes of the source.
type Span struct{ Start, End int }

// Len is the number of bytes in s.
func (s Span) Len() int { return s.End - s.Start }

// Ref names one node of a Doc: a value, or the key of an object member.
type Ref int32

// None is the Ref of a node that is not there. The accessors accept it:
// its Raw is nil, it has no children and no successor.
const None Ref = -1

// node is one value or key. Nodes stand in document order; an object's
// members stand as key, value, key, value.
type node struct {
	start, end uint32 // bytes, string quotes included
	next       Ref    // the next sibling (for a key: the next key), or None
	kind       Kind
	escaped    bool // a string that holds a backslash
	key        bool
	compact    bool // a string that was seen to be compact JSON, see CompactText
}

// Doc is the result of one scan. The zero value is ready for use, and a Doc
// may be used again: Parse overwrites it and keeps its memory.
type Doc struct {
	src   []byte
	nodes []node
	stack []frame
	high  bool // not all of src may be ASCII
}

// ASCII reports whether all of the source is known to be ASCII, so that it is
// valid UTF-8. Outside of strings JSON is nothing else.
func (d *Doc) ASCII() bool { return len(d.nodes) > 0 && !d.high }

// frame is one open array or object during the scan.
type frame struct {
	node Ref // the container
	last Ref // its last child (object: last key) so far
}

// Source is the text that was parsed last.
func (d *Doc) Source() []byte { return d.src }

// Reset forgets the source, so that a pooled Doc does not keep it alive.
func (d *Doc) Reset() { d.src, d.nodes, d.stack = nil, d.nodes[:0], d.stack[:0] }

// Trim gives back the memory of a Doc that has grown beyond max nodes, so that
// one unusual body does not make a pooled Doc large for good. It forgets what
// was parsed, like Reset.
func (d *Doc) Trim(max int) {
	d.Reset()
	if cap(d.nodes) > max {
		d.nodes = nil
	}
}

// Nodes is the number of nodes, keys included.
func (d *Doc) Nodes() int { return len(d.nodes) }

// Root is the top-level value, or None before a successful Parse.
func (d *Doc) Root() Ref {
	if len(d.nodes) == 0 {
		return None
	}
	return 0
}

// Kind is the kind of r. A key is a String. The Kind of None is Null.
func (d *Doc) Kind(r Ref) Kind {
	if r == None {
		return Null
	}
	return d.nodes[r].kind
}

// Is reports whether r is there and of kind k.
func (d *Doc) Is(r Ref, k Kind) bool { return r != None && d.nodes[r].kind == k }

// Span is where r stands in the source, a string's quotes included.
func (d *Doc) Span(r Ref) Span {
	if r == None {
		return Span{}
	}
	n := &d.nodes[r]
	return Span{int(n.start), int(n.end)}
}

// Raw is the source text of r, a string's quotes included; nil for None.
// It aliases the source.
func (d *Doc) Raw(r Ref) []byte {
	if r == None {
		return nil
	}
	n := &d.nodes[r]
	return d.src[n.start:n.end:n.end]
}

// Inner is the encoded text between the quotes of the string r, nil if r is
// not a string. It aliases the source.
func (d *Doc) Inner(r Ref) []byte {
	if r == None || d.nodes[r].kind != String {
		return nil
	}
	n := &d.nodes[r]
	return d.src[n.start+1 : n.end-1 : n.end-1]
}

// Escaped reports whether the string r holds an escape, that is, whether its
// decoded text differs from Inner.
func (d *Doc) Escaped(r Ref) bool { return r != None && d.nodes[r].escaped }

// CompactText is CompactText of the string r, which the scan may have found out
// already.
func (d *Doc) CompactText(r Ref) bool {
	return r != None && (d.nodes[r].compact || CompactText(d.Inner(r)))
}

// First is the first element of an array or the first key of an object,
// None if there is none.
func (d *Doc) First(r Ref) Ref {
	if r == None || d.nodes[r].kind < Array {
		return None
	}
	if n := r + 1; int(n) < len(d.nodes) && d.nodes[n].start < d.nodes[r].end {
		return n
	}
	return None
}

// Next is the sibling after r: the next element for an element, the next key
// for a key, None at the end. A member's value has no successor of its own.
func (d *Doc) Next(r Ref) Ref {
	if r == None {
		return None
	}
	return d.nodes[r].next
}

// Value is the value that belongs to the key k.
func (d *Doc) Value(k Ref) Ref {
	if k == None {
		return None
	}
	return k + 1
}

// Len is the number of elements or members of r.
func (d *Doc) Len(r Ref) int {
	n := 0
	for c := d.First(r); c != None; c = d.Next(c) {
		n++
	}
	return n
}

// Equal reports whether the decoded text of the string or key r is s.
func (d *Doc) Equal(r Ref, s string) bool {
	raw := d.Inner(r)
	if raw == nil {
		return false
	}
	if !d.nodes[r].escaped {
		return string(raw) == s
	}
	return unquotedEqual(raw, s)
}

// Get is the value of the first member of obj named name, None if obj is not
// an object or has no such member.
func (d *Doc) Get(obj Ref, name string) Ref {
	if !d.Is(obj, Object) {
		return None
	}
	for k := d.First(obj); k != None; k = d.Next(k) {
		if d.Equal(k, name) {
			return k + 1
		}
	}
	return None
}

// Text is the decoded text of the string r, "" if r is not a string.
func (d *Doc) Text(r Ref) string {
	raw := d.Inner(r)
	if len(raw) == 0 {
		return ""
	}
	if !d.nodes[r].escaped {
		return string(raw)
	}
	return string(AppendUnquoted(nil, raw))
}

// AppendText appends the decoded text of the string r to dst.
func (d *Doc) AppendText(dst []byte, r Ref) []byte {
	raw := d.Inner(r)
	if raw == nil {
		return dst
	}
	if !d.nodes[r].escaped {
		return append(dst, raw...)
	}
	return AppendUnquoted(dst, raw)
}

// maxSource keeps every offset within a node's uint32.
const maxSource = math.MaxInt32
