// Package llmgateway is a Caddy HTTP handler that stands in front of LLM
// providers: it makes requests smaller without losing what matters and passes
// everything else through byte for byte.
package llmgateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/access"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/heap"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// defaultMaxBody is the largest request body that is read into memory when
// max_body says nothing, in bytes.
const defaultMaxBody = 32 << 20

// defaultGCHeadroom is the headroom of the heap when gc_headroom says nothing,
// in bytes.
const defaultGCHeadroom = 64 << 20

// Handler is a gateway for LLM providers. It reads requests in the wire
// formats of OpenAI (chat completions, responses, completions, embeddings)
// and Anthropic (messages), makes them smaller with the optimizers that are
// switched on, and passes them on to the next handler, usually a
// reverse_proxy. Responses stream back unchanged.
//
// A request that no optimizer applies to goes on byte for byte as it came.
// What is done is told in the response headers X-Gateway-*, in the placeholders
// below and in the access log's field group llm_gateway.
//
// Placeholders, set once the request has been read:
//
// Placeholder | Description
// ------------|-------------
// `{http.llm_gateway.endpoint}` | The wire format: `chat`, `responses`, `messages`, `completions` or `embeddings`
// `{http.llm_gateway.model}` | The model that the client asked for
// `{http.llm_gateway.applied}` | The optimizers that changed the request, as in X-Gateway-Applied
// `{http.llm_gateway.saved_bytes}` | Bytes of the request body that were saved
// `{http.llm_gateway.saved_tokens}` | Estimated tokens that were saved
// `{http.llm_gateway.overhead_ms}` | The gateway's own work so far, in milliseconds
type Handler struct {
	// Optimize are the optimizers for every request, unless a model, a key or
	// the client says otherwise. Default: none.
	Optimize *Optimize `json:"optimize,omitempty"`

	// Cache says which answers may be reused. Default: none.
	Cache *Cache `json:"cache,omitempty"`

	// Models are settings by model name. Exact names beat patterns, patterns
	// count in the order given here.
	Models []*Model `json:"models,omitempty"`

	// MaxBody is the largest request body that is read into memory, in bytes.
	// A larger one streams on unchanged. Default: 33554432 (32 MiB).
	MaxBody int64 `json:"max_body,omitempty"`

	// GCHeadroom is how many bytes the heap may grow by between two runs of the
	// garbage collector although less than that is alive, for the whole process:
	// memory for processor time. A memory limit (GOMEMLIMIT) holds; with GOGC
	// set, or `-1` here, Go's own rule does. Default: 67108864 (64 MiB).
	GCHeadroom int64 `json:"gc_headroom,omitempty"`

	// ClientOverrides says whether clients may choose optimizers by
	// X-Gateway-* request headers. Default: true. The headers never reach the
	// upstream, whatever this says.
	ClientOverrides *bool `json:"client_overrides,omitempty"`

	// Keys are the clients' virtual keys. With any key every request needs one.
	Keys []*Key `json:"keys,omitempty"`

	// Limits says where the counters of keys are kept.
	Limits *LimitStore `json:"limits,omitempty"`

	// Providers are the upstreams. Without any the next handler in the route,
	// usually a reverse_proxy, is the upstream.
	Providers []*Provider `json:"providers,omitempty"`

	// StreamUsage is `inject` to ask for the usage chunk of chat and completion
	// streams (`stream_options.include_usage`) where the client did not; that
	// chunk is then hidden from it. Default: `off`.
	StreamUsage string `json:"stream_usage,omitempty"`

	// HooksRaw are guest modules that are told about requests and responses.
	HooksRaw []json.RawMessage `json:"hooks,omitempty" caddy:"namespace=http.handlers.llm_gateway.hooks inline_key=hook"`

	// Capture writes requests and answers to files. Default: none.
	Capture *Capture `json:"capture,omitempty"`

	// GuardPromptCache compares what optimization does to the providers' prompt
	// caches: 2 % of the conversations go as they came, and optimizers that cost
	// more in lost cache reads than they save are switched off for that model,
	// and tried again later. Default: false.
	GuardPromptCache *bool `json:"guard_prompt_cache,omitempty"`

	// MaxAttempts is how often a request is sent to providers at most, the
	// first time included. Default: 3.
	MaxAttempts int `json:"max_attempts,omitempty"`

	// AttemptDeadline is how long all attempts together may take to get a
	// first answer. Default: no limit.
	AttemptDeadline caddy.Duration `json:"attempt_deadline,omitempty"`

	hooks     *hookSet
	captures  *captureStore
	models    modelTable
	site      settings
	overrides bool
	logger    *zap.Logger
	keys      *keyTable
	limiter   *access.Limiter
	limiterID string
	place     *routeID
	engines   *engineTable
	plans     *cachePlans
	lists     *modelLists
	passes    *passTable
	// releaseHeap gives the headroom of the heap back.
	releaseHeap func()
	panics      *logLimiter

	// accessLogger is Caddy's own access logger, see accesslog.go.
	accessLogger *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.llm_gateway",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision sets up h.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	h.accessLogger = ctx.Logger(new(caddyhttp.App)).Named("log.access")
	if h.MaxBody == 0 {
		h.MaxBody = defaultMaxBody
	}
	if h.GCHeadroom == 0 {
		h.GCHeadroom = defaultGCHeadroom
	}
	if h.MaxAttempts == 0 {
		h.MaxAttempts = defaultMaxAttempts
	}
	h.overrides = h.ClientOverrides == nil || *h.ClientOverrides
	h.passes, h.panics, h.engines, h.place = new(passTable), new(logLimiter), new(engineTable), new(routeID)

	repl := caddy.NewReplacer()
	var err error
	if h.site, err = h.Optimize.settings(repl); err != nil {
		return fmt.Errorf("optimize: %w", err)
	}
	if err = h.checkAnswerOptions(); err != nil {
		return err
	}
	if h.models, err = newModelTable(h.Models, repl); err != nil {
		return err
	}
	if h.keys, err = newKeyTable(h.Keys, repl); err != nil {
		return err
	}
	if err := h.provisionProviders(ctx, repl); err != nil {
		return err
	}
	h.provisionCounting()
	if err := h.provisionHooks(ctx); err != nil {
		return fmt.Errorf("hooks: %w", err)
	}
	if err := h.provisionCaches(repl); err != nil {
		return err
	}
	h.lists = &modelLists{lists: make(map[*Provider]modelList), now: time.Now}
	if err := h.provisionLimiter(repl); err != nil {
		return fmt.Errorf("limits: %w", err)
	}
	if err := registerMetrics(ctx); err != nil {
		return err
	}
	if h.Capture != nil {
		if h.captures, err = openCapture(h.Capture, h.logger, repl); err != nil {
			return fmt.Errorf("capture: %w", err)
		}
		go h.captures.run()
	}
	h.releaseHeap = heap.Reserve(h.GCHeadroom)
	instances.add(h)
	return nil
}

// Validate checks what no single setting can see.
func (h *Handler) Validate() error {
	if h.MaxBody < 0 {
		return errors.New("max_body: must not be negative")
	}
	if h.MaxAttempts < 0 || h.AttemptDeadline < 0 {
		return errors.New("max_attempts and attempt_deadline must not be negative")
	}
	return nil
}

// Cleanup gives back what this instance acquired, also when Provision failed
// half-way. Requests of the old configuration may still be in flight.
func (h *Handler) Cleanup() error {
	instances.remove(h)
	if h.releaseHeap != nil {
		h.releaseHeap()
	}
	h.hooks.close()
	h.captures.close()
	return errors.Join(h.plans.close(), h.closeLimiter(), h.engines.close())
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
