package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/hist"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/wire"
)

// Plan is a load.
type Plan struct {
	Addr     string // host:port of a server that speaks plain HTTP/1.1
	Conns    int
	WarmUp   int                     // unmeasured requests per connection
	Duration time.Duration           // of the measurement
	Limit    int                     // requests per connection, if Duration is 0
	Request  func(conn int) *Request // the request of a connection
	Started  func()                  // called after the warm-up, before the measurement
	Accept   func(status int) bool   // default: 200 only
}

// Result is what the clients of a load saw.
type Result struct {
	Requests int64         // answered as they should be before the end of Duration
	Total    int64         // the same, with those that were under way then
	Errors   int64         // failed or answered otherwise
	Error    string        // the first of them
	Elapsed  time.Duration // what Requests refers to
	Bytes    int64         // of the answers' bodies, of Total

	Latency  hist.Hist // of Total
	TTFB     hist.Hist
	Overhead hist.Hist // as reported by the gateway in X-Gateway-Overhead-Ms

	SavedBytes  int64 // sums over Total of what the gateway reported
	SavedTokens int64
	Hits        int64            // answered from the gateway's cache
	Applied     map[string]int64 // requests by X-Gateway-Applied, without its figures
}

// RPS is the number of requests per second.
func (r *Result) RPS() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Requests) / r.Elapsed.Seconds()
}

// maxFailures is how many requests in a row may fail before a connection
// gives up.
const maxFailures = 50

// Run puts the load on. An error says that nothing was measured.
func Run(ctx context.Context, p Plan) (*Result, error) {
	if p.Accept == nil {
		p.Accept = func(status int) bool { return status == 200 }
	}
	workers := make([]*worker, p.Conns)
	for i := range workers {
		workers[i] = &worker{plan: &p, request: p.Request(i)}
	}
	defer func() {
		for _, w := range workers {
			if w.conn != nil {
				_ = w.conn.Close() // measured and done
			}
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		for _, w := range workers {
			w.interrupt()
		}
	})
	defer stop()

	if err := each(workers, func(w *worker) error { return w.warmUp(ctx) }); err != nil {
		return nil, fmt.Errorf("warm-up: %w", err)
	}
	if p.Started != nil {
		p.Started()
	}
	start := time.Now()
	end := start.Add(p.Duration)
	if err := each(workers, func(w *worker) error { return w.measure(ctx, end) }); err != nil {
		return nil, err
	}
	total := &Result{Elapsed: p.Duration, Applied: make(map[string]int64)}
	if p.Duration == 0 {
		total.Elapsed = time.Since(start)
	}
	for _, w := range workers {
		total.merge(&w.result)
	}
	return total, nil
}

// each runs f for all workers at once.
func each(workers []*worker, f func(*worker) error) error {
	errs := make([]error, len(workers))
	var wg sync.WaitGroup
	for i, w := range workers {
		wg.Go(func() { errs[i] = f(w) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Result) merge(o *Result) {
	r.Requests += o.Requests
	r.Total += o.Total
	r.Errors += o.Errors
	if r.Error == "" {
		r.Error = o.Error
	}
	r.Bytes += o.Bytes
	r.Latency.Merge(&o.Latency)
	r.TTFB.Merge(&o.TTFB)
	r.Overhead.Merge(&o.Overhead)
	r.SavedBytes += o.SavedBytes
	r.SavedTokens += o.SavedTokens
	r.Hits += o.Hits
	for k, n := range o.Applied {
		r.Applied[k] += n
	}
}

// worker is one connection of a load.
type worker struct {
	plan    *Plan
	request *Request
	result  Result

	mu          sync.Mutex
	conn        *Conn
	interrupted bool

	last    string // X-Gateway-Applied of the answer before
	lastKey string
	answer  struct {
		overhead    time.Duration
		hasOverhead bool
		bytes       int64
		tokens      int64
		hit         bool
		applied     string
	}
}

// interrupt ends what the worker waits for.
func (w *worker) interrupt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.interrupted = true
	if w.conn != nil {
		_ = w.conn.Close() // the read or write under way returns
	}
}

// dial replaces the connection.
func (w *worker) dial(ctx context.Context) error {
	c, err := Dial(ctx, w.plan.Addr)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil {
		_ = w.conn.Close() // it was given up
	}
	w.conn = c
	if err != nil {
		w.conn = nil
		return err
	}
	if w.interrupted {
		_ = c.Close() // as interrupt would have
		return context.Cause(ctx)
	}
	return nil
}

func (w *worker) warmUp(ctx context.Context) error {
	if err := w.dial(ctx); err != nil {
		return err
	}
	for range w.plan.WarmUp {
		x, err := w.conn.Do(w.request, nil, nil)
		if err != nil {
			return err
		}
		if !w.plan.Accept(x.Status) {
			return fmt.Errorf("answered with status %d", x.Status)
		}
		if x.Close {
			if err := w.dial(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *worker) measure(ctx context.Context, end time.Time) error {
	res := &w.result
	res.Applied = make(map[string]int64)
	failures := 0
	for n := 0; ; n++ {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if w.plan.Duration == 0 && n == w.plan.Limit {
			return nil
		}
		x, err := w.conn.Do(w.request, w.readHead, nil)
		done := x.Sent.Add(x.Total)
		if err == nil && !w.plan.Accept(x.Status) {
			err = fmt.Errorf("answered with status %d", x.Status)
		}
		if err != nil {
			res.Errors++
			if res.Error == "" {
				res.Error = err.Error()
			}
			if failures++; failures == maxFailures {
				return nil
			}
			if err := w.dial(ctx); err != nil {
				return errors.Join(errors.New(res.Error), err)
			}
			done = time.Now()
		} else {
			failures = 0
			res.add(x, w)
			if w.plan.Duration == 0 || !done.After(end) {
				res.Requests++
			}
			if x.Close {
				if err := w.dial(ctx); err != nil {
					return err
				}
			}
		}
		if w.plan.Duration > 0 && !done.Before(end) {
			return nil
		}
	}
}

// add counts an exchange.
func (r *Result) add(x Exchange, w *worker) {
	r.Total++
	r.Bytes += x.Bytes
	r.Latency.Add(x.Total)
	r.TTFB.Add(x.TTFB)
	if w.answer.hasOverhead {
		r.Overhead.Add(w.answer.overhead)
	}
	r.SavedBytes += w.answer.bytes
	r.SavedTokens += w.answer.tokens
	if w.answer.hit {
		r.Hits++
	}
	if w.answer.applied != "" {
		r.Applied[w.answer.applied]++
	}
}

// readHead reads what the gateway says about a request.
func (w *worker) readHead(h wire.Head) {
	a := &w.answer
	a.hasOverhead, a.overhead, a.bytes, a.tokens, a.hit, a.applied = false, 0, 0, 0, false, ""
	h.Each(func(name, value []byte) {
		if len(name) < 12 || name[0]|0x20 != 'x' {
			return
		}
		switch {
		case wire.Is(name, "x-gateway-overhead-ms"):
			if ms, err := strconv.ParseFloat(string(value), 64); err == nil {
				a.overhead, a.hasOverhead = time.Duration(ms*float64(time.Millisecond)), true
			}
		case wire.Is(name, "x-gateway-saved-bytes"):
			a.bytes, _ = strconv.ParseInt(string(value), 10, 64) // absent or odd: 0
		case wire.Is(name, "x-gateway-saved-tokens"):
			a.tokens, _ = strconv.ParseInt(string(value), 10, 64) // absent or odd: 0
		case wire.Is(name, "x-gateway-cache"):
			a.hit = bytes.HasPrefix(value, []byte("HIT"))
		case wire.Is(name, "x-gateway-applied"):
			if string(value) != w.last {
				w.last = string(value)
				w.lastKey = AppliedNames(w.last)
			}
			a.applied = w.lastKey
		}
	})
}

// AppliedNames is the value of X-Gateway-Applied without parameters:
// "rtk=standard;saved=812, caveman=full" becomes "rtk=standard, caveman=full".
func AppliedNames(value string) string {
	var names []string
	for member := range strings.SplitSeq(value, ",") {
		name, _, _ := strings.Cut(member, ";")
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
