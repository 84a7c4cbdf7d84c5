package squoze

import (
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// A template is what shapes have in common that differ in a name only. Which
// words are names is seen from the shapes themselves: a place that has many
// different words in otherwise equal lines holds a name. To tell the lines
// apart that merely have the same number of words, not more than one such
// place may hold plain words, those that a name or a path is not, and of the
// plain words at least two must be the same everywhere; in a report of tests two
// places may, because what a passing test says there is about itself:
//
//	    meadow_test.go:#: using fixture shard
//	    basket_test.go:#: using fixture ledger
//
// are of one template, cache warmed and disk failing are not.

const (
	// manyShapes is from how many shapes on the name in a template is one of
	// many.
	manyShapes = 2 * foldMin
	// manyRare is from how many rare names on a rare name is no signal.
	manyRare = 3 * manyShapes
	// fewWords is how many different words a place may have and still be part
	// of what a template says.
	fewWords = 8
	// maxWordsInShape is the longest shape that is looked at, in words.
	maxWordsInShape = 64
)

// templates finds the templates of shapes. It keeps its memory.
type templates struct {
	ids       map[string]int32 // what stands between the words of shapes, to index into skeletons
	skeletons []skeleton
	places    []place
	literal   map[string]int32 // what a template says, to index into list
	list      []template
	scratch   []byte
	words     []span
	class     output.Class
}

// skeleton is what shapes have in common that have the same number of words
// and the same characters between them.
type skeleton struct {
	shapes int
	at     int // where its places begin, -1 as long as it has none
}

// template is a set of shapes.
type template struct {
	shapes int
	common int // lines of shapes that repeat
	rare   int // lines of the others

	rareShapes int
	kind       int32
}

// place is one word of a skeleton: the different words that shapes have there.
type place struct {
	words [fewWords + 1]uint64
	used  int
}

// open reports whether the place holds names.
func (p *place) open() bool { return p.used > fewWords }

func (p *place) add(word uint64) {
	for _, w := range p.words[:p.used] {
		if w == word {
			return
		}
	}
	if p.used <= fewWords {
		p.words[p.used] = word
		p.used++
	}
}

// span is a word of a shape.
type span struct {
	from, to int
	plain    bool // only letters, none of them upper case behind a lower one
}

// many is the template i if it has many shapes, else nil.
func (t *templates) many(i int32) *template {
	if i < 0 || t.list[i].shapes < manyShapes {
		return nil
	}
	return &t.list[i]
}

// find gives each shape its template.
func (t *templates) find(shapes []shape, class output.Class) {
	t.class = class
	if t.ids == nil {
		t.ids, t.literal = make(map[string]int32), make(map[string]int32)
	}
	clear(t.ids)
	clear(t.literal)
	t.skeletons, t.places, t.list = t.skeletons[:0], t.places[:0], t.list[:0]
	if len(shapes) < manyShapes {
		return
	}
	for i := range shapes {
		s := &shapes[i]
		if s.template = t.skeletonOf(s.text); s.template >= 0 {
			t.skeletons[s.template].shapes++
		}
	}
	for i := range shapes {
		if s := &shapes[i]; s.template >= 0 {
			t.note(s.text, &t.skeletons[s.template])
		}
	}
	for i := range shapes {
		s := &shapes[i]
		if s.template < 0 {
			continue
		}
		if s.template = t.templateOf(s.text, s.template); s.template < 0 {
			continue
		}
		p := &t.list[s.template]
		p.shapes++
		if s.count >= foldMin {
			p.common += s.count
		} else {
			p.rare += s.count
			p.rareShapes++
		}
	}
}

// skeletonOf is the number of the shape's skeleton, -1 if it has too many words
// or none.
func (t *templates) skeletonOf(shape string) int32 {
	t.split(shape)
	if len(t.words) == 0 || len(t.words) > maxWordsInShape {
		return -1
	}
	t.scratch = t.scratch[:0]
	at := 0
	for _, w := range t.words {
		t.scratch = append(append(t.scratch, shape[at:w.from]...), 'w')
		at = w.to
	}
	t.scratch = append(t.scratch, shape[at:]...)
	k, ok := t.ids[string(t.scratch)]
	if !ok {
		k = int32(len(t.skeletons))
		t.ids[string(t.scratch)] = k
		t.skeletons = append(t.skeletons, skeleton{at: -1})
	}
	return k
}

// note puts the words of a shape to those that its skeleton has in their
// places.
func (t *templates) note(shape string, k *skeleton) {
	if k.shapes < manyShapes {
		return
	}
	t.split(shape)
	if k.at < 0 {
		k.at = len(t.places)
		for range t.words {
			t.places = append(t.places, place{})
		}
	}
	for j, w := range t.words {
		t.places[k.at+j].add(xxhash.Sum64String(shape[w.from:w.to]))
	}
}

// split puts the words of a shape into t.words.
func (t *templates) split(shape string) {
	t.words = t.words[:0]
	for i := 0; i < len(shape); {
		if delimiter[shape[i]] {
			i++
			continue
		}
		w := span{from: i, plain: true}
		for ; i < len(shape) && !delimiter[shape[i]]; i++ {
			c := shape[i]
			if byteClass[c] != letterByte || c == '_' || i > w.from && 'A' <= c && c <= 'Z' && 'a' <= shape[i-1] && shape[i-1] <= 'z' {
				w.plain = false
			}
		}
		w.to = i
		t.words = append(t.words, w)
	}
}

// templateOf is the number of the template of a shape with the skeleton k, -1
// if what it says is too little, or too much of it differs.
func (t *templates) templateOf(shape string, k int32) int32 {
	at := t.skeletons[k].at
	if at < 0 {
		return -1
	}
	t.split(shape)
	places := t.places[at : at+len(t.words)]
	t.scratch = append(t.scratch[:0], byte(k), byte(k>>8), byte(k>>16))
	fixed, open, names := 0, 0, 0
	for j, w := range t.words {
		switch {
		case !places[j].open():
			t.scratch = append(append(t.scratch, shape[w.from:w.to]...), 0)
			if w.plain {
				fixed++
			}
			continue
		case w.plain:
			open++
		default:
			names++
		}
		t.scratch = append(t.scratch, 1)
	}
	switch {
	case open+names == 0, open > 1 && (open > 2 || t.class != output.TestOutput), open > 0 && fixed < 2:
		return -1
	case fixed == 0 && (t.class == output.Log || len(t.words) > 1 || !strings.Contains(shape, "/")):
		return -1 // but a path by itself is what a build lists
	}
	id, ok := t.literal[string(t.scratch)]
	if !ok {
		id = int32(len(t.list))
		t.literal[string(t.scratch)] = id
		t.list = append(t.list, template{kind: -1})
	}
	return id
}
