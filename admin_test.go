package llmgateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	llmgateway "github.com/caddy-llm-gateway/caddy-llm-gateway"
)

// serveAdmin is serve with the admin endpoint on.
func serveAdmin(t *testing.T, site string) (base, admin string) {
	t.Helper()
	admin = fmt.Sprintf("127.0.0.1:%d", freePort(t))
	base, _ = serveScheme(t, "http", "admin "+admin+"\n\tauto_https off\n\tmetrics", site)
	return base, "http://" + admin
}

func call(t *testing.T, method, url string) (int, string) {
	t.Helper()
	req, _ := http.NewRequest(method, url, nil)
	res, err := oneShot.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(body)
}

func TestAdminAPI(t *testing.T) {
	model := unique("admin-test-model")
	one := scripted(t, answer(200, chatAnswer), answer(401, "{}"))
	base, admin := serveAdmin(t, `llm_gateway {
		cache exact {
			store disk `+filepath.Join(t.TempDir(), "cache")+`
		}
		model `+model+` {
			price 1 2
		}
		key alice sk-alice-secret {
			budget 5 daily
		}
		limits memory
		provider one `+one.URL+` {
			api_key provider-secret
		}
	}`)
	body := strings.Replace(smallChat, "gpt-5-mini", model, 1)
	get := func(path string, into any) {
		t.Helper()
		status, text := call(t, http.MethodGet, admin+"/llm_gateway/"+path)
		if status != 200 {
			t.Fatalf("%s: %d %s", path, status, text)
		}
		if strings.Contains(text, "secret") {
			t.Errorf("%s shows a secret: %s", path, text)
		}
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%s: %v: %s", path, err, text)
		}
	}
	type recent []struct {
		Model, Cache, Route string
		Status              int
	}
	var requests recent
	for n := range 2 {
		post(t, base+"/v1/chat/completions", body, "X-Api-Key", "sk-alice-secret")
		requests = await(t, func() (recent, bool) { // it is counted behind its answer
			var got recent
			get("requests?n=2", &got)
			return got, len(got) == 2 && got[0].Model == model && (n == 0 || got[1].Model == model)
		})
	}
	if len(requests) != 2 || requests[0].Cache != "HIT" || requests[1].Route != "one/key1" {
		t.Errorf("%+v", requests)
	}
	var stats struct {
		Total struct {
			Requests    int     `json:"requests"`
			Hits        int     `json:"cache_hits"`
			InputTokens int     `json:"input_tokens"`
			CostUSD     float64 `json:"cost_usd"`
		} `json:"total"`
		Keys []struct{ Name string } `json:"keys"`
	}
	get("stats?range=1h&model="+model, &stats)
	if stats.Total.Requests != 2 || stats.Total.Hits != 1 || stats.Total.InputTokens != 31 || stats.Total.CostUSD != 49e-6 || stats.Keys[0].Name != "alice" {
		t.Errorf("%+v", stats)
	}
	var keys []struct {
		Name  string
		Spent float64 `json:"spent_usd"`
	}
	get("keys", &keys)
	if len(keys) != 1 || keys[0].Name != "alice" || keys[0].Spent != 49e-6 {
		t.Errorf("%+v", keys)
	}
	var caches []struct {
		Entries int
		Hits    int `json:"hits_exact"`
	}
	get("cache", &caches)
	if len(caches) != 1 || caches[0].Entries != 1 || caches[0].Hits != 1 {
		t.Errorf("%+v", caches)
	}
	if status, text := call(t, http.MethodDelete, admin+"/llm_gateway/cache?key=alice"); status != 200 || text != "{\"removed\":1}\n" {
		t.Errorf("purge: %d %s", status, text)
	}
	post(t, base+"/v1/chat/completions", body, "X-Api-Key", "sk-alice-secret") // 401 from the provider
	var providers []struct {
		Credentials []struct {
			Label   string
			Healthy bool
			Reason  string
		}
	}
	get("providers", &providers)
	if c := providers[0].Credentials[0]; c.Healthy || c.Reason != "rejected" {
		t.Errorf("%+v", providers)
	}
	if status, text := call(t, http.MethodPost, admin+"/llm_gateway/providers/one/restore"); status != 200 || text != "{\"restored\":1}\n" {
		t.Errorf("restore: %d %s", status, text)
	}
	get("providers", &providers)
	if !providers[0].Credentials[0].Healthy {
		t.Errorf("%+v", providers)
	}
	for _, tc := range []struct {
		method, path string
		status       int
		text         string
	}{
		{http.MethodPost, "stats", 405, "expected GET"},
		{http.MethodGet, "stats?range=soon", 400, "expected 1m to 30d"},
		{http.MethodGet, "requests?n=0", 400, "at least 1"},
		{http.MethodGet, "requests?no_key=yes", 400, "true or false"},
		{http.MethodGet, "stats?no_key=true&key=alice", 400, "got both"},
		{http.MethodGet, "requests?no_key=true&model=admin-test-model", 200, "[]"},
		{http.MethodGet, "nothing", 404, "nothing at"},
		{http.MethodDelete, "cache", 400, "expected all=true"},
		{http.MethodDelete, "cache?all=true&model=x", 400, "expected all=true"},
		{http.MethodPost, "providers/none/restore", 404, "not configured"},
		{http.MethodPost, "providers/one", 404, "restore"},
	} {
		status, text := call(t, tc.method, admin+"/llm_gateway/"+tc.path)
		if status != tc.status || !strings.Contains(text, tc.text) {
			t.Errorf("%s %s: %d %s", tc.method, tc.path, status, text)
		}
	}
	res, err := http.Get(admin + "/llm_gateway/live?range=1h")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	line, err := bufio.NewReader(res.Body).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `data: {"stats":`) || !json.Valid([]byte(strings.TrimPrefix(line, "data: "))) {
		t.Errorf("live: %.80s %v", line, err)
	}
}

// TestLiveEndsAtReload loads another configuration while a live stream is open.
// Caddy's old admin endpoint waits for it.
func TestLiveEndsAtReload(t *testing.T) {
	options := fmt.Sprintf("admin 127.0.0.1:%d\n\tauto_https off", freePort(t))
	_, load := serveScheme(t, "http", options, "llm_gateway\nrespond ok")
	address, _, _ := strings.Cut(strings.TrimPrefix(options, "admin "), "\n")
	res, err := oneShot.Get("http://" + address + "/llm_gateway/live")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	events := bufio.NewReader(res.Body)
	if line, err := events.ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: ") {
		t.Fatalf("%.40s %v", line, err)
	}
	if err := load("llm_gateway {\n\tmax_attempts 2\n}\nrespond ok"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, events)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the stream broke off: %v", err)
		}
	case <-time.After(30 * time.Second): // without an end it goes on for ever
		t.Error("the stream goes on")
	}
}

// TestMetricsGolden compares the table of metrics with the golden file and with
// what Caddy exposes, and looks for the values of one request.
func TestMetricsGolden(t *testing.T) {
	model, provider := unique("metrics-model"), unique("metrics-provider")
	one := scripted(t, answer(200, chatAnswer))
	base, admin := serveAdmin(t, "llm_gateway {\noptimize rtk standard\nmodel "+model+" {\nprice 1 2\n}\nprovider "+provider+" "+one.URL+" {\napi_key k\n}\n}")
	body := strings.Replace(chatWithToolResult("go test ./...", goTestRun(900)), "gpt-5-mini", model, 1)
	post(t, base+"/v1/chat/completions", body)
	want := []string{
		`caddy_llm_gateway_requests_total{endpoint="chat",model="` + model + `",provider="` + provider + `",status="2xx"} 1`,
		`caddy_llm_gateway_tokens_total{model="` + model + `",provider="` + provider + `",type="input"} 31`,
		`caddy_llm_gateway_cost_usd_total{model="` + model + `",provider="` + provider + `"} 4.9e-05`,
		`caddy_llm_gateway_credential_healthy{credential="key1",provider="` + provider + `"} 1`,
		`caddy_llm_gateway_ttft_seconds_count{model="` + model + `",provider="` + provider + `"} 1`,
		`caddy_llm_gateway_streams_in_flight 0`,
	}
	text := await(t, func() (string, bool) {
		_, text := call(t, http.MethodGet, admin+"/metrics")
		return text, !slices.ContainsFunc(want, func(line string) bool { return !strings.Contains(text, line) })
	})
	for _, line := range want {
		if !strings.Contains(text, line) {
			t.Errorf("missing: %s", line)
		}
	}
	table := llmgateway.MetricsTable()
	const file = "testdata/metrics.golden"
	if *update {
		if err := os.WriteFile(file, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil || table != string(golden) {
		t.Errorf("%v\ngot:\n%s\nwant:\n%s", err, table, golden)
	}
	seen := 0
	for _, line := range strings.Split(text, "\n") {
		name, help, _ := strings.Cut(strings.TrimPrefix(line, "# HELP "), " ")
		if !strings.HasPrefix(line, "# HELP caddy_llm_gateway_") {
			continue
		}
		seen++
		if !strings.Contains(table, "| `"+name+"` |") || !strings.Contains(table, "| "+help+" |") {
			t.Errorf("not in the table: %s", line)
		}
	}
	if seen < 8 {
		t.Errorf("only %d metrics are exposed", seen)
	}
}

// TestLiveOfServerStoppedTwice ends Caddy while the admin endpoint that a live
// stream was on is being shut down already.
func TestLiveOfServerStoppedTwice(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := llmgateway.ServeAdmin(w, r); err != nil {
			t.Error(err)
		}
		close(ended)
	}))
	server.Start()
	t.Cleanup(server.Close)
	res, err := oneShot.Get(server.URL + "/llm_gateway/live")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for range 3 {
		if err := server.Config.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-ended
	}
}
