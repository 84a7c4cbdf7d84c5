package cache

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache/similar"
)

// Mode says which stored answers may be reused.
type Mode uint8

// Modes, each wider than the one before.
const (
	Off     Mode = iota // none
	Exact               // of the same request
	Similar             // also of a request whose last question differs in a few words that do not matter
)

// Scope says whose stored answers may be reused.
type Scope uint8

// Scopes, each wider than the one before.
const (
	PerKey  Scope = iota // those of the same virtual key or, without one, the same credential
	PerSite              // those of everybody who uses the same site
	Shared               // those of everybody
)

// The names of modes and scopes in the configuration, in the order of
// their constants.
var (
	modeNames  = []string{"off", "exact", "similar"}
	scopeNames = []string{"key", "site", "shared"}
)

func (m Mode) String() string  { return modeNames[m] }
func (s Scope) String() string { return scopeNames[s] }

// ParseMode is the mode called name.
func ParseMode(name string) (Mode, error) {
	i, err := indexOf(modeNames, "mode", name)
	return Mode(i), err
}

// ParseScope is the scope called name.
func ParseScope(name string) (Scope, error) {
	i, err := indexOf(scopeNames, "scope", name)
	return Scope(i), err
}

func indexOf(names []string, what, name string) (int, error) {
	if i := slices.Index(names, name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("unknown cache %s %q, expected %s", what, name, strings.Join(names, ", "))
}

// What a policy that says nothing gets.
const (
	DefaultThreshold = 0.95
	DefaultTTL       = time.Hour
	DefaultMaxEntry  = 8 << 20 // bytes
)

// MinThreshold is the lowest threshold for similar answers. Below it, two
// questions may differ in as many words as they share.
const MinThreshold = 0.5

// Policy is how the answers to one request may be cached.
type Policy struct {
	// Mode says which stored answers may be reused.
	Mode Mode
	// Threshold is how similar the words of two questions must be, as their
	// Jaccard index from MinThreshold to 1. Only for Similar. 0: DefaultThreshold.
	Threshold float64
	// TTL is how long an answer may be reused. Clients may ask for less.
	// 0: DefaultTTL.
	TTL time.Duration
	// Scope says whose answers may be reused.
	Scope Scope
	// Guard says which differences between two questions always matter.
	Guard similar.Guard
	// ToolCalls says whether answers that call a tool are stored. They are
	// never reused for a similar question.
	ToolCalls bool
	// DeterministicOnly keeps out requests whose temperature is not 0.
	// Embeddings have none and stay in.
	DeterministicOnly bool
	// IgnoreFields are members of the body's top level that do not make a
	// different request, such as user or metadata.
	IgnoreFields []string
	// MaxEntry is the largest answer that is stored, in bytes. 0: DefaultMaxEntry.
	MaxEntry int64
}

// structural are the fields that say what is asked. Ignoring one would give
// the answer to one question to another.
var structural = []string{
	"model", "messages", "input", "instructions", "system", "prompt", "suffix",
	"tools", "tool_choice", "functions", "stream", "stream_options",
	"response_format", "text", "n",
}

// Resolve checks p and returns it with what it leaves open filled in.
func (p Policy) Resolve() (Policy, error) {
	if p.Threshold == 0 {
		p.Threshold = DefaultThreshold
	}
	if p.TTL == 0 {
		p.TTL = DefaultTTL
	}
	if p.MaxEntry == 0 {
		p.MaxEntry = DefaultMaxEntry
	}
	if !(p.Threshold >= MinThreshold && p.Threshold <= 1) {
		return p, fmt.Errorf("threshold: expected %g to 1, got %g", MinThreshold, p.Threshold)
	}
	if p.TTL < time.Second {
		return p, fmt.Errorf("ttl: expected at least 1s, got %s", p.TTL)
	}
	if p.MaxEntry < 0 {
		return p, errors.New("max_entry: must not be negative")
	}
	for _, name := range p.IgnoreFields {
		if slices.Contains(structural, name) {
			return p, fmt.Errorf("ignore_fields: %s says what is asked and cannot be ignored", name)
		}
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
			return p, fmt.Errorf("ignore_fields: %q: a plain field name expected", name)
		}
	}
	return p, nil
}

// shares reports whether equal requests under way may share one answer: not
// if that may call tools that are only to be called for whoever asked.
func (p *Policy) shares(v *adapter.Request) bool { return p.ToolCalls || !offersTools(v) }
