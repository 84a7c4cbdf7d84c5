package load

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/wire"
)

// readSize is the largest piece an answer is read in, and the room for its
// head.
const readSize = 16 << 10

// Conn is a connection to a server, plain HTTP/1.1.
type Conn struct {
	addr string
	c    net.Conn
	r    *wire.Reader
}

// Dial connects to addr.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Conn{addr: addr, c: c, r: wire.NewReader(c, readSize)}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.c.Close() }

// Exchange is what a client saw of one request.
type Exchange struct {
	Sent   time.Time     // when the first byte was sent
	TTFB   time.Duration // from then to the first byte of the answer
	Total  time.Duration // from then to the last
	Status int
	Bytes  int64 // of the answer's body
	Close  bool  // the server ends the connection
}

// Do sends r and reads the answer. head, if given, sees the answer's head,
// body each piece of its body as it comes; neither may keep what it sees.
func (c *Conn) Do(r *Request, head func(wire.Head), body func([]byte) error) (Exchange, error) {
	raw := r.next()
	x := Exchange{Sent: time.Now()}
	if _, err := c.c.Write(raw); err != nil {
		return x, fmt.Errorf("sending: %w", err)
	}
	if err := c.r.Wait(); err != nil {
		return x, fmt.Errorf("waiting for the answer: %w", err)
	}
	x.TTFB = time.Since(x.Sent)
	h, err := c.r.Head()
	if err != nil {
		return x, fmt.Errorf("head of the answer: %w", err)
	}
	x.Status = h.Status()
	if x.Status == 0 {
		return x, wire.ErrMalformed
	}
	length, err := h.Length()
	if err != nil {
		return x, err
	}
	x.Close = string(h.Get("connection")) == "close"
	if head != nil {
		head(h)
	}
	if x.Bytes, err = c.r.Body(length, body); err != nil {
		return x, fmt.Errorf("body of the answer: %w", err)
	}
	x.Total = time.Since(x.Sent)
	return x, nil
}
