package rtk

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// name is the optimizer's name in headers and markers.
const name = "rtk"

// A gap has to be worth its marker: some lines, more bytes than the marker
// takes, and more words than the marker has tokens, since a word takes at
// least one.
const (
	minGapLines = 3
	minGapBytes = 200
	minGapWords = 40
)

// what goes, by class.
var nouns = map[output.Class]string{
	output.Listing: "entries", output.Grep: "hits", output.GitLog: "commit details", output.GitStatus: "entries", output.DiffStat: "files",
	output.Diff: "changes of a deleted or machine-written file",
}

// elide appends the lines of text that are kept, with a marker for each gap,
// and returns how many lines went.
func (s *scratch) elide(dst, text []byte, class output.Class) (out []byte, elided int) {
	fold := class.Failing() || class == output.NDJSON
	n := s.lines.Len()
	ref := ""
	from := 0 // the first line that is not written yet
	for i := 0; i < n; {
		// A gap: lines that are not kept, and repetitions of the line above.
		gap := i
		repeats := 0
		if s.keep.Has(i) && fold && s.repeats(i) {
			// A few repetitions of a line that stays, stay.
			run := i + 1
			for run < n && s.repeats(run) {
				run++
			}
			if run-i < minGapLines {
				i = run
				continue
			}
		}
		for gap < n {
			if s.keep.Has(gap) {
				if !fold || !s.repeats(gap) {
					break
				}
				repeats++
			} else if fold && s.repeats(gap) {
				repeats++
			}
			gap++
		}
		if gap == i {
			i++
			continue
		}
		if s.worthy(i, gap) {
			dst = append(dst, s.lines.Range(from, i)...)
			detail := nouns[class]
			switch {
			case !fold:
			case repeats == gap-i:
				detail = "repeats of the line above"
			case repeats > 0:
				detail = "routine or repeated"
			default:
				detail = "routine"
			}
			if ref == "" {
				ref = marker.Ref(text)
			}
			dst = marker.Append(dst, name, gap-i, "lines", detail, ref)
			if gap < n {
				dst = append(dst, '\n')
			}
			from = gap
			elided += gap - i
		}
		i = gap
	}
	if elided == 0 {
		return dst, 0
	}
	return append(dst, s.lines.Range(from, n)...), elided
}

// repeats reports whether line i is the same as the line before it. Lines that
// look like markers, and what tests that failed wrote, are left alone.
func (s *scratch) repeats(i int) bool {
	if i == 0 || s.whole.Has(i) {
		return false
	}
	line := s.lines.Line(i)
	return len(line) > 0 && bytes.Equal(line, s.lines.Line(i-1)) && !marker.Is(line)
}

// worthy reports whether the lines [from, to) are worth a marker.
func (s *scratch) worthy(from, to int) bool {
	if to-from < minGapLines {
		return false
	}
	gap := s.lines.Range(from, to)
	return len(gap) >= minGapBytes && hasWords(gap, minGapWords)
}

// hasWords reports whether text has at least n words or numbers.
func hasWords(text []byte, n int) bool {
	inside := false
	for _, c := range text {
		word := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c >= 0x80
		if word && !inside {
			if n--; n == 0 {
				return true
			}
		}
		inside = word
	}
	return false
}
