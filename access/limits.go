package access

import (
	"context"
	"crypto/rand"
	"math"
	"time"

	"github.com/valkey-io/valkey-go"
)

// Limits are what one key may use. Zero means no limit.
type Limits struct {
	RPM         int          // requests per minute
	TPM         int          // tokens per minute, input and output
	Concurrency int          // requests at a time
	Budget      float64      // USD per Period
	Period      BudgetPeriod // of Budget
}

// BudgetPeriod is how often a budget starts anew, in UTC.
type BudgetPeriod string

// Budget periods.
const (
	Daily   BudgetPeriod = "daily"
	Monthly BudgetPeriod = "monthly"
)

// any reports whether there is something to limit.
func (l Limits) any() bool { return l.RPM > 0 || l.TPM > 0 || l.Concurrency > 0 || l.Budget > 0 }

// start is when the period that now lies in began, end when the next begins.
func (p BudgetPeriod) bounds(now time.Time) (start, end time.Time) {
	now = now.UTC()
	if p == Monthly {
		start = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
		return start, start.AddDate(0, 1, 0)
	}
	start = time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	return start, start.AddDate(0, 0, 1)
}

// Reason says which limit refused a request; it is the stable code of the
// answer.
type Reason string

// Reasons.
const (
	RateLimited        Reason = "rate_limited"
	BudgetExceeded     Reason = "budget_exceeded"
	ConcurrencyLimited Reason = "concurrency_limited"
)

// Denial is a refused request.
type Denial struct {
	Reason     Reason
	Limit      string // "rpm", "tpm", "concurrency" or "budget"
	RetryAfter time.Duration
}

// Window is how much of a rate limit is left, for the x-ratelimit headers.
type Window struct {
	Limit, Remaining int
	Reset            time.Duration // until it is whole again
}

// Decision is the answer to Admit.
type Decision struct {
	Denied   *Denial // nil: go ahead
	Requests Window  // zero without an rpm limit
	Tokens   Window  // zero without a tpm limit
}

// microUSD counts money in whole millionths, so that sums are exact.
type microUSD int64

func toMicro(usd float64) microUSD { return microUSD(math.Round(usd * 1e6)) }

// Limiter enforces the limits of keys.
type Limiter struct {
	local  *local
	shared *shared // nil without a server
	now    func() time.Time
	onDown func(error) // called, at most once a minute, when shared fails
	downAt rateOfLog
}

// Lease is an admitted request. Settle must be called once it is over.
type Lease struct {
	limiter *Limiter
	key     string
	limits  Limits
	tokens  int    // taken at the start
	slot    string // id on the server, "" if the local ledger admitted it
	done    bool
}

// Admit asks for one request with an estimated number of tokens. Without a
// denial the lease is to be settled when the request is over; with one it is
// nil.
func (l *Limiter) Admit(ctx context.Context, key string, limits Limits, tokens int) (*Lease, Decision) {
	if !limits.any() {
		return &Lease{done: true}, Decision{}
	}
	now := l.now()
	lease := &Lease{limiter: l, key: key, limits: limits, tokens: tokens}
	var decision Decision
	var err error
	if l.shared != nil {
		decision, lease.slot, err = l.shared.admit(ctx, key, limits, tokens, now)
		if d := decision.Denied; err == nil && d != nil && d.Reason == ConcurrencyLimited && l.shared.settling(ctx) {
			// The place may be one that this gateway is just giving back.
			decision, lease.slot, err = l.shared.admit(ctx, key, limits, tokens, now)
		}
		switch {
		case err != nil:
			l.down(err, now)
		case l.shared.debts.restart():
			go l.shared.flush(l) // left from when the server was away
		}
	}
	if l.shared == nil || err != nil {
		lease.slot = ""
		decision = l.local.admit(key, limits, tokens, now)
	}
	if decision.Denied != nil {
		return nil, decision
	}
	return lease, decision
}

// Settle ends a lease: tokens is what was really used, negative if that is
// not known; usd is what it cost. A second call does nothing.
//
// With a server it does not wait for it.
func (l *Lease) Settle(_ context.Context, tokens int, usd float64) {
	if l == nil || l.done {
		return
	}
	l.done = true
	delta := 0
	if tokens >= 0 {
		delta = tokens - min(l.tokens, l.taken())
	}
	now := l.limiter.now()
	shared, cost := l.limiter.shared, toMicro(usd)
	if l.slot == "" {
		l.limiter.local.settle(l.key, l.limits, delta, cost, now)
		if shared == nil || l.limits.Period == "" || cost == 0 {
			return
		}
		delta = 0 // the server did not take the tokens, but the money counts
	}
	shared.owe(l.limiter, l.key, l.limits, delta, cost, l.slot, now)
}

// taken is the most tokens that admission takes at once.
func (l *Lease) taken() int {
	if l.limits.TPM > 0 {
		return l.limits.TPM
	}
	return l.tokens
}

// Spent is what key spent in the current period, in USD.
func (l *Limiter) Spent(ctx context.Context, key string, p BudgetPeriod) float64 {
	now := l.now()
	if l.shared != nil {
		if m, err := l.shared.spent(ctx, key, p, now); err == nil {
			return float64(m) / 1e6
		}
	}
	return float64(l.local.spent(key, p, now)) / 1e6
}

// NewLimiter returns a limiter that counts in this process. journal keeps
// what was spent across restarts and may be nil. now is the clock.
func NewLimiter(journal Journal, now func() time.Time) *Limiter {
	return &Limiter{local: &local{journal: journal}, now: now}
}

// SharedTimeout is how long a request waits for the server of shared limits.
const SharedTimeout = 50 * time.Millisecond

// Share makes l count on the server that connect reaches, with names that
// start with prefix; while the server is not there or does not answer within
// timeout it counts in this process, and tries again every second that brings a
// request. Share itself tries once, and waits for that. onDown is called at
// most once a minute while the server is away. Close ends it.
func (l *Limiter) Share(connect func() (valkey.Client, error), prefix string, timeout time.Duration, onDown func(error)) {
	l.shared = &shared{link: link{connect: connect}, prefix: prefix, timeout: timeout, id: rand.Text()}
	l.onDown = onDown
	l.shared.link.dial()
	if err := l.shared.link.err; err != nil {
		now := l.now()
		l.shared.link.report(err, now)
		l.down(err, now)
	}
}

// Close waits, up to a timeout of the server, for what requests used to be
// told to it, and closes the connection. Requests that are over later count in
// this process only.
func (l *Limiter) Close() {
	if l.shared == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.shared.timeout)
	defer cancel()
	l.shared.debts.wait(ctx)
	l.shared.link.close()
}

// down reports that the server failed.
func (l *Limiter) down(err error, now time.Time) {
	if l.onDown != nil && l.downAt.allow(now) {
		l.onDown(err)
	}
}
