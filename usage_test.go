package llmgateway_test

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestSavedMoney compares what is said of money saved with what the prices say
// that the answer from the cache, or the tokens that were not sent, would have
// cost.
func TestSavedMoney(t *testing.T) {
	stream := `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"ok"},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":2000,"completion_tokens":100,"total_tokens":2100}}

data: [DONE]

`
	body, streamed, silent, unknown, tokens := unique("money-body"), unique("money-stream"), unique("money-silent"), unique("money-unknown"), unique("money-tokens")
	one := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		text := map[string]string{
			body:     `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":50,"total_tokens":1050,"prompt_tokens_details":{"cached_tokens":400}}}`,
			streamed: stream,
			silent:   `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat("word ", 100) + `"},"finish_reason":"stop"}]}`,
			unknown:  `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":50,"total_tokens":1050}}`,
		}[r.Header.Get("X-Model")]
		w.Header().Set("Content-Type", "application/json")
		if text == stream {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = w.Write([]byte(text)) // a failure shows in what the client gets
	})
	base, admin := serveAdmin(t, `llm_gateway {
		cache exact {
			store disk `+filepath.Join(t.TempDir(), "cache")+`
		}
		model `+body+` {
			price 10 100 1
		}
		model `+streamed+` `+silent+` {
			price 10 100
		}
		model `+unknown+`
		model `+tokens+` {
			price 10 100 1
			cache off
			optimize rtk standard
		}
		provider one `+one.URL+` {
			format openai
		}
	}`)
	type figures struct {
		Requests      int     `json:"requests"`
		Hits          int     `json:"cache_hits"`
		InputTokens   int     `json:"input_tokens"`
		SavedTokens   float64 `json:"saved_tokens"`
		CostUSD       float64 `json:"cost_usd"`
		SavedUSD      float64 `json:"saved_usd"`
		CacheSavedUSD float64 `json:"cache_saved_usd"`
	}
	totals := func(model string, requests int) figures {
		t.Helper()
		return await(t, func() (figures, bool) {
			status, text := call(t, http.MethodGet, admin+"/llm_gateway/stats?model="+model)
			var s struct{ Total figures }
			if err := json.Unmarshal([]byte(text), &s); status != 200 || err != nil {
				t.Fatalf("%d %v %s", status, err, text)
			}
			return s.Total, s.Total.Requests == requests
		})
	}
	// A client that hangs up at once may be gone before the answer is stored.
	client := &http.Client{Transport: new(http.Transport)}
	t.Cleanup(client.CloseIdleConnections)
	same := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9 }
	for _, tc := range []struct {
		model, more string
		cost        float64 // of one answer
	}{
		{body, "", (600*10 + 400*1 + 50*100) / 1e6},
		{streamed, `"stream":true,"stream_options":{"include_usage":true},`, (2000*10 + 100*100) / 1e6},
		{silent, "", -1}, // an estimate
		{unknown, "", 0},
	} {
		request := `{"model":"` + tc.model + `",` + tc.more + `"messages":[{"role":"user","content":"` + strings.Repeat("question ", 40) + `"}]}`
		for range 3 {
			req, err := http.NewRequest(http.MethodPost, base+"/v1/chat/completions", strings.NewReader(request))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-Model", tc.model)
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(res.Body); res.StatusCode != 200 || err != nil {
				t.Fatalf("%s: %d %s %v", tc.model, res.StatusCode, text, err)
			}
			res.Body.Close()
		}
		got := totals(tc.model, 3)
		cost := tc.cost
		if cost < 0 {
			if cost = got.CostUSD; cost <= 0 {
				t.Errorf("%s: no estimate: %+v", tc.model, got)
			}
		}
		// The second may also have shared the answer to the first.
		if got.Hits == 0 || !same(got.CostUSD, cost) || !same(got.CacheSavedUSD, 2*cost) || !same(got.SavedUSD, 2*cost) {
			t.Errorf("%s: %+v, one answer costs %v", tc.model, got, cost)
		}
	}
	one.steps = []http.HandlerFunc{answer(200, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":50,"total_tokens":1050,"prompt_tokens_details":{"cached_tokens":900}}}`)}
	post(t, base+"/v1/chat/completions", strings.Replace(chatWithToolResult("go test ./...", goTestRun(900)), "gpt-5-mini", tokens, 1))
	// 900 of 1000 tokens were read from the prompt cache, and so would the
	// tokens have been that were not sent.
	got := totals(tokens, 1)
	if want := got.SavedTokens * (100*10 + 900*1) / 1000 / 1e6; got.SavedTokens == 0 || got.CacheSavedUSD != 0 || !same(got.SavedUSD, want) {
		t.Errorf("tokens: %+v, want %v saved", got, want)
	}
	_, metrics := call(t, http.MethodGet, admin+"/metrics")
	for _, line := range []string{
		`caddy_llm_gateway_saved_usd_total{cause="cache",model="` + streamed + `"} 0.06`,
		`caddy_llm_gateway_saved_usd_total{cause="tokens",model="` + tokens + `"} `,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("missing: %s", line)
		}
	}
	if strings.Contains(metrics, `cause="cache",model="`+unknown+`"`) {
		t.Error("money without a price")
	}
}
