// Package memo remembers what was computed from a piece of raw text, so that a
// conversation sent again, one turn longer, pays only for its new blocks. It is
// bounded in bytes, keys included, and safe for concurrent use.
//
// A key is found by a hash under a seed of this process and then compared in
// full, so neither an accident nor a chosen input can make one text answer for
// another. For what may be kept without the text there are Facts. What is evicted depends on the seed and on timing; therefore a memo
// may only hold what can be computed again with the same result.
package memo

import (
	"bytes"
	"hash/maphash"
	"sync"
	"sync/atomic"
)

const (
	// overhead is what an entry costs beside its key and value, in bytes: the
	// entry, its slot in the map, and the ghosts that are kept for it.
	overhead = 320

	// ghostsPerEntry is how many departed keys are remembered for each one
	// held, at some 36 bytes each.
	ghostsPerEntry = 4

	// shardBytes is the least budget of a shard. Fewer and larger shards waste
	// less on large entries, more of them contend less.
	shardBytes = 8 << 20

	maxShards = 64

	// maxFreq caps an entry's hit count: it survives that many rounds of the
	// main queue without another hit.
	maxFreq = 3
)

// Memo maps (salt, raw) to a V. The salt tells apart what different passes and
// levels make of the same text.
type Memo[V any] struct {
	seed   maphash.Seed
	shards []shard[V]
}

// New returns a memo that holds at most about maxBytes of keys, values (by the
// size their Put states) and bookkeeping. With maxBytes <= 0 it holds nothing.
func New[V any](maxBytes int64) *Memo[V] {
	n := 1
	for n < maxShards && maxBytes/int64(2*n) >= shardBytes {
		n *= 2
	}
	m := &Memo[V]{seed: maphash.MakeSeed(), shards: make([]shard[V], n)}
	for i := range m.shards {
		s := &m.shards[i]
		s.budget = max(maxBytes, 0) / int64(n)
		s.entries = make(map[uint64]*entry[V])
		s.ghosts.set = make(map[uint64]struct{})
	}
	return m
}

// hash depends on every byte of raw and on the salt.
func (m *Memo[V]) hash(salt uint64, raw []byte) uint64 {
	h := maphash.Bytes(m.seed, raw)
	h ^= salt * 0x9E3779B97F4A7C15
	h ^= h >> 32
	h *= 0xD6E8FEB86659FD93
	return h ^ h>>32
}

func (m *Memo[V]) shard(h uint64) *shard[V] {
	return &m.shards[h&uint64(len(m.shards)-1)] // the number of shards is a power of two
}

// Get returns what was put under salt and raw. It does not allocate and keeps
// no reference to raw.
func (m *Memo[V]) Get(salt uint64, raw []byte) (V, bool) { return m.get(m.hash(salt, raw), salt, raw) }

// GetAt is Get for one who has the key of raw under salt already. All who use
// the same memo must use keys of the same Facts, or none of them.
func (m *Memo[V]) GetAt(k Key, salt uint64, raw []byte) (V, bool) { return m.get(k[0], salt, raw) }

func (m *Memo[V]) get(h, salt uint64, raw []byte) (V, bool) {
	s := m.shard(h)
	s.mu.RLock()
	e := s.entries[h]
	s.mu.RUnlock()
	// An entry's key and value never change, so the comparison, which may be
	// long, needs no lock.
	if e == nil || e.salt != salt || !bytes.Equal(e.raw, raw) {
		var none V
		return none, false
	}
	if f := e.freq.Load(); f < maxFreq {
		e.freq.CompareAndSwap(f, f+1) // losing the race loses one hit of the count
	}
	return e.value, true
}

// Put stores v, whose own memory is size bytes, under salt and raw, replacing
// what was there. It copies raw. An entry that would take more than half of a
// shard's budget is not kept.
func (m *Memo[V]) Put(salt uint64, raw []byte, v V, size int) {
	m.put(m.hash(salt, raw), salt, raw, v, size)
}

// PutAt is Put for one who has the key of raw under salt already; see GetAt.
func (m *Memo[V]) PutAt(k Key, salt uint64, raw []byte, v V, size int) {
	m.put(k[0], salt, raw, v, size)
}

func (m *Memo[V]) put(h, salt uint64, raw []byte, v V, size int) {
	s := m.shard(h)
	cost := int64(len(raw)) + int64(max(size, 0)) + overhead
	if cost > s.budget/2 {
		return
	}
	s.put(&entry[V]{hash: h, salt: salt, raw: bytes.Clone(raw), value: v, cost: cost})
}

// Len is the number of entries.
func (m *Memo[V]) Len() int {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.RLock()
		n += len(s.entries)
		s.mu.RUnlock()
	}
	return n
}

// Bytes is the number of bytes held, as Put counts them.
func (m *Memo[V]) Bytes() int64 {
	var n int64
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.RLock()
		n += s.small.bytes + s.main.bytes
		s.mu.RUnlock()
	}
	return n
}

// entry is one remembered value. Only freq and, under the shard's lock, the
// queue's fields change after it was stored.
type entry[V any] struct {
	hash  uint64
	salt  uint64
	raw   []byte
	value V
	cost  int64
	freq  atomic.Uint32 // hits since it came in or last survived, at most maxFreq

	in           *queue[V]
	newer, older *entry[V]
}

// shard is one part of a memo with its own lock and budget. It evicts by
// S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction",
// SOSP 2023): new entries wait in a small queue and move to the main one only
// if they were asked for, so requests that never come again pass through
// without driving out the running conversations. An entry that comes back soon
// after it was dropped goes to the main queue at once.
type shard[V any] struct {
	mu      sync.RWMutex
	budget  int64
	entries map[uint64]*entry[V]
	small   queue[V]
	main    queue[V]
	ghosts  ghosts
}

func (s *shard[V]) put(e *entry[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := &s.small
	if old := s.entries[e.hash]; old != nil {
		// The same key, or one of the same hash: the newer one stays.
		in = old.in
		e.freq.Store(old.freq.Load())
		s.drop(old)
	} else if s.ghosts.take(e.hash) {
		in = &s.main
	}
	for s.small.bytes+s.main.bytes+e.cost > s.budget {
		if s.small.oldest != nil && (s.small.bytes > s.budget/10 || s.main.oldest == nil) {
			s.evictSmall()
		} else {
			s.evictMain()
		}
	}
	s.entries[e.hash] = e
	in.push(e)
	s.ghosts.trim(ghostsPerEntry * len(s.entries))
}

// evictSmall moves the oldest entry of the small queue on: to the main queue
// if it was asked for, else out.
func (s *shard[V]) evictSmall() {
	e := s.small.oldest
	if e.freq.Load() > 0 {
		s.small.remove(e)
		e.freq.Store(0)
		s.main.push(e)
		return
	}
	s.drop(e)
	s.ghosts.add(e.hash)
}

// evictMain drops the oldest entry of the main queue, or gives it another
// round for one of its hits.
func (s *shard[V]) evictMain() {
	e := s.main.oldest
	if f := e.freq.Load(); f > 0 {
		e.freq.Store(f - 1)
		s.main.remove(e)
		s.main.push(e)
		return
	}
	s.drop(e)
}

func (s *shard[V]) drop(e *entry[V]) {
	e.in.remove(e)
	delete(s.entries, e.hash)
}
