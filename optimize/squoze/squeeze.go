package squoze

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// Step is one of the things that are done to a text.
type Step uint8

// Steps.
const (
	StepNone      Step = iota
	StepTerminal       // terminal codes resolved
	StepFold           // repetitive lines elided
	StepList           // failures of one kind listed
	StepTable          // JSON arrays as tables
	StepMinify         // white space of JSON removed
	StepDiff           // sections of a diff collapsed
	StepReference      // text that already stands replaced by pointers
	steps
)

var stepNames = [steps]string{"none", "terminal", "fold", "list", "table", "minify", "diff", "reference"}

// String is the name of s as it stands in reports.
func (s Step) String() string {
	if s >= steps {
		return stepNames[StepNone]
	}
	return stepNames[s]
}

// savingsFloor is how much of a text must be saved, in percent, or it stays as
// it is.
const savingsFloor = 10

// task is one text with what decides over it beside itself.
type task struct {
	hint output.Hint
	gate int // the smallest text that is looked at, in bytes
	// kept reports whether an original of so many bytes can be kept, strict
	// that nothing is elided whose original cannot.
	kept   func(size int) bool
	strict bool
}

// made is what was done to a text.
type made struct {
	class output.Class
	tool  output.Tool
	step  Step   // the last one that changed it, StepNone: it stays as it is
	ref   string // reference to the original, "" if none is needed or it is not kept
	lossy bool   // lines were elided
	quick bool   // found out in less time than it takes to remember it
}

// squeezer works on single texts. It keeps its memory.
type squeezer struct {
	lines   output.Lines
	tab     tabler
	diff    diffScanner
	term    terminal
	folder  folder
	lister  lister
	painter painter
	clean   []byte
	painted []byte
	listed  []byte
	again   []byte
	lasting func(line []byte) bool
}

func newSqueezer() *squeezer {
	return &squeezer{lasting: func(line []byte) bool { return output.Important(line) >= output.Warning }}
}

// squeeze appends what becomes of text to dst; if it is to stay as it is, dst
// comes back unchanged. The result is a function of the text and the task. It
// is shorter by savingsFloor percent at least, not empty, and squeezing it
// again changes nothing: a text for which that does not hold stays as it is.
func (s *squeezer) squeeze(dst, text []byte, t *task) ([]byte, made) {
	out, m := s.once(dst, text, t)
	if m.step == StepNone {
		return dst, m
	}
	result := out[len(dst):]
	if len(result) == 0 || (len(text)-len(result))*100 < len(text)*savingsFloor {
		return dst, made{class: m.class, tool: m.tool}
	}
	// Tables are known by their first line; minified JSON would have become a
	// table at once if it ever could.
	if m.step != StepTable && m.step != StepMinify && len(result) >= t.gate {
		var second made
		if s.again, second = s.once(s.again[:0], result, t); second.step != StepNone &&
			(len(result)-len(s.again))*100 >= len(result)*savingsFloor {
			return dst, made{class: m.class, tool: m.tool}
		}
	}
	return out, m
}

// once is squeeze without the conditions on the result.
func (s *squeezer) once(dst, text []byte, t *task) ([]byte, made) {
	if len(text) < t.gate || t.hint.File || isTable(text) {
		return dst, made{}
	}
	var m made
	src := text
	if controlled(text) {
		var ok bool
		if s.clean, ok = s.term.resolve(s.clean[:0], text, s.lasting); ok {
			clean := s.clean
			if s.painted = s.painter.paint(s.painted[:0], clean, text); len(s.painted) > 0 {
				clean = s.painted
			}
			if len(clean) < len(text) {
				src, m.step = clean, StepTerminal
			}
		}
	}
	if len(src) > 0 && (src[0] == '{' || src[0] == '[') && !promises(src) {
		// A text of one line has nothing else to lose.
		m.class, m.tool, m.quick = output.JSON, t.hint.Tool, m.step == StepNone
		return s.plain(dst, src, m)
	}
	if s.tab.parse(src) {
		// What is one JSON value and no file is class JSON, whatever the call.
		m.class, m.tool = output.JSON, t.hint.Tool
		if out, form := s.tab.rewriteParsed(dst, src); form != jsonKept {
			m.step = [...]Step{jsonMinified: StepMinify, jsonTable: StepTable}[form]
			return out, m
		}
		return s.plain(dst, src, m)
	}
	s.lines.Split(src)
	defer s.lines.Reset()
	if m.step == StepTerminal && len(bytes.TrimSpace(src)) == 0 {
		if k, ok := m.elide(text, t); ok {
			s.lines.Split(text)
			return k.append(dst, s.lines.Len(), "terminal codes only"), m
		}
		return dst, made{}
	}
	m.class, m.tool = output.ClassifyLines(t.hint, &s.lines)
	if m.class.File() {
		return dst, made{class: m.class, tool: m.tool}
	}
	if out, step := s.shorten(dst, text, &m, t); step != StepNone {
		m.step = step
		return out, m
	}
	return s.plain(dst, src, m)
}

// plain appends src if the terminal codes that were in it are all that went.
func (s *squeezer) plain(dst, src []byte, m made) ([]byte, made) {
	if m.step == StepTerminal {
		return append(dst, src...), m
	}
	return dst, m
}

// shorten does to the text whose lines are s.lines what its class allows. text
// is the text as it was.
func (s *squeezer) shorten(dst, text []byte, m *made, t *task) ([]byte, Step) {
	switch {
	case m.class == output.NDJSON:
		output.Keep(&s.folder.keep, m.class, m.tool, &s.lines)
		if out, form := s.tab.rewriteLines(dst, &s.lines, &s.folder.keep); form == jsonTable {
			return out, StepTable
		}
	case m.class == output.Diff, m.class == output.GitLog && bytes.Contains(s.lines.Text, []byte("\n@@ -")):
		if k, ok := m.elide(text, t); ok {
			if out, ok := s.diff.collapseDiff(dst, &s.lines, k); ok {
				return out, StepDiff
			}
		}
	case m.class.Failing():
		if k, ok := m.elide(text, t); ok {
			return s.report(dst, m, k)
		}
	}
	m.ref, m.lossy = "", false
	return dst, StepNone
}

// report shortens a report of tests, of a build or a log.
func (s *squeezer) report(dst []byte, m *made, k mark) ([]byte, Step) {
	out, folded := s.folder.fold(dst, m.class, m.tool, &s.lines, k)
	if s.folder.keptShare(&s.lines) >= nearlyAll {
		var ok bool
		if s.listed, ok = s.lister.list(s.listed[:0], &s.lines, k); ok && (!folded || len(s.listed) < len(out)-len(dst)) {
			return append(dst, s.listed...), StepList
		}
	}
	if folded {
		return out, StepFold
	}
	m.ref, m.lossy = "", false
	return dst, StepNone
}

// elide prepares for lines of text to be elided. ok is false if they must not
// be.
func (m *made) elide(text []byte, t *task) (k mark, ok bool) {
	if t.kept(len(text)) {
		k.ref = marker.Ref(text)
	} else if t.strict {
		return mark{}, false
	}
	m.ref, m.lossy = k.ref, true
	return k, true
}

// isTable reports whether a text is a table as the tabler writes it.
func isTable(text []byte) bool {
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	return bytes.HasPrefix(rest, []byte("@1: ")) && (string(line) == tableIntro || string(line) == linesIntro) ||
		string(line) == tableIntro && bytes.Contains(rest, []byte("\n@1: "))
}
