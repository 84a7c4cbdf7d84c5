package llmgateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// BenchmarkWay is the gateway's own part of a small request's way that no
// optimizer changes, from ServeHTTP to its end: all that it adds to what Caddy
// does anyway.
func BenchmarkWay(b *testing.B) {
	for _, mode := range []string{"off", "rtk standard", "headroom balanced", "squoze", "caveman lite"} {
		b.Run(mode, func(b *testing.B) { way(b, mode) })
	}
}

func way(b *testing.B, mode string) {
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	defer cancel()
	h := new(Handler)
	if err := h.UnmarshalCaddyfile(caddyfile.NewTestDispenser("llm_gateway {\noptimize " + mode + "\n}")); err != nil {
		b.Fatal(err)
	}
	if err := h.Provision(ctx); err != nil {
		b.Fatal(err)
	}
	defer h.Cleanup()
	body := []byte(`{"model":"gpt-5-mini","messages":[{"role":"user","content":"Say hello."}],"max_tokens":64}`)
	answer := []byte(`{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	next := caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_, err := w.Write(answer)
		return err
	})
	proto, err := http.NewRequest(http.MethodPost, "http://gateway.test/v1/chat/completions", nil)
	if err != nil {
		b.Fatal(err)
	}
	w := &discardResponse{header: make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		r := *proto
		r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer sk-a"}}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		req := r.WithContext(context.WithValue(context.Background(), caddy.ReplacerCtxKey, caddy.NewReplacer()))
		if err := h.ServeHTTP(w, req, next); err != nil {
			b.Fatal(err)
		}
	}
}

type discardResponse struct{ header http.Header }

func (d *discardResponse) Header() http.Header         { return d.header }
func (d *discardResponse) Write(p []byte) (int, error) { return len(p), nil }
func (d *discardResponse) WriteHeader(int)             {}
