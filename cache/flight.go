package cache

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Errors that end a followed answer early. The client has part of it by then,
// so its connection is to be broken off rather than ended.
var (
	// ErrCut says that the answer broke off at the provider.
	ErrCut = errors.New("the answer that was being shared broke off")
	// ErrBehind says that the client reads so much slower than the answer
	// comes that what it lacks is no longer kept.
	ErrBehind = errors.New("the client fell too far behind the answer that was being shared")
)

// maxLeaders is how many provider calls in a row may fail before the first
// byte while a request waits for them. After that it goes alone.
const maxLeaders = 3

// minWindow is what is kept of an answer that is too large to be stored, for
// those who follow it, in bytes.
const minWindow = 64 << 10

// flights are the provider calls under way, so that equal requests share one.
type flights struct {
	mu     sync.Mutex
	byHash map[formHash]*flight

	// landed counts flights that have ended, each before it can be seen to have.
	// Whoever finds no flight to join, but sees that the count has changed since
	// it looked into the store, looks again.
	landed atomic.Uint64
	held   atomic.Int64 // bytes in the buffers of flights under way
	max    int64
}

// flight is one provider call. Whoever makes it, the leader, writes what comes
// into buf; everybody else who asked the same reads it from there, each from
// its own goroutine and into its own response. Only the flight is shared.
type flight struct {
	all *flights
	key *requestKey

	mu      sync.Mutex
	state   flightState
	changed chan struct{}      // closed at the next change, nil while nobody waits for one
	waiters int                // clients that want the answer, the leader's included
	left    bool               // the leader's is not among them any more
	cancel  context.CancelFunc // ends the provider call
	own     *feed              // of the leader's client, nil if the leader writes

	joinable    bool // it was entered for others to follow
	contentType string
	keep        bool   // whether buf is kept
	buf         []byte // the answer from base on; bytes once written never change
	base        int64
	limit       int    // of buf, in bytes
	counted     int    // bytes of buf in flights.held
	sliding     bool   // the answer is too large: buf holds only the latest part of it
	full        Reason // why it is too large
	whole       bool   // with what is being written the answer is whole
}

// flightState is how far a flight has come.
type flightState uint8

const (
	pending   flightState = iota // nothing has come yet
	streaming                    // the answer is coming
	complete                     // it has come
	broken                       // it broke off
	failed                       // there will be none; another call may bring one
	unshared                     // there will be none, and no other call would bring one
)

// enter returns the flight of the request k. lead says that the caller is to
// make the call. Otherwise it follows and must leave; or, if the flight is
// nil, it goes alone, as it does if join is false and there is a flight.
func (s *flights) enter(k *requestKey, join bool, limit int) (f *flight, lead bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.byHash[k.hash]; f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.state <= streaming && f.keep && f.full == None {
			if !join || !k.is(f.key) {
				return nil, false
			}
			f.waiters++
			if f.own != nil {
				f.own.turn.Broadcast() // the leader need not wait for its client
			}
			return f, false
		}
	}
	f = newFlight(s, k, limit)
	f.joinable = true
	s.byHash[k.hash] = f
	return f, true
}

// newFlight is a flight that nobody can join.
func newFlight(s *flights, k *requestKey, limit int) *flight {
	return &flight{all: s, key: k, waiters: 1, keep: true, limit: limit}
}

// unlist lets nobody join f any more.
func (f *flight) unlist() {
	s := f.all
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byHash[f.key.hash] == f {
		delete(s.byHash, f.key.hash)
	}
}

// wake tells everybody who waits for a change. f.mu is held.
func (f *flight) wake() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// wait waits for a change or the end of ctx. f.mu is held, but not meanwhile.
func (f *flight) wait(ctx context.Context) error {
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	changed := f.changed
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await waits for the first byte and returns the state then. If it is broken,
// failed or unshared, or on an error, the caller has nothing yet and leaves.
func (f *flight) await(ctx context.Context) (flightState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.state == pending {
		if err := f.wait(ctx); err != nil {
			return f.state, err
		}
	}
	return f.state, nil
}

// leave counts one client less, the leader's own if leader is set. When none
// is left the provider call ends.
func (f *flight) leave(leader bool) {
	f.mu.Lock()
	if leader && f.left {
		f.mu.Unlock()
		return
	}
	f.left = f.left || leader
	f.waiters--
	last := f.waiters == 0
	cancel := f.cancel
	if cancel == nil {
		cancel = func() {}
	}
	// A client that has its whole answer may close its connection before the
	// call has ended. The answer is worth keeping all the same.
	linger := f.whole && f.state <= streaming
	f.mu.Unlock()
	giveUp := func() {
		cancel()
		f.end(false)
	}
	switch {
	case last && linger:
		time.AfterFunc(endWithin, giveUp)
	case last:
		giveUp()
	}
}

// endWithin is how long a provider that has sent a whole answer has to end it,
// when nobody waits for that any more.
const endWithin = 5 * time.Second

// shared reports whether someone other than the leader's client wants the
// answer. f.mu is held.
func (f *flight) shared() bool { return f.waiters > 1 || f.left && f.waiters > 0 }

// expect says what kind of answer comes, of length bytes if that is more than
// 0, and whether it is kept.
func (f *flight) expect(contentType string, length int64, keep bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.contentType, f.keep = contentType, keep
	if keep && 0 < length && length <= int64(f.limit) {
		f.grow(int(length)) // if it fails, so will the first write
	}
}

// refuse says that those who wait get nothing from this call: they make
// another one if state is failed, each its own if it is unshared.
func (f *flight) refuse(state flightState) {
	f.mu.Lock()
	if f.state != pending {
		f.mu.Unlock()
		return
	}
	f.state, f.keep = state, false
	f.release()
	f.wake()
	f.mu.Unlock()
	f.unlist()
}

// write takes in what has come next. fed and err are those of Recorder.Write.
func (f *flight) write(p []byte) (fed bool, err error) {
	if len(p) == 0 {
		return false, nil
	}
	f.mu.Lock()
	overflows := false
	if f.own != nil {
		// If nobody shares the answer any more, the client catches up first:
		// what it lacks need not be kept for long.
		err = f.own.settle()
	}
	if err == nil && f.keep && f.state <= streaming {
		f.state = streaming
		overflows = f.hold(p)
		f.wake()
	}
	if f.own != nil && err == nil {
		fed, err = f.own.offer()
	}
	f.mu.Unlock()
	if overflows {
		f.unlist()
	}
	return fed || err != nil, err
}

// hold appends p to buf. It reports whether the answer has just become too
// large, after which nobody may join any more. f.mu is held.
func (f *flight) hold(p []byte) (overflows bool) {
	switch {
	case f.sliding:
		f.slide(p)
		return false
	case len(f.buf)+len(p) > f.limit:
		f.full = TooLarge
	case !f.grow(len(f.buf) + len(p)):
		f.full = NoMemory
	default:
		f.buf = append(f.buf, p...)
		return false
	}
	if !f.shared() {
		f.keep = false
		f.release()
		return true
	}
	// Those who follow may still be reading buf: from here on the flight has
	// one of its own, and they copy.
	f.sliding = true
	f.buf = append(make([]byte, 0, max(cap(f.buf), 2*minWindow)), f.buf...)
	f.slide(p)
	return true
}

// slide appends p and forgets the older half when there is no room. f.mu is
// held.
func (f *flight) slide(p []byte) {
	if len(f.buf)+len(p) > cap(f.buf) {
		drop := len(f.buf) - max(0, min(len(f.buf), cap(f.buf)/2-len(p)))
		f.base += int64(drop)
		f.buf = append(f.buf[:0], f.buf[drop:]...)
	}
	f.buf = append(f.buf, p...)
}

// firstBuffer is the least capacity of a buffer, in bytes.
const firstBuffer = 4 << 10

// grow makes room for n bytes in all, if the limit over all flights allows.
// What was read from the old buffer stays valid. f.mu is held.
func (f *flight) grow(n int) bool {
	if n <= cap(f.buf) {
		return true
	}
	to := max(n, min(max(2*cap(f.buf), firstBuffer), f.limit))
	more := int64(to - f.counted)
	if f.all.held.Add(more) > f.all.max {
		f.all.held.Add(-more)
		return false
	}
	f.counted = to
	f.buf = append(make([]byte, 0, to), f.buf...)
	return true
}

// release forgets buf. Those who read it still may. f.mu is held.
func (f *flight) release() {
	f.all.held.Add(-int64(f.counted))
	f.counted, f.buf = 0, nil
}

// end ends the flight: whole says that the answer has come to its end. Once
// ended, it stays as it is.
func (f *flight) end(whole bool) {
	f.mu.Lock()
	if f.state > streaming {
		f.mu.Unlock()
		return
	}
	f.all.landed.Add(1)
	switch {
	case whole && f.keep:
		f.state = complete
	case f.state == streaming:
		f.state = broken
	default:
		f.state = failed
	}
	f.all.held.Add(-int64(f.counted)) // what is left is with those who follow
	f.counted = 0
	f.wake()
	f.mu.Unlock()
	f.unlist()
}

// take returns the whole answer, and why there is none if there is none.
func (f *flight) take() ([]byte, Reason) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full != None {
		return nil, f.full
	}
	if !f.keep || f.state > streaming {
		return nil, Aborted
	}
	if len(f.buf) < cap(f.buf) {
		// Those who follow go on with the copy, so that only one stays.
		f.buf = append(make([]byte, 0, len(f.buf)), f.buf...)
	}
	return f.buf, None
}

// length is how much of the answer has come. f.mu is held.
func (f *flight) length() int64 { return f.base + int64(len(f.buf)) }

// at returns what stands at pos in the answer, nothing if that is yet to come.
// It is valid until the next call. f.mu is held.
func (f *flight) at(pos int64, scratch *[]byte) ([]byte, error) {
	switch {
	case pos >= f.length():
		return nil, nil
	case pos < f.base:
		return nil, ErrBehind
	}
	piece := f.buf[pos-f.base:]
	if f.sliding {
		*scratch = append((*scratch)[:0], piece[:min(len(piece), minWindow)]...)
		return *scratch, nil
	}
	return piece[:len(piece):len(piece)], nil
}

// next is at, but waits for what is yet to come. The error is io.EOF at the
// end.
func (f *flight) next(ctx context.Context, pos int64, scratch *[]byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		if piece, err := f.at(pos, scratch); err != nil || len(piece) > 0 {
			return piece, err
		}
		switch f.state {
		case complete:
			return nil, io.EOF
		case pending, streaming:
			if err := f.wait(ctx); err != nil {
				return nil, err
			}
		default:
			return nil, ErrCut
		}
	}
}
