package llmgateway

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/access"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// BenchmarkPolicy is the whole policy step of a request among 100 000 keys: key,
// model and its settings, allow-list, all four limits, and their settlement.
// The body is parsed outside of it, as the optimizers need that anyway.
func BenchmarkPolicy(b *testing.B) {
	var keys []*Key
	for i := range 100_000 {
		keys = append(keys, &Key{Name: fmt.Sprint("key", i), Secret: fmt.Sprint("sk-secret-", i), Models: []string{"claude-*", "gpt-5-mini"},
			RPM: 1 << 30, TPM: 1 << 30, Concurrency: 1 << 20, Budget: 1e9})
	}
	repl := caddy.NewReplacer()
	h := &Handler{logger: zap.NewNop(), limiter: access.NewLimiter(nil, time.Now), MaxBody: defaultMaxBody}
	var err error
	if h.keys, err = newKeyTable(keys, repl); err != nil {
		b.Fatal(err)
	}
	if h.models, err = newModelTable([]*Model{{Match: []string{"gpt-5-mini"}}, {Match: []string{"claude-*"}}}, repl); err != nil {
		b.Fatal(err)
	}
	body := newPayload([]byte(`{"model":"gpt-5-mini","messages":[{"role":"user","content":"` + strings.Repeat("some text ", 500) + `"}]}`))
	r := httptest.NewRequest("POST", "/v1/chat/completions", nil)
	var view adapter.Request
	if err := view.Parse(adapter.Chat, body.bytes()); err != nil {
		b.Fatal(err)
	}
	bearer := []string{"Bearer sk-secret-77777"}
	b.ReportAllocs()
	for b.Loop() {
		r.Header["Authorization"] = bearer
		x := exchange{h: h, r: r, format: adapter.Chat, body: body, view: &view}
		if done, err := x.authenticate(); done || err != nil {
			b.Fatal("not let in")
		}
		x.identify()
		if done, err := x.admit(); done || err != nil {
			b.Fatal("not admitted")
		}
		x.choose(settings{}, nil)
		x.lease.Settle(r.Context(), 100, 0.001)
	}
}
