package output

import (
	"bytes"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
)

// What failed is not always said in a word that is known: "result=ko id=17",
// "test_450 F", a word in the language of whoever wrote the program. But it is
// always said in another way than the thousand lines that say that all is well.
// So only what is common may be elided: lines of which there are many.
//
// Two lines are of one kind if they have the same shape (see appendShape), or
// if their shapes differ in a name only. Which words are names is seen from the
// shapes themselves: a place that has many different words in otherwise equal
// lines holds a name, one that has few says something. In a place where nearly
// all lines have the same word or number, the lines with another one are rare
// however many they are: 900 times status=ok and 100 times status=ko.

const (
	// rareOf and rareMin say which kinds are common: those with more than one
	// line in rareOf, and more than rareMin lines.
	rareOf  = 128
	rareMin = 3
	// fewValues is how many different values a place may have and still be part
	// of what a line says.
	fewValues = 8
	// dominant is how many times as many lines as all others together the
	// most frequent value of a place needs for the others to be rare.
	dominant = 8
)

// AddRare puts into keep the lines of an output of a class in which failures
// matter that are rare in it, and those of which it cannot be said, as each of
// them says something else. What is left is of a kind that is common.
func AddRare(keep *Set, lines *Lines) {
	scratch := plainScratches.Get().(*plainScratch)
	defer scratch.free()
	lines = plainLines(lines, scratch)
	r := rares.Get().(*rare)
	defer r.free()
	r.read(lines)
	r.judge()
	r.add(keep, lines)
}

var rares = sync.Pool{New: func() any { return new(rare) }}

func (r *rare) free() {
	if cap(r.text) <= maxPooled && cap(r.shapes) <= maxPooled/64 && cap(r.enums) <= 1<<12 && cap(r.places) <= 1<<14 && cap(r.kind) <= maxPooled/4 {
		rares.Put(r)
	}
}

// rare counts the shapes of a text.
type rare struct {
	lines     int     // that are not blank
	kind      []int32 // of each line: its shape, or one of the below
	shapes    []shape
	text      []byte           // the texts of all shapes
	table     map[uint64]int32 // shapes by the hashes of their texts
	skeletons []skeleton
	bones     map[uint64]int32 // skeletons by the hashes of theirs
	scratch   []byte
	words     []token
	kinds     map[uint64]int32 // what counts together
	counts    []int32
	enums     []enumeration
	places    []place
}

// kindNone is the kind of lines without a shape: blank ones and markers.
const kindNone = -1

// shape is a set of lines.
type shape struct {
	from, to int32 // its text
	count    int32 // lines
	kind     int32 // what it counts with: index into counts
	enum     int32 // index into enums, -1 for none
	first    numbers
	rare     bool
	step     bool // reports one step of a build, an install, a download
	enumRare bool // some of its lines have a rare number
}

// enumeration are the values of the numbers in a shape.
type enumeration [maxNumbers]place

// place is one word or number of otherwise equal lines.
type place struct {
	values [fewValues]uint64
	lines  [fewValues]int32
	used   int // more than fewValues: it holds names
	all    int32
}

func (p *place) add(value uint64, lines int32) {
	if p.open() {
		return
	}
	p.all += lines
	for i, v := range p.values[:p.used] {
		if v == value {
			p.lines[i] += lines
			return
		}
	}
	if p.used < fewValues {
		p.values[p.used], p.lines[p.used] = value, lines
	}
	p.used++
}

// open reports whether the place holds names or measurements.
func (p *place) open() bool { return p.used > fewValues }

// rare reports whether nearly all lines have another value.
func (p *place) rare(value uint64) bool {
	if p.used < 2 || p.open() {
		return false
	}
	most, mine := int32(0), int32(0)
	for i, v := range p.values[:p.used] {
		most = max(most, p.lines[i])
		if v == value {
			mine = p.lines[i]
		}
	}
	return mine < most && most >= dominant*(p.all-most)
}

// skeleton is what shapes have in common that have the same number of words and
// the same signs between them.
type skeleton struct {
	shapes int32
	at     int32 // where its places begin
}

// token is a word of a shape.
type token struct {
	from, to int
	plain    bool // only letters, none of them upper case behind a lower one
}

// read finds the shapes of lines.
func (r *rare) read(lines *Lines) {
	if r.table == nil {
		r.table, r.bones, r.kinds = make(map[uint64]int32), make(map[uint64]int32), make(map[uint64]int32)
	}
	clear(r.table)
	clear(r.bones)
	clear(r.kinds)
	r.lines = 0
	r.kind, r.shapes, r.text, r.enums = r.kind[:0], r.shapes[:0], r.text[:0], r.enums[:0]
	r.skeletons, r.places, r.counts = r.skeletons[:0], r.places[:0], r.counts[:0]
	served := bytes.Contains(lines.Text, httpVersion)
	var found numbers
	// The last two lines of different shapes: most lines are like one of them.
	var recent [2]struct {
		line    []byte
		numbers numbers
		shape   int32
	}
	for i := range lines.Len() {
		line := trimRight(lines.Line(i))
		switch {
		case len(line) == 0 || marker.Is(line):
			r.kind = append(r.kind, kindNone)
			continue
		}
		r.lines++
		line = said(line)
		var k int32
		switch {
		case served && servedWell(line):
			found.n = 0
			r.scratch = append(r.scratch[:0], "served"...)
			k = r.shapeNumber(line, &found)
		case Passing(line):
			found.n = 0
			r.scratch = append(r.scratch[:0], verdictOf(line)...)
			k = r.shapeNumber(line, &found)
		case recent[0].line != nil && alike(line, recent[0].line, &recent[0].numbers, &found):
			k = recent[0].shape
		case recent[1].line != nil && alike(line, recent[1].line, &recent[1].numbers, &found):
			k = recent[1].shape
			recent[0], recent[1] = recent[1], recent[0]
		default:
			r.scratch = appendShape(r.scratch[:0], line, &found)
			k = r.shapeNumber(line, &found)
			recent[1] = recent[0]
			recent[0].line, recent[0].numbers, recent[0].shape = line, found, k
		}
		s := &r.shapes[k]
		s.count++
		if found.n > 0 && s.count > 1 {
			if s.enum < 0 {
				s.enum = int32(len(r.enums))
				r.enums = append(r.enums, enumeration{})
				r.enums[s.enum].add(&s.first)
			}
			r.enums[s.enum].add(&found)
		}
		r.kind = append(r.kind, k)
	}
}

// verdictOf is the word or mark by which a line says that something passed, as
// far as that matters: what has the name of the test in it is all the same.
func verdictOf(line []byte) []byte {
	const name = 12 // bytes from which on a word is none
	line = line[skipSpaces(line, 0):]
	for i, c := range line {
		switch {
		case c == ' ' || c == '\t':
			return line[:i]
		case isDigit(c) || i == name:
			return line[:0]
		}
	}
	return line
}

var (
	passed      = []byte("PASS")
	httpVersion = []byte(" HTTP/")
)

// said is what a line is judged by: of an event of go test -json what the test
// wrote.
func said(line []byte) []byte {
	if len(line) == 0 || line[0] != '{' || !goEvent(line) {
		return line
	}
	if !hasJSON(line, "Action", "output") {
		return passed // what failed, or never ended, is known
	}
	return trimEscaped(jsonText(line, "Output"))
}

// trimEscaped is the JSON text s without the line feed at its end.
func trimEscaped(s []byte) []byte {
	if hasSuffix(s, `\n`) {
		s = s[:len(s)-2]
	}
	return trimRight(s)
}

// servedWell reports whether a line is one of a web server's log about a request
// that was served: "GET /path HTTP/1.1" 200.
func servedWell(line []byte) bool {
	const near = 2048
	i := bytes.Index(line[:min(len(line), near)], httpVersion)
	if i < 0 {
		return false
	}
	for i += len(httpVersion); i < len(line) && (isDigit(line[i]) || line[i] == '.'); i++ {
	}
	return byteAt(line, i) == '"' && byteAt(line, i+1) == ' ' && (byteAt(line, i+2) == '2' || byteAt(line, i+2) == '3') &&
		isDigit(byteAt(line, i+3)) && isDigit(byteAt(line, i+4)) && byteAt(line, i+5) == ' '
}

// shapeNumber is the number of the shape in r.scratch, which is that of line.
func (r *rare) shapeNumber(line []byte, found *numbers) int32 {
	h := xxhash.Sum64(r.scratch)
	k, ok := r.table[h]
	if !ok {
		k = int32(len(r.shapes))
		r.table[h] = k
		r.shapes = append(r.shapes, shape{from: int32(len(r.text)), to: int32(len(r.text) + len(r.scratch)), enum: -1, first: *found, step: progressing(line)})
		r.text = append(r.text, r.scratch...)
	}
	return k
}

func (e *enumeration) add(found *numbers) {
	for i, v := range found.value[:found.n] {
		e[i].add(uint64(v), 1)
	}
}

// rare reports whether a line with these numbers has one that is rare.
func (e *enumeration) rare(found *numbers) bool {
	for i, v := range found.value[:found.n] {
		if e[i].rare(uint64(v)) {
			return true
		}
	}
	return false
}

// maxWords is the longest shape that is looked at, in words.
const maxWords = 64

// judge says of each shape whether it is rare.
func (r *rare) judge() {
	limit := max(int32(r.lines/rareOf), rareMin)
	for i := range r.shapes {
		s := &r.shapes[i]
		s.kind = -1
		if s.enum >= 0 {
			e := &r.enums[s.enum]
			for j := range s.first.value[:s.first.n] {
				s.enumRare = s.enumRare || e[j].varies()
			}
		}
		s.kind = r.skeletonOf(r.text[s.from:s.to])
		if s.kind >= 0 {
			r.skeletons[s.kind].shapes++
		}
	}
	// The words in each place of a skeleton, with the lines that have them.
	for i := range r.shapes {
		s := &r.shapes[i]
		if s.kind < 0 || r.skeletons[s.kind].shapes < 2 {
			continue
		}
		text := r.text[s.from:s.to]
		r.split(text)
		k := &r.skeletons[s.kind]
		if k.at < 0 {
			k.at = int32(len(r.places))
			for range r.words {
				r.places = append(r.places, place{})
			}
		}
		for j, w := range r.words {
			r.places[int(k.at)+j].add(xxhash.Sum64(text[w.from:w.to]), s.count)
		}
	}
	for i := range r.shapes {
		s := &r.shapes[i]
		s.kind = r.kindOf(s)
		if s.kind >= 0 {
			r.counts[s.kind] += s.count
		}
	}
	for i := range r.shapes {
		s := &r.shapes[i]
		n := s.count
		if s.kind >= 0 {
			n = r.counts[s.kind]
		}
		s.rare = s.rare || n <= limit
	}
}

// varies reports whether the place has a value that nearly all lines have, and
// others.
func (p *place) varies() bool {
	if p.used < 2 || p.open() {
		return false
	}
	most := int32(0)
	for _, n := range p.lines[:p.used] {
		most = max(most, n)
	}
	return most >= dominant*(p.all-most)
}

// skeletonOf is the number of the shape's skeleton, -1 if it has too many words
// or none.
func (r *rare) skeletonOf(text []byte) int32 {
	r.split(text)
	if len(r.words) == 0 || len(r.words) > maxWords {
		return -1
	}
	r.scratch = r.scratch[:0]
	at := 0
	for _, w := range r.words {
		r.scratch = append(append(r.scratch, text[at:w.from]...), 'w')
		at = w.to
	}
	r.scratch = append(r.scratch, text[at:]...)
	h := xxhash.Sum64(r.scratch)
	k, ok := r.bones[h]
	if !ok {
		k = int32(len(r.skeletons))
		r.bones[h] = k
		r.skeletons = append(r.skeletons, skeleton{at: -1})
	}
	return k
}

// inWord are the signs that hold the parts of names and paths together.
var inWord = func() (t [256]bool) {
	for c := range t {
		t[c] = shapeClass[c] == letterByte || c == maskByte
	}
	for _, c := range []byte("./-\\@+~%$&") {
		t[c] = true
	}
	return t
}()

// split puts the words of a shape into r.words. Names and paths are one word
// with the signs in them; so are numbers that have something in front of them.
func (r *rare) split(text []byte) {
	r.words = r.words[:0]
	for i := 0; i < len(text); {
		if !inWord[text[i]] {
			i++
			continue
		}
		w := token{from: i, plain: true}
		letters := false
		for ; i < len(text); i++ {
			c := text[i]
			if !inWord[c] {
				if c == ':' && i+2 < len(text) && text[i+1] == ':' && inWord[text[i+2]] { // a::b
					i++
					w.plain = false
					continue
				}
				break
			}
			letter := shapeClass[c] == letterByte && c != '_'
			letters = letters || letter
			if !letter || i > w.from && 'A' <= c && c <= 'Z' && 'a' <= text[i-1] && text[i-1] <= 'z' {
				w.plain = false
			}
		}
		w.to = i
		if !letters {
			continue // a number, a sign
		}
		// The sign that ends a sentence is not part of a name.
		for text[w.to-1] == '.' {
			w.to--
		}
		if w.to < i {
			w.plain = onlyLetters(text[w.from:w.to])
		}
		r.words = append(r.words, w)
	}
}

func onlyLetters(text []byte) bool {
	for i, c := range text {
		if shapeClass[c] != letterByte || c == '_' || i > 0 && 'A' <= c && c <= 'Z' && 'a' <= text[i-1] && text[i-1] <= 'z' {
			return false
		}
	}
	return true
}

// kindOf is what the shape s counts with: the shapes that differ from it in
// names only; -1 if that is itself alone. It finds out whether a word of it is
// rare as well.
func (r *rare) kindOf(s *shape) int32 {
	if s.kind < 0 || r.skeletons[s.kind].at < 0 {
		return -1
	}
	text := r.text[s.from:s.to]
	r.split(text)
	k := &r.skeletons[s.kind]
	places := r.places[k.at : int(k.at)+len(r.words)]
	r.scratch = append(r.scratch[:0], byte(s.kind), byte(s.kind>>8), byte(s.kind>>16), byte(s.kind>>24))
	fixed, open, names := 0, 0, 0
	for j, w := range r.words {
		word := text[w.from:w.to]
		switch {
		case !places[j].open():
			s.rare = s.rare || places[j].rare(xxhash.Sum64(word))
			r.scratch = append(append(r.scratch, word...), 0)
			if w.plain {
				fixed++
			}
			continue
		case w.plain:
			open++
		default:
			names++
		}
		r.scratch = append(r.scratch, 1)
	}
	if open+names == 0 || open > 1 || fixed == 0 || open == 1 && fixed < 2 && !s.step {
		return -1
	}
	h := xxhash.Sum64(r.scratch)
	kind, ok := r.kinds[h]
	if !ok {
		kind = int32(len(r.counts))
		r.kinds[h] = kind
		r.counts = append(r.counts, 0)
	}
	return kind
}

// add puts the rare lines into keep.
func (r *rare) add(keep *Set, lines *Lines) {
	var found numbers
	for i, k := range r.kind {
		switch {
		case k == kindNone || keep.Has(i):
		default:
			s := &r.shapes[k]
			if s.rare {
				keep.Add(i)
			} else if s.enumRare {
				r.scratch = appendShape(r.scratch[:0], said(trimRight(lines.Line(i))), &found)
				if r.enums[s.enum].rare(&found) {
					keep.Add(i)
				}
			}
		}
	}
}
