package squoze

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

const (
	// foldMin is from how many lines on a kind repeats. Lines of a rarer kind
	// always stay: the rare line is the signal.
	foldMin = 5

	// contextBefore and contextAfter are how many lines stay around a failure.
	// Lines that say that something passed are no context.
	contextBefore = 2
	contextAfter  = 1

	// highFrom and lowFrom are from how many lines on a kind shows the largest
	// and the smallest value of what it measures: of few lines they are all
	// much alike, and two more lines half of what there is to save.
	highFrom = 32
	lowFrom  = 64

	// minGap is the smallest run of lines that is elided, minGain what it has
	// to save in bytes.
	minGap  = 3
	minGain = 48

	// maxShapes bounds the shapes that are told apart. Lines of further ones
	// stay.
	maxShapes = 1 << 14
)

// Kinds that are no entries of folder.kinds.
const (
	noKind    int32 = iota - 3 // the line stays
	blankKind                  // an empty line
	passKind                   // says that something passed
)

// folder elides the lines of a report that repeat. It keeps its memory.
type folder struct {
	keep  output.Set // what stays for its own sake
	stays output.Set // what stays for the reader's

	ids       map[string]int32 // shape to index into shapes
	shapes    []shape
	templates templates

	of      []int32 // kind of each line
	kinds   []kind
	passing kind

	scratch []byte
	numbers []number
}

// shape is a set of lines that differ in numbers and ids only.
type shape struct {
	text     string
	count    int
	template int32 // -1 if it has none
	kind     int32
}

// kind is a set of lines that fold together: those of a shape, or of several
// shapes of one template.
type kind struct {
	first, last int
	fields      [maxNumbers]field
	used        int // of fields
}

// fold appends the lines to dst with those elided that neither matter nor say
// anything new: of each kind that repeats the first and the last line stay,
// and those whose numbers stand out. If nothing can be elided dst is returned
// as it is.
func (f *folder) fold(dst []byte, class output.Class, tool output.Tool, lines *output.Lines, m mark) ([]byte, bool) {
	output.Keep(&f.keep, class, tool, lines)
	n := content(lines)
	keepLists(&f.keep, lines)
	f.count(lines, n)
	f.decide(class)
	if class == output.TestOutput {
		f.logs(lines, n)
	}
	f.sort(lines, n)
	f.neighbours(lines, n)
	f.witnesses(lines, n)
	clear(f.shapes) // do not hold on to what a text says
	clear(f.ids)
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

// count finds the shapes of the lines that may go. f.of is then the shape of
// each line.
func (f *folder) count(lines *output.Lines, n int) {
	if f.ids == nil {
		f.ids = make(map[string]int32)
	}
	clear(f.ids)
	f.shapes, f.of = f.shapes[:0], f.of[:0]
	for i := range n {
		id := noKind
		if !f.keep.Has(i) {
			id = f.shapeOf(lines.Line(i))
		}
		f.of = append(f.of, id)
	}
}

// shapeOf counts a line among its shape.
func (f *folder) shapeOf(line []byte) int32 {
	if len(line) == 0 || len(line) == 1 && line[0] == '\r' {
		return blankKind
	}
	if output.Passing(line) {
		return passKind
	}
	f.scratch = appendShape(f.scratch[:0], line)
	id, ok := f.ids[string(f.scratch)]
	if !ok {
		if len(f.shapes) == maxShapes {
			return noKind
		}
		id = int32(len(f.shapes))
		text := string(f.scratch)
		f.ids[text] = id
		f.shapes = append(f.shapes, shape{text: text, template: -1, kind: noKind})
	}
	f.shapes[id].count++
	return id
}

// decide makes kinds of the shapes that repeat. Where many shapes are of one
// template, that is, differ in a name only, they are one kind; those of them
// that are rare only if most are, or so many that a rare one is nothing
// special: then the name is another in each line, and no signal. Where most
// lines share some names, a rare name is one.
func (f *folder) decide(class output.Class) {
	f.kinds = f.kinds[:0]
	f.templates.find(f.shapes, class)
	for i := range f.shapes {
		s := &f.shapes[i]
		t := f.templates.many(s.template)
		if s.count < foldMin && (t == nil || t.rare <= t.common && t.rareShapes < manyRare) {
			continue
		}
		if t == nil {
			s.kind = f.addKind()
			continue
		}
		if t.kind < 0 {
			t.kind = f.addKind()
		}
		s.kind = t.kind
	}
}

func (f *folder) addKind() int32 {
	n := len(f.kinds)
	if n == cap(f.kinds) {
		f.kinds = append(f.kinds, kind{})
	}
	f.kinds = f.kinds[:n+1]
	k := &f.kinds[n]
	k.first, k.last, k.used = -1, -1, 0
	return int32(n)
}

// logs makes the lines that passing tests wrote go with their tests, if they are
// of a kind that repeats. All that failing tests wrote stays, so what stands
// behind the start of a test, or indented behind its verdict, is of one that
// passed.
func (f *folder) logs(lines *output.Lines, n int) {
	const (
		outside = iota
		started
		passed
	)
	state := outside
	for i := range n {
		id := f.of[i]
		if id == passKind {
			line := lines.Line(i)
			switch {
			case output.Starting(line):
				state = started
			case bytes.Contains(line, []byte("--- PASS: ")), bytes.Contains(line, []byte("--- SKIP: ")):
				state = passed
			default:
				state = outside
			}
			continue
		}
		switch {
		case id == noKind:
			if f.keep.Has(i) {
				state = outside
			}
		case id >= 0 && f.shapes[id].kind >= 0 && (state == started || state == passed && lines.Line(i)[0] <= ' '):
			f.of[i] = passKind
		}
	}
}

// sort puts the lines to their kinds: f.of is then the kind of each line.
func (f *folder) sort(lines *output.Lines, n int) {
	f.stays.Reset(n)
	f.passing = kind{first: -1, last: -1}
	passing := 0
	for i := range n {
		id := f.of[i]
		switch {
		case id == passKind:
			f.passing.see(i)
			passing++
		case id >= 0:
			if id = f.shapes[id].kind; id >= 0 {
				k := &f.kinds[id]
				k.see(i)
				f.numbers = appendNumbers(f.numbers[:0], lines.Line(i))
				for _, x := range f.numbers {
					for k.used <= x.at {
						k.fields[k.used] = field{}
						k.used++
					}
					k.fields[x.at].add(x.value, i)
				}
			}
			f.of[i] = id
		}
		if id == noKind {
			f.stays.Add(i)
		}
	}
	if passing < foldMin {
		for i := range n {
			if f.of[i] == passKind {
				f.stays.Add(i)
			}
		}
	}
}

// see notes that line i is of the kind.
func (k *kind) see(i int) {
	if k.first < 0 {
		k.first = i
	}
	k.last = i
}

// neighbours makes the lines around failures stay, and the first and the last
// of all.
func (f *folder) neighbours(lines *output.Lines, n int) {
	for i := f.keep.Next(0); i < n; i = f.keep.Next(i + 1) {
		for j := max(i-contextBefore, 0); j < min(i+contextAfter+1, n); j++ {
			if f.of[j] != passKind || j == i-1 && output.Starting(lines.Line(j)) {
				f.stays.Add(j)
			}
		}
	}
	f.stays.AddRange(0, 1)
	f.stays.AddRange(n-1, n)
}

// witnesses makes the lines stay that speak for their kind: the first, the
// last, the extremes of what it measures, and those in a rare state.
func (f *folder) witnesses(lines *output.Lines, n int) {
	f.stay(f.passing.first, f.passing.last)
	watched := false
	for i := range f.kinds {
		k := &f.kinds[i]
		f.stay(k.first, k.last)
		measures := 0
		for j := range k.used {
			x := &k.fields[j]
			if x.n >= highFrom && x.measure() && measures < 2 {
				f.stay(x.maxAt)
				if x.n >= lowFrom {
					f.stay(x.minAt)
				}
				measures++
			}
			watched = watched || x.states()
		}
	}
	if !watched {
		return
	}
	for i := range n {
		if f.of[i] < 0 || f.stays.Has(i) {
			continue
		}
		k := &f.kinds[f.of[i]]
		f.numbers = appendNumbers(f.numbers[:0], lines.Line(i))
		for _, x := range f.numbers {
			if k.fields[x.at].rare(x.value) {
				f.stays.Add(i)
				break
			}
		}
	}
}

// stay makes lines stay.
func (f *folder) stay(at ...int) {
	for _, i := range at {
		if i >= 0 {
			f.stays.Add(i)
		}
	}
}

// elide appends the lines, with markers for the runs of lines that do not stay.
func (f *folder) elide(dst []byte, lines *output.Lines, n int, m mark) ([]byte, bool) {
	from, done := len(dst), 0
	for i := 0; i < n; {
		if f.stays.Has(i) {
			i++
			continue
		}
		end := f.stays.Next(i)
		text := lines.Range(i, end)
		detail := f.describe(i, end)
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
func (f *folder) describe(from, to int) string {
	only := blankKind
	for _, id := range f.of[from:to] {
		switch {
		case id == blankKind || id == only:
		case only == blankKind:
			only = id
		default:
			return "repetitive"
		}
	}
	switch {
	case only == passKind:
		return "passing or skipped"
	case only == blankKind:
		return "blank"
	case from > 0 && f.of[from-1] == only:
		return "like the line above"
	case to < len(f.of) && f.of[to] == only:
		return "like the line below"
	}
	return "repetitive"
}
