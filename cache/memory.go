package cache

import (
	"context"
	"math/bits"
	"sync"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache/similar"
)

// memory keeps entries in the process, up to a number of bytes. It is split
// by hash into shards, each with its own lock and its share of the bytes, so
// that storing in one does not hold up the others.
type memory struct {
	shards []shard
	index  *similar.Index
	seeds  *seeds
	counts *counters
}

// shard is one part of a memory store.
type shard struct {
	mu        sync.RWMutex
	items     map[formHash]*resident[*item]
	indexed   map[uint64]*resident[*item] // those in the index, by their id there
	residents residents[*item]
	closed    bool
}

// minShard is the least share of a shard: it leaves room for several entries
// of the largest size.
const minShard = 64 << 20

// maxShards is the most shards a store is split into.
const maxShards = 64

// newMemory is a store of up to capacity bytes.
func newMemory(capacity int64, env *environment) *memory {
	n := min(max(capacity/minShard, 1), maxShards)
	n = 1 << (bits.Len64(uint64(n)) - 1) // a power of two
	m := &memory{
		shards: make([]shard, n),
		index:  similar.New(similar.Options{}),
		seeds:  env.seeds,
		counts: env.counts,
	}
	for i := range m.shards {
		s := &m.shards[i]
		s.items = make(map[formHash]*resident[*item])
		s.indexed = make(map[uint64]*resident[*item])
		s.residents = newResidents(capacity/n, func(r *resident[*item], expired bool) {
			m.forget(s, r)
			if !expired {
				m.counts.evictions.Add(1)
			}
		})
	}
	return m
}

// shard is where the entry is whose hash starts with id.
func (m *memory) shard(id uint64) *shard { return &m.shards[id&uint64(len(m.shards)-1)] }

// forget takes r out of everything but the residents. s.mu is held.
func (m *memory) forget(s *shard, r *resident[*item]) {
	delete(s.items, r.value.key.hash)
	if s.indexed[r.id] == r {
		delete(s.indexed, r.id)
		m.index.Delete(r.id)
	}
}

// Get implements store.
func (m *memory) Get(_ context.Context, k *requestKey, now int64) *entry {
	s := m.shard(k.hash[0])
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.items[k.hash]
	if r == nil || r.expires <= now || !k.is(r.value.key) {
		return nil
	}
	r.asked.up()
	return r.value.entry
}

// Put implements store.
func (m *memory) Put(it *item, now int64) {
	s := m.shard(it.key.hash[0])
	q, partition := it.question, similar.Key{}
	if q != nil {
		partition = similar.Key(it.key.partition(m.seeds))
	}
	it = &item{key: it.key.short(), entry: it.entry} // the index has its own question
	r := &resident[*item]{value: it, id: it.key.hash[0], size: it.size() + questionSize(q), expires: it.entry.expires}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.residents.fits(r.size) {
		m.counts.drops.Add(1)
		return
	}
	if old := s.items[it.key.hash]; old != nil {
		s.residents.remove(old)
		m.forget(s, old)
		if old.asked.lower() {
			r.asked.up() // it is the same request that was asked for
		}
	}
	s.residents.add(r, now)
	s.items[it.key.hash] = r
	// Of two entries that have the same id by chance, one in 2^64, only the
	// first answers similar questions.
	if q != nil && s.indexed[r.id] == nil {
		s.indexed[r.id] = r
		m.index.Insert(partition, q, r.id, r.expires)
	}
}

// Nearest implements store.
func (m *memory) Nearest(_ context.Context, k *requestKey, q *similar.Question, threshold float64, now int64) (*entry, float64) {
	id, score, ok := m.index.Search(similar.Key(k.partition(m.seeds)), q, threshold, now)
	if !ok {
		return nil, 0
	}
	s := m.shard(id)
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.indexed[id]
	if r == nil || r.expires <= now || !k.samePartition(r.value.key) {
		return nil, 0 // it has left since the index was searched
	}
	r.asked.up()
	return r.value.entry, score
}

// Purge implements store.
func (m *memory) Purge(_ context.Context, sel selector) (int, error) {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		s.residents.each(func(r *resident[*item]) bool {
			if sel.selects(&r.value.key.tags) {
				s.residents.remove(r)
				m.forget(s, r)
				n++
			}
			return true
		})
		s.mu.Unlock()
	}
	return n, nil
}

// Size implements store.
func (m *memory) Size() (entries, bytes int64) {
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.RLock()
		entries += int64(s.residents.count())
		bytes += s.residents.bytes
		s.mu.RUnlock()
	}
	return entries, bytes
}

// Close implements store.
func (m *memory) Close() error {
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		s.closed = true
		s.residents.each(func(r *resident[*item]) bool {
			s.residents.remove(r)
			m.forget(s, r)
			return true
		})
		s.mu.Unlock()
	}
	return nil
}
