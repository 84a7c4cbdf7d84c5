package browser

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/stats"
)

// hostile is a name that does harm where it is taken for markup.
const hostile = `<img src=x onerror="window.harmed=1"></td><script>window.harmed=1</script>`

// month is a recorder that has seen thirty days of traffic up to now: two busy
// models, a few rare ones, and names as bad as they get.
func month(now time.Time) *stats.Recorder {
	at := now
	r := stats.New(func() time.Time { return at })
	random := rand.New(rand.NewPCG(7, 11))
	models := []string{"claude-sonnet-4-5", "gpt-5", "gpt-5-mini", "deepseek-reasoner", hostile, "team/" + strings.Repeat("very-long-model-name-", 6)}
	for i := range 8 {
		models = append(models, fmt.Sprintf("local-%d", i))
	}
	providers, keys := []string{"anthropic", "openai", "local"}, []string{"ci", "alice", "bob", "", "nightly-evaluations", hostile}
	step := 7 * time.Minute
	for at = now.Add(-30*24*time.Hour + step); !at.After(now); at = at.Add(step) {
		if now.Sub(at) < 24*time.Hour {
			step = time.Minute
		}
		local := at.Hour()
		load := 1 + random.IntN(3)
		if local >= 8 && local < 19 {
			load += random.IntN(5)
		}
		for range load {
			model := int(random.ExpFloat64() * 1.6)
			s := stats.Sample{Time: at, Endpoint: "chat", Model: models[model%len(models)], Provider: providers[model%3], Key: keys[random.IntN(len(keys))], Status: 200, Stream: random.IntN(3) > 0,
				Route: providers[model%3] + "/key1", Attempts: 1, OverheadMS: 0.2 + random.ExpFloat64()*0.9, TTFTMS: 180 + random.ExpFloat64()*420, InputTokens: int64(900 + random.ExpFloat64()*24000), OutputTokens: int64(40 + random.ExpFloat64()*600), Cache: "MISS"}
			s.DurationMS = s.TTFTMS + float64(s.OutputTokens)*11
			s.CacheReadTokens = s.InputTokens * int64(random.IntN(80)) / 100
			s.CostUSD = float64(s.InputTokens)*1.25e-6 + float64(s.OutputTokens)*1e-5
			switch random.IntN(12) {
			case 0:
				s.Cache, s.TTFTMS, s.DurationMS, s.SavedUSD, s.CacheSavedUSD, s.CostUSD = "HIT", 0, 1.4, s.CostUSD, s.CostUSD, 0
			case 1:
				s.Cache, s.Skipped = "BYPASS", "no block over 2048 bytes"
			case 2:
				s.Status, s.OutputTokens, s.CostUSD = []int{429, 500, 499, 400}[random.IntN(4)], 0, 0
			case 3:
				s.Skipped, s.Estimated = hostile, true
			default:
				s.SavedBytes = int64(random.ExpFloat64() * 40000)
				s.SavedTokens = s.SavedBytes / 4
				s.SavedUSD = float64(s.SavedTokens) * 1.25e-6
				s.Applied = []stats.Applied{{Name: "rtk", Level: "standard", SavedBytes: s.SavedBytes * 3 / 4}, {Name: "headroom", Level: "balanced", SavedBytes: s.SavedBytes / 4}}
			}
			r.Observe(s)
		}
	}
	at = now
	return r
}

// TestDashboardHistory opens the page on a month of figures.
func TestDashboardHistory(t *testing.T) {
	requireBrowser(t)
	page, err := os.ReadFile("../dashboard/index.html")
	if err != nil {
		t.Fatal(err)
	}
	recorder := month(time.Now())
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		span := map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "30d": 30 * 24 * time.Hour}[q.Get("range")]
		filter := stats.Filter{Model: q.Get("model"), Provider: q.Get("provider"), Key: q.Get("key"), NoKey: q.Get("no_key") == "true"}
		switch r.URL.Path {
		case "/llm_gateway/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Write(page)
		case "/llm_gateway/stats":
			if err := json.NewEncoder(w).Encode(recorder.Summarize(span, filter)); err != nil {
				t.Error(err)
			}
		case "/llm_gateway/live":
			w.Header().Set("Content-Type", "text/event-stream")
			data, err := json.Marshal(map[string]any{
				"stats":    recorder.Summarize(span, filter).Coarsen(120),
				"requests": recorder.Recent(50, filter),
				"providers": []any{
					map[string]any{"name": "anthropic", "format": "anthropic", "urls": []string{"https://api.anthropic.com"}, "credentials": []any{
						map[string]any{"label": "team-a", "healthy": true, "latency_ms": 412.5},
						map[string]any{"label": "team-b", "healthy": false, "reason": "cooldown", "for_ms": 74000, "failures": 2, "latency_ms": 980.1},
					}},
					map[string]any{"name": hostile, "format": "openai", "urls": []string{"https://" + strings.Repeat("long.", 20) + "example"}, "credentials": []any{
						map[string]any{"label": "key1", "healthy": false, "reason": "rejected", "failures": 1}}},
				},
				"cache": []any{map[string]any{"name": "disk:/var/lib/caddy/cache", "entries": 18234, "bytes": 412345678, "hits_exact": 9123, "hits_similar": 1023, "misses": 41234, "coalesced": 310,
					"bypasses": map[string]int{"temperature": 812, "streaming_tools": 77}, "stored": 30211, "not_stored": map[string]int{"incomplete": 14}, "evictions": 1200, "drops": 2, "damaged": 0, "unreachable": 0}},
				"guard": []any{
					map[string]any{"model": "claude-sonnet-4-5", "optimizers": "headroom=balanced", "state": "off", "since": "2031-04-02T05:00:00Z", "until": "2031-04-02T06:00:00Z", "switched_off": 2, "judged": true, "price_change_rate": 0.241,
						"control_conversations": 31, "optimized_conversations": 1502, "control_cache_read_share": 0.83, "optimized_cache_read_share": 0.41,
						"control_input_tokens": 812345, "optimized_input_tokens": 30812345, "saved_tokens": 9123456, "site": "llm.example.com"},
					map[string]any{"model": hostile, "optimizers": "squoze=on", "state": "on", "since": "2031-04-01T05:00:00Z", "switched_off": 0, "judged": false, "price_change_rate": -0.183,
						"control_conversations": 3, "optimized_conversations": 140, "control_cache_read_share": 0.82, "optimized_cache_read_share": 0.81,
						"control_input_tokens": 12345, "optimized_input_tokens": 812345, "saved_tokens": 123456, "site": "llm.example.com"},
				},
			})
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, "data: %s\n\n", data)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	})
	var want []string
	for _, span := range []time.Duration{time.Hour, 24 * time.Hour, 30 * 24 * time.Hour} {
		want = append(want, fmt.Sprint(recorder.Summarize(span, stats.Filter{}).Total.Requests))
	}
	keyless := recorder.Summarize(30*24*time.Hour, stats.Filter{NoKey: true}).Total.Requests
	drive(t, "history", map[string]string{"admin": base, "hostile": hostile, "requests": strings.Join(want, " "), "keyless": fmt.Sprint(keyless)})
}
