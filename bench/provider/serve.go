package provider

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/wire"
)

// readSize is the buffer for requests, and so the largest piece a body is
// read in.
const readSize = 64 << 10

// Serve answers plain HTTP/1.1 on the connections of l until l or p is
// closed; then it returns nil.
func (p *Provider) Serve(l net.Listener) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return l.Close()
	}
	p.listeners = append(p.listeners, l)
	p.mu.Unlock()
	for {
		c, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		if !p.track(c) {
			return nil
		}
		go func() {
			defer p.forget(c)
			p.serveConn(c)
		}()
	}
}

// track adds c to what Close closes; false if p is closed already.
func (p *Provider) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close() // nobody waits for it
		return false
	}
	p.conns[c] = struct{}{}
	p.wg.Add(1)
	return true
}

func (p *Provider) forget(c net.Conn) {
	_ = c.Close() // it is done, whatever the peer thinks
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	p.wg.Done()
}

// Close closes all listeners and connections and waits for them.
func (p *Provider) Close() {
	p.mu.Lock()
	if !p.closed {
		close(p.done)
	}
	p.closed = true
	for _, l := range p.listeners {
		_ = l.Close() // Accept returns, that is all that matters
	}
	for c := range p.conns {
		_ = c.Close() // as above
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// serveConn answers requests until either side has enough.
func (p *Provider) serveConn(c net.Conn) {
	r := wire.NewReader(c, readSize)
	var a ask
	var out []byte
	for {
		head, err := r.Head()
		if err != nil {
			return
		}
		method, path, ok := head.Request()
		length, err := head.Length()
		if !ok || err != nil {
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")) // the connection ends anyway
			return
		}
		a.reset(known(method), known(path))
		last := false
		expect := false
		head.Each(func(name, value []byte) {
			a.header(name, value)
			switch {
			case wire.Is(name, "connection"):
				last = string(value) == "close"
			case wire.Is(name, "expect"):
				expect = true
			}
		})
		if expect {
			if _, err := c.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n")); err != nil {
				return
			}
		}
		all := p.cfg.Check || a.check || p.cfg.CountTokens != nil
		if _, err := r.Body(length, func(piece []byte) error { a.keepBody(piece, all); return nil }); err != nil {
			return
		}
		p.decide(&a)
		if out, err = p.write(c, &a, out, last); err != nil || last {
			return
		}
	}
}

// known turns the bytes of a method or path into a string, without a copy
// for those that come all the time.
func known(b []byte) string {
	switch string(b) {
	case "POST":
		return "POST"
	case "GET":
		return "GET"
	case "/v1/chat/completions":
		return "/v1/chat/completions"
	case "/v1/messages":
		return "/v1/messages"
	case "/v1/responses":
		return "/v1/responses"
	}
	return string(b)
}

// errClosed ends an answer whose provider was closed.
var errClosed = errors.New("the provider was closed")

// wait sleeps for d or until p is closed.
func (p *Provider) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.done:
		return errClosed
	}
}

var errCut = errors.New("cut as asked for")

// write sends the answer in out, a scratch buffer, which it returns.
func (p *Provider) write(c net.Conn, a *ask, out []byte, last bool) ([]byte, error) {
	if err := p.wait(p.delay(a)); err != nil {
		return out, err
	}
	ans := &a.answer
	out = append(out[:0], "HTTP/1.1 "...)
	out = strconv.AppendInt(out, int64(ans.status), 10)
	out = append(out, ' ')
	out = append(out, http.StatusText(ans.status)...)
	if ans.sse {
		out = append(out, "\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n"...)
	} else {
		out = append(out, "\r\nContent-Type: application/json\r\nContent-Length: "...)
		out = strconv.AppendInt(out, int64(len(ans.buf)), 10)
		out = append(out, "\r\n"...)
	}
	out = append(out, "X-Request-Id: req_"...)
	out = appendID(out, a.id)
	out = append(out, "\r\n"...)
	out = append(out, ans.extra...)
	if last {
		out = append(out, "Connection: close\r\n"...)
	}
	out = append(out, "\r\n"...)
	if !ans.sse {
		cut := a.cut >= 0 && a.cut < len(ans.buf)
		if cut {
			ans.buf = ans.buf[:a.cut]
		}
		out = append(out, ans.buf...)
		_, err := c.Write(out)
		if cut && err == nil {
			err = errCut
		}
		return out, err
	}
	from := 0
	for i, end := range ans.ends {
		if i == a.cut {
			return out, errCut
		}
		if i > 1 && i < len(ans.ends)-1 {
			// The first delta comes at once, the end with the last one.
			if err := p.wait(p.gap(a)); err != nil {
				return out, err
			}
		}
		out = strconv.AppendInt(out, int64(end-from), 16)
		out = append(out, "\r\n"...)
		out = append(out, ans.buf[from:end]...)
		out = append(out, "\r\n"...)
		if i == len(ans.ends)-1 {
			out = append(out, "0\r\n\r\n"...)
		}
		if p.cfg.Sent != nil {
			p.cfg.Sent(a.id, i)
		}
		if _, err := c.Write(out); err != nil {
			return out, err
		}
		from, out = end, out[:0]
	}
	return out, nil
}
