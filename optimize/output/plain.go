package output

import "bytes"

const esc = 0x1b

// AppendPlain appends text without the escape sequences of terminals, which
// colour words and would hide what a line starts with. Line feeds stay where
// they are, so the lines of the result are those of text.
func AppendPlain(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, esc)
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		text = text[escapeLen(text[i:])+i:]
	}
}

// escapeLen is the length of the escape sequence that text starts with. A
// sequence that is cut off ends in front of the line feed.
func escapeLen(text []byte) int {
	if len(text) < 2 {
		return len(text)
	}
	switch text[1] {
	case '[': // CSI: parameters, then a letter
		for i := 2; i < len(text); i++ {
			switch c := text[i]; {
			case '@' <= c && c <= '~':
				return i + 1
			case c < ' ' || c > '?':
				return i
			}
		}
		return len(text)
	case ']', 'P', '_', '^', 'X': // OSC and other strings: to BEL or ESC \
		for i := 2; i < len(text); i++ {
			switch text[i] {
			case '\n':
				return i
			case 7:
				return i + 1
			case esc:
				if i+1 < len(text) && text[i+1] == '\\' {
					return i + 2
				}
				return i
			}
		}
		return len(text)
	case '(', ')', '#', '%': // one more byte
		if len(text) > 2 && text[2] != '\n' {
			return 3
		}
		return 2
	case '7', '8', '=', '>', '<':
		return 2
	}
	// Sequences of two letters are rare; a letter may as well be text.
	return 1
}

// plainLines are lines without escape sequences; it is l itself if there are
// none. scratch holds them otherwise.
func plainLines(l *Lines, scratch *plainScratch) *Lines {
	if bytes.IndexByte(l.Text, esc) < 0 {
		return l
	}
	scratch.text = AppendPlain(scratch.text[:0], l.Text)
	scratch.lines.Split(scratch.text)
	return &scratch.lines
}

// maxPooled bounds what a pooled piece of memory may hold on to, in bytes.
const maxPooled = 1 << 20

type plainScratch struct {
	text  []byte
	lines Lines
	red   Set
}

func (s *plainScratch) free() {
	s.lines.Reset()
	if cap(s.text) <= maxPooled {
		plainScratches.Put(s)
	}
}
