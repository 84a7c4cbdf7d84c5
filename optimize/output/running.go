package output

import "bytes"

// Where a tool says which test runs, and then runs it, a test that has no
// verdict when the next one begins, or at the end, did not end: gtest, XCTest
// without parallel tests, Surefire.

// startsTest reports whether a line says that a test, or a class of tests, is
// about to run.
func startsTest(line []byte) bool {
	switch line[0] {
	case '[':
		return hasPrefix(line, "[ RUN  ") || hasPrefix(line, "[INFO] Running ")
	case 'T':
		return hasPrefix(line, "Test Case '") && hasSuffix(trimRight(line), "' started.")
	}
	return false
}

// endsTest reports whether a line says that the test that ran passed or was
// skipped.
func endsTest(line []byte) bool {
	switch line[0] {
	case '[':
		return hasPrefix(line, "[       OK ]") || hasPrefix(line, "[  SKIPPED ]") || hasPrefix(line, "[INFO] Tests run:") || hasPrefix(line, "[WARNING] Tests run:")
	case 'T':
		return hasPrefix(line, "Test Case '")
	}
	return false
}

// began notes that line i starts a test. One that runs still is kept: nothing
// says that it ended.
func (k *keeper) began(i int) {
	if k.running >= 0 {
		k.hung()
	}
	k.running = i
}

// hung keeps the test that runs, up to the next line that starts one or sums up.
func (k *keeper) hung() {
	to := k.running + 1
	for ; to < k.lines.Len(); to++ {
		line := k.lines.Line(to)
		if len(line) > 0 && (startsTest(line) || endsTest(line) || hasPrefix(line, "[-----") || hasPrefix(line, "[=====") || hasPrefix(line, "Test Suite '")) {
			break
		}
	}
	k.piece(k.running, to)
	k.running = -1
}

// ended notes that line says of a test that it ended. When it is not the one
// that was last said to run, they run side by side, or that one never ended.
func (k *keeper) ended(line []byte) {
	if k.running >= 0 {
		if name := testName(line); name != nil && !bytes.Equal(name, testName(k.lines.Line(k.running))) {
			k.piece(k.running, k.running+1)
		}
	}
	k.running = -1
}

// testName is the name of the test in a line that says that it starts or ends,
// nil if it stands at no certain place.
func testName(line []byte) []byte {
	switch {
	case line[0] == 'T':
		name := line[len("Test Case '"):]
		if end := bytes.IndexByte(name, '\''); end >= 0 {
			return name[:end]
		}
	case !hasPrefix(line, "[INFO]") && !hasPrefix(line, "[WARNING]"):
		if at := bytes.Index(line, []byte("] ")); at >= 0 {
			return firstField(line[at+len("] "):])
		}
	}
	return nil
}
