package llmgateway

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zapcore"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/stats"
)

// otherModel is the label of every model that is not configured, so that
// clients cannot create time series.
const otherModel = "other"

// metricPrefix is what the names of all metrics start with.
const metricPrefix = "caddy_llm_gateway_"

// metric is one row of the table of metrics.
type metric struct {
	name    string
	help    string
	labels  []string
	buckets []float64 // set for a histogram
	gauge   bool
}

// Buckets in seconds. The gateway's own work is counted in microseconds, a
// provider's in up to minutes.
var (
	ownBuckets      = []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 100e-3, 1}
	upstreamBuckets = []float64{50e-6, 1e-3, 5e-3, 25e-3, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}
)

// metricTable is the one table of metrics that code and documentation share.
var metricTable = []metric{
	{name: "requests_total", help: "Model requests by provider, configured model, endpoint and class of status.", labels: []string{"provider", "model", "endpoint", "status"}},
	{name: "overhead_seconds", help: "The gateway's own work per request, waiting for the client and the upstream excluded.", labels: []string{"endpoint"}, buckets: ownBuckets},
	{name: "upstream_seconds", help: "Time from sending a request upstream to the end of its answer.", labels: []string{"provider", "model"}, buckets: upstreamBuckets},
	{name: "ttft_seconds", help: "Time from sending a request upstream to the first byte of its answer's body.", labels: []string{"provider", "model"}, buckets: upstreamBuckets},
	{name: "tokens_total", help: "Tokens by type: input, output, cached_read, cached_write and reasoning as the provider counts them; saved is an estimate.", labels: []string{"provider", "model", "type"}},
	{name: "saved_bytes_total", help: "Request bytes that did not go upstream, by optimizer.", labels: []string{"optimizer"}},
	{name: "audit_saved_bytes_total", help: "Request bytes that optimizers which only audit would have saved, by optimizer.", labels: []string{"optimizer"}},
	{name: "cost_usd_total", help: "What requests cost by the configured prices, in US dollars.", labels: []string{"provider", "model"}},
	{name: "saved_usd_total", help: "What requests would have cost more by the configured prices, in US dollars, by cause: tokens that optimizers saved, or an answer from the cache. An estimate.", labels: []string{"model", "cause"}},
	{name: "cache_results_total", help: "Requests by what the response cache did: hit, hit_similar, miss or bypass.", labels: []string{"result"}},
	{name: "cache_reasons_total", help: "Why the response cache was bypassed or did not store an answer.", labels: []string{"reason"}},
	{name: "cache_entries", help: "Answers that response caches hold; -1 if only the server knows.", labels: []string{"store"}, gauge: true},
	{name: "cache_bytes", help: "Bytes that response caches hold; -1 if only the server knows.", labels: []string{"store"}, gauge: true},
	{name: "cache_evictions", help: "Answers that response caches have dropped for lack of room since they were opened.", labels: []string{"store"}, gauge: true},
	{name: "coalesced_total", help: "Requests that shared the answer to an equal request under way."},
	{name: "fail_open_total", help: "Requests that went upstream as they came although an optimizer was switched on, by reason.", labels: []string{"reason"}},
	{name: "limited_total", help: "Requests refused by a limit of a key, by limit.", labels: []string{"limit"}},
	{name: "credential_healthy", help: "1 while a provider's credential is used, 0 while it is cooling down, rejected or its circuit is open.", labels: []string{"provider", "credential"}, gauge: true},
	{name: "guard_off", help: "Models for which the prompt-cache guard has switched a mode off or on trial: 0 or 1 for a model with a name, more where a pattern or other stands for several.", labels: []string{"model", "mode"}, gauge: true},
	{name: "guard_cache_read_ratio", help: "Input tokens read from the provider's prompt cache per token of input, in conversations of the prompt-cache guard's arms: control, which are left alone, and optimized.", labels: []string{"model", "mode", "arm"}, gauge: true},
	{name: "hook_failures_total", help: "Calls of hooks that failed or came too late.", labels: []string{"hook"}},
	{name: "streams_in_flight", help: "Event streams that are under way.", gauge: true},
	{name: "optimizer_panics_total", help: "Panics recovered in an optimizer; the original body went upstream.", labels: []string{"optimizer"}},
}

// gatewayMetrics are the collectors of the package. Caddy's registry is new
// with every configuration, so they are made once and registered again.
var gatewayMetrics = newCollectors()

type collectors struct {
	routes     sync.Map // routeKey to *routeMetrics
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
	gauges     map[string]*prometheus.GaugeVec
}

func newCollectors() *collectors {
	c := &collectors{counters: make(map[string]*prometheus.CounterVec), histograms: make(map[string]*prometheus.HistogramVec), gauges: make(map[string]*prometheus.GaugeVec)}
	for _, m := range metricTable {
		name := metricPrefix + m.name
		switch {
		case m.buckets != nil:
			c.histograms[m.name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: m.help, Buckets: m.buckets}, m.labels)
		case m.gauge:
			c.gauges[m.name] = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: m.help}, m.labels)
		default:
			c.counters[m.name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: m.help}, m.labels)
		}
	}
	c.gauges["streams_in_flight"].WithLabelValues() // 0 from the beginning
	c.counters["coalesced_total"].WithLabelValues()
	return c
}

// MetricsTable documents the metrics as a Markdown table.
func MetricsTable() string {
	var b strings.Builder
	b.WriteString("| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n")
	for _, m := range metricTable {
		kind := "counter"
		if m.buckets != nil {
			kind = "histogram"
		} else if m.gauge {
			kind = "gauge"
		}
		fmt.Fprintf(&b, "| `%s%s` | %s | %s | %s |\n", metricPrefix, m.name, kind, strings.Join(m.labels, ", "), m.help)
	}
	return b.String()
}

// inc adds 1 to a counter, add any amount.
func (c *collectors) inc(name string, labels ...string) { c.add(name, 1, labels...) }

func (c *collectors) add(name string, n float64, labels ...string) {
	if n > 0 {
		c.counters[name].WithLabelValues(labels...).Add(n)
	}
}

// routeKey are the labels that requests on the same route have in common.
type routeKey struct{ provider, model, endpoint string }

// routeMetrics are the series of one route, so that they need not be looked up
// by their labels for every request. A series exists from its first value on.
type routeMetrics struct {
	c        *collectors
	key      routeKey
	requests [len(statusClasses)]atomic.Pointer[prometheus.Counter]
	tokens   [len(tokenTypes)]atomic.Pointer[prometheus.Counter]
	cost     atomic.Pointer[prometheus.Counter]
	own      atomic.Pointer[prometheus.Observer]
	upstream atomic.Pointer[prometheus.Observer]
	ttft     atomic.Pointer[prometheus.Observer]
}

// tokenTypes are the values of the label type of tokens_total.
var tokenTypes = [...]string{"input", "output", "cached_read", "cached_write", "reasoning", "saved"}

// route returns the series of a route. There are no more routes than the
// configuration names.
func (c *collectors) route(key routeKey) *routeMetrics {
	if m, ok := c.routes.Load(key); ok {
		return m.(*routeMetrics)
	}
	m, _ := c.routes.LoadOrStore(key, &routeMetrics{c: c, key: key})
	return m.(*routeMetrics)
}

// series returns what p holds, made by with the first time.
func series[T any](p *atomic.Pointer[T], with func() T) T {
	if s := p.Load(); s != nil {
		return *s
	}
	s := with()
	p.Store(&s)
	return s
}

func (m *routeMetrics) countRequest(class int) {
	series(&m.requests[class], func() prometheus.Counter {
		return m.c.counters["requests_total"].WithLabelValues(m.key.provider, m.key.model, m.key.endpoint, statusClasses[class])
	}).Inc()
}

func (m *routeMetrics) addTokens(kind int, n int64) {
	if n > 0 {
		series(&m.tokens[kind], func() prometheus.Counter {
			return m.c.counters["tokens_total"].WithLabelValues(m.key.provider, m.key.model, tokenTypes[kind])
		}).Add(float64(n))
	}
}

func (m *routeMetrics) addCost(usd float64) {
	if usd > 0 {
		series(&m.cost, func() prometheus.Counter {
			return m.c.counters["cost_usd_total"].WithLabelValues(m.key.provider, m.key.model)
		}).Add(usd)
	}
}

func (m *routeMetrics) observeOwn(d time.Duration) {
	series(&m.own, func() prometheus.Observer {
		return m.c.histograms["overhead_seconds"].WithLabelValues(m.key.endpoint)
	}).Observe(d.Seconds())
}

// observeUpstream takes in how long the upstream took, ttft 0 if no byte came.
func (m *routeMetrics) observeUpstream(whole, ttft time.Duration) {
	series(&m.upstream, func() prometheus.Observer {
		return m.c.histograms["upstream_seconds"].WithLabelValues(m.key.provider, m.key.model)
	}).Observe(whole.Seconds())
	if ttft > 0 {
		series(&m.ttft, func() prometheus.Observer {
			return m.c.histograms["ttft_seconds"].WithLabelValues(m.key.provider, m.key.model)
		}).Observe(ttft.Seconds())
	}
}

// registerMetrics adds the collectors to the registry of the configuration
// that is being loaded.
func registerMetrics(ctx caddy.Context) error {
	registry := ctx.GetMetricsRegistry()
	if registry == nil {
		return nil
	}
	c := gatewayMetrics
	var all []prometheus.Collector
	for _, v := range c.counters {
		all = append(all, v)
	}
	for _, v := range c.histograms {
		all = append(all, v)
	}
	for name, v := range c.gauges {
		switch {
		case name == "credential_healthy":
			all = append(all, credentialCollector{v})
			continue
		case strings.HasPrefix(name, "cache_"):
			all = append(all, cacheCollector{v, name})
			continue
		case strings.HasPrefix(name, "guard_"):
			all = append(all, guardCollector{v, name})
			continue
		}
		all = append(all, v)
	}
	for _, collector := range all {
		var already prometheus.AlreadyRegisteredError
		if err := registry.Register(collector); err != nil && !errors.As(err, &already) {
			return err
		}
	}
	return nil
}

// credentialCollector reads the health of all credentials when it is asked.
type credentialCollector struct{ *prometheus.GaugeVec }

// Collect implements prometheus.Collector.
func (c credentialCollector) Collect(ch chan<- prometheus.Metric) {
	c.Reset()
	for _, h := range instances.list() {
		for _, p := range h.Providers {
			for _, s := range p.pool.States() {
				healthy := 0.0
				if s.Healthy {
					healthy = 1
				}
				c.WithLabelValues(p.Name, s.Label).Set(healthy)
			}
		}
	}
	c.GaugeVec.Collect(ch)
}

// cacheCollector reads one figure of all caches when it is asked.
type cacheCollector struct {
	*prometheus.GaugeVec
	figure string
}

// Collect implements prometheus.Collector.
func (c cacheCollector) Collect(ch chan<- prometheus.Metric) {
	c.Reset()
	for i, v := range cacheViews() {
		n := map[string]int64{"cache_entries": v.Entries, "cache_bytes": v.Bytes, "cache_evictions": v.Evictions}[c.figure]
		c.WithLabelValues(strconv.Itoa(i + 1)).Set(float64(n))
	}
	c.GaugeVec.Collect(ch)
}

// handlers are the instances of the configurations that are in use.
type handlers struct {
	mu  sync.Mutex
	all []*Handler
}

var instances handlers

func (s *handlers) add(h *Handler) {
	s.mu.Lock()
	s.all = append(s.all, h)
	s.mu.Unlock()
}

func (s *handlers) remove(h *Handler) {
	s.mu.Lock()
	for i, other := range s.all {
		if other == h {
			s.all = append(s.all[:i:i], s.all[i+1:]...)
			break
		}
	}
	s.mu.Unlock()
}

func (s *handlers) list() []*Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Handler(nil), s.all...)
}

// observatory keeps the figures for the admin API and the dashboard. There is
// one per process, so that they survive a reload.
var observatory = stats.New(time.Now)

// count counts a finished exchange.
func (x *exchange) count() {
	m := gatewayMetrics
	endpoint, provider := x.format.String(), x.providerName()
	now := time.Now()
	route := m.route(routeKey{provider, x.label, endpoint})
	route.countRequest(statusClass(x.tee.status))
	route.observeOwn(x.own)
	if !x.fromCache() && !x.sentAt.IsZero() {
		route.observeUpstream(now.Sub(x.sentAt), x.tee.firstByte)
	}
	u := &x.usage
	for i, n := range [len(tokenTypes)]int64{u.Input, u.Output, u.CacheRead, u.CacheWrite5m + u.CacheWrite1h, u.Reasoning, int64(x.result.SavedTokens)} {
		route.addTokens(i, n)
	}
	route.addCost(x.cost)
	m.add("saved_usd_total", x.savedByTokens, x.label, "tokens")
	m.add("saved_usd_total", x.savedByCache, x.label, "cache")
	for _, p := range x.result.Passes {
		m.add("saved_bytes_total", float64(p.SavedBytes), p.Name)
	}
	for _, p := range x.audited.Passes {
		m.add("audit_saved_bytes_total", float64(p.SavedBytes), p.Name)
	}
	if x.cached != nil {
		m.inc("cache_results_total", cacheResults[x.cached.Outcome])
		if x.cached.Outcome == cache.Collapsed {
			m.inc("coalesced_total")
		}
		reason := x.notStored
		if x.cached.Outcome == cache.Bypass {
			reason = x.cached.Reason
		}
		if reason != cache.None {
			m.inc("cache_reasons_total", reason.String())
		}
	}
	if x.failedOpen != "" {
		m.inc("fail_open_total", x.failedOpen)
	}
	if d := x.limits.Denied; d != nil {
		m.inc("limited_total", d.Limit)
	}
	observatory.Observe(x.sample(provider, now))
}

// cacheResults are the labels for what the cache did.
var cacheResults = map[cache.Outcome]string{
	cache.Bypass: "bypass", cache.Miss: "miss", cache.Hit: "hit", cache.HitSimilar: "hit_similar",
	cache.Collapsed: "miss", cache.Unsatisfied: "miss", cache.Gone: "miss",
}

// providerName is the provider that answered, "next" when that was the next
// handler.
func (x *exchange) providerName() string {
	if name, _, ok := strings.Cut(x.route, "/"); ok {
		return name
	}
	if len(x.h.Providers) == 0 {
		return "next"
	}
	return "none"
}

// sample is what the dashboard shows of the exchange.
func (x *exchange) sample(provider string, now time.Time) stats.Sample {
	s := stats.Sample{
		Time: now, Endpoint: x.format.String(), Model: x.label, Provider: provider, Status: x.tee.status, Stream: x.tee.stream,
		Route: x.route, Attempts: x.attempts,
		OverheadMS: float64(x.own) / float64(time.Millisecond), TTFTMS: float64(x.tee.firstByte) / float64(time.Millisecond),
		DurationMS:  float64(now.Sub(x.began)) / float64(time.Millisecond),
		InputTokens: x.usage.Input, OutputTokens: x.usage.Output, CacheReadTokens: x.usage.CacheRead,
		CacheWriteTokens: x.usage.CacheWrite5m + x.usage.CacheWrite1h, ReasoningTokens: x.usage.Reasoning, Estimated: x.estimated,
		SavedTokens: int64(x.result.SavedTokens), SavedBytes: int64(x.result.SavedBytes), Skipped: x.skipped,
		CostUSD: x.cost, SavedUSD: x.savedByTokens + x.savedByCache, CacheSavedUSD: x.savedByCache,
	}
	if x.key != nil {
		s.Key = x.key.Name
	}
	if x.cached != nil {
		s.Cache = strings.ToUpper(strings.ReplaceAll(cacheResults[x.cached.Outcome], "_", "-"))
	}
	s.AuditSavedTokens, s.AuditSavedBytes = int64(x.audited.SavedTokens), int64(x.audited.SavedBytes)
	for _, p := range x.result.Passes {
		if p.Changed > 0 {
			s.Applied = append(s.Applied, stats.Applied{Name: p.Name, Level: p.Level, SavedBytes: int64(p.SavedBytes)})
		}
	}
	return s
}

// statusClasses are the values of the label status; "none" when nothing was
// answered.
var statusClasses = [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx", "client_closed"}

// statusClass is the index in statusClasses for an HTTP status.
func statusClass(status int) int {
	if status == statusClientClosed {
		return len(statusClasses) - 1
	}
	return min(status/100, 5)
}

// levelOfStatus is the log level for an answer with status.
func levelOfStatus(status int) zapcore.Level {
	if status >= http.StatusInternalServerError {
		return zapcore.ErrorLevel
	}
	return zapcore.DebugLevel
}

// logLimiter lets one log line through per minute.
type logLimiter struct {
	mu   sync.Mutex
	next time.Time
}

// allow reports whether a line may be logged at now.
func (l *logLimiter) allow(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.next) {
		return false
	}
	l.next = now.Add(time.Minute)
	return true
}
