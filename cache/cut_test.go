package cache

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ways are how an answer can come to its end too early.
var ways = []struct {
	name string
	end  func()
}{
	{"aborted", func() { panic(http.ErrAbortHandler) }}, // as reverse_proxy unwinds
	{"ended", func() {}}, // a connection closed as if all were well
}

// An answer cut at any byte is never stored, however the end looks.
func TestCutAtEveryByte(t *testing.T) {
	for _, d := range dialects {
		for _, stream := range []bool{false, true} {
			ask, whole, kind := d.ask, d.answer, "application/json"
			if stream {
				ask, whole, kind = d.askStream, strings.Join(d.stream, ""), "text/event-stream"
			}
			for _, way := range ways {
				t.Run(fmt.Sprintf("%s/stream=%v/%s", d.name, stream, way.name), func(t *testing.T) {
					s := newSite(t, Policy{Mode: Similar}, Options{})
					for n := range len(whole) {
						s.provider = func(w http.ResponseWriter, _ *http.Request) {
							w.Header().Set("Content-Type", kind)
							w.Write([]byte(whole[:n]))
							way.end()
						}
						got := s.ask(d.path, ask)
						if got.Body.String() != whole[:n] {
							t.Fatalf("after %d bytes: the client got %q", n, got.Body)
						}
						if entries, _ := s.cache.store.Size(); entries != 0 || got.reason == None && !got.broken {
							t.Fatalf("after %d of %d bytes it was stored, ending %q", n, len(whole), whole[max(0, n-40):n])
						}
					}
					// What is whole is stored, so the above does not pass for want of trying.
					s.provider = func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Content-Type", kind)
						w.Write([]byte(whole))
					}
					if got := s.ask(d.path, ask); got.reason != None {
						t.Fatalf("the whole answer was not stored: %v", got.reason)
					}
					calls := s.calls.Load()
					if got := s.ask(d.path, ask); got.outcome != Hit || got.Body.String() != whole || s.calls.Load() != calls {
						t.Fatalf("the whole answer was not repeated: %v", got.outcome)
					}
				})
			}
		}
	}
}

// An answer whose length is not what its header says is never stored.
func TestContentLengthMismatch(t *testing.T) {
	d := dialects[0]
	for _, length := range []int{len(d.answer) - 1, len(d.answer) + 1} {
		s := newSite(t, Policy{Mode: Exact}, Options{})
		s.provider = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(length))
			w.Write([]byte(d.answer))
		}
		if got := s.ask(d.path, d.ask); got.reason != Aborted {
			t.Errorf("Content-Length %d of %d: %v", length, len(d.answer), got.reason)
		}
	}
}

// A stream is repeated event by event, whatever pieces it came in.
func TestReplayEventByEvent(t *testing.T) {
	for _, d := range dialects {
		s := newSite(t, Policy{Mode: Exact}, Options{})
		whole := strings.Join(d.stream, "")
		s.provider = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for rest := whole; rest != ""; {
				n := min(7, len(rest))
				w.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
		}
		s.ask(d.path, d.askStream)
		got := s.ask(d.path, d.askStream)
		if got.outcome != Hit || !slices.Equal(got.pieces, d.stream) {
			t.Errorf("%s: %v, flushed as %q", d.name, got.outcome, got.pieces)
		}
		if kind := got.Header().Get("Content-Type"); kind != "text/event-stream" {
			t.Errorf("%s: Content-Type %q", d.name, kind)
		}
	}
}
