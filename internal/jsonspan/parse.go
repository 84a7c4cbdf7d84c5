package jsonspan

import "slices"

// Parse scans src into d. On an error d holds no nodes. The Doc refers to src
// until the next Parse or Reset.
func (d *Doc) Parse(src []byte) error {
	d.src, d.nodes, d.stack = src, d.nodes[:0], d.stack[:0]
	if len(src) > maxSource {
		return ErrTooLarge
	}
	err := d.scan(src)
	if err != nil {
		d.nodes = d.nodes[:0]
	}
	return err
}

// scan walks src once. It keeps what it works on in locals, and fills each node
// where it stands: to append a node put together elsewhere costs twice as much
// as to scan a short value.
func (d *Doc) scan(src []byte) (err error) {
	nodes, stack := d.nodes, d.stack
	var (
		open   = frame{None, None} // the innermost open container and its last child
		object bool                // whether that is an object
		seen   = 0                 // by scanString
		i      = skipSpace(src, 0)
	)
scan:
	for {
		if object { // a key and its colon come first
			if i >= len(src) || src[i] != '"' {
				err = ErrSyntax
				break
			}
			end, saw := scanString(src, i+1)
			seen |= saw
			if end < 0 {
				err = ErrSyntax
				break
			}
			self := Ref(len(nodes))
			if open.last != None {
				nodes[open.last].next = self
			}
			open.last = self
			if len(nodes) == cap(nodes) {
				nodes = slices.Grow(nodes, 1)
			}
			nodes = nodes[:self+1]
			k := &nodes[self]
			k.start, k.end, k.next, k.kind, k.escaped, k.key, k.compact = uint32(i), uint32(end), None, String, saw&sawEscape != 0, true, false
			if i = skipSpace(src, end); i >= len(src) || src[i] != ':' {
				err = ErrSyntax
				break
			}
			i = skipSpace(src, i+1)
		}
		if i >= len(src) {
			err = ErrSyntax
			break
		}
		// A value starts at i.
		self := Ref(len(nodes))
		if open.node != None && !object {
			if open.last != None {
				nodes[open.last].next = self
			}
			open.last = self
		}
		if len(nodes) == cap(nodes) {
			nodes = slices.Grow(nodes, 1)
		}
		nodes = nodes[:self+1]
		v := &nodes[self]
		v.start, v.next, v.escaped, v.key, v.compact = uint32(i), None, false, false, false
		switch c := src[i]; c {
		case '"':
			v.kind = String
			var saw int
			i, saw = scanString(src, i+1)
			seen |= saw
			v.escaped, v.compact = saw&sawEscape != 0, saw&sawCompact != 0
		case '{', '[':
			if len(stack) == MaxDepth {
				err = ErrDepth
				break scan
			}
			v.kind = Array
			if c == '{' {
				v.kind = Object
			}
			i = skipSpace(src, i+1)
			if i < len(src) && src[i] == c+2 { // the closing bracket of c: empty
				i++
				break
			}
			stack = append(stack, open)
			open, object = frame{self, None}, c == '{'
			continue
		case 't':
			v.kind = True
			i = scanLiteral(src, i, "true")
		case 'f':
			v.kind = False
			i = scanLiteral(src, i, "false")
		case 'n':
			v.kind = Null
			i = scanLiteral(src, i, "null")
		default:
			v.kind = Number
			i = scanNumber(src, i)
		}
		if i < 0 {
			err = ErrSyntax
			break
		}
		v.end = uint32(i)
		// After a value: brackets close, a comma goes on, the end ends.
		for {
			i = skipSpace(src, i)
			if open.node == None {
				if i != len(src) {
					err = ErrSyntax
				}
				break scan
			}
			if i >= len(src) {
				err = ErrSyntax
				break scan
			}
			c := src[i]
			i++
			if c == ',' {
				i = skipSpace(src, i)
				break
			}
			if object && c != '}' || !object && c != ']' {
				err = ErrSyntax
				break scan
			}
			nodes[open.node].end = uint32(i)
			open = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			object = open.node != None && nodes[open.node].kind == Object
		}
	}
	d.nodes, d.stack, d.high = nodes, stack, seen&sawHigh != 0
	return err
}
