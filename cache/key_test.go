package cache

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// viewOf is the view of a body that is sent to path.
func viewOf(t testing.TB, path, body string) *adapter.Request {
	t.Helper()
	v := new(adapter.Request)
	if err := v.Parse(adapter.Detect(path), []byte(body)); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return v
}

// asking is a request as tests describe one.
type asking struct {
	path, body string
	header     http.Header
	request    Request
	policy     Policy
	namespace  string
}

// plainAsking is what the variants of TestKey differ from in one thing each.
func plainAsking() asking {
	return asking{
		path:    "/v1/chat/completions",
		body:    `{"model":"m","messages":[{"role":"user","content":"q"}],"temperature":0,"user":"u"}`,
		header:  http.Header{},
		request: Request{Site: "s", Provider: "p", Model: "m", BaseURL: "https://p.example/v1", Optimizers: "rtk=auto", Query: "v=1"},
		policy:  Policy{Mode: Exact},
	}
}

// testRing and testSeeds are those of one process.
func testRing(t testing.TB) *keyring {
	t.Helper()
	ring, err := newKeyring(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func (a *asking) key(t testing.TB, s *seeds, ring *keyring) *requestKey {
	t.Helper()
	r := a.request
	r.View, r.Header, r.Path = viewOf(t, a.path, a.body), a.header, a.path
	var b keyBuilder
	k, reason := b.build(&r, &a.policy, a.namespace, s, ring)
	if reason != None {
		t.Fatalf("%s: %v", a.body, reason)
	}
	return k.own(&r, a.namespace)
}

// Whatever may shape the answer or decide whose it is makes another key.
func TestKeyTellsApart(t *testing.T) {
	ring, s := testRing(t), newSeeds()
	variants := map[string]func(*asking){
		"as it is":        func(*asking) {},
		"body":            func(a *asking) { a.body = strings.Replace(a.body, `"q"`, `"r"`, 1) },
		"number literal":  func(a *asking) { a.body = strings.Replace(a.body, `:0`, `:0.0`, 1) },
		"unknown field":   func(a *asking) { a.body = strings.Replace(a.body, `{`, `{"x_new":1,`, 1) },
		"null field":      func(a *asking) { a.body = strings.Replace(a.body, `{`, `{"seed":null,`, 1) },
		"order of array":  func(a *asking) { a.body = strings.Replace(a.body, `{`, `{"stop":["a","b"],`, 1) },
		"order of array2": func(a *asking) { a.body = strings.Replace(a.body, `{`, `{"stop":["b","a"],`, 1) },
		"stream":          func(a *asking) { a.body = strings.Replace(a.body, `{`, `{"stream":true,`, 1) },
		"stream false":    func(a *asking) { a.body = strings.Replace(a.body, `{`, `{"stream":false,`, 1) },
		"usage": func(a *asking) {
			a.body = strings.Replace(a.body, `{`, `{"stream":true,"stream_options":{"include_usage":true},`, 1)
		},
		"user":         func(a *asking) { a.body = strings.Replace(a.body, `"u"`, `"v"`, 1) },
		"path":         func(a *asking) { a.path = "/openai/deployments/x/chat/completions" },
		"tenant":       func(a *asking) { a.request.Tenant = Tenant{1} },
		"namespace":    func(a *asking) { a.namespace = "n" },
		"site":         func(a *asking) { a.request.Site = "s2" },
		"provider":     func(a *asking) { a.request.Provider = "p2" },
		"model":        func(a *asking) { a.request.Model = "m2" },
		"base URL":     func(a *asking) { a.request.BaseURL = "https://q.example/v1" },
		"optimizers":   func(a *asking) { a.request.Optimizers = "" },
		"query":        func(a *asking) { a.request.Query = "v=2" },
		"scope site":   func(a *asking) { a.policy.Scope = PerSite },
		"scope shared": func(a *asking) { a.policy.Scope = Shared },
		// What stands in one field must not pass for the end of the one before.
		"moved 1":    func(a *asking) { a.request.Provider, a.request.Model = "pm", "" },
		"moved 2":    func(a *asking) { a.request.Site, a.namespace = "", "s" },
		"two values": func(a *asking) { a.header["Anthropic-Beta"] = []string{"a", "b"} },
		"one value":  func(a *asking) { a.header["Anthropic-Beta"] = []string{"ab"} },
	}
	for _, name := range outputHeaders {
		variants[name] = func(a *asking) { a.header.Set(name, "x") }
	}
	forms, hashes, names := map[string]string{}, map[formHash]string{}, map[[32]byte]string{}
	for what, vary := range variants {
		a := plainAsking()
		vary(&a)
		k := a.key(t, &s, ring)
		for _, other := range []string{forms[string(k.form)], hashes[k.hash], names[*k.name()]} {
			if other != "" {
				t.Errorf("%q and %q have the same key", what, other)
			}
		}
		forms[string(k.form)], hashes[k.hash], names[*k.name()] = what, what, what
	}
}

// What cannot shape the answer makes no other key.
func TestKeyTakesTogether(t *testing.T) {
	ring, s := testRing(t), newSeeds()
	base := plainAsking()
	want := base.key(t, &s, ring)
	for what, vary := range map[string]func(*asking){
		"white space": func(a *asking) { a.body = strings.ReplaceAll(a.body, ",", " ,\n\t") },
		"member order": func(a *asking) {
			a.body = `{"user":"u","temperature":0,"messages":[{"content":"q","role":"user"}],"model":"m"}`
		},
		"escapes":        func(a *asking) { a.body = strings.Replace(a.body, `"q"`, `"\u0071"`, 1) },
		"other headers":  func(a *asking) { a.header.Set("User-Agent", "x"); a.header.Set("X-Stainless-Retry-Count", "1") },
		"credential":     func(a *asking) { a.request.Query = "v=1&api-key=secret" },
		"header's order": func(a *asking) { a.header = nil },
	} {
		a := plainAsking()
		vary(&a)
		k := a.key(t, &s, ring)
		if !bytes.Equal(k.form, want.form) || k.hash != want.hash || *k.name() != *want.name() {
			t.Errorf("%s makes another key:\n%q\n%q", what, k.form, want.form)
		}
	}
	// Ignored fields.
	a, b := plainAsking(), plainAsking()
	a.policy.IgnoreFields, b.policy.IgnoreFields = []string{"user"}, []string{"user"}
	b.body = strings.Replace(b.body, `"u"`, `"v"`, 1)
	if x, y := a.key(t, &s, ring), b.key(t, &s, ring); !bytes.Equal(x.form, y.form) {
		t.Errorf("an ignored field makes another key")
	}
	// Wider scopes.
	for _, tc := range []struct {
		scope Scope
		same  bool
		site  string
	}{{PerKey, false, "s"}, {PerSite, true, "s"}, {PerSite, false, "s2"}, {Shared, true, "s2"}} {
		a, b := plainAsking(), plainAsking()
		a.policy.Scope, b.policy.Scope = tc.scope, tc.scope
		b.request.Tenant, b.request.Site = Tenant{9}, tc.site
		if x, y := a.key(t, &s, ring), b.key(t, &s, ring); bytes.Equal(x.form, y.form) != tc.same {
			t.Errorf("scope %v, site %s: same key: %v", tc.scope, tc.site, !tc.same)
		}
	}
}

// No credential is in a key, nor can one tenant be another.
func TestTenants(t *testing.T) {
	c := newSite(t, Policy{Mode: Exact}, Options{Secret: testSecret}).cache
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Add(pairs[i], pairs[i+1])
		}
		return h
	}
	seen := map[Tenant]string{}
	for what, tenant := range map[string]Tenant{
		"nobody":              c.CredentialTenant(nil, ""),
		"bearer":              c.CredentialTenant(header("Authorization", "Bearer sk-1"), ""),
		"another bearer":      c.CredentialTenant(header("Authorization", "Bearer sk-2"), ""),
		"x-api-key":           c.CredentialTenant(header("X-Api-Key", "Bearer sk-1"), ""),
		"api-key":             c.CredentialTenant(header("Api-Key", "Bearer sk-1"), ""),
		"goog":                c.CredentialTenant(header("X-Goog-Api-Key", "Bearer sk-1"), ""),
		"both":                c.CredentialTenant(header("Authorization", "Bearer sk-1", "X-Api-Key", "k"), ""),
		"twice":               c.CredentialTenant(header("Authorization", "Bearer sk-1", "Authorization", "Bearer sk-2"), ""),
		"query":               c.CredentialTenant(nil, "v=1&key=Bearer+sk-1"),
		"escaped query":       c.CredentialTenant(nil, "%6Bey=x"),
		"key called so":       c.KeyTenant("Bearer sk-1"),
		"key called api-key":  c.KeyTenant("sk-1"),
		"key with no name":    {},
		"long":                c.CredentialTenant(header("Authorization", strings.Repeat("x", 1<<20)), ""),
		"long with other end": c.CredentialTenant(header("Authorization", strings.Repeat("x", 1<<20)+"y"), ""),
	} {
		if other, ok := seen[tenant]; ok && !(tenant == Tenant{} && (what == "nobody" || what == "key with no name")) {
			t.Errorf("%q and %q are one tenant", what, other)
		}
		seen[tenant] = what
	}
	other := newSite(t, Policy{Mode: Exact}, Options{Secret: []byte("another secret, as long")}).cache
	if c.KeyTenant("a") == other.KeyTenant("a") {
		t.Error("the secret does not matter")
	}

	a := plainAsking()
	const secret = "sk-very-secret"
	a.header.Set("Authorization", "Bearer "+secret)
	a.header.Set("X-Api-Key", secret)
	a.request.Query = "key=" + secret
	a.request.Tenant = c.CredentialTenant(a.header, a.request.Query)
	s := newSeeds()
	if k := a.key(t, &s, testRing(t)); bytes.Contains(k.form, []byte(secret)) {
		t.Errorf("the key holds the credential: %q", k.form)
	}
}

// Two gateways with one secret know a request by the same name, and with
// different secrets by different ones.
func TestNamesAcrossProcesses(t *testing.T) {
	a := plainAsking()
	s1, s2 := newSeeds(), newSeeds()
	one, two := a.key(t, &s1, testRing(t)), a.key(t, &s2, testRing(t))
	if *one.name() != *two.name() {
		t.Error("one secret, two names")
	}
	if one.hash == two.hash {
		t.Error("the hash is not keyed")
	}
	ring, err := newKeyring([]byte("another secret, as long"))
	if err != nil {
		t.Fatal(err)
	}
	if other := a.key(t, &s1, ring); *one.name() == *other.name() {
		t.Error("two secrets, one name")
	}
}

// Which string of a request a similar one may differ in.
func TestLastQuestion(t *testing.T) {
	const chat, responses, messages = "/v1/chat/completions", "/v1/responses", "/v1/messages"
	for _, tc := range []struct{ path, body, want string }{
		{chat, `{"messages":[{"role":"user","content":"a"}]}`, "a"},
		{chat, `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`, "c"},
		{chat, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`, "b"},
		{chat, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}}]}]}`, ""},
		{chat, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"a"}]}]}`, ""},
		{chat, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, ""},
		{chat, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"r"}]}`, ""},
		{chat, `{"messages":[{"role":"user","content":[]}]}`, ""},
		{messages, `{"messages":[{"role":"user","content":"a"}]}`, "a"},
		{messages, `{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}`, "a"},
		{messages, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"},{"type":"text","text":"b"}]}]}`, ""},
		{messages, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"The answer is"}]}`, ""},
		{responses, `{"input":"a"}`, "a"},
		{responses, `{"input":[{"role":"user","content":"a"}]}`, "a"},
		{responses, `{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}]}`, "a"},
		{responses, `{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"x"}]}]}`, ""},
		{responses, `{"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"r"}]}`, ""},
		{"/v1/completions", `{"prompt":"a"}`, ""},
		{"/v1/embeddings", `{"input":"a"}`, ""},
	} {
		v := viewOf(t, tc.path, tc.body)
		if got := v.Doc.Text(lastQuestion(v)); got != tc.want {
			t.Errorf("%s: %q, expected %q", tc.body, got, tc.want)
		}
	}
}

// Two requests are of one partition if and only if they differ in nothing but
// the question.
func TestPartition(t *testing.T) {
	ring, s := testRing(t), newSeeds()
	base := plainAsking()
	base.policy.Mode = Similar
	want := base.key(t, &s, ring)
	same := func(k *requestKey) bool {
		a, b, c := k.samePartition(want), k.partition(&s) == want.partition(&s), *k.partitionName() == *want.partitionName()
		if a != b || a != c {
			t.Errorf("the three disagree: %v %v %v", a, b, c)
		}
		return a
	}
	for _, question := range []string{"q", "", "another", `\"messages\":[`, `\u00e9\\`} {
		a := base
		a.body = strings.Replace(a.body, `"q"`, `"`+question+`"`, 1)
		k := a.key(t, &s, ring)
		if !same(k) {
			t.Errorf("question %s is of another partition", question)
		}
		if text := string(k.appendQuestion(nil)); text != viewOf(t, a.path, a.body).Doc.Text(lastQuestion(viewOf(t, a.path, a.body))) {
			t.Errorf("question %s is read as %q", question, text)
		}
	}
	for what, body := range map[string]string{
		"history": `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"},{"role":"user","content":"q"}],"temperature":0,"user":"u"}`,
		"system":  `{"model":"m","messages":[{"role":"system","content":"x"},{"role":"user","content":"q"}],"temperature":0,"user":"u"}`,
		"field":   `{"model":"m","messages":[{"role":"user","content":"q"}],"temperature":0,"user":"v"}`,
		"tools":   `{"model":"m","messages":[{"role":"user","content":"q"}],"temperature":0,"tools":[],"user":"u"}`,
		"part":    `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"q"}]}],"temperature":0,"user":"u"}`,
	} {
		a := base
		a.body = body
		if same(a.key(t, &s, ring)) {
			t.Errorf("%s is of the same partition", what)
		}
	}
	a := base
	a.request.Tenant = Tenant{1}
	if same(a.key(t, &s, ring)) {
		t.Error("another tenant is of the same partition")
	}
}

// Of a long request only a MAC is kept; it tells as much.
func TestLongRequests(t *testing.T) {
	now := newClock()
	s := newSite(t, Policy{Mode: Similar, Threshold: 0.9}, Options{Now: now.now})
	history := strings.Repeat("All berths along the western pier are taken. ", 2000)
	long := func(system, question string) string {
		return `{"model":"m","messages":[{"role":"system","content":"` + system + history + `"},{"role":"user","content":"` + question + `"}]}`
	}
	s.provider = jsonAnswer(chatAnswer)
	s.ask(chatPath, long("a", question))
	if _, bytes := s.cache.store.Size(); bytes > 4<<10 {
		t.Errorf("%d bytes are kept of a request of %d", bytes, len(history))
	}
	for _, tc := range []struct {
		what, body string
		want       Outcome
	}{
		{"the same", long("a", question), Hit},
		{"with white space", strings.Replace(long("a", question), ",", " , ", 1), Hit},
		{"a similar one", long("a", questionLike), HitSimilar},
		{"another history", long("b", question), Miss},
		{"another history, similar", long("c", questionLike), Miss},
	} {
		if got := s.ask(chatPath, tc.body); got.outcome != tc.want {
			t.Errorf("%s: %v, expected %v", tc.what, got.outcome, tc.want)
		}
	}
}

// An answer that was on its way when its like were purged does not come back.
func TestPurgeWhileUnderWay(t *testing.T) {
	s := newSite(t, Policy{Mode: Exact}, Options{})
	ask := chatQuestion(question)
	s.provider = func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.cache.Purge(r.Context(), Purge{All: true}); err != nil {
			t.Error(err)
		}
		jsonAnswer(chatAnswer)(w, r)
	}
	if got := s.ask(chatPath, ask); got.reason != Purged || got.Body.String() != chatAnswer {
		t.Errorf("%v", got.reason)
	}
	s.provider = jsonAnswer(chatAnswer)
	if got := s.ask(chatPath, ask); got.outcome != Miss || got.reason != None {
		t.Errorf("%v %v", got.outcome, got.reason)
	}
}

// What was not understood keeps a request out of the cache and is counted.
func TestBadDirective(t *testing.T) {
	s := newSite(t, Policy{Mode: Exact}, Options{})
	s.provider = jsonAnswer(chatAnswer)
	if got := s.ask(chatPath, chatQuestion(question), HeaderControl, "sometimes"); got.outcome != Bypass || got.reason != BadDirective {
		t.Errorf("%v %v", got.outcome, got.reason)
	}
}
