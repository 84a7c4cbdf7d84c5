package access

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/valkey-io/valkey-go"
)

// eventually gives other goroutines their turn until done.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

// TestServerComesLater starts without the server: the limits of this process
// hold, one line a minute says so, no request waits, and once the server is
// there the counts are on it, with what was spent meanwhile.
func TestServerComesLater(t *testing.T) {
	m := miniredis.RunT(t)
	c := newClock()
	m.SetTime(c.now())
	var up atomic.Bool
	var tries, downs atomic.Int32
	l := NewLimiter(nil, c.now)
	l.Share(func() (valkey.Client, error) {
		tries.Add(1)
		if !up.Load() {
			return nil, errors.New("connection refused")
		}
		return dial(t, m.Addr()), nil
	}, "p:", 20*time.Second, func(error) { downs.Add(1) })
	ctx := context.Background()
	lim := Limits{RPM: 3, Budget: 1, Period: Daily}
	for i := range 4 {
		lease, d := l.Admit(ctx, "k", lim, 0)
		if (lease != nil) != (i < 3) {
			t.Errorf("request %d without the server: %+v", i, d)
		}
		lease.Settle(ctx, -1, 0.125)
	}
	if tries.Load() != 1 || downs.Load() != 1 {
		t.Errorf("within a second: tried %d times, reported %d times", tries.Load(), downs.Load())
	}
	c.advance(time.Second)
	l.Admit(ctx, "other", lim, 0)
	eventually(t, "a second try", func() bool { return tries.Load() == 2 })
	if downs.Load() != 1 {
		t.Errorf("reported %d times in a minute", downs.Load())
	}
	up.Store(true)
	c.advance(time.Minute)
	m.SetTime(c.now())
	// The request that brings the connection about does not wait for it.
	eventually(t, "a connection", func() bool {
		l.Admit(ctx, "other", Limits{Concurrency: 1 << 20}, 0)
		c.advance(time.Second)
		l.shared.link.mu.Lock()
		defer l.shared.link.mu.Unlock()
		return l.shared.link.client != nil
	})
	lease, d := l.Admit(ctx, "k", lim, 0)
	if lease == nil || lease.slot == "" || d.Requests.Remaining != 2 {
		t.Fatalf("with the server: %+v %+v", lease, d)
	}
	lease.Settle(ctx, -1, 0.25)
	if got := l.Spent(ctx, "k", Daily); got != 0.625 {
		t.Errorf("spent %v, with what was spent before the server was there 0.625", got)
	}
	l.Close()
}

// slowServer is a client whose settlements wait for a gate and whose answers
// may get lost.
type slowServer struct {
	valkey.Client
	gate   chan struct{}
	lose   atomic.Bool
	rounds atomic.Int32
}

func (s *slowServer) DoMulti(ctx context.Context, multi ...valkey.Completed) []valkey.ValkeyResult {
	<-s.gate
	s.rounds.Add(1)
	res := s.Client.DoMulti(ctx, multi...)
	if s.lose.Load() {
		for i := range res {
			res[i] = valkey.NewErrorResult(context.DeadlineExceeded)
		}
	}
	return res
}

// Nodes is where scripts are loaded.
func (s *slowServer) Nodes() map[string]valkey.Client { return s.Client.Nodes() }

// TestSettlementsInTheBackground ends a hundred requests while the server
// hangs: none waits, two round trips tell it all, and an answer that got lost
// makes nothing count twice.
func TestSettlementsInTheBackground(t *testing.T) {
	m := miniredis.RunT(t)
	c := newClock()
	m.SetTime(c.now())
	server := &slowServer{Client: dial(t, m.Addr()), gate: make(chan struct{})}
	l := NewLimiter(nil, c.now)
	l.Share(func() (valkey.Client, error) { return server, nil }, "p:", 20*time.Second, func(error) {})
	ctx := context.Background()
	lim := Limits{TPM: 1_000_000, Concurrency: 200, Budget: 100, Period: Daily}
	var leases []*Lease
	for range 100 {
		lease, d := l.Admit(ctx, "k", lim, 10)
		if lease == nil {
			t.Fatalf("%+v", d)
		}
		leases = append(leases, lease)
	}
	leases[0].Settle(ctx, 20, 0.01)
	eventually(t, "a settlement under way", func() bool {
		l.shared.debts.mu.Lock()
		defer l.shared.debts.mu.Unlock()
		return len(l.shared.debts.sent) == 1
	})
	var wg sync.WaitGroup
	for _, lease := range leases[1:] {
		wg.Go(func() { lease.Settle(ctx, 20, 0.01) })
	}
	wg.Wait() // although the server hangs
	server.lose.Store(true)
	close(server.gate)
	eventually(t, "the end of the round", func() bool {
		l.shared.debts.mu.Lock()
		defer l.shared.debts.mu.Unlock()
		return !l.shared.debts.flushing
	})
	if n := server.rounds.Load(); n != 1 {
		t.Errorf("%d round trips although the first answer got lost", n)
	}
	// The server took the first one; it is sent again under its number.
	server.lose.Store(false)
	c.advance(awayFor)
	lease, d := l.Admit(ctx, "k", lim, 0)
	if lease == nil {
		t.Fatalf("%+v", d)
	}
	if got := l.Spent(ctx, "k", Daily); got != 1 {
		t.Errorf("spent %v, want 1", got)
	}
	if n := server.rounds.Load(); n != 3 {
		t.Errorf("%d round trips for 100 settlements, want the lost one, it again, and the rest", n)
	}
	slots, err := m.ZMembers("p:{k}:slots")
	if err != nil || len(slots) != 1 {
		t.Errorf("%d places are taken, want the last one: %v", len(slots), err)
	}
	if _, d = l.Admit(ctx, "k", lim, 0); d.Tokens.Remaining != 1_000_000-2000 {
		t.Errorf("%d tokens are left", d.Tokens.Remaining)
	}
	l.Close()
}
