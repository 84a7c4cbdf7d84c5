package adapter

import (
	"bytes"
	"hash/maphash"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// idTable finds calls by call id: a hash table with open addressing whose
// memory is kept from request to request.
type idTable struct {
	slots []idSlot // a power of two
	used  int
}

// idSlot is one id. The zero value is an empty slot.
type idSlot struct {
	hash uint64
	id   jsonspan.Ref // the first string with this id
	// last is the index of the last call with this id plus one.
	last int32
	// open is how many calls with this id have no result yet. Once it is more
	// than one it stays so: which of them a result answers is not certain, and
	// neither is what is open afterwards.
	open int32
	// prev is the index of the call with this id before last, plus one.
	prev int32
}

var idSeed = maphash.MakeSeed()

func (t *idTable) clear() {
	const keep = 1 << 13 // slots; a larger table is rare and not worth clearing each time
	if len(t.slots) > keep {
		t.slots, t.used = nil, 0
	}
	if t.used > 0 {
		clear(t.slots)
		t.used = 0
	}
}

// add notes that call has the id.
func (t *idTable) add(r *Request, id jsonspan.Ref, call int) {
	if !r.Doc.Is(id, jsonspan.String) {
		return
	}
	if 2*(t.used+1) > len(t.slots) {
		t.grow()
	}
	s := t.find(r, id)
	if s.last == 0 {
		s.id = id
		t.used++
	}
	s.prev, s.last = s.last, int32(call)+1
	s.open++
}

// answer is the call that a result with the id answers, or -1.
//
// Ids are meant to be unique, but some servers count from zero in every turn.
// So the answer is to the one call with the id that has no result yet; with
// more than one it is not certain, and -1. Only what stands before the result
// counts, so a conversation that grows never changes an earlier pair.
func (t *idTable) answer(r *Request, id jsonspan.Ref) int {
	if t.used == 0 || !r.Doc.Is(id, jsonspan.String) {
		return -1
	}
	s := t.find(r, id)
	switch {
	case s.last == 0, s.open > 1:
		return -1
	case s.open == 0:
		// A second result. It belongs to the call if there was only one.
		if s.prev != 0 {
			return -1
		}
		return int(s.last) - 1
	}
	s.open = 0
	return int(s.last) - 1
}

// find is the slot of the id, or the empty one where it belongs.
func (t *idTable) find(r *Request, id jsonspan.Ref) *idSlot {
	text := r.Doc.Inner(id)
	if r.Doc.Escaped(id) {
		r.text = jsonspan.AppendUnquoted(r.text[:0], text)
		text = r.text
	}
	hash := maphash.Bytes(idSeed, text)
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.last == 0 || s.hash == hash && sameText(&r.Doc, s.id, text) {
			s.hash = hash
			return s
		}
	}
}

// sameText reports whether the decoded text of node is text.
func sameText(d *jsonspan.Doc, node jsonspan.Ref, text []byte) bool {
	if !d.Escaped(node) {
		return bytes.Equal(d.Inner(node), text)
	}
	return bytes.Equal(jsonspan.AppendUnquoted(nil, d.Inner(node)), text)
}

func (t *idTable) grow() {
	old := t.slots
	t.slots = make([]idSlot, max(64, 2*len(old)))
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s.last == 0 {
			continue
		}
		i := s.hash & mask
		for t.slots[i].last != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
}
