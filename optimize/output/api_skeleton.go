package output

// Classify says what text is and which tool wrote it: by the call first, by
// the content second, Unknown when in doubt.
func Classify(hint Hint, text []byte) (Class, Tool) { return Unknown, hint.Tool }

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
