package adapter

import (
	"bytes"
	"strings"
)

// IsEventStream reports whether a Content-Type is that of server-sent events.
func IsEventStream(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}

// NextEvent cuts the first server-sent event off stream: its lines, comments
// included, and the blank line behind them, byte for byte. At the end of the
// stream the event is what is left. Lines end with LF, CRLF or CR.
func NextEvent(stream []byte) (event, rest []byte) {
	blank := true // whether the line so far is empty
	lines := false
	for i := 0; i < len(stream); {
		c := stream[i]
		if c != '\n' && c != '\r' {
			n := bytes.IndexAny(stream[i:], "\r\n")
			if n < 0 {
				break
			}
			i += n
			blank, lines = false, true
			continue
		}
		i++
		if c == '\r' && i < len(stream) && stream[i] == '\n' {
			i++
		}
		if blank && lines {
			return stream[:i:i], stream[i:]
		}
		blank = true
	}
	return stream, nil
}

// A lineFeed takes a stream of server-sent events apart as it arrives in
// pieces, cut anywhere. Data is handed on as it comes and never kept, so no
// line is too long.
//
// The grammar is that of WHATWG HTML, section 9.2.6.
type lineFeed struct {
	state   lineState
	cr      bool // the last byte was a CR, which an LF may follow
	crlf    bool // lines of this stream end with CRLF
	begun   bool // behind the first line
	data    bool // the event has data
	field   [12]byte
	size    int // of field; more than fits is no known field
	name    [48]byte
	nameLen int // of the event's name
}

type lineState uint8

const (
	lineStart  lineState = iota // at the start of a line, or in a field's name
	lineSpace                   // behind the colon of data
	lineData                    // in data
	lineNameSp                  // behind the colon of event
	lineName                    // in the event's name
	lineOther                   // in a comment or another field
)

// eventSink takes the events of a lineFeed.
type eventSink interface {
	// eventData gets the event's data piece by piece, with LF between lines.
	eventData(p []byte)
	// eventEnd is called at the blank line behind an event that has data.
	eventEnd(name []byte)
}

// cut reports whether the stream so far ends in the middle of an event.
func (l *lineFeed) cut() bool {
	return l.data || l.state != lineStart || l.size > 0 || l.cr && l.crlf
}

func (l *lineFeed) write(p []byte, to eventSink) {
	for i := 0; i < len(p); {
		if l.cr {
			l.cr = false
			if p[i] == '\n' {
				l.crlf = true
				i++
				continue
			}
		}
		if l.state == lineStart {
			i = l.readField(p, i, to)
			continue
		}
		end := lineEnd(p[i:])
		text := p[i : i+end]
		if len(text) > 0 {
			l.readText(text, to)
		}
		i += end
		if i < len(p) {
			l.cr = p[i] == '\r'
			i++
			l.endLine()
		}
	}
}

// lineEnd is how many bytes of p stand before the end of the line.
func lineEnd(p []byte) int {
	if n := bytes.IndexByte(p, '\n'); n >= 0 {
		p = p[:n]
	}
	if n := bytes.IndexByte(p, '\r'); n >= 0 {
		return n
	}
	return len(p)
}

// readField reads at the start of a line, in its field's name.
func (l *lineFeed) readField(p []byte, i int, to eventSink) int {
	for ; i < len(p); i++ {
		switch c := p[i]; c {
		case '\n', '\r':
			l.cr = c == '\r'
			if l.size == 0 {
				if l.data {
					to.eventEnd(l.name[:min(l.nameLen, len(l.name))])
				}
				l.data, l.nameLen = false, 0
				l.begun = true
				return i + 1
			}
			l.beginValue(to) // a field without a colon is an empty one
			l.endLine()
			return i + 1
		case ':':
			l.beginValue(to)
			return i + 1
		default:
			if l.size < len(l.field) {
				l.field[l.size] = c
			}
			l.size++
		}
	}
	return i
}

// beginValue looks at the field's name.
func (l *lineFeed) beginValue(to eventSink) {
	field := l.field[:min(l.size, len(l.field))]
	if !l.begun {
		field = bytes.TrimPrefix(field, []byte("\ufeff"))
	}
	l.state = lineOther
	switch string(field) {
	case "data":
		if l.data {
			to.eventData([]byte{'\n'})
		}
		l.data = true
		l.state = lineSpace
	case "event":
		l.nameLen = 0
		l.state = lineNameSp
	}
	if l.size == 0 {
		// A comment. The size tells cut that a line has begun.
		l.size = 1
	}
}

// readText reads the value of a field, or more of it. It is not empty.
func (l *lineFeed) readText(text []byte, to eventSink) {
	switch l.state {
	case lineSpace, lineNameSp:
		l.state++
		if text[0] == ' ' {
			text = text[1:]
		}
		if len(text) > 0 {
			l.readText(text, to)
		}
	case lineData:
		to.eventData(text)
	case lineName:
		if l.nameLen < len(l.name) {
			copy(l.name[l.nameLen:], text)
		}
		l.nameLen += len(text)
	}
}

func (l *lineFeed) endLine() { l.state, l.size, l.begun = lineStart, 0, true }
