package llmgateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// flushes notes what reaches the client's connection, in order.
type flushes struct {
	header http.Header
	seen   []string
}

func (f *flushes) Header() http.Header { return f.header }
func (f *flushes) WriteHeader(int)     { f.seen = append(f.seen, "header") }
func (f *flushes) FlushError() error   { f.seen = append(f.seen, "flush"); return nil }
func (f *flushes) Write(b []byte) (int, error) {
	f.seen = append(f.seen, string(b))
	return len(b), nil
}

// An answer that states its length is whole at the provider, so its header goes
// out with the first of its body, in one packet. Every other header goes out as
// soon as the upstream's is there.
func TestHeaderWaitsForASizedBody(t *testing.T) {
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	defer cancel()
	h := new(Handler)
	if err := h.Provision(ctx); err != nil {
		t.Fatal(err)
	}
	defer h.Cleanup()
	for _, tt := range []struct {
		name, contentType string
		sized             bool
		status            int
		pieces            []string
		want              []string
	}{
		{"sized", "application/json", true, 200, []string{"{", "}"}, []string{"header", "{", "flush", "}", "flush"}},
		{"sized error", "application/json", true, 400, []string{"{}"}, []string{"header", "{}", "flush"}},
		{"no length", "application/json", false, 200, []string{"{", "}"}, []string{"header", "flush", "{", "flush", "}", "flush"}},
		{"stream", "text/event-stream", false, 200, []string{"data: 1\n\n"}, []string{"header", "flush", "data: 1\n\n", "flush"}},
		{"stream with a length", "text/event-stream", true, 200, []string{"data: 1\n\n"}, []string{"header", "flush", "data: 1\n\n", "flush"}},
		{"empty", "application/json", true, 200, nil, []string{"header"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// What reverse_proxy does with flush_interval -1.
			next := caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
				w.Header().Set("Content-Type", tt.contentType)
				if tt.sized {
					w.Header().Set("Content-Length", strconv.Itoa(len(strings.Join(tt.pieces, ""))))
				}
				w.WriteHeader(tt.status)
				flush := http.NewResponseController(w).Flush
				if err := flush(); err != nil {
					return err
				}
				for _, piece := range tt.pieces {
					if _, err := w.Write([]byte(piece)); err != nil {
						return err
					}
					if err := flush(); err != nil {
						return err
					}
				}
				return nil
			})
			r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[]}`))
			r = r.WithContext(context.WithValue(r.Context(), caddy.ReplacerCtxKey, caddy.NewReplacer()))
			w := &flushes{header: make(http.Header)}
			if err := h.ServeHTTP(w, r, next); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(w.seen, tt.want) {
				t.Errorf("the client saw %q, want %q", w.seen, tt.want)
			}
		})
	}
}
