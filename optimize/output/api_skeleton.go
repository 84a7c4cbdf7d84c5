package output

import "bytes"

// Tool is the program that produced an output.
type Tool uint8

// NoTool stands for a program that is not known.
const NoTool Tool = 0

// Hint is what a call says about its output before the output is looked at.
// It is comparable.
type Hint struct {
	Class Class // what the output is expected to be, Unknown if the call does not say
	Tool  Tool
	// File says that the call prints the content of a file (among others), so
	// that nothing of the output may be elided.
	File bool
}

// HintFor reads a call: the tool's name ("Bash", "Read", "shell"), the command
// line it ran ("" if none) and the path it names ("" if none).
func HintFor(tool, command, path string) Hint { return Hint{} }

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
