package adapter

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// A Rewriter changes an answer as it passes in pieces, cut anywhere: it puts
// another name in the place of the model's and leaves out the usage chunk that
// the client did not ask for. Every other byte passes as it is and at once,
// except that, where a usage chunk is to be left out, the beginning of an event
// is held until it is clear what it is: up to the first element of choices.
//
// The model's name is the string under the top-level key model, in the events
// of Messages and Responses that under message.model and response.model. Keys
// that are written with escapes are not recognised. The zero value changes
// nothing.
type Rewriter struct {
	model  []byte // in quotes; nil: leave it
	hide   bool   // leave out usage chunks
	stream bool
	parent string // the key in whose value model is looked for, "" for the root

	line rewriteState
	cr   bool // the last byte was a CR, which an LF may follow
	name [6]byte
	size int // of name
	scan answerScan

	held    []byte // the beginning of an event that may have to go
	holding bool
}

// rewriteState is where in a line of an event stream a Rewriter is.
type rewriteState uint8

const (
	atField rewriteState = iota // at the start of a line or in the field's name
	atSpace                     // behind the colon of data
	atData                      // in the data
	atOther                     // in another field
)

// maxHeld bounds how much of an event is held, in bytes. A usage chunk is
// smaller.
const maxHeld = 64 << 10

// Start makes w ready for an answer of format f. model takes the place of the
// model's name unless it is empty. hideUsage leaves out the chunk with the
// usage of a chat or completions stream.
func (w *Rewriter) Start(f Format, stream bool, model string, hideUsage bool) {
	*w = Rewriter{stream: stream, held: w.held[:0]}
	if model != "" {
		w.model = jsonspan.AppendQuoted(nil, []byte(model))
	}
	if stream {
		switch f {
		case Messages:
			w.parent = "message"
		case Responses:
			w.parent = "response"
		case Chat, Completions:
			w.hide = hideUsage
		}
	}
	w.scan.reset()
	w.holding = w.hide
}

// Append appends what is to be written for the piece p to dst.
func (w *Rewriter) Append(dst, p []byte) []byte {
	if !w.stream {
		return w.value(dst, p)
	}
	for i := 0; i < len(p); {
		if w.cr {
			w.cr = false
			if p[i] == '\n' {
				// It belongs to the line, or to the event, that the CR ended.
				if w.holding && len(w.held) == 0 {
					if !w.scan.gone {
						dst = append(dst, '\n')
					}
				} else {
					dst = w.put(dst, p[i:i+1])
				}
				i++
				continue
			}
		}
		if c := p[i]; c == '\n' || c == '\r' {
			w.cr = c == '\r'
			dst = w.endLine(dst, p[i:i+1])
			i++
			continue
		}
		w.scan.gone = false
		n := lineEnd(p[i:])
		text := p[i : i+n]
		i += n
		for len(text) > 0 {
			switch w.line {
			case atField:
				c := text[0]
				if c == ':' {
					w.line = atOther
					if string(w.name[:min(w.size, len(w.name))]) == "data" {
						w.line = atSpace
					}
				} else if w.size < len(w.name) {
					w.name[w.size] = c
				}
				w.size++
				dst = w.put(dst, text[:1])
				text = text[1:]
			case atSpace:
				w.line = atData
				if text[0] == ' ' {
					dst = w.put(dst, text[:1])
					text = text[1:]
				}
			case atData:
				dst = w.value(dst, text)
				text = nil
			default:
				dst = w.put(dst, text)
				text = nil
			}
		}
	}
	return dst
}

// End appends what is still held at the end of the answer.
func (w *Rewriter) End(dst []byte) []byte {
	dst = append(dst, w.held...)
	w.held = w.held[:0]
	return dst
}

// endLine ends a line, and at a blank line the event.
func (w *Rewriter) endLine(dst, end []byte) []byte {
	blank := w.line == atField && w.size == 0
	w.line, w.size = atField, 0
	if !blank {
		return w.put(dst, end)
	}
	if w.holding && w.scan.isUsage() {
		w.held = w.held[:0]
		w.scan.reset()
		w.scan.gone = true
		return dst
	}
	dst = w.put(dst, end)
	dst = w.End(dst)
	w.scan.reset()
	w.holding = w.hide
	return dst
}

// put writes p, or holds it.
func (w *Rewriter) put(dst, p []byte) []byte {
	if !w.holding {
		return append(dst, p...)
	}
	w.held = append(w.held, p...)
	if w.scan.filled || len(w.held) > maxHeld {
		w.holding = false
		dst = w.End(dst)
	}
	return dst
}

// value passes the next piece of a JSON value on.
func (w *Rewriter) value(dst, p []byte) []byte {
	s := &w.scan
	from := 0 // what is not yet written
	for i := 0; i < len(p); {
		c := p[i]
		switch s.in {
		case inKey, inString, inModel:
			n := bytes.IndexByte(p[i:], '"')
			end := len(p)
			if n >= 0 {
				end = i + n
			}
			if s.escaped {
				s.escaped = false
				s.note(p[i : i+1])
				i++
				continue
			}
			if b := bytes.IndexByte(p[i:end], '\\'); b >= 0 {
				s.note(p[i : i+b+1])
				s.escaped = true
				i += b + 1
				continue
			}
			s.note(p[i:end])
			if end == len(p) {
				i = end
				break
			}
			i = end + 1
			if s.in == inModel {
				from = i
			}
			s.in = inNothing
			continue
		}
		if s.in != inNothing {
			continue
		}
		i++
		switch c {
		case '"':
			if s.wantKey && s.depth <= 2 && s.depth > 0 {
				s.in, s.keyLen = inKey, 0
				break
			}
			s.beforeValue()
			s.in = inString
			if w.model != nil && s.atModel(w.parent) {
				dst = w.put(dst, p[from:i-1])
				dst = w.put(dst, w.model)
				s.in = inModel
				from = i
			}
		case '{', '[':
			s.open(c == '{')
		case '}', ']':
			s.depth--
			s.wantKey = false
		case ',':
			s.wantKey = s.depth > 0 && s.depth <= 2 && s.object[s.depth-1]
		case ':':
			s.wantKey = false
		case ' ', '\t', '\n', '\r':
		default:
			s.beforeValue()
		}
	}
	if s.in == inModel {
		return dst
	}
	return w.put(dst, p[from:])
}

// answerScan knows where in a JSON value it stands, as far as the first two
// levels are concerned.
type answerScan struct {
	in      scanPlace
	escaped bool
	depth   int
	object  [2]bool
	wantKey bool
	key     [2][12]byte // the key in each of the two levels
	sizes   [2]int
	keyLen  int

	choices bool // there is a top-level choices, an array
	filled  bool // that has an element
	usage   bool // there is a top-level usage, an object
	gone    bool // the event before this was left out, and the stream stands behind its end
}

type scanPlace uint8

const (
	inNothing scanPlace = iota
	inKey
	inString
	inModel // a string that is replaced
)

func (s *answerScan) reset() { *s = answerScan{} }

// note keeps the text of a key.
func (s *answerScan) note(p []byte) {
	if s.in != inKey {
		return
	}
	level := s.depth - 1
	if s.keyLen < len(s.key[level]) {
		copy(s.key[level][s.keyLen:], p)
	}
	s.keyLen += len(p)
	s.sizes[level] = s.keyLen
}

// is reports whether the open member of the level is called name.
func (s *answerScan) is(level int, name string) bool {
	return s.sizes[level] == len(name) && string(s.key[level][:len(name)]) == name
}

// atModel reports whether the value that comes is the model's name.
func (s *answerScan) atModel(parent string) bool {
	if parent == "" {
		return s.depth == 1 && s.object[0] && s.is(0, "model")
	}
	return s.depth == 2 && s.object[0] && s.object[1] && s.is(0, parent) && s.is(1, "model")
}

// beforeValue is called at the beginning of every value.
func (s *answerScan) beforeValue() {
	if s.depth == 2 && s.object[0] && !s.object[1] && s.is(0, "choices") {
		s.filled = true
	}
}

func (s *answerScan) open(object bool) {
	s.beforeValue()
	if s.depth == 1 && s.object[0] {
		s.choices = s.choices || !object && s.is(0, "choices")
		s.usage = s.usage || object && s.is(0, "usage")
	}
	if s.depth < 0 {
		s.depth = 0
	}
	if s.depth < 2 {
		s.object[s.depth] = object
		s.sizes[s.depth] = 0
	}
	s.depth++
	s.wantKey = object
}

// isUsage reports whether the value is a chunk that holds the usage and
// nothing else.
func (s *answerScan) isUsage() bool { return s.choices && !s.filled && s.usage }
