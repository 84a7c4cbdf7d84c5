package rtk

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// keepCommits keeps the header of each commit of git log and the first line of
// its message. The rest of the message and the files go.
func keepCommits(keep *output.Set, lines *output.Lines) {
	header := false // between the commit line and the message
	for i := range lines.Len() {
		line := lines.Line(i)
		switch {
		case bytes.HasPrefix(bytes.TrimLeft(line, "*|\\/ "), []byte("commit ")):
			header = true
			keep.Add(i)
		case header:
			keep.Add(i)
			if text := bytes.TrimLeft(line, "*|\\/"); bytes.HasPrefix(text, []byte("    ")) && len(bytes.TrimSpace(text)) > 0 {
				header = false
			}
		}
	}
}

// keepStatus keeps the headers of git status, and of each run of entries the
// first and last n.
func keepStatus(keep *output.Set, lines *output.Lines, n int) {
	start := 0
	for i := range lines.Len() {
		line := lines.Line(i)
		if len(line) > 0 && (line[0] == '\t' || len(line) > 3 && line[2] == ' ' && line[0] != '#') {
			continue // an entry
		}
		keep.AddRange(start, min(start+n, i))
		keep.AddRange(max(start, i-n), i+1)
		start = i + 1
	}
}

// keepDiff keeps a diff but for the bodies of files that were deleted as a
// whole and of lock files: of those the headers, and the first and last n lines
// of each hunk.
func keepDiff(keep *output.Set, lines *output.Lines, n int) {
	total := lines.Len()
	keep.Reset(total)
	dull := false // the file's changes need not be read
	body := -1    // where the hunk's body starts, -1 in headers
	left, right := 0, 0
	flush := func(end int) {
		if body < 0 {
			return
		}
		if dull {
			keep.AddRange(body, min(body+n, end))
			keep.AddRange(max(body, end-n), end)
		} else {
			keep.AddRange(body, end)
		}
		body = -1
	}
	for i := range total {
		line := lines.Line(i)
		// Inside a hunk the counts of its header say what is a change, so that
		// a removed line "-- x" is not taken for a header.
		if body >= 0 && (left > 0 || right > 0) && len(line) > 0 {
			switch line[0] {
			case ' ':
				left--
				right--
				continue
			case '-':
				left--
				continue
			case '+':
				right--
				continue
			case '\\':
				continue
			}
		}
		switch {
		case bytes.HasPrefix(line, []byte("diff --git ")):
			flush(i)
			at := bytes.LastIndex(line, []byte(" b/"))
			dull = at > 0 && output.LockFile(bytes.TrimRight(line[at+3:], "\"\r"))
			keep.Add(i)
		case body < 0 && bytes.HasPrefix(line, []byte("+++ /dev/null")):
			dull = true
			keep.Add(i)
		case bytes.HasPrefix(line, []byte("@@ ")):
			flush(i)
			keep.Add(i)
			left, right = hunkCounts(line)
			body = i + 1
		default:
			if body >= 0 && left <= 0 && right <= 0 && !bytes.HasPrefix(line, []byte("\\")) {
				flush(i) // behind the hunk
			}
			if body < 0 {
				keep.Add(i)
			}
		}
	}
	flush(total)
}

// hunkCounts reads how many lines of the old and of the new file a hunk has:
// @@ -1,6000 +0,0 @@.
func hunkCounts(line []byte) (left, right int) {
	fields := bytes.Fields(line)
	if len(fields) < 3 {
		return 0, 0
	}
	count := func(field []byte, sign byte) int {
		if len(field) < 2 || field[0] != sign {
			return 0
		}
		_, digits, found := bytes.Cut(field[1:], []byte(","))
		if !found {
			return 1
		}
		n := 0
		for _, c := range digits {
			if c < '0' || c > '9' || n > 1<<28 {
				return 0
			}
			n = 10*n + int(c-'0')
		}
		return n
	}
	return count(fields[1], '-'), count(fields[2], '+')
}
