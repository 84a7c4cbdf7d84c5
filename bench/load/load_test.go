package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

func serve(t *testing.T, p *provider.Provider) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- p.Serve(l) }()
	t.Cleanup(func() {
		p.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func TestRunCountsWhatTheUpstreamSaw(t *testing.T) {
	for _, profile := range []testbody.Profile{testbody.ProfileSmall, testbody.ProfileLarge} {
		p := provider.New(provider.Config{})
		addr := serve(t, p)
		body := testbody.Body(profile)
		req := NewRequest(addr, "/v1/chat/completions", nil, body)
		var started provider.Stats
		res, err := Run(context.Background(), Plan{
			Addr: addr, Conns: 4, WarmUp: 2, Limit: 25,
			Request: func(int) *Request { return req },
			Started: func() { started = p.Stats() },
		})
		if err != nil {
			t.Fatal(err)
		}
		if started.Requests != 8 {
			t.Errorf("%d requests in the warm-up, want 8", started.Requests)
		}
		now := p.Stats()
		if res.Total != 100 || res.Requests != 100 || now.Requests-started.Requests != 100 || res.Errors != 0 {
			t.Errorf("%d of %d answered, %d seen, %d errors (%s)", res.Requests, res.Total, now.Requests-started.Requests, res.Errors, res.Error)
		}
		if got := now.BodyBytes - started.BodyBytes; got != 100*int64(len(body)) {
			t.Errorf("%d bytes upstream", got)
		}
		if res.Latency.Count() != 100 || res.TTFB.Count() != 100 || res.Overhead.Count() != 0 || res.RPS() <= 0 || res.TTFB.Max() > res.Latency.Max() {
			t.Errorf("%d latencies, %d TTFB, %d overheads, %v rps", res.Latency.Count(), res.TTFB.Count(), res.Overhead.Count(), res.RPS())
		}
	}
}

func TestRunEndsByDuration(t *testing.T) {
	p := provider.New(provider.Config{})
	addr := serve(t, p)
	req := NewRequest(addr, "/v1/messages", nil, testbody.Small())
	res, err := Run(context.Background(), Plan{Addr: addr, Conns: 2, Duration: 20 * time.Millisecond, Request: func(int) *Request { return req }})
	if err != nil {
		t.Fatal(err)
	}
	if res.Total == 0 || res.Requests > res.Total || res.Total-res.Requests > 2 || res.Total != p.Stats().Requests || res.Elapsed != 20*time.Millisecond {
		t.Errorf("%d of %d requests, %d seen in %v", res.Requests, res.Total, p.Stats().Requests, res.Elapsed)
	}
}

func TestRunReadsTheGatewaysHeaders(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Gateway-Overhead-Ms", "1.500")
		w.Header().Set("X-Gateway-Saved-Bytes", "700")
		w.Header().Set("X-Gateway-Saved-Tokens", "70")
		w.Header().Set("X-Gateway-Cache", []string{"MISS", "HIT", "HIT-SIMILAR", "BYPASS"}[n.Load()%4])
		w.Header().Set("X-Gateway-Applied", fmt.Sprintf("rtk=light;saved=%d, caveman=full;saved=-3", n.Add(1)))
	}))
	defer s.Close()
	req := NewRequest("x", "/", nil, []byte("{}"))
	res, err := Run(context.Background(), Plan{Addr: s.Listener.Addr().String(), Conns: 1, Limit: 10, Request: func(int) *Request { return req }})
	if err != nil {
		t.Fatal(err)
	}
	if res.Overhead.Count() != 10 || res.Overhead.Max() != 1500*time.Microsecond || res.SavedBytes != 7000 || res.SavedTokens != 700 {
		t.Errorf("overhead %v, saved %d, %d", res.Overhead.Max(), res.SavedBytes, res.SavedTokens)
	}
	if res.Hits != 5 {
		t.Errorf("%d hits", res.Hits)
	}
	if len(res.Applied) != 1 || res.Applied["rtk=light, caveman=full"] != 10 {
		t.Errorf("applied %v", res.Applied)
	}
}

func TestRunCountsErrors(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n.Add(1) % 4 {
		case 1:
			w.WriteHeader(500)
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			w.Header().Set("Connection", "close")
		}
	}))
	defer s.Close()
	req := NewRequest("x", "/", nil, []byte("{}"))
	res, err := Run(context.Background(), Plan{Addr: s.Listener.Addr().String(), Conns: 1, Limit: 20, Request: func(int) *Request { return req }})
	if err != nil {
		t.Fatal(err)
	}
	if res.Errors != 10 || res.Total != 10 || res.Error != "answered with status 500" {
		t.Errorf("%d errors (%s), %d answered", res.Errors, res.Error, res.Total)
	}
}

func TestRunGivesUp(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	defer s.Close()
	req := NewRequest("x", "/", nil, []byte("{}"))
	plan := Plan{Addr: s.Listener.Addr().String(), Conns: 2, Duration: time.Hour, Request: func(int) *Request { return req }}
	res, err := Run(context.Background(), plan)
	if err != nil || res.Errors != 2*maxFailures || res.Total != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	plan.WarmUp = 1
	if _, err := Run(context.Background(), plan); err == nil {
		t.Error("a warm-up that fails is no error")
	}
}

func TestRunIsInterrupted(t *testing.T) {
	arrived := make(chan struct{})
	var once sync.Once
	p := provider.New(provider.Config{FirstByte: time.Hour, Hold: func() { once.Do(func() { close(arrived) }) }})
	addr := serve(t, p)
	req := NewRequest("x", "/v1/messages", nil, testbody.Small())
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-arrived; cancel() }()
	_, err := Run(ctx, Plan{Addr: addr, Conns: 3, Duration: time.Hour, Request: func(int) *Request { return req }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// variants are bodies of one size as Changing wants them.
func variants(p testbody.Profile, seed uint64) [][]byte {
	var all [][]byte
	for i := range uint64(8) {
		all = append(all, testbody.Fresh(p, seed+i))
	}
	return all
}

type chat struct {
	Messages []struct {
		Content   string
		ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
	}
}

func texts(t *testing.T, raw []byte) []string {
	t.Helper()
	_, body, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	var c chat
	if err := json.Unmarshal(body, &c); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range c.Messages {
		if m.Content != "" {
			out = append(out, m.Content)
		}
		for _, call := range m.ToolCalls {
			out = append(out, call.Function.Arguments)
		}
	}
	return out
}

func TestChangingChangesEveryText(t *testing.T) {
	for _, profile := range testbody.Profiles {
		r := Changing("h", "/", nil, variants(profile, 1)...)
		seen := map[string]bool{}
		size := len(r.raw)
		for range 5 {
			raw := r.next()
			if len(raw) != size {
				t.Fatalf("%s: the size changed", profile)
			}
			all := texts(t, raw)
			if len(all) != r.Sites() {
				t.Errorf("%s: %d texts, %d sites", profile, len(all), r.Sites())
			}
			for _, text := range all {
				if seen[text] {
					t.Fatalf("%s: a text comes twice: %.80s", profile, text)
				}
				seen[text] = true
			}
		}
	}
}

func TestRepeatStaysTheSame(t *testing.T) {
	r := NewRequest("h", "/v1/messages", []Header{{"X-A", "1"}}, []byte("{}"))
	want := "POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX-A: 1\r\n\r\n{}"
	if got := string(r.next()); got != want || string(r.next()) != want {
		t.Errorf("got %q", got)
	}
	if got := string(NewRequest("h", "/v1/models", nil, nil).next()); !strings.HasPrefix(got, "GET /v1/models HTTP/1.1\r\n") {
		t.Errorf("got %q", got)
	}
}
