package tokens

import (
	"encoding/binary"
	"math/bits"
)

// counter adds up the weights of a text that comes block by block. All that it
// counts at a byte depends on this byte and on those before it.
type counter struct {
	sum    uint64  // in 1/unit
	bytes  bool    // there was one
	before [2]byte // the last two bytes

	// The masks of the block before, for what reaches into this one.
	lower, upper, letter, digit, space, newline, tab, punct, high, lead uint64
	run1, run2, run4, run8                                              uint64
	digit3, consonant, consonant2, equal1, equal2, equal4               uint64
	alnum1, alnum2, alnum4, alnum8                                      uint64
}

// batch is how many blocks are classified at a time.
const batch = 16

// blocks counts the whole blocks of text and returns what is left, less than
// one block.
func (c *counter) blocks(text []byte) []byte {
	var m [batch]masks
	for len(text) >= blockSize {
		n := min(len(text)/blockSize, batch)
		classify(&m, text[:n*blockSize])
		for i := range n {
			c.block(&m[i], (*[blockSize]byte)(text[i*blockSize:]))
		}
		text = text[n*blockSize:]
	}
	return text
}

// last counts the end of the text, shorter than a block.
func (c *counter) last(rest []byte) {
	var block [blockSize]byte
	copy(block[:], rest)
	var m [batch]masks
	classify(&m, block[:])
	// The zeros behind the end count as nothing: in no class, and not as
	// punctuation either.
	end := ^uint64(0) << len(rest)
	m[0].high |= end
	m[0].lead &^= end >> 1 // half a character at the end counts nothing
	c.block(&m[0], &block)
}

func (c *counter) total() int {
	n := (c.sum + unit/2) / unit
	if n == 0 && c.bytes {
		return 1
	}
	return int(n)
}

// block counts one block.
func (c *counter) block(m *masks, text *[blockSize]byte) {
	equal := m.equal
	if text[0] == c.before[1] {
		equal |= 1
	}
	c.bytes = true
	letter := m.lower | m.upper
	punct := m.punctuation()

	// The same one byte earlier.
	var (
		afterLower   = back(m.lower, c.lower, 1)
		afterLetter  = back(letter, c.letter, 1)
		afterDigit   = back(m.digit, c.digit, 1)
		afterSpace   = back(m.space, c.space, 1)
		afterNewline = back(m.newline, c.newline, 1)
		afterTab     = back(m.tab, c.tab, 1)
		afterPunct   = back(punct, c.punct, 1)
		afterHigh    = back(m.high, c.high, 1)
		afterPunct2  = back(punct, c.punct, 2)
	)

	// Words: a letter after something else, or a capital after a small letter.
	first := letter &^ (afterLetter | afterHigh)
	camel := m.upper & afterLower
	word := first & m.lower & afterSpace
	half := first & m.upper & afterSpace
	fifth := first & afterPunct &^ afterPunct2
	most := first&afterPunct&afterPunct2 | camel
	token := first &^ (afterSpace | afterPunct)

	// Their further letters, and from the eleventh on.
	run1 := letter &^ (first | camel | afterHigh)
	run2 := run1 & back(run1, c.run1, 1)
	run4 := run2 & back(run2, c.run2, 2)
	run8 := run4 & back(run4, c.run4, 4)
	tenth := run8 & back(run2, c.run2, 8)
	tenth |= m.upper & back(m.upper, c.upper, 1)

	// Four consonants in a row.
	consonant := letter &^ m.vowel
	consonant2 := consonant & back(consonant, c.consonant, 1)
	most |= consonant2 & back(consonant2, c.consonant2, 2)

	// The seventeenth letter or digit in a row and what follows.
	alnum := letter | m.digit
	alnum1 := alnum & back(alnum, c.letter|c.digit, 1)
	alnum2 := alnum1 & back(alnum1, c.alnum1, 1)
	alnum4 := alnum2 & back(alnum2, c.alnum2, 2)
	alnum8 := alnum4 & back(alnum4, c.alnum4, 4)
	blob := m.upper & alnum8 & back(alnum8, c.alnum8, 8)

	// Numbers go by three digits.
	digit := m.digit &^ afterDigit
	token |= digit
	word |= digit & afterSpace
	third := m.digit & afterDigit & back(m.digit, c.digit, 2) & back(m.digit, c.digit, 3)
	blob |= third &^ back(third, c.digit3, 1)
	digit3 := third

	// Punctuation: where it begins, how it goes on, what repeats.
	most |= punct & afterNewline
	token |= punct &^ (afterPunct | afterNewline)
	equal1 := punct & afterPunct & equal
	equal2 := equal1 & back(equal1, c.equal1, 1)
	equal4 := equal2 & back(equal2, c.equal2, 2)
	tenth |= equal4 & back(equal4, c.equal4, 4)
	next := punct & afterPunct &^ equal1
	third |= next &^ afterPunct2
	half |= next & afterPunct2 &^ m.light

	// White space: runs of spaces, newlines, tabs.
	token |= m.space & afterSpace &^ back(m.space, c.space, 2)
	token |= m.newline &^ (afterPunct | afterNewline)
	half |= m.tab & afterNewline
	fifth |= m.tab & afterTab
	token |= m.tab &^ (afterTab | afterNewline)

	sum := weightToken*count(token) + weightWord*count(word) + weightMost*count(most) + weightHalf*count(half) +
		weightBlob*count(blob) + weightThird*count(third) + weightFifth*count(fifth) + weightTenth*count(tenth) +
		weightLetter*count(run1)
	if m.high != 0 {
		sum += c.foreign(m, text, back(m.high, c.high, 2))
	}

	c.sum += sum
	c.before = [2]byte{text[blockSize-2], text[blockSize-1]}
	c.lower, c.upper, c.letter, c.digit, c.space, c.newline, c.tab, c.punct, c.high, c.lead = m.lower, m.upper, letter, m.digit, m.space, m.newline, m.tab, punct, m.high, m.lead
	c.run1, c.run2, c.run4, c.run8 = run1, run2, run4, run8
	c.digit3, c.consonant, c.consonant2 = digit3, consonant, consonant2
	c.equal1, c.equal2, c.equal4 = equal1, equal2, equal4
	c.alnum1, c.alnum2, c.alnum4, c.alnum8 = alnum1, alnum2, alnum4, alnum8
}

// foreign counts the characters beyond ASCII, each at its second byte.
func (c *counter) foreign(m *masks, text *[blockSize]byte, afterHigh2 uint64) (sum uint64) {
	second := m.high & back(m.lead, c.lead, 1)
	if second&1 != 0 {
		sum += uint64(characters[afterHigh2&1][int(c.before[1]&63)<<6|int(text[0]&63)])
		second &^= 1
	}
	for ; second != 0; second &= second - 1 {
		i := bits.TrailingZeros64(second)
		pair := uint64(binary.LittleEndian.Uint16(text[(i-1)&63:]))
		sum += uint64(characters[afterHigh2>>(i&63)&1][pair&63<<6|pair>>8&63])
	}
	return sum
}

// back is the mask x of a block as it was n bytes earlier, given that of the
// block before.
func back(x, before uint64, n int) uint64 { return x<<n | before>>(64-n) }

func count(x uint64) uint64 { return uint64(bits.OnesCount64(x)) }
