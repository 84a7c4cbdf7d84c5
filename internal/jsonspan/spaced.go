package jsonspan

import "math/bits"

// spaceMasks say of each of the 64 bytes of a block what it is.
type spaceMasks struct {
	quotes, slashes uint64
	spaces          uint64 // white space, and control bytes
}

// spaceBatch is how many blocks are classified at a time.
const spaceBatch = 16

// Spaced reports whether the valid JSON text raw has white space between its
// tokens, so that Compact would make it shorter. It takes a fraction of the time
// of Compact. Of other text it may report anything.
func Spaced(raw []byte) bool {
	var (
		masks  [spaceBatch]spaceMasks
		inside uint64 // all ones inside of a string
		carry  uint64 // 1 if the first byte of the block is escaped
		tail   [blockSize]byte
	)
	for len(raw) > 0 {
		if len(raw) < blockSize {
			// Nothing that is no white space ends the text.
			for i := range tail {
				tail[i] = '0'
			}
			copy(tail[:], raw)
			raw = tail[:]
		}
		n := min(len(raw)/blockSize, spaceBatch)
		spaceMasksOf(raw, n, &masks)
		for i := range masks[:n] {
			m := &masks[i]
			quotes := m.quotes
			if m.slashes|carry != 0 {
				quotes &^= escapedBytes(m.slashes, &carry)
			}
			within := prefixXor(quotes) ^ inside
			for outside := m.spaces &^ within; outside != 0; outside &= outside - 1 {
				if isSpace(raw[i*blockSize+bits.TrailingZeros64(outside)]) {
					return true
				}
			}
			inside = -(within >> 63)
		}
		raw = raw[n*blockSize:]
	}
	return false
}

// CompactText reports whether raw, the encoded text between the quotes of a JSON
// string, is itself a JSON text in one line that has no white space between its
// tokens, as far as the eye can tell without parsing it: it begins like an
// object or a list, holds no escape but that of the quote, and no space outside
// of what is quoted. It decodes nothing, at a tenth of the price of that, and
// says no when in doubt.
func CompactText(raw []byte) bool {
	if len(raw) < blockSize || raw[0] != '{' && raw[0] != '[' {
		return false
	}
	var (
		inside uint64 // all ones inside of a quoted text
		carry  uint64 // 1 if the first byte of the block is escaped
		tail   [blockSize]byte
		ok     bool
	)
	whole := len(raw) &^ (blockSize - 1)
	if inside, carry, ok = compactBlocks(raw[:whole], 0, 0); !ok {
		return false
	}
	if whole < len(raw) {
		for i := range tail {
			tail[i] = '0'
		}
		copy(tail[:], raw[whole:])
		inside, _, ok = compactBlocks(tail[:], inside, carry)
	}
	return ok && inside == 0
}

// compactBlocksGo is what the vector code does: it reads the whole blocks of
// src, from the state in which the ones before left. In a JSON string every
// quote is escaped; that nothing else is can be seen without telling the
// backslashes apart that escape from those that are escaped.
func compactBlocksGo(src []byte, inside, carry uint64) (in, out uint64, ok bool) {
	var masks [spaceBatch]spaceMasks
	for len(src) > 0 {
		n := min(len(src)/blockSize, spaceBatch)
		spaceMasksOf(src, n, &masks)
		for i := range masks[:n] {
			m := &masks[i]
			if m.slashes<<1|carry != m.quotes {
				return inside, carry, false
			}
			carry = m.slashes >> 63
			within := prefixXor(m.quotes) ^ inside
			if m.spaces&^within != 0 {
				return inside, carry, false
			}
			inside = -(within >> 63)
		}
		src = src[n*blockSize:]
	}
	return inside, carry, true
}

// prefixXor has in each bit the parity of the bits of x up to it.
func prefixXor(x uint64) uint64 {
	x ^= x << 1
	x ^= x << 2
	x ^= x << 4
	x ^= x << 8
	x ^= x << 16
	return x ^ x<<32
}

// spaceMasksOne sets out to the masks of the block that src begins with.
func spaceMasksOne(src []byte, out *spaceMasks) {
	var all [spaceBatch]spaceMasks
	spaceMasksOf(src, 1, &all)
	*out = all[0]
}

// spaceMasksGo is what the vector code does.
func spaceMasksGo(src []byte, n int, out *[spaceBatch]spaceMasks) {
	for i := range n {
		var m spaceMasks
		for j, c := range src[i*blockSize : (i+1)*blockSize] {
			bit := uint64(1) << j
			switch {
			case c == '"':
				m.quotes |= bit
			case c == '\\':
				m.slashes |= bit
			case c <= ' ':
				m.spaces |= bit
			}
		}
		out[i] = m
	}
}
