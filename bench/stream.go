package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/hist"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/load"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

// sendTimes is when the provider sent the frames of the streams under way.
type sendTimes struct {
	frames int
	base   uint64 // Bench-Id of the first stream
	at     []atomic.Int64
}

func newSendTimes(base uint64, streams, frames int) *sendTimes {
	return &sendTimes{frames: frames, base: base, at: make([]atomic.Int64, streams*frames)}
}

// clockStart is what the times count from.
var clockStart = time.Now()

// sinceStart is the monotonic time.
func sinceStart() int64 { return int64(time.Since(clockStart)) }

// frame is the slot for a frame, nil if the stream is none of these.
func (s *sendTimes) frame(id uint64, frame int) *atomic.Int64 {
	i := int64(id-s.base)*int64(s.frames) + int64(frame)
	if id < s.base || frame >= s.frames || i >= int64(len(s.at)) {
		return nil
	}
	return &s.at[i]
}

// sent is for provider.Config.Sent.
func (s *sendTimes) sent(id uint64, frame int) {
	if slot := s.frame(id, frame); slot != nil {
		slot.Store(sinceStart())
	}
}

// streamSample is what was seen of a number of streams at once.
type streamSample struct {
	Streams  int              `json:"streams"`
	Complete int              `json:"complete"` // every byte as the provider sent it, in order, to the end
	Error    string           `json:"error,omitempty"`
	TTFT     result.Quantiles `json:"ttft_ms"`    // from sending the request to the first delta
	Gap      result.Quantiles `json:"gap_ms"`     // between two deltas
	Transit  result.Quantiles `json:"transit_ms"` // of a frame from the provider to the client
	Peak     float64          `json:"peak_rss_mib"`
	CPU      float64          `json:"cpu_ms_per_stream"`
}

// streamCell is a mode at a number of streams.
type streamCell struct {
	Streams int            `json:"streams"`
	Mode    string         `json:"mode"`
	Rounds  []streamSample `json:"rounds"`
}

// streaming is a run of the verb.
type streaming struct {
	rig     *rig
	modes   []mode
	counts  []int
	rounds  int
	frames  int
	gap     time.Duration
	path    string
	body    []byte
	times   atomic.Pointer[sendTimes]
	nextID  uint64
	servers map[string]*server
	cells   []*streamCell
}

// runStream is the verb.
func runStream(ctx context.Context, args []string) error {
	f := newFlags("stream")
	c := addCommon(f)
	counts := f.String("streams", "1,10,100,1000", "concurrent streams")
	modeList := f.String("modes", "off,squoze", "modes beside the baseline")
	frames := f.Int("frames", 64, "deltas of a stream")
	gap := f.Duration("gap", 20*time.Millisecond, "time between two deltas")
	rounds := f.Int("rounds", 5, "measurements of each cell")
	profile := f.String("profile", "small", "profile of the request's body")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	s := &streaming{rounds: *rounds, frames: *frames, gap: *gap, path: chatPath, nextID: 1, servers: make(map[string]*server)}
	var err error
	if s.counts, err = numbers(*counts); err != nil {
		return usagef("streams: %v", err)
	}
	if s.modes, err = pickModes(*modeList); err != nil {
		return err
	}
	profiles, err := pickProfiles(*profile)
	if err != nil {
		return err
	}
	s.body = streamingBody(testbody.Body(profiles[0]))
	cfg := provider.Config{Frames: *frames, Gap: *gap, AnswerBytes: 24 * *frames, Sent: func(id uint64, frame int) { s.times.Load().sent(id, frame) }}
	s.times.Store(newSendTimes(0, 0, 0))
	if s.rig, err = newRig(ctx, c, cfg, proc.Plain); err != nil {
		return err
	}
	o, err := s.measure(ctx)
	if err := errors.Join(err, s.rig.close()); err != nil {
		return err
	}
	if err := o.publish(c); err != nil {
		return err
	}
	return s.failures()
}

// streamingBody makes a request ask for a stream.
func streamingBody(body []byte) []byte {
	return append([]byte(`{"stream":true,`), body[1:]...)
}

// failures is an error if a stream was lost or changed.
func (s *streaming) failures() error {
	var failed error
	for _, c := range s.cells {
		for _, r := range c.Rounds {
			if r.Complete != r.Streams {
				fmt.Fprintf(os.Stderr, "%s, %d streams: %d did not arrive as they were sent: %s\n", c.Mode, c.Streams, r.Streams-r.Complete, r.Error)
				failed = errVerdict
			}
		}
	}
	return failed
}

func (s *streaming) measure(ctx context.Context) (*outcome, error) {
	host := s.rig.host(ctx)
	progress := newProgress(len(s.counts) * s.rounds * len(s.modes))
	defer progress.end()
	for _, n := range s.counts {
		var cells []*streamCell
		for _, m := range s.modes {
			cells = append(cells, &streamCell{Streams: n, Mode: m.name})
		}
		s.cells = append(s.cells, cells...)
		// Peaks of memory are those of these streams: new servers for each
		// number of them.
		for _, m := range s.modes {
			server, err := s.rig.start(ctx, fmt.Sprintf("%s-%d", m.name, n), m, serverOptions{})
			if err != nil {
				return nil, err
			}
			s.servers[m.name] = server
		}
		for range s.rounds {
			for _, i := range rand.Perm(len(s.modes)) {
				server := s.servers[s.modes[i].name]
				sample, err := s.sample(ctx, server, n)
				if err != nil {
					return nil, fmt.Errorf("%s, %d streams: %w", s.modes[i].name, n, err)
				}
				cells[i].Rounds = append(cells[i].Rounds, sample)
				progress.step(fmt.Sprintf("%4d streams  %-21s transit p50 %s p99 %s ms", n, s.modes[i].name, report.Millis(sample.Transit.P50), report.Millis(sample.Transit.P99)))
			}
		}
		for _, server := range s.servers {
			if err := s.rig.stop(server); err != nil {
				return nil, err
			}
		}
	}
	return s.outcome(host), nil
}

// streamsEach is how many streams a client takes one after the other. The
// clients begin spread over the length of a stream, so that from the second
// ones on there are as many under way as there are clients, and they begin at
// all times: what the first delta takes is measured on those.
const streamsEach = 3

// stream is the streams of one client as it sees them.
type stream struct {
	conn                *load.Conn
	id                  uint64 // of the first
	whole               int
	err                 error
	ttft, gaps, transit hist.Hist
}

// sample runs n streams at once.
func (s *streaming) sample(ctx context.Context, server *server, n int) (streamSample, error) {
	base := s.nextID
	s.nextID += uint64(n * streamsEach)
	s.times.Store(newSendTimes(base, n*streamsEach, s.frames+2))
	streams := make([]*stream, n)
	defer func() {
		for _, st := range streams {
			if st != nil && st.conn != nil {
				_ = st.conn.Close() // measured and done
			}
		}
	}()
	warm := load.NewRequest(server.addr[proc.Plain], s.path, nil, testbody.Small())
	for i := range streams {
		streams[i] = &stream{id: base + uint64(i*streamsEach)}
		var err error
		if streams[i].conn, err = load.Dial(ctx, server.addr[proc.Plain]); err != nil {
			return streamSample{}, err
		}
		if _, err = streams[i].conn.Do(warm, nil, nil); err != nil {
			return streamSample{}, fmt.Errorf("warm-up: %w", err)
		}
	}
	before, err := server.Usage(ctx)
	if err != nil {
		return streamSample{}, err
	}
	server.ResetPeak()
	stop := context.AfterFunc(ctx, func() {
		for _, st := range streams {
			_ = st.conn.Close() // reads under way return
		}
	})
	defer stop()
	var wg sync.WaitGroup
	for _, st := range streams {
		wg.Go(func() { s.follow(ctx, server, st) })
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return streamSample{}, err
	}
	after, err := server.Usage(ctx)
	if err != nil {
		return streamSample{}, err
	}
	mem, err := server.Memory(ctx, false)
	if err != nil {
		return streamSample{}, err
	}
	out := streamSample{Streams: n * streamsEach}
	var ttft, gaps, transit hist.Hist
	for _, st := range streams {
		out.Complete += st.whole
		if st.err != nil && out.Error == "" {
			out.Error = st.err.Error()
		}
		ttft.Merge(&st.ttft)
		gaps.Merge(&st.gaps)
		transit.Merge(&st.transit)
	}
	out.TTFT, out.Gap, out.Transit = result.QuantilesOf(&ttft), result.QuantilesOf(&gaps), result.QuantilesOf(&transit)
	if mem.Peak > 0 {
		out.Peak = float64(mem.Peak) / (1 << 20)
	}
	if before.CPU >= 0 {
		out.CPU = float64(after.CPU-before.CPU) / float64(time.Millisecond) / float64(n*streamsEach)
	}
	return out, nil
}

// follow takes a client's streams and checks every byte that comes.
func (s *streaming) follow(ctx context.Context, server *server, st *stream) {
	frames := make([][][]byte, streamsEach)
	for i := range frames {
		frames[i] = s.rig.up.provider.Render(s.path, s.body, st.id+uint64(i))
	}
	length := max(s.gap*time.Duration(s.frames), 1)
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(length))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		st.err = ctx.Err()
		return
	}
	for i := range frames {
		if st.err = s.followOne(server, st, st.id+uint64(i), frames[i], i > 0); st.err != nil {
			return
		}
		st.whole++
	}
}

// followOne takes one stream. steady says that all clients have streams under
// way.
func (s *streaming) followOne(server *server, st *stream, id uint64, frames [][]byte, steady bool) error {
	req := load.NewRequest(server.addr[proc.Plain], s.path, []load.Header{{Name: "Bench-Id", Value: strconv.FormatUint(id, 10)}}, s.body)
	var check frameCheck
	check.frames = frames
	times := s.times.Load()
	start := sinceStart()
	last := int64(0)
	check.arrived = func(i int) {
		now := sinceStart()
		if sent := times.frame(id, i).Load(); sent > 0 {
			st.transit.Add(time.Duration(now - sent))
		}
		// Frame 0 opens the stream, 1 is the first delta.
		if i == 1 && steady {
			st.ttft.Add(time.Duration(now - start))
		}
		if i > 1 && i <= s.frames {
			st.gaps.Add(time.Duration(now - last))
		}
		last = now
	}
	x, err := st.conn.Do(req, nil, check.take)
	if err != nil {
		return err
	}
	if x.Status != 200 {
		return fmt.Errorf("status %d", x.Status)
	}
	return check.end()
}

// frameCheck compares what arrives with the frames that were sent.
type frameCheck struct {
	frames  [][]byte
	arrived func(frame int) // called when the last byte of a frame is there
	at      int             // frame
	in      int             // byte of it
}

// take takes the next piece.
func (c *frameCheck) take(piece []byte) error {
	for len(piece) > 0 {
		if c.at == len(c.frames) {
			return fmt.Errorf("%d bytes after the end", len(piece))
		}
		want := c.frames[c.at][c.in:]
		n := min(len(want), len(piece))
		if !bytes.Equal(piece[:n], want[:n]) {
			return fmt.Errorf("frame %d differs from what was sent: %.80q", c.at, piece)
		}
		c.in += n
		piece = piece[n:]
		if c.in == len(c.frames[c.at]) {
			if c.arrived != nil {
				c.arrived(c.at)
			}
			c.at, c.in = c.at+1, 0
		}
	}
	return nil
}

// end says whether everything has arrived.
func (c *frameCheck) end() error {
	if c.at < len(c.frames) {
		return fmt.Errorf("ended in frame %d of %d", c.at, len(c.frames))
	}
	return nil
}

// outcome shows the run.
func (s *streaming) outcome(host report.Host) *outcome {
	data, err := json.Marshal(s.cells)
	if err != nil {
		data = []byte("null") // plain structs always encode
	}
	o := &outcome{
		title: "Streams", host: host, data: json.RawMessage(data),
		text: []string{fmt.Sprintf("%d deltas, %v apart; %d rounds, medians. Each client takes %d streams one after the other; the clients begin spread over the length of a stream. TTFT: from sending the request to the first delta at the client, of all but the clients' first streams: then as many are under way as there are clients. Gap: between two deltas at the client. "+
			"Transit: from the provider's write to the client's read, for every frame. A + is the difference to plain Caddy's figure of the same round. "+
			"Whole: streams whose bytes arrived exactly as sent, to the end. Memory: peak resident size of the server, and what it is more than plain Caddy's per stream. Times in milliseconds.", s.frames, s.gap, s.rounds, streamsEach)},
	}
	t := report.Table{Head: []string{"streams", "mode", "whole", "TTFT p50", "p99", "+TTFT p50", "+p99", "gap p50", "p99", "+gap p50", "+p99", "transit p50", "p99", "+transit p50", "+p99", "CPU/stream", "peak RSS", "+RSS/stream"}, Left: []int{1}}
	for _, c := range s.cells {
		base := s.cell(c.Streams, result.Baseline)
		whole, total := 0, 0
		for _, r := range c.Rounds {
			whole, total = whole+r.Complete, total+r.Streams
		}
		median := func(f func(streamSample) float64) float64 { return medianOf(c.Rounds, f) }
		added := func(f func(streamSample) float64) string {
			if c == base {
				return ""
			}
			return report.Millis(addedTo(c, base, f))
		}
		row := []string{strconv.Itoa(c.Streams), c.Mode, fmt.Sprintf("%d of %d", whole, total)}
		for _, of := range []func(streamSample) result.Quantiles{
			func(s streamSample) result.Quantiles { return s.TTFT },
			func(s streamSample) result.Quantiles { return s.Gap },
			func(s streamSample) result.Quantiles { return s.Transit },
		} {
			p50, p99 := func(s streamSample) float64 { return of(s).P50 }, func(s streamSample) float64 { return of(s).P99 }
			row = append(row, report.Millis(median(p50)), report.Millis(median(p99)), added(p50), added(p99))
		}
		peak := func(s streamSample) float64 { return s.Peak }
		row = append(row, report.Millis(median(func(s streamSample) float64 { return s.CPU })), fmt.Sprintf("%.1f MiB", median(peak)))
		if c != base {
			row = append(row, report.Bytes((median(peak)-medianOf(base.Rounds, peak))*(1<<20)/float64(c.Streams)))
		}
		t.Add(row...)
	}
	o.tables = append(o.tables, promiseTable(s.promises()), t)
	return o
}

// addedTo is the median difference of a figure between a cell and plain
// Caddy's, round by round.
func addedTo(c, base *streamCell, f func(streamSample) float64) float64 {
	var d []float64
	for i := range min(len(c.Rounds), len(base.Rounds)) {
		d = append(d, f(c.Rounds[i])-f(base.Rounds[i]))
	}
	return result.Median(d)
}

// promises are the targets about streams.
func (s *streaming) promises() []promise {
	var out []promise
	for _, c := range s.cells {
		base := s.cell(c.Streams, result.Baseline)
		if c == base || base == nil {
			continue
		}
		what := func(of string) string { return fmt.Sprintf("%d streams, %s: %s", c.Streams, c.Mode, of) }
		if c.Streams == 100 {
			for _, figure := range []struct {
				name string
				of   func(streamSample) result.Quantiles
			}{{"added TTFT", func(s streamSample) result.Quantiles { return s.TTFT }}, {"added gap", func(s streamSample) result.Quantiles { return s.Gap }}} {
				out = append(out,
					promise{what(figure.name + ", p50, ms"), addedTo(c, base, func(s streamSample) float64 { return figure.of(s).P50 }), 0.1, true, report.Millis},
					promise{what(figure.name + ", p99, ms"), addedTo(c, base, func(s streamSample) float64 { return figure.of(s).P99 }), 1, true, report.Millis})
			}
		}
		if c.Streams == 1000 {
			lost := 0
			for _, r := range c.Rounds {
				lost += r.Streams - r.Complete
			}
			peak := func(s streamSample) float64 { return s.Peak * (1 << 20) / float64(s.Streams) }
			out = append(out,
				promise{what("streams lost or changed"), float64(lost), 0, true, whole},
				promise{what("added resident size for each stream"), addedTo(c, base, peak), 64 << 10, true, report.Bytes})
		}
	}
	return out
}

// cell finds a cell.
func (s *streaming) cell(streams int, mode string) *streamCell {
	for _, c := range s.cells {
		if c.Streams == streams && c.Mode == mode {
			return c
		}
	}
	return nil
}

// medianOf is the median of one figure over many of its kind.
func medianOf[T any](all []T, figure func(T) float64) float64 {
	var values []float64
	for _, one := range all {
		values = append(values, figure(one))
	}
	return result.Median(values)
}
