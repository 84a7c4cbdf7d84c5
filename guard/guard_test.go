package guard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"
)

// clock is a time that only the test moves.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	c.t = c.t.Add(d)
	c.mu.Unlock()
}

func newClock() *clock { return &clock{t: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

var subjectA = Subject{Site: "s", Model: "m", Mode: "rtk=auto"}

// effect is what optimization does to a conversation.
type effect struct {
	save float64 // share of the original tokens that goes away
	lose float64 // share of the cache reads that is lost
	// price of a cached token in prices of a plain one
	cached float64
}

// traffic are conversations of a provider with a prompt cache: each turn adds
// to the prompt, and what stood there before is read from the cache.
type traffic struct {
	g    *Guard
	c    *clock
	rnd  *rand.Rand
	n    int
	seen [3]int // conversations by treatment
}

func newTraffic(seed uint64) *traffic {
	c := newClock()
	return &traffic{g: New(c.now), c: c, rnd: rand.New(rand.NewPCG(seed, 1))}
}

// converse has one conversation and returns the switch that happened.
func (tr *traffic) converse(t *testing.T, s Subject, e effect) (f Finding, switched bool) {
	t.Helper()
	tr.n++
	name := "conversation " + strconv.Itoa(tr.n)
	var prompt, before float64
	treatment := Treatment(255)
	for turn := range 1 + tr.rnd.IntN(12) {
		prompt += 200 + 8000*math.Pow(tr.rnd.Float64(), 3)
		ticket := tr.g.Decide(s, name)
		if treatment == 255 {
			treatment = ticket.Treatment()
			tr.seen[treatment]++
		}
		if ticket.Treatment() != treatment {
			t.Fatalf("%s changed from %s to %s in turn %d", name, treatment, ticket.Treatment(), turn)
		}
		sent, read, saved := prompt, before, 0.0
		if tr.rnd.Float64() < 0.1 {
			read = 0 // the cache has expired
		}
		if treatment == Optimized {
			saved = prompt * e.save
			sent, read = prompt-saved, read*(1-e.save)*(1-e.lose)
		}
		before = prompt
		found, did := tr.g.Observe(ticket, Sample{Input: int64(sent), CacheRead: int64(read), Saved: int64(saved), Cost: sent - read*(1-e.cached)})
		if did {
			f, switched = found, true
		}
	}
	tr.c.advance(time.Second)
	return f, switched
}

// TestSimulation switches off what breaks the cache and costs more than it
// saves, and nothing else.
func TestSimulation(t *testing.T) {
	for _, tc := range []struct {
		name string
		effect
		off bool
	}{
		{"saves and keeps the cache", effect{save: 0.3, cached: 0.1}, false},
		{"does nothing", effect{cached: 0.1}, false},
		{"breaks the cache", effect{save: 0.1, lose: 1, cached: 0.1}, true},
		{"breaks the cache and saves nothing", effect{lose: 1, cached: 0.1}, true},
		{"breaks half of the cache", effect{save: 0.05, lose: 0.7, cached: 0.1}, true},
		{"breaks the cache but saves more", effect{save: 0.8, lose: 1, cached: 0.1}, false},
		{"breaks a cache that is not cheaper", effect{save: 0.1, lose: 1, cached: 1}, false},
		{"loses little and saves more", effect{save: 0.3, lose: 0.05, cached: 0.1}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for seed := range uint64(3) {
				tr := newTraffic(seed)
				offs := 0
				for range 8000 {
					f, switched := tr.converse(t, subjectA, tc.effect)
					if switched && f.State == Off {
						offs++
						if f.Change == nil || *f.Change <= 0 || f.Control.CacheReadShare <= f.Optimized.CacheReadShare {
							t.Errorf("switched off with %+v", f)
						}
					}
				}
				if (offs > 0) != tc.off {
					t.Errorf("seed %d: switched off %d times: %+v", seed, offs, tr.g.Findings())
				}
			}
		})
	}
}

// TestCoincidence looks at a mode without effect very often.
func TestCoincidence(t *testing.T) {
	runs, offs := 15, 0
	for seed := range runs {
		tr := newTraffic(uint64(100 + seed))
		for range 4000 {
			if f, switched := tr.converse(t, subjectA, effect{cached: 0.1}); switched && f.State == Off {
				offs++
			}
		}
	}
	if offs > 0 {
		t.Errorf("switched off %d times in %d runs without any effect", offs, runs)
	}
}

// TestTooFew judges nothing from few conversations, however clear they look.
func TestTooFew(t *testing.T) {
	tr := newTraffic(1)
	for control := 0; control < minConversations-1; {
		if InControl("conversation " + strconv.Itoa(tr.n+1)) {
			control++
		}
		if f, switched := tr.converse(t, subjectA, effect{lose: 1, cached: 0.1}); switched {
			t.Fatalf("after %d conversations: %+v", tr.n, f)
		}
	}
	if f := tr.g.Findings()[0]; f.Judged || f.State != On || f.Control.Conversations != minConversations-1 {
		t.Errorf("%+v", f)
	}
}

// TestOneGiant does not let one conversation decide.
func TestOneGiant(t *testing.T) {
	g := New(newClock().now)
	decide := func(name string, size int64) {
		ticket := g.Decide(subjectA, name)
		read := size
		if ticket.Treatment() == Optimized {
			read = 0
		}
		if f, switched := g.Observe(ticket, Sample{Input: size, CacheRead: read, Cost: float64(size) - 0.9*float64(read)}); switched {
			t.Fatalf("switched by %s: %+v", name, f)
		}
	}
	decide(controlName(t, 0), 1e9)
	for i := range 3000 {
		decide("small "+strconv.Itoa(i), 1000)
	}
	if g.Findings()[0].Control.Conversations < minConversations {
		t.Fatal("too few conversations for the test to tell anything")
	}
}

// controlName is the n-th name of a conversation of the control arm.
func controlName(t *testing.T, n int) string {
	for i := range 100000 {
		if name := "c" + strconv.Itoa(i); InControl(name) {
			if n--; n < 0 {
				return name
			}
		}
	}
	t.Fatal("no conversation is in the control arm")
	return ""
}

// TestBackoff waits an hour, then twice as long each time, up to a day, and
// from the beginning after it went well for a day.
func TestBackoff(t *testing.T) {
	tr := newTraffic(3)
	bad, good := effect{lose: 1, cached: 0.1}, effect{save: 0.3, cached: 0.1}
	until := func(e effect, want State) Finding {
		t.Helper()
		for range 60000 {
			if f, switched := tr.converse(t, subjectA, e); switched {
				if f.State != want {
					t.Fatalf("switched %s, want %s: %+v", f.State, want, f)
				}
				return f
			}
		}
		t.Fatalf("never switched %s: %+v", want, tr.g.Findings())
		return Finding{}
	}
	for i, hours := range []float64{1, 2, 4, 8, 16, 24, 24} {
		f := until(bad, Off)
		pause := f.Until.Sub(f.Since)
		if pause.Hours() != hours || f.SwitchedOff != i+1 {
			t.Errorf("off number %d: for %s, want %v h", f.SwitchedOff, pause, hours)
		}
		// Nothing new is optimized until the very end of the pause.
		left := f.Until.Sub(tr.c.now())
		tr.c.advance(left - 1)
		if got := tr.g.Decide(subjectA, fmt.Sprint("just before ", i)).Treatment(); got == Optimized {
			t.Errorf("optimized just before the end of the pause")
		}
		if s := tr.g.Findings()[0].State; s != Off {
			t.Errorf("%s just before the end of the pause", s)
		}
		tr.c.advance(1)
		tr.seen = [3]int{}
		for range 50 {
			tr.converse(t, subjectA, good)
		}
		if s := tr.g.Findings()[0].State; s != Trial {
			t.Fatalf("%s after the pause", s)
		}
		if o := tr.seen[Optimized]; o < 1 || o > 12 {
			t.Errorf("%d of 50 conversations on trial are optimized", o)
		}
		// So far it went well, but there were too few to end the trial.
	}
	until(good, On)
	tr.c.advance(steadyTime)
	for range 3000 {
		tr.converse(t, subjectA, good)
	}
	f := until(bad, Off)
	if pause := f.Until.Sub(f.Since); pause != firstPause {
		t.Errorf("off for %s after it had gone well for a day, want %s", pause, firstPause)
	}
}

// TestRunningConversations keep their treatment over every switch.
func TestRunningConversations(t *testing.T) {
	tr := newTraffic(4)
	want := map[string]Treatment{}
	check := func(when string) {
		t.Helper()
		for name, treatment := range want {
			if got := tr.g.Decide(subjectA, name).Treatment(); got != treatment {
				t.Fatalf("%s: %s became %s, was %s", when, name, got, treatment)
			}
		}
	}
	begin := func(prefix string) {
		for i := range 200 {
			name := prefix + strconv.Itoa(i)
			ticket := tr.g.Decide(subjectA, name)
			want[name] = ticket.Treatment()
			tr.g.Observe(ticket, Sample{Input: 10, Cost: 10})
		}
	}
	begin("early ")
	for state := On; state != Off; {
		if f, switched := tr.converse(t, subjectA, effect{lose: 1, cached: 0.1}); switched {
			state = f.State
		}
	}
	check("off")
	begin("while off ")
	for hour := 0; hour < 3; hour++ {
		tr.c.advance(time.Hour)
		check("an hour later")
	}
	begin("on trial ")
	check("on trial")
	counts := map[Treatment]int{}
	for _, treatment := range want {
		counts[treatment]++
	}
	if counts[Optimized] < 200 || counts[SwitchedOff] < 300 || counts[Control] == 0 {
		t.Errorf("treatments %v", counts)
	}
	tr.c.advance(idleTime)
	if got := tr.g.Decide(subjectA, "while off 1").Treatment(); got == Control {
		t.Error("a conversation came into the control arm")
	}
	if n := len(tr.g.conversations.byID); n > 1 {
		t.Errorf("%d conversations are remembered after all were idle for %s", n, idleTime)
	}
}

// TestBounds keeps memory bounded, and the control arm where nothing is
// remembered.
func TestBounds(t *testing.T) {
	c := newClock()
	g := New(c.now)
	for i := range 3 * maxSubjects {
		s := Subject{Model: "m" + strconv.Itoa(i)}
		g.Observe(g.Decide(s, "x"), Sample{Input: 1, Cost: 1})
		c.advance(time.Second)
	}
	if n := len(g.subjects); n != maxSubjects {
		t.Errorf("%d subjects", n)
	}
	kept := Subject{Model: "m" + strconv.Itoa(3*maxSubjects-1)}
	control := 0
	for round := range 2 {
		for i := range maxConversations + 5000 {
			name := "c" + strconv.Itoa(i)
			got := g.Decide(kept, name).Treatment()
			if (got == Control) != InControl(name) {
				t.Fatalf("round %d: %s is %s", round, name, got)
			}
			if got == Control {
				control++
			}
		}
	}
	if share := float64(control) / float64(2*(maxConversations+5000)); math.Abs(share-controlShare) > 0.003 {
		t.Errorf("control share %v", share)
	}
	if n := len(g.conversations.byID); n != maxConversations {
		t.Errorf("%d conversations are remembered", n)
	}
	// A subject that is off is not forgotten.
	for _, s := range g.subjects {
		s.state, s.until = Off, c.now().Add(time.Hour)
	}
	g.Observe(g.Decide(Subject{Model: "new"}, "x"), Sample{Input: 1, Cost: 1})
	if g.subjects[Subject{Model: "new"}] != nil || len(g.subjects) != maxSubjects {
		t.Error("a subject that is off made room for another")
	}
	c.advance(time.Hour)
	g.Observe(g.Decide(Subject{Model: "new"}, "x"), Sample{Input: 1, Cost: 1})
	if g.subjects[Subject{Model: "new"}] == nil {
		t.Error("no room although a pause is over")
	}
}

// TestControlIsStable pins the hash: it must be the same in every version.
func TestControlIsStable(t *testing.T) {
	var got []int
	for i := range 200 {
		if InControl("c" + strconv.Itoa(i)) {
			got = append(got, i)
		}
	}
	if want := "[49 169 173]"; fmt.Sprint(got) != want {
		t.Errorf("in control: %v, want %s", got, want)
	}
}

// TestOddSamples are figures that no provider should report.
func TestOddSamples(t *testing.T) {
	g := New(newClock().now)
	if _, switched := g.Observe(Ticket{}, Sample{Input: 5}); switched || len(g.Findings()) != 0 {
		t.Error("the zero ticket counted")
	}
	ticket := g.Decide(subjectA, "c0")
	for _, s := range []Sample{{}, {Input: -4}, {Input: 10, CacheRead: 99, Cost: 1, Saved: -7}, {Input: 10, CacheRead: -3, Cost: 10}} {
		g.Observe(ticket, s)
	}
	f := g.Findings()[0].Optimized
	if f.Requests != 2 || f.InputTokens != 20 || f.CacheReadTokens != 10 || f.SavedTokens != 0 {
		t.Errorf("%+v", f)
	}
}

// TestRatio checks the estimates against their definition.
func TestRatio(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var r ratio
	var xs, ys []float64
	for range 50 {
		x, y := 0.0, 0.0
		for range 4 { // requests
			oldX, oldY := x, y
			x, y = x+1000*rnd.Float64(), y+300*rnd.Float64()
			r.replace(oldX, oldY, x, y)
		}
		xs, ys = append(xs, x), append(ys, y)
	}
	var sx, sy, sxx, residual float64
	for i := range xs {
		sx, sy, sxx = sx+xs[i], sy+ys[i], sxx+xs[i]*xs[i]
	}
	for i := range xs {
		d := ys[i] - sy/sx*xs[i]
		residual += d * d
	}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s %v, want %v", what, got, want)
		}
	}
	near("value", r.value(), sy/sx)
	near("variance", r.variance(50), 50.0/49*residual/(sx*sx))
	near("effective", r.effective(), sx*sx/sxx)
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	c := newClock()
	g := New(c.now)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 5000 {
				name := strconv.Itoa(i % 700)
				ticket := g.Decide(subjectA, name)
				s := Sample{Input: 100, CacheRead: 90, Cost: 19}
				if ticket.Treatment() == Optimized {
					s = Sample{Input: 100, Cost: 100}
				}
				g.Observe(ticket, s)
				if i%100 == w {
					g.Findings()
					c.advance(time.Minute)
				}
			}
		}()
	}
	wg.Wait()
	if len(g.Findings()) != 1 {
		t.Error("the findings are gone")
	}
}

// BenchmarkRequest is what one request costs: a decision and an observation.
func BenchmarkRequest(b *testing.B) {
	g := New(time.Now)
	names := make([]string, 1<<14)
	for i := range names {
		names[i] = "header\x00session " + strconv.Itoa(i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		ticket := g.Decide(subjectA, names[i&(1<<14-1)])
		g.Observe(ticket, Sample{Input: 20000, CacheRead: 15000, Saved: 700, Cost: 6500})
		i++
	}
}
