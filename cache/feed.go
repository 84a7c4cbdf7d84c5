package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"sync"
)

// ErrPanic says that writing to a client panicked in the goroutine of its
// feed.
var ErrPanic = errors.New("panic while an answer was written")

// feed gives the client whose request made the provider call its answer, from
// the flight like every client that follows, but in step with the handler: as
// long as nobody follows, the handler waits after each piece until the client
// has it, so that a client that reads slowly slows the provider down and each
// piece is one write and one flush. Once somebody follows, the handler does
// not wait, and a client that stops reading holds up nobody but itself.
//
// Whether somebody will follow is not known while a write blocks, so the
// handler itself never writes what others may share. From the first piece
// until Recorder.Drain returns the goroutine of the feed is the only one that
// touches the response.
type feed struct {
	flight *flight
	w      io.Writer
	flush  func() error

	// All below is guarded by flight.mu.

	turn    sync.Cond // the handler and the goroutine wait for each other
	running bool      // the goroutine was started
	over    bool      // it has ended
	pos     int64     // what the client has got
	ended   bool      // nothing more will come
	flushes bool      // the handler flushes what it writes
	due     bool      // it waits for a flush
	clean   int64     // what was flushed, -1 if nothing was, not even the header
	err     error     // of w or flush, or ErrBehind
	scratch []byte
}

// Feed says how the recorder's own client gets the answer that Write takes in.
// It is called between Header and the first Write. Without it, and of an
// answer that nobody can share, the caller writes it.
func (r *Recorder) Feed(w io.Writer, flush func() error) {
	f := r.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.joinable && f.keep {
		f.own = &feed{flight: f, w: w, flush: flush, clean: -1}
		f.own.turn.L = &f.mu
	}
}

// Flush flushes what Write took in. fed says that this was done, or will be;
// otherwise it is left to the caller. The error is that of Write.
func (r *Recorder) Flush() (fed bool, err error) {
	f := r.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.own
	if d == nil {
		return false, nil
	}
	d.flushes = true
	if !d.running || d.over && d.err == nil {
		return false, nil
	}
	if d.clean != f.length() {
		d.due = true
		d.turn.Broadcast()
	}
	return true, d.settle()
}

// Drain waits until the recorder's own client has all it gets, and returns why
// that is not the whole answer if it is not; the client's connection is then
// to be broken off. It is called after Commit or Abort, so that nobody waits
// for this client, and before the caller touches the response again.
func (r *Recorder) Drain() error {
	f := r.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == nil {
		return nil
	}
	f.own.stop()
	return f.own.err
}

// offer gives the client what the flight has just taken in, if it has. fed and
// err are those of Recorder.Write. flight.mu is held.
func (d *feed) offer() (fed bool, err error) {
	switch f := d.flight; {
	case !f.keep:
		d.stop() // the client has all that came before
		return false, d.err
	case f.state > streaming:
		return true, context.Canceled // nobody wants it any more
	case !d.running:
		d.running = true
		go d.run()
	default:
		d.turn.Broadcast()
	}
	return true, d.settle()
}

// settle waits until the client has all there is, gets no more, or is not
// waited for because others share the answer. The error is why it gets no
// more, nil if others share. flight.mu is held.
func (d *feed) settle() error {
	f := d.flight
	for d.running && !d.over && !f.shared() && (d.pos != f.length() || d.due) {
		d.turn.Wait()
	}
	if f.shared() {
		return nil
	}
	return d.err
}

// stop ends the goroutine once the client has all there is. flight.mu is held.
func (d *feed) stop() {
	d.ended = true
	d.turn.Broadcast()
	for d.running && !d.over {
		d.turn.Wait()
	}
}

// run is the goroutine.
func (d *feed) run() {
	f := d.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	for d.err == nil {
		piece, err := f.at(d.pos, &d.scratch)
		if err != nil {
			d.err = err
			break
		}
		if len(piece) == 0 && !d.due {
			if d.ended {
				break
			}
			d.turn.Wait()
			continue
		}
		flush := d.flushes || d.due
		d.due = false
		f.mu.Unlock()
		err = d.give(piece, flush)
		f.mu.Lock()
		d.pos += int64(len(piece))
		if flush {
			d.clean = d.pos
		}
		d.err = err
		d.turn.Broadcast()
	}
	d.over = true
	d.turn.Broadcast()
}

// give writes one piece, which may be empty.
func (d *feed) give(piece []byte, flush bool) (err error) {
	defer func() {
		if v := recover(); v == http.ErrAbortHandler {
			err = http.ErrAbortHandler
		} else if v != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanic, v, debug.Stack())
		}
	}()
	if len(piece) > 0 {
		if _, err := d.w.Write(piece); err != nil {
			return err
		}
	}
	if flush {
		return d.flush()
	}
	return nil
}
