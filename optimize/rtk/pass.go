package rtk

import (
	"sync"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/memo"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/tokens"
)

// Memo remembers what became of blocks and what calls say. It may be shared by
// passes of all levels.
type Memo struct {
	changes *memo.Memo[Change]
	// facts are the texts that stay as they are, most of all texts, and the
	// hints of calls.
	facts *memo.Facts
}

// Change is what is remembered of a block that was shortened.
type Change struct {
	text   []byte // the JSON string, quotes included, that takes its place; nil if it stays
	tokens int    // saved, an estimate
	level  Level
}

// factsShare is the part of a memo that holds facts.
const factsShare = 16

// NewMemo returns a memo of about maxBytes.
func NewMemo(maxBytes int64) *Memo {
	facts := maxBytes / factsShare
	return &Memo{memo.New[Change](maxBytes - facts), memo.NewFacts(int(facts))}
}

// Pass is rtk at one level, an optimize.Pass.
type Pass struct {
	level Level
	memo  *Memo
}

// New returns the pass of the named level. m may be nil; then every block is
// worked out anew.
func New(level string, m *Memo) (*Pass, error) {
	l, err := ParseLevel(level)
	if err != nil {
		return nil, err
	}
	return &Pass{l, m}, nil
}

// Name is rtk.
func (*Pass) Name() string { return name }

// Level is the name of the level that the pass was built with. With auto, the
// outcome says which one applied.
func (p *Pass) Level() string { return p.level.String() }

// Apply shortens the tool results of d that are no errors and not frozen.
func (p *Pass) Apply(d *optimize.Draft) optimize.Outcome {
	var out optimize.Outcome
	var highest Level
	for i := range d.Req.Blocks {
		b := &d.Req.Blocks[i]
		if b.Kind != adapter.ToolResult || b.IsError || b.Frozen || b.Message >= 0 && d.Drop[b.Message] {
			continue
		}
		raw := d.Raw(i)
		// An escape takes at least two bytes for one, so a shorter encoded
		// text is a shorter text; a longer one is measured when decoded.
		if len(raw)-len(`""`) < p.level.smallest() {
			continue
		}
		out.Blocks++
		if d.CompactText(i) {
			continue // no level shortens it, wherever it comes from
		}
		if c := p.change(p.hint(d.Req, b.Call), raw); c.text != nil {
			d.New[i] = c.text
			out.Changed++
			out.Saved += len(raw) - len(c.text)
			out.SavedTokens += c.tokens
			highest = max(highest, c.level)
		}
	}
	if p.level == Auto && out.Changed > 0 {
		out.Level = highest.String()
	}
	return out
}

// change is what becomes of the JSON string raw.
func (p *Pass) change(hint output.Hint, raw []byte) Change {
	salt := saltOf(p.level, hint)
	var key memo.Key
	if p.memo != nil {
		key = p.memo.facts.Key(salt, raw)
		if _, stays := p.memo.facts.Get(key); stays {
			return Change{}
		}
		if c, ok := p.memo.changes.GetAt(key, salt, raw); ok {
			return c
		}
	}
	b := buffers.Get().(*buffer)
	defer b.free()
	b.text = jsonspan.AppendUnquoted(b.text[:0], raw[1:len(raw)-1])
	var c Change
	var r Report
	if b.out, r = Compress(p.level, hint, b.text, b.out[:0]); r.Changed {
		b.raw = jsonspan.AppendQuoted(b.raw[:0], b.out)
		saved := tokens.Estimate(b.text) - tokens.Estimate(b.out)
		if len(b.raw) < len(raw) && saved >= 0 {
			c = Change{text: append(make([]byte, 0, len(b.raw)), b.raw...), tokens: saved, level: r.Level}
		}
	}
	switch {
	case p.memo == nil:
	case c.text == nil:
		// If another text were taken for this one, it would stay as well.
		p.memo.facts.Put(key, 0)
	default:
		p.memo.changes.PutAt(key, salt, raw, c, len(c.text))
	}
	return c
}

// buffer holds a decoded text and its shorter forms.
type buffer struct{ text, out, raw []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func (b *buffer) free() {
	if cap(b.text)+cap(b.out)+cap(b.raw) <= 4*maxPooled {
		buffers.Put(b)
	}
}

// saltOf tells apart what the memo must not mix up: the same text at another
// level or from another call.
func saltOf(level Level, hint output.Hint) uint64 {
	return uint64(level)<<24 | packed(hint)
}
