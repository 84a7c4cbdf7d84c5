package adapter

import (
	"encoding/binary"
	"math/bits"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// A feed reads one JSON object that arrives in pieces, cut anywhere. It checks
// that it is valid and reports the values of the paths it watches; everything
// else it only skips. Its memory does not grow with what it reads.
type feed struct {
	feedPlace
	literal  string         // rest of true, false or null
	hex      int            // digits left of a \u escape
	inKey    bool           // the open string is a key
	escaped  bool           // the open string has an escape
	kind     jsonspan.Kind  // of the scalar that is being read
	total    int            // encoded bytes of the string or number, all of them
	text     [feedText]byte // its first bytes, of watched ones
	textSize int
}

// feedPlace is where a feed stands between two tokens.
type feedPlace struct {
	state   feedState
	depth   int
	objects [jsonspan.MaxDepth / 64]uint64 // by depth: is an object
	open    [watchDepth]*watch             // by depth: what is watched in the open container
	at      *watch                         // what is watched of the value that comes or is being read
}

// watchDepth is the deepest path that can be watched, feedText how much of a
// watched scalar or of a key is kept.
const (
	watchDepth = 10
	feedText   = 192
)

type feedState uint8

const (
	feedStart      feedState = iota // before the root
	feedValue                       // a value must come
	feedFirstValue                  // a value or the end of the array
	feedFirstKey                    // a key or the end of the object
	feedKey                         // a key must come
	feedColon
	feedAfter // a comma or the end of the container
	feedString
	feedEscape
	feedHex
	feedLiteral
	feedMinus // a number: behind the sign,
	feedZero  // behind a leading zero,
	feedInt   // in the integer,
	feedPoint // behind the point,
	feedFrac  // in the fraction,
	feedE     // behind the e,
	feedESign // behind its sign,
	feedExp   // in the exponent
	feedDone  // the root is complete
	feedBad   // not valid
)

// seer is told what stands under the watched paths.
type seer interface {
	// see reports a scalar with its first encoded bytes and its length, or
	// that an object or array opens.
	see(id sight, kind jsonspan.Kind, text []byte, total int)
	// leave reports that an object or array closes.
	leave(id sight)
	// bulk reports that the value of a member that differs from event to event
	// comes next, at offset i of what is being written.
	bulk(i int)
}

// begin starts over with another root.
func (f *feed) begin(root *watch) {
	f.state, f.depth, f.at = feedStart, 0, root
}

// complete reports whether a whole object was read.
func (f *feed) complete() bool { return f.state == feedDone }

// write reads on.
func (f *feed) write(p []byte, to seer) {
	for i := 0; i < len(p); {
		c := p[i]
		switch f.state {
		case feedString:
			i = f.readString(p, i, to)
			continue
		case feedBad:
			return
		case feedEscape:
			f.keep(p[i : i+1])
			i++
			switch {
			case simpleEscape(c):
				f.state = feedString
			case c == 'u':
				f.state, f.hex = feedHex, 4
			default:
				f.state = feedBad
			}
			continue
		case feedHex:
			if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
				f.state = feedBad
				continue
			}
			f.keep(p[i : i+1])
			i++
			if f.hex--; f.hex == 0 {
				f.state = feedString
			}
			continue
		case feedLiteral:
			if c != f.literal[0] {
				f.state = feedBad
				continue
			}
			i++
			if f.literal = f.literal[1:]; f.literal == "" {
				f.scalar(to)
			}
			continue
		}
		if f.state >= feedMinus && f.state <= feedExp {
			i = f.readNumber(p, i, to)
			continue
		}
		i++
		if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
			continue
		}
		switch f.state {
		case feedStart:
			if c != '{' {
				f.state = feedBad
				continue
			}
			f.push(true, to)
		case feedFirstValue:
			if c == ']' {
				f.pop(to)
				continue
			}
			i = f.value(p, i, to)
		case feedValue:
			i = f.value(p, i, to)
		case feedFirstKey, feedKey:
			switch {
			case c == '"':
				i = f.key(p, i, to)
			case c == '}' && f.state == feedFirstKey:
				f.pop(to)
			default:
				f.state = feedBad
			}
		case feedColon:
			if c != ':' {
				f.state = feedBad
				continue
			}
			f.state = feedValue
		case feedAfter:
			object := f.isObject()
			switch {
			case c == ',' && object:
				f.state = feedKey
			case c == ',':
				f.state = feedValue
				f.at = f.element()
			case c == '}' && object, c == ']' && !object:
				f.pop(to)
			default:
				f.state = feedBad
			}
		default: // feedDone: nothing may follow
			f.state = feedBad
		}
	}
}

// value begins the value whose first byte is p[i-1] and returns where to go on.
// What stands in p as a whole is read here and now.
func (f *feed) value(p []byte, i int, to seer) int {
	f.textSize, f.total = 0, 0
	watched := f.at != nil && f.at.id != 0
	switch p[i-1] {
	case '"':
		end := i + plain(p[i:])
		if end < len(p) && p[end] == '"' {
			if watched {
				to.see(f.at.id, jsonspan.String, p[i:min(end, i+feedText)], end-i)
			}
			f.state = feedAfter
			return end + 1
		}
		f.state, f.kind, f.inKey, f.escaped = feedString, jsonspan.String, false, false
		return i
	case '{':
		f.push(true, to)
		return i
	case '[':
		f.push(false, to)
		return i
	case 't':
		return f.word(p, i, jsonspan.True, "rue", to)
	case 'f':
		return f.word(p, i, jsonspan.False, "alse", to)
	case 'n':
		return f.word(p, i, jsonspan.Null, "ull", to)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if end := number(p, i-1); end > 0 {
			if watched {
				to.see(f.at.id, jsonspan.Number, p[i-1:min(end, i-1+feedText)], end-i+1)
			}
			f.state = feedAfter
			return end
		}
	default:
		f.state = feedBad
		return i
	}
	switch p[i-1] {
	case '-':
		f.state = feedMinus
	case '0':
		f.state = feedZero
	default:
		f.state = feedInt
	}
	f.kind = jsonspan.Number
	f.keep(p[i-1 : i])
	return i
}

// number is the offset behind the number at p[i] if that is there as a whole
// with a byte behind it, and of the common kind: without an exponent. Else it
// is 0.
func number(p []byte, i int) int {
	if p[i] == '-' {
		i++
	}
	from := i
	for i < len(p) && '0' <= p[i] && p[i] <= '9' {
		i++
	}
	if i == from || p[from] == '0' && i > from+1 {
		return 0
	}
	if i < len(p) && p[i] == '.' {
		i++
		from = i
		for i < len(p) && '0' <= p[i] && p[i] <= '9' {
			i++
		}
		if i == from {
			return 0
		}
	}
	if i == len(p) || p[i]|0x20 == 'e' {
		return 0
	}
	return i
}

// word reads the rest of true, false or null.
func (f *feed) word(p []byte, i int, kind jsonspan.Kind, rest string, to seer) int {
	if len(p)-i >= len(rest) && string(p[i:i+len(rest)]) == rest {
		f.state = feedAfter
		if f.at != nil && f.at.id != 0 {
			to.see(f.at.id, kind, nil, 0)
		}
		return i + len(rest)
	}
	f.state, f.kind, f.literal = feedLiteral, kind, rest
	return i
}

// key begins the key whose text starts at p[i] and returns where to go on.
func (f *feed) key(p []byte, i int, to seer) int {
	f.at = f.container()
	end := i + plain(p[i:])
	if end < len(p) && p[end] == '"' {
		f.state = feedColon
		if f.at != nil {
			f.at = f.at.child(p[i:end])
		}
		if end+1 < len(p) && p[end+1] == ':' {
			f.state = feedValue
			end++
			if f.at != nil && f.at.bulk {
				to.bulk(end + 1)
			}
		}
		return end + 1
	}
	f.state, f.inKey, f.escaped, f.textSize, f.total = feedString, true, false, 0, 0
	return i
}

// keep counts bytes of the open scalar and keeps the first of them if anyone
// watches it.
func (f *feed) keep(p []byte) {
	f.total += len(p)
	if f.at != nil {
		f.textSize += copy(f.text[f.textSize:], p)
	}
}

// readString reads the open string from p[i:] on.
func (f *feed) readString(p []byte, i int, to seer) int {
	end := i + plain(p[i:])
	// Plain escapes that are there as a whole do not end the search.
	for end+1 < len(p) && p[end] == '\\' && simpleEscape(p[end+1]) {
		f.escaped = true
		end += 2
		end += plain(p[end:])
	}
	f.keep(p[i:end])
	if end == len(p) {
		return end
	}
	switch c := p[end]; c {
	case '"':
		if !f.inKey {
			f.scalar(to)
			return end + 1
		}
		f.state = feedColon
		if f.at == nil {
			return end + 1
		}
		name := f.text[:f.textSize]
		if f.escaped && f.total == f.textSize {
			var buf [feedText]byte
			name = jsonspan.AppendUnquoted(buf[:0], name)
		}
		f.at = f.at.child(name)
	case '\\':
		f.keep(p[end : end+1])
		f.state, f.escaped = feedEscape, true
	default:
		f.state = feedBad
	}
	return end + 1
}

// simpleEscape reports whether c behind a backslash is an escape of its own.
func simpleEscape(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

// plain is how many bytes of p stand before the first quote, backslash or
// control character. It looks at eight bytes at a time.
func plain(p []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(p); i += 8 {
		w := binary.LittleEndian.Uint64(p[i:])
		quote, slash := w^'"'*ones, w^'\\'*ones
		// A byte of x is zero where x-ones borrows and x has no top bit; the
		// lowest such byte is exact, and only that one is asked for.
		hit := ((quote - ones) &^ quote) | ((slash - ones) &^ slash) | ((w - 0x20*ones) &^ w)
		if hit &= tops; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(p); i++ {
		if c := p[i]; c == '"' || c == '\\' || c < 0x20 {
			break
		}
	}
	return i
}

// readNumber reads the open number from p[i:] on.
func (f *feed) readNumber(p []byte, i int, to seer) int {
	from := i
	for ; i < len(p); i++ {
		c := p[i]
		digit := '0' <= c && c <= '9'
		if digit && (f.state == feedInt || f.state == feedFrac || f.state == feedExp) {
			for i+1 < len(p) && '0' <= p[i+1] && p[i+1] <= '9' {
				i++
			}
			continue
		}
		next := feedBad
		switch f.state {
		case feedMinus:
			if c == '0' {
				next = feedZero
			} else if digit {
				next = feedInt
			}
		case feedZero, feedInt:
			switch {
			case c == '.':
				next = feedPoint
			case c|0x20 == 'e':
				next = feedE
			case !digit:
				next = feedAfter
			}
		case feedPoint:
			if digit {
				next = feedFrac
			}
		case feedFrac:
			next = feedAfter
			if c|0x20 == 'e' {
				next = feedE
			}
		case feedE:
			switch {
			case digit:
				next = feedExp
			case c == '+' || c == '-':
				next = feedESign
			}
		case feedESign:
			if digit {
				next = feedExp
			}
		case feedExp:
			next = feedAfter
		}
		if next == feedAfter || next == feedBad {
			f.keep(p[from:i])
			if next == feedBad {
				f.state = feedBad
				return i
			}
			f.scalar(to)
			return i
		}
		f.state = next
	}
	f.keep(p[from:i])
	return i
}

// scalar ends the scalar that is being read.
func (f *feed) scalar(to seer) {
	f.state = feedAfter
	if f.at != nil && f.at.id != 0 {
		to.see(f.at.id, f.kind, f.text[:f.textSize], f.total)
	}
}

// push opens a container.
func (f *feed) push(object bool, to seer) {
	if f.depth == jsonspan.MaxDepth {
		f.state = feedBad
		return
	}
	word, bit := f.depth/64, uint64(1)<<(f.depth%64)
	f.objects[word] &^= bit
	kind := jsonspan.Array
	f.state = feedFirstValue
	if object {
		f.objects[word] |= bit
		kind, f.state = jsonspan.Object, feedFirstKey
	}
	if f.depth < watchDepth {
		f.open[f.depth] = f.at
	}
	f.depth++
	if f.at != nil && f.at.id != 0 {
		to.see(f.at.id, kind, nil, 0)
	}
	if !object {
		f.at = f.element()
	}
}

// pop closes the innermost container.
func (f *feed) pop(to seer) {
	f.depth--
	if f.depth < watchDepth {
		if w := f.open[f.depth]; w != nil && w.id != 0 {
			to.leave(w.id)
		}
	}
	f.state = feedAfter
	if f.depth == 0 {
		f.state = feedDone
	}
}

func (f *feed) isObject() bool {
	d := f.depth - 1
	return f.objects[d/64]>>(d%64)&1 != 0
}

// container is what is watched in the innermost open container.
func (f *feed) container() *watch {
	if f.depth > watchDepth {
		return nil
	}
	return f.open[f.depth-1]
}

// element is what is watched of the elements of the open array.
func (f *feed) element() *watch {
	if w := f.container(); w != nil {
		return w.elem
	}
	return nil
}
