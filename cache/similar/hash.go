package similar

import "math/bits"

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

// parityOf maps each word to one of 64 bits and tells for each bit whether an
// odd number of words has it. Two sets differ in at least as many words as
// their parities in bits.
func parityOf(words []uint64) uint64 {
	var p uint64
	for _, w := range words {
		p ^= 1 << (w >> 58)
	}
	return p
}
