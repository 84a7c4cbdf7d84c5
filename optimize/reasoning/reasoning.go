// Package reasoning shortens old reasoning text in the history of a chat.
//
// # What may be shortened
//
// Only the reasoning_content (or reasoning) text of chat completions, and only
// that of turns which are over. The reasoning of the running turn, that is of
// everything behind the last user message, has to go back unchanged as long as
// tools are called (DeepSeek's documentation says so; its older reasoning may be
// dropped or shortened). Reasoning beside a signature or structured details is
// left alone, and so are Anthropic's thinking and the reasoning items of the
// Responses format: providers check them.
//
// # Prefix stability
//
// A reasoning text is sent in full while its turn is running and shortened from
// the next user message on. So each message changes exactly once, at the moment
// at which its turn ends, and never again. Providers that leave old reasoning
// out of the prompt (DeepSeek does) lose nothing of their prompt cache by that;
// with others the prompt behind the end of the turn before is read anew once a
// turn. With Auto the rest depends on the request's reasoning effort, too: a
// client that changes it within a conversation changes what is kept.
package reasoning

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/memo"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/tokens"
)

// Levels, named for the reasoning effort that they suit.
const (
	Low  = "low"  // keeps little
	High = "high" // keeps more
	// Auto is Low if the request asks for low, minimal or no reasoning effort,
	// else High.
	Auto = "auto"
)

// limits are the bytes of decoded text that a level works with.
type limits struct {
	least      int // shorter texts are left alone
	head, tail int // whole lines that are kept; the last one in any case
}

var levels = map[string]limits{
	Low:  {least: 1 << 10, head: 256, tail: 512},
	High: {least: 4 << 10, head: 1 << 10, tail: 2 << 10},
}

// worth is the least number of tokens that the lines to be elided must have:
// twice what the marker takes.
const worth = 80

const name = "reasoning"

// Pass shortens old reasoning.
type Pass struct{ level string }

// New returns the pass for a level; ok is false if there is no such level.
func New(level string) (p *Pass, ok bool) {
	if _, ok := levels[level]; !ok && level != Auto {
		return nil, false
	}
	return &Pass{level}, true
}

// Name is "reasoning".
func (p *Pass) Name() string { return name }

// Level is the level that the pass was built with.
func (p *Pass) Level() string { return p.level }

// Apply shortens the reasoning of all turns but the running one.
func (p *Pass) Apply(d *optimize.Draft) optimize.Outcome {
	r := d.Req
	var out optimize.Outcome
	if r.Format != adapter.Chat {
		return out
	}
	running := len(r.Messages)
	for running > 0 && r.Messages[running-1].Role != adapter.User {
		running--
	}
	for i := range r.Blocks {
		b := &r.Blocks[i]
		if b.Kind != adapter.Reasoning || b.Frozen || b.Message >= running-1 {
			continue
		}
		if out.Blocks == 0 {
			out.Level = p.levelFor(r)
		}
		out.Blocks++
		raw := d.Raw(i)
		if s := shortened(out.Level, raw); s.text != nil {
			d.New[i] = s.text
			out.Changed++
			out.Saved += len(raw) - len(s.text)
			out.SavedTokens += s.tokens
		}
	}
	return out
}

// levelFor is the level that a request gets.
func (p *Pass) levelFor(r *adapter.Request) string {
	if p.level != Auto {
		return p.level
	}
	d := &r.Doc
	effort := d.Get(r.Root, "reasoning_effort")
	if effort == jsonspan.None {
		effort = d.Get(d.Get(r.Root, "reasoning"), "effort") // OpenRouter
	}
	switch string(d.Inner(effort)) {
	case "none", "minimal", "low":
		return Low
	}
	return High
}

// short is what is left of a text; text is nil if it stays as it is.
type short struct {
	text   []byte // a JSON string
	tokens int    // saved
}

// seen remembers what became of texts.
var seen = memo.New[short](8 << 20)

var salts = map[string]uint64{Low: 1, High: 2}

// shortened is what the level makes of raw, a JSON string.
func shortened(level string, raw []byte) short {
	l := levels[level]
	if len(raw) < l.least {
		return short{} // decoding makes no text longer
	}
	salt := salts[level]
	if s, ok := seen.Get(salt, raw); ok {
		return s
	}
	s := shorten(l, raw)
	seen.Put(salt, raw, s, len(s.text))
	return s
}

func shorten(l limits, raw []byte) short {
	text := jsonspan.AppendUnquoted(nil, raw[1:len(raw)-1])
	if len(text) < l.least {
		return short{}
	}
	from, to, lines := middle(l, text)
	if lines == 0 || tokens.Estimate(text[from:to]) < worth {
		return short{}
	}
	rest := append([]byte(nil), text[:from]...)
	rest = marker.Append(rest, name, lines, "lines", "", marker.Ref(text))
	rest = append(rest, '\n')
	rest = append(rest, text[to:]...)
	s := short{text: jsonspan.AppendQuoted(make([]byte, 0, len(rest)+len(rest)/16), rest)}
	s.tokens = tokens.Estimate(text) - tokens.Estimate(rest)
	if len(s.text) >= len(raw) || s.tokens <= 0 {
		return short{}
	}
	return s
}

// middle is what may be elided of text: the bytes [from, to), which are so many
// whole lines. It is empty if a line looks like a marker: such lines are kept,
// and a text that was shortened before is not shortened again.
func middle(l limits, text []byte) (from, to, lines int) {
	for line := range bytes.Lines(text) {
		if marker.Is(bytes.TrimRight(line, "\r\n")) {
			return 0, 0, 0
		}
	}
	for from < len(text) {
		n := bytes.IndexByte(text[from:], '\n') + 1
		if n == 0 || from+n > l.head {
			break
		}
		from += n
	}
	// The end, from its last line that is not blank.
	to = bytes.LastIndexByte(bytes.TrimRight(text, " \t\r\n"), '\n') + 1
	for to > from {
		start := bytes.LastIndexByte(text[:to-1], '\n') + 1
		if len(text)-start > l.tail {
			break
		}
		to = start
	}
	if to <= from {
		return 0, 0, 0
	}
	return from, to, bytes.Count(text[from:to], []byte{'\n'})
}
