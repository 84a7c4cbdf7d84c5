package output

import "bytes"

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

// maxBefore is how many lines in front of a failed test are taken to be its
// output, where nothing says whose they are.
const maxBefore = 12

// beforeFail keeps what stands right in front of the failed test or package at
// k.last: without -v its output is not marked as such.
func (k *keeper) beforeFail() {
	for i := k.last - 1; i >= 0 && i >= k.last-maxBefore; i-- {
		line := k.lines.Line(i)
		if Passing(line) || hasPrefix(line, "FAIL") || hasPrefix(line, "--- ") || len(trimRight(line)) == 0 {
			return
		}
		k.keep.Add(i)
	}
}

// goTests keeps all that failed tests wrote under go test -v, where the lines
// === RUN, === CONT and === NAME say to which test the lines below them belong.
func (k *keeper) goTests() {
	failed := make(map[string]bool)
	n := k.lines.Len()
	for i := range n {
		line := k.lines.Line(i)
		if j := skipSpaces(line, 0); hasPrefix(line[j:], "--- FAIL: ") {
			failed[string(firstField(line[j+len("--- FAIL: "):]))] = true
		}
	}
	keeping := false
	for i := range n {
		line := k.lines.Line(i)
		switch {
		case hasPrefix(line, "=== "):
			rest := line[4:]
			if word := firstField(rest); string(word) != "PAUSE" {
				keeping = failed[string(firstField(rest[len(word):]))]
			}
		case hasPrefix(line, "--- ") || hasPrefix(line, "ok  \t") || hasPrefix(line, "FAIL") || hasPrefix(line, "PASS") || hasPrefix(line, "?   \t"):
			keeping = false
		case hasPrefix(line, " ") && Passing(line):
			// The verdict on a subtest is printed with its parent's.
			keeping = false
		}
		if keeping {
			k.keep.Add(i)
		}
	}
}

// firstField is the first word of text.
func firstField(text []byte) []byte {
	text = bytes.TrimLeft(text, " \t")
	if end := bytes.IndexAny(text, " \t\r"); end >= 0 {
		text = text[:end]
	}
	return text
}
