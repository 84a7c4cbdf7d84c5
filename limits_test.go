package llmgateway_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestBudgetSurvivesReload spends a budget by the usage that the provider
// reports, over a reload.
func TestBudgetSurvivesReload(t *testing.T) {
	rec := record(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500,"prompt_tokens_details":{"cached_tokens":400}}}`)
	})
	// 600 x 1 + 400 x 0.5 + 500 x 4 per million = 0.0028 USD a request.
	site := "llm_gateway {\nlimits disk " + filepath.Join(t.TempDir(), "limits.db") + "\nmodel gpt-5-mini {\nprice 1 4 0.5\n}\nkey a sk-a {\nbudget 0.0083 daily\n%s\n}\n}\nreverse_proxy " + rec.URL
	base, load := serveOptions(t, "", fmt.Sprintf(site, ""))
	for i, want := range []int{200, 200, 200, 429} {
		if i == 2 {
			if err := load(fmt.Sprintf(site, "rpm 100")); err != nil {
				t.Fatal(err)
			}
		}
		res, body := post(t, base+"/v1/chat/completions", smallChat, "X-Api-Key", "sk-a")
		if res.StatusCode != want {
			t.Fatalf("request %d: %d %s", i, res.StatusCode, body)
		}
		if want == 429 && (!strings.Contains(body, `"code":"budget_exceeded"`) || res.Header.Get("Retry-After") == "") {
			t.Errorf("%s %v", body, res.Header)
		}
	}
}

// TestConcurrencyLimit holds two requests at the provider; a third is refused
// at once, and let in when one of them is over.
func TestConcurrencyLimit(t *testing.T) {
	arrived, release := make(chan struct{}, 8), make(chan struct{})
	rec := record(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-release
		io.WriteString(w, "{}")
	})
	base := serve(t, "llm_gateway {\nkey a sk-a {\nconcurrency 2\n}\n}\nreverse_proxy "+rec.URL)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { post(t, base+"/v1/chat/completions", smallChat, "X-Api-Key", "sk-a") })
		<-arrived
	}
	res, body := post(t, base+"/v1/chat/completions", smallChat, "X-Api-Key", "sk-a")
	if res.StatusCode != 429 || !strings.Contains(body, `"code":"concurrency_limited"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	close(release)
	wg.Wait()
	if res, _ := post(t, base+"/v1/chat/completions", smallChat, "X-Api-Key", "sk-a"); res.StatusCode != 200 {
		t.Errorf("after: %d", res.StatusCode)
	}
}

// TestRateUnderLoad sends from 32 goroutines: within one percent of the
// allowance gets through.
func TestRateUnderLoad(t *testing.T) {
	rec := record(t, nil)
	base := serve(t, "llm_gateway {\nkey a sk-a {\nrpm 300\n}\n}\nreverse_proxy "+rec.URL)
	var admitted atomic.Int32
	var wg sync.WaitGroup
	began := time.Now()
	for range 32 {
		wg.Go(func() {
			for range 12 {
				res, _ := post(t, base+"/v1/chat/completions", smallChat, "X-Api-Key", "sk-a")
				if res.StatusCode == 200 {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	// 384 requests in a burst; while it lasts the allowance refills by five a
	// second.
	most := min(384, 300+int(5*time.Since(began).Seconds())+3)
	if n := int(admitted.Load()); n < 300 || n > most {
		t.Errorf("%d of 384 admitted with rpm 300, expected 300 to %d", n, most)
	}
	if n := len(rec.take()); n != int(admitted.Load()) {
		t.Errorf("%d reached the provider", n)
	}
}

// TestPlaceIsFreeWithTheAnswer has a client with room for one request which
// sends the next one as soon as it has the whole answer, while the provider
// still holds the connection open.
func TestPlaceIsFreeWithTheAnswer(t *testing.T) {
	chat := `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500}}`
	chunk := `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}` + "\n\n"
	for _, tc := range []struct {
		name, contentType, path string
		status                  int
		whole                   string // what the client reads before its next request
	}{
		{"JSON", "application/json", "/v1/chat/completions", 200, chat},
		{"stream", "text/event-stream", "/v1/chat/completions", 200, chunk + "data: [DONE]\n\n"},
		{"messages", "text/event-stream", "/v1/messages", 200, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
		{"responses", "text/event-stream", "/v1/responses", 200, "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":10,\"output_tokens\":1,\"total_tokens\":11}}}\n\n"},
		{"error", "application/json", "/v1/chat/completions", 400, `{"error":{"message":"no"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			release := make(chan struct{})
			rec := record(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", tc.contentType)
				w.WriteHeader(tc.status)
				io.WriteString(w, tc.whole)
				http.NewResponseController(w).Flush()
				<-release
			})
			t.Cleanup(func() { close(release) })
			base := serve(t, "llm_gateway {\nkey a sk-a {\nconcurrency 1\n}\n}\nreverse_proxy "+rec.URL)
			for i := range 3 {
				req, _ := http.NewRequest(http.MethodPost, base+tc.path, strings.NewReader(smallChat))
				req.Header.Set("Authorization", "Bearer sk-a")
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { res.Body.Close() })
				body := make([]byte, len(tc.whole))
				if _, err := io.ReadFull(res.Body, body); err != nil || res.StatusCode != tc.status || string(body) != tc.whole {
					t.Fatalf("request %d: %d %v %s", i, res.StatusCode, err, body)
				}
			}
		})
	}
}
