package headroom

import (
	"github.com/cespare/xxhash/v2"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
)

const (
	name = "headroom"
	// markerStart is how each of headroom's markers begins.
	markerStart = "[... " + name + ": "
	// maxMarkerBytes is more than the marker for dropped messages takes, in
	// whatever form.
	maxMarkerBytes = 256
)

// write puts the outcome of the walk into the draft and returns how many blocks
// and messages it changes.
func (w *walk) write() int {
	if w.dropped > 0 && !w.smaller() {
		w.undrop()
	}
	changed := w.dropped
	for i := range w.blocks {
		if b := &w.r.Blocks[i]; w.blocks[i].cleared && !w.d.Drop[b.Message] {
			w.d.New[i] = cleared(w.r.Doc.Inner(b.Node))
			changed++
		}
	}
	if w.dropped > 0 {
		w.mark()
	}
	return changed
}

// smaller reports whether the dropped messages take more bytes than the marker
// in their place. Cache marks and white space, which may change from request to
// request, do not count.
func (w *walk) smaller() bool {
	const envelope = len(`{"role":"user","content":""},`)
	size := 0
	for i, m := range w.r.Messages {
		if !w.d.Drop[i] {
			continue
		}
		size += envelope
		for b := m.First; b < m.End; b++ {
			size += len(w.d.Raw(b)) - len(`""`)
		}
		if size > maxMarkerBytes {
			return true
		}
	}
	return false
}

// undrop takes all drops back.
func (w *walk) undrop() {
	clear(w.d.Drop)
	w.dropped = 0
	w.total += w.droppedTokens - markerTokens
}

// cleared is what is left of a tool result, a JSON string: how many lines and
// bytes it had as it came, and a reference to it.
func cleared(encoded []byte) []byte {
	lines, size, ref := describe(encoded)
	// The second number is safe here: nothing stands behind the marker that
	// could be counted against it.
	detail := string(marker.AppendCount(nil, size)) + " bytes of an old tool result"
	line := marker.Append(make([]byte, 0, maxMarkerBytes), name, lines, "lines", detail, ref)
	return jsonspan.AppendQuoted(make([]byte, 0, len(line)+2), line)
}

// describe returns the number of lines, the length and the reference of an
// encoded text.
func describe(encoded []byte) (lines, size int, ref string) {
	breaks, size := jsonspan.Measure(encoded)
	return breaks + 1, size, refOf(encoded)
}

// refOf is the reference of an encoded text. Nothing is kept that the reference
// could lead to, so it is of a hash that costs a fraction of SHA-256, of the
// text as it is written: to decode it would cost more than the hash.
func refOf(encoded []byte) string { return marker.RefOf(xxhash.Sum64(encoded) >> 16) }

// mark inserts the marker for the dropped messages.
func (w *walk) mark() {
	r := w.r
	first := 0
	for !w.d.Drop[first] {
		first++
	}
	line := w.line()
	role := "user"
	if w.followedByUser(first) {
		role = "assistant"
	} else if r.Format == adapter.Messages && w.markTask(first, line) {
		return
	}
	text := append(w.text[:0:0], `{"role":"`...)
	text = append(text, role...)
	text = append(text, `","content":`...)
	text = jsonspan.AppendQuoted(text, line)
	text = append(text, "},"...)
	at := r.Doc.Span(r.Messages[first].Node).Start
	w.insert(at, text)
}

func (w *walk) insert(at int, text []byte) {
	w.d.Insert = append(w.d.Insert, jsonspan.Edit{Span: jsonspan.Span{Start: at, End: at}, New: text})
}

// line is the marker. Its reference is that of all dropped texts as they came,
// one after the other, a long one represented by its own reference.
func (w *walk) line() []byte {
	w.text = w.text[:0]
	for i, m := range w.r.Messages {
		if !w.d.Drop[i] {
			continue
		}
		for b := m.First; b < m.End; b++ {
			text := w.r.Doc.Inner(w.r.Blocks[b].Node)
			if len(text) >= memoFrom {
				w.text = append(w.text, refOf(text)...)
				continue
			}
			w.text = append(w.text, text...)
		}
	}
	return marker.Append(nil, name, w.dropped, "messages", "the oldest after the task", marker.Ref(w.text))
}

// followedByUser reports whether the message that comes to stand behind the
// marker in place of message first is the user's.
func (w *walk) followedByUser(first int) bool {
	for i := first; i < len(w.r.Messages); i++ {
		m := &w.r.Messages[i]
		if w.d.Drop[i] || m.Role == adapter.System {
			continue
		}
		return m.Role == adapter.User && m.Results == 0
	}
	return false
}

// markTask adds the marker to the last user message before message first, as a
// text part. It reports whether there was a place for it.
func (w *walk) markTask(first int, line []byte) bool {
	r := w.r
	d := &r.Doc
	task := first - 1
	for task >= 0 && r.Messages[task].Role != adapter.User {
		task--
	}
	if task < 0 {
		return false
	}
	part := append([]byte(nil), `{"type":"text","text":`...)
	part = append(jsonspan.AppendQuoted(part, line), '}')
	content := d.Get(r.Messages[task].Node, "content")
	span := d.Span(content)
	switch {
	case d.Is(content, jsonspan.String) && len(d.Inner(content)) > 0:
		w.insert(span.Start, []byte(`[{"type":"text","text":`))
		w.insert(span.End, append(append([]byte("},"), part...), ']'))
		return true
	case d.Is(content, jsonspan.Array) && d.First(content) != jsonspan.None:
		last := d.First(content)
		for d.Next(last) != jsonspan.None {
			last = d.Next(last)
		}
		w.insert(d.Span(last).End, append([]byte{','}, part...))
		return true
	}
	return false
}
