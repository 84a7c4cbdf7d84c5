package output

import "strings"

// maxCommand bounds how much of a command line is read. What stands behind it
// cannot be judged, so the output is treated like a file's.
const maxCommand = 16 << 10

// simple is one simple command of a command line: its words, and how its
// output goes on.
type simple struct {
	words []string
	piped bool // its output is the input of the next one
	quiet bool // its output goes to a file
}

// splitCommand splits a command line the way a POSIX shell does: into simple
// commands at ; & && || | and line ends, and those into words with the quotes
// removed. Expansions are not performed; what $( ) and backquotes run is left
// in its word. Redirections, here-documents, comments and the words of the
// control structures are taken out. ok is false when the text cannot be split.
func splitCommand(text string) (list []simple, ok bool) {
	if len(text) > maxCommand {
		return nil, false
	}
	s := splitter{text: text}
	for s.at < len(s.text) {
		if !s.next() {
			return nil, false
		}
	}
	s.endCommand(false)
	return s.list, true
}

type splitter struct {
	text    string
	at      int
	list    []simple
	current simple
	word    strings.Builder
	inWord  bool
	heredoc []string // delimiters of here-documents that start at the next line
}

// next reads one token or one part of a word.
func (s *splitter) next() bool {
	switch c := s.text[s.at]; c {
	case ' ', '\t', '\r':
		s.endWord()
		s.at++
	case '\n':
		s.endCommand(false)
		s.at++
		s.skipHeredocs()
	case '#':
		if s.inWord {
			s.take(1)
			break
		}
		if end := strings.IndexByte(s.text[s.at:], '\n'); end >= 0 {
			s.at += end
		} else {
			s.at = len(s.text)
		}
	case '\'':
		end := strings.IndexByte(s.text[s.at+1:], '\'')
		if end < 0 {
			return false
		}
		s.word.WriteString(s.text[s.at+1 : s.at+1+end])
		s.inWord = true
		s.at += end + 2
	case '"':
		return s.doubleQuoted()
	case '\\':
		if s.at+1 == len(s.text) {
			s.at++
			break
		}
		if s.text[s.at+1] != '\n' {
			s.word.WriteByte(s.text[s.at+1])
			s.inWord = true
		}
		s.at += 2
	case '`':
		end := strings.IndexByte(s.text[s.at+1:], '`')
		if end < 0 {
			return false
		}
		s.take(end + 2)
	case '$':
		if strings.HasPrefix(s.text[s.at:], "$(") {
			end := closing(s.text[s.at+1:])
			if end < 0 {
				return false
			}
			s.take(end + 2)
			break
		}
		s.take(1)
	case ';', '(', ')':
		s.endCommand(false)
		s.at++
	case '|':
		if strings.HasPrefix(s.text[s.at:], "||") {
			s.endCommand(false)
			s.at += 2
			break
		}
		s.endCommand(true)
		s.at++
		if s.at < len(s.text) && s.text[s.at] == '&' {
			s.at++
		}
	case '&':
		if strings.HasPrefix(s.text[s.at:], "&>") {
			s.redirect(1)
			break
		}
		s.endCommand(false)
		s.at++
	case '<', '>':
		s.redirect(0)
	default:
		s.take(1)
	}
	return true
}

// take moves n bytes into the word.
func (s *splitter) take(n int) {
	s.word.WriteString(s.text[s.at : s.at+n])
	s.inWord = true
	s.at += n
}

func (s *splitter) doubleQuoted() bool {
	s.inWord = true
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case '"':
			s.at++
			return true
		case '\\':
			if s.at+1 < len(s.text) {
				s.at++
				if e := s.text[s.at]; e != '"' && e != '\\' && e != '$' && e != '`' && e != '\n' {
					s.word.WriteByte('\\')
				}
				s.word.WriteByte(s.text[s.at])
			}
		default:
			s.word.WriteByte(c)
		}
	}
	return false
}

// closing is the offset of the bracket that closes the one text starts with.
func closing(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		case '\'':
			end := strings.IndexByte(text[i+1:], '\'')
			if end < 0 {
				return -1
			}
			i += end + 1
		}
	}
	return -1
}

// redirect reads a redirection; skip is the length of what stands in front of
// its angle bracket here.
func (s *splitter) redirect(skip int) {
	// A number in front is the descriptor, not a word.
	fd := ""
	if s.inWord && isDigits(s.word.String()) {
		fd = s.word.String()
		s.word.Reset()
		s.inWord = false
	}
	s.endWord()
	s.at += skip
	start := s.at
	for s.at < len(s.text) && strings.IndexByte("<>&|-", s.text[s.at]) >= 0 {
		s.at++
	}
	op := s.text[start:s.at]
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
	start = s.at
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n;|&()<>", s.text[s.at]) < 0 {
		if c := s.text[s.at]; c == '\'' || c == '"' {
			if end := strings.IndexByte(s.text[s.at+1:], c); end >= 0 {
				s.at += end + 1
			}
		}
		s.at++
	}
	target := strings.Trim(s.text[start:min(s.at, len(s.text))], `'"\`)
	s.at = min(s.at, len(s.text))
	switch {
	case strings.HasPrefix(op, "<<<"):
	case strings.HasPrefix(op, "<<"):
		s.heredoc = append(s.heredoc, target)
	case strings.HasPrefix(op, ">") && (fd == "" || fd == "1") && !strings.Contains(op, "&"):
		s.current.quiet = true
	case skip > 0: // &>
		s.current.quiet = true
	}
}

// skipHeredocs passes over the bodies of the here-documents that start here.
func (s *splitter) skipHeredocs() {
	for _, delimiter := range s.heredoc {
		for s.at < len(s.text) {
			line := s.text[s.at:]
			if end := strings.IndexByte(line, '\n'); end >= 0 {
				line = line[:end]
			}
			s.at = min(s.at+len(line)+1, len(s.text))
			if strings.TrimSpace(line) == delimiter {
				break
			}
		}
	}
	s.heredoc = s.heredoc[:0]
}

func (s *splitter) endWord() {
	if s.inWord {
		s.current.words = append(s.current.words, s.word.String())
		s.word.Reset()
		s.inWord = false
	}
}

// keywords of the control structures. The word after them is a command again.
var keywords = map[string]bool{
	"if": true, "then": true, "else": true, "elif": true, "fi": true, "do": true, "done": true,
	"while": true, "until": true, "!": true, "{": true, "}": true, "time": true, "esac": true,
}

func (s *splitter) endCommand(piped bool) {
	s.endWord()
	words := s.current.words
	for len(words) > 0 && keywords[words[0]] {
		words = words[1:]
	}
	if len(words) > 0 && words[0] != "for" && words[0] != "case" && words[0] != "select" && words[0] != "function" {
		s.current.words, s.current.piped = words, piped
		s.list = append(s.list, s.current)
	} else if s.current.quiet && len(s.list) > 0 {
		s.list[len(s.list)-1].quiet = true // done > file
	}
	s.current = simple{}
}

func isDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// JoinArgs writes an argument vector as a command line that splits into the
// same words.
func JoinArgs(args []string) string {
	var b strings.Builder
	for i, arg := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if arg != "" && strings.IndexFunc(arg, needsQuotes) < 0 {
			b.WriteString(arg)
			continue
		}
		b.WriteByte('\'')
		b.WriteString(strings.ReplaceAll(arg, "'", `'\''`))
		b.WriteByte('\'')
	}
	return b.String()
}

func needsQuotes(r rune) bool {
	return r <= ' ' || strings.ContainsRune("'\"\\$`|&;<>()#*?[]{}~!", r)
}
