package squoze

import (
	"container/list"
	"sync"
)

// Originals keeps the texts that lines were elided from, by tenant and
// reference, so that they can be had back byte by byte. It is bounded in bytes;
// what was asked for or elided longest ago goes first. A tenant cannot read
// what another one's requests held. It is safe for concurrent use.
type Originals struct {
	limit int64

	mu     sync.Mutex
	bytes  int64
	held   map[originalKey]*list.Element
	recent list.List // of *original, the most recent one in front
}

type originalKey struct{ tenant, ref string }

type original struct {
	key  originalKey
	text []byte
}

// DefaultOriginals is the usual bound of Originals, in bytes.
const DefaultOriginals = 64 << 20

// originalOverhead is what an original takes beside its text and its keys, in
// bytes.
const originalOverhead = 256

// NewOriginals returns a store of at most limit bytes, bookkeeping included.
func NewOriginals(limit int64) *Originals {
	return &Originals{limit: limit, held: make(map[originalKey]*list.Element)}
}

// Keeps reports whether a text of size bytes can be kept. It depends on the
// size alone, never on what is in the store: what a request becomes must not.
// A quarter of the bound is the most for one text, so that it does not push
// out everything else.
func (o *Originals) Keeps(size int) bool {
	return o != nil && int64(size)+originalOverhead <= o.limit/4
}

// Touch reports whether the original is there, and makes it a recent one.
func (o *Originals) Touch(tenant, ref string) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.held[originalKey{tenant, ref}]
	if e == nil {
		return false
	}
	o.recent.MoveToFront(e)
	return true
}

// Keep stores a copy of text. It reports whether the text is there now.
func (o *Originals) Keep(tenant, ref string, text []byte) bool {
	if !o.Keeps(len(text)) {
		return false
	}
	if o.Touch(tenant, ref) {
		return true
	}
	n := &original{originalKey{tenant, ref}, append(make([]byte, 0, len(text)), text...)}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held[n.key] != nil {
		return true // by another goroutine
	}
	o.held[n.key] = o.recent.PushFront(n)
	for o.bytes += n.size(); o.bytes > o.limit; {
		o.drop(o.recent.Back())
	}
	return true
}

// Get returns the original, which must not be changed.
func (o *Originals) Get(tenant, ref string) ([]byte, bool) {
	if o == nil {
		return nil, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.held[originalKey{tenant, ref}]
	if e == nil {
		return nil, false
	}
	o.recent.MoveToFront(e)
	return e.Value.(*original).text, true
}

// Find returns the original that ref names, whoever's it is. It is for the
// operator; the text is the same for all who have it, because ref is made of it.
func (o *Originals) Find(ref string) ([]byte, bool) {
	if o == nil {
		return nil, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, e := range o.held {
		if key.ref == ref {
			return e.Value.(*original).text, true
		}
	}
	return nil, false
}

// Usage is the number of originals held and the bytes they take.
func (o *Originals) Usage() (entries int, bytes int64) {
	if o == nil {
		return 0, 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.held), o.bytes
}

func (o *Originals) drop(e *list.Element) {
	n := o.recent.Remove(e).(*original)
	delete(o.held, n.key)
	o.bytes -= n.size()
}

func (n *original) size() int64 {
	return int64(len(n.text)+len(n.key.tenant)+len(n.key.ref)) + originalOverhead
}
