package cache

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// What the client sees of each outcome.
func TestAnswerHeaders(t *testing.T) {
	d := dialects[0]
	now := newClock()
	s := newSite(t, Policy{Mode: Exact, TTL: time.Hour}, Options{Now: now.now})
	s.provider = func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Set-Cookie", "session=1")
		h.Set("X-Request-Id", "req_1")
		h.Set("X-Ratelimit-Remaining-Requests", "41")
		h.Set("Connection", "keep-alive")
		h.Set("Cache-Status", "origin; fwd=miss")
		jsonAnswer(d.answer)(w, r)
	}
	check := func(what string, got *reply, want map[string]string) {
		t.Helper()
		for name, value := range want {
			if lines := strings.Join(got.Header().Values(name), ", "); lines != value {
				t.Errorf("%s: %s: %q, expected %q", what, name, lines, value)
			}
		}
	}
	check("miss", s.ask(d.path, d.ask), map[string]string{
		"X-Gateway-Cache": "MISS", "Cache-Status": "origin; fwd=miss, llm-gateway; fwd=miss", "Age": "", "X-Request-Id": "req_1",
	})
	now.advance(90*time.Second + 900*time.Millisecond)
	hit := s.ask(d.path, d.ask)
	check("hit", hit, map[string]string{
		"X-Gateway-Cache": "HIT", "Cache-Status": "llm-gateway; hit; ttl=3509", "Age": "90", "Content-Type": "application/json",
	})
	var names []string
	for name := range hit.Header() {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"Age", "Cache-Status", "Content-Type", "X-Gateway-Cache"}; !slices.Equal(names, want) {
		t.Errorf("hit: headers %v, expected %v", names, want)
	}
	check("refresh", s.ask(d.path, d.ask, "Cache-Control", "no-cache"), map[string]string{
		"X-Gateway-Cache": "MISS", "Cache-Status": "origin; fwd=miss, llm-gateway; fwd=request",
	})
	check("bypass", s.ask(d.path, d.ask, "Cache-Control", "no-store"), map[string]string{
		"X-Gateway-Cache": "BYPASS", "Cache-Status": "origin; fwd=miss, llm-gateway; fwd=bypass; detail=client",
	})
	other := strings.Replace(d.ask, "pier 3", "pier 5", 1)
	calls := s.calls.Load()
	got := s.ask(d.path, other, "Cache-Control", "only-if-cached")
	check("only-if-cached", got, map[string]string{"X-Gateway-Cache": "MISS", "Cache-Status": "llm-gateway; detail=only-if-cached"})
	if got.Code != http.StatusGatewayTimeout || s.calls.Load() != calls {
		t.Errorf("only-if-cached: status %d", got.Code)
	}
	if got := s.ask(d.path, d.ask, "Cache-Control", "only-if-cached"); got.outcome != Hit {
		t.Errorf("only-if-cached of what is stored: %v", got.outcome)
	}
	if got := s.ask(d.path, strings.Replace(d.ask, "{", `{"store":true,`, 1), "Cache-Control", "only-if-cached"); got.Code != http.StatusGatewayTimeout {
		t.Errorf("only-if-cached of what is never stored: status %d", got.Code)
	}
	s.provider = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	check("error", s.ask(d.path, other), map[string]string{
		"X-Gateway-Cache": "MISS", "Cache-Status": "llm-gateway; fwd=miss; detail=status",
	})
}

// Whatever a client asks for, it gets nothing older than the policy allows.
func TestFreshness(t *testing.T) {
	d := dialects[0]
	for _, tc := range []struct {
		name    string
		stored  []string // headers of the request whose answer is stored
		age     time.Duration
		headers []string
		hit     bool
	}{
		{"fresh", nil, 59 * time.Minute, nil, true},
		{"just expired", nil, time.Hour, nil, false},
		{"a longer TTL is not given", []string{"X-Gateway-Cache-TTL", "5h"}, 61 * time.Minute, []string{"X-Gateway-Cache-TTL", "5h"}, false},
		{"a shorter TTL is kept", []string{"X-Gateway-Cache-TTL", "60"}, 61 * time.Second, nil, false},
		{"a shorter TTL is asked for later", nil, 61 * time.Second, []string{"X-Gateway-Cache-TTL", "60"}, false},
		{"within it", nil, 59 * time.Second, []string{"X-Gateway-Cache-TTL", "60"}, true},
		{"max-age", nil, 61 * time.Second, []string{"Cache-Control", "max-age=60"}, false},
		{"young enough", nil, 60 * time.Second, []string{"Cache-Control", "max-age=60"}, true},
		{"max-age=0", nil, time.Millisecond, []string{"Cache-Control", "max-age=0"}, false},
		{"max-stale widens nothing", nil, 61 * time.Minute, []string{"Cache-Control", "max-stale=9999"}, false},
		{"min-fresh", nil, 50 * time.Minute, []string{"Cache-Control", "min-fresh=900"}, false},
		{"fresh for long enough", nil, 40 * time.Minute, []string{"Cache-Control", "min-fresh=900"}, true},
		{"refresh", nil, 0, []string{"X-Gateway-Cache", "refresh"}, false},
		{"exact", nil, 0, []string{"X-Gateway-Cache", "exact"}, true},
		{"another namespace", nil, 0, []string{"X-Gateway-Cache-Namespace", "n"}, false},
		{"the same namespace", []string{"X-Gateway-Cache-Namespace", "n"}, 0, []string{"X-Gateway-Cache-Namespace", "n"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := newClock()
			s := newSite(t, Policy{Mode: Exact, TTL: time.Hour}, Options{Now: now.now})
			s.provider = jsonAnswer(d.answer)
			s.ask(d.path, d.ask, tc.stored...)
			now.advance(tc.age)
			if got := s.ask(d.path, d.ask, tc.headers...); (got.outcome == Hit) != tc.hit {
				t.Errorf("outcome %v", got.outcome)
			}
		})
	}
}

// A policy whose TTL was shortened holds for what is stored already.
func TestShorterPolicy(t *testing.T) {
	d := dialects[0]
	now := newClock()
	s := newSite(t, Policy{Mode: Exact, TTL: time.Hour}, Options{Now: now.now})
	s.provider = jsonAnswer(d.answer)
	s.ask(d.path, d.ask)
	now.advance(10 * time.Minute)
	s.policy.TTL = time.Minute
	if got := s.ask(d.path, d.ask); got.outcome != Miss {
		t.Errorf("outcome %v", got.outcome)
	}
}

// A refresh replaces what is stored.
func TestRefreshReplaces(t *testing.T) {
	d := dialects[0]
	s := newSite(t, Policy{Mode: Exact}, Options{})
	s.provider = jsonAnswer(d.answer)
	s.ask(d.path, d.ask)
	newer := strings.Replace(d.answer, "Six.", "Seven.", 1)
	s.provider = jsonAnswer(newer)
	s.ask(d.path, d.ask, "X-Gateway-Cache", "refresh")
	if got := s.ask(d.path, d.ask); got.outcome != Hit || got.Body.String() != newer {
		t.Errorf("%v %s", got.outcome, got.Body)
	}
}

// Which answers are not stored, and why.
func TestUnfitAnswers(t *testing.T) {
	chat, messages, responses := dialects[0], dialects[1], dialects[2]
	sse := func(d dialect, from, to string) string {
		return strings.Replace(strings.Join(d.stream, ""), from, to, 1)
	}
	for _, tc := range []struct {
		name    string
		dialect dialect
		stream  bool
		status  int
		headers []string
		body    string
		want    Reason
	}{
		{"whole", chat, false, 0, nil, chat.answer, None},
		{"whole, with a charset", chat, false, 0, []string{"Content-Type", "application/json; charset=utf-8"}, chat.answer, None},
		{"identity", chat, false, 0, []string{"Content-Encoding", "identity"}, chat.answer, None},
		{"created", chat, false, 201, nil, chat.answer, NotOK},
		{"error status", chat, false, 500, nil, chat.answer, NotOK},
		{"partial", chat, false, 206, nil, chat.answer, NotOK},
		{"gzip", chat, false, 0, []string{"Content-Encoding", "gzip"}, chat.answer, OtherForm},
		{"html", chat, false, 0, []string{"Content-Type", "text/html"}, "<html>", OtherForm},
		{"a stream for JSON", chat, false, 0, []string{"Content-Type", "text/event-stream"}, strings.Join(chat.stream, ""), OtherForm},
		{"JSON for a stream", chat, true, 0, []string{"Content-Type", "application/json"}, chat.answer, OtherForm},
		{"no-store", chat, false, 0, []string{"Cache-Control", "private, no-store"}, chat.answer, Forbidden},
		{"no-cache", chat, false, 0, []string{"Cache-Control", "no-cache"}, chat.answer, None},
		{"not JSON", chat, false, 0, nil, "six", Incomplete},
		{"error inside", chat, false, 0, nil, `{"error":{"message":"overloaded","type":"server_error"}}`, ErrorInside},
		{"error event", chat, true, 0, nil, sse(chat, "data: [DONE]", `data: {"error":{"message":"overloaded"}}`+"\n\ndata: [DONE]"), ErrorInside},
		{"no end", chat, true, 0, nil, sse(chat, "data: [DONE]\n\n", ""), Incomplete},
		{"no finish", chat, true, 0, nil, sse(chat, `"finish_reason":"stop"`, `"finish_reason":null`), Incomplete},
		{"no finish in JSON", chat, false, 0, nil, strings.Replace(chat.answer, `"finish_reason":"stop"`, `"finish_reason":null`, 1), Incomplete},
		{"one of two choices open", chat, false, 0, nil, strings.Replace(chat.answer, `"choices":[`, `"choices":[{"index":1,"message":{"content":"x"},"finish_reason":null},`, 1), Incomplete},
		{"length", chat, false, 0, nil, strings.Replace(chat.answer, `"stop"`, `"length"`, 1), CutShort},
		{"filter", chat, false, 0, nil, strings.Replace(chat.answer, `"stop"`, `"content_filter"`, 1), Refused},
		{"refusal", chat, false, 0, nil, strings.Replace(chat.answer, `"content":"Six."`, `"content":null,"refusal":"I cannot."`, 1), Refused},
		{"unknown finish", chat, false, 0, nil, strings.Replace(chat.answer, `"stop"`, `"tired"`, 1), UnknownFinish},
		{"empty", chat, false, 0, nil, strings.Replace(chat.answer, `"Six."`, `""`, 1), Empty},
		{"null content", chat, false, 0, nil, strings.Replace(chat.answer, `"Six."`, `null`, 1), Empty},
		{"empty body", chat, false, 0, nil, "", Incomplete},
		{"tool calls", chat, false, 0, nil, strings.Replace(chat.answer, `"content":"Six."},"finish_reason":"stop"`, `"content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"`, 1), CallsTools},

		{"messages: max_tokens", messages, false, 0, nil, strings.Replace(messages.answer, "end_turn", "max_tokens", 1), CutShort},
		{"messages: pause_turn", messages, false, 0, nil, strings.Replace(messages.answer, "end_turn", "pause_turn", 1), Paused},
		{"messages: refusal", messages, false, 0, nil, strings.Replace(messages.answer, "end_turn", "refusal", 1), Refused},
		{"messages: tool_use", messages, false, 0, nil, strings.Replace(strings.Replace(messages.answer, "end_turn", "tool_use", 1), `{"type":"text","text":"Six."}`, `{"type":"tool_use","id":"t","name":"f","input":{}}`, 1), CallsTools},
		{"messages: no stop", messages, true, 0, nil, sse(messages, "event: message_stop\ndata: "+`{"type":"message_stop"}`+"\n\n", ""), Incomplete},
		{"messages: error event", messages, true, 0, nil, sse(messages, "event: content_block_stop", "event: error\ndata: "+`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`+"\n\nevent: content_block_stop"), ErrorInside},
		{"messages: empty", messages, false, 0, nil, strings.Replace(messages.answer, `{"type":"text","text":"Six."}`, "", 1), Empty},
		{"messages: server tool", messages, false, 0, nil, strings.Replace(messages.answer, `{"type":"text"`, `{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"text"`, 1), ServerTools},

		{"responses: incomplete", responses, false, 0, nil, strings.Replace(responses.answer, `"status":"completed","model"`, `"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"model"`, 1), CutShort},
		{"responses: failed", responses, false, 0, nil, strings.Replace(responses.answer, `"status":"completed","model"`, `"status":"failed","error":{"code":"server_error","message":"x"},"model"`, 1), ErrorInside},
		{"responses: no end", responses, true, 0, nil, strings.Join(responses.stream[:2], ""), Incomplete},
		{"responses: function call", responses, false, 0, nil, strings.Replace(responses.answer, `"output":[`, `"output":[{"type":"function_call","id":"f","call_id":"c","name":"f","arguments":"{}","status":"completed"},`, 1), CallsTools},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSite(t, Policy{Mode: Similar}, Options{})
			s.provider = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if tc.stream {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				for i := 0; i < len(tc.headers); i += 2 {
					w.Header().Set(tc.headers[i], tc.headers[i+1])
				}
				if tc.status != 0 {
					w.WriteHeader(tc.status)
				}
				w.Write([]byte(tc.body))
			}
			ask := tc.dialect.ask
			if tc.stream {
				ask = tc.dialect.askStream
			}
			got := s.ask(tc.dialect.path, ask)
			if got.reason != tc.want || got.Body.String() != tc.body {
				t.Errorf("reason %v, expected %v; body %q", got.reason, tc.want, got.Body)
			}
			again := s.ask(tc.dialect.path, ask)
			if (again.outcome == Hit) != (tc.want == None) {
				t.Errorf("the second time: %v", again.outcome)
			}
			if n := s.cache.Stats().NotStored[tc.want.String()]; tc.want != None && n != 2 {
				t.Errorf("counted %d times", n)
			}
		})
	}
}

// With tool_calls exact, answers that call tools are stored, and repeated for
// the same request only.
func TestToolCallsExact(t *testing.T) {
	d := dialects[0]
	calls := strings.Replace(d.answer, `"content":"Six."},"finish_reason":"stop"`, `"content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"`, 1)
	s := newSite(t, Policy{Mode: Similar, Threshold: 0.5, ToolCalls: true}, Options{})
	s.provider = jsonAnswer(calls)
	ask := chatQuestion("please tell the crew which berths along the western pier are free tonight and who signs the form")
	s.ask(d.path, ask)
	if got := s.ask(d.path, ask); got.outcome != Hit || got.Body.String() != calls {
		t.Errorf("the same request: %v", got.outcome)
	}
	s.provider = jsonAnswer(d.answer)
	like := chatQuestion("tell the crew which berths along the western pier are free tonight and who signs the form")
	if got := s.ask(d.path, like); got.outcome != Miss {
		t.Errorf("a similar request: %v", got.outcome)
	}
	if got := s.ask(d.path, chatQuestion("Tell the crew which berths along the western pier are free tonight and who signs the form")); got.outcome != HitSimilar {
		t.Errorf("a similar request to one without tool calls: %v", got.outcome)
	}
}

// Embeddings are stored, and never for similar input.
func TestEmbeddings(t *testing.T) {
	s := newSite(t, Policy{Mode: Similar, Threshold: 0.5, DeterministicOnly: true}, Options{})
	s.provider = jsonAnswer(embeddingsAnswer)
	ask := `{"model":"embed-small","input":"please tell the crew which berths along the western pier are free tonight"}`
	s.ask("/v1/embeddings", ask)
	if got := s.ask("/v1/embeddings", ask); got.outcome != Hit {
		t.Errorf("the same input: %v", got.outcome)
	}
	if got := s.ask("/v1/embeddings", strings.Replace(ask, "please ", "", 1)); got.outcome != Miss {
		t.Errorf("similar input: %v", got.outcome)
	}
}
