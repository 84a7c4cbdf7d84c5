package jsonspan

import (
	"bytes"
	"math/bits"
)

// Measure returns how many line feeds the text holds that raw, what stands
// between the quotes of a valid JSON string, encodes, and how many bytes the text
// has, without decoding it.
func Measure(raw []byte) (breaks, size int) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return 0, len(raw) // an encoded text holds no line feed as it is
	}
	var (
		masks [spaceBatch]spaceMasks
		carry uint64
		tail  [blockSize]byte
		pair  int // where the last \u escape ends, with its second half
	)
	size = len(raw)
	for at := 0; at < len(raw); {
		src, n := raw[at:], 0
		if len(src) < blockSize {
			copy(tail[:], src)
			clear(tail[len(src):])
			src, n = tail[:], 1
		} else {
			n = min(len(src)/blockSize, spaceBatch)
		}
		spaceMasksOf(src, n, &masks)
		for i := range masks[:n] {
			m := &masks[i]
			if m.slashes|carry == 0 {
				continue
			}
			escaped := escapedBytes(m.slashes, &carry)
			size -= bits.OnesCount64(escaped)
			for e := escaped &^ (m.slashes | m.quotes); e != 0; e &= e - 1 {
				j := i*blockSize + bits.TrailingZeros64(e)
				switch src[j] {
				case 'n':
					breaks++
				case 'u':
					p := at + j - 1
					if p < pair {
						continue // its second half
					}
					r, length := unicodeAt(raw, p)
					pair = p + length
					size += runeLen(r) - length + length/6
					if r == '\n' {
						breaks++
					}
				}
			}
		}
		at += n * blockSize
	}
	return breaks, size
}

// runeLen is the length of r as AppendUnquoted writes it.
func runeLen(r rune) int {
	switch {
	case r < 0x80:
		return 1
	case r < 0x800:
		return 2
	case r < 0x10000:
		return 3
	}
	return 4
}
