package llmgateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
)

// TestCacheCases runs every case of area cache through a real Caddy.
func TestCacheCases(t *testing.T) {
	all, err := cases.Load("testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range all {
		if c.Area != "cache" {
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) { runCacheCase(t, c) })
	}
	if ran < 15 {
		t.Errorf("only %d cases ran", ran)
	}
}

func runCacheCase(t *testing.T, c *cases.Case) {
	var now atomic.Pointer[cases.Upstream]
	var called atomic.Int32
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		called.Add(1)
		u := now.Load()
		if u == nil {
			t.Error("the upstream was reached")
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		writeUpstream(w, u)
	}))
	defer upstream.Close()
	mode := c.CacheConfig.Mode
	if c.CacheConfig.Threshold > 0 {
		mode += fmt.Sprint(" ", c.CacheConfig.Threshold)
	}
	// A store of its own: stores in memory of one size are shared.
	store := filepath.Join(t.TempDir(), "cache")
	base := serve(t, "llm_gateway {\ncache "+mode+" {\nstore disk "+store+"\n}\n}\nreverse_proxy "+upstream.URL)
	var bodies [][]byte
	for i, step := range c.Steps {
		now.Store(step.Upstream)
		called.Store(0)
		req, _ := http.NewRequest(http.MethodPost, base+c.Path, strings.NewReader(step.RequestRaw))
		req.Header.Set("Content-Type", "application/json")
		for _, headers := range []map[string]string{c.Headers, step.Headers} {
			for name, value := range headers {
				req.Header.Set(name, value)
			}
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
		body, _ := io.ReadAll(res.Body) // a break is what some steps are about
		res.Body.Close()
		bodies = append(bodies, body)
		want := step.Expect
		if got := res.Header.Get("X-Gateway-Cache"); len(want.Cache) > 0 && !slices.Contains(want.Cache, got) {
			t.Errorf("step %d: X-Gateway-Cache %q, want %v", i+1, got, want.Cache)
		}
		if got := called.Load() > 0; want.UpstreamCalled != nil && got != *want.UpstreamCalled {
			t.Errorf("step %d: upstream called: %v, want %v", i+1, got, *want.UpstreamCalled)
		}
		if want.Status != 0 && res.StatusCode != want.Status {
			t.Errorf("step %d: status %d, want %d", i+1, res.StatusCode, want.Status)
		}
		if n := want.BodyEqualsStep; n > 0 && !bytes.Equal(body, bodies[n-1]) {
			t.Errorf("step %d: the body differs from step %d: %s", i+1, n, body)
		}
	}
}

// writeUpstream answers as a step says.
func writeUpstream(w http.ResponseWriter, u *cases.Upstream) {
	status := u.Status
	if status == 0 {
		status = http.StatusOK
	}
	var pieces []string
	if u.Body != nil {
		pieces = []string{*u.Body}
	}
	w.Header().Set("Content-Type", "application/json")
	if len(u.SSE) > 0 {
		w.Header().Set("Content-Type", "text/event-stream")
		pieces = nil
		for _, frame := range u.SSE {
			pieces = append(pieces, frame+"\n\n")
		}
	}
	for name, value := range u.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	left := -1
	if u.CutAfterBytes != nil {
		left = *u.CutAfterBytes
	}
	for _, piece := range pieces {
		if left >= 0 && len(piece) > left {
			io.WriteString(w, piece[:left])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, piece)
		w.(http.Flusher).Flush()
		if left >= 0 {
			left -= len(piece)
		}
	}
}

const chatAnswer = `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Six."},"finish_reason":"stop"}],"usage":{"prompt_tokens":31,"completion_tokens":9,"total_tokens":40}}`

// cacheSite is a site with an exact cache of its own.
func cacheSite(t *testing.T, upstream string, more string) string {
	return "llm_gateway {\ncache exact {\nstore disk " + filepath.Join(t.TempDir(), "cache") + "\n" + more + "\n}\n}\nreverse_proxy " + upstream
}

// TestCacheHitHeaders looks at a hit as a client does.
func TestCacheHitHeaders(t *testing.T) {
	rec := record(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Set-Cookie", "a=b")
		h.Set("X-Request-Id", "r1")
		h.Set("X-Ratelimit-Remaining-Requests", "5")
		io.WriteString(w, chatAnswer)
	})
	base := serve(t, cacheSite(t, rec.URL, ""))
	res, body := post(t, base+"/v1/chat/completions", smallChat)
	if got := res.Header.Get("X-Gateway-Cache"); got != "MISS" || res.Header.Get("Cache-Status") != "llm-gateway; fwd=miss" {
		t.Fatalf("first: %s, %s", got, res.Header.Get("Cache-Status"))
	}
	if res.Header.Get("X-Request-Id") != "r1" || body != chatAnswer {
		t.Errorf("the miss is not as the provider sent it")
	}
	// Another key order and white space: the same request.
	res, body = post(t, base+"/v1/chat/completions", `{ "messages":[{"content":"hi","role":"user"}],"model":"gpt-5-mini" }`)
	h := res.Header
	if h.Get("X-Gateway-Cache") != "HIT" || body != chatAnswer || h.Get("Content-Type") != "application/json" || h.Get("Age") == "" {
		t.Errorf("%v %s", h, body)
	}
	if !strings.HasPrefix(h.Get("Cache-Status"), "llm-gateway; hit; ttl=") {
		t.Errorf("Cache-Status %s", h.Get("Cache-Status"))
	}
	for _, name := range []string{"Set-Cookie", "X-Request-Id", "X-Ratelimit-Remaining-Requests"} {
		if h.Get(name) != "" {
			t.Errorf("%s is repeated", name)
		}
	}
	if h.Get("X-Gateway-Overhead-Ms") == "" {
		t.Error("no overhead on a hit")
	}
	for _, tc := range []struct{ name, value, want string }{
		{"X-Gateway-Cache", "off", "BYPASS"},
		{"X-Gateway-Cache", "refresh", "MISS"},
		{"Cache-Control", "no-store", "BYPASS"},
		{"Cache-Control", "no-cache", "MISS"},
		{"Cache-Control", "max-age=0", "MISS"},
		{"X-Gateway-Cache-Namespace", "other", "MISS"},
		{"Authorization", "Bearer somebody-else", "MISS"},
		{"Openai-Organization", "org-2", "MISS"},
		{"X-Gateway-Optimize", "caveman=lite", "MISS"},
		{"User-Agent", "another", "HIT"},
		{"Cookie", "session=alice", "MISS"},
		{"Cookie", "session=bob", "MISS"},
		{"Cookie", "session=bob", "HIT"},
		{"Proxy-Authorization", "Basic x", "MISS"},
		{"Remote-User", "carol", "MISS"},
		{"X-Auth-Token", "t", "MISS"},
		{"Cf-Access-Jwt-Assertion", "j", "MISS"},
	} {
		res, _ := post(t, base+"/v1/chat/completions", smallChat, tc.name, tc.value)
		if got := res.Header.Get("X-Gateway-Cache"); got != tc.want {
			t.Errorf("%s: %s gives %s, want %s", tc.name, tc.value, got, tc.want)
		}
	}
	res, body = post(t, base+"/v1/chat/completions", strings.Replace(smallChat, "hi", "new", 1), "Cache-Control", "only-if-cached")
	if res.StatusCode != http.StatusGatewayTimeout || !strings.Contains(body, `"code":"not_cached"`) {
		t.Errorf("only-if-cached: %d %s", res.StatusCode, body)
	}
}

// TestCacheStreamReplay replays a stream frame by frame.
func TestCacheStreamReplay(t *testing.T) {
	list := []string{
		`data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Six"},"finish_reason":null}]}` + "\n\n",
		`data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n",
		"data: [DONE]\n\n",
	}
	rec := record(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, frame := range list {
			io.WriteString(w, frame)
			w.(http.Flusher).Flush()
		}
	})
	base := serve(t, cacheSite(t, rec.URL, ""))
	for i, want := range []string{"MISS", "HIT"} {
		res, body := post(t, base+"/v1/chat/completions", streamRequest)
		if got := res.Header.Get("X-Gateway-Cache"); got != want || body != strings.Join(list, "") || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("request %d: %s, %s, %q", i, got, res.Header.Get("Content-Type"), body)
		}
	}
	if n := len(rec.take()); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
}

// TestCoalescing sends 200 equal requests at once: the provider is asked once.
func TestCoalescing(t *testing.T) {
	release := make(chan struct{})
	var calls atomic.Int32
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		calls.Add(1)
		<-release
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, chatAnswer)
	}))
	defer upstream.Close()
	base := serve(t, cacheSite(t, upstream.URL, ""))
	const n = 200
	var wg sync.WaitGroup
	var sent atomic.Int32
	for range n {
		wg.Go(func() {
			req, _ := http.NewRequest(http.MethodPost, base+"/v1/chat/completions", strings.NewReader(smallChat))
			if sent.Add(1) == n {
				close(release)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if body, err := io.ReadAll(res.Body); err != nil || string(body) != chatAnswer {
				t.Errorf("%s %v", body, err)
			}
		})
	}
	wg.Wait()
	if calls.Load() != 1 {
		t.Errorf("the provider was asked %d times", calls.Load())
	}
}

// TestCacheSurvivesReloads keeps answers across a reload and a rejected one.
func TestCacheSurvivesReloads(t *testing.T) {
	rec := record(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, chatAnswer)
	})
	for name, store := range map[string]string{"memory": "store memory 33MiB", "disk": "store disk " + filepath.Join(t.TempDir(), "cache")} {
		t.Run(name, func(t *testing.T) {
			site := "llm_gateway {\ncache exact {\n" + store + "\n%s\n}\n%s\n}\nreverse_proxy " + rec.URL
			base, load := serveOptions(t, "", fmt.Sprintf(site, "", ""))
			result := func() string {
				t.Helper()
				res, _ := post(t, base+"/v1/chat/completions", strings.Replace(smallChat, "hi", name, 1))
				return res.Header.Get("X-Gateway-Cache")
			}
			if got := result(); got != "MISS" {
				t.Fatal(got)
			}
			for _, change := range []struct {
				ttl, more string
				bad       bool
			}{
				{ttl: "ttl 30m"},
				{more: "model x {\noptimize rtk {env.NO_SUCH_LEVEL_X}y\n}", bad: true},
				{ttl: "ttl 20m"},
			} {
				if err := load(fmt.Sprintf(site, change.ttl, change.more)); (err != nil) != change.bad {
					t.Fatalf("loading: %v", err)
				}
				if got := result(); got != "HIT" {
					t.Errorf("after %+v: %s", change, got)
				}
			}
		})
	}
}

// TestTenants never gives one tenant's answer to another.
func TestTenants(t *testing.T) {
	var n atomic.Int32
	rec := record(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, strings.Replace(chatAnswer, "Six.", fmt.Sprint("answer ", n.Add(1)), 1))
	})
	site := `llm_gateway {
		cache similar 0.9 {
			scope %s
			store disk ` + filepath.Join(t.TempDir(), "cache") + `
		}
		key a sk-a
		key b sk-b {
			cache off
		}
		key c sk-c
	}
	reverse_proxy ` + rec.URL
	base, load := serveOptions(t, "", fmt.Sprintf(site, "key"))
	ask := func(key string) (string, string) {
		res, body := post(t, base+"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Please tell me which harbour office handles container permits today"}]}`, "X-Api-Key", key)
		return res.Header.Get("X-Gateway-Cache"), body
	}
	_, first := ask("sk-a")
	if got, body := ask("sk-a"); got != "HIT" || body != first {
		t.Errorf("a again: %s", got)
	}
	if got, body := ask("sk-c"); got != "MISS" || body == first {
		t.Errorf("c got %s: %s", got, body)
	}
	if got, body := ask("sk-b"); got != "" && got != "BYPASS" || body == first {
		t.Errorf("b, whose cache is off, got %s: %s", got, body)
	}
	if err := load(fmt.Sprintf(site, "shared")); err != nil {
		t.Fatal(err)
	}
	_, first = ask("sk-a")
	if got, body := ask("sk-c"); got != "HIT" || body != first {
		t.Errorf("shared: c got %s", got)
	}
}

// TestRoutesApart never gives the answer of one route's upstream for a request
// on another route of the same site.
func TestRoutesApart(t *testing.T) {
	upstream := func(name string) *recorder {
		return record(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, strings.Replace(chatAnswer, "Six.", name, 1))
		})
	}
	one, two, three := upstream("one"), upstream("two"), upstream("three")
	gateway := "llm_gateway {\ncache exact {\nscope site\nstore disk " + filepath.Join(t.TempDir(), "cache") + "\n}\n}\n"
	site := "%s\nhandle_path /a/* {\n" + gateway + "reverse_proxy %s\n}\nhandle_path /b/* {\n" + gateway + "reverse_proxy %s\n}\n" +
		"@beta header X-Beta 1\nhandle @beta {\n" + gateway + "reverse_proxy %s\n}\nhandle {\n" + gateway + "reverse_proxy %s\n}\n"
	base, load := serveOptions(t, "", fmt.Sprintf(site, "", one.URL, two.URL, three.URL, one.URL))
	check := func(want string) {
		t.Helper()
		for _, tc := range []struct{ path, beta, answer string }{
			{"/a/v1/chat/completions", "", "one"}, {"/b/v1/chat/completions", "", "two"},
			{"/v1/chat/completions", "1", "three"}, {"/v1/chat/completions", "", "one"},
		} {
			res, body := post(t, base+tc.path, smallChat, "X-Beta", tc.beta)
			if got := res.Header.Get("X-Gateway-Cache"); got != want || !strings.Contains(body, `"`+tc.answer+`"`) {
				t.Errorf("%s %s: %s %s", tc.path, tc.beta, got, body)
			}
		}
	}
	check("MISS")
	check("HIT")
	// The same routes after a reload: the same answers.
	if err := load(fmt.Sprintf(site, "", one.URL, two.URL, three.URL, one.URL)); err != nil {
		t.Fatal(err)
	}
	check("HIT")
	// Other upstreams, or another place: nobody else's answers.
	if err := load(fmt.Sprintf(site, "", two.URL, one.URL, one.URL, two.URL)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/a/v1/chat/completions", "/b/v1/chat/completions", "/v1/chat/completions"} {
		res, body := post(t, base+path, smallChat)
		want := map[string]string{"/a/v1/chat/completions": "two", "/b/v1/chat/completions": "one", "/v1/chat/completions": "two"}[path]
		if !strings.Contains(body, `"`+want+`"`) {
			t.Errorf("after the upstreams were swapped: %s: %s %s", path, res.Header.Get("X-Gateway-Cache"), body)
		}
	}
}

// TestReloadUnderLoad loads configurations while requests for a stored answer
// come in: none of them fails and none misses.
func TestReloadUnderLoad(t *testing.T) {
	var calls atomic.Int32
	rec := record(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, chatAnswer)
	})
	site := "llm_gateway {\ncache exact {\nstore memory 37MiB\nttl %s\n}\n}\nreverse_proxy " + rec.URL
	base, load := serveOptions(t, "", fmt.Sprintf(site, "1h"))
	post(t, base+"/v1/chat/completions", smallChat)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var hits atomic.Int32
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				res, body := post(t, base+"/v1/chat/completions", smallChat)
				if res.StatusCode != http.StatusOK || body != chatAnswer || res.Header.Get("X-Gateway-Cache") != "HIT" {
					t.Errorf("%d %s", res.StatusCode, res.Header.Get("X-Gateway-Cache"))
				}
				hits.Add(1)
			}
		})
	}
	for i := range 4 {
		for before := hits.Load(); hits.Load() < before+20; {
			runtime.Gosched()
		}
		if err := load(fmt.Sprintf(site, fmt.Sprint(50-i, "m"))); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
	if calls.Load() != 1 {
		t.Errorf("the provider was asked %d times for one answer", calls.Load())
	}
}

// BenchmarkCache sends one request through to a loopback provider that answers
// at once, has its answer stored anew each time, and answers it from the cache:
// all over one kept connection each, on as many connections as there are
// processors. The stream is one of 100 events.
func BenchmarkCache(b *testing.B) {
	events := frames(99)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, chatAnswer)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			io.WriteString(w, e)
			w.(http.Flusher).Flush()
		}
	}))
	defer upstream.Close()
	for _, kind := range []string{"json", "stream"} {
		ask := smallChat
		if kind == "stream" {
			ask = streamRequest
		}
		for _, mode := range []string{"through", "miss", "hit"} {
			b.Run(kind+"/"+mode, func(b *testing.B) {
				base := serve(b, "llm_gateway {\ncache exact {\nstore memory 41MiB\n}\n}\nreverse_proxy "+upstream.URL)
				var n atomic.Int64
				b.RunParallel(func(pb *testing.PB) {
					client := &http.Client{Transport: &http.Transport{}}
					defer client.CloseIdleConnections()
					own := strings.Replace(ask, "gpt-5-mini", fmt.Sprint("m", n.Add(1)), 1)
					for pb.Next() {
						req, _ := http.NewRequest(http.MethodPost, base+"/v1/chat/completions", strings.NewReader(own))
						if asked := map[string]string{"through": "off", "miss": "refresh"}[mode]; asked != "" {
							req.Header.Set("X-Gateway-Cache", asked)
						}
						res, err := client.Do(req)
						if err != nil {
							b.Error(err)
							return
						}
						io.Copy(io.Discard, res.Body)
						res.Body.Close()
					}
				})
			})
		}
	}
}
