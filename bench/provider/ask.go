package provider

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/wire"
)

// endpoint is what a path stands for.
type endpoint uint8

const (
	endpointNone endpoint = iota
	endpointChat
	endpointCompletions
	endpointResponses
	endpointEmbeddings
	endpointMessages
	endpointCountTokens
	endpointModels
)

// endpoints maps the end of a path to its endpoint; the first that fits counts.
var endpoints = []struct {
	suffix string
	endpoint
}{
	{"/chat/completions", endpointChat},
	{"/completions", endpointCompletions},
	{"/responses", endpointResponses},
	{"/embeddings", endpointEmbeddings},
	{"/messages", endpointMessages},
	{"/messages/count_tokens", endpointCountTokens},
	{"/models", endpointModels},
}

func endpointOf(path string) endpoint {
	path, _, _ = strings.Cut(path, "?")
	for _, e := range endpoints {
		if strings.HasSuffix(path, e.suffix) {
			return e.endpoint
		}
	}
	return endpointNone
}

func (e endpoint) method() string {
	if e == endpointModels {
		return "GET"
	}
	return "POST"
}

// anthropic says whose error objects the endpoint uses.
func (e endpoint) anthropic() bool { return e == endpointMessages || e == endpointCountTokens }

// ask is one request and its answer. It is used again for the next request of
// the connection.
type ask struct {
	method, path string
	endpoint     endpoint
	key          string // the credential

	// What the Bench-* headers ask for; negative: as configured.
	delay, gap  time.Duration
	frames      int
	answerBytes int
	status      int
	cut         int
	id          uint64
	hasID       bool
	check       bool

	body  []byte // whole, or only its ends, see keepBody
	whole bool
	bytes int64

	// What the body says.
	model        []byte // as encoded in the request
	stream       bool
	includeUsage bool
	inputs       int // embeddings
	dimensions   int
	base64       bool
	tokens       int

	answer answer
}

// answer is what goes back: one piece of JSON, or the frames of a stream.
type answer struct {
	status int
	sse    bool
	extra  string // further header lines, each with its CRLF
	buf    []byte
	ends   []int // frame i is buf[ends[i-1]:ends[i]]
}

func (a *answer) reset() {
	a.status, a.sse, a.extra, a.buf, a.ends = 200, false, "", a.buf[:0], a.ends[:0]
}

// frame ends a frame.
func (a *answer) frame() { a.ends = append(a.ends, len(a.buf)) }

// reset prepares a for the next request.
func (a *ask) reset(method, path string) {
	*a = ask{
		method: method, path: path, endpoint: endpointOf(path),
		delay: -1, gap: -1, frames: -1, answerBytes: -1, cut: -1, inputs: 1,
		body: a.body[:0], whole: true, answer: a.answer,
	}
}

// header takes one field of the request.
func (a *ask) header(name, value []byte) {
	if len(name) < 6 {
		return
	}
	switch name[0] | 0x20 {
	case 'a':
		if wire.Is(name, "authorization") {
			a.key = strings.TrimPrefix(string(value), "Bearer ")
		} else if wire.Is(name, "api-key") {
			a.key = string(value)
		}
	case 'x':
		if wire.Is(name, "x-api-key") {
			a.key = string(value)
		}
	case 'b':
		if len(name) > 6 && wire.Is(name[:6], "bench-") {
			a.override(strings.ToLower(string(name[6:])), string(value))
		}
	}
}

// override takes a Bench-* header. What is not a number is ignored.
func (a *ask) override(name, value string) {
	n, err := strconv.ParseUint(value, 10, 62)
	if err != nil {
		return
	}
	switch name {
	case "delay-ms":
		a.delay = time.Duration(n) * time.Millisecond
	case "gap-ms":
		a.gap = time.Duration(n) * time.Millisecond
	case "frames":
		a.frames = int(min(n, 1<<20))
	case "answer-bytes":
		a.answerBytes = int(min(n, 1<<26))
	case "status":
		a.status = int(n)
	case "cut":
		a.cut = int(min(n, 1<<30))
	case "id":
		a.id, a.hasID = n, true
	case "check":
		a.check = n == 1
	}
}

// edge is how much of either end of a trusted body is kept.
const edge = 2048

// keepBody takes a piece of the body: all of it if it is to be checked or
// counted, else the first and the last bytes.
func (a *ask) keepBody(piece []byte, all bool) {
	a.bytes += int64(len(piece))
	if all || len(a.body)+len(piece) <= 2*edge && a.whole {
		a.body = append(a.body, piece...)
		return
	}
	if n := edge - len(a.body); n > 0 && a.whole {
		a.body = append(a.body, piece[:n]...)
		piece = piece[n:]
	}
	a.whole = false
	if len(piece) > edge {
		piece = piece[len(piece)-edge:]
	}
	if drop := len(a.body) + len(piece) - 2*edge; drop > 0 && len(a.body) > edge {
		tail := a.body[edge:]
		a.body = append(a.body[:edge], tail[min(drop, len(tail)):]...)
	}
	a.body = append(a.body, piece...)
}

// understand reads what the body asks for.
func (a *ask) understand(check bool) *problem {
	if check {
		return a.parse()
	}
	a.model = peekString(a.body, []byte(`"model"`))
	a.stream = bytes.Contains(a.body, []byte(`"stream":true`)) || bytes.Contains(a.body, []byte(`"stream": true`))
	a.includeUsage = bytes.Contains(a.body, []byte(`"include_usage":true`)) || bytes.Contains(a.body, []byte(`"include_usage": true`))
	a.base64 = a.endpoint == endpointEmbeddings && bytes.Contains(a.body, []byte(`"base64"`))
	return nil
}

// peekString is the string that follows the first occurrence of key, as
// encoded, without quotes.
func peekString(body, key []byte) []byte {
	i := bytes.Index(body, key)
	if i < 0 {
		return nil
	}
	rest := bytes.TrimLeft(body[i+len(key):], ": \t\r\n")
	if len(rest) == 0 || rest[0] != '"' {
		return nil
	}
	for j := 1; j < len(rest); j++ {
		switch rest[j] {
		case '\\':
			j++
		case '"':
			return rest[1:j]
		}
	}
	return nil
}
