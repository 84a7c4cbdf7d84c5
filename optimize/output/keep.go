package output

import (
	"bytes"
	"sync"
	"unicode/utf8"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
)

// Keep puts into keep, which it resets, the lines of an output of the given
// class that may not be elided: what Important says, the lines that belong to
// each failure as the tool writes them, and lines that look like markers. What
// is not in keep is routine. For the classes that have no routine lines
// (files, JSON, diffs, Unknown) that is nothing.
func Keep(keep *Set, class Class, tool Tool, lines *Lines) {
	KeepWhole(keep, nil, class, tool, lines)
}

// KeepWhole is Keep. It puts into whole, if that is not nil, the lines of which
// not even repetitions may go: what a test that failed wrote, and what was
// written about it, is one piece from its heading to its end.
func KeepWhole(keep, whole *Set, class Class, tool Tool, lines *Lines) {
	scratch := plainScratches.Get().(*plainScratch)
	defer scratch.free()
	coloured := lines
	lines = plainLines(lines, scratch)
	n := lines.Len()
	keep.Reset(n)
	if whole != nil {
		whole.Reset(n)
	}
	switch class {
	case TestOutput, Build, Log, Progress:
		var red *Set
		if coloured != lines {
			scratch.red.Reset(n)
			if AddRed(&scratch.red, coloured) > 0 {
				red = &scratch.red
			}
		}
		keepFailures(keep, whole, class, tool, lines, red)
	case NDJSON:
		keepRecords(keep, lines)
	case Grep, Listing:
		m := lenient
		if class == Listing {
			m = strict
		}
		for i := range n {
			if line := lines.Line(i); important(line, m) != None || marker.Is(line) {
				keep.Add(i)
			}
		}
	case GitLog, GitStatus, DiffStat:
		for i := range n {
			if line := lines.Line(i); gitTrouble(line) || marker.Is(line) {
				keep.Add(i)
			}
		}
	default:
		keep.AddRange(0, n)
	}
}

var plainScratches = sync.Pool{New: func() any { return new(plainScratch) }}

// keepFailures puts into keep, which is empty, what Keep says for the classes
// in which failures matter. red, if not nil, are lines that fail by their colour.
func keepFailures(keep, whole *Set, class Class, tool Tool, lines *Lines, red *Set) {
	k := keepers.Get().(*keeper)
	k.find(keep, whole, class, tool, lines, red)
	k.lines, k.keep, k.whole = nil, nil, nil
	if cap(k.sev) <= maxPooled {
		keepers.Put(k)
	}
}

var keepers = sync.Pool{New: func() any { return new(keeper) }}

// keeper finds the lines that belong to failures. A failure opens a block:
// a section, which goes on to its known end whatever stands in it, or details,
// which go on as long as lines are indented further or look like details.
type keeper struct {
	lines *Lines
	keep  *Set
	whole *Set // may be nil
	class Class
	tool  Tool
	sev   []Severity
	start Set // log: the lines that start a record

	section section
	width   int  // of the line that opened the section
	yaml    bool // inside the block of a test of TAP
	praise  bool // pytest: what tests that passed wrote
	details bool
	depth   int // details: the indent of the line they belong to
	blanks  int // details: blank lines since the last one
	trail   int // how many lines right behind the failure stay, whatever they are

	last     int           // the last important line, -1 at first
	running  int           // where the running test or class of tests began (gtest, XCTest, Surefire), -1 at first
	sawRuns  bool          // go test -v: there are lines that say which test runs
	sawFails bool          // go test: there is a failed test
	headers  [maxDepth]int // the last line of each indent up to deepest, else -1
	deepest  int
}

// maxDepth bounds the indents that are told apart when a header is looked for.
const maxDepth = 32

func (k *keeper) find(keep, whole *Set, class Class, tool Tool, lines *Lines, red *Set) {
	n := lines.Len()
	*k = keeper{lines: lines, keep: keep, whole: whole, class: class, tool: tool, sev: k.sev[:0], start: k.start, last: -1, running: -1}
	for i := range k.headers {
		k.headers[i] = -1
	}
	starts, filled := 0, 0
	if class == Log {
		k.start.Reset(n)
	}
	for i := range n {
		line := lines.Line(i)
		sev := k.severity(line)
		if red != nil && red.Has(i) {
			sev = Failure
		}
		k.sev = append(k.sev, sev)
		if class == Log && len(line) > 0 && line[0] != '\r' {
			filled++
			if recordStart(line) {
				k.start.Add(i)
				starts++
			}
		}
	}
	if class == Log && 2*starts >= filled {
		k.records()
		return
	}
	for i := range n {
		k.line(i)
	}
	if k.sawRuns {
		k.goTests()
	}
	if k.running >= 0 {
		k.hung()
	}
}

// piece keeps the lines [from, to) with all repetitions in them.
func (k *keeper) piece(from, to int) {
	k.keep.AddRange(from, to)
	if k.whole != nil {
		k.whole.AddRange(from, to)
	}
}

// severity is Important with what the class adds.
func (k *keeper) severity(line []byte) Severity {
	sev := important(line, lenient)
	if sev != None {
		return sev
	}
	switch k.class {
	case Build, TestOutput:
		if located(line) {
			return Failure
		}
		if k.tool == Lint && len(line) > 0 && !Passing(line) && !progressing(line) {
			return Failure
		}
		if numbered(line) > 0 {
			return Failure
		}
		if reports(line) {
			return Detail
		}
	case Log:
		if urgentLetter(line) {
			return Failure
		}
	}
	if marker.Is(line) {
		return Detail
	}
	return None
}

// reports reports whether a line holds a measurement that somebody asked for: the
// result of a benchmark, a row of a coverage table.
func reports(line []byte) bool {
	if hasPrefix(line, "Benchmark") {
		return true
	}
	percent := bytes.IndexByte(line, '%')
	if percent <= 0 {
		// A row of a table: | file | 80 | 75 |
		return bytes.IndexByte(line, '|') >= 0 && bytes.Count(line, []byte(" | ")) >= 3
	}
	if !isDigit(line[percent-1]) || byteAt(line, percent+1) == ']' || Passing(line) || progressing(line) {
		return false
	}
	numbers, inside := 0, false
	for _, c := range line {
		if d := isDigit(c); d != inside {
			inside = d
			if d {
				numbers++
			}
		}
	}
	return numbers >= 3
}

// urgentLetter reports whether a record of a log has a level of one letter that
// means trouble: logcat's "E Tag:", "E/Tag", "[E 310402", or the kernel's <3>.
func urgentLetter(line []byte) bool {
	if len(line) < 3 {
		return false
	}
	if line[0] == '<' && '0' <= line[1] && line[1] <= '3' && line[2] == '>' {
		return true
	}
	for i := 0; i < len(line) && i < 48; i++ {
		switch line[i] {
		case 'E', 'F', 'W':
			before, after := byteAt(line, i-1), byteAt(line, i+1)
			if (before == 0 || before == ' ' || before == '[' || before == '|' || before == '(') && (after == ' ' || after == '/' && before != ' ' || after == ']' || after == '|' || after == ')') {
				return true
			}
		}
	}
	return false
}

// line looks at line i, with all lines before it done.
func (k *keeper) line(i int) {
	line := k.lines.Line(i)
	sev := k.sev[i]
	if k.section != noSection {
		if !k.ends(line) {
			k.piece(i, i+1)
			if sev != None {
				k.last = i
				k.noteGo(line)
			}
			return
		}
		closed := k.section.closedBy(line)
		if k.section == toHeader {
			k.keep.Add(i)
			k.praise = bytes.Contains(line, []byte(" PASSES "))
		}
		k.section, k.details, k.blanks = noSection, false, 0
		if closed {
			k.piece(i, i+1)
			return
		}
	}
	width, blank := indent(line)
	if blank {
		if k.details {
			k.blanks++
		}
		return
	}
	switch {
	case sev != None:
		k.failure(i, line, width, sev)
	case k.details && k.detail(i, line, width):
	default:
		k.unimportant(i, line)
	}
	if width < maxDepth {
		for w := width + 1; w <= k.deepest; w++ {
			k.headers[w] = -1
		}
		k.headers[width], k.deepest = i, width
	}
}

// maxBlanks is how many blank lines may stand between the details of a failure.
const maxBlanks = 2

// detail keeps line i if it is a detail of the failure before it, and ends the
// details if it is not.
func (k *keeper) detail(i int, line []byte, width int) bool {
	routine := Passing(line) || kbuild(line) || cargoStep(line, width)
	if k.blanks > maxBlanks || routine || width <= k.depth && !detailLine(line) {
		if k.trail > 0 && k.blanks == 0 && !routine && !progressing(line) && !recordStart(line) && !startsTest(line) && !endsTest(line) && sectionOf(k.lines, i) == noSection {
			k.trail--
			k.keep.Add(i)
			return true
		}
		k.details = false
		return false
	}
	k.keep.AddRange(i-k.blanks, i+1)
	k.blanks, k.trail = 0, 0
	return true
}

// maxTrail is how many lines right behind a failure stay though nothing shows
// that they belong to it: a message may go on in any form.
const maxTrail = 2

// failure keeps the important line i with what stands in front of it, and
// opens what may follow.
func (k *keeper) failure(i int, line []byte, width int, sev Severity) {
	from := i
	if k.details && k.blanks <= maxBlanks && width > k.depth {
		from = i - k.blanks // still inside the details of another
	}
	k.keep.AddRange(from, i+1)
	k.last = i
	if k.details && width > k.depth && sev == Detail {
		k.blanks = 0
		return
	}
	if !k.details || width <= k.depth || k.blanks > maxBlanks {
		k.depth = width
	}
	k.details, k.blanks, k.trail = true, 0, 0
	if sev == Failure && k.class != Log {
		k.trail = maxTrail
	}
	k.context(i, width)
	k.noteGo(line)
	switch opened := k.sectionOf(i); opened {
	case noSection:
	case toTestStart:
		if k.running >= 0 {
			k.piece(k.running, i)
			k.running = -1
		}
	default:
		k.open(opened, i)
	}
}

// open begins a section with line i.
func (k *keeper) open(s section, i int) {
	k.yaml = false
	k.section, k.width = s, utf8.RuneCount(trimRight(k.lines.Line(i)))
	k.piece(i, i+1)
}

// sectionOf says which section line i opens.
func (k *keeper) sectionOf(i int) section {
	s := sectionOf(k.lines, i)
	if s == toHeader && k.praise {
		return noSection
	}
	return s
}

// ends reports whether line stands behind the section that is open.
func (k *keeper) ends(line []byte) bool {
	switch k.section {
	case toHeader:
		return endsHeader(line, k.width)
	case toTAP:
		return k.endsTAP(line)
	}
	return k.section.ends(line)
}

// endsTAP reports whether line is no diagnostic of the test above it: a comment
// or a YAML block, which is indented.
func (k *keeper) endsTAP(line []byte) bool {
	at := skipSpaces(line, 0)
	t := trimRight(line[at:])
	switch {
	case len(t) == 0 || t[0] == '#' && !hasPrefix(t, "# Subtest:"):
		return false
	case at == 0:
		return true
	case k.yaml:
		k.yaml = string(t) != "..."
		return false
	}
	k.yaml = string(t) == "---"
	return !k.yaml
}

// unimportant looks at a line that is neither important nor a detail.
func (k *keeper) unimportant(i int, line []byte) {
	switch {
	case startsTest(line):
		k.began(i)
	case endsTest(line):
		k.ended(line)
	case line[0] == '=' && hasPrefix(line, "=== RUN "):
		k.sawRuns = true
	case underlines(line):
		// The two lines above are the place and the code; a failure just
		// above those belongs to them.
		from := i - 2
		if k.last >= 0 && i-k.last <= 6 {
			from = min(from, k.last)
		}
		k.keep.AddRange(from, i+1)
		k.details, k.depth, k.blanks = true, 0, 0
	default:
		switch s := k.sectionOf(i); {
		case s != noSection && s != toTestStart:
			k.open(s, i)
		case line[0] == '=' && headed(trimRight(line)):
			k.praise = bytes.Contains(line, []byte(" PASSES "))
		}
	}
}

// context keeps the lines that say what the important line i is about: the
// headers above it that are indented less, and lines right above it that
// introduce it.
func (k *keeper) context(i, width int) {
	if k.class == TestOutput || k.class == Build {
		for w := min(width, maxDepth) - 1; w >= 0; w-- {
			if h := k.headers[w]; h >= 0 {
				k.keep.Add(h)
			}
		}
	}
	at := i - 1
	if at >= 0 {
		if _, blank := indent(k.lines.Line(at)); blank {
			at--
		}
	}
	for n := 0; at >= 0 && n < maxDepth && k.sev[at] == None && introduces(k.lines.Line(at)); n++ {
		k.keep.AddRange(at, i)
		at--
	}
}

// introduces reports whether a line belongs to the one below it.
func introduces(line []byte) bool {
	t := trimRight(line)
	if len(t) == 0 {
		return false
	}
	switch t[0] {
	case '#':
		if hasPrefix(t, "# ") {
			return true
		}
	case 'I':
		if hasPrefix(t, "In file included from ") {
			return true
		}
	case ' ':
		if hasPrefix(t, "                 from ") {
			return true
		}
	case 'T':
		if hasPrefix(t, "TASK [") {
			return true
		}
	case 'F':
		if hasPrefix(t, "File \"") {
			return true
		}
	}
	return t[len(t)-1] == ':' && !Passing(line) && !progressing(line)
}

// records keeps whole records of a log: lines from one that starts a record to
// the next, if any of them is important.
func (k *keeper) records() {
	n := k.lines.Len()
	from, hit := 0, false
	for i := range n {
		if i > from && k.start.Has(i) {
			k.record(from, i, hit)
			from, hit = i, false
		}
		hit = hit || k.sev[i] != None
	}
	k.record(from, n, hit)
}

// maxRecord bounds the lines of a record that is kept as a whole.
const maxRecord = 400

func (k *keeper) record(from, to int, hit bool) {
	if !hit {
		return
	}
	if to-from <= maxRecord {
		for to > from+1 && len(trimRight(k.lines.Line(to-1))) == 0 {
			to--
		}
		k.keep.AddRange(from, to)
		return
	}
	k.keep.Add(from)
	k.details, k.section = false, noSection
	for i := from; i < to; i++ {
		k.line(i)
	}
}

// gitTrouble reports whether a line of git's output is about git itself rather
// than about commits or files.
func gitTrouble(line []byte) bool {
	if len(line) < 5 {
		return false
	}
	switch line[0] {
	case 'f':
		return hasPrefix(line, "fatal:")
	case 'e':
		return hasPrefix(line, "error:")
	case 'w':
		return hasPrefix(line, "warning:")
	case 'h':
		return hasPrefix(line, "hint:")
	case 'C':
		return hasPrefix(line, "CONFLICT")
	case '\t':
		return hasPrefix(line, "\tboth ") || hasPrefix(line, "\tdeleted by ") || hasPrefix(line, "\tadded by ")
	case 'O', 'H', 'Y', 'U', 'A', 'D', 'u':
		for _, s := range [...]string{
			"On branch", "HEAD detached", "Your branch", "You have", "You are", "Unmerged paths", "Unstaged", "Untracked files", "Not currently",
			"All conflicts", "UU ", "AA ", "DD ", "UD ", "DU ", "AU ", "UA ",
		} {
			if hasPrefix(line, s) {
				return true
			}
		}
	}
	return false
}
