package output

import (
	"bytes"

	"github.com/cespare/xxhash/v2"
)

// noteGo notes what an important line says about a go test run.
func (k *keeper) noteGo(line []byte) {
	switch i := skipSpaces(line, 0); {
	case hasPrefix(line[i:], "--- FAIL: "):
		k.sawFails = true
		fallthrough
	case hasPrefix(line, "FAIL\t"):
		if !k.sawRuns {
			k.beforeFail()
		}
	}
}

// beforeFail keeps what stands in front of the failed test or package at
// k.last, back to the verdict before: without -v its output is not marked as
// such, and passing packages have none.
func (k *keeper) beforeFail() {
	from := k.last
	for ; from > 0; from-- {
		line := k.lines.Line(from - 1)
		if goVerdict(line) || hasPrefix(line, "go: ") || hasPrefix(line, "=== RUN ") {
			break
		}
	}
	for from < k.last && len(trimRight(k.lines.Line(from))) == 0 {
		from++
	}
	k.piece(from, k.last)
}

// goTests keeps all that failed tests wrote under go test -v, where the lines
// === RUN, === CONT and === NAME say to which test the lines below them belong.
// A test that began and has no verdict hangs, or ended the process: it failed.
func (k *keeper) goTests() {
	const (
		began = 1 << iota
		ended
		failed
	)
	tests := make(map[uint64]uint8)
	n := k.lines.Len()
	hung := 0
	for i := range n {
		line := k.lines.Line(i)
		if hasPrefix(line, "=== RUN") {
			name := xxhash.Sum64(firstField(line[len("=== RUN"):]))
			if tests[name] == 0 {
				tests[name] = began
				hung++
			}
			continue
		}
		j := skipSpaces(line, 0)
		if !hasPrefix(line[j:], "--- ") || len(line) < j+10 {
			continue
		}
		verdict := uint8(ended)
		switch string(line[j+4 : j+10]) {
		case "FAIL: ":
			verdict |= failed
		case "PASS: ", "SKIP: ":
		default:
			continue
		}
		name := xxhash.Sum64(firstField(line[j+10:]))
		if tests[name]&^failed == began {
			hung--
		}
		tests[name] |= verdict
	}
	if hung == 0 && !k.sawFails {
		return
	}
	keeping := false
	for i := range n {
		line := k.lines.Line(i)
		switch {
		case goStep(line):
			rest := line[4:]
			if word := firstField(rest); string(word) != "PAUSE" {
				test := tests[xxhash.Sum64(firstField(rest[len(word):]))]
				keeping = test&failed != 0 || test == began
			}
		case goVerdict(line):
			// The verdict on a subtest is printed with its parent's.
			keeping = false
		}
		if keeping {
			k.piece(i, i+1)
		}
	}
}

// goStep reports whether a line of go test -v says which test the next lines
// belong to.
func goStep(line []byte) bool {
	if len(line) < 9 || !hasPrefix(line, "=== ") {
		return false
	}
	switch string(line[4:8]) {
	case "RUN ", "CONT", "NAME", "PAUS":
		return true
	}
	return false
}

// goVerdict reports whether a line of go test is the verdict on a test or a
// package.
func goVerdict(line []byte) bool {
	t := line[skipSpaces(line, 0):]
	if hasPrefix(t, "--- PASS: ") || hasPrefix(t, "--- FAIL: ") || hasPrefix(t, "--- SKIP: ") || hasPrefix(t, "--- BENCH: ") {
		return true
	}
	if len(line) == 0 {
		return false
	}
	switch line[0] {
	case 'o':
		return hasPrefix(line, "ok  \t")
	case '?':
		return hasPrefix(line, "?   \t")
	case 'F':
		return hasPrefix(line, "FAIL\t") || string(trimRight(line)) == "FAIL"
	case 'P':
		return string(trimRight(line)) == "PASS"
	}
	return false
}

// firstField is the first word of text.
func firstField(text []byte) []byte {
	text = bytes.TrimLeft(text, " \t")
	if end := bytes.IndexAny(text, " \t\r"); end >= 0 {
		text = text[:end]
	}
	return text
}
