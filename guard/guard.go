// Package guard finds out whether optimizing requests breaks a provider's
// prompt cache, and stops the optimizing that costs more than it saves.
//
// What is compared are randomised arms. A small share of conversations, chosen
// by a hash of the conversation's identity, is sent as it came: the control
// arm. All others are optimized. For both the provider reports how much of the
// input it read from its prompt cache. For each subject (a site, a model and a
// mode, that is a combination of optimizers and levels) two ratios are kept:
//
//   - the cache-read share: tokens read from the cache per token of input;
//   - the price of input per original token: what the input cost, in prices of
//     one plain input token, per token that the input would have had without
//     optimization. Here savings and lost cache reads stand on one scale.
//
// The unit of sampling is the conversation, not the request: requests of one
// conversation are anything but independent. Each ratio is a ratio of sums
// over conversations, its variance the usual linearised one,
// n/(n-1) * sum((y - r*x)^2) / sum(x)^2.
//
// A mode is switched off when all of this holds: both arms have at least
// minConversations conversations, and an effective number of at least half of
// that (so that one giant conversation does not decide); the cache-read share
// fell and the price rose, both by more than critical standard errors of the
// difference; and the price rose by more than minExcess of the control's. The
// critical value is Student's, so few conversations need a clearer case. The
// figures are looked at only when the smaller arm has grown by a tenth, so
// that looking often does not make a coincidence likely.
//
// While a mode is off, nothing new is optimized. After a time (an hour, then
// twice as long after every relapse, up to a day) it is on trial: a tenth of
// the new conversations is optimized, and all others are the control. The
// trial ends with enough conversations in both arms: when the price rose as
// above, the mode is off again; when it did not rise at all, it is on; between
// the two the trial goes on. The waiting time starts over once a mode has been
// on for a day since.
//
// A running conversation keeps its treatment whatever happens to the mode. The
// guard remembers the treatment of up to maxConversations conversations until
// they were idle for idleTime, which is longer than any provider keeps a prompt
// cache. Beyond that bound the conversation that was idle longest is forgotten,
// and decided anew if it goes on: a conversation of the control arm stays in
// it, for that depends on its identity alone, but another may change between
// optimized and not if its mode was switched meanwhile. A conversation counts
// in the figures of the period (between two switches) in which it began, and in
// no other.
//
// All state is in memory and bounded, and gone with the process.
package guard

import (
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
)

// The guard's constants.
const (
	controlShare     = 0.02 // of the conversations while a mode is on
	trialShare       = 0.10 // of the conversations that are optimized on trial
	maxConversations = 1 << 15
	maxSubjects      = 256
	idleTime         = 24 * time.Hour
	firstPause       = time.Hour
	longestPause     = 24 * time.Hour
	steadyTime       = 24 * time.Hour // on for so long, the pause starts over
)

// Subject is what is judged.
type Subject struct {
	Site  string // tells places apart that may have different upstreams
	Model string
	Mode  string // the optimizers and their levels
}

// Treatment is what happens to the requests of a conversation.
type Treatment uint8

// Treatments. Only an Optimized conversation is optimized.
const (
	Optimized   Treatment = iota
	Control               // left alone, for comparison
	SwitchedOff           // left alone, because the mode is off
)

var treatmentNames = [...]string{"optimized", "control conversation", "switched off for this model"}

// String says for people what happens.
func (t Treatment) String() string { return treatmentNames[t] }

// Ticket is the decision about one request. The zero Ticket counts nowhere.
type Ticket struct {
	subject   Subject
	hash      uint64
	period    uint64 // 0: nothing was known of the subject
	treatment Treatment
	issued    bool

	// What was known, so that it need not be looked up again.
	known        *subject
	conversation *conversation
}

// Treatment is what is to be done with the request.
func (t Ticket) Treatment() Treatment { return t.treatment }

// Sample is what the provider reported for one request.
type Sample struct {
	Input     int64 // tokens of input, those read from the cache included
	CacheRead int64 // tokens of it that were read from the prompt cache
	Saved     int64 // tokens of input that optimization saved, an estimate
	// Cost is the price of the input in prices of one plain token of input, so
	// Input if nothing was cached.
	Cost float64
}

// Guard keeps the figures and decides. It is safe for concurrent use.
type Guard struct {
	now func() time.Time

	mu            sync.Mutex
	subjects      map[Subject]*subject
	conversations recent
	periods       uint64 // the last number that was given to a period
}

// New makes a guard that reads the time from now.
func New(now func() time.Time) *Guard {
	g := &Guard{now: now, subjects: make(map[Subject]*subject)}
	g.conversations.init(maxConversations)
	return g
}

// InControl reports whether a conversation belongs to the control arm. It is
// the same in every process.
func InControl(conversation string) bool {
	return below(mix(xxhash.Sum64String(conversation)), controlShare)
}

// Decide says what is to be done with a request of a conversation, which is
// named by any string that stays while it goes on.
func (g *Guard) Decide(s Subject, conversation string) Ticket {
	t := Ticket{subject: s, hash: mix(xxhash.Sum64String(conversation)), issued: true}
	now := g.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	sub := g.subjects[s]
	if sub == nil {
		// Only what a provider answered takes up memory.
		if below(t.hash, controlShare) {
			t.treatment = Control
		}
		return t
	}
	c := g.conversations.get(conversationID{sub, t.hash}, now)
	if c == nil {
		if sub.state == Off && !now.Before(sub.until) {
			sub.state, sub.since = Trial, now
			sub.begin(g.nextPeriod())
		}
		c = g.conversations.add(conversationID{sub, t.hash}, now)
		c.treatment, c.period = sub.treat(t.hash), sub.period
	}
	t.treatment, t.period, t.known, t.conversation = c.treatment, c.period, sub, c
	return t
}

// Observe takes what the provider reported for the request of t. switched says
// that the subject was switched off or on by it; f is then what was found.
func (g *Guard) Observe(t Ticket, s Sample) (f Finding, switched bool) {
	if !t.issued || s.Input <= 0 {
		return Finding{}, false
	}
	s.CacheRead = min(max(s.CacheRead, 0), s.Input)
	if t.treatment != Optimized {
		s.Saved = 0
	}
	// A directive that makes a request larger is to pay in output, which is
	// not judged here.
	s.Saved = max(s.Saved, 0)
	now := g.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	sub := t.known
	if sub == nil || sub.gone {
		sub = g.subjects[t.subject]
	}
	if sub == nil {
		if sub = g.addSubject(t.subject, now); sub == nil {
			return Finding{}, false
		}
	}
	sub.seen = now
	period := t.period
	if period == 0 {
		period = sub.first
	}
	c := t.conversation
	if c == nil || c.gone {
		c = g.conversations.get(conversationID{sub, t.hash}, now)
	}
	if c == nil && period == sub.period {
		c = g.conversations.add(conversationID{sub, t.hash}, now)
		c.treatment, c.period = t.treatment, period
	}
	if c == nil || c.treatment != t.treatment || c.period != sub.period || sub.state == Off {
		return Finding{}, false
	}
	sub.count(c, s)
	if sub.look(now) {
		f = sub.finding()
		f.Control, f.Optimized = sub.lastControl.report(), sub.lastOptimized.report()
		sub.begin(g.nextPeriod())
		return f, true
	}
	if min(sub.control.conversations, sub.optimized.conversations) >= fadeAt {
		sub.fade(g.nextPeriod())
	}
	return Finding{}, false
}

// addSubject makes room for a subject; nil if there is none.
func (g *Guard) addSubject(s Subject, now time.Time) *subject {
	if len(g.subjects) >= maxSubjects {
		var oldest *subject
		for _, sub := range g.subjects {
			if sub.state == Off && now.Before(sub.until) {
				continue // forgetting it would switch it on
			}
			if oldest == nil || sub.seen.Before(oldest.seen) {
				oldest = sub
			}
		}
		if oldest == nil {
			return nil
		}
		oldest.gone = true
		delete(g.subjects, oldest.Subject)
	}
	sub := &subject{Subject: s, since: now, pause: firstPause}
	sub.begin(g.nextPeriod())
	sub.first = sub.period
	g.subjects[s] = sub
	return sub
}

func (g *Guard) nextPeriod() uint64 {
	g.periods++
	return g.periods
}

// mix spreads a hash over all bits (the finaliser of MurmurHash3).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// below reports whether h, spread evenly, falls into the first share of all
// values.
func below(h uint64, share float64) bool { return float64(h>>11)/(1<<53) < share }
