package similar

import (
	"encoding/binary"
	"math/bits"
	"unicode"
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

	fresh     bool // at the start of a sentence or line
	newline   bool // at the start of a line
	soft      bool // soft punctuation since the last token
	lower     bool // a lower-case letter was seen in a word
	lines     int  // line ends between tokens
	indented  int  // lines but the first that white space begins
	codeish   int  // tokens that look like code
	classes   class
	longWords int
	open      openQuotes
}

func (s *scanner) scan() {
	s.fresh = true
	text := s.text
	for s.at < len(text) {
		switch c := text[s.at]; byteKinds[c] {
		case spaceByte:
			s.at++
			if c == '\n' {
				s.fresh, s.newline = true, true
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
	if n < 8 {
		p[0] &= 1<<(8*n) - 1
		p[1] = 0
	} else {
		more := bits.TrailingZeros64(letters(p[1])^highBits) / 8
		if n += more; n == 16 {
			return false // perhaps longer
		}
		p[1] &= 1<<(8*more) - 1
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
	if s.fresh {
		t.form |= sentence
	}
	if s.soft {
		t.form |= softBefore
	}
	if s.newline {
		t.form |= line
		if len(s.q.tokens) > 0 {
			s.lines++
		}
	}
	s.fresh, s.newline, s.soft = false, false, false
	s.q.tokens = append(s.q.tokens, t)
}

// punctuation notes soft punctuation after the last token.
func (s *scanner) punctuation(marks []byte) {
	s.soft = true
	last := marks[len(marks)-1]
	if last == '.' || last == '!' || last == '?' {
		s.fresh = true
	}
	if n := len(s.q.tokens); n > 0 {
		t := &s.q.tokens[n-1]
		t.form |= softAfter
		if last == ':' {
			t.form |= colon
		}
	}
}

// piece takes whatever else stands here: a quoted span, code, a word that is
// not plain, punctuation, or a run of anything up to the next white space.
func (s *scanner) piece() {
	text, i := s.text, s.at
	first, size := utf8.DecodeRune(text[i:])
	if unicode.IsSpace(first) {
		s.at += size
		return
	}
	if end := s.open.span(text, i, first, size); end > 0 {
		s.span(i, end)
		return
	}
	if first == '¿' || first == '¡' || longDash(first) && !digitAround(text, i, size) {
		s.at += size
		if s.guard {
			s.punctuation(text[i : i+size])
		}
		return
	}
	end := i + size
	for end < len(text) {
		r, size := utf8.DecodeRune(text[end:])
		if unicode.IsSpace(r) || r == '"' || r == '`' || r == '“' || r == '«' || longDash(r) && !digitAround(text, end, size) {
			break
		}
		end += size
	}
	s.at = end
	core := withoutSoft(text, i, end)
	for i < core && (text[i] == ',' || text[i] == ';') {
		i++
		s.soft = true
	}
	if i == core {
		if s.standsAlone(text[i:end]) {
			s.verbatim(i, end)
		} else if s.guard {
			s.punctuation(text[end-1 : end])
		}
		return
	}
	if !s.anyWord(i, core) {
		s.verbatim(i, core)
	}
	if core < end && s.guard {
		s.punctuation(text[core:end])
	}
}

// withoutSoft returns the end of text[i:end] without the soft punctuation that
// ends it. After a symbol a dot is part of a path or pattern, and an
// exclamation mark that no word stands before is a factorial.
func withoutSoft(text []byte, i, end int) int {
	core := end
	for core > i && byteKinds[text[core-1]] == softByte {
		core--
	}
	if core == i || core == end {
		return core
	}
	last := text[core-1]
	switch byteKinds[last] {
	case lowerByte, upperByte:
		if text[core] == '!' && (core-1 == i || !isLetter(byteKinds[text[core-2]])) {
			return end
		}
	case digitByte:
		if text[core] == '!' {
			return end
		}
	case symbolByte:
		if text[core] == '!' || last != ')' && last != ']' && last != '}' && last != '%' && last != '+' && last != '#' &&
			last != '\'' && last != '>' {
			return end
		}
	}
	return core
}

// standsAlone tells whether soft punctuation between white space is more than
// that: a dot that is a path, an exclamation mark that is a command. At the end
// of a line only the dot is.
func (s *scanner) standsAlone(marks []byte) bool {
	if string(marks) == "." || string(marks) == ".." {
		return true
	}
	if len(marks) > 2 || marks[0] == ',' || marks[0] == ';' || marks[0] >= utf8.RuneSelf {
		return false
	}
	for _, c := range s.text[s.at:] {
		if c == '\n' {
			return false
		}
		if byteKinds[c] != spaceByte {
			return true
		}
	}
	return false
}

// span takes the quoted or code span text[i:end] and the soft punctuation after
// it.
func (s *scanner) span(i, end int) {
	text := s.text
	s.wordsOf(i, end)
	s.at = end
	for s.at < len(text) && byteKinds[text[s.at]] == softByte {
		s.at++
	}
	if !s.guard {
		return
	}
	// Straight and curly quotes are the same.
	inner, kind := text[i:end], uint64(c0)
	switch first, size := utf8.DecodeRune(inner); first {
	case '"', '“':
		_, last := utf8.DecodeLastRune(inner)
		inner, kind = inner[size:len(inner)-last], c1
	}
	s.token(token{hash: mix(s.secret.hashBytes(inner)^kind, c5^uint64(len(inner))), start: uint32(i), end: uint32(end)}, 0)
	if s.at > end {
		s.punctuation(text[end:s.at])
	}
}

// anyWord takes text[i:end] if it is a word: letters of any script, with single
// apostrophes and hyphens between them.
func (s *scanner) anyWord(i, end int) bool {
	folded := s.q.folded[:0]
	letters, uppers, joined := 0, 0, true
	first := false
	for j := i; j < end; {
		r, size := rune(s.text[j]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(s.text[j:])
		}
		switch {
		case r == '\'' || r == '’' || r == '-':
			if joined {
				s.q.folded = folded
				return false
			}
			if r == '’' {
				r = '\''
			}
			folded = utf8.AppendRune(folded, r)
			joined = true
		case isWordRune(r):
			l := foldRune(r)
			if l != r {
				uppers++
				first = first || letters == 0
			}
			folded = utf8.AppendRune(folded, l)
			letters++
			joined = false
		default:
			s.q.folded = folded
			return false
		}
		j += size
	}
	s.q.folded = folded
	if joined {
		return false
	}
	s.wordsOf(i, end)
	if s.guard {
		l := uint16(0)
		if p, ok := pack(folded); ok {
			l = lexicon.lookUp(p)
		}
		s.lower = s.lower || uppers < letters
		s.token(token{hash: s.secret.hashBytes(folded), form: shape(letters, uppers, first), start: uint32(i), end: uint32(end)}, l)
	}
	return true
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isLetter(byteKinds[byte(r)])
	}
	return unicode.IsLetter(r) || unicode.IsMark(r)
}

// foldRune lower-cases r where that loses nothing: the Kelvin sign is no k.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if byteKinds[byte(r)] == upperByte {
			r |= 0x20
		}
		return r
	}
	if l := unicode.ToLower(r); unicode.ToUpper(l) == r {
		return l
	}
	return r
}

// verbatim takes text[i:end] as it is. Words in it count as words all the same.
func (s *scanner) verbatim(i, end int) {
	s.wordsOf(i, end)
	if !s.guard {
		return
	}
	b := s.text[i:end]
	var f form
	for _, c := range b {
		if byteKinds[c] == digitByte {
			f |= digit
			break
		}
	}
	if b := string(b); b == "-" || b == "–" {
		f |= dash
	}
	if looksLikeCode(b) {
		s.codeish++
	}
	s.token(token{hash: mix(s.secret.hashBytes(b)^c1, c4^uint64(len(b))), form: f, start: uint32(i), end: uint32(end)}, 0)
}

func looksLikeCode(b []byte) bool {
	for _, c := range b {
		switch c {
		case '=', '(', ')', '{', '}', '[', ']', '<', '>':
			return true
		}
	}
	return b[len(b)-1] == ';'
}

// wordsOf adds the words in text[i:end]: runs of letters, digits and low lines,
// with single apostrophes inside.
func (s *scanner) wordsOf(i, end int) {
	text := s.text[:end]
	for i < end {
		word := s.q.word[:0]
		chars := 0
		for i < end {
			r, size := rune(text[i]), 1
			if r >= utf8.RuneSelf {
				r, size = utf8.DecodeRune(text[i:])
			}
			if r == '’' {
				r = '\''
			}
			if r == '\'' {
				if chars == 0 || i+size == end {
					break
				}
				if next, _ := utf8.DecodeRune(text[i+size:]); !isWordRune(next) {
					break
				}
			} else if !isWordRune(r) && r != '_' && !unicode.IsDigit(r) {
				break
			}
			word = utf8.AppendRune(word, foldRune(r))
			chars++
			i += size
		}
		if chars > 0 {
			s.word(s.secret.hashBytes(word), chars)
		} else {
			_, size := utf8.DecodeRune(text[i:])
			i += size
		}
		s.q.word = word
	}
}

// longDash tells dashes and the ellipsis that part words as a comma does.
func longDash(r rune) bool { return r == '—' || r == '…' }

// digitAround tells whether a digit stands beside the size bytes at i.
func digitAround(text []byte, i, size int) bool {
	return i > 0 && byteKinds[text[i-1]] == digitByte ||
		i+size < len(text) && byteKinds[text[i+size]] == digitByte
}
