package cache

import (
	"context"
	"io"
	"net/http"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// ContentType is the Content-Type of the answer, if the lookup has one.
func (l *Lookup) ContentType() string {
	switch {
	case l.entry != nil:
		return l.entry.ContentType
	case l.flight != nil:
		l.flight.mu.Lock()
		defer l.flight.mu.Unlock()
		return l.flight.contentType
	}
	return ""
}

// SetAnswer sets the header of an answer that the lookup has: the Content-Type
// and what SetHeaders says. The status is 200. Nothing else of the provider's
// header is repeated: not its cookies, limits, request ids, encodings or what
// belongs to its connection.
func (l *Lookup) SetAnswer(h http.Header) {
	h["Content-Type"] = []string{l.ContentType()}
	l.SetHeaders(h)
}

// WriteAnswer writes the body of an answer that the lookup has to w, byte for
// byte as the provider sent it. An event stream is written event by event
// with a flush after each; an answer that is still on its way is written as
// it comes. flush may be nil. The error is ErrCut or ErrBehind if the answer
// cannot be completed, what ctx ended with, or an error of w or flush; the
// client's connection is then to be broken off.
func (l *Lookup) WriteAnswer(ctx context.Context, w io.Writer, flush func() error) error {
	if flush == nil {
		flush = func() error { return nil }
	}
	if l.entry != nil {
		return writeStored(ctx, w, flush, l.entry)
	}
	for {
		piece, err := l.flight.next(ctx, l.pos, &l.scratch)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		l.pos += int64(len(piece))
		if _, err := w.Write(piece); err != nil {
			return err
		}
		if err := flush(); err != nil {
			return err
		}
	}
}

// writeStored writes a stored answer.
func writeStored(ctx context.Context, w io.Writer, flush func() error, e *entry) error {
	if !adapter.IsEventStream(e.ContentType) {
		_, err := w.Write(e.Body)
		return err
	}
	for rest := e.Body; len(rest) > 0; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		var event []byte
		event, rest = adapter.NextEvent(rest)
		if _, err := w.Write(event); err != nil {
			return err
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}
