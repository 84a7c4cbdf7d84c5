package guard

import "time"

// conversationID names a conversation of a subject.
type conversationID struct {
	*subject
	hash uint64
}

// conversation is one that goes on, with what it used in its period.
type conversation struct {
	id         conversationID
	prev, next *conversation // towards the more and the less recent
	seen       time.Time
	period     uint64
	treatment  Treatment
	counted    bool
	gone       bool // forgotten
	total      totals
}

// recent remembers the conversations that were seen last, a bounded number.
type recent struct {
	limit int
	byID  map[conversationID]*conversation
	ring  conversation // next is the most recent, prev the least recent
}

func (r *recent) init(limit int) {
	r.limit, r.byID = limit, make(map[conversationID]*conversation)
	r.ring.prev, r.ring.next = &r.ring, &r.ring
}

// get finds a conversation and notes that it goes on; nil if it is not known
// or was idle for too long.
func (r *recent) get(id conversationID, now time.Time) *conversation {
	c := r.byID[id]
	if c == nil {
		return nil
	}
	if now.Sub(c.seen) >= idleTime {
		r.remove(c)
		return nil
	}
	c.unlink()
	r.front(c, now)
	return c
}

// add remembers a new conversation in the place of what is idle for too long,
// or for longest.
func (r *recent) add(id conversationID, now time.Time) *conversation {
	for len(r.byID) > 0 && (len(r.byID) >= r.limit || now.Sub(r.ring.prev.seen) >= idleTime) {
		r.remove(r.ring.prev)
	}
	c := &conversation{id: id}
	r.byID[id] = c
	r.front(c, now)
	return c
}

func (r *recent) front(c *conversation, now time.Time) {
	c.seen = now
	c.prev, c.next = &r.ring, r.ring.next
	c.next.prev, r.ring.next = c, c
}

func (r *recent) remove(c *conversation) {
	c.unlink()
	c.gone = true
	delete(r.byID, c.id)
}

func (c *conversation) unlink() { c.prev.next, c.next.prev = c.next, c.prev }
