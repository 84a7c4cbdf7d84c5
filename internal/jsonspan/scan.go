package jsonspan

import (
	"encoding/binary"
	"math/bits"
)

// skipSpace returns the offset of the first byte at or after i that is no
// white space.
func skipSpace(src []byte, i int) int {
	for i < len(src) && src[i] <= ' ' && isSpace(src[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// scanLiteral returns the offset after word, which must stand at i, or -1.
func scanLiteral(src []byte, i int, word string) int {
	if len(src)-i < len(word) || string(src[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// scanNumber returns the offset after the number at i, or -1.
func scanNumber(src []byte, i int) int {
	if i < len(src) && src[i] == '-' {
		i++
	}
	from := i
	i = skipDigits(src, i)
	if i == from || src[from] == '0' && i > from+1 {
		return -1
	}
	if i < len(src) && src[i] == '.' {
		from = i + 1
		if i = skipDigits(src, from); i == from {
			return -1
		}
	}
	if i < len(src) && src[i]|0x20 == 'e' {
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		from = i
		if i = skipDigits(src, from); i == from {
			return -1
		}
	}
	return i
}

func skipDigits(src []byte, i int) int {
	for i < len(src) && src[i]-'0' <= 9 {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// inString marks, in the high bit of its byte, what may end the plain run of a
// string's text: a quote, a backslash, a byte below 0x20. The lowest mark is
// exact; above it there may be false ones.
func inString(w uint64) uint64 {
	q := w ^ '"'*ones
	b := w ^ '\\'*ones
	return ((q-ones)&^q | (b-ones)&^b | (w-' '*ones)&^w) & highs
}

// scanString returns the offset after the closing quote of the string whose
// text starts at i, -1 if it is not valid, and what was seen: sawEscape,
// sawHigh, perhaps sawCompact.
func scanString(src []byte, i int) (end, flags int) {
	if useAVX512 && len(src)-i >= blockSize && src[i]|0x20 == '{' { // or a bracket
		return scanJSONText(src, i)
	}
	return scanAnyString(src, i)
}

// scanJSONText is scanString for a text that may itself be JSON: while it looks
// compact it takes less to find its end, and whether it is compact comes for
// nothing.
func scanJSONText(src []byte, i int) (end, flags int) {
	run, inside, carry, slashes, saw := compactRun(src[i:])
	at := i + run*blockSize
	if saw&sawControl != 0 {
		return -1, 0
	}
	flags = flag(slashes != 0, sawEscape) | saw&sawHigh
	if len(src)-at >= blockSize && run > 0 {
		var m spaceMasks
		spaceMasksOne(src[at:], &m)
		escaped := m.slashes<<1 | carry
		if ends := m.quotes &^ escaped; ends != 0 {
			before := ends&-ends - 1
			within := prefixXor(m.quotes&before) ^ inside
			end = at + bits.TrailingZeros64(ends)
			if (m.quotes^escaped)&before == 0 && m.spaces&before&^within == 0 && within&(before+1) == 0 && !hasControl(src, at, m.spaces&before) {
				return end + 1, flags | flag(m.slashes&before != 0, sawEscape) | sawHighIn(src[at:end]) | sawCompact
			}
		}
	}
	// Go on from here as from the beginning of any text. Where the block before
	// ended with a backslash, that is the beginning.
	end, saw = scanAnyString(src, at-int(carry))
	if end < 0 {
		return -1, 0
	}
	return end, flags | saw
}

// hasControl reports whether one of the bytes of the block at i that spaces marks,
// none of them above ' ', is a control byte.
func hasControl(src []byte, i int, spaces uint64) bool {
	for ; spaces != 0; spaces &= spaces - 1 {
		if src[i+bits.TrailingZeros64(spaces)] < ' ' {
			return true
		}
	}
	return false
}

// sawHighIn is sawHigh if text is not ASCII.
func sawHighIn(text []byte) int {
	high := byte(0)
	for _, c := range text {
		high |= c
	}
	return flag(high >= 0x80, sawHigh)
}

// scanAnyString is scanString for whatever text.
func scanAnyString(src []byte, i int) (end, flags int) {
	// Most keys and values are short: look at two words before anything that
	// has a price of its own.
	high := uint64(0)
	for range 2 {
		if len(src)-i < 8 {
			break
		}
		w := binary.LittleEndian.Uint64(src[i:])
		high |= w
		if m := inString(w); m != 0 {
			i += bits.TrailingZeros64(m) >> 3
			if src[i] == '"' {
				return i + 1, highFlag(high)
			}
			break
		}
		i += 8
	}
	if len(src)-i >= blockSize {
		at, flags := scanBlocks(src[i:])
		switch {
		case at < 0:
			return -1, 0
		case flags&ranOut == 0:
			return i + at + 1, flags | highFlag(high)
		}
		return scanTail(src, i+at, high, flags&^ranOut)
	}
	return scanTail(src, i, high, 0)
}

// highFlag is sawHigh if a byte of w is not ASCII.
func highFlag(w uint64) int { return flag(w&highs != 0, sawHigh) }

// scanTail is scanString for what is less than a block.
func scanTail(src []byte, i int, high uint64, flags int) (int, int) {
	for {
		if len(src)-i >= 8 {
			w := binary.LittleEndian.Uint64(src[i:])
			high |= w
			m := inString(w)
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		} else if i >= len(src) {
			return -1, 0
		}
		switch c := src[i]; {
		case c == '"':
			return i + 1, flags | highFlag(high)
		case c == '\\':
			flags |= sawEscape
			if i = skipEscape(src, i); i < 0 {
				return -1, 0
			}
		case c < 0x20:
			return -1, 0
		default:
			high |= uint64(c)
			i++
		}
	}
}

// skipEscape returns the offset after the escape whose backslash stands at i,
// or -1.
func skipEscape(src []byte, i int) int {
	if i+1 >= len(src) {
		return -1
	}
	switch src[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 <= len(src) && isHex(src[i+2]) && isHex(src[i+3]) && isHex(src[i+4]) && isHex(src[i+5]) {
			return i + 6
		}
	}
	return -1
}

func isHex(c byte) bool { return c-'0' <= 9 || (c|0x20)-'a' <= 5 }
