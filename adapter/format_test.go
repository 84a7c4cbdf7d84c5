package adapter

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestDetect(t *testing.T) {
	cases := []struct {
		path string
		want Format
	}{
		{"/v1/chat/completions", Chat},
		{"/chat/completions", Chat},
		{"/v1/chat/completions/", Chat},
		{"/V1/Chat/Completions", Chat},
		{"/openai/deployments/gpt-4o/chat/completions", Chat},
		{"/v1beta/openai/chat/completions", Chat},
		{"/v1/completions", Completions},
		{"/openai/deployments/x/completions", Completions},
		{"/v1/responses", Responses},
		{"/openai/v1/responses", Responses},
		{"/v1/messages", Messages},
		{"/anthropic/v1/messages", Messages},
		{"/v1/embeddings", Embeddings},
		{"/openai/deployments/x/embeddings", Embeddings},

		{"", Unknown},
		{"/", Unknown},
		{"/v1/models", Unknown},
		{"/v1/messages/count_tokens", Unknown},
		{"/v1/messages/batches", Unknown},
		{"/v1/messages/batches/msgbatch_1/results", Unknown},
		{"/v1/responses/resp_1", Unknown},
		{"/v1/responses/resp_1/cancel", Unknown},
		{"/v1/responses/input_tokens", Unknown},
		{"/v1/chat/completions/chatcmpl-1", Unknown},
		{"/v1/chat/completions/chatcmpl-1/messages", Unknown},
		{"/v1/threads/thread_1/messages", Unknown},
		{"/v1/audio/transcriptions", Unknown},
		{"/v1/mychat/notcompletions", Unknown},
		{"/v1/xmessages", Unknown},
		{"/model/anthropic.claude/invoke", Unknown},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict", Unknown},
	}
	for _, c := range cases {
		if got := Detect(c.path); got != c.want {
			t.Errorf("%s: %s, want %s", c.path, got, c.want)
		}
	}
}

func TestPathModel(t *testing.T) {
	cases := []struct {
		path, want string
		ok         bool
	}{
		{"/openai/deployments/gpt-4o/chat/completions", "gpt-4o", true},
		{"/openai/Deployments/GPT-4o/embeddings", "GPT-4o", true},
		{"/openai/deployments//chat/completions", "", false},
		{"/openai/deployments/gpt-4o/audio/speech", "", false},
		{"/v1/chat/completions", "", false},
		{"/\u0130\u0130\u0130/deployments/x/chat/completions", "x", true},
		{"/deployments/chat/completions", "chat", true},
	}
	for _, c := range cases {
		if got, ok := PathModel(c.path); got != c.want || ok != c.ok {
			t.Errorf("%s: %q, %v", c.path, got, ok)
		}
	}
}

func TestFormatNames(t *testing.T) {
	for f, want := range map[Format]string{Chat: "chat", Responses: "responses", Messages: "messages", Completions: "completions", Embeddings: "embeddings", Unknown: "unknown", 77: "unknown"} {
		if got := f.String(); got != want {
			t.Errorf("%d is called %q", f, got)
		}
	}
}

func TestPeekModel(t *testing.T) {
	cases := []struct {
		body, want string
		ok         bool
	}{
		{`{"model":"m"}`, "m", true},
		{` { "x" : [1,{"model":"no"},"]"] , "y":-1.5e3,"z":null,"model" : "m\u0031\"" `, `m1"`, true},
		{`{"s":"a\\","t":"\\\"","model":"m","messages":[`, "m", true},
		{`{"mod\u0065l":"m"}`, "m", true},
		{`{"model":"first","model":"second"}`, "first", true},
		{`{"a":{"model":"no"}}`, "", false},
		{`{"model":7}`, "", false},
		{`{"model":null}`, "", false},
		{`{"model":"open`, "", false},
		{`{"model":"bad\q"}`, "", false},
		{`{"model"`, "", false},
		{`{"a":[[[`, "", false},
		{`{"a":"`, "", false},
		{`{"a"]`, "", false},
		{`{}`, "", false},
		{`{`, "", false},
		{`[]`, "", false},
		{``, "", false},
		{`"model"`, "", false},
	}
	for _, c := range cases {
		if got, ok := PeekModel([]byte(c.body)); got != c.want || ok != c.ok {
			t.Errorf("%s: %q, %v", c.body, got, ok)
		}
	}
}

func TestDialectError(t *testing.T) {
	cases := []struct {
		format Format
		status int
		want   string
	}{
		{Chat, 400, `{"error":{"message":"a \"b\"\n","type":"invalid_request_error","param":null,"code":"c"}}`},
		{Unknown, 403, `{"error":{"message":"a \"b\"\n","type":"permission_error","param":null,"code":"c"}}`},
		{Responses, 429, `{"error":{"message":"a \"b\"\n","type":"rate_limit_error","param":null,"code":"c"}}`},
		{Embeddings, 502, `{"error":{"message":"a \"b\"\n","type":"server_error","param":null,"code":"c"}}`},
		{Completions, 418, `{"error":{"message":"a \"b\"\n","type":"invalid_request_error","param":null,"code":"c"}}`},
		{Messages, 401, `{"type":"error","error":{"type":"authentication_error","message":"a \"b\"\n","code":"c"}}`},
		{Messages, 404, `{"type":"error","error":{"type":"not_found_error","message":"a \"b\"\n","code":"c"}}`},
		{Messages, 413, `{"type":"error","error":{"type":"request_too_large","message":"a \"b\"\n","code":"c"}}`},
		{Messages, 418, `{"type":"error","error":{"type":"invalid_request_error","message":"a \"b\"\n","code":"c"}}`},
		{Messages, 500, `{"type":"error","error":{"type":"api_error","message":"a \"b\"\n","code":"c"}}`},
		{Messages, 503, `{"type":"error","error":{"type":"overloaded_error","message":"a \"b\"\n","code":"c"}}`},
	}
	for _, c := range cases {
		got := DialectOf(c.format).Error(c.status, "c", "a \"b\"\n")
		if string(got) != c.want || !json.Valid(got) {
			t.Errorf("%s %d: %s", c.format, c.status, got)
		}
	}
}

func TestCredentials(t *testing.T) {
	h := http.Header{
		"Authorization":  {"Basic dXNlcjpwYXNz", "bearer  sk-1 ", "Bearer"},
		"X-Api-Key":      {"sk-2"},
		"Api-Key":        {""},
		"X-Goog-Api-Key": {"sk-3"},
		"Accept":         {"*/*"},
	}
	got := Credentials(nil, h, "alt=sse&key=sk%2D4&%6Bey=sk-5&key=&monkey=no")
	if want := []string{"sk-1", "sk-2", "sk-3", "sk-4", "sk-5"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	RemoveCredentials(h)
	if len(h) != 1 {
		t.Errorf("left: %v", h)
	}
	for query, want := range map[string][2]string{
		"":                          {},
		"alt=sse&x=%2f":             {"alt=sse&x=%2f", ""},
		"key=a":                     {"", "key=a"},
		"b=1&key=a&a=%20&%6bey=z&c": {"b=1&a=%20&c", "key=a&%6bey=z"},
		"key":                       {"", "key"},
		"API-Key=a&api%5fkey=b&x=1&access_token=c": {"x=1", "API-Key=a&api%5fkey=b&access_token=c"},
	} {
		if left, found := RemoveQueryCredentials(query), QueryCredentials(query); left != want[0] || found != want[1] {
			t.Errorf("%q became %q and %q, want %q", query, left, found, want)
		}
	}
}

func TestNextEvent(t *testing.T) {
	cases := []struct {
		stream string
		want   []string
	}{
		{"", nil},
		{"data: a\n\ndata: b\n\n", []string{"data: a\n\n", "data: b\n\n"}},
		{"event: x\r\ndata: a\r\n\r\n: note\r\n\r\ndata: b\r\n\r\n", []string{"event: x\r\ndata: a\r\n\r\n", ": note\r\n\r\n", "data: b\r\n\r\n"}},
		{"data: a\r\rdata: b\r\r", []string{"data: a\r\r", "data: b\r\r"}},
		{"\n\ndata: a\n\n\n\ndata: b\ndata: c\n\n\n", []string{"\n\ndata: a\n\n", "\n\ndata: b\ndata: c\n\n", "\n"}},
		{"data: a\n\ndata: open", []string{"data: a\n\n", "data: open"}},
		{"data: a\n\r\ndata: b\r\n\n", []string{"data: a\n\r\n", "data: b\r\n\n"}},
	}
	for _, c := range cases {
		var got []string
		for rest := []byte(c.stream); len(rest) > 0; {
			var event []byte
			event, rest = NextEvent(rest)
			got = append(got, string(event))
		}
		if !reflect.DeepEqual(got, c.want) || strings.Join(got, "") != c.stream {
			t.Errorf("%q: %q", c.stream, got)
		}
	}
}

func TestIsEventStream(t *testing.T) {
	for kind, want := range map[string]bool{
		"text/event-stream": true, "Text/Event-Stream; charset=utf-8": true, "text/event-stream ;x": true,
		"application/json": false, "": false, "text/event-streams": false,
	} {
		if IsEventStream(kind) != want {
			t.Errorf("%q is not %v", kind, want)
		}
	}
}
