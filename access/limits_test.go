package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/valkey-io/valkey-go"
)

type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	c.t = c.t.Add(d)
	c.mu.Unlock()
}

func newClock() *clock { return &clock{t: time.Date(2031, 4, 2, 22, 0, 0, 0, time.UTC)} }

// memory is a journal for tests.
type memory struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (j *memory) Load(name string) []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.m[name]
}

func (j *memory) Store(name string, value []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.m == nil {
		j.m = make(map[string][]byte)
	}
	j.m[name] = bytes.Clone(value)
}

func TestKeyring(t *testing.T) {
	r := NewKeyring[string]()
	for secret, name := range map[string]string{"sk-a": "a", HashLine("sk-b"): "b", "ключ": "c"} {
		if err := r.Add(secret, name); err != nil {
			t.Fatal(err)
		}
	}
	for secret, want := range map[string]string{
		"sk-a": "a", "sk-b": "b", "ключ": "c",
		"sk-": "", "sk-a ": "", "SK-A": "", "": "", HashLine("sk-b"): "", HashLine("sk-a"): "",
		"кл\u044e\u0447\u0301": "", strings.Repeat("x", 1<<20): "",
	} {
		got, ok := r.Find(secret)
		if got != want || ok != (want != "") {
			t.Errorf("%.20q: %q, %v", secret, got, ok)
		}
	}
	for secret, problem := range map[string]string{
		"sk-b":                   "used by another key",
		HashLine("sk-a"):         "used by another key",
		"":                       "is expected",
		"sha256:abc":             "64 hex digits",
		strings.Repeat("x", 5e3): "is expected",
	} {
		if err := r.Add(secret, "x"); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%.20q: %v, want %s", secret, err, problem)
		}
	}
	if s := NewSecret(); len(s) != 46 || s == NewSecret() {
		t.Errorf("secret %q", s)
	}
	sum := sha256.Sum256([]byte("x"))
	if got := HashLine("x"); got != "sha256:"+hex.EncodeToString(sum[:]) {
		t.Errorf("hash line %s", got)
	}
}

func TestRates(t *testing.T) {
	c := newClock()
	l := NewLimiter(nil, c.now)
	ctx := context.Background()
	lim := Limits{RPM: 60, TPM: 6000}
	for i := range 60 {
		lease, d := l.Admit(ctx, "k", lim, 10)
		if lease == nil {
			t.Fatalf("request %d refused: %+v", i, d.Denied)
		}
		if d.Requests.Remaining != 59-i || d.Requests.Limit != 60 {
			t.Fatalf("request %d: %+v", i, d.Requests)
		}
		if d.Tokens.Remaining != 6000-10*(i+1) {
			t.Fatalf("request %d: %+v", i, d.Tokens)
		}
		lease.Settle(ctx, 10, 0)
	}
	lease, d := l.Admit(ctx, "k", lim, 10)
	if lease != nil || d.Denied.Reason != RateLimited || d.Denied.Limit != "rpm" || d.Denied.RetryAfter != time.Second {
		t.Fatalf("the 61st: %+v", d.Denied)
	}
	if lease, _ := l.Admit(ctx, "other", lim, 10); lease == nil {
		t.Error("another key was refused")
	}
	c.advance(time.Second)
	if lease, _ = l.Admit(ctx, "k", lim, 10); lease == nil {
		t.Error("refused after RetryAfter")
	}
}

func TestTokensSettled(t *testing.T) {
	c := newClock()
	l := NewLimiter(nil, c.now)
	ctx := context.Background()
	lim := Limits{TPM: 1000}
	lease, _ := l.Admit(ctx, "k", lim, 900)
	if _, d := l.Admit(ctx, "k", lim, 200); d.Denied == nil || d.Denied.Limit != "tpm" {
		t.Fatalf("%+v", d)
	}
	lease.Settle(ctx, 100, 0) // used less than estimated: the rest comes back
	lease.Settle(ctx, 100, 0) // counts once
	lease, d := l.Admit(ctx, "k", lim, 200)
	if lease == nil || d.Tokens.Remaining != 700 {
		t.Fatalf("%+v", d)
	}
	lease.Settle(ctx, 1400, 0) // used more: the key is in debt
	_, d = l.Admit(ctx, "k", lim, 1)
	if d.Denied == nil || d.Denied.RetryAfter < 30*time.Second || d.Denied.RetryAfter > 31*time.Second {
		t.Fatalf("in debt by 500 of 1000 a minute: %+v", d.Denied)
	}
	// An estimate beyond the whole allowance is not refused for ever.
	c.advance(10 * time.Minute)
	if lease, _ := l.Admit(ctx, "k", lim, 5000); lease == nil {
		t.Error("a request larger than the allowance is refused even when all of it is free")
	} else {
		lease.Settle(ctx, 5000, 0)
	}
	if _, d := l.Admit(ctx, "k", lim, 1); d.Denied == nil || d.Denied.RetryAfter < 4*time.Minute {
		t.Errorf("after 5000 tokens at 1000 a minute: %+v", d.Denied)
	}
}

func TestConcurrencyAndBudget(t *testing.T) {
	c := newClock()
	j := new(memory)
	l := NewLimiter(j, c.now)
	ctx := context.Background()
	lim := Limits{Concurrency: 2, Budget: 1, Period: Daily}
	a, _ := l.Admit(ctx, "k", lim, 0)
	b, _ := l.Admit(ctx, "k", lim, 0)
	if _, d := l.Admit(ctx, "k", lim, 0); d.Denied == nil || d.Denied.Reason != ConcurrencyLimited {
		t.Fatalf("a third at a time: %+v", d)
	}
	a.Settle(ctx, -1, 0.4)
	b.Settle(ctx, -1, 0.7) // over the budget: this one still finished
	_, d := l.Admit(ctx, "k", lim, 0)
	if d.Denied == nil || d.Denied.Reason != BudgetExceeded || d.Denied.RetryAfter != 2*time.Hour {
		t.Fatalf("over budget at 22:00 UTC: %+v", d.Denied)
	}
	if got := l.Spent(ctx, "k", Daily); math.Abs(got-1.1) > 1e-9 {
		t.Errorf("spent %v", got)
	}
	// A restart does not forget, the next day does.
	l = NewLimiter(j, c.now)
	if _, d := l.Admit(ctx, "k", lim, 0); d.Denied == nil {
		t.Error("the budget is whole again after a restart")
	}
	c.advance(2 * time.Hour)
	if lease, _ := l.Admit(ctx, "k", lim, 0); lease == nil {
		t.Error("refused on the next day")
	}
	l = NewLimiter(j, c.now)
	if lease, _ := l.Admit(ctx, "k", lim, 0); lease == nil {
		t.Error("refused on the next day after a restart")
	}
	if start, end := Monthly.bounds(time.Date(2031, 12, 31, 23, 59, 0, 0, time.FixedZone("", -3600))); start.Month() != 1 || end.Month() != 2 {
		t.Errorf("months are UTC: %v %v", start, end)
	}
}

// hammer lets 32 goroutines on several limiters at once and returns how many
// requests were admitted. Each makes so many attempts; one that is refused for
// want of a place is made again.
func hammer(limiters []*Limiter, lim Limits, tokens, each int, cost float64, peak *atomic.Int64) int {
	var admitted, running atomic.Int64
	var wg sync.WaitGroup
	for g := range 32 {
		l := limiters[g%len(limiters)]
		wg.Go(func() {
			ctx := context.Background()
			for range each {
				lease, d := l.Admit(ctx, "k", lim, tokens)
				for lease == nil && d.Denied.Reason == ConcurrencyLimited {
					runtime.Gosched()
					lease, d = l.Admit(ctx, "k", lim, tokens)
				}
				if lease == nil {
					continue
				}
				now := running.Add(1)
				for {
					p := peak.Load()
					if now <= p || peak.CompareAndSwap(p, now) {
						break
					}
				}
				admitted.Add(1)
				running.Add(-1)
				lease.Settle(ctx, tokens, cost)
			}
		})
	}
	wg.Wait()
	return int(admitted.Load())
}

// within reports whether got is within one percent of want.
func within(got, want int) bool { return math.Abs(float64(got-want)) <= float64(want)/100 }

// refilled is what an allowance of 1000 a minute gains since began. The server
// has a clock of its own; the fake one stands still.
func refilled(l *Limiter, began time.Time) int {
	if l.shared == nil {
		return 0
	}
	return int(1000 * time.Since(began) / time.Minute)
}

func testAllowances(t *testing.T, limiters func(t *testing.T) []*Limiter) {
	var peak atomic.Int64
	ls, began := limiters(t), time.Now()
	if got := hammer(ls, Limits{RPM: 1000}, 1, 100, 0, &peak); !within(got, 1000) && !within(got, 1000+refilled(ls[0], began)) {
		t.Errorf("rpm 1000: %d admitted", got)
	}
	ls, began = limiters(t), time.Now()
	if got := hammer(ls, Limits{TPM: 50_000}, 50, 100, 0, &peak); !within(got, 1000) && !within(got, 1000+refilled(ls[0], began)) {
		t.Errorf("tpm 50000 at 50: %d admitted", got)
	}
	peak.Store(0)
	if got := hammer(limiters(t), Limits{Concurrency: 5}, 1, 50, 0, &peak); peak.Load() > 5 || got != 32*50 {
		t.Errorf("concurrency 5: %d at a time, %d admitted", peak.Load(), got)
	}
	// A request is admitted while money is left, so those under way at the
	// end may go over: with 32 clients at most 31.
	got := hammer(limiters(t), Limits{Budget: 10, Period: Daily, Concurrency: 8}, 1, 200, 0.01, &peak)
	if !within(got, 1000) {
		t.Errorf("budget of 1000 requests: %d admitted", got)
	}
}

func TestAllowancesLocal(t *testing.T) {
	testAllowances(t, func(*testing.T) []*Limiter { return []*Limiter{NewLimiter(nil, newClock().now)} })
}

// TestAllowancesShared runs two gateways on one server: a real one where
// there is one, which CI demands.
func TestAllowancesShared(t *testing.T) {
	addr := realServer(t)
	n := 0
	testAllowances(t, func(t *testing.T) []*Limiter {
		n++
		var out []*Limiter
		for range 2 {
			l := NewLimiter(nil, time.Now)
			l.Share(reach(t, addr), fmt.Sprintf("test%d:", n), 20*time.Second, func(err error) { t.Errorf("down: %v", err) })
			out = append(out, l)
		}
		return out
	})
}

// reach connects to a server that is there.
func reach(t *testing.T, addr string) func() (valkey.Client, error) {
	return func() (valkey.Client, error) { return dial(t, addr), nil }
}

func dial(t *testing.T, addr string) valkey.Client {
	t.Helper()
	client, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// realServer starts redis-server, or valkey-server, on a socket of its own.
func realServer(t *testing.T) string {
	t.Helper()
	var bin string
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			bin = path
			break
		}
	}
	if bin == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("redis-server is required in CI")
		}
		t.Skip("no redis-server or valkey-server")
	}
	dir := t.TempDir()
	port := freePort(t)
	cmd := exec.Command(bin, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir, "--logfile", filepath.Join(dir, "log"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return waitFor(t, fmt.Sprintf("127.0.0.1:%d", port))
}

func TestSharedLedger(t *testing.T) {
	m := miniredis.RunT(t)
	c := newClock()
	m.SetTime(c.now())
	var downs int
	l := NewLimiter(nil, c.now)
	l.Share(reach(t, m.Addr()), "p:", 2*time.Second, func(error) { downs++ })
	ctx := context.Background()
	lim := Limits{RPM: 2, Concurrency: 1, Budget: 1, Period: Monthly}
	lease, d := l.Admit(ctx, "k", lim, 0)
	if lease == nil || d.Requests.Remaining != 1 {
		t.Fatalf("%+v", d)
	}
	if _, d := l.Admit(ctx, "k", lim, 0); d.Denied == nil || d.Denied.Reason != ConcurrencyLimited {
		t.Fatalf("%+v", d)
	}
	lease.Settle(ctx, -1, 0.25)
	lease, _ = l.Admit(ctx, "k", lim, 0)
	lease.Settle(ctx, -1, 0.75)
	if got := l.Spent(ctx, "k", Monthly); got != 1 {
		t.Errorf("spent %v", got)
	}
	if _, d := l.Admit(ctx, "k", lim, 0); d.Denied == nil || d.Denied.Reason != BudgetExceeded || d.Denied.RetryAfter != 28*24*time.Hour+2*time.Hour {
		t.Fatalf("%+v", d.Denied)
	}
	// The server goes away: the limits of this process hold, said once a minute.
	m.Close()
	lim.Budget = 0
	for i := range 4 {
		lease, d := l.Admit(ctx, "k", lim, 0)
		if (lease != nil) != (i < 2) {
			t.Errorf("without the server, request %d: %+v", i, d)
		}
		lease.Settle(ctx, -1, 0.5)
	}
	if downs != 1 {
		t.Errorf("reported %d times in a minute", downs)
	}
	c.advance(time.Minute)
	l.Admit(ctx, "k", lim, 0)
	if downs != 2 {
		t.Errorf("reported %d times in two minutes", downs)
	}
}

func BenchmarkKeyLookup(b *testing.B) {
	r := NewKeyring[int]()
	for i := range 100_000 {
		if err := r.Add(fmt.Sprintf("sk-gw-%040d", i), i); err != nil {
			b.Fatal(err)
		}
	}
	secret := fmt.Sprintf("sk-gw-%040d", 77_777)
	b.ReportAllocs()
	for b.Loop() {
		if n, ok := r.Find(secret); !ok || n != 77_777 {
			b.Fatal("not found")
		}
	}
}

func BenchmarkAdmitSettle(b *testing.B) {
	l := NewLimiter(nil, time.Now)
	lim := Limits{RPM: 1 << 30, TPM: 1 << 30, Concurrency: 1000, Budget: 1e9, Period: Daily}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		lease, _ := l.Admit(ctx, "k", lim, 100)
		lease.Settle(ctx, 120, 0.001)
	}
}
