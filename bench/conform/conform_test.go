package conform

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/provider"
)

// gateway is a stand-in for one: a provider that wants a key and knows its
// models, with the gateway's headers put on by wrap.
func gateway(t *testing.T, wrap func(http.Handler) http.Handler) Options {
	t.Helper()
	var h http.Handler = provider.New(provider.Config{Check: true, Keys: []string{"good"}, Models: []string{"gpt", "claude"}})
	s := httptest.NewServer(wrap(h))
	t.Cleanup(s.Close)
	return Options{URL: s.URL, Key: "good", Model: "gpt", AnthropicModel: "claude"}
}

// headers sets what a gateway says about a request.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Gateway-Overhead-Ms", "0.021")
		if r.Header.Get("X-Gateway-Optimize") != "" {
			w.Header().Set("X-Gateway-Applied", "rtk=standard;saved=30000")
			w.Header().Set("X-Gateway-Saved-Bytes", "30000")
		}
		next.ServeHTTP(w, r)
	})
}

func verdicts(checks []Check) map[string]Verdict {
	out := make(map[string]Verdict)
	for _, c := range checks {
		out[c.Name] = c.Verdict
	}
	return out
}

func TestAllPass(t *testing.T) {
	checks := Run(context.Background(), gateway(t, headers))
	if len(checks) != 18 {
		t.Errorf("%d checks", len(checks))
	}
	for _, c := range checks {
		if c.Verdict != Pass || c.Spec == "" || c.Observed == "" {
			t.Errorf("%+v", c)
		}
	}
}

func TestKeyChecksAreSkippedWithoutKey(t *testing.T) {
	h := headers(provider.New(provider.Config{Check: true, Models: []string{"gpt", "claude"}}))
	s := httptest.NewServer(h)
	defer s.Close()
	for _, c := range Run(context.Background(), Options{URL: s.URL + "/", Model: "gpt", AnthropicModel: "claude"}) {
		want := Pass
		if strings.HasPrefix(c.Name, "unknown key") {
			want = Skip
		}
		if c.Verdict != want {
			t.Errorf("%+v", c)
		}
	}
}

// rewrite changes the answers to paths that end like that.
func rewrite(suffix string, change func(body string) string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return headers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, suffix) {
				next.ServeHTTP(w, r)
				return
			}
			rec := httptest.NewRecorder()
			next.ServeHTTP(rec, r)
			for k, v := range rec.Header() {
				w.Header()[k] = v
			}
			w.WriteHeader(rec.Code)
			w.Write([]byte(change(rec.Body.String())))
		}))
	}
}

func replace(old, new string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, old, new) }
}

// Every check notices its fault.
func TestFaultsAreNoticed(t *testing.T) {
	status := func(suffix string, from, to int) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return headers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rec := httptest.NewRecorder()
				next.ServeHTTP(rec, r)
				for k, v := range rec.Header() {
					w.Header()[k] = v
				}
				if rec.Code == from && strings.HasSuffix(r.URL.Path, suffix) {
					rec.Code = to
				}
				w.WriteHeader(rec.Code)
				w.Write(rec.Body.Bytes())
			}))
		}
	}
	header := func(name, value string) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return headers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if w.Header().Get(name) != "" {
					w.Header().Set(name, value)
				}
				next.ServeHTTP(w, r)
			}))
		}
	}
	for name, tc := range map[string]struct {
		wrap func(http.Handler) http.Handler
		want []string
	}{
		"list object":   {rewrite("/models", replace(`"list"`, `"array"`)), []string{"models"}},
		"model object":  {rewrite("/models", replace(`"object":"model"`, `"object":"x"`)), []string{"models"}},
		"chat object":   {rewrite("/chat/completions", replace(`"chat.completion"`, `"x"`)), []string{"chat"}},
		"finish reason": {rewrite("/chat/completions", replace(`"finish_reason":"stop"`, `"finish_reason":null`)), []string{"chat", "chat stream"}},
		"usage sum":     {rewrite("/chat/completions", replace(`"completion_tokens":40`, `"completion_tokens":41`)), []string{"chat usage", "chat stream usage"}},
		"chunk object":  {rewrite("/chat/completions", replace(`"chat.completion.chunk"`, `"chat.completion"`)), []string{"chat stream"}},
		"no done":       {rewrite("/chat/completions", replace("data: [DONE]\n\n", "")), []string{"chat stream", "chat stream usage"}},
		"after done": {rewrite("/chat/completions", func(s string) string {
			return strings.Replace(s, "data: [DONE]\n\n", "data: [DONE]\n\ndata: {}\n\n", 1)
		}), []string{"chat stream", "chat stream usage"}},
		"cut framing":       {rewrite("/chat/completions", func(s string) string { return strings.TrimSuffix(s, "\n") }), []string{"chat stream", "chat stream usage"}},
		"foreign line":      {rewrite("/chat/completions", replace("data: [DONE]", "event done\ndata: [DONE]")), []string{"chat stream", "chat stream usage"}},
		"message type":      {rewrite("/messages", replace(`"type":"message"`, `"type":"x"`)), []string{"messages"}},
		"event name":        {rewrite("/messages", replace("event: message_stop", "event: message_end")), []string{"messages stream"}},
		"no stop":           {rewrite("/messages", replace("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", "")), []string{"messages stream"}},
		"block not stopped": {rewrite("/messages", replace("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n", "")), []string{"messages stream"}},
		"wrong block":       {rewrite("/messages", replace(`"content_block_delta","index":0`, `"content_block_delta","index":1`)), []string{"messages stream"}},
		"response object":   {rewrite("/responses", replace(`"object":"response"`, `"object":"x"`)), []string{"responses", "responses stream"}},
		"sequence":          {rewrite("/responses", replace(`"sequence_number":3`, `"sequence_number":4`)), []string{"responses stream"}},
		"no completed":      {rewrite("/responses", replace(`response.completed`, `response.x`)), []string{"responses stream"}},
		"key accepted":      {status("/chat/completions", 401, 403), []string{"unknown key"}},
		"anthropic key":     {rewrite("/messages", replace(`authentication_error`, `x_error`)), []string{"unknown key, Anthropic"}},
		"model status":      {status("/chat/completions", 404, 400), []string{"unknown model"}},
		"anthropic model":   {status("/messages", 404, 400), []string{"unknown model, Anthropic"}},
		"invalid accepted":  {status("/chat/completions", 400, 500), []string{"invalid body"}},
		"plain text error": {rewrite("/chat/completions", func(s string) string {
			if strings.Contains(s, `"error"`) {
				return "no"
			}
			return s
		}), []string{"unknown key", "unknown model", "invalid body"}},
		"nothing applied":    {header("X-Gateway-Applied", ""), []string{"saving, chat", "saving, messages", "saving, responses"}},
		"little saved":       {header("X-Gateway-Saved-Bytes", "99"), []string{"saving, chat", "saving, messages", "saving, responses"}},
		"overhead no number": {header("X-Gateway-Overhead-Ms", "fast"), []string{"overhead"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := verdicts(Run(context.Background(), gateway(t, tc.wrap)))
			for _, want := range tc.want {
				if got[want] != Fail {
					t.Errorf("%s: %s", want, got[want])
				}
				delete(got, want)
			}
			for check, v := range got {
				if v != Pass {
					t.Errorf("%s: %s", check, v)
				}
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	for _, c := range Run(context.Background(), Options{URL: s.URL, Key: "k", Model: "m", AnthropicModel: "a"}) {
		if c.Verdict != Fail {
			t.Errorf("%+v", c)
		}
	}
}

func TestNoisyResult(t *testing.T) {
	text := noisy()
	if got := strings.Count(text, "\n") + 1; got != noisyLines {
		t.Errorf("%d lines", got)
	}
	if !strings.Contains(text, "want 4170") {
		t.Error("the failure is missing")
	}
	if !json.Valid([]byte(noisyCommand)) {
		t.Error("the arguments are no JSON")
	}
}
