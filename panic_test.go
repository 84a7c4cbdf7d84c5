package llmgateway

import (
	"net/http/httptest"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
)

// broken is an optimizer that panics.
type broken struct{}

func (broken) Name() string                           { return "broken" }
func (broken) Apply(*optimize.Draft) optimize.Outcome { panic("out of order") }

// TestPanicInOptimizer sends the client's own bytes, logs once a minute and
// counts every time.
func TestPanicInOptimizer(t *testing.T) {
	core, logs := observer.New(zapcore.ErrorLevel)
	var plan settings
	plan.by[optRTK].level = "standard"
	h := &Handler{
		logger: zap.New(core), panics: new(logLimiter), engines: new(engineTable),
		passes: &passTable{m: map[settings][]optimize.Pass{plan: {broken{}}}},
	}
	counter := gatewayMetrics.counters["optimizer_panics_total"].WithLabelValues("broken")
	count := func() float64 {
		var m dto.Metric
		if err := counter.Write(&m); err != nil {
			t.Fatal(err)
		}
		return m.GetCounter().GetValue()
	}
	before := count()
	const body = `{"model":"m","messages":[{"role":"user","content":"x"}]}`
	for range 3 {
		x := &exchange{h: h, format: adapter.Chat, plan: plan, body: newPayload([]byte(body)), r: httptest.NewRequest("POST", "/v1/chat/completions", nil)}
		if sent := h.optimize(x); sent != x.body || string(sent.bytes()) != body {
			t.Errorf("sent %q", sent.bytes())
		}
		if x.applied != "" || x.skipped != "internal error in broken" || x.failedOpen != "panic" {
			t.Errorf("applied %q, skipped %q, failed open %q", x.applied, x.skipped, x.failedOpen)
		}
	}
	if n := count() - before; n != 3 {
		t.Errorf("counted %v of 3", n)
	}
	if logs.Len() != 1 || logs.All()[0].ContextMap()["panic"] != "out of order" {
		t.Errorf("logged %v", logs.All())
	}
}
