package llmgateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

const smallChat = `{"model":"gpt-5-mini","messages":[{"role":"user","content":"hi"}]}`

// script is a provider that answers by a list of steps, the last one for ever.
type script struct {
	*httptest.Server
	mu    sync.Mutex
	steps []http.HandlerFunc
	seen  []recorded
}

func scripted(t *testing.T, steps ...http.HandlerFunc) *script {
	s := &script{steps: steps}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("provider: %v", err)
		}
		s.mu.Lock()
		s.seen = append(s.seen, recorded{r.Method, r.RequestURI, r.Header.Clone(), body, r.ContentLength})
		step := s.steps[0]
		if len(s.steps) > 1 {
			s.steps = s.steps[1:]
		}
		s.mu.Unlock()
		step(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *script) take() []recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// answer is a step that answers with status, body and header pairs.
func answer(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// hangUp is a step that drops the connection.
func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		conn.Close()
	}
}

// cutStream is a step that drops the connection in the middle of a stream.
func cutStream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, frames(1)[0])
	w.(http.Flusher).Flush()
	hangUp(w, r)
}

// TestFailover walks every edge before the first byte.
func TestFailover(t *testing.T) {
	ok := answer(200, `{"id":"ok"}`)
	dead := fmt.Sprintf("http://127.0.0.1:%d", freePort(t))
	for _, tc := range []struct {
		name      string
		first     []http.HandlerFunc // nil: nothing listens
		keys      string
		status    int
		body      string
		route     string
		attempts  string
		firstSaw  int
		secondSaw int
	}{
		{name: "healthy", first: []http.HandlerFunc{ok}, status: 200, body: `{"id":"ok"}`, route: "one/a", attempts: "1", firstSaw: 1},
		{name: "nothing listens", status: 200, body: `{"id":"second"}`, route: "two/key1", attempts: "3", secondSaw: 1},
		{name: "429 then next credential", first: []http.HandlerFunc{answer(429, `{"error":{}}`), ok}, status: 200, body: `{"id":"ok"}`, route: "one/b", attempts: "2", firstSaw: 2},
		{name: "500", first: []http.HandlerFunc{answer(500, "x")}, status: 200, body: `{"id":"second"}`, route: "two/key1", attempts: "3", firstSaw: 2, secondSaw: 1},
		{name: "502", first: []http.HandlerFunc{answer(502, "<html>"), ok}, status: 200, body: `{"id":"ok"}`, route: "one/b", attempts: "2", firstSaw: 2},
		{name: "503", first: []http.HandlerFunc{answer(503, ""), ok}, status: 200, body: `{"id":"ok"}`, route: "one/b", attempts: "2", firstSaw: 2},
		{name: "504", first: []http.HandlerFunc{answer(504, ""), ok}, status: 200, body: `{"id":"ok"}`, route: "one/b", attempts: "2", firstSaw: 2},
		{name: "529", first: []http.HandlerFunc{answer(529, ""), ok}, status: 200, body: `{"id":"ok"}`, route: "one/b", attempts: "2", firstSaw: 2},
		{name: "401 of our own credential", first: []http.HandlerFunc{answer(401, ""), ok}, status: 200, body: `{"id":"ok"}`, route: "one/b", attempts: "2", firstSaw: 2},
		{name: "connection dropped", first: []http.HandlerFunc{hangUp, ok}, status: 200, body: `{"id":"ok"}`, route: "one/b", attempts: "2", firstSaw: 2},
		{name: "the client's fault", first: []http.HandlerFunc{answer(400, `{"error":{"message":"bad"}}`)}, status: 400, body: `{"error":{"message":"bad"}}`, route: "one/a", attempts: "1", firstSaw: 1},
		{name: "404 is final", first: []http.HandlerFunc{answer(404, `nope`)}, status: 404, body: `nope`, route: "one/a", attempts: "1", firstSaw: 1},
		{name: "422 is final", first: []http.HandlerFunc{answer(422, `no`)}, status: 422, body: `no`, route: "one/a", attempts: "1", firstSaw: 1},
		{name: "wrong content type is final", first: []http.HandlerFunc{answer(200, "<html>hi</html>", "Content-Type", "text/html")}, status: 200, body: "<html>hi</html>", route: "one/a", attempts: "1", firstSaw: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			first, url := (*script)(nil), dead
			if tc.first != nil {
				first = scripted(t, tc.first...)
				url = first.URL
			}
			second := scripted(t, answer(200, `{"id":"second"}`))
			base := serve(t, `llm_gateway {
				provider one `+url+` {
					api_key secret-a {
						label a
					}
					api_key secret-b {
						label b
					}
					strategy priority
				}
				provider two `+second.URL+`/v1 {
					api_key secret-two
				}
				model gpt-5-mini {
					provider one two
				}
			}`)
			res, body := post(t, base+"/v1/chat/completions", smallChat, "Authorization", "Bearer client-secret", "X-Api-Key", "client-secret")
			if res.StatusCode != tc.status || body != tc.body {
				t.Errorf("got %d %s, want %d %s", res.StatusCode, body, tc.status, tc.body)
			}
			if got := res.Header.Get("X-Gateway-Route"); got != tc.route {
				t.Errorf("route %s, want %s", got, tc.route)
			}
			if got := res.Header.Get("X-Gateway-Attempts"); got != tc.attempts {
				t.Errorf("attempts %s, want %s", got, tc.attempts)
			}
			if first != nil {
				seen := first.take()
				if len(seen) != tc.firstSaw {
					t.Errorf("the first provider saw %d requests, want %d", len(seen), tc.firstSaw)
				}
				for i, r := range seen {
					if string(r.body) != smallChat || r.length != int64(len(smallChat)) {
						t.Errorf("attempt %d: %q, length %d", i, r.body, r.length)
					}
					if want := "Bearer secret-" + string("ab"[i]); r.header.Get("Authorization") != want {
						t.Errorf("attempt %d: Authorization %q, want %q", i, r.header.Get("Authorization"), want)
					}
					if strings.Contains(fmt.Sprint(r.header), "client-secret") {
						t.Errorf("the client's credential reached the provider: %v", r.header)
					}
				}
			}
			if seen := second.take(); len(seen) != tc.secondSaw {
				t.Errorf("the second provider saw %d requests, want %d", len(seen), tc.secondSaw)
			}
		})
	}
}

// TestAllFail delivers the last answer untouched.
func TestAllFail(t *testing.T) {
	one := scripted(t, answer(500, "first"), answer(429, `{"error":{"message":"slow down"}}`, "Retry-After", "9", "X-Request-Id", "r2"))
	base := serve(t, "llm_gateway {\nprovider one "+one.URL+" {\napi_key a b\n}\n}")
	res, body := post(t, base+"/v1/chat/completions", smallChat)
	if res.StatusCode != 429 || body != `{"error":{"message":"slow down"}}` || res.Header.Get("Retry-After") != "9" || res.Header.Get("X-Request-Id") != "r2" {
		t.Errorf("%d %s %v", res.StatusCode, body, res.Header)
	}
	if got := res.Header.Get("X-Gateway-Attempts"); got != "2" {
		t.Errorf("attempts %s", got)
	}
}

// TestStreamIsNeverReplayed cuts a stream that has begun.
func TestStreamIsNeverReplayed(t *testing.T) {
	one := scripted(t, cutStream)
	base := serve(t, "llm_gateway {\nprovider one "+one.URL+" {\napi_key a b\n}\n}")
	res, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(streamRequest))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err == nil || string(got) != frames(1)[0] {
		t.Errorf("got %q, %v: want the first frame and an abort", got, err)
	}
	if seen := one.take(); len(seen) != 1 {
		t.Errorf("the provider saw %d requests", len(seen))
	}
}

// TestSlowHeaders fails over when a provider does not answer in time, and
// gives up at the deadline.
func TestSlowHeaders(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	one := scripted(t, slow)
	two := scripted(t, answer(200, `{"id":"two"}`))
	base := serve(t, `llm_gateway {
		provider one `+one.URL+` {
			transport http {
				response_header_timeout 50ms
			}
		}
		provider two `+two.URL+`
	}`)
	res, body := post(t, base+"/v1/chat/completions", smallChat)
	if res.StatusCode != 200 || body != `{"id":"two"}` {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	base = serve(t, "llm_gateway {\nattempt_deadline 80ms\nprovider one "+one.URL+"\n}")
	res, body = post(t, base+"/v1/messages", `{"model":"m","messages":[]}`)
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("an OpenAI provider got an Anthropic request: %d %s", res.StatusCode, body)
	}
	res, body = post(t, base+"/v1/chat/completions", smallChat)
	if res.StatusCode != http.StatusGatewayTimeout || !strings.Contains(body, `"code":"upstream_timeout"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

// TestCooldownIsKept checks that the next request avoids a credential in
// cooldown, and what is answered when none is left.
func TestCooldownIsKept(t *testing.T) {
	one := scripted(t, answer(429, "", "Retry-After", "600"), answer(200, "{}"), answer(200, "{}"), answer(429, "", "Retry-After", "60"))
	base := serve(t, "llm_gateway {\nprovider one "+one.URL+" {\napi_key a b\nstrategy priority\n}\n}")
	for i, want := range []string{"one/key2", "one/key2"} {
		res, _ := post(t, base+"/v1/chat/completions", smallChat)
		if got := res.Header.Get("X-Gateway-Route"); got != want {
			t.Errorf("request %d: %s, want %s", i, got, want)
		}
	}
	res, _ := post(t, base+"/v1/chat/completions", smallChat)
	if res.StatusCode != 429 {
		t.Errorf("the provider's own 429 came as %d", res.StatusCode)
	}
	one.take()
	res, body := post(t, base+"/v1/chat/completions", smallChat)
	if res.StatusCode != 503 || res.Header.Get("Retry-After") != "60" || !strings.Contains(body, `"code":"upstream_unavailable"`) {
		t.Errorf("%d %s, Retry-After %s", res.StatusCode, body, res.Header.Get("Retry-After"))
	}
	if n := len(one.take()); n != 0 {
		t.Errorf("%d requests reached a provider in cooldown", n)
	}
}

// TestOwnCredentialPassesOn sends the client's credential to a provider that
// has none.
func TestOwnCredentialPassesOn(t *testing.T) {
	one := scripted(t, answer(200, "{}"))
	base := serve(t, "llm_gateway {\nprovider one "+one.URL+" {\nformat anthropic\n}\n}")
	post(t, base+"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, "X-Api-Key", "mine", "Anthropic-Version", "2023-06-01")
	got := one.take()[0]
	if got.header.Get("X-Api-Key") != "mine" || got.header.Get("Anthropic-Version") != "2023-06-01" {
		t.Errorf("%v", got.header)
	}
	if got.header.Get("Accept-Encoding") != "" {
		t.Errorf("Accept-Encoding %q", got.header.Get("Accept-Encoding"))
	}
}

// TestModels routes by model, renames it, and knows what it does not know.
func TestModels(t *testing.T) {
	openai := scripted(t, answer(200, `{"id":"openai"}`))
	claude := scripted(t, answer(200, `{"id":"claude"}`))
	base := serve(t, `llm_gateway {
		provider openai `+openai.URL+` {
			api_key k
		}
		provider claude `+claude.URL+`/v1 {
			format anthropic
			api_key k2
		}
		model fast {
			provider openai
			upstream_model gpt-5-nano
		}
		model claude-* {
			provider claude
		}
	}`)
	_, body := post(t, base+"/v1/chat/completions", ` {"stream":false, "model" : "f\u0061st","messages":[ ]}`)
	if body != `{"id":"openai"}` {
		t.Errorf("fast went to %s", body)
	}
	got := openai.take()[0]
	if want := ` {"stream":false, "model" : "gpt-5-nano","messages":[ ]}`; string(got.body) != want || got.length != int64(len(want)) {
		t.Errorf("sent %s, length %d", got.body, got.length)
	}
	_, body = post(t, base+"/v1/messages", `{"model":"claude-x","messages":[]}`)
	if body != `{"id":"claude"}` {
		t.Errorf("claude-x went to %s", body)
	}
	if got := claude.take()[0]; got.header.Get("X-Api-Key") != "k2" || got.uri != "/v1/messages" {
		t.Errorf("%s %v", got.uri, got.header)
	}
	res, body := post(t, base+"/v1/chat/completions", `{"model":"other","messages":[]}`)
	if res.StatusCode != 404 || !strings.Contains(body, `"code":"unknown_model"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	res, body = post(t, base+"/v1/messages", `{"model":"other","messages":[]}`)
	if res.StatusCode != 404 || !strings.Contains(body, `"type":"not_found_error"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	res, _ = post(t, base+"/v1/chat/completions", `{"messages":[]}`)
	if res.StatusCode != 400 {
		t.Errorf("without a model: %d", res.StatusCode)
	}
}

// TestSticky keeps a conversation on one credential while it grows.
func TestSticky(t *testing.T) {
	one := scripted(t, answer(200, "{}"))
	base := serve(t, "llm_gateway {\nprovider one "+one.URL+" {\napi_key a b c d e f\n}\n}")
	routes := make(map[string]bool)
	for c := range 12 {
		first := ""
		for turn := range 4 {
			body := fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"question %d"}%s]}`, c,
				strings.Repeat(`,{"role":"assistant","content":"a"},{"role":"user","content":"more"}`, turn))
			res, _ := post(t, base+"/v1/chat/completions", body)
			route := res.Header.Get("X-Gateway-Route")
			routes[route] = true
			if first == "" {
				first = route
			} else if route != first {
				t.Errorf("conversation %d moved from %s to %s", c, first, route)
			}
		}
	}
	if len(routes) < 3 {
		t.Errorf("12 conversations use %d of 6 credentials", len(routes))
	}
	for _, tc := range []struct{ name, a, b string }{
		{"session header", "x", "y"},
		{"prompt_cache_key", `{"model":"m","prompt_cache_key":"p","messages":[{"role":"user","content":"1"}]}`, `{"model":"m","prompt_cache_key":"p","messages":[{"role":"user","content":"2"}]}`},
		{"metadata.user_id", `{"model":"m","metadata":{"user_id":"u"},"messages":[{"role":"user","content":"1"}]}`, `{"model":"m","metadata":{"user_id":"u"},"messages":[{"role":"user","content":"2"}]}`},
	} {
		if tc.name == "session header" {
			tc.a, tc.b = strings.Replace(smallChat, "hi", "1", 1), strings.Replace(smallChat, "hi", "2", 1)
		}
		a, _ := post(t, base+"/v1/chat/completions", tc.a, "X-Gateway-Session", "s1")
		b, _ := post(t, base+"/v1/chat/completions", tc.b, "X-Gateway-Session", "s1")
		if a.Header.Get("X-Gateway-Route") != b.Header.Get("X-Gateway-Route") {
			t.Errorf("%s: two routes", tc.name)
		}
	}
}

// TestIdleConnections checks that a connection which was idle is used again.
// Idle times of a minute are the transport's configuration; the golden adapt
// test holds it, this one that reuse works at all.
func TestIdleConnections(t *testing.T) {
	var conns sync.Map
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "{}")
	}))
	upstream.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Store(c, true)
		}
	}
	upstream.Start()
	defer upstream.Close()
	base := serve(t, "llm_gateway {\nprovider one "+upstream.URL+"\n}")
	for range 5 {
		post(t, base+"/v1/chat/completions", smallChat)
	}
	n := 0
	conns.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("5 requests one after the other used %d connections", n)
	}
}

// TestAccess tries to get in.
func TestAccess(t *testing.T) {
	one := scripted(t, answer(200, "{}"))
	base := serve(t, `llm_gateway {
		provider one `+one.URL+` {
			api_key provider-secret
		}
		key alice sk-alice {
			models gpt-5-mini claude-*
		}
		key bob `+"sha256:b5f1a4d5e7a8f4c2c1d5f9d7d0f0b3a6a2f7a0a9f8b7c6d5e4f3a2b1c0d9e8f7"+` {
			rpm 5
		}
	}`)
	ok := `{"model":"gpt-5-mini","messages":[]}`
	for _, tc := range []struct {
		name   string
		body   string
		header []string
		query  string
		status int
		code   string
	}{
		{"no key", ok, nil, "", 401, "unknown_key"},
		{"wrong key", ok, []string{"Authorization", "Bearer sk-alicf"}, "", 401, "unknown_key"},
		{"prefix of a key", ok, []string{"Authorization", "Bearer sk-alic"}, "", 401, "unknown_key"},
		{"the hash is no key", ok, []string{"X-Api-Key", "sha256:b5f1a4d5e7a8f4c2c1d5f9d7d0f0b3a6a2f7a0a9f8b7c6d5e4f3a2b1c0d9e8f7"}, "", 401, "unknown_key"},
		{"key longer than any", ok, []string{"X-Api-Key", strings.Repeat("k", 8_000)}, "", 401, "unknown_key"},
		{"two keys that differ", ok, []string{"Authorization", "Bearer sk-alice", "X-Api-Key", "sk-other"}, "", 401, "unknown_key"},
		{"bearer", ok, []string{"Authorization", "bearer sk-alice"}, "", 200, ""},
		{"x-api-key", ok, []string{"X-Api-Key", "sk-alice"}, "", 200, ""},
		{"api-key", ok, []string{"Api-Key", "sk-alice"}, "", 200, ""},
		{"x-goog-api-key", ok, []string{"X-Goog-Api-Key", "sk-alice"}, "", 200, ""},
		{"query", ok, nil, "?a=1&key=sk-alice&b=2", 200, ""},
		{"basic", ok, []string{"Authorization", "Basic c2stYWxpY2U="}, "", 401, "unknown_key"},
		{"other model", `{"model":"gpt-5","messages":[]}`, []string{"X-Api-Key", "sk-alice"}, "", 403, "model_not_allowed"},
		{"pattern", `{"model":"claude-x/y","messages":[]}`, []string{"X-Api-Key", "sk-alice"}, "", 200, ""},
		{"allowed one first", `{"model":"gpt-5-mini","messages":[],"model":"gpt-5"}`, []string{"X-Api-Key", "sk-alice"}, "", 400, "invalid_body"},
		{"allowed one second", `{"model":"gpt-5","messages":[],"model":"gpt-5-mini"}`, []string{"X-Api-Key", "sk-alice"}, "", 400, "invalid_body"},
		{"second one escaped", `{"model":"gpt-5-mini","messages":[],"mod\u0065l":"gpt-5"}`, []string{"X-Api-Key", "sk-alice"}, "", 400, "invalid_body"},
		{"second one in capitals", `{"model":"gpt-5-mini","messages":[],"Model":"gpt-5"}`, []string{"X-Api-Key", "sk-alice"}, "", 400, "invalid_body"},
		{"number", `{"model":5,"messages":[]}`, []string{"X-Api-Key", "sk-alice"}, "", 400, "invalid_body"},
		{"null", `{"model":null,"messages":[]}`, []string{"X-Api-Key", "sk-alice"}, "", 400, "invalid_body"},
		{"array", `{"model":["gpt-5-mini"],"messages":[]}`, []string{"X-Api-Key", "sk-alice"}, "", 400, "invalid_body"},
		{"none", `{"messages":[]}`, []string{"X-Api-Key", "sk-alice"}, "", 400, "model_required"},
		{"look-alike", `{"model":"gpt-5-mіni","messages":[]}`, []string{"X-Api-Key", "sk-alice"}, "", 403, "model_not_allowed"},
		{"trailing space", `{"model":"gpt-5-mini ","messages":[]}`, []string{"X-Api-Key", "sk-alice"}, "", 403, "model_not_allowed"},
		{"not JSON", `{"model":"gpt-5-mini",`, []string{"X-Api-Key", "sk-alice"}, "", 400, "invalid_body"},
		{"JSON and more", `{"model":"gpt-5-mini","messages":[]}{"model":"gpt-5"}`, []string{"X-Api-Key", "sk-alice"}, "", 400, "invalid_body"},
		{"coding nobody knows", ok, []string{"X-Api-Key", "sk-alice", "Content-Encoding", "snappy"}, "", 400, "invalid_body"},
		{"fallback list", `{"model":"gpt-5-mini","models":["gpt-5-mini","gpt-5"],"messages":[]}`, []string{"X-Api-Key", "sk-alice"}, "", 403, "model_not_allowed"},
		{"another in the query", ok, []string{"X-Api-Key", "sk-alice"}, "?model=gpt-5", 403, "model_not_allowed"},
		{"overrides do not widen", `{"model":"gpt-5","messages":[]}`, []string{"X-Api-Key", "sk-alice", "X-Gateway-Models", "*", "X-Gateway-Key", "bob"}, "", 403, "model_not_allowed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, body := post(t, base+"/v1/chat/completions"+tc.query, tc.body, tc.header...)
			if res.StatusCode != tc.status || tc.code != "" && !strings.Contains(body, `"code":"`+tc.code+`"`) {
				t.Errorf("got %d %s, want %d %s", res.StatusCode, body, tc.status, tc.code)
			}
			seen := one.take()
			if (len(seen) == 1) != (tc.status == 200) {
				t.Fatalf("the provider saw %d requests", len(seen))
			}
			if len(seen) == 0 {
				return
			}
			got := seen[0]
			if s := fmt.Sprint(got.header, got.uri); strings.Contains(s, "sk-alice") || strings.Contains(s, "X-Gateway") {
				t.Errorf("the provider got %s", s)
			}
			if got.header.Get("Authorization") != "Bearer provider-secret" {
				t.Errorf("Authorization %q", got.header.Get("Authorization"))
			}
			if tc.query != "" && got.uri != "/v1/chat/completions?a=1&b=2" {
				t.Errorf("uri %s", got.uri)
			}
		})
	}
	for _, path := range []string{"/v1/chat/completions;x", "/v1/chat/completions%20", "/v1/models/gpt-5", "/v1beta/models/gpt-5:generateContent"} {
		body := `{"model":"gpt-5","messages":[]}`
		if strings.Contains(path, "models") {
			body = "{}"
		}
		if res, text := post(t, base+path, body, "X-Api-Key", "sk-alice"); res.StatusCode != 403 {
			t.Errorf("%s: %d %s", path, res.StatusCode, text)
		}
	}
	res, _ := http.Get(base + "/v1/models")
	if res.StatusCode != 401 {
		t.Errorf("GET /v1/models without a key: %d", res.StatusCode)
	}
	res.Body.Close()
}

// TestLimitHeaders checks rates end to end.
func TestLimitHeaders(t *testing.T) {
	one := scripted(t, answer(200, "{}"))
	base := serve(t, "llm_gateway {\nprovider one "+one.URL+" {\napi_key p\n}\nkey a sk-a {\nrpm 2\n}\n}")
	for i := range 3 {
		res, body := post(t, base+"/v1/messages/../chat/completions", smallChat, "X-Api-Key", "sk-a")
		if i < 2 {
			if res.StatusCode != 200 || res.Header.Get("X-Ratelimit-Limit-Requests") != "2" || res.Header.Get("X-Ratelimit-Remaining-Requests") != fmt.Sprint(1-i) {
				t.Errorf("request %d: %d %v", i, res.StatusCode, res.Header)
			}
			continue
		}
		if res.StatusCode != 429 || !strings.Contains(body, `"code":"rate_limited"`) || res.Header.Get("Retry-After") == "" {
			t.Errorf("request %d: %d %s %v", i, res.StatusCode, body, res.Header)
		}
	}
}

// TestWebSocketPasses upgrades a connection through a provider.
func TestWebSocketPasses(t *testing.T) {
	one := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer provider-secret" {
			t.Errorf("Authorization %q", r.Header.Get("Authorization"))
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		rw.Flush()
		line, _ := rw.ReadString('\n')
		fmt.Fprintf(rw, "echo %s", line)
		rw.Flush()
	}))
	defer one.Close()
	base := serve(t, "llm_gateway {\nprovider one "+one.URL+" {\napi_key provider-secret\n}\n}")
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(conn, "GET /v1/realtime?model=x HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n", conn.RemoteAddr())
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != 101 {
		t.Fatalf("%v %v", res, err)
	}
	io.WriteString(conn, "ping\n")
	if line, err := in.ReadString('\n'); err != nil || line != "echo ping\n" {
		t.Errorf("%q %v", line, err)
	}
}

// TestAccessElsewhere tries models that a key may not use on endpoints that
// are no model requests.
func TestAccessElsewhere(t *testing.T) {
	one := scripted(t, answer(200, "{}"))
	base := serve(t, "llm_gateway {\nmax_body 4KiB\nprovider one "+one.URL+" {\napi_key p\n}\nkey alice sk-alice {\nmodels gpt-5-mini\n}\n}")
	form := func(model string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nRIFF\r\n--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n" + model + "\r\n--b--\r\n"
	}
	const multipart = "multipart/form-data; boundary=b"
	for _, tc := range []struct {
		name, kind, body string
		status           int
	}{
		{"allowed", "application/json", `{"model":"gpt-5-mini","prompt":"x"}`, 200},
		{"another", "application/json", `{"model":"dall-e-3","prompt":"x"}`, 403},
		{"another as text", "text/plain", ` {"model":"dall-e-3"}`, 403},
		{"allowed and another", "application/json", `{"model":"gpt-5-mini","Model":"dall-e-3"}`, 403},
		{"escaped", "application/json", `{"mod\u0065l":"dall-e-3"}`, 403},
		{"number", "application/json", `{"model":3}`, 400},
		{"broken", "application/json", `{"model":"gpt-5-mini"`, 400},
		{"none", "application/json", `{"prompt":"x"}`, 200},
		{"form allowed", multipart, form("gpt-5-mini"), 200},
		{"form another", multipart, form("whisper-1"), 403},
		{"form cut", multipart, form("whisper-1")[:90], 400},
		{"form without boundary", "multipart/form-data", form("gpt-5-mini"), 400},
		{"urlencoded", "application/x-www-form-urlencoded", "model=whisper-1", 403},
		{"binary", "application/octet-stream", "\x00\x01", 200},
		{"too large", "application/json", `{"prompt":"` + strings.Repeat("x", 5000) + `"}`, 413},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, body := post(t, base+"/v1/images/generations", tc.body, "X-Api-Key", "sk-alice", "Content-Type", tc.kind)
			if res.StatusCode != tc.status {
				t.Errorf("%d %s, want %d", res.StatusCode, body, tc.status)
			}
			seen := one.take()
			if (len(seen) == 1) != (tc.status == 200) {
				t.Fatalf("the provider saw %d requests", len(seen))
			}
			if len(seen) == 1 && string(seen[0].body) != tc.body {
				t.Errorf("the provider got %q", seen[0].body)
			}
		})
	}
}
