package similar

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// token is a stretch of text that the guard treats as one.
type token struct {
	hash       uint64 // of the lower-cased word or, if it is no word, of the bytes
	class      class
	start, end uint32
	form       form
	lexeme     uint16 // place in the lexicon, 0 if it is not there
}

// form is what a token looks like and what it stands beside.
type form uint16

const (
	word       form = 1 << iota // letters, with apostrophes and hyphens inside
	upper                       // capitals only, two of them at least
	capital                     // begins with a capital, the rest is lower case
	mixed                       // capitals in another place
	single                      // one letter
	digit                       // has a digit
	dash                        // a dash that stands alone
	sentence                    // begins a sentence or a line
	softAfter                   // soft punctuation follows
	colon                       // and it is a colon
	softBefore                  // soft punctuation precedes
	line                        // begins a line
)

// byteKind tells the bytes of a text apart.
type byteKind uint8

const (
	symbolByte byteKind = iota
	lowerByte
	upperByte
	digitByte
	spaceByte
	softByte  // , . ; : ! ?
	quoteByte // " and `
	wideByte  // of a character outside of ASCII
)

var byteKinds = func() (t [256]byteKind) {
	for b := range t {
		switch c := byte(b); {
		case 'a' <= c && c <= 'z':
			t[b] = lowerByte
		case 'A' <= c && c <= 'Z':
			t[b] = upperByte
		case '0' <= c && c <= '9':
			t[b] = digitByte
		case c == ' ' || '\t' <= c && c <= '\r':
			t[b] = spaceByte
		case c == ',' || c == '.' || c == ';' || c == ':' || c == '!' || c == '?':
			t[b] = softByte
		case c == '"' || c == '`':
			t[b] = quoteByte
		case c >= utf8.RuneSelf:
			t[b] = wideByte
		}
	}
	return t
}()

func isLetter(k byteKind) bool { return k == lowerByte || k == upperByte }

// scanner splits a text into tokens and collects its words.
type scanner struct {
	q      *Question
	secret Secret
	text   []byte
	guard  bool // tokens are wanted
	at     int

	next      form // of the next token: sentence, softBefore, line
	lower     bool // a lower-case letter was seen in a word
	lines     int  // line ends between tokens
	indented  int  // lines but the first that white space begins
	codeish   int  // tokens that look like code
	classes   class
	longWords int
	open      openQuotes
}

func (s *scanner) scan() {
	s.next = sentence
	text := s.text
	for s.at < len(text) {
		switch c := text[s.at]; byteKinds[c] {
		case spaceByte:
			s.at++
			if c == '\n' {
				s.next |= sentence | line
				s.indent()
			}
		case lowerByte, upperByte:
			if !s.plainWord() {
				s.piece()
			}
		default:
			s.piece()
		}
	}
}

// indent takes the white space that begins a line.
func (s *scanner) indent() {
	i := s.at
	for i < len(s.text) && (s.text[i] == ' ' || s.text[i] == '\t') {
		i++
	}
	if len(s.q.tokens) > 0 && i < len(s.text) && byteKinds[s.text[i]] != spaceByte && (i-s.at >= 2 || i > s.at && s.text[s.at] == '\t') {
		s.indented++
	}
	s.at = i
}

// Masks of eight bytes at once.
const (
	everyByte = 0x0101010101010101
	highBits  = 0x80 * everyByte
	caseBits  = 0x20 * everyByte
)

// letters returns the high bit of each byte of v that is a lower-case letter.
func letters(v uint64) uint64 {
	low := v &^ highBits
	return (low + (0x80-'a')*everyByte) &^ (low + (0x80-'z'-1)*everyByte) &^ v & highBits
}

// plainWord takes a word of up to 16 ASCII letters that ends at white space,
// perhaps after soft punctuation. It reports whether that is what stands here.
func (s *scanner) plainWord() bool {
	text, i := s.text, s.at
	var v packed
	if i+16 <= len(text) {
		v[0] = binary.LittleEndian.Uint64(text[i:])
		v[1] = binary.LittleEndian.Uint64(text[i+8:])
	} else {
		v, _ = pack(text[i:])
	}
	p := packed{v[0] | caseBits, v[1] | caseBits}
	n := bits.TrailingZeros64(letters(p[0])^highBits) / 8
	more := bits.TrailingZeros64(letters(p[1])^highBits) / 8
	full := -uint64(n >> 3) // all ones if the first eight are letters
	p[0] &= 1<<(8*n) - 1
	p[1] &= (1<<(8*more) - 1) & full
	if n += more & int(full); n == 16 {
		return false // perhaps longer
	}
	end := i + n
	next := end
	if end < len(text) && byteKinds[text[end]] != spaceByte {
		for next < len(text) && byteKinds[text[next]] == softByte {
			next++
		}
		if next == end || n == 1 && text[end] == '!' || // a factorial
			next < len(text) && byteKinds[text[next]] != spaceByte {
			return false
		}
	}
	h := s.secret.hash(p)
	s.word(h, n)
	if s.guard {
		uppers := bits.OnesCount64(p[0]&^v[0]&caseBits) + bits.OnesCount64(p[1]&^v[1]&caseBits)
		s.lower = s.lower || uppers < n
		s.token(token{hash: h, form: shape(n, uppers, v[0]&0x20 == 0), start: uint32(i), end: uint32(end)}, lexicon.lookUp(p))
		if next > end {
			s.punctuation(text[end:next])
		}
	}
	if next < len(text) && text[next] == ' ' {
		next++
	}
	s.at = next
	return true
}

// shape is the form of a word of n letters.
func shape(n, uppers int, first bool) form {
	f := word
	if n == 1 {
		f |= single
	}
	switch {
	case uppers == 0:
	case uppers == 1 && first:
		f |= capital
	case uppers == n:
		f |= upper
	default:
		f |= mixed
	}
	return f
}

// word adds a word of so many characters to the set. Its lowest bit tells
// whether it counts for the gate.
func (s *scanner) word(hash uint64, chars int) {
	hash &^= 1
	if chars >= MinWordChars {
		hash |= 1
		s.longWords++
	}
	s.q.words = append(s.q.words, hash)
}

// token adds t, which is at a place in the lexicon or, at 0, is not.
func (s *scanner) token(t token, place uint16) {
	if place != 0 {
		t.lexeme = place
		t.class = lexicon.list[place].class
		s.classes |= t.class
	}
	if s.next != 0 {
		t.form |= s.next
		if s.next&line != 0 && len(s.q.tokens) > 0 {
			s.lines++
		}
		s.next = 0
	}
	s.q.tokens = append(s.q.tokens, t)
}

// punctuation notes soft punctuation after the last token.
func (s *scanner) punctuation(marks []byte) {
	s.next |= softBefore
	last := marks[len(marks)-1]
	if last == '.' || last == '!' || last == '?' {
		s.next |= sentence
	}
	if n := len(s.q.tokens); n > 0 {
		t := &s.q.tokens[n-1]
		t.form |= softAfter
		if last == ':' {
			t.form |= colon
		}
	}
}
