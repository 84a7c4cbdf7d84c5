package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/load"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

func TestFrameCheck(t *testing.T) {
	frames := [][]byte{[]byte("abc"), []byte("de"), []byte("f")}
	for _, tc := range []struct {
		pieces  []string
		arrived []int
		err     string
	}{
		{[]string{"abc", "de", "f"}, []int{0, 1, 2}, ""},
		{[]string{"a", "bcd", "ef"}, []int{0, 1, 2}, ""},
		{[]string{"abcdef"}, []int{0, 1, 2}, ""},
		{[]string{"abc", "ed", "f"}, []int{0}, "frame 1 differs"},
		{[]string{"de", "abc", "f"}, nil, "frame 0 differs"},
		{[]string{"abc", "de"}, []int{0, 1}, "ended in frame 2 of 3"},
		{[]string{"abc", "d"}, []int{0}, "ended in frame 1 of 3"},
		{[]string{"abc", "de", "f", "g"}, []int{0, 1, 2}, "1 bytes after the end"},
	} {
		var arrived []int
		c := frameCheck{frames: frames, arrived: func(i int) { arrived = append(arrived, i) }}
		var err error
		for _, p := range tc.pieces {
			if err = c.take([]byte(p)); err != nil {
				break
			}
		}
		if err == nil {
			err = c.end()
		}
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) || !slices.Equal(arrived, tc.arrived) {
			t.Errorf("%v: arrived %v, %v", tc.pieces, arrived, err)
		}
	}
}

func TestSendTimes(t *testing.T) {
	s := newSendTimes(10, 2, 3)
	s.sent(11, 2)
	s.sent(9, 0)  // another run's
	s.sent(12, 0) // the same
	s.sent(10, 3)
	for id := uint64(10); id < 12; id++ {
		for frame := range 3 {
			if got := s.frame(id, frame).Load() > 0; got != (id == 11 && frame == 2) {
				t.Errorf("stream %d, frame %d: %v", id, frame, got)
			}
		}
	}
}

// A stream straight from the provider is complete, and every frame has its
// times.
func TestFollow(t *testing.T) {
	s := &streaming{frames: 5, path: chatPath, body: streamingBody(testbody.Small())}
	if !json.Valid(s.body) {
		t.Fatalf("body %s", s.body)
	}
	s.times.Store(newSendTimes(1, streamsEach, 7))
	var sent atomic.Int64
	p := provider.New(provider.Config{Frames: 5, AnswerBytes: 50, Sent: func(id uint64, frame int) {
		sent.Add(1)
		s.times.Load().sent(id, frame)
	}})
	addr, err := startUpstreamFor(t, p)
	if err != nil {
		t.Fatal(err)
	}
	s.rig = &rig{up: &upstream{provider: p}}
	conn, err := load.Dial(context.Background(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	st := &stream{conn: conn, id: 1}
	s.follow(context.Background(), &server{addr: upstreamAddrs{proc.Plain: addr}}, st)
	if st.err != nil || st.whole != streamsEach || sent.Load() != 7*streamsEach || st.ttft.Count() != streamsEach-1 || st.gaps.Count() != 4*streamsEach || st.transit.Count() != 7*streamsEach || st.transit.Max() > st.ttft.Max()+time.Hour {
		t.Errorf("%v: %d frames sent, %d, %d and %d times", st.err, sent.Load(), st.ttft.Count(), st.gaps.Count(), st.transit.Count())
	}
	// One that is cut is not.
	s.body = []byte(strings.Replace(string(s.body), `"stream":true,`, `"stream":true,"x":1,`, 1))
	other := &stream{conn: conn, id: 1 << 40}
	s.times.Store(newSendTimes(1<<40, streamsEach, 7))
	p2 := provider.New(provider.Config{Frames: 4})
	s.rig.up = &upstream{provider: p2} // expects another stream
	s.follow(context.Background(), &server{addr: upstreamAddrs{proc.Plain: addr}}, other)
	if other.err == nil || other.whole != 0 {
		t.Error("a stream with other bytes is complete")
	}
}

func TestStreamOutcome(t *testing.T) {
	s := &streaming{frames: 64, gap: time.Millisecond, rounds: 3}
	for _, m := range []string{result.Baseline, result.Off} {
		c := &streamCell{Streams: 10, Mode: m}
		for i := range 3 {
			q := float64(i + 1)
			if m == result.Off {
				q += 0.5
			}
			c.Rounds = append(c.Rounds, streamSample{Streams: 10, Complete: 10, TTFT: result.Quantiles{P50: q, P99: 2 * q}, Peak: 40 + q})
		}
		s.cells = append(s.cells, c)
	}
	o := s.outcome(report.Host{})
	row := o.tables[1].Rows[1]
	if row[2] != "30 of 30" || row[5] != "0.500" || row[6] != "1.000" || row[17] != "51.2 KiB" {
		t.Errorf("row %v", row)
	}
	s.cells[0].Streams, s.cells[1].Streams = 100, 100
	if p := s.promises(); len(p) != 4 || p[0].is != 0.5 || p[0].met() || !p[2].met() {
		t.Errorf("promises %+v", p)
	}
	for _, c := range s.cells {
		c.Streams = 1000
		for i := range c.Rounds {
			c.Rounds[i].Streams, c.Rounds[i].Complete = 1000, 999+i%2
		}
	}
	if p := s.promises(); len(p) != 2 || p[0].is != 2 || p[0].met() || !p[1].met() {
		t.Errorf("promises %+v", p)
	}
	for _, c := range s.cells {
		for i := range c.Rounds {
			c.Rounds[i].Complete = 1000
		}
	}
	if s.failures() != nil {
		t.Error("complete streams are a failure")
	}
}
