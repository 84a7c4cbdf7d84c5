package llmgateway

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zapcore"
)

// otherModel is the label of every model that is not configured, so that
// clients cannot create time series.
const otherModel = "other"

// gatewayMetrics are the collectors of the package. Caddy's registry is new
// with every configuration, so they are made once and registered again.
var gatewayMetrics = struct {
	requests *prometheus.CounterVec
	overhead *prometheus.HistogramVec
	saved    *prometheus.CounterVec
	panics   *prometheus.CounterVec
}{
	requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "llm_gateway", Name: "requests_total",
		Help: "Model requests answered, by endpoint, model and status class.",
	}, []string{"endpoint", "model", "status"}),
	overhead: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "caddy", Subsystem: "llm_gateway", Name: "overhead_seconds",
		Help:    "The gateway's own work per request, waiting for the client and the upstream excluded.",
		Buckets: []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 100e-3, 1},
	}, []string{"endpoint"}),
	saved: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "llm_gateway", Name: "saved_bytes_total",
		Help: "Request bytes that did not go upstream, by optimizer.",
	}, []string{"optimizer"}),
	panics: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "llm_gateway", Name: "optimizer_panics_total",
		Help: "Panics recovered in an optimizer; the original body went upstream.",
	}, []string{"optimizer"}),
}

// registerMetrics adds the collectors to the registry of the configuration
// that is being loaded.
func registerMetrics(ctx caddy.Context) error {
	registry := ctx.GetMetricsRegistry()
	if registry == nil {
		return nil
	}
	m := &gatewayMetrics
	for _, c := range []prometheus.Collector{m.requests, m.overhead, m.saved, m.panics} {
		var already prometheus.AlreadyRegisteredError
		if err := registry.Register(c); err != nil && !errors.As(err, &already) {
			return err
		}
	}
	return nil
}

// count counts a finished exchange.
func (x *exchange) count() {
	endpoint := x.format.String()
	gatewayMetrics.requests.WithLabelValues(endpoint, x.label, statusClass(x.tee.status)).Inc()
	gatewayMetrics.overhead.WithLabelValues(endpoint).Observe(x.own.Seconds())
	for _, p := range x.result.Passes {
		if p.SavedBytes > 0 {
			gatewayMetrics.saved.WithLabelValues(p.Name).Add(float64(p.SavedBytes))
		}
	}
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
