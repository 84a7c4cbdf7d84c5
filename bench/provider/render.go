package provider

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
)

// render writes the answer to a request that is in order.
func (p *Provider) render(a *ask) {
	switch {
	case a.endpoint == endpointEmbeddings:
		p.appendEmbeddings(a)
	case a.endpoint == endpointCountTokens:
		b := append(a.answer.buf, `{"input_tokens":`...)
		b = strconv.AppendInt(b, int64(a.tokens), 10)
		a.answer.buf = append(b, '}')
		a.answer.frame()
	case a.stream:
		a.answer.sse = true
		p.appendStream(a)
	default:
		p.appendJSON(a)
	}
}

// Render is the body of the answer to a request for path with that body and
// Bench-Id, as a client must receive it: the frames of a stream, or one piece
// of JSON. It is nil for a body that would be refused.
func (p *Provider) Render(path string, body []byte, id uint64) [][]byte {
	var a ask
	a.reset("POST", path)
	a.keepBody(body, true)
	if a.understand(true) != nil {
		return nil
	}
	a.tokens = int((a.bytes + 3) / 4)
	a.id = id
	a.answer.reset()
	p.render(&a)
	var frames [][]byte
	from := 0
	for _, end := range a.answer.ends {
		frames = append(frames, a.answer.buf[from:end])
		from = end
	}
	return frames
}

// vocabulary is what the answers consist of.
const vocabulary = "The diagnostics agree that the retry branch shadows a package level name and nothing else in this module needs a change today. "

// text appends bytes from to up to of the answer's text. It is plain ASCII
// that needs no escapes.
func text(b []byte, from, to int) []byte {
	for from < to {
		word := vocabulary[from%len(vocabulary):]
		if len(word) > to-from {
			word = word[:to-from]
		}
		b = append(b, word...)
		from += len(word)
	}
	return b
}

// size is the length of the answer's text, deltas the number of its pieces.
func (p *Provider) size(a *ask) int {
	if a.answerBytes >= 0 {
		return a.answerBytes
	}
	return p.cfg.AnswerBytes
}

func (p *Provider) deltas(a *ask) int {
	if a.frames >= 0 {
		return a.frames
	}
	return p.cfg.Frames
}

// outputTokens is the length of the answer in tokens, the way tokens are
// counted where nothing else is configured.
func (p *Provider) outputTokens(a *ask) int { return (p.size(a) + 3) / 4 }

// appendID appends n as 24 hexadecimal digits.
func appendID(b []byte, n uint64) []byte {
	const digits = "0123456789abcdef"
	b = append(b, "b00c0000"...)
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, digits[n>>shift&15])
	}
	return b
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

func (p *Provider) appendModels(a *ask) {
	models := p.cfg.Models
	if len(models) == 0 {
		models = []string{"stand-in"}
	}
	b := append(a.answer.buf, `{"object":"list","data":[`...)
	for i, m := range models {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(m)
		if err != nil {
			continue // a string always encodes
		}
		b = append(b, `{"id":`...)
		b = append(b, name...)
		b = append(b, `,"object":"model","created":`...)
		b = strconv.AppendInt(b, p.started, 10)
		b = append(b, `,"owned_by":"stand-in"}`...)
	}
	a.answer.buf = append(b, `]}`...)
	a.answer.frame()
}

func (p *Provider) appendEmbeddings(a *ask) {
	n := a.dimensions
	if n <= 0 {
		n = p.cfg.Dimensions
	}
	b := append(a.answer.buf, `{"object":"list","data":[`...)
	for i := range a.inputs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"object":"embedding","index":`...)
		b = appendInt(b, i)
		b = append(b, `,"embedding":`...)
		b = appendVector(b, n, i, a.base64)
		b = append(b, '}')
	}
	b = append(b, `],"model":"`...)
	b = append(b, a.model...)
	b = append(b, `","usage":{"prompt_tokens":`...)
	b = appendInt(b, a.tokens)
	b = append(b, `,"total_tokens":`...)
	b = appendInt(b, a.tokens)
	a.answer.buf = append(b, `}}`...)
	a.answer.frame()
}

// appendVector appends a vector of length 1 with n dimensions, which differs
// by input.
func appendVector(b []byte, n, input int, encode bool) []byte {
	at := func(i int) float32 {
		if i == input%n {
			return 1
		}
		return 0
	}
	if encode {
		raw := make([]byte, 0, 4*n)
		for i := range n {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(at(i)))
		}
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, raw)
		return append(b, '"')
	}
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(at(i)), 'g', -1, 32)
	}
	return append(b, ']')
}
