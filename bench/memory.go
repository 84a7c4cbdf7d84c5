package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/load"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

// crowd is a number of requests at once.
type crowd struct {
	requests int
	size     string
	body     []byte
}

// memorySample is what a server holds while requests are under way.
type memorySample struct {
	Mode     string `json:"mode"`
	Requests int    `json:"requests"`
	Body     int    `json:"body_bytes"`
	Upstream int64  `json:"upstream_bytes"` // per request

	// Live heap per request beyond that of the idle server: while the provider
	// has read all bodies and not answered, and once it has sent the first
	// bytes of every answer.
	HeapWaiting   float64 `json:"heap_waiting"`
	HeapAnswering float64 `json:"heap_answering"`
	PeakRSS       int64   `json:"peak_rss"`  // while the bodies came in
	IdleRSS       int64   `json:"idle_rss"`  // before
	LivingRSS     int64   `json:"after_rss"` // after all were answered
}

// barrier holds requests back until a given number has arrived and somebody
// has had a look.
type barrier struct {
	mu      sync.Mutex
	want    int
	arrived int
	full    chan struct{} // closed when all have arrived
	open    chan struct{} // closed to let them go
}

func newBarrier(want int) *barrier {
	return &barrier{want: want, full: make(chan struct{}), open: make(chan struct{})}
}

// pass waits for the barrier to be opened.
func (b *barrier) pass() {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.arrived++
	if b.arrived == b.want {
		close(b.full)
	}
	b.mu.Unlock()
	<-b.open
}

// crowdTimeout is how long a crowd may take to gather.
const crowdTimeout = 2 * time.Minute

// runMemory is the verb.
func runMemory(ctx context.Context, args []string) error {
	f := newFlags("memory")
	c := addCommon(f)
	modeList := f.String("modes", "off,rtk-auto,squoze", "modes beside the baseline")
	counts := f.String("requests", "1,100,1000", "requests of 100 KiB at once")
	large := f.Int("large", 12, "requests of 4 MiB at once")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	picked, err := pickModes(*modeList)
	if err != nil {
		return err
	}
	numbers, err := numbers(*counts)
	if err != nil {
		return usagef("requests: %v", err)
	}
	var crowds []crowd
	for _, n := range numbers {
		crowds = append(crowds, crowd{n, "100 KiB", streamingBody(testbody.Large())})
	}
	if *large > 0 {
		crowds = append(crowds, crowd{*large, "4 MiB", proseBody(4 << 20)})
	}
	var waiting, answering *barrier // of the crowd under way
	var mu sync.Mutex
	current := func(b **barrier) *barrier {
		mu.Lock()
		defer mu.Unlock()
		return *b
	}
	cfg := provider.Config{
		Frames: 2,
		Hold:   func() { current(&waiting).pass() },
		Sent: func(_ uint64, frame int) {
			if frame == 1 { // the first frame is out
				current(&answering).pass()
			}
		},
	}
	rig, err := newRig(ctx, c, cfg, proc.Plain)
	if err != nil {
		return err
	}
	var samples []memorySample
	measure := func() error {
		progress := newProgress(len(crowds) * len(picked))
		defer progress.end()
		for i, crowd := range crowds {
			for _, m := range picked {
				s, err := rig.start(ctx, fmt.Sprintf("%s-%d", m.name, i), m, serverOptions{})
				if err != nil {
					return err
				}
				set := func(w, a *barrier) {
					mu.Lock()
					defer mu.Unlock()
					waiting, answering = w, a
				}
				sample, err := rig.crowd(ctx, s, crowd, set)
				if err != nil {
					return fmt.Errorf("%s, %d requests of %s: %w", m.name, crowd.requests, crowd.size, err)
				}
				sample.Mode = m.name
				samples = append(samples, sample)
				if err := rig.stop(s); err != nil {
					return err
				}
				progress.step(fmt.Sprintf("%4d x %-7s  %-21s heap/request %s", crowd.requests, crowd.size, m.name, report.Bytes(sample.HeapWaiting)))
			}
		}
		return nil
	}
	err = measure()
	host := rig.host(ctx)
	if err := errors.Join(err, rig.close()); err != nil {
		return err
	}
	return memoryOutcome(samples, host).publish(c)
}

// proseBody is a request of about size bytes in which no optimizer finds
// anything: the user's own words, each line another.
func proseBody(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"stream":true,"model":"gpt-4o","messages":[{"role":"user","content":"`)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `Paragraph %d of the manuscript asks what became of traveller %d after the bridge.\n`, i, i*7919%10007)
	}
	b.WriteString(`"}],"max_tokens":64}`)
	return []byte(b.String())
}

// crowd sends the requests of a crowd through a fresh server and looks at its
// memory while they wait.
func (r *rig) crowd(ctx context.Context, s *server, c crowd, set func(waiting, answering *barrier)) (memorySample, error) {
	out := memorySample{Requests: c.requests, Body: len(c.body)}
	addr := s.addr[proc.Plain]
	set(nil, nil)
	warm := load.NewRequest(addr, chatPath, nil, testbody.Small())
	if _, err := load.Run(ctx, load.Plan{Addr: addr, Conns: 4, Limit: 50, Request: func(int) *load.Request { return warm }}); err != nil {
		return out, err
	}
	idle, err := s.Memory(ctx, true)
	if err != nil {
		return out, err
	}
	s.ResetPeak()
	waiting, answering := newBarrier(c.requests), newBarrier(c.requests)
	set(waiting, answering)
	seen := r.up.provider.Stats()
	done := make(chan error, 1)
	req := load.NewRequest(addr, chatPath, nil, c.body)
	go func() {
		res, err := load.Run(ctx, load.Plan{Addr: addr, Conns: c.requests, Limit: 1, Request: func(int) *load.Request { return req }})
		if err == nil && res.Errors > 0 {
			err = fmt.Errorf("%d errors, the first: %s", res.Errors, res.Error)
		}
		done <- err
	}()
	gathered := func(b *barrier) error {
		timeout := time.NewTimer(crowdTimeout)
		defer timeout.Stop()
		select {
		case <-b.full:
			return nil
		case err := <-done:
			return errors.Join(errors.New("the requests ended too soon"), err)
		case <-timeout.C:
			return fmt.Errorf("after %v not all requests have come through", crowdTimeout)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	heap := func() (float64, proc.Memory, error) {
		peaked, err := s.Memory(ctx, false)
		if err != nil {
			return 0, peaked, err
		}
		live, err := s.Memory(ctx, true)
		return float64(live.Heap-idle.Heap) / float64(c.requests), peaked, err
	}
	fail := func(err error) (memorySample, error) {
		closeOnce(waiting.open)
		closeOnce(answering.open)
		return out, err
	}
	if err := gathered(waiting); err != nil {
		return fail(err)
	}
	var peaked proc.Memory
	if out.HeapWaiting, peaked, err = heap(); err != nil {
		return fail(err)
	}
	out.PeakRSS, out.IdleRSS = peaked.Peak, idle.RSS
	close(waiting.open)
	if err := gathered(answering); err != nil {
		return fail(err)
	}
	if out.HeapAnswering, _, err = heap(); err != nil {
		return fail(err)
	}
	close(answering.open)
	if err := <-done; err != nil {
		return out, err
	}
	after, err := s.Memory(ctx, true)
	out.LivingRSS = after.RSS
	now := r.up.provider.Stats()
	out.Upstream = (now.BodyBytes - seen.BodyBytes) / max(now.Requests-seen.Requests, 1)
	return out, err
}

// closeOnce closes c if it is not closed.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// memoryOutcome shows the samples.
func memoryOutcome(samples []memorySample, host report.Host) *outcome {
	o := &outcome{
		title: "Memory", host: host, data: samples,
		text: []string{"Every line is a server of its own. Heap: live objects per request beyond those of the idle server, after a collection, while the provider has every body and has not answered (waiting), " +
			"and when the first bytes of every answer have been sent (answering). RSS: resident size of the server before, at its peak while the bodies came in, and after all was answered. Requests through plain Caddy are streamed, not held."},
	}
	t := report.Table{Head: []string{"requests", "body", "mode", "upstream", "heap waiting", "by body", "heap answering", "RSS before", "peak", "after"}, Left: []int{2}}
	for _, s := range samples {
		t.Add(strconv.Itoa(s.Requests), report.Bytes(float64(s.Body)), s.Mode, report.Bytes(float64(s.Upstream)), report.Bytes(s.HeapWaiting), report.Ratio(s.HeapWaiting/float64(s.Body)),
			report.Bytes(s.HeapAnswering), report.Bytes(float64(s.IdleRSS)), report.Bytes(float64(s.PeakRSS)), report.Bytes(float64(s.LivingRSS)))
	}
	o.tables = append(o.tables, t)
	return o
}
