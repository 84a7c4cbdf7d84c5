package llmgateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	llmgateway "github.com/caddy-llm-gateway/caddy-llm-gateway"
)

// sidecar is a server that hands on what it is told.
func sidecar(t *testing.T, answer http.HandlerFunc) (url string, told chan map[string]any) {
	told = make(chan map[string]any, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m map[string]any
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &m)
		}
		if err != nil {
			t.Errorf("sidecar: %v", err)
		}
		told <- m
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, told
}

// TestHTTPHook reads what a sidecar is told, with bodies and without.
func TestHTTPHook(t *testing.T) {
	provider := scripted(t, answer(200, `{"id":"1","model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`))
	quiet, told := sidecar(t, nil)
	curious, all := sidecar(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "\x00garbage{") })
	base := serve(t, `llm_gateway {
		provider p `+provider.URL+` {
			api_key provider-secret
		}
		key alice sk-alice
		hook http `+quiet+` {
			deadline 5s
		}
		hook http `+curious+` {
			deadline 5s
			bodies
		}
	}`)
	res, _ := post(t, base+"/v1/chat/completions", smallChat, "X-Api-Key", "sk-alice", "X-Gateway-Session", "s1")
	if res.StatusCode != 200 {
		t.Fatalf("%d", res.StatusCode)
	}
	before, after := <-told, <-told
	if before["event"] != "before_request" || before["model"] != "gpt-5-mini" || before["endpoint"] != "chat" || before["key"] != "alice" || before["session"] != "s1" || before["id"] == "" {
		t.Errorf("before: %v", before)
	}
	if after["event"] != "after_response" || after["id"] != before["id"] || after["status"] != 200.0 || after["route"] != "p/key1" || after["input_tokens"] != 3.0 || after["output_tokens"] != 4.0 {
		t.Errorf("after: %v", after)
	}
	if s := fmt.Sprint(before, after); strings.Contains(s, "request:") || strings.Contains(s, "hi") || strings.Contains(s, "secret") || strings.Contains(s, "sk-alice") {
		t.Errorf("told too much: %s", s)
	}
	before, after = <-all, <-all
	if before["request"] != smallChat || before["response"] != nil || after["request"] != smallChat || !strings.Contains(fmt.Sprint(after["response"]), `"id":"1"`) {
		t.Errorf("with bodies: %v, %v", before, after)
	}
}

// testHook is a guest module that misbehaves.
type testHook struct{ Mode string }

var testHookCalls atomic.Int64

func (testHook) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: llmgateway.HooksNamespace + ".test", New: func() caddy.Module { return new(testHook) }}
}

func (h *testHook) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	h.Mode = d.RemainingArgs()[0]
	return nil
}

func (h *testHook) BeforeRequest(ctx context.Context, e *llmgateway.Exchange) error {
	testHookCalls.Add(1)
	switch h.Mode {
	case "panic":
		panic("boom")
	case "error":
		return errors.New("no")
	case "forever":
		select {}
	}
	return nil
}

func init() { caddy.RegisterModule(testHook{}) }

// TestHooksNeverBreakARequest meets sidecars and modules of every kind of
// trouble.
func TestHooksNeverBreakARequest(t *testing.T) {
	provider := scripted(t, answer(200, `{"id":"1"}`))
	release := make(chan bool)
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer slow.Close()
	defer close(release)
	failing, _ := sidecar(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	for name, hook := range map[string]string{
		"slow":    "http " + slow.URL,
		"dead":    fmt.Sprintf("http http://127.0.0.1:%d/", freePort(t)),
		"500":     "http " + failing,
		"panic":   "test panic",
		"error":   "test error",
		"forever": "test forever",
	} {
		t.Run(name, func(t *testing.T) {
			base := serve(t, "llm_gateway {\nhook "+hook+"\nprovider p "+provider.URL+"\n}")
			metric := "http"
			if strings.HasPrefix(hook, "test") {
				metric = "test"
			}
			failed := llmgateway.HookFailures(metric)
			for range 3 {
				res, body := post(t, base+"/v1/chat/completions", smallChat)
				if res.StatusCode != 200 || body != `{"id":"1"}` {
					t.Errorf("%d %s", res.StatusCode, body)
				}
			}
			if n := llmgateway.HookFailures(metric) - failed; n < 3 {
				t.Errorf("%v failures counted, want one for each request", n)
			}
		})
	}
	if testHookCalls.Load() == 0 {
		t.Error("the module was never called")
	}
}
