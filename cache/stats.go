package cache

import "sync/atomic"

// counters count what a cache and its store do.
type counters struct {
	exact, similar  atomic.Int64
	misses          atomic.Int64
	coalesced       atomic.Int64
	stored          atomic.Int64
	evictions       atomic.Int64
	drops           atomic.Int64
	damaged         atomic.Int64
	unreachable     atomic.Int64
	bypassed, unfit [reasonCount]atomic.Int64
}

// Stats are the numbers of one cache since it was opened.
type Stats struct {
	// Entries and Bytes are what is stored now; -1 if only the server knows.
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`

	// Hits are answers from the cache, of the same request or of a similar one.
	HitsExact   int64 `json:"hits_exact"`
	HitsSimilar int64 `json:"hits_similar"`
	// Misses are requests for which nothing was stored.
	Misses int64 `json:"misses"`
	// Coalesced are those misses that shared the answer to an equal request
	// under way.
	Coalesced int64 `json:"coalesced"`
	// Bypasses are requests that passed the cache by, by reason.
	Bypasses map[string]int64 `json:"bypasses"`

	// Stored are answers that were stored, NotStored those that were not, by
	// reason.
	Stored    int64            `json:"stored"`
	NotStored map[string]int64 `json:"not_stored"`
	// Evictions are entries that left for lack of room.
	Evictions int64 `json:"evictions"`
	// Drops are answers that the store could not take: too large, too many at
	// once, or not reachable.
	Drops int64 `json:"drops"`
	// Damaged are stored records that were dropped because they were damaged
	// or written by somebody else.
	Damaged int64 `json:"damaged"`
	// Unreachable are uses of the store that failed because it could not be
	// reached in time.
	Unreachable int64 `json:"unreachable"`

	// InFlight is the number of bytes of answers that are being recorded.
	InFlight int64 `json:"in_flight_bytes"`
}

// Stats are c's numbers.
func (c *Cache) Stats() Stats {
	n := &c.counts
	s := Stats{
		HitsExact:   n.exact.Load(),
		HitsSimilar: n.similar.Load(),
		Misses:      n.misses.Load(),
		Coalesced:   n.coalesced.Load(),
		Bypasses:    byReason(&n.bypassed),
		Stored:      n.stored.Load(),
		NotStored:   byReason(&n.unfit),
		Evictions:   n.evictions.Load(),
		Drops:       n.drops.Load(),
		Damaged:     n.damaged.Load(),
		Unreachable: n.unreachable.Load(),
		InFlight:    c.flights.held.Load(),
	}
	s.Entries, s.Bytes = c.store.Size()
	return s
}

func byReason(n *[reasonCount]atomic.Int64) map[string]int64 {
	m := make(map[string]int64)
	for i := range n {
		if v := n[i].Load(); v > 0 {
			m[Reason(i).String()] = v
		}
	}
	return m
}
