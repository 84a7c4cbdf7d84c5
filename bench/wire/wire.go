// Package wire speaks HTTP/1.1 as plainly as measuring needs it: one
// connection, one buffer, no allocation per message. A load generator and a
// stand-in provider that share two cores with what they measure must cost next
// to nothing themselves, which net/http does not.
//
// It reads what Caddy and this suite send and is no general implementation:
// header lines are not folded, trailers are skipped, a message ends by
// Content-Length or chunked coding.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Errors of a peer that does not speak what this package understands.
var (
	ErrHeadTooLarge = errors.New("the head is larger than the buffer")
	ErrMalformed    = errors.New("not an HTTP/1.1 message")
)

// Head is the first line and the header of a message, as received, without
// the empty line. It is valid until the next read from its Reader.
type Head []byte

// Line is the request line or status line.
func (h Head) Line() []byte {
	line, _, _ := bytes.Cut(h, crlf)
	return line
}

// Get is the value of the first field with that name, which must be given in
// lower case; nil if there is none.
func (h Head) Get(name string) []byte {
	for rest := []byte(h); ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return nil
		}
		rest = rest[i+1:]
		if len(rest) > len(name) && rest[len(name)] == ':' && equalFold(rest[:len(name)], name) {
			value := rest[len(name)+1:]
			if end := bytes.IndexByte(value, '\r'); end >= 0 {
				value = value[:end]
			}
			return bytes.TrimSpace(value)
		}
	}
}

// Each calls f with the name and the value of every field, in order.
func (h Head) Each(f func(name, value []byte)) {
	for rest := []byte(h); ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return
		}
		rest = rest[i+1:]
		line, _, _ := bytes.Cut(rest, crlf)
		if name, value, ok := bytes.Cut(line, colon); ok {
			f(name, bytes.TrimSpace(value))
		}
	}
}

// Status is the status code of a response, 0 if the first line has none.
func (h Head) Status() int {
	const at = len("HTTP/1.1 ")
	if len(h) < at+3 || !bytes.HasPrefix(h, []byte("HTTP/1.")) {
		return 0
	}
	n, ok := decimal(h[at : at+3])
	if !ok {
		return 0
	}
	return int(n)
}

// Request is the method and the path (with query) of a request.
func (h Head) Request() (method, path []byte, ok bool) {
	method, rest, ok1 := bytes.Cut(h.Line(), space)
	path, version, ok2 := bytes.Cut(rest, space)
	return method, path, ok1 && ok2 && bytes.HasPrefix(version, []byte("HTTP/1."))
}

// Length is the number of bytes of the body, -1 for chunked coding. A message
// without either has none.
func (h Head) Length() (int64, error) {
	if coding := h.Get("transfer-encoding"); coding != nil {
		if !equalFold(coding, "chunked") {
			return 0, fmt.Errorf("%w: transfer coding %q", ErrMalformed, coding)
		}
		return -1, nil
	}
	value := h.Get("content-length")
	if value == nil {
		return 0, nil
	}
	n, ok := decimal(value)
	if !ok {
		return 0, fmt.Errorf("%w: content length %q", ErrMalformed, value)
	}
	return n, nil
}

// Reader reads messages from a connection.
type Reader struct {
	src  io.Reader
	buf  []byte
	r, w int
}

// NewReader returns a Reader with a buffer of size bytes, which a head must
// fit into. A body is handed out in pieces of at most that size.
func NewReader(src io.Reader, size int) *Reader {
	return &Reader{src: src, buf: make([]byte, size)}
}

// Wait returns when the first byte of the next message is there.
func (r *Reader) Wait() error {
	if r.r < r.w {
		return nil
	}
	return r.fill()
}

// Head reads a head. io.EOF says that the peer closed before the first byte.
func (r *Reader) Head() (Head, error) {
	scanned := 0
	for {
		have := r.buf[r.r:r.w]
		if i := bytes.Index(have[scanned:], crlfcrlf); i >= 0 {
			end := scanned + i
			r.r += end + len(crlfcrlf)
			return Head(have[: end+len(crlf) : end+len(crlf)]), nil
		}
		scanned = max(len(have)-len(crlfcrlf)+1, 0)
		if err := r.fill(); err != nil {
			if err == io.EOF && len(have) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// Body reads the body that follows a head with that Length and hands each
// piece, as it comes, to sink, which must not keep it. It returns the number
// of bytes. An error of sink ends it. The head is overwritten.
func (r *Reader) Body(length int64, sink func(piece []byte) error) (int64, error) {
	if length >= 0 {
		return length, r.exactly(length, sink)
	}
	var total int64
	for {
		line, err := r.line()
		if err != nil {
			return total, err
		}
		if i := bytes.IndexByte(line, ';'); i >= 0 {
			line = line[:i]
		}
		n, ok := hexadecimal(bytes.TrimSpace(line))
		if !ok {
			return total, fmt.Errorf("%w: chunk size %q", ErrMalformed, line)
		}
		if n == 0 {
			break
		}
		if err := r.exactly(n, sink); err != nil {
			return total, err
		}
		total += n
		if line, err = r.line(); err != nil {
			return total, err
		}
		if len(line) > 0 {
			return total, fmt.Errorf("%w: chunk longer than its size", ErrMalformed)
		}
	}
	for {
		line, err := r.line()
		if err != nil || len(line) == 0 {
			return total, err
		}
	}
}

// exactly hands n bytes to sink.
func (r *Reader) exactly(n int64, sink func([]byte) error) error {
	for n > 0 {
		if r.r == r.w {
			if err := r.fill(); err != nil {
				return unexpected(err)
			}
		}
		piece := r.buf[r.r:r.w]
		if int64(len(piece)) > n {
			piece = piece[:n]
		}
		r.r += len(piece)
		n -= int64(len(piece))
		if sink != nil {
			if err := sink(piece); err != nil {
				return err
			}
		}
	}
	return nil
}

// line reads a line, without its end.
func (r *Reader) line() ([]byte, error) {
	for {
		if i := bytes.IndexByte(r.buf[r.r:r.w], '\n'); i >= 0 {
			line := r.buf[r.r : r.r+i]
			r.r += i + 1
			return bytes.TrimSuffix(line, []byte("\r")), nil
		}
		if err := r.fill(); err != nil {
			return nil, unexpected(err)
		}
	}
}

// fill reads at least one byte more.
func (r *Reader) fill() error {
	if r.r == r.w {
		r.r, r.w = 0, 0
	} else if r.w == len(r.buf) {
		if r.r == 0 {
			return ErrHeadTooLarge
		}
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.w:])
		r.w += n
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

var (
	crlf     = []byte("\r\n")
	crlfcrlf = []byte("\r\n\r\n")
	space    = []byte(" ")
	colon    = []byte(":")
)

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Is reports whether a field's name is the given one, which must be in lower
// case.
func Is(name []byte, lower string) bool { return equalFold(name, lower) }

// equalFold compares b with an ASCII text in lower case.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func decimal(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

func hexadecimal(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 15 {
		return 0, false
	}
	var n int64
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		n = n<<4 | int64(c)
	}
	return n, true
}
