package llmgateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache/similar"
)

// Cache says which answers may be reused. A level that leaves something open
// inherits it from the one below: key > model > site. A client can narrow what
// the configuration allows, never widen it.
type Cache struct {
	// Mode is `off`, `exact` (the same request) or `similar` (also a request
	// whose last question differs in words that do not matter). Default: `off`.
	Mode string `json:"mode,omitempty"`

	// Threshold is how similar two questions must be for `similar`, as the
	// Jaccard index of their words, 0.5 to 1. Default: 0.95.
	Threshold float64 `json:"threshold,omitempty"`

	// TTL is how long an answer may be reused. Default: 1h.
	TTL caddy.Duration `json:"ttl,omitempty"`

	// Store says where answers are kept. Default: 256 MiB in memory.
	Store *CacheStore `json:"store,omitempty"`

	// Scope says whose answers may be reused: those of the same `key` or
	// credential (the default), of the same `site`, or of everybody (`shared`).
	Scope string `json:"scope,omitempty"`

	// Guard says which differences between two questions always matter:
	// `lexical` (the default), `strict` or `off`.
	Guard string `json:"guard,omitempty"`

	// ToolCalls is `exact` to store answers that call tools, for the same
	// request only. Default: `off`.
	ToolCalls string `json:"tool_calls,omitempty"`

	// DeterministicOnly keeps out requests whose temperature is not 0.
	DeterministicOnly bool `json:"deterministic_only,omitempty"`

	// IgnoreFields are top-level members of the request body that do not make
	// it another request, such as `user` or `metadata`. Default: none.
	IgnoreFields []string `json:"ignore_fields,omitempty"`

	// MaxEntry is the largest answer that is stored, in bytes.
	// Default: 8388608 (8 MiB).
	MaxEntry int64 `json:"max_entry,omitempty"`
}

// CacheStore says where answers are kept.
type CacheStore struct {
	// Kind is `memory`, `disk` or `valkey` (Redis works too).
	Kind string `json:"kind,omitempty"`
	// Size is how much is kept, in bytes: memory 256 MiB, disk 4 GiB by
	// default. A server has its own limit.
	Size int64 `json:"size,omitempty"`
	// Path is the file of a store on disk.
	Path string `json:"path,omitempty"`
	// URL is where the server is, for example redis://127.0.0.1:6379/0.
	URL string `json:"url,omitempty"`
	// Secret authenticates what is stored on a server; the same for all
	// gateways that share it, at least 16 bytes.
	Secret string `json:"secret,omitempty"`
	// Compress says whether answers on disk or on a server are compressed.
	Compress bool `json:"compress,omitempty"`
}

// caches are the open caches of all configurations in this process, so that
// one lives on from a configuration to the next.
var caches = caddy.NewUsagePool()

// over lays upper over lower; either may be nil.
func (upper *Cache) over(lower *Cache) *Cache {
	if upper == nil {
		return lower
	}
	if lower == nil {
		return upper
	}
	out := *lower
	if upper.Mode != "" {
		out.Mode = upper.Mode
	}
	if upper.Threshold != 0 {
		out.Threshold = upper.Threshold
	}
	if upper.TTL != 0 {
		out.TTL = upper.TTL
	}
	if upper.Store != nil {
		out.Store = upper.Store
	}
	if upper.Scope != "" {
		out.Scope = upper.Scope
	}
	if upper.Guard != "" {
		out.Guard = upper.Guard
	}
	if upper.ToolCalls != "" {
		out.ToolCalls = upper.ToolCalls
	}
	out.DeterministicOnly = out.DeterministicOnly || upper.DeterministicOnly
	if upper.IgnoreFields != nil {
		out.IgnoreFields = upper.IgnoreFields
	}
	if upper.MaxEntry != 0 {
		out.MaxEntry = upper.MaxEntry
	}
	return &out
}

// policy is what c says, checked.
func (c *Cache) policy() (cache.Policy, error) {
	var p cache.Policy
	var err error
	if c == nil || c.Mode == "" {
		return p, nil
	}
	if p.Mode, err = cache.ParseMode(c.Mode); err != nil || p.Mode == cache.Off {
		return p, err
	}
	if c.Scope != "" {
		if p.Scope, err = cache.ParseScope(c.Scope); err != nil {
			return p, err
		}
	}
	if c.Guard != "" {
		if p.Guard, err = similar.ParseGuard(c.Guard); err != nil {
			return p, err
		}
	}
	switch c.ToolCalls {
	case "", "off":
	case "exact":
		p.ToolCalls = true
	default:
		return p, fmt.Errorf("tool_calls: expected off or exact, got %q", c.ToolCalls)
	}
	p.Threshold, p.TTL, p.MaxEntry = c.Threshold, time.Duration(c.TTL), c.MaxEntry
	p.DeterministicOnly, p.IgnoreFields = c.DeterministicOnly, c.IgnoreFields
	return p.Resolve()
}

// options say how the store of c is opened.
func (c *Cache) options(repl *caddy.Replacer) cache.Options {
	// The cache outlives the configuration that opens it, and so must the logger.
	logger := caddy.Log().Named("http.handlers.llm_gateway")
	o := cache.Options{Log: func(message string, err error) { logger.Warn("cache: "+message, zap.Error(err)) }}
	if s := c.Store; s != nil {
		o.Store = cache.StoreConfig{Kind: s.Kind, Size: s.Size, Path: repl.ReplaceAll(s.Path, ""), URL: repl.ReplaceAll(s.URL, ""), Compress: s.Compress}
		o.Secret = []byte(repl.ReplaceAll(s.Secret, ""))
	}
	return o
}

// cachePlan is what holds for one model and key.
type cachePlan struct {
	policy cache.Policy
	cache  *cache.Cache // nil when nothing is cached
}

// cachePlans resolves and keeps the plans, and the caches that they use.
type cachePlans struct {
	plans    map[planKey]cachePlan
	acquired []string // identities in the usage pool
}

type planKey struct {
	model *Model
	key   *Key
}

// provisionCaches opens the cache of every combination of model and key, so
// that a mistake is told when the configuration is loaded.
func (h *Handler) provisionCaches(repl *caddy.Replacer) error {
	h.plans = &cachePlans{plans: make(map[planKey]cachePlan)}
	open := make(map[string]*cache.Cache)
	for _, m := range append([]*Model{nil}, h.Models...) {
		for _, k := range append([]*Key{nil}, h.Keys...) {
			c, where := h.Cache, "cache"
			if m != nil {
				c, where = m.Cache.over(c), "model "+strings.Join(m.Match, " ")+": cache"
			}
			if k != nil {
				c, where = k.Cache.over(c), where+" with key "+k.Name
			}
			policy, err := c.policy()
			if err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
			if policy.Mode == cache.Off {
				continue
			}
			o := c.options(repl)
			if o.Store, err = o.Store.Resolve(); err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
			id := o.Identity()
			if open[id] == nil {
				v, _, err := caches.LoadOrNew(id, func() (caddy.Destructor, error) { return cache.Open(o) })
				if err != nil {
					return fmt.Errorf("%s: %w", where, err)
				}
				h.plans.acquired = append(h.plans.acquired, id)
				open[id] = v.(*cache.Cache)
			}
			h.plans.plans[planKey{m, k}] = cachePlan{policy, open[id]}
		}
	}
	return nil
}

// close gives the caches back.
func (p *cachePlans) close() error {
	if p == nil {
		return nil
	}
	var errs []error
	for _, id := range p.acquired {
		if _, err := caches.Delete(id); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// lookup asks the cache. done says that the request has been answered.
func (x *exchange) lookup() (done bool, err error) {
	plan, ok := x.h.plans.plans[planKey{x.entry, x.key}]
	if !ok {
		return false, nil
	}
	x.parse()
	if x.parseErr != nil || x.view == nil {
		return false, nil // what cannot be read cannot be told apart
	}
	request := cache.Request{
		View: x.view, Header: x.r.Header, Path: x.originalPath(), Query: x.r.URL.RawQuery,
		Tenant: x.tenant(plan.cache), Site: strings.ToLower(hostWithoutPort(x.r.Host)) + " " + x.h.place.of(x.h, x.r),
		Model: x.model, Optimizers: x.plan.signature(),
	}
	if x.entry != nil {
		request.Provider = strings.Join(x.entry.Providers, " ")
		if x.entry.UpstreamModel != "" {
			request.Model = x.entry.UpstreamModel
		}
		for _, p := range x.entry.providers {
			request.BaseURL += p.base.String() + " "
		}
	} else {
		for _, p := range x.h.Providers {
			request.Provider += p.Name + " "
			request.BaseURL += p.base.String() + " "
		}
	}
	x.pause()
	l := plan.cache.Lookup(x.r.Context(), &request, &plan.policy, x.cacheAsked)
	x.resume()
	x.cached = l
	switch {
	case l.Answered():
		l.SetAnswer(x.tee.Header())
		x.tee.WriteHeader(http.StatusOK)
		if err := l.WriteAnswer(x.r.Context(), &x.tee, x.tee.FlushError); err != nil {
			panic(http.ErrAbortHandler)
		}
		return true, nil
	case l.Outcome == cache.Unsatisfied:
		return true, x.fail(gatewayError{http.StatusGatewayTimeout, codeNotCached, "no stored answer, and only-if-cached was asked for"})
	case l.Outcome == cache.Gone:
		x.tee.WriteHeader(statusClientClosed)
		return true, nil
	}
	if l.Recorder != nil {
		// The call to the provider lives as long as somebody wants its answer.
		x.client = x.r.Context()
		x.r = x.r.WithContext(l.Recorder.Context())
	}
	return false, nil
}

// originalPath is the path that the client asked for, before any rewrite, and
// the one that is asked for now.
func (x *exchange) originalPath() string {
	if orig, ok := x.r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok && orig.URL != nil && orig.URL.Path != x.r.URL.Path {
		return orig.URL.Path + " " + x.r.URL.Path
	}
	return x.r.URL.Path
}

// tenant is whose answers the request may be given.
func (x *exchange) tenant(c *cache.Cache) cache.Tenant {
	if x.key != nil {
		return c.KeyTenant(x.key.Name)
	}
	if repl, ok := x.r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		if user, ok := repl.GetString("http.auth.user.id"); ok && user != "" {
			return c.KeyTenant("\x00user\x00" + user)
		}
	}
	if identity := identityOf(x.r.Header); identity != "" {
		return c.KeyTenant("\x00identity\x00" + identity + "\x00" + x.r.URL.RawQuery)
	}
	return c.CredentialTenant(x.r.Header, x.r.URL.RawQuery)
}

// identityWords are what the names of headers that tell who asks have in them.
// A header that tells nothing of the kind costs a hit; one that is overlooked
// would give one person's answer to another.
var identityWords = [][]byte{
	[]byte("auth"), []byte("cookie"), []byte("token"), []byte("key"), []byte("user"), []byte("jwt"), []byte("session"),
	[]byte("identity"), []byte("secret"), []byte("credential"), []byte("assertion"), []byte("account"), []byte("tenant"), []byte("email"),
}

// noIdentity are headers that have such a word and do not tell who asks.
var noIdentity = map[string]bool{"User-Agent": true, "Sec-Fetch-User": true, "Idempotency-Key": true}

// tellsWho reports whether the header called name, in its canonical form, may
// tell who asks.
func tellsWho(name string) bool {
	if noIdentity[name] {
		return false
	}
	var room [64]byte
	lower := room[:0]
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		lower = append(lower, c)
	}
	for _, word := range identityWords {
		if bytes.Contains(lower, word) {
			return true
		}
	}
	return false
}

// identityOf is a digest of all headers that may tell who asks, "" if there are
// none beside the credentials that LLM clients send.
func identityOf(header http.Header) string {
	own := false
	for name := range header {
		if name != "Authorization" && !slices.Contains(credentialHeaders, name) && tellsWho(name) {
			own = true
			break
		}
	}
	if !own {
		return ""
	}
	var names []string
	for name := range header {
		if tellsWho(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	sum := sha256.New()
	for _, name := range names {
		fmt.Fprintf(sum, "%q %q ", name, header[name])
	}
	return string(sum.Sum(nil))
}

// signature names everything that the optimizers are set to.
func (s *settings) signature() string {
	var b strings.Builder
	for i, set := range s.by {
		if !set.active() {
			continue
		}
		fmt.Fprintf(&b, "%s=%s,%d,%d", optimizers[i].name, set.level, set.keep, set.reserve)
		if set.squoze != nil {
			fmt.Fprintf(&b, "%+v", *set.squoze)
		}
		b.WriteByte(';')
	}
	return b.String()
}

// store ends the recording of an answer that came to its end. Only a normal
// return of the handlers behind leads here.
func (x *exchange) store() {
	if rec := x.recorder(); rec != nil && x.tee.wroteHeader {
		x.notStored = rec.Commit(x.meter.End())
	}
}

// recorder takes in the answer, nil if it is not to be cached.
func (x *exchange) recorder() *cache.Recorder {
	if x.cached == nil {
		return nil
	}
	return x.cached.Recorder
}

// endFeed waits until the client has its whole answer. By then those who share
// it wait no more. A client that could not be given all is broken off.
func (x *exchange) endFeed() {
	rec := x.recorder()
	if rec == nil {
		return
	}
	err := rec.Drain()
	x.tee.unfed()
	if errors.Is(err, cache.ErrPanic) {
		panic(err)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// abandonFeed is endFeed for an answer that did not come to its end.
func (x *exchange) abandonFeed() {
	if rec := x.recorder(); rec != nil {
		rec.Abort()
		_ = rec.Drain() // the client is told by what unwinds the handlers
		x.tee.unfed()
	}
}

// closeCache ends the request's way through the cache.
func (x *exchange) closeCache() {
	if x.cached != nil {
		x.cached.Close()
		x.cached = nil
	}
}

// clientContext is the context of the client's own connection.
func (x *exchange) clientContext() context.Context {
	if x.client != nil {
		return x.client
	}
	return x.r.Context()
}

// followed reports whether others wait for the answer, so that it must go on
// although its own client is gone.
func (x *exchange) followed() bool {
	rec := x.recorder()
	return rec != nil && rec.Followed()
}
