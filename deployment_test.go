package llmgateway_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestDeployment tries to reach a deployment that the key may not use. On
// Azure the path decides which model answers, whatever the body says.
func TestDeployment(t *testing.T) {
	azure := scripted(t, answer(200, "{}"))
	base := serve(t, `llm_gateway {
		provider azure `+azure.URL+` {
			format azure-openai
			api_key provider-secret
		}
		model dep-a {
			provider azure
		}
		model alias {
			provider azure
			upstream_model dep-real
		}
		model *
		key alice sk-alice {
			models dep-a alias
		}
		key bob sk-bob
	}`)
	const body, other = `{"model":"dep-a","messages":[]}`, `{"model":"forbidden","messages":[]}`
	for _, tc := range []struct {
		name, path, body, key string
		status                int
		upstream              string // path at the provider
	}{
		{"allowed", "/openai/deployments/dep-a/chat/completions?api-version=1", body, "sk-alice", 200, "/openai/deployments/dep-a/chat/completions?api-version=1"},
		{"the body does not matter", "/openai/deployments/dep-a/chat/completions", other, "sk-alice", 200, "/openai/deployments/dep-a/chat/completions"},
		{"no model in the body", "/openai/deployments/dep-a/chat/completions", `{"messages":[]}`, "sk-alice", 200, "/openai/deployments/dep-a/chat/completions"},
		{"alias", "/openai/deployments/alias/chat/completions", other, "sk-alice", 200, "/openai/deployments/dep-real/chat/completions"},
		{"behind a prefix", "/azure/openai/deployments/dep-a/chat/completions", body, "sk-alice", 200, "/openai/deployments/dep-a/chat/completions"},
		{"forbidden", "/openai/deployments/forbidden/chat/completions", body, "sk-alice", 403, ""},
		{"forbidden, in capitals", "/openai/Deployments/forbidden/Chat/Completions", body, "sk-alice", 403, ""},
		{"forbidden, images", "/openai/deployments/forbidden/images/generations", body, "sk-alice", 403, ""},
		{"forbidden, slash at the end", "/openai/deployments/forbidden/chat/completions/", body, "sk-alice", 403, ""},
		{"dots", "/openai/deployments/dep-a/../forbidden/chat/completions", body, "sk-alice", 400, ""},
		{"encoded dots", "/openai/deployments/dep-a/%2e%2e/forbidden/chat/completions", body, "sk-alice", 400, ""},
		{"encoded slash", "/openai/deployments/dep-a%2F..%2Fforbidden/chat/completions", body, "sk-alice", 400, ""},
		{"empty segment", "/openai/deployments//forbidden/chat/completions", body, "sk-alice", 400, ""},
		{"two", "/openai/deployments/dep-a/deployments/forbidden/chat/completions", body, "sk-alice", 400, ""},
		{"a prefix that the provider does not see", "/deployments/dep-a/v1/chat/completions", other, "sk-alice", 403, ""},
		{"the same, allowed by its body", "/deployments/forbidden/v1/chat/completions", body, "sk-alice", 200, "/openai/v1/chat/completions"},
		{"realtime", "/v1/realtime?model=forbidden", body, "sk-alice", 403, ""},
		{"no list", "/openai/deployments/forbidden/chat/completions", body, "sk-bob", 200, "/openai/deployments/forbidden/chat/completions"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, got := post(t, base+tc.path, tc.body, "Api-Key", tc.key)
			if res.StatusCode != tc.status {
				t.Errorf("got %d %s, want %d", res.StatusCode, got, tc.status)
			}
			seen := azure.take()
			if (len(seen) == 1) != (tc.status == 200) {
				t.Fatalf("the provider saw %d requests", len(seen))
			}
			if tc.status != 200 {
				return
			}
			if seen[0].uri != tc.upstream || string(seen[0].body) != tc.body || seen[0].header.Get("Api-Key") != "provider-secret" {
				t.Errorf("the provider got %s %s %v", seen[0].uri, seen[0].body, seen[0].header)
			}
		})
	}
	// A body too large to be read is of no concern where the path names the model.
	res, _ := post(t, base+"/openai/deployments/dep-a/chat/completions", `{"model":"dep-a","messages":[],"x":"`+strings.Repeat("x", 1<<10)+`"}`, "Api-Key", "sk-alice", "Content-Encoding", "snappy")
	if res.StatusCode != http.StatusOK {
		t.Errorf("%d", res.StatusCode)
	}
}

// TestQueryCredentials presents a key in every parameter that carries one.
func TestQueryCredentials(t *testing.T) {
	one := scripted(t, answer(200, "{}"))
	base := serve(t, "llm_gateway {\nprovider one "+one.URL+" {\napi_key p\n}\nkey a sk-a\n}")
	for _, name := range []string{"key", "api_key", "api-key", "access_token"} {
		res, _ := post(t, base+"/v1/chat/completions?x=%20&"+name+"=sk-a&y", smallChat)
		if res.StatusCode != 200 {
			t.Fatalf("%s: %d", name, res.StatusCode)
		}
		if got := one.take()[0].uri; got != "/v1/chat/completions?x=%20&y" {
			t.Errorf("%s: the provider got %s", name, got)
		}
	}
	if res, _ := post(t, base+"/v1/chat/completions?key=sk-a&api_key=sk-b", smallChat); res.StatusCode != 401 {
		t.Errorf("two that differ: %d", res.StatusCode)
	}
}
