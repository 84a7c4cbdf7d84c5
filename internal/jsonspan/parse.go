package jsonspan

// Parse scans src into d. On an error d holds no nodes. The Doc refers to src
// until the next Parse or Reset.
func (d *Doc) Parse(src []byte) error {
	d.src, d.nodes, d.stack = src, d.nodes[:0], d.stack[:0]
	if len(src) > maxSource {
		return ErrTooLarge
	}
	if err := d.scan(src); err != nil {
		d.nodes = d.nodes[:0]
		return err
	}
	return nil
}

// scan walks src once. The state between two tokens is: want, what may come
// next, and the top of the stack.
func (d *Doc) scan(src []byte) error {
	i := skipSpace(src, 0)
	last := None // last child of the innermost open container
	top := None  // the innermost open container
	for {
		// A value starts at i.
		if i >= len(src) {
			return ErrSyntax
		}
		start := i
		self := Ref(len(d.nodes))
		if top != None && d.nodes[top].kind == Array {
			if last != None {
				d.nodes[last].next = self
			}
			last = self
		}
		switch c := src[i]; c {
		case '"':
			end, esc := scanString(src, i+1)
			if end < 0 {
				return ErrSyntax
			}
			d.nodes = append(d.nodes, node{uint32(start), uint32(end), None, String, esc, false})
			i = end
		case '{', '[':
			if len(d.stack) == MaxDepth {
				return ErrDepth
			}
			kind := Array
			if c == '{' {
				kind = Object
			}
			d.nodes = append(d.nodes, node{start: uint32(start), next: None, kind: kind})
			d.stack = append(d.stack, frame{top, last})
			top, last = self, None
			i = skipSpace(src, i+1)
			if i >= len(src) {
				return ErrSyntax
			}
			if c == '[' && src[i] != ']' {
				continue
			}
			if c == '{' && src[i] != '}' {
				if i = d.scanKey(src, i, &last); i < 0 {
					return ErrSyntax
				}
				continue
			}
			if (c == '[') != (src[i] == ']') {
				return ErrSyntax
			}
			// Empty: fall through to the closing below with i at the bracket.
		case 't':
			if i = literal(src, i, "true"); i < 0 {
				return ErrSyntax
			}
			d.nodes = append(d.nodes, node{uint32(start), uint32(i), None, True, false, false})
		case 'f':
			if i = literal(src, i, "false"); i < 0 {
				return ErrSyntax
			}
			d.nodes = append(d.nodes, node{uint32(start), uint32(i), None, False, false, false})
		case 'n':
			if i = literal(src, i, "null"); i < 0 {
				return ErrSyntax
			}
			d.nodes = append(d.nodes, node{uint32(start), uint32(i), None, Null, false, false})
		default:
			if i = scanNumber(src, i); i < 0 {
				return ErrSyntax
			}
			d.nodes = append(d.nodes, node{uint32(start), uint32(i), None, Number, false, false})
		}
		// After a value: a comma goes on, a bracket closes, the end ends.
		for {
			i = skipSpace(src, i)
			if top == None {
				if i != len(src) {
					return ErrSyntax
				}
				return nil
			}
			if i >= len(src) {
				return ErrSyntax
			}
			c, object := src[i], d.nodes[top].kind == Object
			if c == ',' && self != top {
				i = skipSpace(src, i+1)
				if object {
					if i = d.scanKey(src, i, &last); i < 0 {
						return ErrSyntax
					}
				}
				break
			}
			if object && c != '}' || !object && c != ']' {
				return ErrSyntax
			}
			i++
			d.nodes[top].end = uint32(i)
			self = None // closed: from here on a comma may follow
			f := d.stack[len(d.stack)-1]
			d.stack = d.stack[:len(d.stack)-1]
			top, last = f.node, f.last
		}
	}
}

// scanKey reads a key and its colon at i and returns where the value starts,
// or -1.
func (d *Doc) scanKey(src []byte, i int, last *Ref) int {
	if i >= len(src) || src[i] != '"' {
		return -1
	}
	end, esc := scanString(src, i+1)
	if end < 0 {
		return -1
	}
	self := Ref(len(d.nodes))
	if *last != None {
		d.nodes[*last].next = self
	}
	*last = self
	d.nodes = append(d.nodes, node{uint32(i), uint32(end), None, String, esc, true})
	i = skipSpace(src, end)
	if i >= len(src) || src[i] != ':' {
		return -1
	}
	return skipSpace(src, i+1)
}

func skipSpace(src []byte, i int) int {
	for i < len(src) {
		switch src[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

func literal(src []byte, i int, word string) int {
	if len(src)-i < len(word) || string(src[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// scanString returns the offset after the closing quote of the string whose
// text starts at i, and whether it holds an escape; -1 if it is not valid.
func scanString(src []byte, i int) (end int, escaped bool) {
	for i < len(src) {
		c := src[i]
		switch {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			if i+1 >= len(src) {
				return -1, false
			}
			switch src[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if i+6 > len(src) || !isHex(src[i+2]) || !isHex(src[i+3]) || !isHex(src[i+4]) || !isHex(src[i+5]) {
					return -1, false
				}
				i += 6
			default:
				return -1, false
			}
		case c < 0x20:
			return -1, false
		default:
			i++
		}
	}
	return -1, false
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// scanNumber returns the offset after the number at i, or -1.
func scanNumber(src []byte, i int) int {
	digits := func() bool {
		from := i
		for i < len(src) && '0' <= src[i] && src[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(src) && src[i] == '-' {
		i++
	}
	if i < len(src) && src[i] == '0' {
		i++
	} else if !digits() {
		return -1
	}
	if i < len(src) && src[i] == '.' {
		i++
		if !digits() {
			return -1
		}
	}
	if i < len(src) && src[i]|0x20 == 'e' {
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		if !digits() {
			return -1
		}
	}
	return i
}
