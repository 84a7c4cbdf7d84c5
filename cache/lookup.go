package cache

import (
	"context"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache/similar"
)

// Outcome is what a lookup came to.
type Outcome uint8

// Outcomes.
const (
	Bypass      Outcome = iota + 1 // the request goes to the provider, the answer is not stored
	Miss                           // it goes to the provider, and Recorder takes in the answer
	Hit                            // answered from the cache
	HitSimilar                     // answered from the cache with the answer to a similar question
	Collapsed                      // answered with the answer to an equal request under way
	Unsatisfied                    // only-if-cached, and there is nothing: 504
	Gone                           // the client went away while it waited
)

// Lookup is one request's way through the cache, from Cache.Lookup to Close.
type Lookup struct {
	Outcome Outcome
	Reason  Reason // why it is a Bypass
	Err     error  // why it is Gone

	// Score is how similar the question is to the one whose answer this is,
	// from the threshold to 1. Only for HitSimilar.
	Score float64
	// Recorder takes in the provider's answer. Only for Miss.
	Recorder *Recorder

	cache   *Cache
	builder keyBuilder
	near    similar.Question
	text    []byte
	key     requestKey
	entry   *entry
	flight  *flight // that it follows
	now     int64
	ttl     time.Duration
	asked   bool // by the client, not to look up
	pos     int64
	scratch []byte
}

// Lookup decides how the request r is answered under p and d. It waits for
// the provider only to share the answer to an equal request under way, until
// that has begun. The result is to be closed when the request is done.
func (c *Cache) Lookup(ctx context.Context, r *Request, p *Policy, d Directives) *Lookup {
	l := c.lookups.Get().(*Lookup)
	l.ttl = p.TTL
	if d.TTL > 0 {
		l.ttl = min(l.ttl, d.TTL)
	}
	l.asked = d.Refresh
	if reason := l.identify(r, p, d); reason != None {
		return l.bypass(reason, d)
	}
	var owned *requestKey
	for tries := 0; ; tries++ {
		landed := c.flights.landed.Load()
		if l.find(ctx, p, d) {
			return l
		}
		if d.OnlyIfCached {
			l.Outcome = Unsatisfied
			c.counts.misses.Add(1)
			return l
		}
		if owned == nil {
			owned = l.key.own(r, d.Namespace)
		}
		if !p.shares(r.View) {
			return l.lead(ctx, newFlight(&c.flights, owned, int(p.MaxEntry)), r, p, d)
		}
		f, lead := c.flights.enter(owned, !d.Refresh && tries < maxLeaders, int(p.MaxEntry))
		if lead {
			// The answer may have been stored since find looked.
			if c.flights.landed.Load() != landed && l.find(ctx, p, d) {
				f.refuse(failed)
				f.leave(true)
				return l
			}
			return l.lead(ctx, f, r, p, d)
		}
		if f == nil {
			return l.lead(ctx, newFlight(&c.flights, owned, int(p.MaxEntry)), r, p, d)
		}
		state, err := f.await(ctx)
		if err == nil && (state == streaming || state == complete) {
			l.Outcome, l.flight = Collapsed, f
			c.counts.misses.Add(1)
			c.counts.coalesced.Add(1)
			return l
		}
		f.leave(false)
		if err != nil {
			l.Outcome, l.Err = Gone, err
			return l
		}
		if state == unshared {
			tries = maxLeaders
		}
	}
}

// identify makes the key, or says why the request has none.
func (l *Lookup) identify(r *Request, p *Policy, d Directives) Reason {
	switch {
	case p.Mode == Off:
		return ModeOff
	case d.Bad:
		return BadDirective
	case d.Off:
		return ByClient
	}
	if reason := cacheable(r.View, p); reason != None {
		return reason
	}
	var reason Reason
	l.key, reason = l.builder.build(r, p, d.Namespace, &l.cache.seeds, l.cache.ring)
	return reason
}

// bypass ends the lookup for reason.
func (l *Lookup) bypass(reason Reason, d Directives) *Lookup {
	l.Outcome, l.Reason = Bypass, reason
	if d.OnlyIfCached && reason != ModeOff {
		l.Outcome = Unsatisfied
	}
	l.cache.counts.bypassed[reason].Add(1)
	return l
}

// find looks for a stored answer, and reports whether there is one.
func (l *Lookup) find(ctx context.Context, p *Policy, d Directives) bool {
	if d.Refresh {
		return false
	}
	c := l.cache
	l.now = c.nanos()
	if e := c.store.Get(ctx, &l.key, l.now); e != nil && l.good(e, d) {
		l.Outcome, l.entry = Hit, e
		c.counts.exact.Add(1)
		return true
	}
	if p.Mode != Similar || d.ExactOnly || l.key.question.Len() == 0 {
		return false
	}
	l.text = l.key.appendQuestion(l.text[:0])
	if !c.ring.words.Prepare(&l.near, l.text, p.Guard) {
		return false
	}
	if e, score := c.store.Nearest(ctx, &l.key, &l.near, p.Threshold, l.now); e != nil && l.good(e, d) {
		l.Outcome, l.entry, l.Score = HitSimilar, e, score
		c.counts.similar.Add(1)
		return true
	}
	return false
}

// good reports whether e is as fresh as the policy and the client want it.
func (l *Lookup) good(e *entry, d Directives) bool {
	return e.left(l.now, l.ttl) > max(d.Fresh, 0) && (!d.Aged || e.age(l.now) <= d.Age)
}

// lead makes the lookup a miss whose answer goes into f.
func (l *Lookup) lead(ctx context.Context, f *flight, r *Request, p *Policy, d Directives) *Lookup {
	l.Outcome = Miss
	l.cache.counts.misses.Add(1)
	l.Recorder = newRecorder(ctx, l.cache, f, r, p, l.ttl)
	return l
}

// Answered reports whether the lookup itself has the answer, so that the
// request need not go to the provider.
func (l *Lookup) Answered() bool {
	return l.Outcome == Hit || l.Outcome == HitSimilar || l.Outcome == Collapsed
}

// Close ends the request's way through the cache. An answer whose Recorder was
// not told how it ended counts as broken off, so Close belongs in a defer. The
// Lookup is not to be used afterwards.
func (l *Lookup) Close() {
	if l.Recorder != nil {
		l.Recorder.close()
	}
	if l.flight != nil {
		l.flight.leave(false)
	}
	c := l.cache
	*l = Lookup{cache: c, builder: l.builder, near: l.near, text: l.text[:0], scratch: l.scratch[:0]}
	if cap(l.builder.canon.out) > maxPooled {
		l.builder = keyBuilder{}
	}
	c.lookups.Put(l)
}

// maxPooled is the largest key whose memory is kept for the next, in bytes.
const maxPooled = 1 << 20
