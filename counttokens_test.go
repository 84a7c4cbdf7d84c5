package llmgateway_test

import (
	"strings"
	"testing"

	llmgateway "github.com/caddy-llm-gateway/caddy-llm-gateway"
)

// TestCountTokens counts locally where the provider does not, and there where
// it does.
func TestCountTokens(t *testing.T) {
	llmgateway.WaitForTokenizers()
	local := scripted(t, answer(200, `{}`))
	claude := scripted(t, answer(200, `{"input_tokens":77}`))
	base := serve(t, `llm_gateway {
		provider local `+local.URL+` {
			format ollama
		}
		provider claude `+claude.URL+` {
			format anthropic
			api_key secret
		}
		model local-* {
			provider local
		}
		model fast {
			provider local claude
			upstream_model claude-haiku
		}
		key all sk-all
		key some sk-some {
			models local-*
		}
	}`)
	path := base + "/v1/messages/count_tokens"
	ask := func(model, text string) string {
		return `{"model":"` + model + `","messages":[{"role":"user","content":"` + text + `"}]}`
	}
	for _, tc := range []struct {
		name, body, key string
		status          int
		want            string
	}{
		{"counted here", ask("local-a", "hello world"), "sk-all", 200, `{"input_tokens":9}`},
		{"an image", `{"model":"local-a","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"x"}}]}]}`, "sk-all", 200, `{"input_tokens":1607}`},
		{"counted there", ask("fast", "hello world"), "sk-all", 200, `{"input_tokens":77}`},
		{"not allowed", ask("fast", "x"), "sk-some", 403, `"type":"permission_error"`},
		{"unknown model", ask("nope", "x"), "sk-all", 404, `"type":"not_found_error"`},
		{"no key", ask("local-a", "x"), "", 401, `"type":"authentication_error"`},
		{"no model", `{"messages":[]}`, "sk-all", 400, `"type":"invalid_request_error"`},
		{"not JSON", `{"model":"local-a"`, "sk-all", 400, `"type":"invalid_request_error"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, body := post(t, path, tc.body, "X-Api-Key", tc.key)
			if res.StatusCode != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("%d %s, want %d %s", res.StatusCode, body, tc.status, tc.want)
			}
			if warned := res.Header.Get("X-Gateway-Warning"); strings.HasPrefix(tc.name, "counted here") && !strings.Contains(warned, "estimate (o200k_base)") {
				t.Errorf("warning %q", warned)
			}
		})
	}
	if n := len(local.take()); n != 0 {
		t.Errorf("%d requests reached a provider that cannot count", n)
	}
	seen := claude.take()
	if len(seen) != 1 || seen[0].uri != "/v1/messages/count_tokens" || string(seen[0].body) != ask("claude-haiku", "hello world") || seen[0].header.Get("X-Api-Key") != "secret" {
		t.Errorf("claude got %v", seen)
	}
	// The tools count, and more text is more tokens, in the pool, too.
	_, one := post(t, path, ask("local-a", strings.Repeat("some words ", 10_000)), "X-Api-Key", "sk-all")
	if one != `{"input_tokens":20008}` {
		t.Errorf("a long text: %s", one)
	}
}
