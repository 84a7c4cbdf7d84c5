package llmgateway

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// HooksNamespace is where guest modules that watch requests live. A module
// there implements BeforeRequestHook, AfterResponseHook or both.
const HooksNamespace = "http.handlers.llm_gateway.hooks"

// Exchange is what a hook is told of a request and its answer. Hooks watch;
// nothing they do changes either of them.
type Exchange struct {
	ID       string `json:"id"` // the request's {http.request.uuid}
	Endpoint string `json:"endpoint"`
	Model    string `json:"model"`
	Key      string `json:"key,omitempty"` // name of the client's key
	Session  string `json:"session,omitempty"`
	Stream   bool   `json:"stream"`

	// What follows is known after the response only.

	Status       int     `json:"status,omitempty"`
	Provider     string  `json:"provider,omitempty"`
	Route        string  `json:"route,omitempty"`
	Attempts     int     `json:"attempts,omitempty"`
	Cache        string  `json:"cache,omitempty"`
	Applied      string  `json:"applied,omitempty"`
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	Estimated    bool    `json:"estimated,omitempty"`
	CostUSD      float64 `json:"cost_usd,omitempty"`
	DurationMS   float64 `json:"duration_ms,omitempty"`
	OverheadMS   float64 `json:"overhead_ms,omitempty"`

	// Request and Response are the bodies, as the client sent and got them, if
	// the hook asks for them; at most 1 MiB of each. They must not be changed.
	Request  []byte `json:"-"`
	Response []byte `json:"-"`
}

// BeforeRequestHook is called before a request is optimised and sent. The
// request waits for it until ctx is done, and no longer.
type BeforeRequestHook interface {
	BeforeRequest(ctx context.Context, e *Exchange) error
}

// AfterResponseHook is called when the exchange is over, in the background.
type AfterResponseHook interface {
	AfterResponse(ctx context.Context, e *Exchange) error
}

// HookSettings is implemented by hooks that want another deadline than the
// default of 10ms, or bodies.
type HookSettings interface {
	HookDeadline() time.Duration
	HookBodies() bool
}

// Bounds of hooks.
const (
	hookDeadline  = 10 * time.Millisecond
	hookQueue     = 256     // exchanges that wait for AfterResponse
	hookInFlight  = 64      // calls of BeforeRequest at a time, late ones included
	hookAfterTime = 10      // AfterResponse may take this many deadlines
	maxHookBody   = 1 << 20 // bytes of a body that are kept
)

// hook is one guest module.
type hook struct {
	name     string
	before   BeforeRequestHook
	after    AfterResponseHook
	deadline time.Duration
	bodies   bool
	slots    chan struct{}
}

// hookSet are the hooks of one configuration.
type hookSet struct {
	all    []*hook
	bodies bool
	logger *zap.Logger
	quiet  logLimiter

	mu     sync.Mutex
	closed bool
	queue  chan *Exchange
}

// provisionHooks loads the guest modules.
func (h *Handler) provisionHooks(ctx caddy.Context) error {
	if len(h.HooksRaw) == 0 {
		return nil
	}
	loaded, err := ctx.LoadModule(h, "HooksRaw")
	if err != nil {
		return err
	}
	set := &hookSet{logger: h.logger, queue: make(chan *Exchange, hookQueue)}
	for _, module := range loaded.([]any) {
		hk := &hook{name: string(module.(caddy.Module).CaddyModule().ID.Name()), deadline: hookDeadline, slots: make(chan struct{}, hookInFlight)}
		hk.before, _ = module.(BeforeRequestHook)
		hk.after, _ = module.(AfterResponseHook)
		if hk.before == nil && hk.after == nil {
			return fmt.Errorf("module %s is no hook", hk.name)
		}
		if s, ok := module.(HookSettings); ok {
			hk.deadline, hk.bodies = s.HookDeadline(), s.HookBodies()
		}
		set.bodies = set.bodies || hk.bodies
		set.all = append(set.all, hk)
	}
	h.hooks = set
	go set.run()
	return nil
}

// close lets the queue run empty; requests that end later are not reported.
func (s *hookSet) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
}

// run calls AfterResponse for what is queued.
func (s *hookSet) run() {
	for e := range s.queue {
		for _, hk := range s.all {
			if hk.after != nil {
				s.call(context.Background(), hk, hookAfterTime*hk.deadline, hk.view(e), hk.after.AfterResponse)
			}
		}
	}
}

// view is e as the hook may see it.
func (hk *hook) view(e *Exchange) *Exchange {
	own := *e
	if !hk.bodies {
		own.Request, own.Response = nil, nil
	}
	return &own
}

// call calls f and waits until it returns or its time is over. A call that
// does not return keeps its slot; without a free one nothing is called.
func (s *hookSet) call(ctx context.Context, hk *hook, limit time.Duration, e *Exchange, f func(context.Context, *Exchange) error) {
	select {
	case hk.slots <- struct{}{}:
	default:
		s.failed(hk, fmt.Errorf("%d calls have not returned", cap(hk.slots)))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("panic: %v", p)
			}
			<-hk.slots
		}()
		done <- f(ctx, e)
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	cancel()
	if err != nil {
		s.failed(hk, err)
	}
}

// failed counts a failure, and logs one a minute.
func (s *hookSet) failed(hk *hook, err error) {
	gatewayMetrics.inc("hook_failures_total", hk.name)
	if s.quiet.allow(time.Now()) {
		s.logger.Warn("a hook failed", zap.String("hook", hk.name), zap.Error(err))
	}
}

// hooked is what an exchange keeps for the hooks.
type hooked struct {
	report   *Exchange // nil without hooks
	reported []byte    // beginning of the answer
}

// beforeRequest tells the hooks that a request came.
func (x *exchange) beforeRequest() {
	s := x.h.hooks
	if s == nil {
		return
	}
	e := &Exchange{Endpoint: x.format.String(), Model: x.model, Session: x.sessionHeader}
	if repl, ok := x.r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		e.ID, _ = repl.GetString("http.request.uuid")
	}
	if x.key != nil {
		e.Key = x.key.Name
	}
	if x.parse(); x.view != nil && x.parseErr == nil {
		e.Stream = x.view.Stream
	}
	if s.bodies && x.body != nil {
		// A copy: the hook may still read it when the request is long over.
		e.Request = append([]byte(nil), x.body.bytes()[:min(x.body.len(), maxHookBody)]...)
	}
	x.report = e
	for _, hk := range s.all {
		if hk.before != nil {
			x.pause()
			s.call(x.r.Context(), hk, hk.deadline, hk.view(e), hk.before.BeforeRequest)
			x.resume()
		}
	}
}

// reportBody keeps the beginning of the answer for the hooks.
func (x *exchange) reportBody(b []byte) {
	if x.report == nil || !x.h.hooks.bodies {
		return
	}
	if room := maxHookBody - len(x.reported); room > 0 {
		x.reported = append(x.reported, b[:min(len(b), room)]...)
	}
}

// afterResponse queues the report for the hooks. When the queue is full it is
// counted and dropped.
func (x *exchange) afterResponse() {
	if x.report == nil || x.format == adapter.Unknown {
		return
	}
	e := *x.report // the other one may still be in the hands of a hook
	e.Status, e.Provider, e.Route, e.Attempts = x.tee.status, x.providerName(), x.route, x.attempts
	if x.cached != nil {
		e.Cache = cacheResults[x.cached.Outcome]
	}
	e.Applied, e.InputTokens, e.OutputTokens, e.Estimated, e.CostUSD = x.applied, x.usage.Input, x.usage.Output, x.estimated, x.cost
	e.DurationMS = float64(time.Since(x.began)) / float64(time.Millisecond)
	e.OverheadMS = float64(x.own) / float64(time.Millisecond)
	e.Response = x.reported
	s := x.h.hooks
	s.mu.Lock()
	full := s.closed
	if !full {
		select {
		case s.queue <- &e:
		default:
			full = true
		}
	}
	s.mu.Unlock()
	if full {
		for _, hk := range s.all {
			if hk.after != nil {
				s.failed(hk, fmt.Errorf("%d responses are waiting to be reported", cap(s.queue)))
			}
		}
	}
}
