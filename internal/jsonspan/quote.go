package jsonspan

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

const hexDigits = "0123456789abcdef"

// AppendQuoted appends text as a JSON string, quotes included. Only what JSON
// demands is escaped: the quote, the backslash and bytes below 0x20; and a
// surrogate in its three-byte form becomes its \u escape. The spare capacity
// of dst must not overlap text.
func AppendQuoted(dst, text []byte) []byte {
	return append(AppendEscaped(append(dst, '"'), text), '"')
}

// AppendEscaped is AppendQuoted without the quotes.
func AppendEscaped(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		rest := len(text) - i
		if cap(dst)-len(dst) < rest {
			dst = slices.Grow(dst, rest+rest/8)
		}
		out := dst[len(dst):cap(dst)]
		di, dj := 0, 0
		if rest >= blockSize {
			di, dj = escapeBlocks(out, text[i:])
		}
		di, dj = escapeWords(out, text[i:], di, dj)
		dst, i = dst[:len(dst)+dj], i+di
		// The next byte has no short escape, or one of the two has less than a
		// word left.
		for i < len(text) {
			dst, i = appendEscape(dst, text, i)
			if len(text)-i >= 8 {
				break
			}
		}
	}
	return dst
}

// escapeWords escapes text[i:] into out[j:] as long as both have room for
// words and only short escapes are needed.
func escapeWords(out, text []byte, i, j int) (int, int) {
	for len(text)-i >= 8 && len(out)-j >= 9 {
		w := binary.LittleEndian.Uint64(text[i:])
		binary.LittleEndian.PutUint64(out[j:], w)
		s := w ^ 0xED*ones
		m := inString(w) | (s-ones)&^s&highs
		if m == 0 {
			i, j = i+8, j+8
			continue
		}
		k := bits.TrailingZeros64(m) >> 3
		i, j = i+k, j+k
		e := shortEscapeOf[text[i]]
		if e == 0 {
			break
		}
		out[j], out[j+1] = '\\', e // k <= 7: within the nine bytes
		i, j = i+1, j+2
	}
	return i, j
}

// shortEscapeOf is the second byte of the short escape for a byte.
var shortEscapeOf = [256]byte{
	'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't',
}

// appendEscape appends the byte of text at i, escaped if need be, or the
// surrogate there, and returns the offset after it.
func appendEscape(dst, text []byte, i int) ([]byte, int) {
	switch c := text[i]; {
	case shortEscapeOf[c] != 0:
		return append(dst, '\\', shortEscapeOf[c]), i + 1
	case c < 0x20:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15]), i + 1
	case c == 0xED && len(text)-i >= 3 && text[i+1]>>5 == 0xA0>>5 && text[i+2]>>6 == 0x80>>6:
		r := 0xD000 | int(text[i+1]&0x3F)<<6 | int(text[i+2]&0x3F)
		return append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15]), i + 3
	default:
		return append(dst, c), i + 1
	}
}
