package squoze

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// section is what a unified diff says about one file: lines[from:to], its
// headers included.
type section struct {
	from, to       int
	name           []byte // the file's path, without the a/ or b/ in front
	created, gone  bool   // the file is new, or deleted
	hunks          int
	added, removed int
	top            int  // first line of the first hunk's body if that starts the file, else 0
	whole          bool // every hunk is as long as its header says, or the next file cuts it short
}

// diffScanner finds the sections of a diff. Within a hunk it counts lines, so
// that content which looks like a header is not taken for one.
type diffScanner struct {
	lines    *output.Lines
	sections []section
}

// scan splits the lines into sections. What stands between them, for example
// the messages of git log -p, belongs to none.
func (s *diffScanner) scan(lines *output.Lines) []section {
	s.lines, s.sections = lines, s.sections[:0]
	for i := 0; i < lines.Len(); {
		line := lines.Line(i)
		switch {
		case bytes.HasPrefix(line, []byte("diff --git ")):
			i = s.gitSection(i)
		case s.plainHeader(i):
			i = s.plainSection(i)
		default:
			i++
		}
	}
	return s.sections
}

// plainHeader reports whether the lines --- +++ @@ start at i.
func (s *diffScanner) plainHeader(i int) bool {
	return i+2 < s.lines.Len() && bytes.HasPrefix(s.lines.Line(i), []byte("--- ")) &&
		bytes.HasPrefix(s.lines.Line(i+1), []byte("+++ ")) && bytes.HasPrefix(s.lines.Line(i+2), []byte("@@ -"))
}

// gitHeaders are the lines that git writes between "diff --git" and "---".
var gitHeaders = [][]byte{
	[]byte("index "), []byte("old mode "), []byte("new mode "), []byte("new file mode "), []byte("deleted file mode "),
	[]byte("similarity index "), []byte("dissimilarity index "), []byte("rename "), []byte("copy "),
}

func (s *diffScanner) gitSection(i int) int {
	sec := section{from: i, whole: true}
	for i++; i < s.lines.Len(); i++ {
		line := s.lines.Line(i)
		if bytes.HasPrefix(line, []byte("new file mode ")) {
			sec.created = true
		} else if bytes.HasPrefix(line, []byte("deleted file mode ")) {
			sec.gone = true
		}
		if !hasAnyPrefix(line, gitHeaders) {
			break
		}
	}
	if !s.plainHeader(i) {
		return i // a mode change, a rename or a binary file: nothing to collapse
	}
	return s.body(sec, i)
}

func (s *diffScanner) plainSection(i int) int {
	return s.body(section{from: i, whole: true}, i)
}

// body reads a section from its "---" line at i on and returns the line after
// it.
func (s *diffScanner) body(sec section, i int) int {
	old, now := pathOf(s.lines.Line(i)), pathOf(s.lines.Line(i+1))
	sec.name = now
	if string(now) == "/dev/null" {
		sec.name, sec.gone = old, true
	} else if string(old) == "/dev/null" {
		sec.created = true
	}
	for i += 2; i < s.lines.Len(); {
		old, now, start, ok := hunkHeader(s.lines.Line(i))
		if !ok {
			break
		}
		i++
		if sec.hunks++; sec.hunks == 1 && start <= 1 {
			sec.top = i
		}
		i = s.hunk(&sec, i, old, now)
	}
	sec.to = i
	s.sections = append(s.sections, sec)
	return i
}

// hunk reads the body of a hunk of old and now lines that starts at i.
func (s *diffScanner) hunk(sec *section, i, old, now int) int {
	for ; i < s.lines.Len(); i++ {
		line := s.lines.Line(i)
		if len(line) == 0 && i == s.lines.Len()-1 {
			return i // no line, only the end of the one before
		}
		kind := byte(' ') // an empty line is a context line that lost its blank
		if len(line) > 0 && line[0] != '\r' {
			kind = line[0]
		}
		if old <= 0 && now <= 0 && kind != '\\' {
			return i
		}
		switch {
		case kind == '\\':
		case kind == ' ' && old > 0 && now > 0:
			old--
			now--
		case kind == '-' && old > 0:
			old--
			sec.removed++
		case kind == '+' && now > 0:
			now--
			sec.added++
		default:
			if !bytes.HasPrefix(line, []byte("diff --git ")) {
				sec.whole = false
			}
			return i
		}
	}
	return i
}

// pathOf is the path in a "--- " or "+++ " line.
func pathOf(line []byte) []byte {
	name := bytes.TrimRight(line[4:], "\r")
	if at := bytes.IndexByte(name, '\t'); at >= 0 {
		name = name[:at] // a date follows
	}
	name = bytes.Trim(name, `"`)
	if len(name) > 2 && name[1] == '/' && bytes.IndexByte([]byte("abciow"), name[0]) >= 0 {
		name = name[2:]
	}
	return name
}

// hunkHeader reads "@@ -start,old +start,now @@": the number of lines on both
// sides, and where the hunk starts in the file it is about.
func hunkHeader(line []byte) (old, now, start int, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte("@@ -"))
	if !ok {
		return
	}
	oldStart, old, rest, ok := lineRange(rest)
	if !ok || !bytes.HasPrefix(rest, []byte(" +")) {
		return 0, 0, 0, false
	}
	newStart, now, rest, ok := lineRange(rest[2:])
	return old, now, max(oldStart, newStart), ok && bytes.HasPrefix(rest, []byte(" @@"))
}

// lineRange reads "start,count" or "start".
func lineRange(text []byte) (start, count int, rest []byte, ok bool) {
	start, rest, ok = leadingNumber(text)
	count = 1
	if ok && len(rest) > 0 && rest[0] == ',' {
		count, rest, ok = leadingNumber(rest[1:])
	}
	return start, count, rest, ok
}

// leadingNumber reads the decimal number that text begins with. Numbers of ten
// digits and more are not line numbers.
func leadingNumber(text []byte) (n int, rest []byte, ok bool) {
	i := 0
	for i < len(text) && i < 10 && text[i]-'0' <= 9 {
		n = n*10 + int(text[i]-'0')
		i++
	}
	return n, text[i:], i > 0 && i < 10
}

func hasAnyPrefix(line []byte, prefixes [][]byte) bool {
	for _, p := range prefixes {
		if bytes.HasPrefix(line, p) {
			return true
		}
	}
	return false
}
