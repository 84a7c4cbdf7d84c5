package similar

import (
	"unicode"
	"unicode/utf8"
)

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
		s.next |= softBefore
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
