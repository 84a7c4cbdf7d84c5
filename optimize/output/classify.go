package output

import (
	"bytes"
	"sync"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// Classify says what text is and which tool wrote it: by the call first, by
// the content second, Unknown when in doubt. A call that prints files gives
// Source, Config or Prose whatever the text looks like.
func Classify(hint Hint, text []byte) (Class, Tool) {
	var l Lines
	l.Split(text)
	return ClassifyLines(hint, &l)
}

// ClassifyLines is Classify for a text that is split already.
func ClassifyLines(hint Hint, lines *Lines) (Class, Tool) {
	scratch := plainScratches.Get().(*plainScratch)
	defer scratch.free()
	lines = plainLines(lines, scratch)
	json := jsonClass(lines)
	if hint.File {
		if json != Unknown {
			return Config, hint.Tool
		}
		return fileClass(lines), hint.Tool
	}
	if json != Unknown {
		return json, hint.Tool
	}
	if hint.Tool == Fetch {
		return Unknown, hint.Tool // a page, a document, whatever
	}
	if numberedListing(lines) {
		return Source, hint.Tool
	}
	switch hint.Class {
	case Diff, DiffStat, GitLog, GitStatus:
		return gitClass(hint.Class, lines), hint.Tool
	case Grep:
		if hasContextLines(lines) {
			return Unknown, hint.Tool // stretches of files
		}
		return Grep, hint.Tool
	case JSON, NDJSON:
		return Unknown, hint.Tool // it is not what it was said to be
	}
	f := looksOf(lines)
	if hint.Class == Listing {
		if 10*(f.code+f.prose) > 4*f.lines {
			return Unknown, hint.Tool
		}
		return Listing, hint.Tool
	}
	return f.judge(hint, lines)
}

// judge decides by looks what the hint leaves open.
func (f *looks) judge(hint Hint, lines *Lines) (Class, Tool) {
	if f.lines == 0 {
		return Unknown, hint.Tool
	}
	machine := f.records + f.tests + f.steps + f.places + f.nested
	file := f.code + f.prose
	if hint.certain() {
		// The program is known; only a text that plainly is something else
		// speaks against it.
		if 10*file > 6*f.lines && 10*machine < f.lines {
			return Unknown, hint.Tool
		}
		return hint.Class, hint.Tool
	}
	if hint.Class == Unknown {
		return f.guess(lines)
	}
	if 7*file > f.lines || f.document > 0 {
		return Unknown, hint.Tool
	}
	machine += f.repeated
	if 10*machine < 6*f.lines {
		return Unknown, hint.Tool
	}
	switch {
	case 2*(f.records+f.nested) > machine && f.records > f.tests+f.steps+f.places:
		return Log, hint.Tool
	case f.tests > f.steps+f.places:
		return TestOutput, hint.Tool
	case f.places+f.steps > 0:
		return Build, hint.Tool
	}
	return hint.Class, hint.Tool
}

// guess decides without any word from the call. Rows of data start with dates,
// lists have check marks and change logs speak of what was added, so it takes
// more: a level in most records, or lines that only test runners write.
func (f *looks) guess(lines *Lines) (Class, Tool) {
	if c := gitClass(Unknown, lines); c != Unknown {
		return c, Git
	}
	file := f.code + f.prose
	switch {
	case 7*file > f.lines || f.document > 0:
	case 10*(f.records+f.nested) >= 7*f.lines && 2*f.leveled >= f.records:
		return Log, NoTool
	case 10*(f.tests+f.nested) >= 7*f.lines && 10*f.runner >= f.tests:
		return TestOutput, NoTool
	}
	return Unknown, NoTool
}

// numberedListing reports whether a text is a file shown with line numbers: in
// nearly all of its first lines a number stands in front that is one more than
// that of the line before.
func numberedListing(lines *Lines) bool {
	n, hits, prev := 0, 0, -1
	for i := 0; i < lines.Len() && n < 64; i++ {
		line := lines.Line(i)
		if len(trimRight(line)) == 0 {
			continue
		}
		n++
		j := skipSpaces(line, 0)
		number, from := 0, j
		for j < len(line) && isDigit(line[j]) && j-from < 9 {
			number = number*10 + int(line[j]-'0')
			j++
		}
		if j == from {
			continue
		}
		c := byteAt(line, j)
		if c == '\t' || c == '|' || c == ':' || c == ' ' || c == 0 || c == '\r' || hasPrefix(line[j:], "→") || hasPrefix(line[j:], "│") {
			if prev >= 0 && number == prev+1 {
				hits++
			}
			prev = number
		}
	}
	return n >= 4 && 5*hits >= 4*(n-1)-5 && hits >= 3
}

// hasContextLines reports whether search hits come with the lines around them:
// "file-12-text", or groups set apart by --.
func hasContextLines(lines *Lines) bool {
	n := 0
	sample(lines, func(line []byte) {
		if string(trimRight(line)) == "--" {
			n++
			return
		}
		for i := 1; i+2 < len(line) && i < 200; i++ {
			if line[i] == '-' && isDigit(line[i+1]) {
				j := i + 1
				for j < len(line) && isDigit(line[j]) {
					j++
				}
				if byteAt(line, j) == '-' {
					n++
					return
				}
				i = j - 1
			} else if line[i] == ':' {
				return
			}
		}
	})
	return n >= 3
}

// fileClass tells the content of files apart, for the report only.
func fileClass(lines *Lines) Class {
	f := looksOf(lines)
	if f.prose > f.code {
		return Prose
	}
	return Source
}

var docPool = sync.Pool{New: func() any { return new(jsonspan.Doc) }}

// jsonClass returns JSON for a text that is one JSON object or array, NDJSON
// for one whose lines are JSON objects, else Unknown.
func jsonClass(lines *Lines) Class {
	text := bytes.TrimSpace(lines.Text)
	if len(text) < 2 || text[0] != '{' && text[0] != '[' {
		return Unknown
	}
	d := docPool.Get().(*jsonspan.Doc)
	defer func() {
		d.Reset()
		d.Trim(maxPooled)
		docPool.Put(d)
	}()
	if last := text[len(text)-1]; last == '}' || last == ']' {
		if d.Parse(text) == nil {
			return JSON
		}
	}
	if text[0] != '{' {
		return Unknown
	}
	n, objects, parsed := 0, 0, 0
	sample(lines, func(line []byte) {
		line = trimRight(line)
		if len(line) == 0 {
			return
		}
		n++
		if line[0] == '{' && line[len(line)-1] == '}' {
			objects++
			if parsed < 8 {
				if d.Parse(line) != nil {
					objects--
				}
				parsed++
			}
		}
	})
	if n > 1 && 10*objects >= 9*n {
		return NDJSON
	}
	return Unknown
}
