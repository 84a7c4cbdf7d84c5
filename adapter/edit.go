package adapter

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// AppendSystem returns the edits that add text to the system prompt, at its
// end, so that what a provider has cached of it stays valid:
//
//   - Chat: to the first message if that is a system or developer message (to
//     its string, or as a new last text part), else as a new first message;
//   - Responses: to instructions, or as a new instructions;
//   - Messages: to the system string, as a new last block of the system array,
//     or as a new system.
//
// Text that is added to a string stands two line ends below what is there. ok
// is false where there is no place for it: in the other formats, without
// messages, and where the system prompt is empty or of no known shape.
func (r *Request) AppendSystem(text string) (edits []jsonspan.Edit, ok bool) {
	if r.Format >= maxFormats || wires[r.Format] == nil || wires[r.Format].appendSystem == nil || text == "" {
		return nil, false
	}
	return wires[r.Format].appendSystem(r, text)
}

// SetModel returns the edit that gives the model another name; ok is false
// unless there is exactly one model and it is a string.
func (r *Request) SetModel(name string) (edit jsonspan.Edit, ok bool) {
	if r.ModelState != ModelUnique {
		return jsonspan.Edit{}, false
	}
	return jsonspan.Edit{Span: r.Doc.Span(r.Model), New: jsonspan.AppendQuoted(nil, []byte(name))}, true
}

// ReplaceText returns the edit that puts text, decoded, in place of the text of
// a block.
func (r *Request) ReplaceText(block int, text []byte) jsonspan.Edit {
	return jsonspan.Edit{
		Span: r.Doc.Span(r.Blocks[block].Node),
		New:  jsonspan.AppendQuoted(make([]byte, 0, len(text)+len(text)/32+16), text),
	}
}

// DropMessages returns the edits that take the messages marked in drop out of
// the list. If marker is not empty, a user message with that text is put in
// front of message number at (at the end if at is the number of messages).
//
// ok is false if there is no list, drop is not as long as Messages, at is out
// of range, or nothing at all would be left. A block of a dropped message must
// not be edited as well.
func (r *Request) DropMessages(drop []bool, at int, marker string) (edits []jsonspan.Edit, ok bool) {
	n := len(r.Messages)
	if r.List == jsonspan.None || len(drop) != n || n == 0 || at < 0 || at > n {
		return nil, false
	}
	var message []byte
	if marker != "" {
		message = chatText("user", marker)
	}
	left := message != nil
	for _, gone := range drop {
		left = left || !gone
	}
	if !left {
		return nil, false
	}
	placed := message == nil
	for i := 0; i <= n; {
		j := i
		for j < n && drop[j] {
			j++
		}
		here := !placed && i <= at && at <= j
		if i < j || here {
			e := jsonspan.Edit{Span: r.gap(i, j)}
			if here {
				placed = true
				e.New = message
			}
			switch {
			case i == 0 && j == n: // all of it
			case j == n: // what is left ends before i, its comma included
				if here {
					e.New = append([]byte{','}, message...)
				}
			case here:
				e.New = append(message, ',')
			}
			edits = append(edits, e)
		}
		i = j + 1
	}
	return edits, true
}

// gap is the span whose removal takes messages i to j-1 out of the list: up to
// the next message that stays, or if there is none from the end of the one
// before. It is empty for i == j.
func (r *Request) gap(i, j int) jsonspan.Span {
	start := func(i int) int { return r.Doc.Span(r.Messages[i].Node).Start }
	end := func(i int) int { return r.Doc.Span(r.Messages[i].Node).End }
	n := len(r.Messages)
	switch {
	case j < n:
		return jsonspan.Span{Start: start(i), End: start(j)}
	case i == 0:
		return jsonspan.Span{Start: start(0), End: end(n - 1)}
	}
	return jsonspan.Span{Start: end(i - 1), End: end(n - 1)}
}

// systemGap stands between a system prompt and what is added to it.
const systemGap = "\n\n"

// appendToString adds text to the end of a string that is not empty.
func appendToString(d *jsonspan.Doc, node jsonspan.Ref, text string) ([]jsonspan.Edit, bool) {
	if len(d.Inner(node)) == 0 {
		return nil, false
	}
	at := d.Span(node).End - 1
	return []jsonspan.Edit{{
		Span: jsonspan.Span{Start: at, End: at},
		New:  jsonspan.AppendEscaped(nil, []byte(systemGap+text)),
	}}, true
}

// appendElement adds an encoded element to the end of an array that is not
// empty.
func appendElement(d *jsonspan.Doc, array jsonspan.Ref, element []byte) ([]jsonspan.Edit, bool) {
	last := jsonspan.None
	for e := d.First(array); e != jsonspan.None; e = d.Next(e) {
		last = e
	}
	if last == jsonspan.None {
		return nil, false
	}
	at := d.Span(last).End
	return []jsonspan.Edit{{Span: jsonspan.Span{Start: at, End: at}, New: append([]byte{','}, element...)}}, true
}

// appendMember adds a string member to the end of an object that is not empty.
func appendMember(d *jsonspan.Doc, object jsonspan.Ref, name, text string) ([]jsonspan.Edit, bool) {
	last := jsonspan.None
	for k := d.First(object); k != jsonspan.None; k = d.Next(k) {
		last = k
	}
	if last == jsonspan.None {
		return nil, false
	}
	at := d.Span(d.Value(last)).End
	member := append([]byte(`,"`), name...)
	member = append(member, `":`...)
	member = jsonspan.AppendQuoted(member, []byte(text))
	return []jsonspan.Edit{{Span: jsonspan.Span{Start: at, End: at}, New: member}}, true
}

// hasMember reports whether object has a member of that name, null included.
func hasMember(d *jsonspan.Doc, object jsonspan.Ref, name string) bool {
	return d.Get(object, name) != jsonspan.None
}

// chatText is a message of plain text, in the shape that Chat, Responses and
// Messages share.
func chatText(role, text string) []byte {
	b := append([]byte(`{"role":"`), role...)
	b = append(b, `","content":`...)
	b = jsonspan.AppendQuoted(b, []byte(text))
	return append(b, '}')
}

// textPart is a content part of plain text.
func textPart(kind, text string) []byte {
	b := append([]byte(`{"type":"`), kind...)
	b = append(b, `","text":`...)
	b = jsonspan.AppendQuoted(b, []byte(text))
	return append(b, '}')
}
