package cache

// residents decides what leaves a store that is full. It is S3-FIFO (Yang et
// al., "FIFO queues are all you need for cache eviction", SOSP 2023), counted
// in bytes: what comes in waits in a small queue and leaves it unless it is
// asked for again, so that a scan of requests that never come twice passes
// through without driving out what is in use. What leaves the small queue is
// remembered for a while by its id; if it comes back, it goes straight to the
// main queue.
//
// maypok86/otter v2 was tried for the stores and does not serve: it keeps its
// bound after the fact, in a maintenance task, and 16 goroutines that stored
// answers of 1 to 8 MiB took a cache of 256 MiB to 2.6 GiB for a moment
// (v2.4.0, with its default executor and with one that runs inline). Here what
// comes in and what leaves for it are one step under one lock, together with
// the index of similar questions, and the disk store and the mirrors use the
// same policy. On the mixes of BenchmarkHitRatio otter has 77.9, 74.6 and
// 71.7 % hits, this 77.7, 76.4 and 73.9 %.
//
// The zero value is not ready for use; see newResidents. Its caller locks.
type residents[T any] struct {
	capacity int64
	bytes    int64
	small    fifo[T]
	main     fifo[T]
	ghosts   ghosts
	hand     *resident[T] // next to be looked at by sweep

	// leave is told what left for lack of room or because it has expired.
	leave func(r *resident[T], expired bool)
}

// resident is one stored item.
type resident[T any] struct {
	value   T
	id      uint64 // hash of its name
	size    int64  // bytes
	expires int64  // Unix time in nanoseconds

	asked      askedFor // how often since it came or was looked at last
	queue      *fifo[T]
	prev, next *resident[T]
}

// smallShare is the part of the capacity that newcomers get: one in ten.
const smallShare = 10

func newResidents[T any](capacity int64, leave func(*resident[T], bool)) residents[T] {
	return residents[T]{capacity: capacity, leave: leave}
}

// fits reports whether an item of size bytes may come in. One item may take
// no more than half of the room.
func (s *residents[T]) fits(size int64) bool { return size <= s.capacity/2 }

// count is the number of items.
func (s *residents[T]) count() int { return s.small.count + s.main.count }

// add takes r in and makes room for it. It fits.
func (s *residents[T]) add(r *resident[T], now int64) {
	s.sweep(now)
	s.bytes += r.size
	for s.bytes > s.capacity {
		if s.small.count > 0 && (s.small.bytes > s.capacity/smallShare || s.main.count == 0) {
			s.evictSmall()
		} else {
			s.evictMain()
		}
	}
	if s.ghosts.take(r.id) {
		s.main.push(r)
	} else {
		s.small.push(r)
	}
}

// evictSmall looks at the oldest newcomer: it moves on if it was asked for,
// else it leaves.
func (s *residents[T]) evictSmall() {
	r := s.small.tail
	if r.asked.reset() {
		s.move(r, &s.main)
		return
	}
	s.ghosts.add(r.id, s.count())
	s.drop(r, false)
}

// evictMain looks at the oldest item of the main queue: it starts again if it
// was asked for, else it leaves.
func (s *residents[T]) evictMain() {
	r := s.main.tail
	if r.asked.lower() {
		s.move(r, &s.main)
		return
	}
	s.drop(r, false)
}

func (s *residents[T]) move(r *resident[T], to *fifo[T]) {
	if s.hand == r {
		s.hand = r.prev
	}
	r.queue.unlink(r)
	to.push(r)
}

func (s *residents[T]) drop(r *resident[T], expired bool) {
	s.remove(r)
	s.leave(r, expired)
}

// remove takes r out without telling leave.
func (s *residents[T]) remove(r *resident[T]) {
	if s.hand == r {
		s.hand = r.prev
	}
	r.queue.unlink(r)
	s.bytes -= r.size
}

// sweepStep is how many items one add looks at for their expiry.
const sweepStep = 4

// sweep drops a few expired items, so that over time none stays for long.
func (s *residents[T]) sweep(now int64) {
	for range sweepStep {
		if s.hand == nil {
			if s.hand = s.main.tail; s.hand == nil {
				s.hand = s.small.tail
			}
			if s.hand == nil {
				return
			}
		}
		r := s.hand
		if r.prev == nil && r.queue == &s.main {
			s.hand = s.small.tail
		} else {
			s.hand = r.prev
		}
		if r.expires <= now {
			s.drop(r, true)
		}
	}
}

// each calls f for every item until it returns false. f may remove the item
// it is given.
func (s *residents[T]) each(f func(*resident[T]) bool) {
	for _, q := range []*fifo[T]{&s.main, &s.small} {
		for r := q.tail; r != nil; {
			next := r.prev
			if !f(r) {
				return
			}
			r = next
		}
	}
}

// fifo is a queue of residents: they come in at the head and leave at the tail.
type fifo[T any] struct {
	head, tail *resident[T]
	bytes      int64
	count      int
}

func (q *fifo[T]) push(r *resident[T]) {
	r.queue, r.prev, r.next = q, nil, q.head
	if q.head != nil {
		q.head.prev = r
	} else {
		q.tail = r
	}
	q.head = r
	q.bytes += r.size
	q.count++
}

func (q *fifo[T]) unlink(r *resident[T]) {
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		q.head = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	} else {
		q.tail = r.prev
	}
	r.queue, r.prev, r.next = nil, nil, nil
	q.bytes -= r.size
	q.count--
}

// ghosts remembers the ids of what left the small queue, the newest ones only.
type ghosts struct {
	ids  map[uint64]struct{}
	ring []uint64 // in the order of leaving, from at on
	at   int
}

// minGhosts is the least number of ids that are remembered.
const minGhosts = 256

// add remembers id among at most limit others.
func (g *ghosts) add(id uint64, limit int) {
	limit = max(limit, minGhosts)
	if g.ids == nil {
		g.ids = make(map[uint64]struct{})
	}
	if _, ok := g.ids[id]; ok {
		return
	}
	for len(g.ring)-g.at >= limit {
		delete(g.ids, g.ring[g.at])
		g.at++
	}
	if g.at > len(g.ring)/2 {
		g.ring = append(g.ring[:0], g.ring[g.at:]...)
		g.at = 0
	}
	g.ids[id] = struct{}{}
	g.ring = append(g.ring, id)
}

// take reports whether id is remembered, and forgets it. Its place in the ring
// stays until its turn comes.
func (g *ghosts) take(id uint64) bool {
	_, ok := g.ids[id]
	delete(g.ids, id)
	return ok
}
