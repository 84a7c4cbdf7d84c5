package llmgateway

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache"
)

// tee is the response writer that the handlers behind the gateway see. It
// passes every byte on as it comes and watches. It must only be used by the
// goroutine that serves the request. The body of an answer that others may
// share reaches the client through a goroutine of its own, cache.Recorder.Feed;
// from then on until endFeed only that goroutine touches the response writer
// below and what deliver uses.
type tee struct {
	caddyhttp.ResponseWriterWrapper
	x *exchange

	wroteHeader bool
	status      int
	size        int64
	firstByte   time.Duration // from the request being sent to the first body byte
	stream      bool          // the answer is an event stream
	held        bool          // the header waits for the first of the body
	fed         bool          // the feed writes
	late        http.Header   // what was set in the header meanwhile: trailers
}

// Header implements http.ResponseWriter.
func (t *tee) Header() http.Header {
	if !t.fed {
		return t.ResponseWriter.Header()
	}
	if t.late == nil {
		t.late = make(http.Header)
	}
	return t.late
}

// WriteHeader adds the gateway's headers to the final response. Informational
// responses pass.
func (t *tee) WriteHeader(status int) {
	if status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
		t.ResponseWriter.WriteHeader(status)
		return
	}
	if t.wroteHeader {
		return
	}
	t.wroteHeader, t.status = true, status
	t.x.answering(status, t.Header())
	t.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (t *tee) Write(b []byte) (int, error) {
	if !t.wroteHeader {
		t.WriteHeader(http.StatusOK)
	}
	if len(b) == 0 {
		return 0, nil
	}
	t.held = false
	t.observe(b)
	if rec := t.x.recorder(); rec != nil {
		if t.x.meter.Over() {
			rec.Whole()
		}
		fed, err := rec.Write(b)
		if err != nil {
			t.fed = true
			return 0, err
		}
		if fed {
			t.fed = true
			return len(b), nil
		}
		t.unfed()
	}
	return t.deliver(b)
}

// unfed says that the feed touches the response writer below no more.
func (t *tee) unfed() {
	t.fed = false
	maps.Copy(t.ResponseWriter.Header(), t.late)
	t.late = nil
}

// deliver gives the client the next piece of the answer.
func (t *tee) deliver(b []byte) (int, error) {
	out := t.x.rewritten(b)
	t.x.reportBody(out)
	t.x.captureAnswer(out)
	if len(out) == 0 {
		return len(b), nil
	}
	n, err := t.ResponseWriter.Write(out)
	t.size += int64(n)
	if err == nil {
		n = len(b) // whatever it became
	}
	return min(n, len(b)), err
}

// flush flushes what was delivered.
func (t *tee) flush() error { return http.NewResponseController(t.ResponseWriter).Flush() }

// delivery is the tee as its feed sees it.
type delivery struct{ t *tee }

func (d delivery) Write(b []byte) (int, error) { return d.t.deliver(b) }

// ReadFrom implements io.ReaderFrom. The promoted method would write past
// Write.
func (t *tee) ReadFrom(src io.Reader) (int64, error) {
	return io.Copy(writerOnly{t}, src)
}

// FlushError flushes what was written so far. The header of an answer that
// states its length is not flushed alone: such an answer is whole at the
// provider, its body follows at once, and both together are one packet.
func (t *tee) FlushError() error {
	if !t.wroteHeader {
		t.WriteHeader(http.StatusOK)
	}
	if t.held {
		return nil
	}
	if rec := t.x.recorder(); rec != nil {
		if fed, err := rec.Flush(); fed {
			return err
		}
	}
	err := t.flush()
	if err != nil && t.x.followed() {
		return nil
	}
	return err
}

// observe sees every chunk of the response body before it is written.
func (t *tee) observe(b []byte) {
	if t.firstByte == 0 && len(b) > 0 && !t.x.sentAt.IsZero() {
		t.firstByte = max(time.Since(t.x.sentAt), 1)
	}
	if t.x.fromCache() {
		if t.x.price() != nil {
			t.x.meter.Write(b) // for what the answer would have cost
		}
		return
	}
	t.x.meter.Write(b)
	t.x.settleOnce()
}

// writerOnly hides ReadFrom from io.Copy.
type writerOnly struct{ io.Writer }

// resumedBody is a body of which the beginning has been read already.
type resumedBody struct {
	io.ReadCloser
	head []byte
}

// Read implements io.Reader.
func (b *resumedBody) Read(p []byte) (int, error) {
	if len(b.head) > 0 {
		n := copy(p, b.head)
		b.head = b.head[n:]
		return n, nil
	}
	return b.ReadCloser.Read(p)
}

// answering is called once, right before the response header is written.
func (x *exchange) answering(status int, header http.Header) {
	if len(x.h.Providers) == 0 || x.attempts > 0 {
		x.releaseBody()
	}
	if x.format == 0 {
		return
	}
	if status >= 400 || x.fromCache() {
		x.settle() // there is nothing to wait for; see settleOnce
	}
	for _, name := range gatewayAnswers {
		if !x.fromCache() || !strings.HasPrefix(name, cache.HeaderResult) {
			delete(header, name) // another gateway's, further upstream
		}
	}
	if status == http.StatusOK {
		stream := adapter.IsEventStream(header.Get("Content-Type"))
		x.meter.Start(x.format, stream)
		if stream {
			x.tee.stream = true
			gatewayMetrics.gauges["streams_in_flight"].WithLabelValues().Inc()
		}
	}
	if x.cached != nil && !x.cached.Answered() {
		if x.cached.Recorder != nil {
			x.cached.Recorder.Header(status, header)
			x.cached.Recorder.Feed(delivery{&x.tee}, x.tee.flush)
		}
		x.cached.SetHeaders(header)
	}
	x.tee.held = !x.tee.stream && header.Get("Content-Length") != ""
	x.beginRewrite(status, header)
	overhead := formatMillis(int64(x.own))
	header.Set(headerOverhead, overhead)
	header.Add(headerServerTiming, "llm-gateway;dur="+overhead)
	if x.applied != "" {
		header.Set(headerApplied, x.applied)
		header.Set(headerSavedBytes, itoa(x.result.SavedBytes))
		header.Set(headerSavedTokens, itoa(x.result.SavedTokens))
	}
	if x.auditHeader != "" {
		header.Set(headerAudit, x.auditHeader)
	}
	x.limitHeaders(header)
	if x.attempts > 0 {
		header.Set(headerRoute, headerSafe(x.route))
		header.Set(headerAttempts, itoa(x.attempts))
	}
	if x.skipped != "" {
		header.Set(headerSkipped, headerSafe(x.skipped))
	}
	for _, warning := range x.warnings {
		header.Add(headerWarning, headerSafe(warning))
	}
}

// Interface guards
var (
	_ http.ResponseWriter = (*tee)(nil)
	_ io.ReaderFrom       = (*tee)(nil)
)
