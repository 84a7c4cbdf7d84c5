package cache

import (
	"sync"
	"time"
)

// reportEvery is the shortest time between two reports of one kind.
const reportEvery = time.Minute

// reporter tells an operator what happened, but not more often than useful.
type reporter struct {
	log func(message string, err error)
	now func() int64

	mu   sync.Mutex
	last map[string]int64
}

func newReporter(log func(string, error), now func() int64) *reporter {
	return &reporter{log: log, now: now, last: make(map[string]int64)}
}

// report tells of err under message unless message was told a short while ago.
// There are few messages; what differs is in err.
func (r *reporter) report(message string, err error) {
	if r.log == nil {
		return
	}
	now := r.now()
	r.mu.Lock()
	last, told := r.last[message]
	due := !told || now-last >= int64(reportEvery)
	if due {
		r.last[message] = now
	}
	r.mu.Unlock()
	if due {
		r.log(message, err)
	}
}
