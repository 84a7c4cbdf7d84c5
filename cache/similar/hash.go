package similar

import (
	"encoding/binary"
	"math/bits"
)

// Odd constants without pattern: the fractional parts of square roots of
// primes, as SHA-512 takes them for its initial values (FIPS 180-4, 5.3.5).
const (
	c0 = 0x6a09e667f3bcc909
	c1 = 0xbb67ae8584caa73b
	c2 = 0x3c6ef372fe94f82b
	c3 = 0xa54ff53a5f1d36f1
	c4 = 0x510e527fade682d1
	c5 = 0x9b05688c2b3e6c1f
)

// mix multiplies and folds: every bit of the result depends on all of a and b.
func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// packed is up to 16 bytes of a word, padded with zeros. Words hold no zero
// byte, so it is the word itself and not a hash of it.
type packed [2]uint64

// pack returns b as packed, if it fits.
func pack(b []byte) (p packed, ok bool) {
	if len(b) > 16 {
		return p, false
	}
	var buf [16]byte
	copy(buf[:], b)
	return packed{binary.LittleEndian.Uint64(buf[:8]), binary.LittleEndian.Uint64(buf[8:])}, true
}

// hash returns the hash of a packed word under s.
func (s Secret) hash(p packed) uint64 {
	return mix(mix(p[0]^s[0]^c0, p[1]^s[1]^c1)^c2, c3)
}

// hashBytes returns the hash of any bytes under s; of a word that can be
// packed it is the same as hash.
func (s Secret) hashBytes(b []byte) uint64 {
	if len(b) <= 16 {
		p, _ := pack(b)
		return s.hash(p)
	}
	h := uint64(len(b)) * c4
	for ; len(b) > 16; b = b[16:] {
		h = mix(binary.LittleEndian.Uint64(b)^s[0]^c0^h, binary.LittleEndian.Uint64(b[8:])^s[1]^c1)
	}
	p, _ := pack(b)
	return mix(mix(p[0]^s[0]^c0^h, p[1]^s[1]^c1)^c4, c5)
}

// chain is a running 128-bit hash of a sequence.
type chain Key

func (c *chain) add(h uint64) {
	c[0] = mix(c[0]^h, c2) + h
	c[1] = mix(c[1]^h, c4) ^ c[0]
}

// parityBit maps a word to one of 64 bits. The parity of a set tells for each
// bit whether an odd number of its words has it: two sets differ in at least as
// many words as their parities in bits.
func parityBit(word uint64) uint64 { return 1 << (word >> 58) }
