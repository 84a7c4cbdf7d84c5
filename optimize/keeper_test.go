package optimize_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/caveman"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
)

// keeper checks single requests of one mode against the promises.
type keeper struct {
	header   string
	noTokens bool // do not count tokens
	errs     []error
}

func (k *keeper) fail(s sample, format string, args ...any) {
	if len(k.errs) < 20 {
		k.errs = append(k.errs, fmt.Errorf("%s: "+format, append([]any{s.name}, args...)...))
	}
}

// directive checks that caveman did nothing but insert its text at one place.
func (k *keeper) directive(s sample, before, after []byte) {
	if bytes.Equal(before, after) {
		return
	}
	at := differAt(before, after)
	grown := len(after) - len(before)
	if grown <= 0 || grown > 1200 || !json.Valid(after) {
		k.fail(s, "caveman: it grew by %d bytes", grown)
		return
	}
	if rest, ok := bytes.CutPrefix(before[at:], []byte("null")); ok { // instructions that were null
		for _, level := range []string{caveman.Lite, caveman.Full} {
			if string(after[at:]) == `"`+caveman.Directive(level)+`"`+string(rest) {
				return
			}
		}
	}
	// The first byte inserted may be like the one that follows.
	for from := at; from >= 0 && from > at-4; from-- {
		inserted := after[from : from+grown]
		if !bytes.Equal(after[from+grown:], before[from:]) {
			continue
		}
		lite := bytes.Count(inserted, []byte(caveman.Directive(caveman.Lite)))
		full := bytes.Count(inserted, []byte(caveman.Directive(caveman.Full)))
		if lite+full != 1 {
			k.fail(s, "caveman: it inserted %q", inserted)
		}
		return
	}
	k.fail(s, "caveman: more than one insertion from byte %d on", at)
}

// check compares a request with what the passes other than caveman made of it.
func (k *keeper) check(s sample, after []byte) {
	if bytes.Equal(s.body, after) {
		return
	}
	if !json.Valid(after) {
		k.fail(s, "invalid JSON")
		return
	}
	if !utf8.Valid(after) && utf8.Valid(s.body) {
		k.fail(s, "invalid UTF-8")
	}
	if len(after) >= len(s.body) {
		k.fail(s, "it grew from %d to %d bytes", len(s.body), len(after))
	}
	path := endpointOf(s.format)
	if cases.PairsIntact(path, s.body, s.body) == nil && distinct(s) {
		if err := cases.PairsIntact(path, s.body, after); err != nil {
			k.fail(s, "%v", err)
		}
	}
	var was, is adapter.Request
	if err := was.Parse(s.format, s.body); err != nil {
		k.fail(s, "changed although it has no view: %v", err)
		return
	}
	if err := is.Parse(s.format, after); err != nil {
		k.fail(s, "no view of the outcome: %v", err)
		return
	}
	pairs, ok := derive(&was.Doc, was.Root, &is.Doc, is.Root)
	if ok && strings.Contains(k.header, "headroom") && len(was.Messages) == len(is.Messages) {
		// One message dropped and a marker in its place looks like a changed text.
		for _, p := range pairs {
			b := blockOf(&was, p.was)
			ok = ok && b != nil && (b.Kind == adapter.ToolResult || b.Kind == adapter.Reasoning)
		}
	}
	if ok {
		k.texts(s, &was, &is, pairs)
		k.sealed(s, &was, &is, was.Root, is.Root)
		return
	}
	if !strings.Contains(k.header, "headroom") {
		k.fail(s, "more than strings was changed")
		return
	}
	k.messages(s, &was, &is)
}

// distinct reports whether every item of a Responses request can be told from
// the others: the check of pairs goes by their ids.
func distinct(s sample) bool {
	var body struct {
		Input json.RawMessage `json:"input"`
	}
	var items []struct {
		Type   string `json:"type"`
		ID     string `json:"id"`
		CallID string `json:"call_id"`
	}
	if s.format != adapter.Responses || json.Unmarshal(s.body, &body) != nil || json.Unmarshal(body.Input, &items) != nil {
		return true
	}
	seen := map[string]bool{}
	for _, item := range items {
		name := item.Type + " " + item.ID + " " + item.CallID
		if item.ID+item.CallID != "" && seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

// pair is a string of the request and what stands in its place.
type pair struct{ was, is jsonspan.Ref }

// derive reports whether the value y of b is the value x of a with other
// strings in the places of some, all other bytes being equal, and which.
func derive(a *jsonspan.Doc, x jsonspan.Ref, b *jsonspan.Doc, y jsonspan.Ref) (changed []pair, ok bool) {
	spanA, spanB := a.Span(x), b.Span(y)
	atA, atB := spanA.Start, spanB.Start
	srcA, srcB := a.Source(), b.Source()
	for ; ; x, y = x+1, y+1 {
		moreA := int(x) < a.Nodes() && a.Span(x).Start < spanA.End
		moreB := int(y) < b.Nodes() && b.Span(y).Start < spanB.End
		if moreA != moreB {
			return nil, false
		}
		if !moreA {
			return changed, bytes.Equal(srcA[atA:spanA.End], srcB[atB:spanB.End])
		}
		if !a.Is(x, jsonspan.String) || !b.Is(y, jsonspan.String) {
			continue // its bytes count as those between strings
		}
		nodeA, nodeB := a.Span(x), b.Span(y)
		if !bytes.Equal(srcA[atA:nodeA.Start], srcB[atB:nodeB.Start]) {
			return nil, false
		}
		if !bytes.Equal(a.Raw(x), b.Raw(y)) {
			changed = append(changed, pair{x, y})
		}
		atA, atB = nodeA.End, nodeB.End
	}
}

// texts checks the strings that were changed.
func (k *keeper) texts(s sample, was, is *adapter.Request, pairs []pair) {
	for _, p := range pairs {
		b := blockOf(was, p.was)
		if b == nil {
			k.fail(s, "a string that is no text was changed: %.100s", was.Doc.Raw(p.was))
			continue
		}
		var allowed bool
		switch b.Kind {
		case adapter.ToolResult:
			allowed = !b.IsError && (strings.Contains(k.header, "rtk") || strings.Contains(k.header, "headroom") || strings.Contains(k.header, "squoze"))
		case adapter.Reasoning:
			allowed = was.Format == adapter.Chat && strings.Contains(k.header, "reasoning")
		case adapter.UserText:
			allowed = strings.Contains(k.header, "squoze")
		}
		if b.Frozen || !allowed {
			k.fail(s, "a text of kind %d was changed (error %v, frozen %v): %.100s", b.Kind, b.IsError, b.Frozen, was.Doc.Raw(p.was))
		}
		before, after := was.Doc.Text(p.was), is.Doc.Text(p.is)
		if after == "" {
			k.fail(s, "a text was emptied")
		}
		if k.noTokens {
			continue
		}
		if x, y := count(before), count(after); y > x {
			k.fail(s, "%d tokens became %d: %.200q", x, y, after)
		}
	}
}

func blockOf(r *adapter.Request, node jsonspan.Ref) *adapter.Block {
	for i := range r.Blocks {
		if r.Blocks[i].Node == node {
			return &r.Blocks[i]
		}
	}
	return nil
}

// sealed checks, without the adapter's help, that what has to go back as it
// came does: the objects of certain types and failed tool results within x are
// the same, byte by byte, within y.
func (k *keeper) sealed(s sample, was, is *adapter.Request, x, y jsonspan.Ref) {
	d := &was.Doc
	now := is.Doc.Raw(y)
	end := d.Span(x).End
	for n := x; int(n) < d.Nodes() && d.Span(n).Start < end; n++ {
		if !d.Is(n, jsonspan.Object) {
			continue
		}
		keep := d.Is(d.Get(n, "is_error"), jsonspan.True) || d.Is(d.Get(n, "signature"), jsonspan.String)
		switch d.Text(d.Get(n, "type")) {
		case "thinking", "redacted_thinking", "reasoning", "image", "image_url", "input_image", "document",
			"tool_use", "function_call", "function", "server_tool_use", "web_search_tool_result", "item_reference", "compaction":
			keep = true
		}
		if keep && !bytes.Contains(now, d.Raw(n)) {
			k.fail(s, "not as it came: %.200s", d.Raw(n))
		}
	}
}

// messages checks a request of which messages were dropped.
func (k *keeper) messages(s sample, was, is *adapter.Request) {
	listA, listB := was.Doc.Span(was.List), is.Doc.Span(is.List)
	a, b := was.Doc.Source(), is.Doc.Source()
	if !bytes.Equal(a[:listA.Start], b[:listB.Start]) || !bytes.Equal(a[listA.End:], b[listB.End:]) {
		k.fail(s, "something outside of the messages was changed")
		return
	}
	next, gone, markers := 0, 0, 0
	dropped := ""
	for _, m := range is.Messages {
		raw := is.Doc.Raw(m.Node)
		at := next
		var changed []pair
		ok := false
		for ; at < len(was.Messages) && !ok; at++ {
			if changed, ok = derive(&was.Doc, was.Messages[at].Node, &is.Doc, m.Node); ok {
				for _, p := range changed {
					if blk := blockOf(was, p.was); blk == nil || blk.Kind != adapter.ToolResult && blk.Kind != adapter.Reasoning {
						ok = false // another message of the same shape
					}
				}
			}
			if !ok && k.derivedWithoutMarker(was, at, raw) {
				ok, changed = true, nil
				markers++
			}
		}
		if !ok {
			if !isMarker(is, &m) {
				k.fail(s, "a message that was not there: %.200s", raw)
			}
			markers++
			continue
		}
		at--
		for ; next < at; next++ {
			gone++
			dropped += k.droppedText(s, was, next)
		}
		next++
		k.texts(s, was, is, changed)
		k.sealed(s, was, is, was.Messages[at].Node, m.Node)
	}
	for ; next < len(was.Messages); next++ {
		gone++
		dropped += k.droppedText(s, was, next)
	}
	if gone == 0 || markers != 1 {
		k.fail(s, "%d messages dropped, %d markers", gone, markers)
		return
	}
	line := string(marker.AppendCount(nil, gone)) + " message"
	if !bytes.Contains(b, []byte("[... headroom: "+line)) {
		k.fail(s, "no marker says that %d messages went", gone)
	}
	if !k.noTokens && count(dropped) < 30 {
		k.fail(s, "the marker is larger than what was dropped: %q", dropped)
	}
}

// droppedText is the text of message i, which must not be the system's.
func (k *keeper) droppedText(s sample, was *adapter.Request, i int) string {
	m := &was.Messages[i]
	if m.Role == adapter.System {
		k.fail(s, "a system message was dropped")
	}
	var b strings.Builder
	for n := m.First; n < m.End; n++ {
		b.WriteString(was.Doc.Text(was.Blocks[n].Node))
		b.WriteByte('\n')
	}
	return b.String()
}

// isMarker reports whether a message is headroom's marker.
func isMarker(r *adapter.Request, m *adapter.Message) bool {
	return m.End == m.First+1 && strings.HasPrefix(r.Doc.Text(r.Blocks[m.First].Node), "[... headroom: ")
}

// derivedWithoutMarker reports whether raw is message at with headroom's text
// part behind its own, and perhaps shorter tool results.
func (k *keeper) derivedWithoutMarker(was *adapter.Request, at int, raw []byte) bool {
	const part = `,{"type":"text","text":"[... headroom: `
	from := bytes.Index(raw, []byte(part))
	if from < 0 {
		return false
	}
	to := from + bytes.Index(raw[from:], []byte(`"}`)) + len(`"}`)
	rest := append(bytes.Clone(raw[:from]), raw[to:]...)
	plain := bytes.Replace(bytes.Replace(rest, []byte(`[{"type":"text","text":`), nil, 1), []byte(`}]`), nil, 1)
	if bytes.Equal(plain, was.Doc.Raw(was.Messages[at].Node)) {
		return true // the text was a plain string before
	}
	var d jsonspan.Doc
	if d.Parse(rest) != nil {
		return false
	}
	changed, ok := derive(&was.Doc, was.Messages[at].Node, &d, d.Root())
	for _, p := range changed {
		b := blockOf(was, p.was)
		ok = ok && b != nil && b.Kind == adapter.ToolResult && !b.IsError && !b.Frozen
	}
	return ok
}

var (
	o200k = sync.OnceValue(func() tokenizer.Codec {
		codec, err := tokenizer.Get(tokenizer.O200kBase)
		if err != nil {
			panic(err)
		}
		return codec
	})
	counts sync.Map
)

// count is the number of tokens of text for o200k. The tokenizer is slow, and
// most texts come again in the next mode.
func count(text string) int {
	if n, ok := counts.Load(text); ok {
		return n.(int)
	}
	n, err := o200k().Count(text)
	if err != nil {
		panic(err)
	}
	counts.Store(text, n)
	return n
}
