// Package cache answers requests to LLM providers from answers that were given
// before. It is plain Go and knows nothing of servers: a handler takes each
// request through it like this:
//
//	d, err := cache.ParseDirectives(header, overrides)
//	l := c.Lookup(ctx, &cache.Request{...}, &policy, d)
//	defer l.Close()
//	switch {
//	case l.Answered(): // stored, or shared with an equal request under way
//		l.SetAnswer(w.Header())
//		w.WriteHeader(http.StatusOK)
//		if err := l.WriteAnswer(ctx, w, flush); err != nil {
//			panic(http.ErrAbortHandler) // the client has a part: break off
//		}
//		return
//	case l.Outcome == cache.Unsatisfied: // only-if-cached: 504
//	case l.Outcome == cache.Gone: // the client left while it waited
//	}
//	if rec := l.Recorder; rec != nil {
//		// The provider call runs under rec.Context(). On the answer's way back:
//		rec.Header(status, header) // then l.SetHeaders(header)
//		rec.Write(p)               // each piece
//		rec.Commit(meter.End())    // only after a clean end; else Close aborts
//	}
//
// While rec.Followed() reports true, others share the answer: errors of
// writing to the request's own client are then to be ignored, and a write to
// it is to have a deadline, because what it holds up it holds up for all.
//
// What is promised: an answer is stored only if the adapter's Meter has proven
// it whole and it is fit to be given to the next (see unfitAnswer); it is given
// only to a request whose key is the same (see requestKey), or in the mode
// Similar to one that differs from it in the words of its last question alone
// and within the guard (see package similar); it is the same bytes; and a
// store that is slow, full, damaged or gone costs an answer, never a request.
package cache
