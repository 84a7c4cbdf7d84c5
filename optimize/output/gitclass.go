package output

import "bytes"

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
