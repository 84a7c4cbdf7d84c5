// Package replay sends recorded conversations through an optimizer, turn by
// turn, and says what a provider with a prompt cache would charge for them.
package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/engine"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
)

// What a token costs by how the provider gets it, relative to an input token
// of a request that nothing is cached of.
const (
	ReadPrice  = 0.1  // served from the prompt cache
	WritePrice = 1.25 // read and put into it
)

// minCached is the shortest prefix that providers cache, in tokens.
const minCached = 1024

// Session is one conversation in one format.
type Session struct {
	Name   string // folder of the conversation
	Format adapter.Format
	Turns  []Turn
}

// Turn is a whole request.
type Turn struct {
	Name string
	Body []byte
}

// formatsByFolder are the names of the folders.
var formatsByFolder = map[string]adapter.Format{
	"anthropic": adapter.Messages, "openai_chat": adapter.Chat, "openai_responses": adapter.Responses,
}

// Load reads the sessions below dir: a folder for each conversation, in it one
// for each format, in that a file for each turn.
func Load(dir string) ([]Session, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "turn_*.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no sessions in %s", dir)
	}
	slices.Sort(files)
	var out []Session
	for _, file := range files {
		folder := filepath.Dir(file)
		format, ok := formatsByFolder[filepath.Base(folder)]
		if !ok {
			return nil, fmt.Errorf("%s: the format %s is not known", file, filepath.Base(folder))
		}
		name := filepath.Base(filepath.Dir(folder))
		if n := len(out); n == 0 || out[n-1].Name != name || out[n-1].Format != format {
			out = append(out, Session{Name: name, Format: format})
		}
		body, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s := &out[len(out)-1]
		s.Turns = append(s.Turns, Turn{strings.TrimSuffix(filepath.Base(file), ".json"), body})
	}
	return out, nil
}

// Result is what became of a session. Bytes and tokens are sums over all
// turns.
type Result struct {
	Session string `json:"session"`
	Format  string `json:"format"`
	Engine  string `json:"engine"`
	Turns   int    `json:"turns"`

	Bytes       int      `json:"bytes"`
	SentBytes   int      `json:"sent_bytes"`
	ToolBytes   int      `json:"tool_bytes"` // of tool results, decoded
	SentTool    int      `json:"sent_tool_bytes"`
	Tokens      int      `json:"tokens"`
	SentTokens  int      `json:"sent_tokens"`
	Cached      int      `json:"cached_tokens"` // that a prompt cache would have served, of Tokens
	SentCached  int      `json:"sent_cached_tokens"`
	Cost        float64  `json:"cost"` // in input tokens
	SentCost    float64  `json:"sent_cost"`
	Broken      []string `json:"broken,omitempty"` // pairs of turns whose common prefix changed
	SourceLines int      `json:"source_lines"`     // lines of files that were read
	Lost        int      `json:"lost_source_lines"`
	LostLines   []string `json:"lost_lines,omitempty"` // where the first of them were

	// ByTurn are the bytes of every turn, before and after.
	ByTurn map[string][2]int `json:"by_turn"`
}

// SavedBytes, SavedTokens and SavedCost are shares.
func (r *Result) SavedBytes() float64  { return share(float64(r.Bytes), float64(r.SentBytes)) }
func (r *Result) SavedTool() float64   { return share(float64(r.ToolBytes), float64(r.SentTool)) }
func (r *Result) SavedTokens() float64 { return share(float64(r.Tokens), float64(r.SentTokens)) }
func (r *Result) SavedCost() float64   { return share(r.Cost, r.SentCost) }

func share(before, after float64) float64 {
	if before == 0 {
		return 0
	}
	return 1 - after/before
}

// Run replays a session. count counts tokens.
func Run(s *Session, e engine.Engine, count func(string) int) (*Result, error) {
	r := &Result{Session: s.Name, Format: s.Format.String(), Engine: e.Name, Turns: len(s.Turns), ByTurn: make(map[string][2]int)}
	apply := e.New()
	var was, is meter
	var last []byte
	for i, turn := range s.Turns {
		out, err := apply(s.Format, turn.Body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", turn.Name, err)
		}
		sent := bytes.Clone(out)
		r.Bytes += len(turn.Body)
		r.SentBytes += len(sent)
		r.ByTurn[turn.Name] = [2]int{len(turn.Body), len(sent)}
		if err := was.turn(turn.Body, count); err != nil {
			return nil, fmt.Errorf("%s: %w", turn.Name, err)
		}
		if err := is.turn(sent, count); err != nil {
			return nil, fmt.Errorf("%s, optimised: %w", turn.Name, err)
		}
		if i > 0 {
			a, err := withoutMarks(last)
			if err != nil {
				return nil, err
			}
			b, err := withoutMarks(sent)
			if err != nil {
				return nil, err
			}
			if err := cases.PrefixStable(a, b); err != nil {
				r.Broken = append(r.Broken, fmt.Sprintf("%s to %s: %v", s.Turns[i-1].Name, turn.Name, err))
			}
		}
		last = sent
		if err := r.compare(s.Format, turn, sent); err != nil {
			return nil, fmt.Errorf("%s: %w", turn.Name, err)
		}
	}
	r.Tokens, r.Cached, r.Cost = was.tokens, was.cached, was.cost
	r.SentTokens, r.SentCached, r.SentCost = is.tokens, is.cached, is.cost
	return r, nil
}

// meter adds up what a conversation costs.
type meter struct {
	prefix         []element // of the turn before
	tokens, cached int
	cost           float64
}

// element is one piece of a prompt, in the order in which it is cached.
type element struct {
	raw    string
	tokens int
}

// turn counts one more turn: what it has in common with the beginning of the
// one before comes from the cache, the rest is written to it.
func (m *meter) turn(body []byte, count func(string) int) error {
	elements, err := elementsOf(body, count)
	if err != nil {
		return err
	}
	total, common, same := 0, 0, true
	for i, e := range elements {
		total += e.tokens
		if same = same && i < len(m.prefix) && m.prefix[i].raw == e.raw; same {
			common += e.tokens
		}
	}
	if common < minCached {
		common = 0
	}
	m.tokens += total
	m.cached += common
	m.cost += ReadPrice*float64(common) + WritePrice*float64(total-common)
	m.prefix = elements
	return nil
}

// elementsOf are tools, system prompt and messages of a request, in that
// order, without marks of where to cache.
func elementsOf(body []byte, count func(string) int) ([]element, error) {
	clean, err := withoutMarks(body)
	if err != nil {
		return nil, err
	}
	var parts struct {
		Tools, System, Instructions json.RawMessage
		Messages, Input             []json.RawMessage
	}
	if err := json.Unmarshal(clean, &parts); err != nil {
		return nil, err
	}
	var out []element
	for _, raw := range append(append([]json.RawMessage{parts.Tools, parts.System, parts.Instructions}, parts.Messages...), parts.Input...) {
		if len(raw) == 0 {
			continue
		}
		tokens := 0
		for _, text := range cases.Texts(raw) {
			tokens += count(text)
		}
		out = append(out, element{string(raw), tokens})
	}
	if len(out) == 0 {
		return nil, errors.New("no messages")
	}
	return out, nil
}

// withoutMarks is a body without cache_control, which moves from turn to turn
// and is no part of what is cached.
func withoutMarks(body []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	strip(v)
	return json.Marshal(v)
}

// strip removes cache_control from all objects of v.
func strip(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cache_control")
		for _, one := range v {
			strip(one)
		}
	case []any:
		for _, one := range v {
			strip(one)
		}
	}
}
