package squoze

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

const (
	// foldMin is from how many lines on a shape repeats. Lines of a rarer
	// shape always stay: the rare line is the signal.
	foldMin = 5

	// edge is how many lines stay at the start and at the end of a block,
	// before and after how many lines around a failure.
	edge          = 3
	contextBefore = 2
	contextAfter  = 1

	// minGap is the smallest run of lines that is elided, minGain what it has
	// to save in bytes.
	minGap  = 3
	minGain = 48

	// maxShapes bounds the shapes that are told apart. Lines of further ones
	// stay.
	maxShapes = 1 << 14
)

// Shapes that need no text.
const (
	rareShape int32 = iota - 3 // not counted: the line stays
	blankShape
	passShape
)

// folder elides the lines of a report that repeat. It keeps its memory.
type folder struct {
	keep    output.Set
	ids     map[string]int32 // shape to index into shapes
	shapes  []shape
	loose   map[string]int32
	groups  []looseGroup
	of      []int32 // shape of each line, rareShape if it stays anyway
	passing shape
	scratch []byte
	second  []byte
	numbers []number
}

// shape is a kind of line.
type shape struct {
	text        string
	count       int
	first, last int
	group       int32 // loose shape, -1 if not asked for
	folds       bool
	fields      []field
}

// looseGroup is a set of shapes that differ in names only.
type looseGroup struct {
	common      int // lines of shapes that repeat
	rare        int // lines of the others
	shapes      int // how many others
	folds       bool
	first, last int // of the rare lines
}

// fold appends the lines to dst with those elided that neither matter nor say
// anything new: of each shape that repeats the first and the last line stay,
// and those whose numbers stand out. If nothing can be elided dst is returned
// as it is.
func (f *folder) fold(dst []byte, class output.Class, tool output.Tool, lines *output.Lines, m mark) ([]byte, bool) {
	output.Keep(&f.keep, class, tool, lines)
	n := content(lines)
	keepLists(&f.keep, lines)
	f.count(lines, n)
	f.decide()
	f.witnesses(lines, n)
	return f.elide(dst, lines, n, m)
}

// keptShare is how much of the bytes of the lines last folded had to stay for
// their own sake, in percent.
func (f *folder) keptShare(lines *output.Lines) int {
	n, bytes := content(lines), 0
	for i := f.keep.Next(0); i < n; i = f.keep.Next(i + 1) {
		bytes += len(lines.Line(i)) + 1
	}
	return bytes * 100 / max(len(lines.Text), 1)
}

// content is the number of lines without the empty one at the end.
func content(lines *output.Lines) int {
	if n := lines.Len(); n > 0 && len(lines.Line(n-1)) == 0 {
		return n - 1
	}
	return lines.Len()
}

// count finds the shapes of the lines that may go.
func (f *folder) count(lines *output.Lines, n int) {
	if f.ids == nil {
		f.ids, f.loose = make(map[string]int32), make(map[string]int32)
	}
	clear(f.ids)
	clear(f.loose)
	f.shapes, f.groups, f.of = f.shapes[:0], f.groups[:0], f.of[:0]
	f.passing = shape{first: -1, last: -1}
	for i := range n {
		id := rareShape
		if !f.keep.Has(i) {
			id = f.shapeOf(lines.Line(i), i)
		}
		f.of = append(f.of, id)
	}
}

// shapeOf counts line i among its shape.
func (f *folder) shapeOf(line []byte, i int) int32 {
	if len(line) == 0 || len(line) == 1 && line[0] == '\r' {
		return blankShape
	}
	if output.Passing(line) {
		if f.passing.count++; f.passing.first < 0 {
			f.passing.first = i
		}
		f.passing.last = i
		return passShape
	}
	f.scratch = appendShape(f.scratch[:0], line)
	id, ok := f.ids[string(f.scratch)]
	if !ok {
		if len(f.shapes) == maxShapes {
			return rareShape
		}
		id = int32(len(f.shapes))
		text := string(f.scratch)
		f.ids[text] = id
		f.addShape(text, i)
	}
	s := &f.shapes[id]
	s.count++
	s.last = i
	f.numbers = appendNumbers(f.numbers[:0], line)
	for _, x := range f.numbers {
		if x.at == len(s.fields) {
			s.fields = append(s.fields, field{})
		}
		if x.at < len(s.fields) {
			s.fields[x.at].add(x.value, i)
		}
	}
	return id
}

// addShape appends a shape first seen in line i, reusing the memory of one of
// an earlier text.
func (f *folder) addShape(text string, i int) {
	n := len(f.shapes)
	var fields []field
	if n < cap(f.shapes) {
		fields = f.shapes[:n+1][n].fields[:0]
	}
	f.shapes = append(f.shapes, shape{text: text, first: i, group: -1, fields: fields})
}

// decide says which shapes fold: those that repeat; and rare ones that are
// many of one loose shape, where most lines are rare: then the name in them is
// another in each line, and no signal. Where most lines share a few names, a
// rare name is one.
func (f *folder) decide() {
	f.passing.folds = f.passing.count >= foldMin
	for i := range f.shapes {
		s := &f.shapes[i]
		f.second = appendLoose(f.second[:0], append(f.scratch[:0], s.text...))
		g, ok := f.loose[string(f.second)]
		if !ok {
			g = int32(len(f.groups))
			f.loose[string(f.second)] = g
			f.groups = append(f.groups, looseGroup{first: -1, last: -1})
		}
		p := &f.groups[g]
		if s.folds = s.count >= foldMin; s.folds {
			p.common += s.count
			continue
		}
		s.group = g
		if p.first < 0 || s.first < p.first {
			p.first = s.first
		}
		p.last = max(p.last, s.last)
		p.rare += s.count
		p.shapes++
	}
	for i := range f.groups {
		p := &f.groups[i]
		p.folds = p.shapes >= 2*foldMin && p.rare > p.common
	}
	for i := range f.shapes {
		if s := &f.shapes[i]; s.group >= 0 && f.groups[s.group].folds {
			s.folds = true
		}
	}
}

// witnesses puts the lines into keep that stay for their shape's sake, or for
// the reader's.
func (f *folder) witnesses(lines *output.Lines, n int) {
	kept := -contextAfter - 1 // the last line that stays for its own sake
	for i := range n {
		if f.keep.Has(i) {
			for j := max(i-contextBefore, kept+1, 0); j < i; j++ {
				f.of[j] = rareShape
			}
			kept = i
		} else if i-kept <= contextAfter {
			f.of[i] = rareShape
		}
	}
	for i := range n {
		switch id := f.of[i]; {
		case i < edge || i >= n-edge:
			f.of[i] = rareShape
		case id >= 0 && !f.shapes[id].folds, id == passShape && !f.passing.folds:
			f.of[i] = rareShape
		}
	}
	f.stay(f.passing.first, f.passing.last)
	for i := range f.groups {
		f.stay(f.groups[i].first, f.groups[i].last)
	}
	for i := range f.shapes {
		s := &f.shapes[i]
		if s.group >= 0 {
			continue
		}
		f.stay(s.first, s.last)
		measures := 0
		for j := range s.fields {
			if x := &s.fields[j]; x.measure() && measures < 2 {
				f.stay(x.minAt, x.maxAt)
				measures++
			}
		}
	}
	for i := range n {
		id := f.of[i]
		if id < 0 || f.shapes[id].group >= 0 {
			continue
		}
		fields := f.shapes[id].fields
		f.numbers = appendNumbers(f.numbers[:0], lines.Line(i))
		for _, x := range f.numbers {
			if x.at < len(fields) && fields[x.at].rare(x.value) {
				f.of[i] = rareShape
				break
			}
		}
	}
}

// stay makes lines stay.
func (f *folder) stay(at ...int) {
	for _, i := range at {
		if i >= 0 {
			f.of[i] = rareShape
		}
	}
}

// elide appends the lines, with markers for the runs of lines that fold.
func (f *folder) elide(dst []byte, lines *output.Lines, n int, m mark) ([]byte, bool) {
	from, done := len(dst), 0
	for i := 0; i < n; {
		if f.of[i] == rareShape {
			i++
			continue
		}
		end := i + 1
		for end < n && f.of[end] != rareShape {
			end++
		}
		text := lines.Range(i, end)
		detail := f.describe(lines, i, end)
		if end-i >= minGap && len(text) >= m.maxLen(detail)+minGain {
			dst = append(dst, lines.Range(done, i)...)
			dst = m.append(dst, end-i, detail)
			dst = append(dst, lineEnd(text)...)
			done = end
		}
		i = end
	}
	if done == 0 {
		return dst[:from], false
	}
	return append(dst, lines.Range(done, lines.Len())...), true
}

// describe says what the lines [from, to) are.
func (f *folder) describe(lines *output.Lines, from, to int) string {
	only := blankShape
	for _, id := range f.of[from:to] {
		switch {
		case id == blankShape || id == only:
		case only == blankShape:
			only = id
		default:
			return "repetitive"
		}
	}
	switch {
	case only == passShape:
		return "passing or skipped"
	case only < 0:
		return "blank"
	case f.like(lines, from-1, only):
		return "like the line above"
	case f.like(lines, to, only):
		return "like the line below"
	}
	return "repetitive"
}

// like reports whether line i, which stays, has the shape id.
func (f *folder) like(lines *output.Lines, i int, id int32) bool {
	if i < 0 || i >= len(f.of) {
		return false
	}
	f.scratch = appendShape(f.scratch[:0], lines.Line(i))
	got, ok := f.ids[string(f.scratch)]
	return ok && got == id
}
