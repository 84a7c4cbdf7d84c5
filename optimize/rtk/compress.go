package rtk

import (
	"bytes"
	"sync"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// Report says what Compress did with one text.
type Report struct {
	Level   Level // the level that applied
	Class   output.Class
	Tool    output.Tool
	Lines   int  // lines of the text
	Elided  int  // lines that went
	Changed bool // whether the text is another one now
}

// Compress appends the shorter form of a tool result to dst. hint says what
// the call promised. When nothing is to be changed dst comes back as it is and
// the report says so. The result depends on the arguments alone; it is shorter
// than text, consists of whole lines of it and of markers, and applying
// Compress to it changes nothing.
func Compress(level Level, hint output.Hint, text, dst []byte) ([]byte, Report) {
	if len(text) < level.smallest() {
		return dst, Report{Level: level.For(len(text))}
	}
	s := scratches.Get().(*scratch)
	defer s.free()
	out, r := s.shorten(level, hint, text, dst)
	if !r.Changed {
		return dst, r
	}
	// A text is left alone when what would become of it is not final.
	result := out[len(dst):]
	var again Report
	if s.again, again = s.shorten(level, hint, result, s.again[:0]); again.Changed {
		return dst, Report{Level: r.Level, Class: r.Class, Tool: r.Tool, Lines: r.Lines}
	}
	return out, r
}

// scratch is the memory of one run.
type scratch struct {
	lines   output.Lines
	keep    output.Set
	whole   output.Set // what repetitions stay of, too
	again   []byte     // the result of the second run
	compact []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxPooled bounds what pooled memory may hold on to, in bytes.
const maxPooled = 1 << 20

func (s *scratch) free() {
	if cap(s.again)+cap(s.compact) <= maxPooled {
		scratches.Put(s)
	}
}

// shorten is Compress without the proof that the result is final.
func (s *scratch) shorten(level Level, hint output.Hint, text, dst []byte) ([]byte, Report) {
	level = level.For(len(text))
	p := &levels[level]
	r := Report{Level: level}
	if len(text) < p.min {
		return dst, r
	}
	if body := bytes.TrimRight(text, "\r\n"); bytes.IndexByte(body, '\n') < 0 {
		return s.single(hint, text, len(body), dst, r)
	}
	s.lines.Split(text)
	defer s.lines.Reset()
	r.Lines = s.lines.Len()
	r.Class, r.Tool = output.ClassifyLines(hint, &s.lines)
	switch {
	case r.Class == output.JSON:
		return dst, r // written over several lines, for people
	case r.Lines <= 2*p.edge:
		return dst, r
	case r.Class.Failing():
		output.KeepWhole(&s.keep, &s.whole, r.Class, r.Tool, &s.lines)
	case r.Class == output.NDJSON && logRecords(&s.lines):
		output.KeepWhole(&s.keep, &s.whole, r.Class, r.Tool, &s.lines)
	case !p.aware:
		return dst, r
	case r.Class == output.Listing, r.Class == output.Grep, r.Class == output.DiffStat:
		output.Keep(&s.keep, r.Class, r.Tool, &s.lines)
	case r.Class == output.GitLog:
		output.Keep(&s.keep, r.Class, r.Tool, &s.lines)
		keepCommits(&s.keep, &s.lines)
	case r.Class == output.GitStatus:
		output.Keep(&s.keep, r.Class, r.Tool, &s.lines)
		keepStatus(&s.keep, &s.lines, p.edge)
	case r.Class == output.Diff:
		keepDiff(&s.keep, &s.lines, p.edge)
	default:
		return dst, r
	}
	s.keepEdges(p.edge)
	if r.Class.Failing() || r.Class == output.NDJSON {
		output.AddRare(&s.keep, &s.lines)
	}
	out, elided := s.elide(dst, text, r.Class)
	r.Elided, r.Changed = elided, elided > 0
	return out, r
}

// keepEdges keeps the first and last n lines. The empty line behind the last
// line feed is not counted.
func (s *scratch) keepEdges(n int) {
	total := s.lines.Len()
	s.keep.AddRange(0, n)
	end := total
	if len(s.lines.Line(total-1)) == 0 {
		end--
	}
	s.keep.AddRange(end-n, total)
}

// single shortens a text whose only line is n bytes long: a JSON value loses the
// white space between its tokens. What has none is not looked at further.
func (s *scratch) single(hint output.Hint, text []byte, n int, dst []byte, r Report) ([]byte, Report) {
	r.Lines = 1 + bytes.Count(text[n:], []byte{'\n'})
	if n == 0 || hint.File {
		return dst, r
	}
	switch text[0] {
	case '{', '[', ' ', '\t':
	default:
		return dst, r
	}
	if !jsonspan.Spaced(text[:n]) {
		return dst, r // nothing to shorten, whatever it is
	}
	s.lines.Split(text)
	defer s.lines.Reset()
	if r.Class, r.Tool = output.ClassifyLines(hint, &s.lines); r.Class != output.JSON {
		return dst, r
	}
	s.compact = jsonspan.Compact(s.compact[:0], text[:n])
	if len(s.compact) == n {
		return dst, r
	}
	r.Changed = true
	return append(append(dst, s.compact...), text[n:]...), r
}

// logRecords reports whether newline-delimited JSON is a log: its first lines
// have a level, a time or a message. Rows of data are not shortened.
func logRecords(lines *output.Lines) bool {
	n, hits := 0, 0
	for i := 0; i < lines.Len() && n < 32; i++ {
		line := lines.Line(i)
		if len(line) == 0 {
			continue
		}
		n++
		for _, key := range logKeys {
			if bytes.Contains(line, key) {
				hits++
				break
			}
		}
	}
	return n > 0 && 10*hits >= 9*n
}

// logKeys are members that records of logs have and rows of data rarely do.
var logKeys = [][]byte{
	[]byte(`"level":`), []byte(`"severity":`), []byte(`"lvl":`), []byte(`"log.level":`), []byte(`"loglevel":`), []byte(`"levelname":`), []byte(`"@timestamp":`),
	[]byte(`"logger":`), []byte(`"Action":"`), []byte(`"PRIORITY":`), []byte(`"severityText":`), []byte(`"level" :`), []byte(`"msg":`),
}
