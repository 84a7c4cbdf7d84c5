package cache

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache/similar"
)

// Recorder takes in the answer to a request that missed, on its way from the
// provider to the client. All its methods are called by the request's own
// goroutine.
type Recorder struct {
	cache  *Cache
	flight *flight
	policy *Policy
	ttl    time.Duration
	format adapter.Format
	stream bool   // an event stream was asked for
	purges uint64 // there had been when the request came

	ctx    context.Context
	stop   func() bool // stops watching the client
	reason Reason      // why the answer is not stored
	length int64       // Content-Length, -1 if there is none
	seen   int64       // bytes of body
	headed bool
	ended  bool
}

func newRecorder(client context.Context, c *Cache, f *flight, r *Request, p *Policy, ttl time.Duration) *Recorder {
	rec := &Recorder{cache: c, flight: f, policy: p, ttl: ttl, format: r.View.Format, stream: r.View.Stream, length: -1, purges: c.purges.Load()}
	ctx, cancel := context.WithCancel(context.WithoutCancel(client))
	rec.ctx = ctx
	f.mu.Lock()
	f.cancel = cancel
	f.mu.Unlock()
	rec.stop = context.AfterFunc(client, rec.leave)
	return rec
}

// leave counts the recorder's own client out, once.
func (r *Recorder) leave() { r.flight.leave(true) }

// Context is the context for the provider call. It has the values of the
// client's, but ends when the last client that wants the answer is gone.
func (r *Recorder) Context() context.Context { return r.ctx }

// Followed reports whether another client shares the answer. While one does,
// the provider call is to go on, although its own client may have gone and
// writing to it fails.
func (r *Recorder) Followed() bool {
	r.flight.mu.Lock()
	defer r.flight.mu.Unlock()
	return r.flight.shared()
}

// Header takes in the status and the header of the answer, informational ones
// excepted, as they came from the provider.
func (r *Recorder) Header(status int, h http.Header) {
	if r.headed {
		return
	}
	r.headed = true
	if values := h["Content-Length"]; len(values) == 1 {
		if n, err := strconv.ParseInt(values[0], 10, 64); err == nil {
			r.length = n
		}
	}
	reason, others := unfit(status, h, r.stream)
	r.reason = reason
	r.flight.expect(h.Get("Content-Type"), r.length, r.reason == None)
	if r.reason != None {
		r.flight.refuse(others)
	}
}

// unfit says why an answer with this status and header is neither stored nor
// shared, None if it may be, and what becomes of those who wait for it.
func unfit(status int, h http.Header, stream bool) (Reason, flightState) {
	if status != http.StatusOK {
		return NotOK, failed
	}
	for _, encoding := range h["Content-Encoding"] {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return OtherForm, unshared
		}
	}
	want := "application/json"
	if stream {
		want = "text/event-stream"
	}
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), want) {
		return OtherForm, unshared
	}
	for _, line := range h["Cache-Control"] {
		for line != "" {
			var item string
			item, line = cutItem(line)
			if strings.EqualFold(strings.TrimSpace(item), "no-store") {
				return Forbidden, unshared
			}
		}
	}
	return None, failed
}

// Write takes in what came next of the body. It keeps a copy. fed says that
// the client gets it through the Feed; otherwise the caller writes it. The
// error is one of the client's connection, or why it gets no more; while
// others share the answer there is none.
func (r *Recorder) Write(p []byte) (fed bool, err error) {
	r.seen += int64(len(p))
	if r.reason != None {
		return false, nil
	}
	return r.flight.write(p)
}

// Whole says that with the next Write the answer is whole, by what stands in it:
// all that is still to come is its end. From then on a client that leaves does
// not end the provider call.
func (r *Recorder) Whole() {
	r.flight.mu.Lock()
	r.flight.whole = true
	r.flight.mu.Unlock()
}

// Commit says that the answer has come to its clean end, and stores it if
// what the Meter made of it proves that it is complete and fit to be reused.
// It returns why it was not stored, None if it was.
func (r *Recorder) Commit(a *adapter.Answer) Reason {
	if r.ended {
		return Aborted
	}
	if r.reason == None {
		r.reason = r.store(a)
	}
	if r.reason == None {
		r.cache.counts.stored.Add(1)
	}
	r.end(r.reason != Aborted)
	return r.reason
}

// store stores the answer, or says why not.
func (r *Recorder) store(a *adapter.Answer) Reason {
	if !r.headed || r.length >= 0 && r.length != r.seen {
		return Aborted
	}
	if reason := unfitAnswer(r.format, a, r.policy.ToolCalls); reason != None {
		return reason
	}
	body, reason := r.flight.take()
	if reason != None {
		return reason
	}
	c, k := r.cache, r.flight.key
	if c.purges.Load() != r.purges {
		return Purged
	}
	now := c.nanos()
	it := &item{
		key:   k,
		entry: &entry{ContentType: r.flight.contentType, Body: body, created: now, expires: now + int64(r.ttl)},
	}
	if r.policy.Mode == Similar && !a.ToolCalls {
		var q similar.Question
		if c.ring.words.Prepare(&q, k.appendQuestion(nil), r.policy.Guard) {
			it.question = &q
		}
	}
	c.store.Put(it, now)
	return None
}

// Abort says that the answer broke off, or that there was none.
func (r *Recorder) Abort() {
	if r.ended {
		return
	}
	if r.reason == None {
		r.reason = Aborted
	}
	r.end(false)
}

func (r *Recorder) end(whole bool) {
	r.ended = true
	if r.reason != None {
		r.cache.counts.unfit[r.reason].Add(1)
	}
	r.flight.end(whole)
}

// close ends the recorder's part in the flight.
func (r *Recorder) close() {
	r.Abort()
	r.Drain() // the caller has seen the error, if it still wanted to
	r.stop()
	r.leave()
}
