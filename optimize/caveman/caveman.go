// Package caveman asks the model for terse answers: it adds a short directive
// to the end of the system prompt. It is the one optimizer that makes a request
// larger, in order to make the answers smaller.
package caveman

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
)

// Levels of the directive.
const (
	// Lite asks for brevity, at most 90 tokens.
	Lite = "lite"
	// Full asks for as few words as carry the meaning and says what must not
	// be shortened, at most 200 tokens.
	Full = "full"
	// Auto is Full for a request that declares tools and Lite for one that does
	// not. Only the tools member counts, not whether a tool was called already:
	// a client declares its tools from the first request of a conversation to
	// the last (they stand in front of everything in the provider's prompt
	// cache), so the choice does not flip on the way.
	Auto = "auto"
)

// directives are the texts by level. They hold nothing that JSON escapes, so
// that one that is already there is found in the raw bytes.
var directives = map[string]string{
	Lite: "Answer tersely: no greetings, filler, hedging, or restating of the question; short sentences or fragments are fine. " +
		"Keep every fact, number, name, path, warning, error text and piece of code exact and complete. " +
		"If the user asks for detail or another style, that wins.",
	Full: "Use as few words as carry the full meaning. Fragments are fine and articles may go where nothing becomes ambiguous. " +
		"No greetings, praise, filler, hedging, restating of the question, announcing of next steps or closing summaries. " +
		"Between tool calls say nothing unless the user has to know it. One sentence beats a paragraph, a list beats prose. " +
		"What must be exact is never shortened: code, commands, paths, identifiers, numbers, quotations and error messages " +
		"stay verbatim and complete, and so do files you write and arguments you pass to tools. " +
		"Warnings about data loss or security, and questions you need answered, get full sentences. " +
		"Keep the user's language. If the user asks for detail or a certain format, that wins.",
}

// encoded are the directives as they stand in a JSON string.
var encoded = [][]byte{[]byte(directives[Lite]), []byte(directives[Full])}

// Directive is the text of Lite or Full, "" for any other level.
func Directive(level string) string { return directives[level] }

// Pass adds the directive.
type Pass struct{ level string }

// New returns the pass for a level: Lite, Full or Auto; ok is false for any
// other.
func New(level string) (p *Pass, ok bool) {
	if directives[level] == "" && level != Auto {
		return nil, false
	}
	return &Pass{level}, true
}

// Name is "caveman".
func (p *Pass) Name() string { return "caveman" }

// Level is the level that the pass was built with.
func (p *Pass) Level() string { return p.level }

// Apply adds the directive, unless one of either level is there already, the
// answer has to follow a schema, or there is no conversation to put it into.
func (p *Pass) Apply(d *optimize.Draft) optimize.Outcome {
	r := d.Req
	if r.Schema || !speaks(r) || present(r) {
		return optimize.Outcome{}
	}
	level := p.level
	if level == Auto {
		level = Lite
		if r.Doc.First(r.Tools) != jsonspan.None {
			level = Full
		}
	}
	edits, ok := r.AppendSystem(directives[level])
	if !ok {
		return optimize.Outcome{}
	}
	added := 0
	for _, e := range edits {
		added += len(e.New) - e.Len()
	}
	d.Insert = append(d.Insert, edits...)
	return optimize.Outcome{Level: level, Saved: -added, Added: added, Blocks: 1, Changed: 1}
}

// speaks reports whether r holds a conversation that a system prompt belongs
// to.
func speaks(r *adapter.Request) bool {
	switch r.Format {
	case adapter.Chat, adapter.Messages:
		return len(r.Messages) > 0
	case adapter.Responses:
		if len(r.Messages) > 0 {
			return true
		}
		for i := range r.Blocks { // input as a plain string
			if r.Blocks[i].Kind == adapter.UserText {
				return true
			}
		}
	}
	return false
}

// present reports whether the system prompt holds a directive of either level.
// Only the exact text counts, and only there: what a user or a tool says of it
// means nothing.
func present(r *adapter.Request) bool {
	for i := range r.Blocks {
		if r.Blocks[i].Kind != adapter.SystemText {
			continue
		}
		text := r.Doc.Inner(r.Blocks[i].Node)
		for _, directive := range encoded {
			if bytes.Contains(text, directive) {
				return true
			}
		}
	}
	return false
}
