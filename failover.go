package llmgateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/provider"
)

// defaultMaxAttempts is how often a request is sent at most, the first time
// included.
const defaultMaxAttempts = 3

// maxHeldAnswer bounds how much of an answer that may be replaced by another
// attempt is kept, in bytes. A longer one is final.
const maxHeldAnswer = 256 << 10

// retryable are the answers after which another credential or provider is
// tried. 401 and 403 are retried only when the credential is ours.
func retryable(status int, ownCredential bool) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout, statusOverloaded:
		return true
	case http.StatusUnauthorized, http.StatusForbidden:
		return ownCredential
	}
	return false
}

// statusOverloaded is Anthropic's and some others' 529.
const statusOverloaded = 529

// errDeadline is the cause of the cancellation when all attempts together
// took too long to get a first answer.
var errDeadline = errors.New("no provider answered before the deadline")

// forwardToProviders sends the request to the providers of its model, one
// credential after the other, until one answers. Before the first byte of an
// answer has reached the client a failed attempt is replaced by the next;
// after it, never.
func (x *exchange) forwardToProviders(providers []*Provider) error {
	session, known := "", false
	maxAttempts := x.h.MaxAttempts
	ctx := x.r.Context()
	stop := func() bool { return true }
	if x.h.AttemptDeadline > 0 {
		deadlined, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(time.Duration(x.h.AttemptDeadline), func() { cancel(errDeadline) })
		stop = timer.Stop
		defer stop()
		ctx = deadlined
	}
	tried := make(map[*provider.Credential]bool)
	var last *attempt
	for _, p := range providers {
		for x.attempts < maxAttempts && ctx.Err() == nil {
			if !known && p.pool.NeedsSession() {
				session, known = x.session(), true
			}
			cred := p.pool.Pick(session, tried)
			if cred == nil {
				break
			}
			tried[cred] = true
			x.attempts++
			x.route = p.Name + "/" + cred.Label
			last = x.newAttempt(p, cred, stop)
			if done, err := last.run(ctx); done {
				return err
			}
		}
	}
	return x.giveUp(ctx, last, providers)
}

// giveUp answers when no attempt succeeded: with the last answer of a
// provider, untouched, or with an error of the gateway's own.
func (x *exchange) giveUp(ctx context.Context, last *attempt, providers []*Provider) error {
	switch {
	case last != nil && last.status != 0:
		return last.deliver()
	case x.clientContext().Err() != nil:
		x.tee.WriteHeader(statusClientClosed)
		return nil
	case errors.Is(context.Cause(ctx), errDeadline):
		return x.fail(gatewayError{http.StatusGatewayTimeout, codeTimeout, errDeadline.Error()})
	case last != nil:
		return x.failUpstream(last.err)
	}
	// No credential was healthy enough to be tried.
	wait, ok := time.Duration(0), false
	for _, p := range providers {
		if w, healthy := p.pool.NextHealthy(); healthy && (!ok || w < wait) {
			wait, ok = w, true
		}
	}
	if !ok {
		return x.fail(gatewayError{http.StatusServiceUnavailable, codeUnavailable, "every credential of the provider was rejected"})
	}
	x.tee.Header().Set("Retry-After", retryAfterSeconds(wait))
	return x.fail(gatewayError{http.StatusServiceUnavailable, codeUnavailable, "no credential of the provider is available at the moment"})
}

// retryAfterSeconds rounds up to whole seconds, at least one.
func retryAfterSeconds(d time.Duration) string {
	return strconv.FormatInt(max(int64((d+time.Second-1)/time.Second), 1), 10)
}

// attempt is one try with one credential. It is the response writer that the
// provider's reverse proxy sees: it holds back an answer that may still be
// replaced by the next attempt.
type attempt struct {
	*caddyhttp.ResponseWriterWrapper
	x        *exchange
	provider *Provider
	cred     *provider.Credential
	accepted func() bool // the answer goes to the client: stops the deadline

	header  http.Header // the attempt's own until it is accepted
	status  int
	held    []byte
	through bool // bytes go to the client
	err     error
	began   time.Time
	done    bool // reported to the pool
	// inMemory says that the transport gets the body's bytes by itself.
	inMemory bool
}

// newAttempt begins an attempt.
func (x *exchange) newAttempt(p *Provider, cred *provider.Credential, accepted func() bool) *attempt {
	a := &attempt{x: x, provider: p, cred: cred, accepted: accepted, began: time.Now()}
	a.ResponseWriterWrapper = &caddyhttp.ResponseWriterWrapper{ResponseWriter: &x.tee}
	a.header = x.tee.Header().Clone()
	return a
}

// run sends the request. done says that the client has its answer; otherwise
// the next attempt may be made.
func (a *attempt) run(ctx context.Context) (done bool, err error) {
	x := a.x
	defer func() {
		if !a.done {
			a.provider.pool.Release(a.cred) // the client went away, or the stream broke
		}
	}()
	req, err := a.request(ctx)
	if err != nil {
		return true, x.failUpstream(err)
	}
	x.sending()
	err = a.provider.proxy.ServeHTTP(a, req, noNextHandler)
	x.resume()
	if a.inMemory {
		req.Body.Close() // nobody has read it
	}
	switch {
	case a.through:
		return true, err
	case x.r.Context().Err() != nil:
		return false, nil
	case err != nil:
		a.err = err
		a.report(0)
		x.h.logger.Warn("provider failed", zap.String("provider", a.provider.Name), zap.String("credential", a.cred.Label), zap.Error(err))
		return false, nil
	case a.status == 0 || a.status == statusClientClosed:
		// reverse_proxy gave up on a context that is not the client's.
		a.status = 0
		a.err = context.Cause(ctx)
		a.report(0)
		return false, nil
	}
	return false, nil
}

// request is the client's request, on its way to the provider.
func (a *attempt) request(ctx context.Context) (*http.Request, error) {
	x, p := a.x, a.provider
	sent := x.bodyFor(p)
	var out outgoing
	if p.own {
		out.header, out.secret = p.preset.Header, p.preset.Scheme+a.cred.Secret
	}
	if sent != nil && sent.len() <= maxInMemory {
		out.body = append([]byte(nil), sent.bytes()...)
		a.inMemory = true
	}
	req := x.r.WithContext(context.WithValue(ctx, outgoingKey{}, &out))
	req.Header = x.r.Header.Clone()
	target := new(url.URL)
	*target = *x.r.URL
	target.Path = p.preset.Path(p.base, x.r.URL.Path, x.format)
	target.RawPath = ""
	if raw := x.r.URL.RawPath; raw != "" {
		target.RawPath = p.preset.Path(p.base, raw, x.format)
	}
	req.URL = target
	req.RequestURI = redactURI(req.RequestURI) // for reverse_proxy's debug log
	if p.own {
		adapter.RemoveCredentials(req.Header)
		target.RawQuery = adapter.RemoveQueryCredentials(target.RawQuery)
	}
	// Providers are asked for plain bytes, so that the answer can be read.
	req.Header.Del("Accept-Encoding")
	if sent != nil {
		req.Body = sent.open()
		req.ContentLength = int64(sent.len())
		req.Header.Set("Content-Length", itoa(sent.len()))
	}
	return req, nil
}

// noNextHandler is behind a provider's reverse proxy, which never calls it.
var noNextHandler = caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return nil })

// Header implements http.ResponseWriter.
func (a *attempt) Header() http.Header {
	if a.through {
		return a.x.tee.Header()
	}
	return a.header
}

// WriteHeader decides: an answer worth replacing is held back while there is
// something to replace it with.
func (a *attempt) WriteHeader(status int) {
	if a.status != 0 {
		return
	}
	if status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
		return // an informational answer of an attempt that may fail says nothing
	}
	a.status = status
	if status == statusClientClosed {
		return
	}
	a.report(status)
	if retryable(status, a.provider.own) {
		return
	}
	a.accept()
}

// accept lets the answer through to the client.
func (a *attempt) accept() {
	a.accepted()
	a.through = true
	own := a.x.tee.Header()
	clear(own)
	for name, values := range a.header {
		own[name] = values
	}
	a.x.tee.WriteHeader(a.status)
}

// deliver sends a held answer after all.
func (a *attempt) deliver() error {
	a.accept()
	_, err := a.x.tee.Write(a.held)
	return err
}

// Write implements http.ResponseWriter.
func (a *attempt) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.through {
		return a.x.tee.Write(b)
	}
	if len(a.held)+len(b) <= maxHeldAnswer {
		a.held = append(a.held, b...)
		return len(b), nil
	}
	// Too long to hold: it is the answer.
	a.accept()
	if _, err := a.x.tee.Write(a.held); err != nil {
		return 0, err
	}
	a.held = nil
	return a.x.tee.Write(b)
}

// FlushError implements the flushing of http.ResponseController.
func (a *attempt) FlushError() error {
	if !a.through {
		return nil
	}
	return a.x.tee.FlushError()
}

// report tells the pool how the attempt went, once.
func (a *attempt) report(status int) {
	if a.done {
		return
	}
	a.done = true
	a.provider.pool.Report(a.cred, status, a.header, time.Since(a.began))
}

// ReadFrom implements io.ReaderFrom. The promoted method would write past
// Write.
func (a *attempt) ReadFrom(src io.Reader) (int64, error) {
	return io.Copy(writerOnly{a}, src)
}
