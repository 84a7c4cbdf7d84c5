package output

import (
	"bytes"
	"sync"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// Classify says what text is and which tool wrote it: by the call first, by
// the content second, Unknown when in doubt. A call that prints files gives
// Source, Config or Prose whatever the text looks like.
func Classify(hint Hint, text []byte) (Class, Tool) {
	var l Lines
	l.Split(text)
	return ClassifyLines(hint, &l)
}

// ClassifyLines is Classify for a text that is split already.
func ClassifyLines(hint Hint, lines *Lines) (Class, Tool) {
	scratch := plainScratches.Get().(*plainScratch)
	defer scratch.free()
	lines = plainLines(lines, scratch)
	json := jsonClass(lines)
	if hint.File {
		if json != Unknown {
			return Config, hint.Tool
		}
		return fileClass(lines), hint.Tool
	}
	if json != Unknown {
		return json, hint.Tool
	}
	if hint.Tool == Fetch {
		return Unknown, hint.Tool // a page, a document, whatever
	}
	if numberedListing(lines) {
		return Source, hint.Tool
	}
	switch hint.Class {
	case Diff, DiffStat, GitLog, GitStatus:
		return gitClass(hint.Class, lines), hint.Tool
	case Grep:
		if hasContextLines(lines) {
			return Unknown, hint.Tool // stretches of files
		}
		return Grep, hint.Tool
	case JSON, NDJSON:
		return Unknown, hint.Tool // it is not what it was said to be
	}
	f := looksOf(lines)
	if hint.Class == Listing {
		if 10*(f.code+f.prose) > 4*f.lines {
			return Unknown, hint.Tool
		}
		return Listing, hint.Tool
	}
	return f.judge(hint, lines)
}

// looks counts what the sampled lines of a text look like. Each line that is
// not blank counts once.
type looks struct {
	lines    int // sampled lines that are not blank
	records  int // of a log
	tests    int // verdicts of test runners
	steps    int // of builds, installs, downloads
	places   int // that start with a place in a file
	nested   int // indented, below one of the above
	code     int // that look like code or configuration
	prose    int // that look like sentences
	repeated int // others, of a shape that occurs often
	leveled  int // records that name a level
	runner   int // lines that only test runners write
	document int // headings and fences of a document
}

// maxSample is how many lines are looked at: the first and last quarter of
// them in a row, the others spread over the text.
const maxSample = 256

// sample calls look for the lines that are sampled.
func sample(lines *Lines, look func(line []byte)) {
	n := lines.Len()
	if n <= maxSample {
		for i := range n {
			look(lines.Line(i))
		}
		return
	}
	const edge = maxSample / 4
	for i := range edge {
		look(lines.Line(i))
	}
	const middle = maxSample - 2*edge
	for j := range middle {
		look(lines.Line(edge + j*(n-2*edge)/middle))
	}
	for i := n - edge; i < n; i++ {
		look(lines.Line(i))
	}
}

func looksOf(lines *Lines) looks {
	var f looks
	var shapes [256]uint8 // how often a shape was seen, by a hash of it
	var others [maxSample]uint8
	n := 0
	matched, record := false, false
	sample(lines, func(line []byte) {
		width, blank := indent(line)
		if blank {
			return
		}
		f.lines++
		if documentMark(line, f.lines == 1) {
			f.document++
		}
		starts := recordStart(line)
		record = starts || record && width > 0
		switch {
		case starts:
			f.records++
			matched = true
			if namesLevel(line) {
				f.leveled++
			}
		case Passing(line) || verdict(line):
			f.tests++
			matched = true
			if runnerLine(line) {
				f.runner++
			}
		case progressing(line):
			f.steps++
			matched = true
		case located(line):
			f.places++
			matched = true
		case matched && (width > 0 && (record || !codeLike(line)) || detailLine(line)):
			f.nested++
		case codeLike(line):
			f.code++
			matched = false
		case proseLike(line):
			f.prose++
			matched = false
		case len(line) > 40 && bytes.IndexByte(line, ' ') < 0:
			// Encoded data has a shape too.
		default:
			h := shapeHash(line)
			if shapes[h] < 255 {
				shapes[h]++
			}
			others[n] = h
			n++
		}
	})
	for _, h := range others[:n] {
		if shapes[h] >= 4 {
			f.repeated++
		}
	}
	return f
}

// judge decides by looks what the hint leaves open.
func (f *looks) judge(hint Hint, lines *Lines) (Class, Tool) {
	if f.lines == 0 {
		return Unknown, hint.Tool
	}
	machine := f.records + f.tests + f.steps + f.places + f.nested
	file := f.code + f.prose
	if hint.certain() {
		// The program is known; only a text that plainly is something else
		// speaks against it.
		if 10*file > 6*f.lines && 10*machine < f.lines {
			return Unknown, hint.Tool
		}
		return hint.Class, hint.Tool
	}
	if hint.Class == Unknown {
		return f.guess(lines)
	}
	if 7*file > f.lines || f.document > 0 {
		return Unknown, hint.Tool
	}
	machine += f.repeated
	if 10*machine < 6*f.lines {
		return Unknown, hint.Tool
	}
	switch {
	case 2*(f.records+f.nested) > machine && f.records > f.tests+f.steps+f.places:
		return Log, hint.Tool
	case f.tests > f.steps+f.places:
		return TestOutput, hint.Tool
	case f.places+f.steps > 0:
		return Build, hint.Tool
	}
	return hint.Class, hint.Tool
}

// guess decides without any word from the call. Rows of data start with dates,
// lists have check marks and change logs speak of what was added, so it takes
// more: a level in most records, or lines that only test runners write.
func (f *looks) guess(lines *Lines) (Class, Tool) {
	if c := gitClass(Unknown, lines); c != Unknown {
		return c, Git
	}
	file := f.code + f.prose
	switch {
	case 7*file > f.lines || f.document > 0:
	case 10*(f.records+f.nested) >= 7*f.lines && 2*f.leveled >= f.records:
		return Log, NoTool
	case 10*(f.tests+f.nested) >= 7*f.lines && 10*f.runner >= f.tests:
		return TestOutput, NoTool
	}
	return Unknown, NoTool
}

// namesLevel reports whether a log level stands near the start of a line.
func namesLevel(line []byte) bool {
	for i := 0; i < len(line) && i < 96; i++ {
		if !isLetter(line[i]) || i > 0 && (isLetter(line[i-1]) || isDigit(line[i-1])) {
			continue
		}
		if levelAt(line, i) || hasFold(line, i, "level=") || hasFold(line, i, "lvl=") || hasFold(line, i, `level":`) || hasFold(line, i, `severity":`) {
			return true
		}
	}
	return len(line) > 5 && (line[0] == 'I' || line[0] == 'W' || line[0] == 'E') && isDigit(line[1]) && isDigit(line[4]) && line[5] == ' '
}

// runnerLine reports whether a line has a form that only test runners write.
func runnerLine(line []byte) bool {
	i := skipSpaces(line, 0)
	t := trimRight(line[i:])
	for _, s := range [...]string{"--- PASS: ", "--- FAIL: ", "--- SKIP: ", "=== RUN ", "ok  \t", "FAIL\t", "test ", "[ RUN  ", "[       OK ]", "PASS ", "FAIL ", "Test Case '", "not ok "} {
		if hasPrefix(t, s) {
			return true
		}
	}
	return hasSuffix(t, " PASSED") || hasSuffix(t, " FAILED") || hasSuffix(t, "%]") || hasSuffix(t, "... ok") || hasSuffix(t, " ms)") || hasSuffix(t, "ms)")
}

// verdict reports whether a line says that one test failed, the way runners do.
func verdict(line []byte) bool {
	i := skipSpaces(line, 0)
	t := trimRight(line[i:])
	if len(t) < 4 {
		return false
	}
	switch t[0] {
	case '-':
		return hasPrefix(t, "--- FAIL")
	case 'F':
		return hasPrefix(t, "FAIL\t") || hasPrefix(t, "FAIL ") || hasPrefix(t, "FAILED ") || string(t) == "FAIL"
	case 'n':
		return hasPrefix(t, "not ok ")
	case '[':
		return hasPrefix(t, "[  FAILED")
	case 0xE2, 0xC3:
		return startSeverity(line) == Failure
	}
	return hasSuffix(t, " FAILED") || hasSuffix(t, " ERROR")
}

// documentMark reports whether a line is a heading or a fence of a document
// that may quote any other output.
func documentMark(line []byte, first bool) bool {
	switch line[0] {
	case '`':
		return hasPrefix(line, "```")
	case '#':
		return hasPrefix(line, "## ") || first && hasPrefix(line, "# ") && len(line) > 2 && 'A' <= line[2] && line[2] <= 'Z'
	case '<':
		return hasPrefix(line, "<!DOCTYPE") || hasPrefix(line, "<html") || hasPrefix(line, "<?xml")
	}
	return false
}

// shapeHash hashes a line with every run of digits taken as one.
func shapeHash(line []byte) uint8 {
	h := uint32(2166136261)
	digits := false
	for i, c := range line {
		if i == 120 {
			break
		}
		if isDigit(c) {
			if digits {
				continue
			}
			c = '0'
			digits = true
		} else {
			digits = false
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return uint8(h ^ h>>8 ^ h>>16 ^ h>>24)
}

// codeStarts start lines of code and configuration.
var codeStarts = prefixTable(
	"import ", "from ", "package ", "func ", "def ", "class ", "return", "if ", "if(", "else", "elif ", "for ", "for(", "while ", "while(", "switch ", "case ", "const ", "let ", "var ",
	"public ", "private ", "protected ", "static ", "void ", "int ", "use ", "fn ", "pub ", "impl ", "type ", "struct ", "enum ", "interface ", "export ", "module ", "namespace ",
	"#include", "#define", "#if", "#endif", "#!/", "// ", "/* ", "/**", "* ", "*/", "--[[", "<!--", "<", "@", "async ", "await ", "try", "catch", "finally", "raise ", "throw ", "assert ",
	"end", "do ", "begin", "select ", "SELECT ", "INSERT ", "CREATE ", "UPDATE ", "local ", "require", "using ", "unset ", "echo ", "set ", "self.", "this.", "lambda ", "yield ", "defer ", "go ", "print",
)

// codeLike reports whether a line looks like code or configuration.
func codeLike(line []byte) bool {
	i := skipSpaces(line, 0)
	t := trimRight(line[i:])
	if len(t) == 0 {
		return false
	}
	for _, w := range codeStarts[t[0]] {
		if hasPrefix(t, w) {
			return true
		}
	}
	switch t[len(t)-1] {
	case '{', '}', ';', '(', '[', '\\', '>':
		return true
	case ']':
		return len(t) <= 3
	case ')', ',':
		// f(x), but not "took 3 ms (cached)"
		open := bytes.IndexByte(t, '(')
		return open > 0 && t[open-1] > ' ' || t[len(t)-1] == ',' && len(t) < 80
	}
	// key: value, key = value, "key": value
	j := 0
	for j < len(t) && (isLetter(t[j]) || isDigit(t[j]) || t[j] == '_' || t[j] == '-' || t[j] == '.' || t[j] == '"' || t[j] == '\'') {
		j++
	}
	if j == 0 || j == len(t) {
		return false
	}
	if t[j] == ':' {
		return j+1 == len(t) || t[j+1] == ' '
	}
	j = skipSpaces(t, j)
	switch byteAt(t, j) {
	case '=':
		return true
	case ':', '+', '-', '*', '|', '&':
		return byteAt(t, j+1) == '='
	}
	return false
}

// proseLike reports whether a line looks like a sentence or a heading.
func proseLike(line []byte) bool {
	t := trimRight(line[skipSpaces(line, 0):])
	if len(t) > 2 && t[0] == '#' && (t[1] == ' ' || t[1] == '#') {
		return true
	}
	words, letters, others := 0, 0, 0
	for i, c := range t {
		switch {
		case isLetter(c) || c >= 0x80:
			letters++
		case c == ' ':
			if i > 0 && isLetter(t[i-1]) {
				words++
			}
		case c == '.' || c == ',' || c == '\'' || c == '-' || c == ';' || c == '?' || c == '!' || c == '"':
		default:
			others++
		}
	}
	return words >= 5 && others*8 < letters
}

// numberedListing reports whether a text is a file shown with line numbers: in
// nearly all of its first lines a number stands in front that is one more than
// that of the line before.
func numberedListing(lines *Lines) bool {
	n, hits, prev := 0, 0, -1
	for i := 0; i < lines.Len() && n < 64; i++ {
		line := lines.Line(i)
		if len(trimRight(line)) == 0 {
			continue
		}
		n++
		j := skipSpaces(line, 0)
		number, from := 0, j
		for j < len(line) && isDigit(line[j]) && j-from < 9 {
			number = number*10 + int(line[j]-'0')
			j++
		}
		if j == from {
			continue
		}
		c := byteAt(line, j)
		if c == '\t' || c == '|' || c == ':' || c == ' ' || c == 0 || c == '\r' || hasPrefix(line[j:], "→") || hasPrefix(line[j:], "│") {
			if prev >= 0 && number == prev+1 {
				hits++
			}
			prev = number
		}
	}
	return n >= 4 && 5*hits >= 4*(n-1)-5 && hits >= 3
}

// hasContextLines reports whether search hits come with the lines around them:
// "file-12-text", or groups set apart by --.
func hasContextLines(lines *Lines) bool {
	n := 0
	sample(lines, func(line []byte) {
		if string(trimRight(line)) == "--" {
			n++
			return
		}
		for i := 1; i+2 < len(line) && i < 200; i++ {
			if line[i] == '-' && isDigit(line[i+1]) {
				j := i + 1
				for j < len(line) && isDigit(line[j]) {
					j++
				}
				if byteAt(line, j) == '-' {
					n++
					return
				}
				i = j - 1
			} else if line[i] == ':' {
				return
			}
		}
	})
	return n >= 3
}

// fileClass tells the content of files apart, for the report only.
func fileClass(lines *Lines) Class {
	f := looksOf(lines)
	if f.prose > f.code {
		return Prose
	}
	return Source
}

var docPool = sync.Pool{New: func() any { return new(jsonspan.Doc) }}

// jsonClass returns JSON for a text that is one JSON object or array, NDJSON
// for one whose lines are JSON objects, else Unknown.
func jsonClass(lines *Lines) Class {
	text := bytes.TrimSpace(lines.Text)
	if len(text) < 2 || text[0] != '{' && text[0] != '[' {
		return Unknown
	}
	d := docPool.Get().(*jsonspan.Doc)
	defer func() {
		d.Reset()
		d.Trim(maxPooled)
		docPool.Put(d)
	}()
	if last := text[len(text)-1]; last == '}' || last == ']' {
		if d.Parse(text) == nil {
			return JSON
		}
	}
	if text[0] != '{' {
		return Unknown
	}
	n, objects, parsed := 0, 0, 0
	sample(lines, func(line []byte) {
		line = trimRight(line)
		if len(line) == 0 {
			return
		}
		n++
		if line[0] == '{' && line[len(line)-1] == '}' {
			objects++
			if parsed < 8 {
				if d.Parse(line) != nil {
					objects--
				}
				parsed++
			}
		}
	})
	if n > 1 && 10*objects >= 9*n {
		return NDJSON
	}
	return Unknown
}

// gitClass checks that a text is the kind of git output that the call says, or
// with Unknown finds out which kind it is. It returns Unknown otherwise.
func gitClass(want Class, lines *Lines) Class {
	first := preamble(lines)
	for first+1 < lines.Len() && len(trimRight(lines.Line(first))) == 0 {
		first++
	}
	line := lines.Line(first)
	commit := isCommitLine(line)
	diff := isDiffStart(lines, first)
	if commit && !diff {
		// git show and git log -p: the changes come later.
		for i := first; i < lines.Len() && i < first+2000 && !diff; i++ {
			diff = hasPrefix(lines.Line(i), "diff --")
		}
	}
	switch {
	case diff:
		if want == Unknown || want == Diff || want == GitLog {
			return Diff
		}
	case commit:
		if want != DiffStat {
			return GitLog
		}
	case hasPrefix(line, "On branch ") || hasPrefix(line, "HEAD detached ") || hasPrefix(line, "## ") && want == GitStatus:
		if want == Unknown || want == GitStatus {
			return GitStatus
		}
	case want == GitLog:
		if mostly(lines, isOneline) {
			return GitLog
		}
	case want == GitStatus:
		if mostly(lines, isShortStatus) {
			return GitStatus
		}
	case want == DiffStat:
		if mostly(lines, isStatLine) {
			return DiffStat
		}
	}
	return Unknown
}

// preamble is the number of lines that an agent puts in front of the output of
// a command: "Exit code: 0", "Wall time: 1.2 seconds", "Output:".
func preamble(lines *Lines) int {
	for i := range min(lines.Len(), 8) {
		switch string(trimRight(lines.Line(i))) {
		case "Output:", "<output>", "<stdout>", "stdout:":
			return i + 1
		}
	}
	return 0
}

// mostly reports whether nine of ten lines that are not blank fit.
func mostly(lines *Lines, fits func([]byte) bool) bool {
	n, hits := 0, 0
	sample(lines, func(line []byte) {
		if line = trimRight(line); len(line) == 0 {
			return
		}
		n++
		if fits(line) {
			hits++
		}
	})
	return n > 0 && 10*hits >= 9*n
}

// isDiffStart reports whether the changes of a diff start at line i.
func isDiffStart(lines *Lines, i int) bool {
	line := lines.Line(i)
	if hasPrefix(line, "diff --git ") || hasPrefix(line, "diff --cc ") || hasPrefix(line, "Index: ") {
		return true
	}
	return hasPrefix(line, "--- ") && i+2 < lines.Len() && hasPrefix(lines.Line(i+1), "+++ ") && hasPrefix(lines.Line(i+2), "@@ ")
}

// isCommitLine reports whether a line starts a commit of git log.
func isCommitLine(line []byte) bool {
	line = bytes.TrimLeft(line, "*|\\/ ")
	return hasPrefix(line, "commit ") && hashLen(line[7:]) >= 7
}

// isOneline reports whether a line is a commit of git log --oneline or reflog,
// a line of the graph in front of it included.
func isOneline(line []byte) bool {
	line = bytes.TrimLeft(line, "*|\\/ _")
	return len(line) == 0 || hashLen(line) >= 7
}

// hashLen is the length of the hexadecimal number that text starts with, 0 if
// it does not end with a word.
func hashLen(text []byte) int {
	n := 0
	for n < len(text) && isHexDigit(text[n]) {
		n++
	}
	if n > 40 || n < len(text) && text[n] != ' ' && text[n] != '\r' {
		return 0
	}
	return n
}

// isShortStatus reports whether a line is one of git status --short.
func isShortStatus(line []byte) bool {
	const marks = " MADRCUT?!"
	return len(line) > 3 && bytes.IndexByte([]byte(marks), line[0]) >= 0 && bytes.IndexByte([]byte(marks), line[1]) >= 0 && line[2] == ' '
}

// isStatLine reports whether a line is one of git diff --stat, --numstat,
// --name-status or --name-only.
func isStatLine(line []byte) bool {
	if bytes.Contains(line, []byte(" | ")) || bytes.IndexByte(line, '\t') > 0 || bytes.Contains(line, []byte(" changed, ")) || bytes.Contains(line, []byte("mode 1")) {
		return true
	}
	return bytes.IndexByte(line, ' ') < 0 || bytes.Contains(line, []byte(" => "))
}
