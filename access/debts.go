package access

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
)

// Settlements do not keep requests waiting: they go to the server in the
// background, as many as came meanwhile in one round trip, those of one key
// merged into one. What the server did not confirm is sent again, under the
// same number, so that it counts once.

// slotsPerDebt bounds how many slots one settlement gives back; more of them
// run out by themselves (slotLife).
const slotsPerDebt = 1000

// debt is what requests of one key, in one budget period, really used.
type debt struct {
	key    string
	period BudgetPeriod
	tpm    int // the limit, 0 without one
	names  []string
	keep   int64 // seconds that the sum is kept
	number int64 // set when it is sent
	delta  int   // tokens
	cost   microUSD
	slots  []string
}

// debts are the settlements that the server has not confirmed.
type debts struct {
	mu       sync.Mutex
	open     map[string]*debt // by the name of what is spent
	sent     []*debt          // under way, or to be sent again
	last     int64            // number of the last one
	flushing bool
	step     chan struct{} // closed when the server has answered, or failed to
}

// add merges d in. start says that the caller must start a flush.
func (q *debts) add(d *debt) (start bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open = make(map[string]*debt)
	}
	id := d.names[3]
	if known := q.open[id]; known != nil {
		known.delta += d.delta
		known.cost += d.cost
		known.tpm = d.tpm
		if len(known.slots) < slotsPerDebt {
			known.slots = append(known.slots, d.slots...)
		}
	} else {
		q.open[id] = d
	}
	return q.begin()
}

// begin reports whether the caller is to flush. q.mu is held.
func (q *debts) begin() bool {
	if q.flushing || len(q.open) == 0 && len(q.sent) == 0 {
		return false
	}
	q.flushing, q.step = true, make(chan struct{})
	return true
}

// restart reports whether the caller is to flush what is left from before.
func (q *debts) restart() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.begin()
}

// next is what is to be sent: first what the server did not confirm, since it
// takes numbers in their order only.
func (q *debts) next() []*debt {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.sent) == 0 {
		for _, d := range q.open {
			q.last++
			d.number = q.last
			q.sent = append(q.sent, d)
		}
		clear(q.open)
	}
	q.flushing = len(q.sent) > 0
	return q.sent
}

// confirm keeps what the server did not take. The flush goes on if that is
// nothing.
func (q *debts) confirm(left []*debt) (more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sent, q.flushing = left, len(left) == 0
	close(q.step)
	q.step = make(chan struct{})
	return q.flushing
}

// wait waits until what is owed now has reached the server, or could not, and
// reports whether there was any.
func (q *debts) wait(ctx context.Context) bool {
	q.mu.Lock()
	rounds := 0
	if q.flushing && len(q.sent) > 0 {
		rounds++
	}
	if q.flushing && len(q.open) > 0 {
		rounds++
	}
	waited := rounds > 0
	for ; rounds > 0 && q.flushing; rounds-- {
		step := q.step
		q.mu.Unlock()
		select {
		case <-step:
		case <-ctx.Done():
			return true
		}
		q.mu.Lock()
	}
	q.mu.Unlock()
	return waited
}

// owe adds what a request really used and sends it in the background.
func (s *shared) owe(l *Limiter, key string, lim Limits, delta int, cost microUSD, slot string, now time.Time) {
	// Kept for one more period, so that a gateway whose clock is behind still
	// finds it.
	start, end := lim.Period.bounds(now)
	d := &debt{key: key, period: lim.Period, tpm: lim.TPM, names: s.keys(key, lim.Period, now), keep: int64(2 * end.Sub(start) / time.Second), delta: delta, cost: cost}
	if slot != "" {
		d.slots = []string{slot}
	}
	if s.debts.add(d) {
		go s.flush(l)
	}
}

// flush sends until nothing is left or the server is away.
func (s *shared) flush(l *Limiter) {
	for {
		batch := s.debts.next()
		if len(batch) == 0 {
			return
		}
		now := l.now()
		left, err := s.send(batch, now)
		if err != nil {
			s.link.report(err, now)
			l.down(err, now)
		}
		if !s.debts.confirm(left) {
			return
		}
	}
}

// send sends batch in one round trip; left is what the server did not confirm.
func (s *shared) send(batch []*debt, now time.Time) (left []*debt, err error) {
	client, err := s.link.get(now)
	if client == nil {
		return batch, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	calls := make([]valkey.LuaExec, len(batch))
	for i, d := range batch {
		calls[i] = valkey.LuaExec{
			Keys: append(d.names, s.prefix+"{"+d.key+"}:settled:"+s.id),
			Args: append([]string{strconv.Itoa(d.tpm), strconv.Itoa(d.delta), strconv.FormatInt(int64(d.cost), 10),
				strconv.FormatInt(d.keep, 10), strconv.FormatInt(d.number, 10)}, d.slots...),
		}
	}
	for i, res := range settleScript.ExecMulti(ctx, client, calls...) {
		if res.Error() != nil {
			left, err = append(left, batch[i]), res.Error()
		}
	}
	return left, err
}
