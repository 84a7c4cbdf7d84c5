package squoze

import (
	"bytes"
	"strconv"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// When nearly all of a report is failures, none can go. But records of the
// same build, of one or several lines, can be told by what differs between
// them. The first record of such a run stays as it is, then follow
//
//	marker   how many lines were elided, with the detail listDetail
//	pattern  "pattern: ", then the lines of the record joined by lineJoint, with
//	         «1», «2», ... in the places of the words that differ
//	rows     one for each further record: these words, separated by blanks
//
// A word is a run of bytes that are not in delimiters. Every elided line can
// be rebuilt: it is its line of the pattern with the words of its row in place.
// Records without any difference need no pattern and no rows, their marker has
// sameDetail.
const (
	sameDetail    = "the same again"
	listDetail    = "more of the kind above, told below by the words that differ"
	patternIntro  = "pattern: "
	lineJoint     = " ⏎ "
	placeholderIn = "«"
)

const (
	// nearlyAll is how much of a report must be failures, in percent of its
	// bytes, before they are listed.
	nearlyAll = 75
	// minRecords is the shortest run of records that becomes a list: fewer are
	// easier to read as they are. listSaving is what a list must save, in
	// percent.
	minRecords = 20
	listSaving = 30
	// maxRecordLines is the longest record.
	maxRecordLines = 24
	// maxWords is how many words of a record may differ, not counting those
	// that are always the same as another; maxDiffering counts those as well.
	maxWords     = 24
	maxDiffering = 64
)

// delimiter marks the bytes that are not part of a word.
var delimiter = func() (t [256]bool) {
	for _, c := range " \t\r\n:;,()[]{}<>\"'`=|&*!?^" {
		t[c] = true
	}
	return t
}()

// lister turns runs of records into lists. It keeps its memory.
type lister struct {
	ids     map[string]int32
	of      []int32 // skeleton of each line
	scratch []byte
	first   []word // of the first record
	words   []word // of another
}

// word is a word of a record: line is counted from its first line.
type word struct {
	line, from, to int
	column         int // number of the placeholder, 0 if it is the same everywhere
}

// list appends the lines with runs of records of the same build listed. If
// there is none dst is returned as it is.
func (l *lister) list(dst []byte, lines *output.Lines, m mark) ([]byte, bool) {
	n := content(lines)
	l.skeletons(lines, n)
	from, done := len(dst), 0
	for i := 0; i < n; {
		period, records := l.run(i, n)
		if records < minRecords {
			i++
			continue
		}
		end := i + period*records
		before := len(dst)
		dst = append(dst, lines.Range(done, i+period)...)
		start := len(dst)
		var ok bool
		if dst, ok = l.appendList(dst, lines, i, period, records, m); ok &&
			(len(dst)-start)*100 <= len(lines.Range(i+period, end))*(100-listSaving) {
			done = end
		} else {
			dst = dst[:before]
		}
		i = end
	}
	if done == 0 {
		return dst[:from], false
	}
	return append(dst, lines.Range(done, lines.Len())...), true
}

// skeletons finds the skeleton of each line: its delimiters, with one w for
// each word. A line that must not become part of a list has none, -1.
func (l *lister) skeletons(lines *output.Lines, n int) {
	if l.ids == nil {
		l.ids = make(map[string]int32)
	}
	clear(l.ids)
	l.of = l.of[:0]
	for i := range n {
		line := lines.Line(i)
		if marker.Is(line) || bytes.Contains(line, []byte(placeholderIn)) || bytes.Contains(line, []byte(lineJoint)) || bytes.IndexByte(line, '\r') >= 0 {
			l.of = append(l.of, -1)
			continue
		}
		l.scratch = l.scratch[:0]
		for j := 0; j < len(line); {
			if delimiter[line[j]] {
				l.scratch = append(l.scratch, line[j])
				j++
				continue
			}
			for j < len(line) && !delimiter[line[j]] {
				j++
			}
			l.scratch = append(l.scratch, 'w')
		}
		id, ok := l.ids[string(l.scratch)]
		if !ok {
			id = int32(len(l.ids))
			l.ids[string(l.scratch)] = id
		}
		l.of = append(l.of, id)
	}
	// The rows of a list are not to be listed again.
	eachList(lines, func(from, to int) {
		for i := from; i < min(to, n); i++ {
			l.of[i] = -1
		}
	})
}

// run is the longest run of records that starts at line i: how many lines a
// record has, and how many records there are.
func (l *lister) run(i, n int) (period, records int) {
	if l.of[i] < 0 {
		return 0, 0
	}
	for p := 1; p <= maxRecordLines && i+p < n; p++ {
		end := i + p
		for end < n && l.of[end] >= 0 && l.of[end] == l.of[end-p] {
			end++
		}
		if r := (end - i) / p; r >= minRecords && r*p > records*period {
			period, records = p, r
		}
	}
	return period, records
}

// appendList appends the marker, the pattern and the rows that stand for the
// records after the first one. ok is false if they have no list.
func (l *lister) appendList(dst []byte, lines *output.Lines, i, period, records int, m mark) (_ []byte, ok bool) {
	l.first = appendWords(l.first[:0], lines, i, period)
	for r := 1; r < records; r++ {
		l.words = appendWords(l.words[:0], lines, i+r*period, period)
		for k := range l.first {
			if a, b := &l.first[k], &l.words[k]; a.column == 0 && !bytes.Equal(lines.Text[a.from:a.to], lines.Text[b.from:b.to]) {
				a.column = -1
			}
		}
	}
	end := lineEnd(lines.Range(i, i+period*records))
	columns := l.number(lines, i, period, records)
	switch {
	case columns > maxWords:
		return dst, false
	case columns == 0:
		dst = m.append(dst, period*(records-1), sameDetail)
		return append(dst, end...), true
	}
	dst = m.append(dst, period*(records-1), listDetail)
	dst = append(append(dst, '\n'), patternIntro...)
	dst = l.pattern(dst, lines, i, period)
	for r := 1; r < records; r++ {
		l.words = appendWords(l.words[:0], lines, i+r*period, period)
		next, sep := 1, byte('\n')
		for k := range l.first {
			if l.first[k].column == next {
				w := l.words[k]
				dst = append(append(dst, sep), lines.Text[w.from:w.to]...)
				next++
				sep = ' '
			}
		}
	}
	return append(dst, end...), true
}

// number gives a number to each word of the first record that differs in some
// record. Words that are the same within every record have the same number.
func (l *lister) number(lines *output.Lines, i, period, records int) (columns int) {
	differing := 0
	for k := range l.first {
		if l.first[k].column == 0 {
			continue
		}
		if differing++; differing > maxDiffering {
			return maxWords + 1
		}
		twin := -1
		for j := range k {
			if l.first[j].column > 0 && l.twins(lines, i, period, records, j, k) {
				twin = j
				break
			}
		}
		if twin >= 0 {
			l.first[k].column = l.first[twin].column
			continue
		}
		if columns++; columns > maxWords {
			return columns
		}
		l.first[k].column = columns
	}
	return columns
}

// twins reports whether the words j and k are the same within every record.
func (l *lister) twins(lines *output.Lines, i, period, records, j, k int) bool {
	a, b := l.first[j], l.first[k]
	if !bytes.Equal(lines.Text[a.from:a.to], lines.Text[b.from:b.to]) {
		return false
	}
	for r := 1; r < records; r++ {
		l.words = appendWords(l.words[:0], lines, i+r*period, period)
		a, b := l.words[j], l.words[k]
		if !bytes.Equal(lines.Text[a.from:a.to], lines.Text[b.from:b.to]) {
			return false
		}
	}
	return true
}

// pattern appends the first record with placeholders.
func (l *lister) pattern(dst []byte, lines *output.Lines, i, period int) []byte {
	k := 0
	for n := range period {
		if n > 0 {
			dst = append(dst, lineJoint...)
		}
		at := lines.Start(i + n)
		for ; k < len(l.first) && l.first[k].line == n; k++ {
			w := l.first[k]
			if w.column == 0 {
				continue
			}
			dst = appendPlaceholder(append(dst, lines.Text[at:w.from]...), w.column)
			at = w.to
		}
		dst = append(dst, lines.Text[at:lines.End(i+n)]...)
	}
	return dst
}

func appendPlaceholder(dst []byte, column int) []byte {
	dst = strconv.AppendInt(append(dst, placeholderIn...), int64(column), 10)
	return append(dst, "»"...)
}

// appendWords appends the words of the lines [i, i+period).
func appendWords(dst []word, lines *output.Lines, i, period int) []word {
	for n := range period {
		at, end := lines.Start(i+n), lines.End(i+n)
		for at < end {
			if delimiter[lines.Text[at]] {
				at++
				continue
			}
			from := at
			for at < end && !delimiter[lines.Text[at]] {
				at++
			}
			dst = append(dst, word{line: n, from: from, to: at})
		}
	}
	return dst
}

// keepLists puts the patterns and rows of lists into keep.
func keepLists(keep *output.Set, lines *output.Lines) {
	eachList(lines, keep.AddRange)
}

// eachList calls f for each list, as the lister writes it, in a text: its
// pattern and rows are the lines [from, to).
func eachList(lines *output.Lines, f func(from, to int)) {
	if !bytes.Contains(lines.Text, []byte(listDetail)) {
		return
	}
	for i := 1; i < lines.Len(); i++ {
		line, ok := bytes.CutPrefix(lines.Line(i), []byte(patternIntro))
		above := lines.Line(i - 1)
		if !ok || !marker.Is(above) || !bytes.Contains(above, []byte(listDetail)) {
			continue
		}
		columns := 0
		for bytes.Contains(line, appendPlaceholder(nil, columns+1)) {
			columns++
		}
		from := i
		for i++; i < lines.Len() && columns > 0 && isRow(lines.Line(i), columns); i++ {
		}
		f(from, i)
		i--
	}
}

// isRow reports whether a line is n words with one blank between them.
func isRow(line []byte, n int) bool {
	words, inWord := 0, false
	for _, c := range line {
		switch {
		case !delimiter[c]:
			if !inWord {
				words++
			}
			inWord = true
		case c == ' ' && inWord:
			inWord = false
		default:
			return false
		}
	}
	return inWord && words == n
}
