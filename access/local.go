package access

import (
	"encoding/binary"
	"sync"
	"time"
)

// gcra is one rate limit by the generic cell rate algorithm: tat is the
// theoretical arrival time of the next cell. A limit of n per minute lets n
// through at once and then one every 60/n seconds, so that no minute, however
// it is cut, sees more than that on average.
type gcra struct{ tat time.Time }

const rateWindow = time.Minute

// take takes n cells at now if they fit; the window says what is left.
func (g *gcra) take(now time.Time, limit, n int) (ok bool, wait time.Duration) {
	tat := g.tat
	if tat.Before(now) {
		tat = now
	}
	next := tat.Add(cells(limit, n))
	if over := next.Sub(now) - rateWindow; over > 0 {
		return false, over
	}
	g.tat = next
	return true, 0
}

// adjust takes n more cells, or gives them back if n is negative.
func (g *gcra) adjust(now time.Time, limit, n int) {
	if g.tat.Before(now) {
		g.tat = now
	}
	g.tat = g.tat.Add(cells(limit, n))
	if g.tat.Before(now) {
		g.tat = now
	}
}

// window says what is left at now.
func (g *gcra) window(now time.Time, limit int) Window {
	used := max(g.tat.Sub(now), 0)
	left := int(int64(rateWindow-min(used, rateWindow)) * int64(limit) / int64(rateWindow))
	return Window{Limit: limit, Remaining: left, Reset: used}
}

// cells is the time that n cells of a limit per minute stand for.
func cells(limit, n int) time.Duration {
	return time.Duration(float64(rateWindow) * float64(n) / float64(limit))
}

// account are the counters of one key.
type account struct {
	mu       sync.Mutex
	requests gcra
	tokens   gcra
	inFlight int
	period   time.Time // start of the period that spentNow counts
	kind     BudgetPeriod
	until    time.Time // end of the period, zero if it was not looked at yet
	spentNow microUSD
}

// local counts in this process. What was spent is written through to
// journal, if there is one, so that a restart does not forget it.
type local struct {
	accounts sync.Map // key name -> *account
	journal  Journal
}

// Journal keeps the money that keys spent across restarts.
type Journal interface {
	// Load returns what was stored for name, nil if nothing was.
	Load(name string) []byte
	// Store stores value for name. It may do so later and must not block long.
	Store(name string, value []byte)
}

func (l *local) account(key string, p BudgetPeriod, now time.Time) *account {
	if a, ok := l.accounts.Load(key); ok {
		return a.(*account)
	}
	a := new(account)
	if l.journal != nil && p != "" {
		// The record is the period's start in Unix seconds and the sum.
		if b := l.journal.Load(journalName(key, p)); len(b) == 16 {
			start, _ := p.bounds(now)
			if stored := int64(binary.BigEndian.Uint64(b)); stored == start.Unix() {
				a.period, a.spentNow = start, microUSD(binary.BigEndian.Uint64(b[8:]))
			}
		}
	}
	actual, _ := l.accounts.LoadOrStore(key, a)
	return actual.(*account)
}

func journalName(key string, p BudgetPeriod) string { return string(p) + "/" + key }

// admit takes one request and tokens of the key's limits, or nothing.
func (l *local) admit(key string, lim Limits, tokens int, now time.Time) Decision {
	a := l.account(key, lim.Period, now)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.roll(lim.Period, now)
	var d Decision
	deny := func(reason Reason, limit string, wait time.Duration) {
		d.Denied = &Denial{Reason: reason, Limit: limit, RetryAfter: wait}
	}
	requests, toks := a.requests, a.tokens
	switch {
	case lim.Budget > 0 && a.spentNow >= toMicro(lim.Budget):
		_, end := lim.Period.bounds(now)
		deny(BudgetExceeded, "budget", end.Sub(now))
	case lim.Concurrency > 0 && a.inFlight >= lim.Concurrency:
		deny(ConcurrencyLimited, "concurrency", time.Second)
	}
	if d.Denied == nil && lim.RPM > 0 {
		if ok, wait := requests.take(now, lim.RPM, 1); !ok {
			deny(RateLimited, "rpm", wait)
		}
	}
	if d.Denied == nil && lim.TPM > 0 {
		// A request larger than the whole allowance would never fit; it takes
		// all of it and waits for all of it.
		if ok, wait := toks.take(now, lim.TPM, min(tokens, lim.TPM)); !ok {
			deny(RateLimited, "tpm", wait)
		}
	}
	if d.Denied == nil {
		a.requests, a.tokens = requests, toks
		a.inFlight++
	}
	if lim.RPM > 0 {
		d.Requests = a.requests.window(now, lim.RPM)
	}
	if lim.TPM > 0 {
		d.Tokens = a.tokens.window(now, lim.TPM)
	}
	return d
}

// settle corrects the tokens that admit took by delta, adds cost to what was
// spent and gives the slot back, all at once: whoever takes the slot sees what
// was spent.
func (l *local) settle(key string, lim Limits, delta int, cost microUSD, now time.Time) {
	a := l.account(key, lim.Period, now)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inFlight > 0 {
		a.inFlight--
	}
	if lim.TPM > 0 && delta != 0 {
		a.tokens.adjust(now, lim.TPM, delta)
	}
	l.add(a, key, lim.Period, cost, now)
}

// add adds cost to a, which is locked.
func (l *local) add(a *account, key string, p BudgetPeriod, cost microUSD, now time.Time) {
	if p == "" || cost == 0 {
		return
	}
	a.roll(p, now)
	a.spentNow += cost
	if l.journal != nil {
		b := binary.BigEndian.AppendUint64(nil, uint64(a.period.Unix()))
		l.journal.Store(journalName(key, p), binary.BigEndian.AppendUint64(b, uint64(a.spentNow)))
	}
}

// spent is the money spent in the period that now lies in.
func (l *local) spent(key string, p BudgetPeriod, now time.Time) microUSD {
	if p == "" {
		return 0
	}
	a := l.account(key, p, now)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.roll(p, now)
	return a.spentNow
}

// roll begins a new budget period when the old one is over.
func (a *account) roll(p BudgetPeriod, now time.Time) {
	if p == "" {
		return
	}
	if p == a.kind && now.Before(a.until) && !now.Before(a.period) {
		return
	}
	start, end := p.bounds(now)
	if !start.Equal(a.period) {
		a.period, a.spentNow = start, 0
	}
	a.kind, a.until = p, end
}

// rateOfLog lets one line through per minute.
type rateOfLog struct {
	mu   sync.Mutex
	next time.Time
}

func (r *rateOfLog) allow(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Before(r.next) {
		return false
	}
	r.next = now.Add(time.Minute)
	return true
}
