package jsonspan

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// AppendUnquoted appends the decoded form of raw, the valid encoded text
// between a string's quotes, to dst. A lone surrogate escape becomes its
// three-byte form (as in WTF-8), which AppendQuoted turns back into the
// escape; bytes that are not UTF-8 stay as they are. The spare capacity of dst
// must not overlap raw.
func AppendUnquoted(dst, raw []byte) []byte {
	// The decoded form is never longer, so there is room for all of it, and for
	// the whole blocks that the loops write before they know what of them stays.
	dst = slices.Grow(dst, len(raw))
	out := dst[len(dst):][:len(raw)]
	i, j := 0, 0
	dense := false // the last escape that is not short stood close to the one before
	for i < len(raw) {
		if len(raw)-i > leastBlocks && !dense {
			di, dj := unquoteBlocks(out[j:], raw[i:])
			i, j = i+di, j+dj
			dense = di < leastBlocks
		} else {
			dense = false
		}
		i, j = unquoteWords(out, raw, i, j)
		for i < len(raw) && raw[i] == '\\' {
			if c := shortEscape[raw[i+1]]; c != 0 {
				out[j] = c
				i, j = i+2, j+1
				continue
			}
			r, n := unicodeAt(raw, i)
			i += n
			switch {
			case r < 0x80:
				out[j] = byte(r)
				j++
			case r < 0x800:
				out[j], out[j+1] = 0xC0|byte(r>>6), 0x80|byte(r)&0x3F
				j += 2
			case r < 0x10000: // surrogates, too
				out[j], out[j+1], out[j+2] = 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F
				j += 3
			default:
				j += utf8.EncodeRune(out[j:], r)
			}
		}
	}
	return dst[:len(dst)+j]
}

const (
	// unquoteBlock is what unquoteBlocks may leave.
	unquoteBlock = 64
	// leastBlocks is more than what unquoteBlocks is worth to be called for.
	leastBlocks = 16
)

// unquoteWords decodes raw[i:] into out[j:] up to an escape that is not short,
// or to the end. It returns how far it came in both.
func unquoteWords(out, raw []byte, i, j int) (int, int) {
	for len(raw)-i > 8 {
		w := binary.LittleEndian.Uint64(raw[i:])
		binary.LittleEndian.PutUint64(out[j:], w) // j <= i: within out
		b := w ^ '\\'*ones
		m := (b - ones) &^ b & highs
		if m == 0 {
			i, j = i+8, j+8
			continue
		}
		k := bits.TrailingZeros64(m) >> 3
		i, j = i+k, j+k
		c := shortEscape[raw[i+1]]
		if c == 0 {
			return i, j
		}
		out[j] = c
		i, j = i+2, j+1
	}
	for ; i < len(raw) && raw[i] != '\\'; i, j = i+1, j+1 {
		out[j] = raw[i]
	}
	return i, j
}

// shortEscape is what the two-byte escape with that second byte stands for.
var shortEscape = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// unicodeAt decodes the \u escape at i, with its second half if that makes a
// pair, and returns the number of bytes it takes.
func unicodeAt(raw []byte, i int) (r rune, n int) {
	r, n = hex4(raw[i+2:]), 6
	if r>>10 == 0xD800>>10 && len(raw)-i >= 12 && raw[i+6] == '\\' && raw[i+7] == 'u' {
		if low := hex4(raw[i+8:]); low>>10 == 0xDC00>>10 {
			return 0x10000 + (r&0x3FF)<<10 + low&0x3FF, 12
		}
	}
	return r, n
}

// appendRune is utf8.AppendRune, but keeps surrogates in their three-byte form.
func appendRune(dst []byte, r rune) []byte {
	if r>>11 == 0xD800>>11 {
		return append(dst, 0xED, 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(dst, r)
}

// hex4 is the number that four hexadecimal digits spell.
func hex4(b []byte) rune {
	// A digit's value is in its low half; letters have bit 6 set and count
	// from 1 there.
	w := binary.LittleEndian.Uint32(b)
	w = w&0x0F0F0F0F + (w>>6&0x01010101)*9
	w = w<<4 | w>>8 // bytes 0 and 2 now hold two digits each
	return rune(w&0xFF<<8 | w>>16&0xFF)
}
