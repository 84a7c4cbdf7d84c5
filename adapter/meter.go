package adapter

import (
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// A Meter reads a response body while it passes by, cut anywhere, and keeps
// what it says, not the bytes: its memory does not grow with the body. The
// zero value is ready for Start, and a Meter may be used again.
type Meter struct {
	answer Answer
	reply  *reply
	stream bool

	feed  feed
	lines lineFeed
	head  [8]byte // of the event's data
	size  int     // of the event's data

	eventPlace
	status     text48
	reason     text48   // incomplete_details.reason
	delta      int      // length of the event's delta
	usage      counters // of the open usage object
	counted    counters // of all usage objects so far
	blocks     int      // of Messages: open content blocks
	terminated bool

	// The events of a stream have long beginnings in common. The beginning of
	// the last one, up to its text, is kept with what it led to: an event that
	// begins with the same bytes starts there. Whatever the beginning says has
	// been seen, since nothing came in between.
	same struct {
		size  int // 0 if there is none
		text  [sameBytes]byte
		feed  feedPlace
		event eventPlace
	}
	begin []byte // the event's data, while its first piece is being written and has no text yet
}

// sameBytes bounds the beginning of an event that is kept.
const sameBytes = 512

// eventPlace is what the beginning of an event says about it.
type eventPlace struct {
	kind     text48 // the event's or object's type
	inUsage  bool
	inChoice bool
	index    int
	position int // of the choice in its array
	finish   string
}

// reply is how the responses of a wire format are read.
type reply struct {
	json, event *watch // what is watched in a body, and in an event's data
	// commit looks at the event or body that has just ended. The end of the
	// answer it notes in terminated.
	commit func(m *Meter)
	// marked says that a stream ends with endMark. Others may, too.
	marked bool
	// cumulative says that every usage object counts from the beginning, each
	// counter on its own, so that the largest counts; otherwise the last
	// object does.
	cumulative bool
	// choiceless says that an answer has no choices.
	choiceless bool
}

// endMark is the data of the event with which OpenAI ends a stream.
const endMark = "[DONE]"

// text48 is the beginning of a short text.
type text48 struct {
	text [48]byte
	size int
}

func (t *text48) set(p []byte)  { t.size = copy(t.text[:], p) }
func (t *text48) bytes() []byte { return t.text[:t.size] }

// Start prepares m for the response to a request of format f; stream says that
// its Content-Type is that of an event stream (see IsEventStream).
func (m *Meter) Start(f Format, stream bool) {
	choices := m.answer.Choices[:0]
	*m = Meter{stream: stream}
	m.answer.Choices = choices
	if f >= maxFormats || wires[f] == nil || wires[f].reply == nil {
		m.answer.Fault = FaultUnmetered
		return
	}
	m.reply = wires[f].reply
	m.beginEvent()
}

// Reset lets go of the answer. The meter is as new, but keeps its memory.
func (m *Meter) Reset() {
	clear(m.answer.Choices[:cap(m.answer.Choices)])
	*m = Meter{answer: Answer{Choices: m.answer.Choices[:0]}}
}

// Write reads the next piece of the body. It never fails; what is wrong with
// the body stands in the answer.
func (m *Meter) Write(p []byte) {
	switch {
	case m.reply == nil:
	case m.stream:
		m.lines.write(p, m)
	default:
		m.feed.write(p, m)
	}
}

// Over reports whether the answer has come to its end: its JSON value is whole,
// or the event with which its format ends a stream was read. A client may act
// on it before the connection says so.
func (m *Meter) Over() bool {
	switch {
	case m.reply == nil:
		return false
	case m.stream:
		return m.terminated
	default:
		return m.feed.complete()
	}
}

// Answer is what was read so far. It is valid until Start.
func (m *Meter) Answer() *Answer {
	m.count()
	return &m.answer
}

// End says that the body ended, cleanly as far as the transport can tell, and
// returns the whole answer.
func (m *Meter) End() *Answer {
	a := &m.answer
	if m.reply == nil {
		return a
	}
	switch {
	case m.stream:
		if m.lines.cut() {
			a.fault(FaultCut)
		}
	case m.feed.complete():
		m.reply.commit(m)
	case m.feed.state == feedBad:
		a.fault(FaultSyntax)
	default:
		a.fault(FaultCut)
	}
	a.Complete = m.terminated && !a.Failed && a.Fault == FaultNone && (m.reply.choiceless || a.finished())
	m.count()
	return a
}

// beginEvent makes ready for the next event, or the body.
func (m *Meter) beginEvent() {
	m.size, m.delta = 0, 0
	m.kind.size, m.status.size, m.reason.size = 0, 0, 0
	m.inUsage, m.inChoice, m.finish = false, false, ""
	root := m.reply.json
	if m.stream {
		root = m.reply.event
	}
	m.feed.begin(root)
}

// eventData implements eventSink.
func (m *Meter) eventData(p []byte) {
	first := m.size == 0
	if m.size < len(m.head) {
		copy(m.head[m.size:], p)
	}
	m.size += len(p)
	if first {
		if n := m.same.size; n > 0 && len(p) > n && string(p[:n]) == string(m.same.text[:n]) {
			m.feed.feedPlace, m.eventPlace = m.same.feed, m.same.event
			m.feed.write(p[n:], m)
			return
		}
		m.same.size = 0
	}
	m.begin = nil
	if first {
		m.begin = p
	}
	m.feed.write(p, m)
	m.begin = nil
}

// bulk implements seer.
func (m *Meter) bulk(i int) {
	if m.begin == nil || i > len(m.same.text) || m.status.size > 0 || m.reason.size > 0 {
		return
	}
	m.same.size = copy(m.same.text[:], m.begin[:i])
	m.same.feed, m.same.event = m.feed.feedPlace, m.eventPlace
	m.begin = nil
}

// eventEnd implements eventSink.
func (m *Meter) eventEnd(name []byte) {
	a := &m.answer
	marked := string(m.head[:min(m.size, len(m.head))]) == endMark
	switch {
	case marked && (m.terminated || m.reply.marked):
		m.terminated = true
	case m.terminated:
		a.fault(FaultLate)
	case !m.feed.complete():
		if m.size > 0 {
			a.fault(FaultSyntax)
		}
	default:
		if string(name) == "error" {
			a.Failed = true
		}
		m.reply.commit(m)
	}
	m.beginEvent()
}

// see implements seer.
func (m *Meter) see(id sight, kind jsonspan.Kind, text []byte, total int) {
	a := &m.answer
	if kind == jsonspan.Null {
		return
	}
	isText := kind == jsonspan.String && total > 0
	switch id {
	case seeID:
		if isText && a.ID == "" {
			a.ID = decoded(text)
		}
	case seeModel:
		if isText && a.Model == "" {
			a.Model = decoded(text)
		}
	case seeType:
		if kind == jsonspan.String {
			m.kind.set(text)
		}
	case seeStatus:
		if kind == jsonspan.String {
			m.status.set(text)
		}
	case seeReason:
		if kind == jsonspan.String {
			m.reason.set(text)
		}
	case seeChoices:
		m.position = 0
	case seeChoice:
		m.inChoice, m.index, m.finish = true, m.position, ""
		m.position++
	case seeIndex:
		if n, ok := whole(text); ok && kind == jsonspan.Number {
			m.index = int(min(n, 1<<20))
		}
	case seeFinish:
		if !isText {
			return
		}
		m.finish = decoded(text)
		if !m.inChoice {
			a.finish(0, m.finish)
		}
	case seeTextAgain:
		a.Output = a.Output || isText
	case seePiece:
		if isText {
			a.Written += total
		}
	case seeText, seeThought, seeArguments, seeRefusal:
		if !isText {
			return
		}
		a.Written += total
		a.Content = true
		a.Output = a.Output || id != seeThought
		a.ToolCalls = a.ToolCalls || id == seeArguments
		a.Refusal = a.Refusal || id == seeRefusal
	case seeMedia:
		a.Output, a.Content = true, true
	case seeCall:
		a.Output, a.Content, a.ToolCalls = true, true, true
	case seeServed:
		a.ServerTools = true
	case seeItem:
		if isText {
			m.item(text)
		}
	case seeDelta:
		if kind == jsonspan.String {
			m.delta = total
		}
	case seeError:
		if kind == jsonspan.False || kind == jsonspan.String && !isText {
			return
		}
		a.Failed = true
		if isText {
			a.ErrorMessage = decoded(text)
		}
	case seeErrorType:
		if isText && a.ErrorType == "" {
			a.ErrorType = decoded(text)
		}
	case seeErrorMessage:
		if isText && a.ErrorMessage == "" {
			a.ErrorMessage = decoded(text)
		}
	case seeUsage:
		if kind == jsonspan.Object {
			m.inUsage, m.usage = true, counters{}
		}
	default:
		if n, ok := whole(text); ok && kind == jsonspan.Number && m.inUsage {
			c := counter(id - seeCounter)
			m.usage.value[c], m.usage.known[c] = max(n, m.usage.value[c]), true
		}
	}
}

// leave implements seer.
func (m *Meter) leave(id sight) {
	switch id {
	case seeChoice:
		m.inChoice = false
		if m.finish != "" {
			m.answer.finish(m.index, m.finish)
		} else {
			m.answer.choice(m.index)
		}
	case seeUsage:
		m.inUsage = false
		m.merge()
	}
}

// item notes the type of an output item or content block.
func (m *Meter) item(text []byte) {
	a := &m.answer
	switch name := string(text); {
	case name == "tool_use":
		a.ToolCalls, a.Output, a.Content = true, true, true
	case name == "server_tool_use", name == "mcp_tool_use", strings.HasSuffix(name, "_tool_result"):
		a.ServerTools = true
	case name == "redacted_thinking":
		a.Content = true
	case name == "refusal":
		a.Refusal = true
	default:
		t := itemTypeByName[name]
		switch {
		case t == nil:
		case t.class == itemCall, name == "mcp_approval_request":
			a.ToolCalls, a.Output, a.Content = true, true, true
		case t.class == itemServerTool:
			a.ServerTools = true
		}
	}
}

// decoded is the text of an encoded string of which the end may be missing.
func decoded(raw []byte) string {
	// An escape at the end may be cut.
	for cut := 0; cut < 12 && cut <= len(raw); cut++ {
		if validEscapes(raw[:len(raw)-cut]) {
			return strings.ToValidUTF8(string(jsonspan.AppendUnquoted(nil, raw[:len(raw)-cut])), "")
		}
	}
	return ""
}
