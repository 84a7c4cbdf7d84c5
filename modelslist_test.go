package llmgateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func get(t *testing.T, url string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := oneShot.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// ids are the model ids of a list in either shape.
func ids(t *testing.T, body string) string {
	t.Helper()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	var out []string
	for _, m := range list.Data {
		out = append(out, m.ID)
	}
	return strings.Join(out, " ")
}

func TestModelsList(t *testing.T) {
	var calls atomic.Int32
	release := make(chan struct{})
	openai := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k" || r.URL.Path != "/v1/models" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		calls.Add(1)
		<-release
		answer(200, `{"object":"list","data":[{"id":"gpt-5"},{"id":"gpt-5-mini"},{"id":"whisper-1"}]}`)(w, r)
	})
	dead := scripted(t, answer(500, "no"))
	base := serve(t, `llm_gateway {
		provider openai `+openai.URL+` {
			api_key k
		}
		provider claude `+dead.URL+` {
			format anthropic
			api_key k2
		}
		model fast {
			provider openai
			upstream_model gpt-5-nano
		}
		model gpt-* {
			provider openai
		}
		model claude-* {
			provider claude
		}
		key all sk-all
		key some sk-some {
			models fast gpt-5
		}
	}`)
	const n = 12
	var wg sync.WaitGroup
	var sent atomic.Int32
	for range n {
		wg.Go(func() {
			if sent.Add(1) == n {
				close(release)
			}
			_, body := get(t, base+"/v1/models", "Authorization", "Bearer sk-all")
			if got := ids(t, body); got != "fast gpt-5 gpt-5-mini" {
				t.Errorf("models: %s", got)
			}
		})
	}
	wg.Wait()
	if calls.Load() != 1 {
		t.Errorf("%d cold requests made %d calls", n, calls.Load())
	}
	_, body := get(t, base+"/v1/models", "X-Api-Key", "sk-some")
	if got := ids(t, body); got != "fast gpt-5" {
		t.Errorf("of a restricted key: %s", got)
	}
	if !strings.Contains(body, `"object":"list"`) || !strings.Contains(body, `"owned_by":"openai"`) {
		t.Errorf("not OpenAI's shape: %s", body)
	}
	_, body = get(t, base+"/v1/models", "X-Api-Key", "sk-some", "Anthropic-Version", "2023-06-01")
	if ids(t, body) != "fast gpt-5" || !strings.Contains(body, `"has_more":false`) || !strings.Contains(body, `"first_id":"fast"`) {
		t.Errorf("not Anthropic's shape: %s", body)
	}
	res, _ := get(t, base+"/v1/models")
	if res.StatusCode != 401 {
		t.Errorf("without a key: %d", res.StatusCode)
	}
}

func TestModelsListOfUpstream(t *testing.T) {
	one := scripted(t, answer(200, `{"object":"list","data":[{"id":"a"},{"id":"b"}] }`))
	base := serve(t, "llm_gateway {\nprovider one "+one.URL+"\n}")
	if _, body := get(t, base+"/v1/models"); body != `{"object":"list","data":[{"id":"a"},{"id":"b"}] }` {
		t.Errorf("not untouched: %s", body)
	}
	base = serve(t, "llm_gateway {\nprovider one "+one.URL+" {\napi_key p\n}\nkey k sk-k {\nmodels b\n}\n}")
	if _, body := get(t, base+"/v1/models", "X-Api-Key", "sk-k"); ids(t, body) != "b" {
		t.Errorf("a restricted key sees %s", body)
	}
}
