package provider

import (
	"hash/fnv"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Strategy says which of several healthy credentials a request uses.
type Strategy string

// Strategies.
const (
	// Sticky keeps a conversation on one credential while it is healthy,
	// because a provider's prompt cache lives per account.
	Sticky Strategy = "sticky"
	// RoundRobin takes turns by weight.
	RoundRobin Strategy = "round_robin"
	// Priority takes the first healthy one in the order of the configuration.
	Priority Strategy = "priority"
	// LeastLatency takes the one that answered its headers fastest of late.
	LeastLatency Strategy = "least_latency"
	// Cheapest takes the one with the lowest price, the first at a tie.
	Cheapest Strategy = "cheapest"
)

// Strategies lists the strategies, the default first.
var Strategies = []Strategy{Sticky, RoundRobin, Priority, LeastLatency, Cheapest}

// Limits of the health rules.
const (
	firstCooldown  = 30 * time.Second // after a 429 that names no time; doubles
	maxCooldown    = 15 * time.Minute
	circuitAfter   = 3 // failures in a row
	circuitOpenFor = time.Minute
	latencyWeight  = 0.2 // of the newest answer in the moving average
)

// Credential is one secret of a pool.
type Credential struct {
	// Label names the credential in headers, logs and the admin API; it never
	// holds any of the secret.
	Label string
	// Secret is what the provider wants to see; "" passes the client's own on.
	Secret string
	// Weight is its share of turns, at least 1.
	Weight int
	// Price orders credentials for Cheapest, in USD per million tokens.
	Price float64

	current   int // smooth weighted round-robin
	health    health
	latencyMS float64
}

// health is what is known of a credential's health. It is guarded by the
// pool's lock.
type health struct {
	rejected      bool      // 401 or 403: out until the next reload
	cooldownUntil time.Time // after a 429
	cooldown      time.Duration
	failures      int // in a row
	openUntil     time.Time
	probing       bool // the one request that a half-open circuit lets through
}

// Pool picks credentials. It is safe for concurrent use.
type Pool struct {
	mu       sync.Mutex
	strategy Strategy
	creds    []*Credential
	now      func() time.Time
}

// NewPool makes a pool. now is the clock, time.Now outside of tests.
func NewPool(strategy Strategy, creds []*Credential, now func() time.Time) *Pool {
	for _, c := range creds {
		c.Weight = max(c.Weight, 1)
	}
	return &Pool{strategy: strategy, creds: creds, now: now}
}

// NeedsSession reports whether Pick asks for the session: with one credential,
// or by another strategy, it makes no difference.
func (p *Pool) NeedsSession() bool { return len(p.creds) > 1 && p.strategy == Sticky }

// Pick returns the credential to use for a request of the conversation
// session ("" if that is not known), or nil if none is healthy. Credentials
// in tried are left out. Every credential that is picked must be reported or
// released.
func (p *Pool) Pick(session string, tried map[*Credential]bool) *Credential {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	var best *Credential
	bestScore := math.Inf(-1)
	total := 0
	for i, c := range p.creds {
		if tried[c] || !c.health.usable(now) {
			continue
		}
		var score float64
		switch p.strategy {
		case Priority:
			score = -float64(i)
		case LeastLatency:
			score = -c.latencyMS
		case Cheapest:
			score = -c.Price
		case RoundRobin:
			c.current += c.Weight
			total += c.Weight
			score = float64(c.current)
		default:
			if session == "" {
				c.current += c.Weight
				total += c.Weight
				score = float64(c.current)
				break
			}
			score = rendezvous(session, c)
		}
		if score > bestScore {
			best, bestScore = c, score
		}
	}
	if best != nil {
		best.current -= total
		if best.health.failures >= circuitAfter {
			best.health.probing = true
		}
	}
	return best
}

// usable reports whether a request may use the credential at now.
func (h *health) usable(now time.Time) bool {
	switch {
	case h.rejected, now.Before(h.cooldownUntil), now.Before(h.openUntil):
		return false
	case h.failures >= circuitAfter && h.probing:
		return false
	}
	return true
}

// rendezvous is the weighted highest-random-weight score of c for session: a
// credential that comes or goes moves only the sessions that are its own.
func rendezvous(session string, c *Credential) float64 {
	h := fnv.New64a()
	h.Write([]byte(session))
	h.Write([]byte{0})
	h.Write([]byte(c.Label))
	h.Write([]byte{0})
	h.Write([]byte(c.Secret))
	x := mix(h.Sum64())
	u := (float64(x>>11) + 0.5) / (1 << 53)
	return -float64(c.Weight) / math.Log(u)
}

// mix is the finalizer of splitmix64; FNV alone is too regular in its upper
// bits.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Report tells how a request with c went: status is what the provider
// answered, 0 if it did not, header its response header.
func (p *Pool) Report(c *Credential, status int, header http.Header, latency time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &c.health
	h.probing = false
	now := p.now()
	switch {
	case status == http.StatusTooManyRequests:
		wait, told := retryAfter(header, now)
		if !told {
			h.cooldown = min(max(2*h.cooldown, firstCooldown), maxCooldown)
			wait = h.cooldown
		}
		h.cooldownUntil = now.Add(min(wait, maxCooldown))
		h.failures = 0
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		// Only a secret of ours is spent; a client's own is the client's affair.
		h.rejected = h.rejected || c.Secret != ""
	case status == 0, status >= 500:
		h.failures++
		if h.failures >= circuitAfter {
			h.openUntil = now.Add(circuitOpenFor)
		}
	default:
		*h = health{}
		ms := float64(latency) / float64(time.Millisecond)
		if c.latencyMS == 0 {
			c.latencyMS = ms
		} else {
			c.latencyMS += latencyWeight * (ms - c.latencyMS)
		}
	}
}

// Release tells that a request with c ended without a verdict, for example
// because the client went away.
func (p *Pool) Release(c *Credential) {
	p.mu.Lock()
	c.health.probing = false
	p.mu.Unlock()
}

// Restore makes every credential called label healthy again; it returns how
// many there were.
func (p *Pool) Restore(label string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, c := range p.creds {
		if c.Label == label {
			c.health = health{}
			n++
		}
	}
	return n
}

// NextHealthy is how long it takes until some credential may be healthy
// again; ok is false when only a reload helps.
func (p *Pool) NextHealthy() (wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for _, c := range p.creds {
		if c.health.rejected {
			continue
		}
		until := c.health.cooldownUntil
		if c.health.openUntil.After(until) {
			until = c.health.openUntil
		}
		if w := max(until.Sub(now), 0); !ok || w < wait {
			wait, ok = w, true
		}
	}
	return wait, ok
}

// State is the health of one credential as the admin API shows it.
type State struct {
	Label     string  `json:"label"`
	Healthy   bool    `json:"healthy"`
	Reason    string  `json:"reason,omitempty"`     // "rejected", "cooldown", "circuit_open"
	ForMS     int64   `json:"for_ms,omitempty"`     // how much longer
	Failures  int     `json:"failures,omitempty"`   // in a row
	LatencyMS float64 `json:"latency_ms,omitempty"` // moving average to the response header
}

// States lists the credentials in the order of the configuration.
func (p *Pool) States() []State {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	out := make([]State, 0, len(p.creds))
	for _, c := range p.creds {
		s := State{Label: c.Label, Healthy: c.health.usable(now), Failures: c.health.failures, LatencyMS: c.latencyMS}
		switch {
		case c.health.rejected:
			s.Reason = "rejected"
		case now.Before(c.health.cooldownUntil):
			s.Reason, s.ForMS = "cooldown", c.health.cooldownUntil.Sub(now).Milliseconds()
		case now.Before(c.health.openUntil):
			s.Reason, s.ForMS = "circuit_open", c.health.openUntil.Sub(now).Milliseconds()
		}
		out = append(out, s)
	}
	return out
}

// retryAfter reads how long a 429 asks to wait: Retry-After (seconds or a
// date, RFC 9110), retry-after-ms, or the reset times of OpenAI and Anthropic.
func retryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	if v := header.Get("Retry-After-Ms"); v != "" {
		if ms, err := strconv.ParseFloat(v, 64); err == nil && ms >= 0 && ms < 1e9 {
			return time.Duration(ms * float64(time.Millisecond)), true
		}
	}
	if v := header.Get("Retry-After"); v != "" {
		if s, err := strconv.ParseFloat(v, 64); err == nil && s >= 0 && s < 1e6 {
			return time.Duration(s * float64(time.Second)), true
		}
		if at, err := http.ParseTime(v); err == nil {
			return max(at.Sub(now), 0), true
		}
	}
	// The window that is exhausted is the one to wait for; where none says it
	// is, the longer wait is the safe one.
	var wait time.Duration
	told, exhausted := false, false
	for _, kind := range []string{"Requests", "Tokens", "Input-Tokens", "Output-Tokens"} {
		for _, prefix := range []string{"X-Ratelimit-", "Anthropic-Ratelimit-"} {
			reset, remaining := header.Get(prefix+"Reset-"+kind), header.Get(prefix+"Remaining-"+kind)
			if prefix == "Anthropic-Ratelimit-" {
				reset, remaining = header.Get(prefix+kind+"-Reset"), header.Get(prefix+kind+"-Remaining")
			}
			d, ok := parseReset(reset, now)
			if !ok {
				continue
			}
			empty := remaining == "0"
			switch {
			case empty && !exhausted:
				wait, exhausted, told = d, true, true
			case empty == exhausted:
				wait, told = max(wait, d), true
			}
		}
	}
	if !told {
		return parseReset(header.Get("X-Ratelimit-Reset"), now)
	}
	return wait, told
}

// parseReset reads a reset time: a duration ("1s", "6m0s", "20ms"), seconds,
// a Unix time, or an RFC 3339 date.
func parseReset(v string, now time.Time) (time.Duration, bool) {
	v = strings.TrimSpace(v)
	if v == "" {
		return 0, false
	}
	if d, err := time.ParseDuration(v); err == nil && d >= 0 {
		return d, true
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil && s >= 0 {
		switch {
		case s > 1e12: // milliseconds since 1970
			return max(time.UnixMilli(int64(s)).Sub(now), 0), true
		case s > 1e9:
			return max(time.Unix(int64(s), 0).Sub(now), 0), true
		case s < 1e6:
			return time.Duration(s * float64(time.Second)), true
		}
		return 0, false
	}
	if at, err := time.Parse(time.RFC3339, v); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}
