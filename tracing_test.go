package llmgateway_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func init() {
	caddy.RegisterModule(spanMaker{})
	httpcaddyfile.RegisterHandlerDirective("test_span", func(httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		return spanMaker{}, nil
	})
	httpcaddyfile.RegisterDirectiveOrder("test_span", httpcaddyfile.Before, "encode")
}

// spans are what spanMaker recorded; one value of spanEnded for each that ended.
var (
	spans     = tracetest.NewSpanRecorder()
	spanEnded = make(chan struct{}, 16)
)

// spanMaker stands in the place of Caddy's tracing, which sends its spans
// elsewhere.
type spanMaker struct{}

func (spanMaker) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.test_span", New: func() caddy.Module { return new(spanMaker) }}
}

func (spanMaker) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	ctx, span := tracer.Start(r.Context(), "request")
	defer func() { span.End(); spanEnded <- struct{}{} }()
	return next.ServeHTTP(w, r.WithContext(ctx))
}

// TestTracing compares all attributes of the span, so that no content can slip
// in.
func TestTracing(t *testing.T) {
	for _, tc := range []struct {
		name, provider, path, request, answer string
		status                                int
		want                                  map[string]string
	}{
		{"chat", "format gemini", "/v1/chat/completions", smallChat,
			`{"id":"x","model":"gpt-5-mini-2026","choices":[{"index":0,"message":{"role":"assistant","content":"secret words"},"finish_reason":"stop"},{"index":1,"message":{"role":"assistant","content":"more"},"finish_reason":"length"}],"usage":{"prompt_tokens":31,"completion_tokens":9,"total_tokens":40,"prompt_tokens_details":{"cached_tokens":20}}}`, 200,
			map[string]string{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "gpt-5-mini", "gen_ai.response.model": "gpt-5-mini-2026",
				"gen_ai.response.finish_reasons": `["stop","length"]`, "gen_ai.usage.input_tokens": "31", "gen_ai.usage.output_tokens": "9", "gen_ai.usage.cache_read.input_tokens": "20"}},
		{"messages, next handler", "", "/v1/messages", `{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
			`{"id":"x","type":"message","role":"assistant","model":"claude-1","content":[{"type":"text","text":"hey"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_creation_input_tokens":8,"cache_read_input_tokens":0,"output_tokens":2}}`, 200,
			map[string]string{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "claude", "gen_ai.response.model": "claude-1",
				"gen_ai.response.finish_reasons": `["end_turn"]`, "gen_ai.usage.input_tokens": "11", "gen_ai.usage.output_tokens": "2", "gen_ai.usage.cache_creation.input_tokens": "8"}},
		{"embeddings without usage", "format openai", "/v1/embeddings", `{"model":"e","input":"hi"}`, `{"object":"list","model":"e-1","data":[{"index":0,"embedding":[1]}]}`, 200,
			map[string]string{"gen_ai.operation.name": "embeddings", "gen_ai.provider.name": "openai", "gen_ai.request.model": "e", "gen_ai.response.model": "e-1"}},
		{"refused", "format openai", "/v1/chat/completions", smallChat, `{"error":{"message":"no"}}`, 400,
			map[string]string{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5-mini"}},
		{"no model request", "format openai", "/v1/files", "{}", "{}", 200, map[string]string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			upstream := scripted(t, answer(tc.status, tc.answer))
			site := "test_span\nllm_gateway {\nprovider one " + upstream.URL + " {\n" + tc.provider + "\napi_key k\n}\n}"
			if tc.provider == "" {
				site = "test_span\nllm_gateway\nreverse_proxy " + upstream.URL
			}
			base := serve(t, site)
			before := len(spans.Ended())
			post(t, base+tc.path, tc.request)
			<-spanEnded
			ended := spans.Ended()[before:]
			if len(ended) != 1 {
				t.Fatalf("%d spans", len(ended))
			}
			got := map[string]string{}
			for _, a := range ended[0].Attributes() {
				got[string(a.Key)] = a.Value.String()
			}
			if !maps.Equal(got, tc.want) {
				t.Errorf("got  %v\nwant %v", got, tc.want)
			}
			if n := len(ended[0].Events()); n != 0 {
				t.Errorf("%d events", n)
			}
		})
	}
}
