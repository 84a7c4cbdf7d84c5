package output

import "bytes"

// Classify says what text is and which tool wrote it: by the call first, by
// the content second, Unknown when in doubt.
func Classify(hint Hint, text []byte) (Class, Tool) { return Unknown, hint.Tool }

// Severity says how much a line matters.
type Severity uint8

// Severities.
const (
	None    Severity = iota
	Summary          // counts, exit codes, totals of a run
	Detail           // belongs to a failure: want and got, assertion details
	Warning
	Failure
)

// Important says how much a single line matters by itself; lines above None are
// never elided.
func Important(line []byte) Severity {
	if bytes.Contains(bytes.ToLower(line), []byte("error")) {
		return Failure
	}
	return None
}

// Keep puts into keep, which it resets, the lines of an output of the given
// class that may not be elided: what Important says, and the detail lines of
// each failure as the tool writes them.
func Keep(keep *Set, class Class, tool Tool, lines *Lines) {
	keep.Reset(lines.Len())
	for i := range lines.Len() {
		if Important(lines.Line(i)) != None {
			keep.Add(i)
		}
	}
}
