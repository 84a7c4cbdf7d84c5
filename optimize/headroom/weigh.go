package headroom

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/memo"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/tokens"
)

// What things weigh, in tokens.
const (
	perMessage = 4     // role and separators
	perCall    = 8     // name and id of a tool call
	perImage   = 1_200 // of about a megapixel
	perFile    = 300   // a document or sound that is not in the request

	// clearedTokens and markerTokens are upper bounds of what is left of a
	// cleared result and of the marker message.
	clearedTokens = 48
	markerTokens  = 56

	// A result is cleared only if it has at least so many tokens and bytes.
	minClearTokens = 96
	minClearBytes  = 192

	// A text of these lengths in bytes is cheaper to look up than to weigh: a
	// longer one is weighed by samples, a shorter one at once.
	memoFrom = 512
	memoTo   = tokens.SampledFrom
)

// facts remembers what texts weigh.
var facts = memo.NewFacts(4 << 20)

// weigh weighs encoded text, at most one token a byte.
func weigh(text []byte) int {
	if len(text) < memoFrom || len(text) >= memoTo {
		return textTokens(text)
	}
	key := facts.Key(0, text)
	if n, ok := facts.Get(key); ok {
		return int(n)
	}
	n := textTokens(text)
	facts.Put(key, uint64(n))
	return n
}

func textTokens(text []byte) int { return min(tokens.SampleRaw(text), len(text)) }

// bound is an upper bound of the weight of all messages, found without looking
// into the texts. It sets the part of each message's weight that is exact.
func (w *walk) bound() int {
	r := w.r
	w.msgs = grow(w.msgs, len(r.Messages))
	sum := 0
	for i := range r.Messages {
		m := &r.Messages[i]
		w.msgs[i] = message{}
		if m.Role == adapter.System {
			continue
		}
		fixed := perMessage + perCall*m.Calls + w.media(m)
		w.msgs[i].tokens = fixed
		sum += fixed
		for b := m.First; b < m.End; b++ {
			sum += len(w.d.Raw(b))
		}
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if r.Doc.Is(c.Arguments, jsonspan.Object) {
			sum += r.Doc.Span(c.Arguments).Len()
		}
	}
	return sum
}

// weigh sets the weights of blocks and messages.
func (w *walk) weigh() {
	r := w.r
	w.blocks = grow(w.blocks, len(r.Blocks))
	for i := range r.Blocks {
		b := &r.Blocks[i]
		w.blocks[i] = block{}
		if b.Message < 0 || r.Messages[b.Message].Role == adapter.System {
			continue
		}
		raw := w.d.Raw(i)
		n := 0
		if sealed(&r.Doc, b) {
			// Base64 of encrypted text of about four bytes a token.
			n = len(raw) * 3 / 16
		} else {
			n = weigh(raw[1 : len(raw)-1])
		}
		w.blocks[i].tokens = n
		w.msgs[b.Message].tokens += n
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if r.Doc.Is(c.Arguments, jsonspan.Object) {
			w.msgs[c.Message].tokens += weigh(r.Doc.Raw(c.Arguments))
		}
	}
}

// sealed reports whether a block is encrypted reasoning.
func sealed(d *jsonspan.Doc, b *adapter.Block) bool {
	if b.Kind != adapter.Reasoning || !b.Frozen {
		return false
	}
	key := b.Node - 1 // the nodes stand in document order, a key before its value
	return d.Equal(key, "encrypted_content") || d.Equal(key, "data")
}

// media weighs what a message holds beside texts: images, documents, sound.
// Only what stays the same when a cache mark moves may count.
func (w *walk) media(m *adapter.Message) int {
	d := &w.r.Doc
	name := "content"
	if m.Role == adapter.Tool && w.r.Format == adapter.Responses {
		name = "output"
	}
	content := d.Get(m.Node, name)
	if name == "output" && d.Is(content, jsonspan.Object) {
		return perImage // a screenshot
	}
	return mediaParts(d, content)
}

func mediaParts(d *jsonspan.Doc, list jsonspan.Ref) int {
	if !d.Is(list, jsonspan.Array) {
		return 0
	}
	sum := 0
	for part := d.First(list); part != jsonspan.None; part = d.Next(part) {
		switch string(d.Inner(d.Get(part, "type"))) {
		case "image", "image_url", "input_image":
			sum += perImage
		case "document", "file", "input_file", "input_audio":
			sum += perFile + longest(d, part)/40 // PDF: some 2,000 tokens for a page of 80 KB
		case "tool_result":
			sum += mediaParts(d, d.Get(part, "content"))
		}
	}
	return sum
}

// longest is the length of the longest string inside of r.
func longest(d *jsonspan.Doc, r jsonspan.Ref) int {
	most, end := 0, d.Span(r).End
	for n := r + 1; int(n) < d.Nodes() && d.Span(n).Start < end; n++ {
		most = max(most, len(d.Inner(n)))
	}
	return most
}

// grow returns a slice of length n, s itself if it is large enough. What is in
// it is left to the caller.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
