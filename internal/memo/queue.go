package memo

// queue is a first-in, first-out list of entries that any of them can leave.
type queue[V any] struct {
	newest, oldest *entry[V]
	bytes          int64
}

func (q *queue[V]) push(e *entry[V]) {
	e.in, e.older, e.newer = q, q.newest, nil
	if q.newest != nil {
		q.newest.newer = e
	} else {
		q.oldest = e
	}
	q.newest = e
	q.bytes += e.cost
}

func (q *queue[V]) remove(e *entry[V]) {
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		q.newest = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		q.oldest = e.newer
	}
	// A reader may still hold e: it must not keep its neighbours alive.
	e.in, e.newer, e.older = nil, nil, nil
	q.bytes -= e.cost
}

// ghosts remembers the hashes of what left the small queue last, in the order
// in which they left.
type ghosts struct {
	set   map[uint64]struct{}
	order []uint64
	head  int // order[:head] is gone
}

func (g *ghosts) add(h uint64) {
	if _, dup := g.set[h]; dup {
		return
	}
	g.set[h] = struct{}{}
	g.order = append(g.order, h)
}

// take reports whether h was there, and forgets it.
func (g *ghosts) take(h uint64) bool {
	if _, ok := g.set[h]; !ok {
		return false
	}
	delete(g.set, h) // its place in order is skipped when trim comes to it
	return true
}

// trim forgets the oldest until at most keep are left.
func (g *ghosts) trim(keep int) {
	for len(g.order)-g.head > keep {
		delete(g.set, g.order[g.head])
		g.head++
	}
	if g.head > len(g.order)/2 {
		g.order = g.order[:copy(g.order, g.order[g.head:])]
		g.head = 0
	}
}
