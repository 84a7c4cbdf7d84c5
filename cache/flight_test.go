package cache

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// start sends a request from a goroutine of its own. The reply is there once
// the channel is closed.
func (s *site) start(ctx context.Context, w *client, path, body string, headers ...string) (*reply, <-chan struct{}) {
	out, done := new(reply), make(chan struct{})
	go func() {
		defer close(done)
		*out = *s.askAs(ctx, w, path, body, headers...)
	}()
	return out, done
}

func newClient() *client { return &client{ResponseRecorder: httptest.NewRecorder()} }

// A thousand equal requests at once make one provider call, and all get the
// same bytes, whether they came before the answer began, during it or after.
func TestThousandAtOnce(t *testing.T) {
	for _, stream := range []bool{false, true} {
		d := dialects[0]
		ask, whole := d.ask, d.answer
		if stream {
			ask, whole = d.askStream, strings.Join(d.stream, "")
		}
		s := newSite(t, Policy{Mode: Exact}, Options{})
		gate := make(chan struct{})
		s.provider = func(w http.ResponseWriter, r *http.Request) {
			<-gate
			if stream {
				streamAnswer(d.stream...)(w, r)
			} else {
				jsonAnswer(d.answer)(w, r)
			}
		}
		var wg sync.WaitGroup
		var bad sync.Map
		const n = 1000
		for i := range n {
			wg.Go(func() {
				if i == n/2 {
					close(gate)
				}
				if got := s.ask(d.path, ask); got.Body.String() != whole || got.broken {
					bad.Store(i, got.Body.String())
				}
			})
		}
		wg.Wait()
		bad.Range(func(i, body any) bool { t.Errorf("request %d got %q", i, body); return false })
		if calls := s.calls.Load(); calls != 1 {
			t.Errorf("stream=%v: %d provider calls", stream, calls)
		}
		n2 := s.cache.Stats()
		if n2.HitsExact+n2.Coalesced != n-1 || n2.Stored != 1 || n2.InFlight != 0 {
			t.Errorf("stream=%v: %+v", stream, n2)
		}
	}
}

// scripted is a provider that does one step after the other as the test says.
type scripted struct {
	steps chan func(w http.ResponseWriter)
	ctx   context.Context // of the call that runs
}

func newScripted() *scripted { return &scripted{steps: make(chan func(http.ResponseWriter))} }

func (p *scripted) serve(w http.ResponseWriter, r *http.Request) {
	p.ctx = r.Context()
	for {
		select {
		case step, more := <-p.steps:
			if !more {
				return
			}
			step(w)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

func head(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
}

func event(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Write([]byte(text))
		w.(http.Flusher).Flush()
	}
}

func abort(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// bubble runs f with a site whose provider is scripted, in a bubble in which
// synctest.Wait waits until everybody waits.
func bubble(t *testing.T, p Policy, f func(t *testing.T, s *site, provider *scripted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, p, Options{})
		provider := newScripted()
		s.provider = provider.serve
		f(t, s, provider)
		if held := s.cache.flights.held.Load(); held != 0 {
			t.Errorf("%d bytes are still counted as in flight", held)
		}
		if n := len(s.cache.flights.byHash); n != 0 {
			t.Errorf("%d flights are still listed", n)
		}
	})
}

// Followers get each piece as it comes, from the beginning, whenever they join.
func TestFollowersStream(t *testing.T) {
	d := dialects[0]
	bubble(t, Policy{Mode: Exact}, func(t *testing.T, s *site, provider *scripted) {
		ctx := t.Context()
		leader := newClient()
		_, leaderDone := s.start(ctx, leader, d.path, d.askStream)
		synctest.Wait()
		early := newClient()
		earlyGot, earlyDone := s.start(ctx, early, d.path, d.askStream)
		provider.steps <- head
		synctest.Wait()
		if early.Code != http.StatusOK || early.Flushed || early.Body.Len() != 0 {
			t.Errorf("a follower was answered before the first byte")
		}
		late := newClient()
		var lateGot *reply
		var lateDone <-chan struct{}
		for i, e := range d.stream {
			provider.steps <- event(e)
			synctest.Wait()
			if i == 2 {
				lateGot, lateDone = s.start(ctx, late, d.path, d.askStream)
				synctest.Wait()
			}
			if !slices.Equal(early.pieces, d.stream[:i+1]) {
				t.Fatalf("after event %d a follower has %q", i, early.pieces)
			}
			if so := strings.Join(d.stream[:i+1], ""); i >= 2 && late.Body.String() != so {
				t.Fatalf("after event %d a late follower has %q", i, late.Body)
			}
		}
		close(provider.steps)
		<-leaderDone
		<-earlyDone
		<-lateDone
		if s.calls.Load() != 1 {
			t.Errorf("%d provider calls", s.calls.Load())
		}
		for _, got := range []*reply{earlyGot, lateGot} {
			if got.outcome != Collapsed || got.result() != "MISS" || got.Header().Get("Cache-Status") != "llm-gateway; fwd=miss; collapsed" {
				t.Errorf("%v %v", got.outcome, got.Header())
			}
		}
	})
}

// The call goes on for whoever still wants the answer, although the client
// that made it has gone; what comes is stored.
func TestLeaderClientLeaves(t *testing.T) {
	d := dialects[0]
	for _, sent := range []int{0, 2} {
		bubble(t, Policy{Mode: Exact}, func(t *testing.T, s *site, provider *scripted) {
			leaderCtx, leave := context.WithCancel(t.Context())
			leader := newClient()
			_, leaderDone := s.start(leaderCtx, leader, d.path, d.askStream)
			synctest.Wait()
			got, done := s.start(t.Context(), newClient(), d.path, d.askStream)
			synctest.Wait()
			if sent > 0 {
				provider.steps <- head
			}
			for _, e := range d.stream[:sent] {
				provider.steps <- event(e)
			}
			synctest.Wait()
			leader.fail.Store(true)
			leave()
			synctest.Wait()
			if provider.ctx.Err() != nil {
				t.Fatal("the provider call ended with the leader's client")
			}
			if sent == 0 {
				provider.steps <- head
			}
			for _, e := range d.stream[sent:] {
				provider.steps <- event(e)
			}
			close(provider.steps)
			<-leaderDone
			<-done
			if got.Body.String() != strings.Join(d.stream, "") || got.broken {
				t.Errorf("after %d events: the follower got %q", sent, got.Body)
			}
			if again := s.ask(d.path, d.askStream); again.outcome != Hit || s.calls.Load() != 1 {
				t.Errorf("after %d events: %v, %d calls", sent, again.outcome, s.calls.Load())
			}
		})
	}
}

// When the last client has gone the provider call ends, and nothing is stored.
func TestLastClientLeaves(t *testing.T) {
	d := dialects[0]
	for _, sent := range []int{0, 2, 4} {
		bubble(t, Policy{Mode: Exact}, func(t *testing.T, s *site, provider *scripted) {
			ctx, leave := context.WithCancel(t.Context())
			leader := newClient()
			_, leaderDone := s.start(ctx, leader, d.path, d.askStream)
			synctest.Wait()
			followerCtx, followerLeaves := context.WithCancel(t.Context())
			_, followerDone := s.start(followerCtx, newClient(), d.path, d.askStream)
			synctest.Wait()
			provider.steps <- head
			for _, e := range d.stream[:sent] {
				provider.steps <- event(e)
			}
			synctest.Wait()
			leader.fail.Store(true)
			leave()
			synctest.Wait()
			if provider.ctx.Err() != nil {
				t.Fatal("the call ended although a client was left")
			}
			followerLeaves()
			<-followerDone
			synctest.Wait()
			if provider.ctx.Err() == nil {
				t.Fatal("the call went on although nobody was left")
			}
			<-leaderDone
			if entries, _ := s.cache.store.Size(); entries != 0 {
				t.Errorf("after %d events something was stored", sent)
			}
		})
	}
}

// A client that leaves when it has its whole answer, as one does that uses a
// connection once, does not keep the answer from being stored. A provider that
// does not end what is whole is given up after a while.
func TestClientLeavesWithTheWholeAnswer(t *testing.T) {
	d := dialects[0]
	for _, ends := range []bool{true, false} {
		bubble(t, Policy{Mode: Exact}, func(t *testing.T, s *site, provider *scripted) {
			ctx, leave := context.WithCancel(t.Context())
			_, done := s.start(ctx, newClient(), d.path, d.askStream)
			synctest.Wait()
			provider.steps <- head
			for _, e := range d.stream {
				provider.steps <- event(e)
			}
			synctest.Wait()
			leave()
			synctest.Wait()
			if provider.ctx.Err() != nil {
				t.Fatal("the call was cut off behind its last event")
			}
			if !ends {
				time.Sleep(endWithin)
				synctest.Wait()
				if provider.ctx.Err() == nil {
					t.Fatal("the call goes on although nobody waits and nothing comes")
				}
				<-done
				if entries, _ := s.cache.store.Size(); entries != 0 {
					t.Error("an answer that never ended was stored")
				}
				return
			}
			close(provider.steps)
			<-done
			if again := s.ask(d.path, d.askStream); again.outcome != Hit || s.calls.Load() != 1 {
				t.Errorf("%v, %d calls", again.outcome, s.calls.Load())
			}
		})
	}
}

// A call that fails before the first byte is made again for those who wait,
// once for all of them.
func TestReelection(t *testing.T) {
	d := dialects[0]
	for name, fail := range map[string]func(w http.ResponseWriter){
		"abort":         abort,
		"status":        func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		"header alone":  func(w http.ResponseWriter) { head(w); panic(http.ErrAbortHandler) },
		"another shape": func(w http.ResponseWriter) { jsonAnswer(d.answer)(w, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, Policy{Mode: Exact}, Options{})
				gate := make(chan struct{})
				s.provider = func(w http.ResponseWriter, r *http.Request) {
					<-gate
					if s.calls.Load() == 1 {
						fail(w)
						return
					}
					<-gate
					streamAnswer(d.stream...)(w, r)
				}
				first, firstDone := s.start(t.Context(), newClient(), d.path, d.askStream)
				synctest.Wait()
				var got []*reply
				var done []<-chan struct{}
				const n = 5
				for range n {
					g, c := s.start(t.Context(), newClient(), d.path, d.askStream)
					got, done = append(got, g), append(done, c)
				}
				synctest.Wait()
				gate <- struct{}{}
				<-firstDone
				synctest.Wait()
				want := int64(2)
				if name == "another shape" {
					want = 1 + n // every call would bring the same
				}
				if calls := s.calls.Load(); calls != want {
					t.Errorf("%d calls after the first one failed, expected %d", calls, want)
				}
				close(gate)
				for i, g := range got {
					<-done[i]
					if g.Body.String() != strings.Join(d.stream, "") || g.broken {
						t.Errorf("a follower got %q", g.Body)
					}
				}
				if calls := s.calls.Load(); calls != want {
					t.Errorf("%d calls at last", calls)
				}
				if first.Body.String() == strings.Join(d.stream, "") {
					t.Error("the first client got an answer that was not its own")
				}
			})
		})
	}
}

// An error of the provider goes to the client it was for. Those who wait make
// the call themselves, at last each its own.
func TestStatusIsNotShared(t *testing.T) {
	d := dialects[0]
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, Policy{Mode: Exact}, Options{})
		gate := make(chan struct{})
		s.provider = func(w http.ResponseWriter, r *http.Request) {
			<-gate
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTooManyRequests)
			w.Write([]byte(`{"error":{"message":"slow down"}}`))
		}
		var all []*reply
		var done []<-chan struct{}
		const n = 10
		for range n {
			g, c := s.start(t.Context(), newClient(), d.path, d.askStream)
			all, done = append(all, g), append(done, c)
		}
		synctest.Wait()
		for want := int64(1); want <= maxLeaders; want++ {
			if calls := s.calls.Load(); calls != want {
				t.Fatalf("%d calls, expected %d", calls, want)
			}
			gate <- struct{}{}
			synctest.Wait()
		}
		if calls := s.calls.Load(); calls != n {
			t.Errorf("%d calls after %d failures, expected %d", calls, maxLeaders, n)
		}
		close(gate)
		for i := range all {
			<-done[i]
			if all[i].Code != http.StatusTooManyRequests || all[i].outcome != Miss || all[i].Body.Len() == 0 {
				t.Errorf("%v %d %q", all[i].outcome, all[i].Code, all[i].Body)
			}
		}
	})
}

// An answer that breaks off after the first byte breaks off for everybody.
func TestLeaderDiesMidStream(t *testing.T) {
	d := dialects[0]
	bubble(t, Policy{Mode: Exact}, func(t *testing.T, s *site, provider *scripted) {
		first, firstDone := s.start(t.Context(), newClient(), d.path, d.askStream)
		synctest.Wait()
		var got []*reply
		var done []<-chan struct{}
		for range 3 {
			g, c := s.start(t.Context(), newClient(), d.path, d.askStream)
			got, done = append(got, g), append(done, c)
		}
		synctest.Wait()
		provider.steps <- head
		provider.steps <- event(d.stream[0])
		synctest.Wait()
		provider.steps <- abort
		<-firstDone
		for i, g := range got {
			<-done[i]
			if !g.broken || g.Body.String() != d.stream[0] {
				t.Errorf("a follower got %q, broken: %v", g.Body, g.broken)
			}
		}
		if !first.broken || s.calls.Load() != 1 {
			t.Errorf("broken: %v, %d calls", first.broken, s.calls.Load())
		}
	})
}

// What is too large to be stored still reaches everybody, and keeps no more
// memory than max_entry.
func TestTooLargeToStore(t *testing.T) {
	d := dialects[0]
	const limit = 256 << 10
	piece := "data: " + strings.Repeat("x", 32<<10) + "\n\n"
	bubble(t, Policy{Mode: Exact, MaxEntry: limit}, func(t *testing.T, s *site, provider *scripted) {
		leader := newClient()
		leaderGot, leaderDone := s.start(t.Context(), leader, d.path, d.askStream)
		synctest.Wait()
		follower := newClient()
		got, done := s.start(t.Context(), follower, d.path, d.askStream)
		synctest.Wait()
		provider.steps <- head
		const pieces = 3 * limit / (32 << 10)
		for range pieces {
			provider.steps <- event(piece)
			synctest.Wait()
			if held := s.cache.flights.held.Load(); held > limit {
				t.Fatalf("%d bytes in flight", held)
			}
		}
		// A newcomer does not join what can no longer be had from the start.
		if s.calls.Load() != 1 {
			t.Fatal("second call too early")
		}
		close(provider.steps)
		<-leaderDone
		<-done
		if whole := strings.Repeat(piece, pieces); got.Body.String() != whole || leaderGot.Body.String() != whole || got.broken {
			t.Errorf("the follower got %d of %d bytes", got.Body.Len(), len(whole))
		}
		if leaderGot.reason == None {
			t.Error("it was stored")
		}
	})
}

// slowClient takes what is written only when the test lets it.
type slowClient struct {
	*client
	let chan struct{}
}

func (c *slowClient) Write(p []byte) (int, error) {
	<-c.let
	return c.client.Write(p)
}

// A follower that reads too slowly is broken off; it holds up nobody and no
// memory.
func TestFollowerFallsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &flights{byHash: map[formHash]*flight{}, max: 1 << 20}
		k := &requestKey{form: []byte("k")}
		f, lead := all.enter(k, true, 256<<10)
		if !lead {
			t.Fatal("not the first")
		}
		g, lead := all.enter(k, true, 256<<10)
		if lead || g != f {
			t.Fatal("it did not join")
		}
		slow := &slowClient{newClient(), make(chan struct{})}
		l := &Lookup{flight: f}
		failed := make(chan error)
		go func() {
			if _, err := f.await(t.Context()); err != nil {
				failed <- err
				return
			}
			failed <- l.WriteAnswer(t.Context(), slow, nil)
		}()
		f.expect("text/event-stream", 0, true)
		piece := make([]byte, 32<<10)
		for range 40 {
			f.write(piece)
			synctest.Wait()
		}
		if held := all.held.Load(); held > 256<<10 || cap(f.buf) > 256<<10 {
			t.Errorf("%d bytes in flight, a buffer of %d", held, cap(f.buf))
		}
		close(slow.let)
		if err := <-failed; err != ErrBehind {
			t.Errorf("the slow follower ended with %v", err)
		}
		f.end(true)
		if held := all.held.Load(); held != 0 {
			t.Errorf("%d bytes in flight", held)
		}
	})
}

// When too many answers are being recorded, more are passed on unrecorded.
func TestInFlightLimit(t *testing.T) {
	d := dialects[0]
	s := newSite(t, Policy{Mode: Exact}, Options{MaxInFlight: 1})
	s.provider = streamAnswer(d.stream...)
	got := s.ask(d.path, d.askStream)
	if got.reason != NoMemory || got.Body.String() != strings.Join(d.stream, "") {
		t.Errorf("%v, %q", got.reason, got.Body)
	}
}

// Who does not want a stored answer does not want a shared one either, nor
// does anybody share with another tenant, or a call of tools that is not to
// be repeated.
func TestWhoDoesNotShare(t *testing.T) {
	chat := dialects[0]
	tools := `{"model":"gpt-5-mini","stream":true,"tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"x"}]}`
	for _, tc := range []struct {
		name   string
		policy Policy
		body   string
		first  []string
		second []string
		shares bool
	}{
		{"equal", Policy{Mode: Exact}, chat.askStream, nil, nil, true},
		{"refresh", Policy{Mode: Exact}, chat.askStream, nil, []string{"X-Gateway-Cache", "refresh"}, false},
		{"no-cache", Policy{Mode: Exact}, chat.askStream, nil, []string{"Cache-Control", "no-cache"}, false},
		{"off", Policy{Mode: Exact}, chat.askStream, nil, []string{"X-Gateway-Cache", "off"}, false},
		{"tenants", Policy{Mode: Exact}, chat.askStream, []string{"Authorization", "Bearer one"}, []string{"Authorization", "Bearer two"}, false},
		{"shared scope", Policy{Mode: Exact, Scope: Shared}, chat.askStream, []string{"Authorization", "Bearer one"}, []string{"Authorization", "Bearer two"}, true},
		{"namespaces", Policy{Mode: Exact}, chat.askStream, nil, []string{"X-Gateway-Cache-Namespace", "n"}, false},
		{"tools", Policy{Mode: Exact}, tools, nil, nil, false},
		{"tool calls allowed", Policy{Mode: Exact, ToolCalls: true}, tools, nil, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, tc.policy, func(t *testing.T, s *site, provider *scripted) {
				_, one := s.start(t.Context(), newClient(), chat.path, tc.body, tc.first...)
				synctest.Wait()
				_, two := s.start(t.Context(), newClient(), chat.path, tc.body, tc.second...)
				synctest.Wait()
				calls := s.calls.Load()
				close(provider.steps)
				<-one
				<-two
				if (calls == 1) != tc.shares {
					t.Errorf("%d calls", calls)
				}
			})
		})
	}
}

// A client that goes away while it waits for the first byte leaves the others
// alone.
func TestFollowerLeavesWhileWaiting(t *testing.T) {
	d := dialects[0]
	bubble(t, Policy{Mode: Exact}, func(t *testing.T, s *site, provider *scripted) {
		got, done := s.start(t.Context(), newClient(), d.path, d.askStream)
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		gone, goneDone := s.start(ctx, newClient(), d.path, d.askStream)
		synctest.Wait()
		leave()
		<-goneDone
		if gone.outcome != Gone {
			t.Errorf("%v", gone.outcome)
		}
		provider.steps <- head
		for _, e := range d.stream {
			provider.steps <- event(e)
		}
		close(provider.steps)
		<-done
		if got.reason != None || got.broken {
			t.Errorf("%v", got.reason)
		}
	})
}
