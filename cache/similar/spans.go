package similar

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// openQuotes finds the ends of quoted and code spans. It remembers what a
// search for an end has already failed to find, so that a text of nothing but
// opening quotes is still read in linear time.
type openQuotes struct {
	double, curly, angle bool // there is no closing quote any more
	single, inverted     int  // there is none before here
}

// span returns the end of the span that begins at i with the rune open, 0 if
// none does or if it does not end.
func (o *openQuotes) span(text []byte, i int, open rune, size int) int {
	switch open {
	case '"':
		return closing(text, i+size, '"', &o.double)
	case '“':
		return closing(text, i+size, '”', &o.curly)
	case '«':
		return closing(text, i+size, '»', &o.angle)
	case '`':
		return codeSpan(text, i)
	case '\'':
		return singleQuoted(text, i+size, '\'', &o.single)
	case '‘':
		return singleQuoted(text, i+size, '’', &o.inverted)
	}
	return 0
}

func closing(text []byte, i int, quote rune, missing *bool) int {
	if *missing {
		return 0
	}
	for i < len(text) {
		r, size := utf8.DecodeRune(text[i:])
		i += size
		if r == quote {
			return i
		}
	}
	*missing = true
	return 0
}

// codeSpan finds the end of the code that begins at i: as many backticks as
// open it. A fence, of three or more, may stay open.
func codeSpan(text []byte, i int) int {
	n := backticks(text, i)
	for j := i + n; j < len(text); {
		run := backticks(text, j)
		if run == n {
			return j + n
		}
		j += max(run, 1)
	}
	if n >= 3 {
		return i + len(bytes.TrimSpace(text[i:]))
	}
	return 0
}

func backticks(text []byte, i int) int {
	n := 0
	for i+n < len(text) && text[i+n] == '`' {
		n++
	}
	return n
}

// singleQuoted finds the end of 'a span' on its line, which is where the quote
// is no apostrophe in a word.
func singleQuoted(text []byte, i int, quote rune, missing *int) int {
	if i < *missing {
		return 0
	}
	previous := ' '
	for i < len(text) {
		r, size := utf8.DecodeRune(text[i:])
		i += size
		if r == '\n' {
			break
		}
		if r == quote && !unicode.IsSpace(previous) {
			next, _ := utf8.DecodeRune(text[i:])
			if i == len(text) || !isWordRune(next) && !unicode.IsDigit(next) {
				return i
			}
		}
		previous = r
	}
	*missing = i
	return 0
}
