package provider

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// asks pools the state of requests that come through ServeHTTP, and buffers
// to read them with.
var (
	asks    = sync.Pool{New: func() any { return new(ask) }}
	buffers = sync.Pool{New: func() any { return new([readSize]byte) }}
)

// ServeHTTP answers through net/http: for HTTP/2, and for tests.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := asks.Get().(*ask)
	defer asks.Put(a)
	a.reset(r.Method, r.URL.Path)
	for name, values := range r.Header {
		for _, v := range values {
			a.header([]byte(name), []byte(v))
		}
	}
	buf := buffers.Get().(*[readSize]byte)
	defer buffers.Put(buf)
	all := p.cfg.Check || a.check || p.cfg.CountTokens != nil
	for {
		n, err := r.Body.Read(buf[:])
		a.keepBody(buf[:n], all)
		if err == io.EOF {
			break
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the client went away
		}
	}
	p.decide(a)
	if !pause(r, p.delay(a)) {
		return
	}
	ans := &a.answer
	h := w.Header()
	h.Set("X-Request-Id", "req_"+string(appendID(nil, a.id)))
	if ans.extra != "" {
		h.Set("Retry-After", "1")
	}
	if !ans.sse {
		h.Set("Content-Type", "application/json")
		w.WriteHeader(ans.status)
		if a.cut >= 0 && a.cut < len(ans.buf) {
			_, _ = w.Write(ans.buf[:a.cut]) // aborted anyway
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(ans.buf) // a client that went away needs no answer
		return
	}
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	flush := http.NewResponseController(w)
	from := 0
	for i, end := range ans.ends {
		if i == a.cut {
			panic(http.ErrAbortHandler)
		}
		if i > 1 && i < len(ans.ends)-1 && !pause(r, p.gap(a)) {
			return
		}
		if p.cfg.Sent != nil {
			p.cfg.Sent(a.id, i)
		}
		if _, err := w.Write(ans.buf[from:end]); err != nil {
			return
		}
		if err := flush.Flush(); err != nil {
			return
		}
		from = end
	}
}

// pause waits for d, or returns false when the client went away before.
func pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
