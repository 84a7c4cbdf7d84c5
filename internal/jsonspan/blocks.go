package jsonspan

import (
	"encoding/binary"
	"math/bits"
)

// blockSize is what scanBlocks reads at a time. It reads whole blocks inside
// of the source only; scanTail does the rest.
const blockSize = 64

// Flags that scanBlocks returns.
const (
	sawEscape  = 1 << iota // there was a backslash before the returned offset
	ranOut                 // no quote in the whole blocks: go on at the returned offset
	sawHigh                // a byte that was read, perhaps behind the quote, is not ASCII
	sawCompact             // the text is what CompactText is true of
)

// sawControl is what compactRun returns of a byte that may not stand in a string.
const sawControl = 1

// scanBlocksGo looks for the closing quote of the string whose text src begins
// with, in the whole blocks of src, of which there is at least one. It returns
// the offset of the quote; or, with ranOut, the offset of the first byte (if of
// an escape, its backslash) it has not dealt with; or -1 if the text is not
// valid. The vector code does the same.
//
// Text in JSON that is itself JSON has a backslash every few bytes. To stop at
// each of them costs a mispredicted branch each; so a block is turned into bit
// masks, one bit a byte, and what is escaped comes out of arithmetic on them.
func scanBlocksGo(src []byte) (at int, flags int) {
	var (
		carry  uint64 // 1 if the first byte of the block is escaped
		digits uint64 // bits of the first bytes that a \u before them needs as hexadecimal digits
		seen   uint64 // all backslashes
		high   uint64 // all bytes, together
	)
	for at+blockSize <= len(src) {
		block := (*[blockSize]byte)(src[at:])
		quotes, slashes, bad := masks(block)
		for i := 0; i < blockSize; i += 8 {
			high |= binary.LittleEndian.Uint64(block[i:])
		}
		if slashes|carry|digits != 0 {
			escaped := escapedBytes(slashes, &carry)
			kinds := uint8(0) // of the escapes that are neither \" nor \\
			for e := escaped &^ (quotes | slashes); e != 0; e &= e - 1 {
				kinds |= escapeKind[block[bits.TrailingZeros64(e)&63]]
			}
			quotes &^= escaped
			if kinds != 0 || digits != 0 {
				bad |= longEscapes(block, escaped, &digits)
			}
		}
		if quotes != 0 {
			before := quotes ^ (quotes - 1) // the quote itself included
			if bad&before != 0 {
				return -1, 0
			}
			at += bits.TrailingZeros64(quotes)
			return at, flag(seen|slashes&before != 0, sawEscape) | flag(high&highs != 0, sawHigh)
		}
		if bad != 0 {
			return -1, 0
		}
		seen |= slashes
		at += blockSize
	}
	at -= int(carry) // a pending backslash
	if digits != 0 {
		at -= 6 - bits.OnesCount64(digits) // a pending \u with some of its digits
	}
	return at, ranOut | flag(seen != 0, sawEscape) | flag(high&highs != 0, sawHigh)
}

func flag(is bool, f int) int {
	if is {
		return f
	}
	return 0
}

// escapedBytes marks the bytes that a backslash escapes, given all
// backslashes. Of a run of backslashes every other one escapes the byte after
// it. A subtraction carries through a run, and whether it began at an even or
// an odd place decides what it leaves there (after simdjson: Langdale and
// Lemire, "Parsing gigabytes of JSON per second", VLDB Journal 28, 2019).
// carry goes from block to block.
func escapedBytes(slashes uint64, carry *uint64) uint64 {
	const odd = 0xAAAAAAAAAAAAAAAA
	from := slashes &^ *carry
	both := (from<<1 | odd) - from ^ odd // the escaping backslashes and what they escape
	escaped := both ^ (slashes | *carry)
	*carry = both & slashes >> 63
	return escaped
}

// longEscapes marks the bytes that are escaped though no escape begins so, and
// those that should be a hexadecimal digit and are none. digits goes from
// block to block.
func longEscapes(block *[blockSize]byte, escaped uint64, digits *uint64) (bad uint64) {
	var unicode uint64
	for e := escaped; e != 0; e &= e - 1 {
		switch escapeKind[block[bits.TrailingZeros64(e)&63]] {
		case illegalEscape:
			bad |= e & -e
		case unicodeEscape:
			unicode |= e & -e
		}
	}
	need := *digits | unicode<<1 | unicode<<2 | unicode<<3 | unicode<<4
	*digits = unicode>>63 | unicode>>62 | unicode>>61 | unicode>>60
	for ; need != 0; need &= need - 1 {
		if !isHex(block[bits.TrailingZeros64(need)&63]) {
			bad |= need & -need
		}
	}
	return bad
}

// masks returns a bit per byte of the block for the quotes, the backslashes
// and the bytes below 0x20.
func masks(block *[blockSize]byte) (quotes, slashes, controls uint64) {
	var (
		w0, w1 = binary.LittleEndian.Uint64(block[0:]), binary.LittleEndian.Uint64(block[8:])
		w2, w3 = binary.LittleEndian.Uint64(block[16:]), binary.LittleEndian.Uint64(block[24:])
		w4, w5 = binary.LittleEndian.Uint64(block[32:]), binary.LittleEndian.Uint64(block[40:])
		w6, w7 = binary.LittleEndian.Uint64(block[48:]), binary.LittleEndian.Uint64(block[56:])
	)
	const q, s = '"' * ones, '\\' * ones
	quotes = equal(w0, q)>>7 | equal(w1, q)>>6 | equal(w2, q)>>5 | equal(w3, q)>>4 |
		equal(w4, q)>>3 | equal(w5, q)>>2 | equal(w6, q)>>1 | equal(w7, q)
	slashes = equal(w0, s)>>7 | equal(w1, s)>>6 | equal(w2, s)>>5 | equal(w3, s)>>4 |
		equal(w4, s)>>3 | equal(w5, s)>>2 | equal(w6, s)>>1 | equal(w7, s)
	const space = ' ' * ones
	controls = (w0-space)&^w0 | (w1-space)&^w1 | (w2-space)&^w2 | (w3-space)&^w3 |
		(w4-space)&^w4 | (w5-space)&^w5 | (w6-space)&^w6 | (w7-space)&^w7
	if controls &= highs; controls != 0 { // a borrow may have marked others, too
		controls = 0
		for i, c := range block {
			if c < 0x20 {
				controls |= 1 << i
			}
		}
	}
	return transpose(quotes), transpose(slashes), controls
}

// equal sets the high bit of each byte in which w and x agree.
func equal(w, x uint64) uint64 {
	const ascii = ones * 0x7F
	w ^= x
	return ^(w&ascii + ascii | w) & highs
}

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

// Values of escapeKind.
const (
	illegalEscape = 1
	unicodeEscape = 2
)

// escapeKind says what a byte after a backslash is: 0 for a short escape.
var escapeKind = func() (t [256]byte) {
	for i := range t {
		t[i] = illegalEscape
	}
	for _, c := range `"\/bfnrt` {
		t[c] = 0
	}
	t['u'] = unicodeEscape
	return t
}()
