package output

import (
	"bytes"
	"unicode/utf8"
)

// section is a stretch of output that is kept up to its end, whatever stands
// in it.
type section uint8

const (
	noSection   section = iota
	toHeader            // pytest: === FAILURES ===, to the next such header
	toResult            // cargo: failures: or the heading of one, to test result:
	toNextest           // cargo nextest: --- STDOUT: name, to the next verdict
	toFiles             // vitest: ⎯⎯ Failed Tests ⎯⎯, to the counts
	toNextRun           // mocha, rspec, phpunit: a list of failures, to the totals or a test that passed
	toTest              // jest: ● name, to the next test
	toBuildEnd          // gradle: What went wrong, to BUILD FAILED
	toRule              // unittest: FAIL: name, to a line of ===
	toFence             // docker: the step that failed, to ------
	toVerdict           // docker: the place in the Dockerfile, to ERROR
	toStackEnd          // go: panic, to what is no stack
	toRace              // go: DATA RACE, to a line of ===
	toNextCTest         // ctest: ***Failed, to the next test
	toBoxEnd            // terraform: ╷ ... ╵
	toPlan              // terraform: what will be done, to the plan's totals
	toBlank             // to the next blank line
	toTAP               // TAP: not ok, to the next test
	toDotnet            // dotnet test: Failed name [3 ms], to the next verdict
	toMinitest          // minitest: 1) Failure:, to the totals
	toDashes            // ginkgo: [FAILED], to a line of ---
	toTestStart         // not a section: what the test wrote stands before this line
)

// sectionOf says which section line i of lines opens.
func sectionOf(lines *Lines, i int) section {
	line := lines.Line(i)
	at := skipSpaces(line, 0)
	t := trimRight(line[at:])
	if len(t) < 3 {
		return noSection
	}
	next := func() []byte {
		if i+1 < lines.Len() {
			return trimRight(lines.Line(i + 1))
		}
		return nil
	}
	switch t[0] {
	case '=':
		if headed(t) && (bytes.Contains(t, []byte(" FAILURES ")) || bytes.Contains(t, []byte(" ERRORS "))) {
			return toHeader
		}
	case '_':
		if underscored(t) {
			return toHeader
		}
	case 'n':
		if hasPrefix(t, "not ok ") {
			return toTAP
		}
	case 'f':
		switch {
		case string(t) == "failures:":
			return toResult
		case at == 0 && hasPrefix(t, "fatal error: "):
			return toStackEnd
		}
	case 'p', 'g', 'S':
		if at == 0 && (hasPrefix(t, "panic: ") || hasPrefix(t, "goroutine ") || hasPrefix(t, "SIG") && bytes.IndexByte(t, ':') > 0) {
			return toStackEnd
		}
	case 'W':
		if hasPrefix(t, "WARNING: DATA RACE") {
			return toRace
		}
	case 'F', 'E':
		switch {
		case hasPrefix(t, "Failed ") && timed(t):
			return toDotnet
		case string(t) == "Failures:" || hasPrefix(t, "Failed examples:"):
			return toNextRun
		case hasPrefix(t, "FAILURE: Build failed"):
			return toBuildEnd
		case at == 0 && (hasPrefix(t, "FAIL: ") || hasPrefix(t, "ERROR: ")) && allOf(next(), '-'):
			return toRule
		case string(t) == "Failure:" || string(t) == "Error:":
			return toBlank // rails
		}
	case '*':
		if hasPrefix(t, "* What went wrong:") {
			return toBuildEnd
		}
	case 'O', 'C', 'N':
		if hasPrefix(t, "OpenTofu will perform") || hasPrefix(t, "Changes to Outputs:") || hasPrefix(t, "Note: Objects have changed") {
			return toPlan
		}
	case 'T':
		if hasPrefix(t, "Terraform will perform") {
			return toPlan
		}
		if hasPrefix(t, "There was ") && isDigit(byteAt(t, 10)) || hasPrefix(t, "There were ") && isDigit(byteAt(t, 11)) {
			return toNextRun
		}
		if hasPrefix(t, "Tests run:") && bytes.Contains(t, []byte("<<<")) {
			return toTestStart
		}
		if hasPrefix(t, "Test Case '") && hasSuffix(t, ".") && bytes.Contains(t, []byte("' failed")) {
			return toTestStart
		}
	case '[':
		if hasPrefix(t, "[  FAILED  ]") || hasPrefix(t, "[ERROR] Tests run:") {
			return toTestStart
		}
	case '-':
		if at == 0 && len(t) > 16 && hasPrefix(t, "---- ") && (hasSuffix(t, " stdout ----") || hasSuffix(t, " stderr ----")) {
			return toResult
		}
		if len(t) > 20 && t[1] == '-' && t[len(t)-1] == '-' && bytes.Contains(t, []byte("- Captured ")) {
			return toHeader // what the test before wrote
		}
		if hasPrefix(t, "--- STDOUT:") || hasPrefix(t, "--- STDERR:") {
			return toNextest
		}
		if string(t) == "------" && hasPrefix(next(), " > ") {
			return toFence
		}
	case 0xE2:
		switch {
		case hasPrefix(t, "● ") && at <= 4:
			return toTest
		case hasPrefix(t, "⎯") && (bytes.Contains(t, []byte("Failed ")) || bytes.Contains(t, []byte("Unhandled "))):
			return toFiles
		case hasPrefix(t, "✖ failing tests:"):
			return toNextRun
		case hasPrefix(t, "• ") && (bytes.Contains(t, []byte("[FAILED]")) || bytes.Contains(t, []byte("[PANICKED]")) || bytes.Contains(t, []byte("[TIMEDOUT]")) || hasPrefix(t, "• Failure")):
			return toDashes
		case hasPrefix(t, "──── STD"):
			return toNextest
		case string(t) == "╷":
			return toBoxEnd
		}
	}
	if at == 0 && isDigit(t[len(t)-1]) && bytes.IndexByte(t, ' ') < 0 && bytes.IndexByte(t, ':') > 0 && allOf(next(), '-') {
		return toVerdict
	}
	if c := t[0]; isDigit(c) {
		if n := numbered(line); n > 0 {
			if rest := t[n-at:]; hasPrefix(rest, "Failure:") || hasPrefix(rest, "Error:") {
				return toMinitest
			}
			return noSection
		}
		j := 0
		for j < len(t) && (isDigit(t[j]) || t[j] == '/') {
			j++
		}
		switch rest := t[j:]; {
		case string(rest) == " failing" && t[0] != '0': // mocha
			return toNextRun
		case bytes.Contains(rest, []byte("Test ")) && bytes.Contains(rest, []byte("***")):
			return toNextCTest
		}
	}
	return noSection
}

// ends reports whether line stands behind the section s.
func (s section) ends(line []byte) bool {
	at := skipSpaces(line, 0)
	t := trimRight(line[at:])
	switch s {
	case toHeader:
		return headed(t)
	case toResult:
		return at == 0 && hasPrefix(t, "test result: ")
	case toNextest:
		return hasPrefix(t, "PASS [") || hasPrefix(t, "FAIL [") || hasPrefix(t, "SLOW [") || hasPrefix(t, "Summary [") || allOf(t, '-') || hasPrefix(t, "Cancel")
	case toFiles:
		return hasPrefix(t, "Test Files ") || hasPrefix(t, "Tests ")
	case toNextRun:
		return at == 0 && (hasPrefix(t, "Finished in") || hasPrefix(t, "FAILURES!") || hasPrefix(t, "ERRORS!") || Passing(t)) || ticked(t)
	case toTest:
		if len(t) == 0 {
			return false
		}
		if at == 0 {
			for _, w := range [...]string{"PASS ", "FAIL ", "Test Suites:", "Tests:", "Snapshots:", "Ran all test"} {
				if hasPrefix(t, w) {
					return true
				}
			}
		}
		return hasPrefix(t, "● ") && at <= 4 || ticked(t)
	case toBuildEnd:
		return at == 0 && hasPrefix(t, "BUILD FAILED")
	case toRule:
		return allOf(t, '=') || at == 0 && hasPrefix(t, "Ran ") && isDigit(byteAt(t, 4)) || hasSuffix(t, ") ... ok")
	case toRace:
		return allOf(t, '=') || Passing(line)
	case toDotnet:
		return at <= 2 && (hasPrefix(t, "Passed ") || hasPrefix(t, "Failed ") || hasPrefix(t, "Skipped ")) && timed(t) || at == 0 && (hasPrefix(t, "Test Run ") ||
			hasPrefix(t, "Total tests:") || hasPrefix(t, "Failed!") || hasPrefix(t, "Passed!") || hasPrefix(t, "Results File:") || hasPrefix(t, "Attachments:"))
	case toMinitest:
		return at == 0 && (isDigit(byteAt(t, 0)) && (bytes.Contains(t, []byte(" runs, ")) || bytes.Contains(t, []byte(" tests, "))) || Passing(t))
	case toDashes:
		return allOf(t, '-') || hasPrefix(t, "Ran ") && bytes.Contains(t, []byte(" Specs in "))
	case toVerdict:
		return hasPrefix(t, "ERROR")
	case toFence:
		return string(t) == "------"
	case toStackEnd:
		return !stackLine(line, t, at)
	case toNextCTest:
		return hasPrefix(t, "Start ") || bytes.Contains(t, []byte("Test #")) || bytes.Contains(t, []byte("% tests passed"))
	case toBoxEnd:
		return string(t) == "╵" || !hasPrefix(t, "│")
	case toPlan:
		return hasPrefix(t, "Plan:") || hasPrefix(t, "No changes.")
	case toBlank:
		return len(t) == 0 || Passing(line)
	}
	return true
}

// closedBy reports whether the line that ends the section s belongs to it.
func (s section) closedBy(line []byte) bool {
	switch s {
	case toFence, toBoxEnd, toRace, toResult, toPlan:
		return true
	}
	return false
}

// stackLine reports whether a line may belong to the stacks of a Go panic.
func stackLine(line, t []byte, at int) bool {
	if len(t) == 0 || at > 0 {
		return true
	}
	switch {
	case hasPrefix(t, "goroutine "), hasPrefix(t, "created by "), hasPrefix(t, "panic:"), hasPrefix(t, "[signal "), hasPrefix(t, "[recovered"),
		hasPrefix(t, "runtime"), hasPrefix(t, "main."), hasPrefix(t, "testing."), hasPrefix(t, "..."), hasPrefix(t, "fatal error:"), hasPrefix(t, "PC="),
		hasPrefix(t, "signal arrived"), hasPrefix(t, "SIG"):
		return true
	case hasPrefix(t, "FAIL"), hasPrefix(t, "ok "), hasPrefix(t, "--- "), hasPrefix(t, "=== "), hasPrefix(t, "PASS"):
		return false
	}
	// A function with its arguments, or a register: rax    0x0
	return t[len(t)-1] == ')' && bytes.IndexByte(t, '(') > 0 || len(t) < 40 && bytes.Contains(t, []byte(" 0x"))
}

// headed reports whether a line is a header of pytest: === text ===.
func headed(t []byte) bool {
	return len(t) > 8 && t[0] == '=' && t[1] == '=' && t[len(t)-1] == '=' && bytes.IndexByte(t, ' ') > 0
}

// pytestTitles are what the headers of pytest say.
var pytestTitles = [...]string{
	"FAILURES", "ERRORS", "PASSES", "XFAILURES", "XPASSES", "short test summary", "warnings summary", "test session starts", "slowest ", "coverage", "no tests ran",
	"rerun test summary", "Interrupted", "KeyboardInterrupt",
}

// endsHeader reports whether line is the next header of pytest behind one of the
// given width. What tests write may look like a header too, but it has another
// width, as pytest's are as wide as the terminal, and another title. A heading
// that is narrower than any terminal says nothing about widths.
func endsHeader(line []byte, width int) bool {
	t := trimRight(line)
	if !headed(t) || line[0] != '=' {
		return false
	}
	const narrow = 40
	w := utf8.RuneCount(t)
	if width >= narrow && w >= width-1 && w <= width+1 {
		return true
	}
	if 2*w < width {
		return false
	}
	for _, title := range pytestTitles {
		if bytes.Contains(t, []byte(title)) {
			return true
		}
	}
	// 1 failed, 2 passed in 0.12s
	return bytes.Contains(t, []byte(" in ")) && (bytes.Contains(t, []byte(" passed")) || bytes.Contains(t, []byte(" failed")) || bytes.Contains(t, []byte(" error")) ||
		bytes.Contains(t, []byte(" skipped")) || bytes.Contains(t, []byte(" deselected")) || bytes.Contains(t, []byte(" xfailed")))
}

// underscored reports whether a line is the heading of a failed test of pytest:
// ____ test_x ____.
func underscored(t []byte) bool {
	if len(t) < 7 || t[1] != '_' || !hasSuffix(t, "__") {
		return false
	}
	i := bytes.IndexByte(t, ' ')
	j := bytes.LastIndexByte(t, ' ')
	if i < 0 || i == j {
		return false
	}
	for _, c := range t[:i] {
		if c != '_' {
			return false
		}
	}
	for _, c := range t[j+1:] {
		if c != '_' {
			return false
		}
	}
	return true
}

// ticked reports whether a line begins with the mark of a test that passed.
func ticked(t []byte) bool { return len(t) > 3 && t[0] == 0xE2 && Passing(t) }

// timed reports whether a verdict of dotnet test ends with a duration: [12 ms].
func timed(t []byte) bool {
	return t[len(t)-1] == ']' && (hasSuffix(t, "s]") || hasSuffix(t, "m]") || hasSuffix(t, "h]")) && bytes.LastIndexByte(t, '[') > 0
}

// allOf reports whether a line is a rule drawn with c.
func allOf(t []byte, c byte) bool {
	if len(t) < 10 {
		return false
	}
	for _, d := range t {
		if d != c {
			return false
		}
	}
	return true
}

// numbered returns where the text starts in a line like "  1) name", or 0.
func numbered(line []byte) int {
	i := skipSpaces(line, 0)
	j := i
	for j < len(line) && isDigit(line[j]) {
		j++
	}
	if j > i && j-i <= 6 && byteAt(line, j) == ')' && byteAt(line, j+1) == ' ' {
		return j + 2
	}
	return 0
}

// kbuild reports whether a line is a step of make as the Linux kernel and many
// others print it: "  CC      path". It is indented, but no detail.
func kbuild(line []byte) bool {
	i := skipSpaces(line, 0)
	j := i
	for j < len(line) && ('A' <= line[j] && line[j] <= 'Z' || j > i && (line[j] == '_' || isDigit(line[j]))) {
		j++
	}
	return i > 0 && j-i >= 2 && j-i <= 10 && byteAt(line, j) == ' ' && (byteAt(line, j+1) == ' ' || byteAt(line, j+1) == '[')
}

// cargoStep reports whether a line is a step of cargo, whose verbs end in
// column twelve.
func cargoStep(line []byte, width int) bool {
	if width == 0 || width > 10 || width >= len(line) { // a tab is wider than a byte
		return false
	}
	t := line[width:]
	return len(t) > 12-width && t[12-width] == ' ' && 'A' <= t[0] && t[0] <= 'Z' && bytes.IndexByte(t, ' ') == 12-width
}

// detailWords start lines that belong to a failure though they are not
// indented.
var detailWords = prefixTable(
	"at ", "Caused by", "Suppressed:", "File \"", "from ", "note:", "help:", "hint:", "info:", "--> ", "==> ", "+++ ", "@@ ", "- Expected", "+ Received", "- expected",
	"+ actual", "Expected", "Received", "expected", "actual", "Actual", "DETAIL", "HINT", "LINE ", "CONTEXT", "STATEMENT", "QUERY", "During handling", "The above exception",
	"goroutine ", "created by ", "Stack trace", "stack backtrace", "Stack:", "Backtrace", "backtrace", "Traceback", "thrown in", "Call Stack", "note: ", "Did you mean", "did you mean",
	"Require stack", "Requested by", "required by", "npm ERR!", "npm error", "code:", "errno:", "syscall:", "path:", "{ ", "}", "...", "|", "^", "Diff:", "Difference", "left:", "right:",
	"First differing", "- ", "+ ", "? ", "Error:", "Reason:", "reason:", "Cause:", "cause:", "See ", "see ", "Fix:", "Hint:", "Note:", "In file included", "in file", "compilation terminated",
)

// detailLine reports whether a line looks like a detail of a failure, whatever
// its indent.
func detailLine(line []byte) bool {
	i := skipSpaces(line, 0)
	t := line[i:]
	if len(t) == 0 {
		return false
	}
	for _, w := range detailWords[t[0]] {
		if hasPrefix(t, w) {
			return true
		}
	}
	switch {
	case t[0] == '#' && len(t) > 3 && isDigit(t[1]): // frames of PHP and gdb, not the steps of docker
		j := 1
		for j < len(t) && isDigit(t[j]) {
			j++
		}
		c := byteAt(t, j+1)
		return byteAt(t, j) == ' ' && (c == '/' || c == '{' || c == ' ' || hasPrefix(t[j+1:], "0x") || hasPrefix(t[j+1:], "[internal") || bytes.Contains(t, []byte("): ")))
	case t[0] == '=' && hasPrefix(t, "= "):
		return true
	case hasPrefix(t, "❯ "), hasPrefix(t, "│"), hasPrefix(t, "╰"), hasPrefix(t, "├"), hasPrefix(t, "╵"):
		return true
	}
	return codeFrame(line) || underlines(line)
}
