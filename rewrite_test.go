package llmgateway_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestResponseModel reads the alias in every kind of answer, from the provider
// and from the cache, and finds the rest of the bytes as they were.
func TestResponseModel(t *testing.T) {
	const chat = ` {"id":"1", "object":"chat.completion","created":1,"model":"gpt-5-nano-2025","choices":[{"index":0,"message":{"role":"assistant","content":"I am gpt-5-nano-2025"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
	const event = "data: {\"id\":\"1\",\"model\":\"gpt-5-nano-2025\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n"
	const start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"claude-real\",\"usage\":{\"input_tokens\":3}}}\n\n"
	provider := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/messages"):
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, start)
		case r.Header.Get("X-Stream") != "":
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			io.WriteString(w, event+"data: [DONE]\n\n")
		case r.Header.Get("X-Fail") != "":
			w.WriteHeader(400)
			io.WriteString(w, chat)
		default:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, chat)
		}
	})
	base := serve(t, `llm_gateway {
		cache exact
		provider p `+provider.URL+` {
			format openrouter
			api_key k
		}
		model fast quick {
			upstream_model gpt-5-nano
			response_model alias
		}
		model plain {
			upstream_model gpt-5-nano
		}
		model claude {
			response_model alias
		}
		key k sk
	}`)
	ask := func(model string) string {
		return `{"model":"` + model + `","messages":[{"role":"user","content":"who"}]}`
	}
	alias := func(s, model string) string {
		return strings.Replace(s, `"model":"gpt-5-nano-2025"`, `"model":"`+model+`"`, 1)
	}
	for i, model := range []string{"fast", "fast", "quick", "plain"} {
		want := alias(chat, model)
		if model == "plain" {
			want = chat
		}
		res, body := post(t, base+"/v1/chat/completions", ask(model), "X-Api-Key", "sk")
		if body != want {
			t.Errorf("%d: got %s, want %s", i, body, want)
		}
		if got := res.Header.Get("X-Gateway-Cache"); (got == "HIT") != (i == 1) {
			t.Errorf("%d: cache %s", i, got)
		}
		if n := res.ContentLength; n >= 0 && n != int64(len(want)) {
			t.Errorf("%d: Content-Length %d", i, n)
		}
	}
	_, body := post(t, base+"/v1/chat/completions", `{"stream":true,`+ask("fast")[1:], "X-Api-Key", "sk", "X-Stream", "1")
	if want := alias(event, "fast") + "data: [DONE]\n\n"; body != want {
		t.Errorf("got %s, want %s", body, want)
	}
	_, body = post(t, base+"/v1/messages", `{"stream":true,"max_tokens":1,`+ask("claude")[1:], "X-Api-Key", "sk")
	if want := strings.Replace(start, "claude-real", "claude", 1); body != want {
		t.Errorf("got %s, want %s", body, want)
	}
	_, body = post(t, base+"/v1/chat/completions", ask("fast")+" ", "X-Api-Key", "sk", "X-Fail", "1", "X-Gateway-Cache", "off")
	if body != chat {
		t.Errorf("an error was changed: %s", body)
	}
}

// TestStreamUsage asks for the usage chunk and hides it, unless the client
// asked itself.
func TestStreamUsage(t *testing.T) {
	const content = "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}],\"usage\":null}\n\n"
	const usage = "data: {\"id\":\"1\",\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3,\"total_tokens\":10}}\n\n"
	provider := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, content+usage+"data: [DONE]\n\n")
	})
	base := serve(t, `llm_gateway {
		stream_usage inject
		provider p `+provider.URL+` {
			api_key k
		}
		model off {
			stream_usage off
		}
		model *
		key k sk {
			tpm 1000
		}
	}`)
	hidden, shown := content+"data: [DONE]\n\n", content+usage+"data: [DONE]\n\n"
	for _, tc := range []struct{ name, in, sent, out string }{
		{"absent", `{"model":"m", "stream" : true ,"messages":[]}`, `{"model":"m", "stream" : true,"stream_options":{"include_usage":true} ,"messages":[]}`, hidden},
		{"null", `{"model":"m","stream_options":null,"stream":true,"messages":[]}`, `{"model":"m","stream_options":{"include_usage":true},"stream":true,"messages":[]}`, hidden},
		{"empty", `{"model":"m","stream":true,"stream_options":{ },"messages":[]}`, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[]}`, hidden},
		{"others", `{"model":"m","stream":true,"stream_options":{ "include_obfuscation":false},"messages":[]}`, `{"model":"m","stream":true,"stream_options":{"include_usage":true, "include_obfuscation":false},"messages":[]}`, hidden},
		{"false", `{"model":"m","stream":true,"stream_options":{"include_usage":false},"messages":[]}`, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[]}`, hidden},
		{"asked", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[]}`, "", shown},
		{"twice", `{"model":"m","stream":true,"stream_options":{},"stream_options":{"include_usage":true},"messages":[]}`, "", shown},
		{"no stream", `{"model":"m","stream":false,"messages":[]}`, "", shown},
		{"off for the model", `{"model":"off","stream":true,"messages":[]}`, "", shown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, body := post(t, base+"/v1/chat/completions", tc.in, "X-Api-Key", "sk")
			if tc.sent == "" {
				tc.sent = tc.in
			}
			got := provider.take()[0]
			if string(got.body) != tc.sent || got.length != int64(len(tc.sent)) {
				t.Errorf("sent %s, want %s", got.body, tc.sent)
			}
			if body != tc.out {
				t.Errorf("got %q, want %q (%v)", body, tc.out, res.Header)
			}
		})
	}
}

// TestRewriteStreams checks that each event reaches the client before the next
// one is sent.
func TestRewriteStreams(t *testing.T) {
	next := make(chan bool)
	provider := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			io.WriteString(w, "data: {\"model\":\"real\",\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n")
			w.(http.Flusher).Flush()
			<-next
		}
	})
	base := serve(t, "llm_gateway {\nstream_usage inject\nprovider p "+provider.URL+"\nmodel m {\nresponse_model alias\n}\n}")
	res, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	for i := range 3 {
		line, err := in.ReadString('\n')
		if err != nil || line != "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n" {
			t.Errorf("event %d: %q %v", i, line, err)
		}
		if line, _ = in.ReadString('\n'); line != "\n" {
			t.Errorf("event %d: no blank line: %q", i, line)
		}
		next <- true
	}
}
