package jsonspan

import "unicode/utf8"

// FindTop looks for the first member named key (compared decoded) of the
// object that src is, and returns where its value stands and its kind. It
// stops there: what it walked past is valid JSON, but it says nothing about
// the rest, nor about whether the key comes again. ok is false if there is no
// such member, src is not an object, or is found to be invalid, nested deeper
// than MaxDepth or too large before the member.
func FindTop(src []byte, key string) (at Span, kind Kind, ok bool) {
	if len(src) > maxSource {
		return Span{}, Null, false
	}
	i := skipSpace(src, 0)
	if i >= len(src) || src[i] != '{' {
		return Span{}, Null, false
	}
	for {
		i = skipSpace(src, i+1) // after the bracket or a comma
		if i >= len(src) || src[i] != '"' {
			return Span{}, Null, false
		}
		start := i + 1
		end, saw := scanString(src, start)
		if end < 0 {
			return Span{}, Null, false
		}
		i = skipSpace(src, end)
		if i >= len(src) || src[i] != ':' {
			return Span{}, Null, false
		}
		i = skipSpace(src, i+1)
		from := i
		if i = skipValue(src, i); i < 0 {
			return Span{}, Null, false
		}
		name, escaped := src[start:end-1], saw&sawEscape != 0
		if !escaped && string(name) == key || escaped && unquotedEqual(name, key) {
			return Span{from, i}, kindAt(src[from]), true
		}
		if i = skipSpace(src, i); i >= len(src) || src[i] != ',' {
			return Span{}, Null, false
		}
	}
}

// kindAt is the kind of the valid value that begins with c.
func kindAt(c byte) Kind {
	switch c {
	case '"':
		return String
	case '{':
		return Object
	case '[':
		return Array
	case 't':
		return True
	case 'f':
		return False
	case 'n':
		return Null
	}
	return Number
}

// skipValue returns the offset after the value at i, inside of an object, or
// -1 if it is not valid or nested too deep.
func skipValue(src []byte, i int) int {
	var (
		objects [MaxDepth/64 + 1]uint64 // a bit per open container: whether it is an object
		depth   = 0
		object  = false
	)
	for {
		if object {
			if i >= len(src) || src[i] != '"' {
				return -1
			}
			end, _ := scanString(src, i+1)
			if end < 0 {
				return -1
			}
			if i = skipSpace(src, end); i >= len(src) || src[i] != ':' {
				return -1
			}
			i = skipSpace(src, i+1)
		}
		if i >= len(src) {
			return -1
		}
		switch c := src[i]; c {
		case '"':
			i, _ = scanString(src, i+1)
		case '{', '[':
			if depth == MaxDepth-1 { // the object around it is the first
				return -1
			}
			i = skipSpace(src, i+1)
			if i < len(src) && src[i] == c+2 { // the closing bracket of c
				i++
				break
			}
			depth++
			object = c == '{'
			objects[depth/64] &^= 1 << (depth % 64)
			if object {
				objects[depth/64] |= 1 << (depth % 64)
			}
			continue
		case 't':
			i = scanLiteral(src, i, "true")
		case 'f':
			i = scanLiteral(src, i, "false")
		case 'n':
			i = scanLiteral(src, i, "null")
		default:
			i = scanNumber(src, i)
		}
		if i < 0 {
			return -1
		}
		for {
			if depth == 0 {
				return i
			}
			if i = skipSpace(src, i); i >= len(src) {
				return -1
			}
			c := src[i]
			if c == ',' {
				i = skipSpace(src, i+1)
				break
			}
			if object && c != '}' || !object && c != ']' {
				return -1
			}
			i++
			depth--
			object = objects[depth/64]>>(depth%64)&1 != 0
		}
	}
}

// unquotedEqual reports whether the valid encoded text raw decodes to s.
func unquotedEqual(raw []byte, s string) bool {
	if len(raw) < len(s) || len(raw) > 6*len(s) {
		return false // no byte of text takes more than six encoded
	}
	for i := 0; i < len(raw); {
		var buf [utf8.UTFMax]byte
		part := buf[:1]
		if c := raw[i]; c != '\\' {
			buf[0] = c
			i++
		} else if c := shortEscape[raw[i+1]]; c != 0 {
			buf[0] = c
			i += 2
		} else {
			r, n := unicodeAt(raw, i)
			part = appendRune(buf[:0], r)
			i += n
		}
		if len(s) < len(part) || s[:len(part)] != string(part) {
			return false
		}
		s = s[len(part):]
	}
	return s == ""
}
