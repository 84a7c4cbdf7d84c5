package output

import "bytes"

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
