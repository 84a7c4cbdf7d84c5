package cache

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// A client whose request nobody shares gets each piece by itself and sets the
// pace of its provider.
func TestFeedInStep(t *testing.T) {
	d := dialects[0]
	bubble(t, Policy{Mode: Exact}, func(t *testing.T, s *site, provider *scripted) {
		leader := newClient()
		_, done := s.start(t.Context(), leader, d.path, d.askStream)
		provider.steps <- head
		for i, e := range d.stream {
			provider.steps <- event(e)
			synctest.Wait()
			if !slices.Equal(leader.pieces, d.stream[:i+1]) {
				t.Fatalf("after event %d the client has %q", i, leader.pieces)
			}
		}
		close(provider.steps)
		<-done
	})
	bubble(t, Policy{Mode: Exact}, func(t *testing.T, s *site, provider *scripted) {
		leader := newClient()
		leader.stall = make(chan struct{})
		_, done := s.start(t.Context(), leader, d.path, d.askStream)
		provider.steps <- head
		provider.steps <- event(d.stream[0])
		synctest.Wait()
		select {
		case provider.steps <- event(d.stream[1]):
			t.Error("the provider goes on while its only client does not read")
		default:
		}
		close(leader.stall)
		for _, e := range d.stream[1:] {
			provider.steps <- event(e)
		}
		close(provider.steps)
		<-done
		if got := leader.Body.String(); got != strings.Join(d.stream, "") {
			t.Errorf("the client got %q", got)
		}
	})
}

// Clients that do not read hold up nobody, whether they made the call or share
// it and whether they stopped before others came or after, and get the rest
// when they read on.
func TestFeedStalls(t *testing.T) {
	d := dialects[0]
	whole := strings.Join(d.stream, "")
	for join := range d.stream { // events that come before the others do
		bubble(t, Policy{Mode: Exact}, func(t *testing.T, s *site, provider *scripted) {
			leader, still := newClient(), newClient()
			leader.stall, still.stall = make(chan struct{}), make(chan struct{})
			led, leaderDone := s.start(t.Context(), leader, d.path, d.askStream)
			synctest.Wait()
			provider.steps <- head
			go func() {
				for _, e := range d.stream {
					provider.steps <- event(e)
				}
				close(provider.steps)
			}()
			if join > 0 {
				synctest.Wait()
			}
			_, stillDone := s.start(t.Context(), still, d.path, d.askStream)
			got, done := s.start(t.Context(), newClient(), d.path, d.askStream)
			<-done
			if got.Body.String() != whole || got.broken {
				t.Errorf("a client that reads got %q", got.Body)
			}
			if again := s.ask(d.path, d.askStream); again.outcome != Hit || s.calls.Load() != 1 {
				t.Errorf("%v after %d calls", again.outcome, s.calls.Load())
			}
			close(leader.stall)
			close(still.stall)
			<-leaderDone
			<-stillDone
			if leader.Body.String() != whole || still.Body.String() != whole || led.broken || led.reason != None {
				t.Errorf("the others got %q and %q, %v", leader.Body, still.Body, led.reason)
			}
		})
	}
}

// When those who shared the answer have gone, the client that made the call
// sets the pace again, gets all of it, and its going ends the call.
func TestFeedAloneAgain(t *testing.T) {
	d := dialects[0]
	for _, stays := range []bool{true, false} {
		bubble(t, Policy{Mode: Exact}, func(t *testing.T, s *site, provider *scripted) {
			leader := newClient()
			leader.stall = make(chan struct{})
			leaderCtx, leaderLeaves := context.WithCancel(t.Context())
			defer leaderLeaves()
			led, leaderDone := s.start(leaderCtx, leader, d.path, d.askStream)
			synctest.Wait()
			ctx, leave := context.WithCancel(t.Context())
			_, done := s.start(ctx, newClient(), d.path, d.askStream)
			synctest.Wait()
			provider.steps <- head
			provider.steps <- event(d.stream[0])
			provider.steps <- event(d.stream[1])
			synctest.Wait()
			leave()
			<-done
			provider.steps <- event(d.stream[2])
			synctest.Wait()
			select {
			case provider.steps <- event(d.stream[3]):
				t.Error("the provider goes on although the client that is left does not read")
			default:
			}
			if !stays {
				leader.fail.Store(true)
				leaderLeaves()
				synctest.Wait()
				if provider.ctx.Err() == nil {
					t.Error("the call goes on for nobody")
				}
				close(leader.stall)
				<-leaderDone
				if entries, _ := s.cache.store.Size(); entries != 0 || !led.broken {
					t.Errorf("%d entries, broken %v", entries, led.broken)
				}
				return
			}
			close(leader.stall)
			for _, e := range d.stream[3:] {
				provider.steps <- event(e)
			}
			close(provider.steps)
			<-leaderDone
			if leader.Body.String() != strings.Join(d.stream, "") || led.broken || led.reason != None {
				t.Errorf("got %q, %v", leader.Body, led.reason)
			}
		})
	}
}

// An answer that is too large to be kept leaves those behind who do not read;
// they are broken off, and the others have all of it.
func TestFeedTooFarBehind(t *testing.T) {
	d := dialects[0]
	piece := `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini","choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 16<<10) + `"},"finish_reason":null}]}` + "\n\n"
	var events []string
	for range 40 {
		events = append(events, piece)
	}
	events = append(events, d.stream...)
	for _, shared := range []bool{true, false} {
		bubble(t, Policy{Mode: Exact, MaxEntry: 64 << 10}, func(t *testing.T, s *site, provider *scripted) {
			leader := newClient()
			if shared {
				leader.stall = make(chan struct{})
			}
			led, leaderDone := s.start(t.Context(), leader, d.path, d.askStream)
			synctest.Wait()
			var got *reply
			var done <-chan struct{}
			if shared {
				got, done = s.start(t.Context(), newClient(), d.path, d.askStream)
				synctest.Wait()
			}
			provider.steps <- head
			for _, e := range events {
				provider.steps <- event(e)
				synctest.Wait()
			}
			close(provider.steps)
			if shared {
				<-done
				if got.Body.String() != strings.Join(events, "") || got.broken {
					t.Errorf("the client that reads got %d bytes", got.Body.Len())
				}
				close(leader.stall)
			}
			<-leaderDone
			if led.broken != shared || !shared && !slices.Equal(leader.pieces, events) {
				t.Errorf("shared %v: the client that made the call: broken %v, %d bytes in %d pieces", shared, led.broken, leader.Body.Len(), len(leader.pieces))
			}
			if led.reason != TooLarge {
				t.Errorf("reason %v", led.reason)
			}
		})
	}
}

// An answer that breaks off at the provider breaks off for all, also for a
// client that has not read what came before.
func TestFeedCut(t *testing.T) {
	d := dialects[0]
	bubble(t, Policy{Mode: Exact}, func(t *testing.T, s *site, provider *scripted) {
		leader := newClient()
		leader.stall = make(chan struct{})
		led, leaderDone := s.start(t.Context(), leader, d.path, d.askStream)
		synctest.Wait()
		got, done := s.start(t.Context(), newClient(), d.path, d.askStream)
		synctest.Wait()
		provider.steps <- head
		provider.steps <- event(d.stream[0])
		synctest.Wait() // from here on it is this answer that is shared
		provider.steps <- event(d.stream[1])
		provider.steps <- abort
		<-done
		close(leader.stall)
		<-leaderDone
		if want := strings.Join(d.stream[:2], ""); !got.broken || !led.broken || got.Body.String() != want || leader.Body.String() != want {
			t.Errorf("%v %q, %v %q", got.broken, got.Body, led.broken, leader.Body)
		}
	})
}

// A writer that panics ends its own request and no other.
func TestFeedPanics(t *testing.T) {
	d := dialects[0]
	bubble(t, Policy{Mode: Exact}, func(t *testing.T, s *site, provider *scripted) {
		leader := newClient()
		leader.panics = true
		led, leaderDone := s.start(t.Context(), leader, d.path, d.askStream)
		synctest.Wait()
		got, done := s.start(t.Context(), newClient(), d.path, d.askStream)
		synctest.Wait()
		provider.steps <- head
		for _, e := range d.stream {
			provider.steps <- event(e)
		}
		close(provider.steps)
		<-done
		<-leaderDone
		if got.Body.String() != strings.Join(d.stream, "") || got.broken || !led.broken {
			t.Errorf("the other one got %q; broken %v, %v", got.Body, got.broken, led.broken)
		}
	})
}
