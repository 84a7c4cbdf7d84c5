package provider

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// fronts are the two ways a Provider serves.
var fronts = map[string]func(t *testing.T, p *Provider) string{
	"raw": func(t *testing.T, p *Provider) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- p.Serve(l) }()
		t.Cleanup(func() {
			p.Close()
			if err := <-done; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
		return "http://" + l.Addr().String()
	},
	"net/http": func(t *testing.T, p *Provider) string {
		s := httptest.NewServer(p)
		t.Cleanup(s.Close)
		return s.URL
	},
}

// onBoth runs a test against both fronts.
func onBoth(t *testing.T, cfg Config, f func(t *testing.T, p *Provider, url string)) {
	for name, start := range fronts {
		t.Run(name, func(t *testing.T) {
			p := New(cfg)
			f(t, p, start(t, p))
		})
	}
}

func openaiClient(url string, opts ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{option.WithBaseURL(url + "/v1"), option.WithAPIKey("k"), option.WithMaxRetries(0)}, opts...)...)
}

func anthropicClient(url string, opts ...anthropicoption.RequestOption) anthropic.Client {
	return anthropic.NewClient(append([]anthropicoption.RequestOption{anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey("k"), anthropicoption.WithMaxRetries(0)}, opts...)...)
}

func wantText(size int) string { return string(text(nil, 0, size)) }

func TestOpenAIClient(t *testing.T) {
	onBoth(t, Config{Check: true, AnswerBytes: 300, Frames: 7}, func(t *testing.T, p *Provider, url string) {
		ctx, c := context.Background(), openaiClient(url)
		params := openai.ChatCompletionNewParams{
			Model:    "gpt-4o",
			Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("s"), openai.UserMessage("q")},
		}
		t.Run("chat", func(t *testing.T) {
			before := p.Stats()
			got, err := c.Chat.Completions.New(ctx, params)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got.ID, "chatcmpl-") || got.Object != "chat.completion" || got.Model != "gpt-4o" {
				t.Errorf("id %q, object %q, model %q", got.ID, got.Object, got.Model)
			}
			if ch := got.Choices[0]; ch.FinishReason != "stop" || ch.Message.Content != wantText(300) || ch.Message.Role != "assistant" {
				t.Errorf("choice %+v", ch)
			}
			u, after := got.Usage, p.Stats()
			if received := (after.BodyBytes - before.BodyBytes + 3) / 4; u.PromptTokens != received || u.CompletionTokens != 75 || u.TotalTokens != received+75 {
				t.Errorf("usage %+v, %d received", u, received)
			}
		})
		t.Run("chat stream", func(t *testing.T) {
			params := params
			params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
			s := c.Chat.Completions.NewStreaming(ctx, params)
			var acc openai.ChatCompletionAccumulator
			chunks := 0
			for s.Next() {
				chunk := s.Current()
				if chunk.Object != "chat.completion.chunk" || !acc.AddChunk(chunk) {
					t.Errorf("chunk %s", chunk.RawJSON())
				}
				chunks++
			}
			if s.Err() != nil || chunks != 1+7+1+1 {
				t.Fatalf("%d chunks, %v", chunks, s.Err())
			}
			if ch := acc.Choices[0]; ch.FinishReason != "stop" || ch.Message.Content != wantText(300) {
				t.Errorf("choice %+v", ch)
			}
			if u := acc.Usage; u.PromptTokens == 0 || u.TotalTokens != u.PromptTokens+u.CompletionTokens {
				t.Errorf("usage %+v", u)
			}
		})
		t.Run("completions", func(t *testing.T) {
			params := openai.CompletionNewParams{Model: "m", Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("p")}}
			got, err := c.Completions.New(ctx, params)
			if err != nil || got.Choices[0].Text != wantText(300) || got.Choices[0].FinishReason != "stop" {
				t.Fatalf("%+v, %v", got, err)
			}
			s := c.Completions.NewStreaming(ctx, params)
			var all strings.Builder
			for s.Next() {
				all.WriteString(s.Current().Choices[0].Text)
			}
			if s.Err() != nil || all.String() != wantText(300) {
				t.Errorf("%q, %v", all.String(), s.Err())
			}
		})
		t.Run("responses", func(t *testing.T) {
			params := responses.ResponseNewParams{Model: "gpt-5", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("q")}}
			got, err := c.Responses.New(ctx, params)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != "completed" || got.OutputText() != wantText(300) || got.Usage.TotalTokens != got.Usage.InputTokens+75 {
				t.Errorf("response %s", got.RawJSON())
			}
			s := c.Responses.NewStreaming(ctx, params)
			var deltas strings.Builder
			var types []string
			for i := int64(0); s.Next(); i++ {
				e := s.Current()
				if e.SequenceNumber != i {
					t.Errorf("event %d has sequence number %d", i, e.SequenceNumber)
				}
				switch e.Type {
				case "response.output_text.delta":
					deltas.WriteString(e.Delta)
				case "response.completed":
					if e.Response.OutputText() != wantText(300) || e.Response.Usage.OutputTokens != 75 {
						t.Errorf("completed with %s", e.Response.RawJSON())
					}
				}
				if len(types) == 0 || types[len(types)-1] != e.Type {
					types = append(types, e.Type)
				}
			}
			want := []string{"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
				"response.output_text.delta", "response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed"}
			if s.Err() != nil || deltas.String() != wantText(300) || !slices.Equal(types, want) {
				t.Errorf("%v: %q, %v", types, deltas.String(), s.Err())
			}
		})
		t.Run("embeddings", func(t *testing.T) {
			for _, encoding := range []openai.EmbeddingNewParamsEncodingFormat{"float", "base64"} {
				got, err := c.Embeddings.New(ctx, openai.EmbeddingNewParams{
					Model: "e", Dimensions: openai.Int(4), EncodingFormat: encoding,
					Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a", "b"}},
				})
				if encoding == "base64" { // the client has no type for it
					if err == nil && !strings.Contains(got.RawJSON(), `"embedding":"AACAPwAAAAAAAAAAAAAAAA=="`) {
						t.Errorf("base64: %s", got.RawJSON())
					}
					continue
				}
				if err != nil || len(got.Data) != 2 || !slices.Equal(got.Data[1].Embedding, []float64{0, 1, 0, 0}) || got.Data[1].Index != 1 || got.Usage.PromptTokens == 0 {
					t.Errorf("%+v, %v", got, err)
				}
			}
		})
		t.Run("models", func(t *testing.T) {
			got, err := c.Models.List(ctx)
			if err != nil || len(got.Data) != 1 || got.Data[0].ID != "stand-in" || got.Data[0].Object != "model" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	})
}

func TestAnthropicClient(t *testing.T) {
	onBoth(t, Config{Check: true, AnswerBytes: 300, Frames: 7}, func(t *testing.T, p *Provider, url string) {
		ctx, c := context.Background(), anthropicClient(url)
		params := anthropic.MessageNewParams{
			Model: "claude-sonnet-4-5", MaxTokens: 64,
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("q"))},
		}
		got, err := c.Messages.New(ctx, params)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got.ID, "msg_") || got.Type != "message" || got.Role != "assistant" || got.StopReason != "end_turn" || got.Content[0].Text != wantText(300) {
			t.Errorf("message %s", got.RawJSON())
		}
		if got.Usage.InputTokens == 0 || got.Usage.OutputTokens != 75 {
			t.Errorf("usage %+v", got.Usage)
		}
		s := c.Messages.NewStreaming(ctx, params)
		var acc anthropic.Message
		events := 0
		for s.Next() {
			if err := acc.Accumulate(s.Current()); err != nil {
				t.Fatal(err)
			}
			events++
		}
		if s.Err() != nil || acc.Content[0].Text != wantText(300) || acc.StopReason != "end_turn" || acc.Usage.OutputTokens != 75 || acc.Usage.InputTokens == 0 {
			t.Errorf("%d events, %+v, %v", events, acc, s.Err())
		}
		count, err := c.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: "m", Messages: params.Messages})
		if err != nil || count.InputTokens == 0 {
			t.Errorf("count %+v, %v", count, err)
		}
	})
}

func TestRefusals(t *testing.T) {
	cfg := Config{Check: true, Keys: []string{"good"}, Models: []string{"known"}}
	onBoth(t, cfg, func(t *testing.T, p *Provider, url string) {
		chat := func(model string, opts ...option.RequestOption) error {
			c := openaiClient(url, opts...)
			_, err := c.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("q")}})
			return err
		}
		good := option.WithAPIKey("good")
		for name, tc := range map[string]struct {
			err          error
			status       int
			code, typeOf string
		}{
			"key":      {chat("known"), 401, "invalid_api_key", "invalid_request_error"},
			"model":    {chat("other", good), 404, "model_not_found", "invalid_request_error"},
			"injected": {chat("known", good, option.WithHeader("Bench-Status", "429")), 429, "injected", "rate_limit_error"},
		} {
			var e *openai.Error
			if !errors.As(tc.err, &e) || e.StatusCode != tc.status || e.Code != tc.code || e.Type != tc.typeOf || e.Message == "" {
				t.Errorf("%s: %v", name, tc.err)
			}
			if tc.status == 429 && e != nil && e.Response.Header.Get("Retry-After") != "1" {
				t.Errorf("%s: no Retry-After", name)
			}
		}
		c := anthropicClient(url)
		_, err := c.Messages.New(context.Background(), anthropic.MessageNewParams{Model: "known", MaxTokens: 1, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("q"))}})
		var e *anthropic.Error
		if !errors.As(err, &e) || e.StatusCode != 401 || !strings.Contains(e.RawJSON(), `"authentication_error"`) {
			t.Errorf("anthropic key: %v", err)
		}
		for path, status := range map[string]int{"/v1/files": 404, "/v1/chat/completions": 405} {
			resp, err := http.Get(url + path)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != status {
				t.Errorf("GET %s: %d, want %d", path, resp.StatusCode, status)
			}
		}
	})
}

func TestFailEvery(t *testing.T) {
	onBoth(t, Config{FailEvery: 3, FailStatus: 529}, func(t *testing.T, p *Provider, url string) {
		var got []int
		for range 6 {
			got = append(got, post(t, url+"/v1/messages", `{"model":"m"}`, nil).StatusCode)
		}
		if !slices.Equal(got, []int{200, 200, 529, 200, 200, 529}) {
			t.Errorf("got %v", got)
		}
	})
}

// post sends a body and reads the whole answer into its Body.
func post(t *testing.T, url, body string, header map[string]string) *http.Response {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(all))
	if err != nil {
		resp.Body = errBody{err}
	}
	return resp
}

type errBody struct{ error }

func (e errBody) Read([]byte) (int, error) { return 0, e.error }
func (errBody) Close() error               { return nil }

// With an id the answer is known beforehand, byte by byte.
func TestRender(t *testing.T) {
	onBoth(t, Config{}, func(t *testing.T, p *Provider, url string) {
		for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages"} {
			for _, body := range []string{
				`{"model":"m","stream":true,"max_tokens":9,"input":"x","messages":[{"role":"user","content":"x"}]}`,
				`{"model":"m","max_tokens":9,"input":"x","messages":[{"role":"user","content":"x"}]}`,
			} {
				got, err := io.ReadAll(post(t, url+path, body, map[string]string{"Bench-Id": "77"}).Body)
				if want := bytes.Join(p.Render(path, []byte(body), 77), nil); err != nil || len(want) == 0 || !bytes.Equal(got, want) {
					t.Errorf("%s: got\n%s\nwant\n%s\n%v", path, got, want, err)
				}
			}
		}
	})
}

func TestCut(t *testing.T) {
	onBoth(t, Config{}, func(t *testing.T, p *Provider, url string) {
		for _, body := range []string{`{"model":"m","stream":true}`, `{"model":"m"}`} {
			_, err := io.ReadAll(post(t, url+"/v1/chat/completions", body, map[string]string{"Bench-Cut": "3"}).Body)
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %v, want an unexpected EOF", body, err)
			}
		}
	})
}

func TestHoldAndSent(t *testing.T) {
	held := make(chan struct{})
	var mu sync.Mutex
	sent := map[uint64][]int{}
	cfg := Config{Frames: 3, Hold: func() { <-held }, Sent: func(id uint64, frame int) {
		mu.Lock()
		defer mu.Unlock()
		sent[id] = append(sent[id], frame)
	}}
	p := New(cfg)
	url := fronts["raw"](t, p)
	var wg sync.WaitGroup
	for _, id := range []string{"1", "2"} {
		wg.Go(func() {
			post(t, url+"/v1/messages", `{"model":"m","stream":true}`, map[string]string{"Bench-Id": id})
		})
	}
	close(held)
	wg.Wait()
	want := []int{0, 1, 2, 3, 4}
	if len(sent) != 2 || !slices.Equal(sent[1], want) || !slices.Equal(sent[2], want) {
		t.Errorf("sent %v", sent)
	}
}

func TestCheck(t *testing.T) {
	const (
		chat     = "/v1/chat/completions"
		messages = "/v1/messages"
		input    = "/v1/responses"
	)
	for _, tc := range []struct {
		path, body string
		ok         bool
	}{
		{chat, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, true},
		{chat, `{"model":"m","messages":[{"role":"user","content":"x"}]`, false},
		{chat, `[]`, false},
		{chat, `{"messages":[{"role":"user","content":"x"}]}`, false},
		{chat, `{"model":7,"messages":[{"role":"user","content":"x"}]}`, false},
		{chat, `{"model":"m","messages":[]}`, false},
		{chat, `{"model":"m","messages":[{"role":"user","content":null}]}`, false},
		{chat, `{"model":"m","messages":[{"role":"nobody","content":"x"}]}`, false},
		{chat, `{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a"},{"id":"b"}]},{"role":"tool","tool_call_id":"b","content":""},{"role":"tool","tool_call_id":"a","content":""}]}`, true},
		{chat, `{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a"},{"id":"b"}]},{"role":"tool","tool_call_id":"b","content":""}]}`, false},
		{chat, `{"model":"m","messages":[{"role":"tool","tool_call_id":"b","content":""}]}`, false},
		{chat, `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a"}]},{"role":"user","content":"x"},{"role":"tool","tool_call_id":"a","content":""}]}`, false},
		{messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, true},
		{messages, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, false},
		{messages, `{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":"x"}]}`, false},
		{messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":""}]}`, false},
		{messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, false},
		{messages, `{"model":"m","max_tokens":1,"system":[{"type":"text","text":""}],"messages":[{"role":"user","content":"x"}]}`, false},
		{messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"text","text":"x"}]}]}`, true},
		{messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a"}]},{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"a"}]}]}`, false},
		{messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a"}]},{"role":"user","content":"x"}]}`, false},
		{messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`, false},
		{messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a"}]}]}`, false},
		{input, `{"model":"m","input":"x"}`, true},
		{input, `{"model":"m"}`, false},
		{input, `{"model":"m","input":7}`, false},
		{input, `{"model":"m","input":[{"type":"function_call","call_id":"a"},{"type":"function_call_output","call_id":"a"}]}`, true},
		{input, `{"model":"m","input":[{"type":"function_call","call_id":"a"}]}`, false},
		{input, `{"model":"m","input":[{"type":"function_call_output","call_id":"a"}]}`, false},
	} {
		var a ask
		a.reset("POST", tc.path)
		a.keepBody([]byte(tc.body), true)
		if problem := a.understand(true); (problem == nil) != tc.ok {
			t.Errorf("%s: %+v", tc.body, problem)
		}
	}
}

// However a trusted body is cut into pieces, its ends are known.
func TestKeepBody(t *testing.T) {
	for _, size := range []int{0, 1, edge, 2 * edge, 2*edge + 1, 5*edge + 7, 100_000} {
		body := make([]byte, size)
		for i := range body {
			body[i] = byte('a' + i%23)
		}
		for _, piece := range []int{1, 7, 100, edge - 1, edge, edge + 1, 2 * edge, 3 * edge, 1 << 20} {
			if piece == 1 && size > 20_000 {
				continue
			}
			var a ask
			a.reset("POST", "/v1/messages")
			for p := range slices.Chunk(body, piece) {
				a.keepBody(p, false)
			}
			if a.bytes != int64(size) || len(a.body) > 2*edge {
				t.Fatalf("size %d, piece %d: %d bytes, %d kept", size, piece, a.bytes, len(a.body))
			}
			if n := min(size, edge); !bytes.Equal(a.body[:n], body[:n]) || !bytes.HasSuffix(body, a.body[min(len(a.body), edge):]) {
				t.Fatalf("size %d, piece %d: the ends are wrong", size, piece)
			}
			if size <= 2*edge && !bytes.Equal(a.body, body) {
				t.Fatalf("size %d, piece %d: a small body is not whole", size, piece)
			}
			if size > edge && len(a.body)-edge < min(size-edge, edge) {
				t.Fatalf("size %d, piece %d: only %d bytes of the tail", size, piece, len(a.body)-edge)
			}
		}
	}
}

func TestPeek(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"gpt-4o","x":1}`:   "gpt-4o",
		`{"model" : "a\"b"}`:         `a\"b`,
		`{"model":7}`:                "",
		`{"model":"cut`:              "",
		`{"x":1}`:                    "",
		`{"model"`:                   "",
		`{"model":"m","stream":true`: "m",
	} {
		var a ask
		a.reset("POST", "/v1/messages")
		a.keepBody([]byte(body), false)
		if problem := a.understand(false); problem != nil || string(a.model) != want || a.stream != strings.Contains(body, "stream") {
			t.Errorf("%s: model %q, stream %v, %v", body, a.model, a.stream, problem)
		}
	}
}

func TestCountTokens(t *testing.T) {
	onBoth(t, Config{CountTokens: func(b []byte) int { return len(b) * 1000 }}, func(t *testing.T, p *Provider, url string) {
		body := `{"model":"m","pad":"` + strings.Repeat("x", 5*edge) + `"}`
		got, err := io.ReadAll(post(t, url+"/v1/messages/count_tokens", body, nil).Body)
		if want := `{"input_tokens":10262000}`; err != nil || string(got) != want {
			t.Errorf("got %s, %v", got, err)
		}
	})
}

func TestHTTP2OverTLS(t *testing.T) {
	cert, ca, err := Certificate()
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		t.Fatal("no certificate in the PEM text")
	}
	s := httptest.NewUnstartedServer(New(Config{}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	c := http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}}}
	resp, err := c.Post(s.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil || resp.ProtoMajor != 2 || !bytes.HasSuffix(all, []byte("data: [DONE]\n\n")) {
		t.Errorf("%s: %s, %v", resp.Proto, all, err)
	}
}

func TestCloseEndsConnections(t *testing.T) {
	p := New(Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- p.Serve(l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	if err := p.Serve(l); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
