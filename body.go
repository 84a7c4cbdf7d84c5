package llmgateway

import (
	"bytes"
	"errors"
	"io"
	"math/bits"
	"sync"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// payload is a request body in memory, shared by the handler and whoever
// reads it. When the last of them lets go the bytes are given back to the
// pool (or to the garbage collector), even while the response still streams.
//
// A body that was made of another one by edits need not be put together: it is
// read piece by piece out of what it was made of.
type payload struct {
	mu   sync.Mutex
	refs int
	held []byte // nil when the body is base with edits

	base  *payload // holds a reference
	edits []jsonspan.Edit
	text  []byte // what they put in, if that is the payload's own
	size  int

	lent bool // held belongs to somebody else, who never changes it
}

// Buffers up to maxPooled bytes are pooled, in size classes of which there are
// four to every power of two, so that at most a fifth of a buffer above
// minPooled is empty. A larger one is left to the garbage collector, so that a
// burst of large bodies does not stay in memory.
const (
	minPooledBits = 12
	minPooled     = 1 << minPooledBits
	maxPooled     = 1 << 20
)

var bufferPools [33]sync.Pool // of *[]byte

// newBuffer returns an empty buffer that can hold n bytes.
func newBuffer(n int) []byte {
	if n > maxPooled {
		return make([]byte, 0, n)
	}
	class, size := bufferClass(n)
	if b, ok := bufferPools[class].Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, size)
}

// bufferClass is the smallest class whose buffers hold n bytes, and their size.
func bufferClass(n int) (class, size int) {
	if n <= minPooled {
		return 0, minPooled
	}
	length := bits.Len(uint(n - 1)) // 2^(length-1) < n <= 2^length
	quarter := length - 3
	step := (n - 1) >> quarter // 4 to 7
	return (length-1-minPooledBits)*4 + step - 3, (step + 1) << quarter
}

// freeBuffer gives b back. Nobody may use it afterwards.
func freeBuffer(b []byte) {
	c := cap(b)
	if c < minPooled || c > maxPooled {
		return
	}
	class, size := bufferClass(c)
	if size != c {
		return // grown by append, of no class
	}
	b = b[:0]
	bufferPools[class].Put(&b)
}

// newPayload takes over b; the caller holds the first reference.
func newPayload(b []byte) *payload { return &payload{held: b, size: len(b), refs: 1} }

// lentPayload is a payload of bytes that are never changed and not given back.
func lentPayload(b []byte) *payload { return &payload{held: b, size: len(b), refs: 1, lent: true} }

// editedPayload is base with edits, which are in order and are never changed.
// It takes over text, in which what they put in stands, if that is not nil.
func editedPayload(base *payload, edits []jsonspan.Edit, text []byte) *payload {
	base.mu.Lock()
	base.refs++
	base.mu.Unlock()
	return &payload{base: base, edits: edits, text: text, size: jsonspan.SplicedLen(base.bytes(), edits), refs: 1}
}

// len is the length of the body.
func (p *payload) len() int { return p.size }

// bytes is the body in one piece. It must not be changed, and is good for as
// long as the caller's reference.
func (p *payload) bytes() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil && p.base != nil {
		p.held = jsonspan.Splice(newBuffer(p.size), p.base.bytes(), p.edits)
	}
	return p.held
}

// release gives up one reference.
func (p *payload) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refs--; p.refs > 0 {
		return
	}
	if !p.lent {
		freeBuffer(p.held)
	}
	p.held = nil
	if p.base != nil {
		p.base.release()
		freeBuffer(p.text)
		p.base, p.edits, p.text = nil, nil, nil
	}
}

// open returns a reader over the whole payload that holds a reference until
// it is closed.
func (p *payload) open() *payloadReader {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refs++
	if p.held == nil && p.base != nil {
		return &payloadReader{p: p, rest: p.base.bytes(), edits: p.edits}
	}
	return &payloadReader{p: p, rest: p.held}
}

// payloadReader reads a payload. The transport may close it while a Read is
// under way on another goroutine; the lock keeps the two apart, so that the
// bytes are never given back while they are copied.
type payloadReader struct {
	mu    sync.Mutex
	p     *payload // nil when closed
	rest  []byte   // of what the edits are made to
	edits []jsonspan.Edit
	at    int    // where rest begins in it
	put   []byte // rest of what an edit puts in
}

var errBodyClosed = errors.New("read of a request body that was closed")

// Read implements io.Reader.
func (r *payloadReader) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.p == nil {
		return 0, errBodyClosed
	}
	n := 0
	for n < len(b) {
		switch {
		case len(r.put) > 0:
			k := copy(b[n:], r.put)
			r.put = r.put[k:]
			n += k
			continue
		case len(r.edits) > 0 && r.at == r.edits[0].Start:
			r.put = r.edits[0].New
			r.skip(r.edits[0].Len())
			r.edits = r.edits[1:]
			continue
		case len(r.rest) == 0:
			if n == 0 {
				return 0, io.EOF
			}
			return n, nil
		}
		piece := r.rest
		if len(r.edits) > 0 {
			piece = piece[:r.edits[0].Start-r.at]
		}
		k := copy(b[n:], piece)
		r.skip(k)
		n += k
	}
	return n, nil
}

// skip goes on by n bytes of what the edits are made to.
func (r *payloadReader) skip(n int) {
	r.rest = r.rest[n:]
	r.at += n
}

// Close implements io.Closer. It may be called more than once.
func (r *payloadReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.p != nil {
		r.p.release()
		r.p, r.rest, r.edits, r.put = nil, nil, nil, nil
	}
	return nil
}

// errBodyTooLarge says that a body did not end within the limit.
var errBodyTooLarge = errors.New("request body too large")

// readBody reads src to its end. length is the announced length, or -1. When
// the body is larger than limit the error is errBodyTooLarge and what was
// read so far is returned with it.
//
// like, which may be nil, returns for a length and the beginning of a body one
// that is known, if any. If that is what comes, it is returned itself, and lent
// is true: all that was read was compared with it, a piece at a time, and needs
// no memory of its own.
func readBody(src io.Reader, length, limit int64, like func(size int, head []byte) []byte) (body []byte, lent bool, err error) {
	size := length
	switch {
	case size < 0:
		size = minPooled
	case size > limit:
		return nil, false, errBodyTooLarge
	}
	// One byte more than announced, so that the read that finds the end
	// needs no larger buffer.
	buf := newBuffer(int(size) + 1)
	for {
		if len(buf) == cap(buf) {
			grown := newBuffer(2 * cap(buf))
			grown = append(grown, buf...)
			freeBuffer(buf)
			buf = grown
		}
		n, err := src.Read(buf[len(buf):cap(buf)])
		if like != nil && len(buf) == 0 && n > 0 && err == nil && length >= minKnown {
			if known := like(int(length), buf[:n]); len(known) == int(length) {
				if buf, n, err = compareBody(src, buf, known, n); n < 0 {
					freeBuffer(buf)
					return known, true, nil
				}
			}
		}
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return buf, false, errBodyTooLarge
		}
		if err == io.EOF {
			return buf, false, nil
		}
		if err != nil {
			freeBuffer(buf)
			return nil, false, err
		}
	}
}

const (
	// minKnown is from which length on a body is compared with one that is
	// known while it is read, and comparePiece how much of it at a time: little
	// enough to be compared while it is still near the processor.
	minKnown     = 16 << 10
	comparePiece = 64 << 10
)

// compareBody goes on to read the body whose first n bytes, equal to those of
// known, stand in buf, which is empty and can hold all of known and one byte
// more. The returned number is negative if the whole body is known. Otherwise
// buf is what was read but for the last n bytes, which stand behind it, and err
// is what the read of those returned.
func compareBody(src io.Reader, buf, known []byte, n int) ([]byte, int, error) {
	at := n
	for {
		piece := buf[:min(comparePiece, len(known)-at+1)]
		n, err := src.Read(piece)
		if n > len(known)-at || !bytes.Equal(piece[:n], known[at:at+n]) || err != nil && (err != io.EOF || at+n < len(known)) {
			buf = buf[:at+n]
			copy(buf[at:], piece[:n])
			copy(buf, known[:at])
			return buf[:at], n, err
		}
		if at += n; err == io.EOF {
			return buf[:0], -1, nil
		}
	}
}
