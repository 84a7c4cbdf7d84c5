package provider

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// clock is a clock that tests set.
type clock struct{ t time.Time }

func (c *clock) now() time.Time          { return c.t }
func (c *clock) advance(d time.Duration) { c.t = c.t.Add(d) }

func newClock() *clock { return &clock{time.Date(2031, 4, 2, 6, 0, 0, 0, time.UTC)} }

func creds(n int) []*Credential {
	var out []*Credential
	for i := range n {
		out = append(out, &Credential{Label: fmt.Sprintf("k%d", i+1), Secret: fmt.Sprintf("secret-%d", i+1)})
	}
	return out
}

func header(pairs ...string) http.Header {
	h := make(http.Header)
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestStickyKeepsConversations(t *testing.T) {
	c := newClock()
	p := NewPool(Sticky, creds(5), c.now)
	home := make(map[string]*Credential)
	used := make(map[*Credential]int)
	for i := range 1000 {
		session := fmt.Sprintf("session %d", i)
		home[session] = p.Pick(session, nil)
		used[home[session]]++
	}
	if len(used) != 5 {
		t.Fatalf("1000 sessions use %d of 5 credentials", len(used))
	}
	for c, n := range used {
		if n < 120 || n > 280 {
			t.Errorf("%s has %d of 1000 sessions", c.Label, n)
		}
	}
	// One credential fails: only its own sessions move.
	lost := home["session 0"]
	p.Report(lost, http.StatusTooManyRequests, header("Retry-After", "10"), 0)
	for session, was := range home {
		got := p.Pick(session, nil)
		if was != lost && got != was {
			t.Fatalf("%s moved from %s to %s though its home is healthy", session, was.Label, got.Label)
		}
		if got == lost {
			t.Fatalf("%s uses a credential in cooldown", session)
		}
	}
	// It comes back: they return.
	c.advance(10 * time.Second)
	for session, was := range home {
		if got := p.Pick(session, nil); got != was {
			t.Fatalf("%s is on %s, not back on %s", session, got.Label, was.Label)
		}
	}
	// A credential is added to the pool: a session stays or moves to it.
	more := append(creds(5), &Credential{Label: "k6", Secret: "secret-6"})
	bigger := NewPool(Sticky, more, c.now)
	moved := 0
	for session, was := range home {
		got := bigger.Pick(session, nil)
		if got.Label == "k6" {
			moved++
		} else if got.Label != was.Label {
			t.Fatalf("%s moved from %s to %s", session, was.Label, got.Label)
		}
	}
	if moved < 90 || moved > 260 {
		t.Errorf("%d of 1000 sessions moved to the sixth credential", moved)
	}
}

func TestStrategies(t *testing.T) {
	c := newClock()
	pick := func(p *Pool, n int) string {
		out := ""
		for range n {
			out += p.Pick("", nil).Label[1:]
		}
		return out
	}
	three := creds(3)
	three[0].Weight = 3
	if got := pick(NewPool(RoundRobin, three, c.now), 10); got != "1213112131" && got != "1123112311" && got != "1213112131"[:10] {
		counts := map[rune]int{}
		for _, r := range got {
			counts[r]++
		}
		if counts['1'] != 6 || counts['2'] != 2 || counts['3'] != 2 {
			t.Errorf("round_robin with weights 3 1 1: %s", got)
		}
	}
	if got := pick(NewPool(Priority, creds(3), c.now), 3); got != "111" {
		t.Errorf("priority: %s", got)
	}
	priced := creds(3)
	priced[0].Price, priced[1].Price, priced[2].Price = 2, 1, 1
	if got := pick(NewPool(Cheapest, priced, c.now), 2); got != "22" {
		t.Errorf("cheapest: %s", got)
	}
	timed := creds(3)
	p := NewPool(LeastLatency, timed, c.now)
	p.Report(timed[0], 200, nil, 300*time.Millisecond)
	p.Report(timed[1], 200, nil, 100*time.Millisecond)
	p.Report(timed[2], 200, nil, 200*time.Millisecond)
	if got := pick(p, 2); got != "22" {
		t.Errorf("least_latency: %s", got)
	}
	for range 20 {
		p.Report(timed[1], 200, nil, 900*time.Millisecond)
	}
	if got := pick(p, 2); got != "33" {
		t.Errorf("least_latency after a slow spell: %s", got)
	}
}

func TestCooldown(t *testing.T) {
	now := newClock().t
	for _, tc := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"seconds", header("Retry-After", "7"), 7 * time.Second},
		{"fraction", header("Retry-After", "0.5"), 500 * time.Millisecond},
		{"date", header("Retry-After", now.Add(42*time.Second).Format(http.TimeFormat)), 42 * time.Second},
		{"milliseconds", header("Retry-After-Ms", "250", "Retry-After", "1"), 250 * time.Millisecond},
		{"openai, the empty window", header("X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "6m0s", "X-Ratelimit-Remaining-Tokens", "100", "X-Ratelimit-Reset-Tokens", "9m"), 6 * time.Minute},
		{"openai, the longer one", header("X-Ratelimit-Reset-Requests", "1s", "X-Ratelimit-Reset-Tokens", "6m0s"), 6 * time.Minute},
		{"anthropic", header("Anthropic-Ratelimit-Requests-Reset", now.Add(20*time.Second).Format(time.RFC3339)), 20 * time.Second},
		{"unix time", header("X-Ratelimit-Reset", fmt.Sprint(now.Add(90*time.Second).Unix())), 90 * time.Second},
		{"nothing said", header(), 30 * time.Second},
		{"nonsense", header("Retry-After", "soon"), 30 * time.Second},
		{"absurd", header("Retry-After", "86400"), 15 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newClock()
			list := creds(1)
			p := NewPool(Priority, list, c.now)
			p.Report(list[0], 429, tc.header, 0)
			if tc.want > 0 {
				c.advance(tc.want - time.Millisecond)
				if p.Pick("", nil) != nil {
					t.Errorf("usable before %v have passed", tc.want)
				}
				c.advance(time.Millisecond)
			}
			if p.Pick("", nil) == nil {
				t.Errorf("not usable after %v", tc.want)
			}
		})
	}
}

func TestCooldownDoublesAndForgets(t *testing.T) {
	c := newClock()
	list := creds(1)
	p := NewPool(Priority, list, c.now)
	for _, want := range []time.Duration{30, 60, 120, 240, 480, 900, 900} {
		p.Report(list[0], 429, nil, 0)
		got, ok := p.NextHealthy()
		if !ok || got != want*time.Second {
			t.Fatalf("cooldown %v, want %v", got, want*time.Second)
		}
		c.advance(got)
	}
	p.Report(list[0], 200, nil, time.Millisecond)
	p.Report(list[0], 429, nil, 0)
	if got, _ := p.NextHealthy(); got != 30*time.Second {
		t.Errorf("after a success the cooldown starts at %v", got)
	}
}

func TestCircuit(t *testing.T) {
	c := newClock()
	list := creds(2)
	p := NewPool(Priority, list, c.now)
	for i, status := range []int{500, 0, 503} {
		if got := p.Pick("", nil); got != list[0] {
			t.Fatalf("failure %d: picked %s", i, got.Label)
		}
		p.Report(list[0], status, nil, 0)
	}
	if got := p.Pick("", nil); got != list[1] {
		t.Fatalf("the circuit is open, but %s was picked", got.Label)
	}
	c.advance(time.Minute)
	if got := p.Pick("", nil); got != list[0] {
		t.Fatalf("half open: picked %s", got.Label)
	}
	if got := p.Pick("", nil); got != list[1] {
		t.Fatalf("a second request went through a half-open circuit")
	}
	p.Report(list[0], 502, nil, 0)
	if got := p.Pick("", nil); got != list[1] {
		t.Fatalf("the probe failed, but %s was picked", got.Label)
	}
	c.advance(time.Minute)
	p.Pick("", nil)
	p.Release(list[0]) // the client went away: no verdict, the next may probe
	if got := p.Pick("", nil); got != list[0] {
		t.Fatalf("after a probe without a verdict: picked %s", got.Label)
	}
	p.Report(list[0], 200, nil, time.Millisecond)
	for range 2 {
		if got := p.Pick("", nil); got != list[0] {
			t.Fatalf("closed again, but %s was picked", got.Label)
		}
	}
}

func TestRejected(t *testing.T) {
	for _, status := range []int{401, 403} {
		c := newClock()
		list := creds(1)
		p := NewPool(Sticky, list, c.now)
		p.Report(list[0], status, nil, 0)
		c.advance(24 * time.Hour)
		if p.Pick("s", nil) != nil {
			t.Errorf("%d: the credential is used again", status)
		}
		if _, ok := p.NextHealthy(); ok {
			t.Errorf("%d: time alone does not help", status)
		}
		if n := p.Restore("k1"); n != 1 || p.Pick("s", nil) == nil {
			t.Errorf("%d: restored %d", status, n)
		}
		own := []*Credential{{Label: "client"}}
		p = NewPool(Sticky, own, c.now)
		p.Report(own[0], status, nil, 0)
		if p.Pick("s", nil) == nil {
			t.Errorf("%d: a client's own bad credential took the provider out for all", status)
		}
	}
}

func TestTriedIsLeftOut(t *testing.T) {
	list := creds(3)
	p := NewPool(Sticky, list, newClock().now)
	tried := make(map[*Credential]bool)
	for range 3 {
		c := p.Pick("session", tried)
		if c == nil || tried[c] {
			t.Fatalf("picked %v with %d tried", c, len(tried))
		}
		tried[c] = true
	}
	if c := p.Pick("session", tried); c != nil {
		t.Errorf("picked %s a second time", c.Label)
	}
}

func TestPoolConcurrent(t *testing.T) {
	list := creds(4)
	p := NewPool(Sticky, list, time.Now)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				c := p.Pick(fmt.Sprint(g, i), nil)
				if c == nil {
					continue
				}
				p.Report(c, []int{200, 200, 200, 429, 500}[i%5], header("Retry-After", "0"), time.Millisecond)
				p.States()
			}
		})
	}
	wg.Wait()
}

func TestPath(t *testing.T) {
	for _, tc := range []struct {
		base, path string
		format     adapter.Format
		want       string
	}{
		{"https://api.openai.com", "/v1/chat/completions", adapter.Chat, "/v1/chat/completions"},
		{"https://api.openai.com/", "/v1/chat/completions", adapter.Chat, "/v1/chat/completions"},
		{"https://api.openai.com/v1", "/v1/chat/completions", adapter.Chat, "/v1/chat/completions"},
		{"https://api.openai.com/v1/", "/llm/v1/responses", adapter.Responses, "/v1/responses"},
		{"https://api.openai.com/v1", "/v1/files/file-1/content", adapter.Unknown, "/v1/files/file-1/content"},
		{"https://api.anthropic.com", "/v1/messages", adapter.Messages, "/v1/messages"},
		{"https://api.anthropic.com/v1", "/v1/messages", adapter.Messages, "/v1/messages"},
		{"https://api.deepseek.com", "/v1/chat/completions", adapter.Chat, "/v1/chat/completions"},
		{"https://api.deepseek.com", "/v1/messages", adapter.Messages, "/anthropic/v1/messages"},
		{"https://api.deepseek.com/anthropic", "/v1/messages", adapter.Messages, "/anthropic/v1/messages"},
		{"https://generativelanguage.googleapis.com", "/v1/chat/completions", adapter.Chat, "/v1beta/openai/chat/completions"},
		{"https://generativelanguage.googleapis.com/v1beta/openai/", "/v1/chat/completions", adapter.Chat, "/v1beta/openai/chat/completions"},
		{"https://openrouter.ai/api/v1", "/v1/chat/completions", adapter.Chat, "/api/v1/chat/completions"},
		{"https://openrouter.ai", "/v1/messages", adapter.Messages, "/api/v1/messages"},
		{"https://x.openai.azure.com", "/v1/chat/completions", adapter.Chat, "/openai/v1/chat/completions"},
		{"https://x.openai.azure.com", "/openai/deployments/gpt/chat/completions", adapter.Chat, "/openai/deployments/gpt/chat/completions"},
		{"http://gpu:9000/prefix/v1", "/v1/embeddings", adapter.Embeddings, "/prefix/v1/embeddings"},
		{"http://gpu:9000", "/v1/completions", adapter.Completions, "/v1/completions"},
	} {
		base, err := url.Parse(tc.base)
		if err != nil {
			t.Fatal(err)
		}
		if got := Guess(base).Path(base, tc.path, tc.format); got != tc.want {
			t.Errorf("%s + %s = %s, want %s", tc.base, tc.path, got, tc.want)
		}
	}
}

func TestGuess(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.anthropic.com/v1":        "anthropic",
		"https://my.openai.azure.com":         "azure-openai",
		"https://API.GROQ.com/openai/v1":      "groq",
		"http://localhost:11434":              "ollama",
		"https://llm.example.test/v1":         "openai",
		"https://llm.example.test/anthropic":  "anthropic",
		"https://evil-api.anthropic.com.test": "openai",
	} {
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if got := Guess(u).Name; got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
	for _, name := range PresetNames() {
		p := PresetNamed(name)
		if p.BaseURL == "" {
			continue
		}
		u, err := url.Parse(p.BaseURL)
		if err != nil {
			t.Fatal(err)
		}
		if got := Guess(u).Name; got != name {
			t.Errorf("the preset %s is guessed as %s from its own base URL", name, got)
		}
	}
}
