package llmgateway

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
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
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
	gauges     map[string]*prometheus.GaugeVec
}

func newCollectors() *collectors {
	c := &collectors{make(map[string]*prometheus.CounterVec), make(map[string]*prometheus.HistogramVec), make(map[string]*prometheus.GaugeVec)}
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

func (c *collectors) observe(name string, d time.Duration, labels ...string) {
	c.histograms[name].WithLabelValues(labels...).Observe(d.Seconds())
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
	m.inc("requests_total", provider, x.label, endpoint, statusClass(x.tee.status))
	m.observe("overhead_seconds", x.own, endpoint)
	if !x.fromCache() && !x.sentAt.IsZero() {
		m.observe("upstream_seconds", time.Since(x.sentAt), provider, x.label)
		if x.tee.firstByte > 0 {
			m.observe("ttft_seconds", x.tee.firstByte, provider, x.label)
		}
	}
	u := x.usage
	for kind, n := range map[string]int64{"input": u.Input, "output": u.Output, "cached_read": u.CacheRead,
		"cached_write": u.CacheWrite5m + u.CacheWrite1h, "reasoning": u.Reasoning, "saved": int64(x.result.SavedTokens)} {
		m.add("tokens_total", float64(n), provider, x.label, kind)
	}
	m.add("cost_usd_total", x.cost, provider, x.label)
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
	observatory.Observe(x.sample(provider))
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
func (x *exchange) sample(provider string) stats.Sample {
	now := time.Now()
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

// statusClass is the label for an HTTP status; "none" when nothing was
// answered.
func statusClass(status int) string {
	switch {
	case status == 0:
		return "none"
	case status == statusClientClosed:
		return "client_closed"
	case status < 200:
		return "1xx"
	case status < 300:
		return "2xx"
	case status < 400:
		return "3xx"
	case status < 500:
		return "4xx"
	}
	return "5xx"
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
