package guard

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// State is whether a mode is used.
type State string

// States.
const (
	On    State = "on"
	Off   State = "off"
	Trial State = "trial" // off for most, tried again with a few
)

// subject is the state and the figures of a Subject.
type subject struct {
	Subject
	state State
	since time.Time
	until time.Time     // end of Off
	pause time.Duration // the next time off
	seen  time.Time
	offs  int  // how often it was switched off
	gone  bool // forgotten

	first, period      uint64
	control, optimized arm // of this period
	nextLook           int // conversations in the smaller arm

	// The figures by which it was switched last.
	lastControl, lastOptimized arm
}

// begin starts a period with empty arms.
func (s *subject) begin(period uint64) {
	if s.state == "" {
		s.state = On
	}
	s.period, s.control, s.optimized, s.nextLook = period, arm{}, arm{}, minConversations
}

// treat decides about a new conversation.
func (s *subject) treat(hash uint64) Treatment {
	switch {
	case below(hash, controlShare):
		return Control
	case s.state == On, s.state == Trial && below(mix(hash+uint64(s.offs)), trialShare):
		return Optimized
	}
	return SwitchedOff
}

// count adds a request. On trial everything that is not optimized is the
// control.
func (s *subject) count(c *conversation, sample Sample) {
	if c.treatment == Optimized {
		s.optimized.count(c, sample)
	} else {
		s.control.count(c, sample)
	}
}

// look judges the figures if it is time to, and reports whether the state
// changed.
func (s *subject) look(now time.Time) bool {
	smaller := min(s.control.conversations, s.optimized.conversations)
	if smaller < s.nextLook || !s.control.enough() || !s.optimized.enough() {
		return false
	}
	s.nextLook = max(smaller+1, int(math.Ceil(float64(smaller)*lookGrowth)))
	switch v := compare(&s.control, &s.optimized); {
	case v == harmful:
		s.lastControl, s.lastOptimized = s.control, s.optimized
		s.state, s.since, s.until = Off, now, now.Add(s.pause)
		s.pause = min(2*s.pause, longestPause)
		s.offs++
		return true
	case v == fine && s.state == Trial:
		s.lastControl, s.lastOptimized = s.control, s.optimized
		s.state, s.since = On, now
		return true
	case s.state == On && now.Sub(s.since) >= steadyTime:
		s.pause = firstPause
	}
	return false
}

// fade halves the weight of what was, so that a provider that changes is
// noticed in time. Conversations that go on stop counting.
func (s *subject) fade(period uint64) {
	s.control.halve()
	s.optimized.halve()
	s.period = period
	s.nextLook = min(s.control.conversations, s.optimized.conversations) + 1
}

// Finding is what the guard knows of a subject.
type Finding struct {
	Site  string
	Model string
	Mode  string
	State State
	Since time.Time
	// Until is when a mode that is off is tried again, else zero.
	Until time.Time
	// SwitchedOff is how often it was switched off.
	SwitchedOff int
	// Judged says that there were enough conversations in both arms.
	Judged bool
	// Change is by how much optimization changes the price of input, lost cache
	// reads and saved tokens together: -0.3 is 30 % cheaper. Absent while one of
	// the arms is empty.
	Change    *float64
	Control   ArmReport
	Optimized ArmReport
}

// ArmReport are the figures of an arm: those of the current period, and of a
// mode that is off those by which it was switched off.
type ArmReport struct {
	Conversations   int
	Requests        int
	InputTokens     int64
	CacheReadTokens int64
	SavedTokens     int64
	// CacheReadShare is CacheReadTokens per InputTokens.
	CacheReadShare float64
	// Price is the price of input per original token, in prices of one plain
	// token of input.
	Price float64
}

func (a *arm) report() ArmReport {
	return ArmReport{a.conversations, a.requests, int64(a.share.x), int64(a.share.y), int64(a.saved), a.share.value(), a.price.value()}
}

func (s *subject) finding() Finding {
	control, optimized := &s.control, &s.optimized
	if s.state == Off {
		control, optimized = &s.lastControl, &s.lastOptimized
	}
	f := Finding{Site: s.Site, Model: s.Model, Mode: s.Mode, State: s.state, Since: s.since, SwitchedOff: s.offs,
		Judged: control.enough() && optimized.enough(), Control: control.report(), Optimized: optimized.report()}
	if s.state == Off {
		f.Until = s.until
	}
	if p := control.price.value(); p > 0 && optimized.conversations > 0 {
		change := optimized.price.value()/p - 1
		f.Change = &change
	}
	return f
}

// Findings are what is known of all subjects, by site, model and mode.
func (g *Guard) Findings() []Finding {
	g.mu.Lock()
	out := make([]Finding, 0, len(g.subjects))
	for _, s := range g.subjects {
		out = append(out, s.finding())
	}
	g.mu.Unlock()
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Mode, b.Mode))
	})
	return out
}
