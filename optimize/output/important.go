package output

import "bytes"

// Severity says how much a line matters.
type Severity uint8

// Severities.
const (
	None    Severity = iota
	Detail           // belongs to a failure: want and got, assertion details
	Warning          // something may be wrong
	Failure          // something is wrong
)

// mode says how much it takes for a line to be important.
type mode uint8

const (
	lenient mode = iota // words count inside identifiers and paths too
	strict              // only words that stand by themselves
)

// Important says how much a single line of output matters by itself. A line
// above None is never elided. When in doubt a line is important; lines that
// say that something passed are not.
func Important(line []byte) Severity {
	if bytes.IndexByte(line, esc) >= 0 {
		var buf [512]byte
		line = AppendPlain(buf[:0], line)
	}
	return important(line, lenient)
}

func important(line []byte, m mode) Severity {
	best := startSeverity(line)
	if best == Failure || failedAtEnd(line) {
		return Failure
	}
	good := -1 // whether the line reports something passed: not known yet
	rejected := -1
	for i := search.next(line, 0); i < len(line); i = search.next(line, i+2) {
		h := triple(line[i], line[i+1], line[i+2])
		for _, a := range search.lists[search.index[h]] {
			at := i - int(a.offset)
			n := &needles[a.needle]
			if n.sev <= best || !hasFold(line, at, search.lower[a.needle]) {
				continue
			}
			end := at + len(n.text)
			if !n.holds(line, at, end, &rejected) || inFlag(line, at) {
				continue
			}
			if good < 0 {
				good = 0
				if Passing(line) {
					good = 1
				} else if m == lenient && progressing(line) {
					m = strict
				}
			}
			if good == 1 {
				if !countsFailures(line, at) {
					continue
				}
			} else if m == strict && !standsAlone(line, at, end) {
				continue
			}
			if best = n.sev; best == Failure {
				return best
			}
		}
	}
	return best
}

// holds checks the needle's rule for the text [at, end) of line. rejected is
// where the last word ended that was harmless by its count.
func (n *needle) holds(line []byte, at, end int, rejected *int) bool {
	switch n.rule {
	case counted:
		return !harmless(line, at, end, rejected)
	case word:
		return !isLetter(byteAt(line, at-1)) && !isLetter(byteAt(line, end))
	case wordStart:
		return !isLetter(byteAt(line, at-1))
	case wordEnd:
		return !isLetter(byteAt(line, end))
	case value:
		return !emptyValue(line, end-1) && !emptyValue(line, end)
	case exit:
		return exitFails(line, end)
	case period:
		i := skipQuotes(line, end)
		if c := byteAt(line, i); c == '=' || c == ':' {
			i = skipSpaces(line, i+1)
			return !isDigit(byteAt(line, i)) && byteAt(line, i) != '"'
		}
		return !harmless(line, at, end, rejected)
	case suffix:
		_, i := wordAround(line, at, end)
		rest := line[end:min(i, end+8)]
		if n.sev == Warning {
			switch string(bytes.ToLower(rest)) {
			case "", "s", "ed", "ing", "ings":
			default:
				return false
			}
		} else {
			switch string(bytes.ToLower(rest)) {
			case "over", "overs", "safe", "back", "fast", "soft":
				return false
			}
		}
		return !harmless(line, at, end, rejected)
	case clause:
		for _, s := range [...]string{
			"defined", "a ", "an ", "recogni", "assign", "support", "install", "allow", "avail", "export", "call", "iter", "exhaust",
			"found", "access", "running", "permitted", "valid", "in ", "known", "match", "compatible", "enough", "equal", "reach", "implement", "declared",
			"satisf", "writable", "readable", "set", "empty", "ready", "true", "unique", "used", "safe",
		} {
			if hasFold(line, end, s) {
				return true
			}
		}
		return false
	case against:
		if firstLetter(line) == at {
			return true
		}
		const near = 256
		rest := line[end:min(end+near, len(line))]
		for _, s := range [...]string{"got", "actual", "but ", "received", "found", "instead", "to be", "to equal", "to have"} {
			if indexFold(rest, s) >= 0 {
				return true
			}
		}
		before := line[max(0, at-near):at]
		return indexFold(before, "got") >= 0 || indexFold(before, "actual") >= 0
	case leads:
		return firstLetter(line) == at || at > 0 && line[at-1] == ' ' && 'A' <= line[at] && line[at] <= 'Z'
	case status:
		return isDigit(byteAt(line, end)) && isDigit(byteAt(line, end+1)) && !isDigit(byteAt(line, end+2))
	case urgent:
		c := byteAt(line, end)
		return '0' <= c && c <= '3' && byteAt(line, end+1) == '"'
	case dots:
		for _, c := range line[end:] {
			switch c {
			case '.', 's', 'x', 'X':
			case 'F', 'E':
				return true
			default:
				return false
			}
		}
		return false
	}
	return true
}

// startSeverity judges a line by what it starts with.
func startSeverity(line []byte) Severity {
	i := skipSpaces(line, 0)
	if i == len(line) {
		return None
	}
	t := line[i:]
	switch c := t[0]; c {
	case 'E', 'W', 'F', 'e', 'w':
		sev := Failure
		if c|0x20 == 'w' {
			sev = Warning
		}
		if len(t) == 1 && c < 'W' {
			return Failure
		}
		if len(t) > 1 {
			switch {
			case t[1] == ':' && byteAt(t, 2) == ' ': // E: apt, e: kotlinc
				return sev
			case c == 'E' && i == 0 && hasPrefix(t, "E   "): // pytest
				return sev
			case hasPrefix(t, "ERR") && !isLetter(byteAt(t, 3)):
				return Failure
			case c < 'a' && len(t) > 5 && isDigit(t[1]) && isDigit(t[2]) && isDigit(t[3]) && isDigit(t[4]) && t[5] == ' ': // glog
				return sev
			}
		}
		if c == 'E' && hasPrefix(t, "Expected") || hasPrefix(t, "want:") || hasPrefix(t, "want ") {
			return Detail
		}
	case 'R', 'r':
		if hasFold(t, 0, "received") && !isLetter(byteAt(t, 8)) || hasPrefix(t, "right:") {
			return Detail
		}
	case 'A', 'a':
		if hasFold(t, 0, "actual") && !isLetter(byteAt(t, 6)) {
			return Detail
		}
	case 'g', 'G':
		if hasFold(t, 0, "got:") || hasFold(t, 0, "got ") {
			return Detail
		}
	case 'l':
		if hasPrefix(t, "left:") {
			return Detail
		}
	case 'O':
		if hasPrefix(t, "OOM") {
			return Failure
		}
	case '>':
		// The failing line in a listing: pytest's, or that of a code frame.
		if i == 0 && hasPrefix(t, ">   ") || codeFrame(line) {
			return Detail
		}
	case 0xC3:
		if hasPrefix(t, "× ") {
			return Failure
		}
	case 0xE2:
		switch {
		case len(t) < 3:
		case t[1] == 0x9C && (0x95 <= t[2] && t[2] <= 0x98), // ✕ ✖ ✗ ✘
			t[1] == 0x97 && t[2] == 0x8F, // ●
			t[1] == 0x9D && t[2] == 0x8C, // ❌
			t[1] == 0xA8 && t[2] == 0xAF: // ⨯
			return Failure
		case t[1] == 0x9A && t[2] == 0xA0: // ⚠
			return Warning
		}
	}
	return None
}

// failedAtEnd reports whether a line ends with a verdict so short that it is no
// word: "test_450 F", "check 12: KO", "result=ko". A line of marks, one for each
// test, is one as well: "..F..E..  [ 34%]".
func failedAtEnd(line []byte) bool {
	t := trimRight(line)
	if len(t) == 0 {
		return false
	}
	switch t[len(t)-1] {
	case 'F', 'E':
		if c := byteAt(t, len(t)-2); c == ' ' || c == '\t' || c == 0 {
			return true
		}
	case 'o', 'O':
		return shortVerdict(t, "ko")
	case 'g', 'G':
		return shortVerdict(t, "ng")
	case 'k', 'K':
		return shortVerdict(t, "nok")
	case 'r', 'R':
		return shortVerdict(t, "err")
	}
	return marks(t)
}

// shortVerdict reports whether t ends with the verdict s, as the value of a
// field or as a word in capitals.
func shortVerdict(t []byte, s string) bool {
	at := len(t) - len(s)
	if at < 0 || !hasFold(t, at, s) {
		return false
	}
	switch byteAt(t, at-1) {
	case '=', ':':
		return true
	case 0, ' ', '\t', '|', '>':
		return t[at] < 'a' || byteAt(t, at-1) == ' ' && byteAt(t, at-2) == ':'
	}
	return false
}

// marks reports whether a line consists of the marks of tests, one of which
// failed, and maybe of how far they are.
func marks(t []byte) bool {
	if t[0] != '.' && t[0] != 'F' && t[0] != 'E' && t[0] != 's' {
		return false
	}
	dots, failed := 0, 0
	for i, c := range t {
		switch c {
		case '.':
			dots++
		case 'F', 'E':
			failed++
		case 's', 'S', 'x', 'X', 'I', 'R', 'W', 'P', '*':
		case ' ', '\t', '[':
			if i < 4 {
				return false
			}
			for _, c := range t[i:] {
				if isLetter(c) {
					return false
				}
			}
			return dots > 0 && failed > 0
		default:
			return false
		}
	}
	return dots > 0 && failed > 0
}

// harmless reports whether the word that starts or holds [at, end) is denied
// or counted as none: "0 errors", "no failures", "Errors: 0", "error":null.
func harmless(line []byte, at, end int, rejected *int) bool {
	at, end = wordAround(line, at, end)
	if noneBefore(line, at, end, *rejected) || noneAfter(line, at, end) {
		*rejected = end
		return true
	}
	return false
}

// noneBefore reports whether the word [at, end) follows a zero or a no, with at
// most one word between them.
func noneBefore(line []byte, at, end, rejected int) bool {
	from, to, gap := previousWord(line, at)
	for range 2 {
		if from == to || !gap {
			return false
		}
		switch w := line[from:to]; {
		case foldEqual(w, "no") || foldEqual(w, "zero") || foldEqual(w, "without"):
			return true
		case string(w) == "0" || string(w) == "0%":
			return startsClause(line, from)
		case isDigit(w[0]):
			return false
		case foldEqual(w, "or") || foldEqual(w, "and") || foldEqual(w, "nor"):
			// no errors or warnings
			_, before, _ := previousWord(line, from)
			plural := line[end-1]|0x20 == 's' || line[end-1]|0x20 == 'g'
			return plural && rejected >= 0 && before == rejected
		}
		from, to, gap = previousWord(line, from)
	}
	return false
}

// startsClause reports whether the number at from counts what follows it, and
// is not the number of something: "worker 0 failed" is a failure.
func startsClause(line []byte, from int) bool {
	if c := byteAt(line, from-1); c == '=' || c == ':' {
		return false // the value of the field before
	}
	a, b, gap := previousWord(line, from)
	if a == b || !gap {
		return true
	}
	for _, w := range [...]string{"found", "with", "and", "has", "had", "are", "were", "passed", "passes", "tests", "total", "reported", "generated", "ok", "succeeded", "skipped", "ignored", "in"} {
		if foldEqual(line[a:b], w) {
			return true
		}
	}
	return false
}

// previousWord is the word in front of at. gap is whether nothing but spaces
// and quotes stand between the two.
func previousWord(line []byte, at int) (from, to int, gap bool) {
	to = at
	for to > 0 && at-to < maxWord && (line[to-1] == ' ' || line[to-1] == '"' || line[to-1] == '\'') {
		to--
	}
	gap = to < at
	from = to
	for from > 0 && to-from < maxWord && (isLetter(line[from-1]) || isDigit(line[from-1]) || line[from-1] == '%') {
		from--
	}
	return from, to, gap
}

// noneAfter reports whether the word [at, end) is followed by a zero or by an
// empty value.
func noneAfter(line []byte, at, end int) bool {
	if emptyValue(line, end) {
		return true
	}
	// "fail 0", "errors 0", but not "error 0".
	if byteAt(line, end) == ' ' && (line[end-1]|0x20 == 's' || line[end-1]|0x20 == 'l' || line[end-1]|0x20 == 'd') {
		i := skipSpaces(line, end)
		if byteAt(line, i) == '0' {
			switch byteAt(line, i+1) {
			case 0, ' ', ',', ';', ')', '\t', '\r', '|':
				return i+1 <= len(line)
			}
		}
	}
	return false
}

// emptyValue reports whether a colon or an equals sign at i (quotes in front
// of it aside) is followed by a value that says nothing.
func emptyValue(line []byte, i int) bool {
	i = skipQuotes(line, i)
	if hasFold(line, i, "(s)") {
		i += 3
	}
	i = skipSpaces(line, i)
	sign := byteAt(line, i)
	if sign != ':' && sign != '=' {
		return false
	}
	i = skipSpaces(line, i+1)
	for _, none := range [...]string{"0", "null", "nil", "<nil>", "none", "false", `""`, "''", "[]", "{}", "<none>", `"none"`, "undefined", "no", "off", "-"} {
		if !hasFold(line, i, none) {
			continue
		}
		switch c := byteAt(line, i+len(none)); c {
		case ',', '}', ']', ')', ';', '\r', '|':
			return true
		case 0:
			return i+len(none) == len(line)
		case ' ', '\t':
			// error: null pointer dereference
			if sign == '=' || none == "0" || none[0] == '"' || none[0] == '[' || none[0] == '{' {
				return true
			}
		case '.':
			return none == "0" && !isDigit(byteAt(line, i+2))
		}
	}
	return false
}

// exitFails reads the number behind an exit code: anything but zero fails.
func exitFails(line []byte, at int) bool {
	for i := at; i < len(line) && i < at+24; i++ {
		if isDigit(line[i]) {
			return !(line[i] == '0' && !isDigit(byteAt(line, i+1)) && lower(byteAt(line, i+1)) != 'x')
		}
	}
	return true
}

// inFlag reports whether the text at belongs to a flag of a command line:
// -Werror, --fail-fast.
func inFlag(line []byte, at int) bool {
	if byteAt(line, at) == ' ' {
		return false
	}
	for n := 0; at > 0 && line[at-1] > ' '; n++ {
		if n == maxWord {
			return false
		}
		at--
	}
	if byteAt(line, at) != '-' {
		return false
	}
	switch c := byteAt(line, at+1); c {
	case '-':
		c = byteAt(line, at+2)
		return 'a' <= c && c <= 'z'
	case 'W', 'f', 'D', 'w', 'X':
		return true
	}
	return false
}

// standsAlone reports whether [at, end), with the letters around it, is a word
// of its own: not part of a path, an identifier or a hyphenated name.
func standsAlone(line []byte, at, end int) bool {
	if isLetter(byteAt(line, at-1)) && isLetter(line[at]) && line[at] >= 'a' {
		return false // thiserror, but not AssertionError
	}
	at, end = wordAround(line, at, end)
	switch c := byteAt(line, at-1); {
	case c == '_' || c == '/' || c == '\\' || c == '.' || c == '-' || c == '@' || c == '+' || isDigit(c):
		return false
	}
	switch c := byteAt(line, end); {
	case c == '_' || c == '/' || c == '\\' || c == '-' || c == '@' || isDigit(c):
		return false
	case c == '.':
		return !isLetter(byteAt(line, end+1)) && !isDigit(byteAt(line, end+1))
	}
	return true
}

// countsFailures reports whether a number other than zero stands in front of
// the word at, as in the summary "✓ 12 passed, 3 failed", or "with" does.
func countsFailures(line []byte, at int) bool {
	at, _ = wordAround(line, at, at)
	from, to, gap := previousWord(line, at)
	return gap && from < to && (isDigit(line[from]) || foldEqual(line[from:to], "with"))
}

// maxWord bounds how far the surroundings of a needle are read, so that a line
// costs no more than in proportion to its length.
const maxWord = 64

// wordAround extends [at, end) over the letters around it.
func wordAround(line []byte, at, end int) (from, to int) {
	for from = at; from > 0 && at-from < maxWord && isLetter(line[from-1]); from-- {
	}
	for to = end; to < len(line) && to-end < maxWord && isLetter(line[to]); to++ {
	}
	return from, to
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// byteAt is line[i], or 0 outside of the line.
func byteAt(line []byte, i int) byte {
	if i < 0 || i >= len(line) {
		return 0
	}
	return line[i]
}

func skipSpaces(line []byte, i int) int {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	return i
}

func skipQuotes(line []byte, i int) int {
	for i < len(line) && (line[i] == '"' || line[i] == '\'' || line[i] == '\\') {
		i++
	}
	return i
}

// firstLetter is the offset of the first letter of line, if it is not far in.
func firstLetter(line []byte) int {
	i := 0
	for i < len(line) && i < maxWord && !isLetter(line[i]) {
		i++
	}
	return i
}

func hasPrefix(line []byte, s string) bool { return len(line) >= len(s) && string(line[:len(s)]) == s }

func hasSuffix(line []byte, s string) bool {
	return len(line) >= len(s) && string(line[len(line)-len(s):]) == s
}

func foldEqual(text []byte, s string) bool { return len(text) == len(s) && hasFold(text, 0, s) }

// indexFold is the offset of the lower-case text s in line, -1 if it is not there.
func indexFold(line []byte, s string) int {
	for i := 0; i+len(s) <= len(line); i++ {
		if lower(line[i]) == s[0] && hasFold(line, i, s) {
			return i
		}
	}
	return -1
}
