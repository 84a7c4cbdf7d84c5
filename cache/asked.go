package cache

import "sync/atomic"

// askedFor counts, up to a limit, how often an item was asked for. It is
// counted by readers that share a lock, so it is atomic.
type askedFor struct{ n atomic.Uint32 }

// askedLimit is where the count stops.
const askedLimit = 3

// up counts one. Once the limit is reached it writes nothing, so that what is
// asked for all the time is not passed between processors.
func (a *askedFor) up() {
	if a.n.Load() < askedLimit {
		a.n.Add(1)
	}
}

// lower counts one back and reports whether there was one.
func (a *askedFor) lower() bool {
	n := a.n.Load()
	if n == 0 {
		return false
	}
	a.n.Store(min(n, askedLimit) - 1)
	return true
}

// reset starts at none again and reports whether there was one.
func (a *askedFor) reset() bool { return a.n.Swap(0) > 0 }
