package optimize

import (
	"bytes"
	"container/list"
	"encoding/binary"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// Repeats remembers what passes made of whole bodies. Clients send a body again
// when an answer failed or did not come, to draw several answers, or because a
// program asks the same of every input; then nothing needs to be read twice.
//
// A body is remembered when it comes the second time, so that traffic which never
// repeats costs a look at a few of its bytes. It is found by a hash of those and
// then compared in full: no body is ever taken for another. What is remembered
// is only what the passes would make of it again. It is bounded in bytes and
// safe for concurrent use.
type Repeats struct {
	limit int64
	seed  maphash.Seed
	once  [onceSlots]atomic.Uint64 // hashes of bodies that came once

	mu     sync.Mutex
	bytes  int64
	held   map[RepeatKey]*list.Element
	ofSize map[int]*list.Element // the body of that length that was remembered last
	recent list.List             // of *repeat, the most recent one in front
}

const (
	// onceSlots is how many hashes of bodies that came once are kept, each in a
	// place of its own.
	onceSlots = 4096
	// A body is told from most others by so many windows of so many bytes.
	sampleWindows = 16
	sampleBytes   = 32
	// repeatOverhead is what an entry takes beside its bytes.
	repeatOverhead = 400
)

// RepeatKey names a body and what is to be made of it, for as long as the list
// of passes is in use. It is no proof that a body is the same.
type RepeatKey struct {
	passes *Pass // the first of the list, which is never changed
	format adapter.Format
	tenant string
	sample uint64
}

// repeat is what was made of one body.
type repeat struct {
	key    RepeatKey
	body   []byte
	edits  []jsonspan.Edit
	result Result // without a body
}

// NewRepeats returns a store of at most limit bytes.
func NewRepeats(limit int64) *Repeats {
	return &Repeats{limit: limit, seed: maphash.MakeSeed(), held: make(map[RepeatKey]*list.Element), ofSize: make(map[int]*list.Element)}
}

// Key is the key of a body. passes is a list that lives as long as it is used
// and never changes. tenant tells apart those for whom the passes do something
// else, beside making the body.
func (r *Repeats) Key(passes []Pass, format adapter.Format, tenant string, body []byte) RepeatKey {
	var buf [sampleWindows*sampleBytes + 8]byte
	sample := buf[:0]
	if step := len(body) / sampleWindows; step > sampleBytes {
		for i := range sampleWindows {
			sample = append(sample, body[i*step:i*step+sampleBytes]...)
		}
		// Conversations differ at their end.
		copy(sample[len(sample)-sampleBytes:], body[len(body)-sampleBytes:])
	} else {
		sample = append(sample, body[:min(len(body), sampleWindows*sampleBytes)]...)
	}
	sample = binary.LittleEndian.AppendUint64(sample, uint64(len(body)))
	return RepeatKey{&passes[0], format, tenant, maphash.Bytes(r.seed, sample)}
}

// Like returns a remembered body of size bytes that begins with head, nil if
// there is none. It must not be changed. A body that is compared with it while it
// comes in, and found equal, need not be kept: Find knows the one returned here
// without looking at it.
func (r *Repeats) Like(size int, head []byte) []byte {
	r.mu.Lock()
	e := r.ofSize[size]
	r.mu.Unlock()
	if e == nil {
		return nil
	}
	if known := e.Value.(*repeat); bytes.HasPrefix(known.body, head) {
		return known.body
	}
	return nil
}

// Find returns what was made of body, if that is known: the result, without its
// Body, and the edits that make it, which must not be changed. again says that
// it is not known, but that the body seems to have come before.
func (r *Repeats) Find(key RepeatKey, body []byte) (res Result, edits []jsonspan.Edit, found, again bool) {
	r.mu.Lock()
	e := r.held[key]
	if e != nil {
		r.recent.MoveToFront(e)
	}
	r.mu.Unlock()
	if e == nil {
		slot := &r.once[key.sample%onceSlots]
		if slot.Load() == key.sample {
			return Result{}, nil, false, true
		}
		slot.Store(key.sample)
		return Result{}, nil, false, false
	}
	known := e.Value.(*repeat)
	if !bytes.Equal(known.body, body) { // at once if they are the same piece of memory
		return Result{}, nil, false, false
	}
	for _, p := range known.result.Passes {
		if p.Renew != nil && !p.Renew() {
			return Result{}, nil, false, true
		}
	}
	return known.result, known.edits, true, false
}

// EditsAgain is Edits for a body that has come before: what is made of it is
// remembered under key. The edits must not be changed.
func (r *Repeats) EditsAgain(key RepeatKey, req *adapter.Request, passes []Pass) (Result, []jsonspan.Edit) {
	res, edits := Edits(req, passes, func(size int) []byte { return make([]byte, 0, size) })
	n := &repeat{key: key, body: req.Doc.Source(), edits: edits, result: res}
	if res.Panic != nil || n.size() > r.limit/4 {
		return res, edits
	}
	n.body = bytes.Clone(n.body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.held[key]; e != nil {
		r.drop(e)
	}
	e := r.recent.PushFront(n)
	r.held[key], r.ofSize[len(n.body)] = e, e
	for r.bytes += n.size(); r.bytes > r.limit; {
		r.drop(r.recent.Back())
	}
	return res, edits
}

// Usage is the number of bodies held and the bytes they take.
func (r *Repeats) Usage() (entries int, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.held), r.bytes
}

func (r *Repeats) drop(e *list.Element) {
	n := r.recent.Remove(e).(*repeat)
	delete(r.held, n.key)
	if r.ofSize[len(n.body)] == e {
		delete(r.ofSize, len(n.body))
	}
	r.bytes -= n.size()
}

func (n *repeat) size() int64 {
	size := int64(len(n.body)+len(n.key.tenant)) + repeatOverhead
	for _, e := range n.edits {
		size += int64(len(e.New)) + 48
	}
	return size
}
