package tokens

import (
	"encoding/binary"
	"math/bits"
)

// blockSize is the number of bytes that are looked at together, one bit each.
const blockSize = 64

// masks has a bit per byte of a block for each class. The order of the fields
// is known to the vector code.
type masks struct {
	lower, upper uint64 // ASCII letters
	digit        uint64
	space        uint64
	newline      uint64 // and carriage return
	tab          uint64
	light        uint64 // punctuation that tokens of several characters are made of: see isLight
	vowel        uint64 // a e i o u y, large or small
	high, lead   uint64 // not ASCII; and of these, the first of a UTF-8 sequence
	equal        uint64 // as the byte before, in the same block
}

// punctuation is what is left of ASCII, control characters included.
func (m *masks) punctuation() uint64 {
	return ^(m.lower | m.upper | m.digit | m.space | m.newline | m.tab | m.high)
}

func isLight(c byte) bool {
	switch c {
	case '"', '\'', '(', ')', ',', '.', ':', ';', '[', ']', '{', '}':
		return true
	}
	return false
}

// classes has a bit per class for each byte: the first eight fields of masks,
// in their order.
var classes = func() (t [256]byte) {
	for i := range t {
		c := byte(i)
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = 1 << 0
		case 'A' <= c && c <= 'Z':
			t[c] = 1 << 1
		case '0' <= c && c <= '9':
			t[c] = 1 << 2
		case c == ' ':
			t[c] = 1 << 3
		case c == '\n' || c == '\r':
			t[c] = 1 << 4
		case c == '\t':
			t[c] = 1 << 5
		case isLight(c):
			t[c] = 1 << 6
		}
		switch c | 0x20 {
		case 'a', 'e', 'i', 'o', 'u', 'y':
			if c >= 'A' {
				t[c] |= 1 << 7
			}
		}
	}
	return t
}()

// classifyPlain is classify without vector instructions.
func classifyPlain(out *masks, block *[blockSize]byte) {
	const highs = 0x8080808080808080
	*out = masks{}
	last := block[0] ^ 1 // not equal to the first
	for i := 0; i < blockSize; i += 8 {
		w := binary.LittleEndian.Uint64(block[i:])
		b := block[i : i+8 : i+8]
		// Bit j of byte i is class j of byte i; afterwards the other way round.
		t := uint64(classes[b[0]]) | uint64(classes[b[1]])<<8 | uint64(classes[b[2]])<<16 | uint64(classes[b[3]])<<24 |
			uint64(classes[b[4]])<<32 | uint64(classes[b[5]])<<40 | uint64(classes[b[6]])<<48 | uint64(classes[b[7]])<<56
		t = transpose(t)
		out.lower |= t & 0xFF << i
		out.upper |= t >> 8 & 0xFF << i
		out.digit |= t >> 16 & 0xFF << i
		out.space |= t >> 24 & 0xFF << i
		out.newline |= t >> 32 & 0xFF << i
		out.tab |= t >> 40 & 0xFF << i
		out.light |= t >> 48 & 0xFF << i
		out.vowel |= t >> 56 << i
		high := w & highs
		out.high |= gather(high) << i
		out.lead |= gather(high&(w<<1)) << i
		d := w ^ (w<<8 | uint64(last)) // zero bytes where equal
		out.equal |= gather(^((d&^highs+(highs-highs>>7))|d)&highs) << i
		last = block[i+7]
	}
}

// gather collects the high bits of the bytes of w, which has no others, in the
// low byte.
func gather(w uint64) uint64 { return bits.RotateLeft64(w, -7) * 0x0102040810204080 >> 56 }

// transpose takes bit j of byte i to bit i of byte j (Warren, "Hacker's
// Delight", section 7-3).
func transpose(x uint64) uint64 {
	t := (x ^ x>>7) & 0x00AA00AA00AA00AA
	x ^= t ^ t<<7
	t = (x ^ x>>14) & 0x0000CCCC0000CCCC
	x ^= t ^ t<<14
	t = (x ^ x>>28) & 0x00000000F0F0F0F0
	return x ^ t ^ t<<28
}
