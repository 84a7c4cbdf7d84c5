package llmgateway_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	llmgateway "github.com/caddy-llm-gateway/caddy-llm-gateway"
)

// TestCapture reads what was written of an exchange.
func TestCapture(t *testing.T) {
	provider := scripted(t, answer(200, `{"id":"the answer"}`, "Set-Cookie", "session=top-secret"))
	dir := filepath.Join(t.TempDir(), "captures")
	base := serve(t, `llm_gateway {
		capture `+dir+`
		provider p `+provider.URL+` {
			api_key provider-secret
		}
		model gpt-5-mini {
			upstream_model gpt-5-nano
		}
	}`)
	post(t, base+"/v1/chat/completions?a=1&api_key=top-secret", smallChat, "X-Api-Key", "top-secret", "Authorization", "Bearer top-secret", "Cookie", "c=top-secret", "X-Mine", "seen")
	// It is written when the client has long had the answer. Stopping writes what
	// is still queued.
	await(t, func() (int, bool) {
		files, _ := filepath.Glob(filepath.Join(dir, "*.capture"))
		return len(files), len(files) == 1
	})
	written := llmgateway.CapturesWritten()
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, done := range written {
		<-done
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.capture"))
	if len(files) != 1 {
		t.Fatalf("%d files", len(files))
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for _, want := range []string{"POST /v1/chat/completions?a=1&api_key=REDACTED HTTP/1.1\n", "X-Mine: seen", "X-Api-Key: REDACTED", "Authorization: REDACTED", smallChat,
		strings.Replace(smallChat, "gpt-5-mini", "gpt-5-nano", 1), "--- answer 200\n", `{"id":"the answer"}`, "X-Gateway-Route: p/key1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Errorf("a credential was written:\n%s", text)
	}
}
