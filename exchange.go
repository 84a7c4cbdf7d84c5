package llmgateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/access"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/guard"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
)

// exchange is one request and its response on their way through the gateway.
type exchange struct {
	h   *Handler
	w   http.ResponseWriter
	r   *http.Request
	tee tee

	format   adapter.Format
	view     *adapter.Request // nil until the body was parsed
	parseErr error            // why the optimizers may not change the body
	body     *payload         // as the client sent it, decoded; nil when it streams
	sent     *payload         // as it goes upstream
	decoded  bool             // the client's Content-Encoding was undone
	model    string           // as the client named it
	label    string           // the configured name or pattern that matched it, else "other"
	entry    *Model           // nil if no configured model matches
	plan     settings
	result   optimize.Result
	applied  string // value of X-Gateway-Applied
	// audited is what optimizers would have done that only audit.
	audited     optimize.Result
	auditHeader string
	skipped     string // why the optimizers that were asked for did nothing
	// failedOpen is the kind of trouble because of which the client's own
	// bytes went upstream, a label of few values.
	failedOpen string
	warnings   []string

	bytesRead     int64
	unread        *gatewayError // why the body could not be read as JSON
	sessionHeader string        // X-Gateway-Session

	cacheAsked cache.Directives
	cached     *cache.Lookup
	notStored  cache.Reason
	client     context.Context // of the client's connection, when r has another

	meter     *adapter.Meter // given back at the end
	sentBytes int
	returned  bool // the handlers behind returned normally
	over      bool // the answer was whole when the request was settled
	usage     adapter.Usage
	estimated bool // usage is an estimate
	cost      float64
	// What the request would have cost more, in USD: tokens that optimizers
	// saved, and an answer that came from the cache.
	savedByTokens, savedByCache float64

	key      *Key
	lease    *access.Lease
	limits   access.Decision
	attempts int
	route    string // provider/credential of the last attempt

	deploymentPath
	schemaBodies
	answerChange
	hooked
	capturing

	ticket guard.Ticket // the prompt-cache guard's decision

	redact *redactedLog // set when the access log would show a credential

	// own is the gateway's own work so far, in nanoseconds. mark is when the
	// current stretch of own work began.
	own    time.Duration
	mark   time.Time
	began  time.Time
	sentAt time.Time // zero until the request went upstream
}

// newExchange begins an exchange.
func (h *Handler) newExchange(w http.ResponseWriter, r *http.Request, format adapter.Format) *exchange {
	now := time.Now()
	x := &exchange{h: h, w: w, r: r, format: format, mark: now, began: now}
	x.meter = meters.Get().(*adapter.Meter)
	x.tee.ResponseWriterWrapper.ResponseWriter = w
	x.tee.x = x
	x.redact = takeOverAccessLog(h, r)
	if format != adapter.Unknown {
		repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
		repl.Map(x.placeholder)
		if extra, ok := r.Context().Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields); ok {
			extra.Add(zap.Object("llm_gateway", x))
		}
	}
	return x
}

// pause ends a stretch of own work, resume begins one.
func (x *exchange) pause()  { x.own += time.Since(x.mark) }
func (x *exchange) resume() { x.mark = time.Now() }

// readBody reads the client's body into memory and undoes its content coding.
// A body that is too large or of an unknown coding is sent on unchanged. done
// says that the request has been answered.
func (x *exchange) readBody() (done bool, err error) {
	encoding := x.r.Header.Get("Content-Encoding")
	if x.r.Body == nil || x.r.Body == http.NoBody {
		return false, nil
	}
	if x.r.ContentLength > x.h.MaxBody && encoding == "" {
		x.skipped, x.failedOpen = "body larger than max_body", "too_large"
		return false, nil
	}
	if values := x.r.Header.Values("Content-Encoding"); len(values) > 1 {
		encoding = strings.Join(values, ",")
	}
	like := repeats.Like
	if encoding != "" {
		like = nil
	}
	x.pause()
	raw, lent, err := readBody(x.r.Body, x.r.ContentLength, x.h.MaxBody, like)
	x.resume()
	x.bytesRead = int64(len(raw))
	switch {
	case errors.Is(err, errBodyTooLarge):
		x.skipped, x.failedOpen = "body larger than max_body", "too_large"
		x.r.Body = &resumedBody{ReadCloser: x.r.Body, head: raw}
		return false, nil
	case err != nil:
		return true, x.failRead(err)
	}
	if encoding != "" && !strings.EqualFold(encoding, "identity") {
		plain, err := decodeBody(raw, encoding, x.h.MaxBody)
		switch {
		case errors.Is(err, errBodyTooLarge):
			freeBuffer(raw)
			return true, x.fail(errTooLarge(x.h.MaxBody))
		case err != nil:
			x.skipped, x.failedOpen = err.Error(), "encoding"
			x.unread = &gatewayError{http.StatusBadRequest, codeInvalidBody, "the request body could not be decoded: " + err.Error()}
			x.body = nil
			x.r.Body = &resumedBody{ReadCloser: x.r.Body, head: raw}
			return false, nil
		default:
			freeBuffer(raw)
			raw, x.decoded = plain, true
		}
	}
	if lent {
		x.body = lentPayload(raw)
		return false, nil
	}
	x.body = newPayload(raw)
	return false, nil
}

// identify finds out which model is asked for.
func (x *exchange) identify() {
	x.label = otherModel
	if !x.identifyByPath() && x.body != nil {
		x.model, _ = adapter.PeekModel(x.body.bytes())
	}
	if m, label := x.h.models.find(x.model); m != nil {
		x.entry, x.label = m, label
	}
}

// choose merges what the site, the model and the client say.
func (x *exchange) choose(asked settings, warning error) {
	x.plan = x.h.site
	if x.entry != nil {
		x.plan = x.entry.settings.over(x.plan)
	}
	if x.key != nil {
		x.plan = x.key.settings.over(x.plan)
	}
	x.plan = asked.over(x.plan)
	if warning != nil {
		x.warnings = append(x.warnings, warning.Error())
	}
}

// optimize runs the optimizers. Whatever goes wrong there, the client's own
// body goes upstream.
func (x *exchange) optimize() {
	if x.body == nil || !x.plan.any() {
		x.sent = x.body
		return
	}
	x.sent = x.h.optimize(x)
}

// setBody puts the body that is to be sent into the request.
func (x *exchange) setBody() {
	if x.sent == nil {
		return
	}
	r, sent := x.r, x.sent
	r.Body = sent.open()
	r.GetBody = nil // a server request; the reader above is not replayed
	r.ContentLength = int64(sent.len())
	x.sentBytes = sent.len()
	r.TransferEncoding = nil
	r.Header.Del("Expect") // the body is here; there is nothing to wait for
	r.Header.Set("Content-Length", strconv.Itoa(sent.len()))
	if x.decoded {
		r.Header.Del("Content-Encoding")
	}
}

// forward hands the request to the providers, or without any to the next
// handler.
func (x *exchange) forward(next caddyhttp.Handler) error {
	providers, done, err := x.routeTo()
	if done {
		return err
	}
	if len(providers) > 0 {
		return x.forwardToProviders(providers)
	}
	x.r.RequestURI = redactURI(x.r.RequestURI) // for reverse_proxy's debug log
	// The response is read on its way back, so it must come as it is.
	x.r.Header.Set("Accept-Encoding", "identity")
	x.sending()
	err = next.ServeHTTP(&x.tee, x.r)
	x.resume()
	if err != nil && !x.tee.wroteHeader {
		return x.failUpstream(err)
	}
	return err
}

// passThrough hands a request that is none of the gateway's to the next
// handler.
func (x *exchange) passThrough(next caddyhttp.Handler) error {
	if providers := x.routeOther(); len(providers) > 0 {
		return x.forwardToProviders(providers)
	}
	if x.redact == nil {
		return next.ServeHTTP(x.w, x.r)
	}
	err := next.ServeHTTP(&x.tee, x.r)
	if err != nil && !x.tee.wroteHeader {
		// Caddy's error log would show the credential.
		return x.failUpstream(err)
	}
	return err
}

// end closes the exchange, also when the handlers behind panicked with
// http.ErrAbortHandler, which goes on its way.
func (x *exchange) end() {
	x.abandonFeed()
	x.account()
	x.tellGuard()
	x.settle()
	x.releaseBody()
	if x.tee.stream {
		gatewayMetrics.gauges["streams_in_flight"].WithLabelValues().Dec()
	}
	if x.format != adapter.Unknown {
		x.count()
		x.trace()
	}
	x.afterResponse()
	x.endCapture()
	x.closeCache()
	x.redact.write(x)
	x.meter.Reset()
	meters.Put(x.meter)
	x.meter = nil
}

// meters pools what reads answers.
var meters = sync.Pool{New: func() any { return new(adapter.Meter) }}

// finish is called when the handlers behind have returned without a panic, so
// that the answer, if there is one, came to its end.
func (x *exchange) finish(err error) {
	if err != nil {
		return
	}
	x.returned = true
	x.store()
	x.endFeed()
	x.endRewrite()
}

// settleOnce settles as soon as the answer is whole, before its last bytes are
// written: a client that has them may send its next request at once, and must
// find its place free and its budget spent.
func (x *exchange) settleOnce() {
	if x.lease == nil || x.over || !x.meter.Over() {
		return
	}
	x.over = true
	x.account()
	x.settle()
}

// settle tells the limiter what the request really used.
func (x *exchange) settle() {
	tokens := -1
	if x.usage.Known || x.estimated {
		tokens = int(x.usage.Input + x.usage.Output)
	} else if x.fromCache() || x.tee.status >= 400 {
		tokens = 0
	}
	x.lease.Settle(context.WithoutCancel(x.r.Context()), tokens, x.cost)
}

// sending notes that the request goes upstream now.
func (x *exchange) sending() {
	x.pause()
	x.sentAt = time.Now()
}

// releaseBody lets go of the request body and of the view of it. The transport
// may still read the body; it holds a reference of its own.
func (x *exchange) releaseBody() {
	if x.sent != nil && x.sent != x.body {
		x.sent.release()
	}
	if x.body != nil {
		x.body.release()
	}
	x.sent, x.body = nil, nil
	x.releaseSchemas()
	if x.view != nil {
		giveBack(x.view)
		x.view = nil
	}
}

// placeholder answers {http.llm_gateway.*}.
func (x *exchange) placeholder(key string) (any, bool) {
	name, ok := strings.CutPrefix(key, "http.llm_gateway.")
	if !ok {
		return nil, false
	}
	switch name {
	case "endpoint":
		return x.format.String(), true
	case "model":
		return x.model, true
	case "applied":
		return x.applied, true
	case "saved_bytes":
		return x.result.SavedBytes, true
	case "saved_tokens":
		return x.result.SavedTokens, true
	case "overhead_ms":
		return formatMillis(int64(x.own)), true
	}
	return nil, false
}

// MarshalLogObject writes the access log's field group.
func (x *exchange) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	enc.AddString("endpoint", x.format.String())
	if x.model != "" {
		enc.AddString("model", logSafe(x.model))
	}
	if x.applied != "" {
		enc.AddString("applied", x.applied)
		enc.AddInt("saved_bytes", x.result.SavedBytes)
		enc.AddInt("saved_tokens", x.result.SavedTokens)
	}
	if x.auditHeader != "" {
		enc.AddString("audit", x.auditHeader)
	}
	if x.skipped != "" {
		enc.AddString("skipped", x.skipped)
	}
	if x.key != nil {
		enc.AddString("key", x.key.Name)
	}
	if x.route != "" {
		enc.AddString("route", x.route)
		enc.AddInt("attempts", x.attempts)
	}
	if result := x.tee.Header().Get(cache.HeaderResult); result != "" {
		enc.AddString("cache", result)
	}
	if x.usage.Known || x.estimated {
		enc.AddInt64("input_tokens", x.usage.Input)
		enc.AddInt64("output_tokens", x.usage.Output)
		if x.usage.CacheRead > 0 {
			enc.AddInt64("cache_read_tokens", x.usage.CacheRead)
		}
		if x.usage.Reasoning > 0 {
			enc.AddInt64("reasoning_tokens", x.usage.Reasoning)
		}
		if x.estimated {
			enc.AddBool("usage_estimated", true)
		}
		if x.cost > 0 {
			enc.AddFloat64("cost_usd", x.cost)
		}
	}
	if saved := x.savedByTokens + x.savedByCache; saved > 0 {
		enc.AddFloat64("saved_usd", saved)
	}
	enc.AddFloat64("overhead_ms", float64(x.own)/float64(time.Millisecond))
	if x.tee.firstByte > 0 {
		enc.AddFloat64("ttft_ms", float64(x.tee.firstByte)/float64(time.Millisecond))
	}
	return nil
}
