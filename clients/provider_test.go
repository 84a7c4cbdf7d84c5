package clients

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// call is a request as the provider saw it.
type call struct {
	method, uri string
	header      http.Header
	body        []byte
}

// provider answers in the published shapes of both APIs. It keeps no state:
// the same request has the same answer, whoever sends it.
type provider struct {
	*httptest.Server
	// gone gets the name of each check whose endless stream was broken off.
	gone chan string

	mu    sync.Mutex
	calls []call
}

// startProvider runs a provider until the test ends; answer is what it says.
func startProvider(t *testing.T, answer func(p *provider, w http.ResponseWriter, r *http.Request, body []byte)) *provider {
	t.Helper()
	p := &provider{gone: make(chan string, 8)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("provider: reading %s: %v", r.RequestURI, err)
		}
		p.mu.Lock()
		p.calls = append(p.calls, call{r.Method, r.RequestURI, r.Header.Clone(), body})
		p.mu.Unlock()
		answer(p, w, r, body)
	}))
	t.Cleanup(p.Close)
	return p
}

// take returns the requests since the last take.
func (p *provider) take() []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := p.calls
	p.calls = nil
	return calls
}

// question is what the provider looks at in a request.
type question struct {
	Model          string          `json:"model"`
	Stream         bool            `json:"stream"`
	Tools          json.RawMessage `json:"tools"`
	ResponseFormat json.RawMessage `json:"response_format"`
	EncodingFormat string          `json:"encoding_format"`
	StreamOptions  struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// speak answers an SDK: with a call of the tool, if there is one, until the
// conversation has its result, then with a text.
func speak(p *provider, w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "req_openai_1")
	w.Header().Set("Request-Id", "req_anthropic_1")
	path := r.URL.Path
	anthropic := strings.HasPrefix(path, "/v1/messages")
	if name, ok := strings.CutPrefix(path, "/v1/models/"); ok {
		fmt.Fprintf(w, `{"id":%q,"object":"model","created":1,"owned_by":"somebody"}`, name)
		return
	}
	if path == "/v1/models" {
		io.WriteString(w, listed(r.Header.Get("Anthropic-Version") != ""))
		return
	}
	var q question
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if i := strings.LastIndexByte(q.Model, '-'); strings.Contains(q.Model, "-fails-") || strings.Contains(q.Model, "-streams-") {
		status, err := strconv.Atoi(q.Model[i+1:])
		if err != nil {
			panic(err)
		}
		refuse(w, status, anthropic)
		return
	}
	called := bytes.Contains(body, []byte(`"role":"tool"`)) || bytes.Contains(body, []byte(`"tool_result"`)) || bytes.Contains(body, []byte(`"function_call_output"`))
	s := &speech{w: w, q: q, call: len(q.Tools) > 2 && !called, endless: strings.HasSuffix(q.Model, "-endless"), breaks: strings.HasSuffix(q.Model, "-breaks")}
	switch path {
	case "/v1/chat/completions":
		s.chat()
	case "/v1/responses":
		s.responses()
	case "/v1/messages":
		s.messages()
	case "/v1/messages/count_tokens":
		io.WriteString(w, `{"input_tokens":4711}`)
	case "/v1/embeddings":
		s.embeddings()
	default:
		http.NotFound(w, r)
	}
	if s.endless {
		s.goOn(r)
		p.gone <- r.Header.Get("X-Check")
	}
}

// listed is the list of the provider's models.
func listed(anthropic bool) string {
	if anthropic {
		return `{"data":[{"type":"model","id":"claude-test-1","display_name":"Sonnet","created_at":"2025-09-29T00:00:00Z"}],"has_more":false,"first_id":"claude-test-1","last_id":"claude-test-1"}`
	}
	return `{"object":"list","data":[{"id":"gpt-5-mini","object":"model","created":1,"owned_by":"somebody"},{"id":"o9-secret","object":"model","created":1,"owned_by":"somebody"}]}`
}

// refuse answers with an error of the provider's own.
func refuse(w http.ResponseWriter, status int, anthropic bool) {
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "17")
	}
	w.WriteHeader(status)
	if anthropic {
		fmt.Fprintf(w, `{"type":"error","error":{"type":"provider_%d","message":"the provider says %d"},"request_id":"req_anthropic_1"}`, status, status)
		return
	}
	fmt.Fprintf(w, `{"error":{"message":"the provider says %d","type":"provider_error","param":"model","code":"provider_%d"}}`, status, status)
}

// speech is one answer.
type speech struct {
	w       http.ResponseWriter
	q       question
	call    bool // of the tool, rather than a text
	endless bool
	breaks  bool
}

// send sends frames of a stream one by one.
func (s *speech) send(frames ...string) {
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, frame := range frames {
		io.WriteString(s.w, frame+"\n\n")
		s.w.(http.Flusher).Flush()
	}
}

// goOn sends until the client has gone.
func (s *speech) goOn(r *http.Request) {
	frame := chatChunk(`{"content":"more "}`, "null")
	if strings.HasPrefix(r.URL.Path, "/v1/messages") {
		frame = event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"more "}`)
	}
	for r.Context().Err() == nil {
		s.send(frame)
	}
}

const (
	finalText = "One test fails."
	arguments = `{"command":"go test ./..."}`
	chatUsage = `{"prompt_tokens":20,"completion_tokens":5,"total_tokens":25,"prompt_tokens_details":{"cached_tokens":12},"completion_tokens_details":{"reasoning_tokens":2}}`
)

var (
	quotedArguments = strconv.Quote(arguments)
	chatCall        = `{"id":"call_1","type":"function","function":{"name":"run","arguments":` + quotedArguments + `}}`
)

func chatChunk(delta, finish string) string {
	return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini-2025","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
}

func (s *speech) chat() {
	text := finalText
	if len(s.q.ResponseFormat) > 0 {
		text = `{"command":"none"}`
	}
	switch {
	case s.breaks:
		s.send(chatChunk(`{"role":"assistant","content":"One "}`, "null"), `data: {"error":{"message":"overloaded in the middle","type":"server_error","param":null,"code":"overloaded"}}`)
	case s.endless:
		s.send(chatChunk(`{"role":"assistant","content":""}`, "null"))
	case s.q.Stream:
		if s.call {
			s.send(chatChunk(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"run","arguments":""}}]}`, "null"),
				chatChunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":"}}]}`, "null"),
				chatChunk(`{"tool_calls":[{"index":0,"function":{"arguments":"\"go test ./...\"}"}}]}`, "null"), chatChunk(`{}`, `"tool_calls"`))
		} else {
			s.send(chatChunk(`{"role":"assistant","content":"One test "}`, "null"), ": keep-alive", chatChunk(`{"content":"fails."}`, "null"), chatChunk(`{}`, `"stop"`))
		}
		if s.q.StreamOptions.IncludeUsage {
			s.send(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini-2025","choices":[],"usage":` + chatUsage + `}`)
		}
		s.send("data: [DONE]")
	case s.call:
		io.WriteString(s.w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-5-mini-2025","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[`+chatCall+`]},"finish_reason":"tool_calls"}],"usage":`+chatUsage+`}`)
	default:
		io.WriteString(s.w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-5-mini-2025","choices":[{"index":0,"message":{"role":"assistant","content":`+strconv.Quote(text)+`,"refusal":null},"finish_reason":"stop"}],"usage":`+chatUsage+`}`)
	}
}

func event(kind, rest string) string {
	return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + rest + "}"
}

func (s *speech) responses() {
	const usage = `{"input_tokens":20,"input_tokens_details":{"cached_tokens":12},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":25}`
	item := `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"` + finalText + `","annotations":[]}]}`
	if s.call {
		item = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"run","arguments":` + quotedArguments + `,"status":"completed"}`
	}
	whole := func(status, output, usage string) string {
		return `{"id":"resp_1","object":"response","created_at":1,"status":"` + status + `","model":"gpt-5-mini-2025","error":null,"incomplete_details":null,"instructions":null,"output":[` + output + `],"parallel_tool_calls":true,"tools":[],"usage":` + usage + `}`
	}
	if !s.q.Stream {
		io.WriteString(s.w, whole("completed", item, usage))
		return
	}
	frames := []string{event("response.created", `,"sequence_number":0,"response":`+whole("in_progress", "", "null"))}
	if s.call {
		frames = append(frames, event("response.output_item.added", `,"sequence_number":1,"output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"run","arguments":"","status":"in_progress"}`),
			event("response.function_call_arguments.delta", `,"sequence_number":2,"item_id":"fc_1","output_index":0,"delta":`+quotedArguments),
			event("response.function_call_arguments.done", `,"sequence_number":3,"item_id":"fc_1","output_index":0,"name":"run","arguments":`+quotedArguments))
	} else {
		frames = append(frames, event("response.output_item.added", `,"sequence_number":1,"output_index":0,"item":{"type":"message","id":"msg_1","status":"in_progress","role":"assistant","content":[]}`),
			event("response.content_part.added", `,"sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`),
			event("response.output_text.delta", `,"sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"logprobs":[],"delta":"`+finalText+`"`),
			event("response.output_text.done", `,"sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"logprobs":[],"text":"`+finalText+`"`),
			event("response.content_part.done", `,"sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"`+finalText+`","annotations":[]}`))
	}
	s.send(append(frames, event("response.output_item.done", `,"sequence_number":6,"output_index":0,"item":`+item), event("response.completed", `,"sequence_number":7,"response":`+whole("completed", item, usage)))...)
}

func (s *speech) messages() {
	block, start, delta, reason := `{"type":"text","text":"`+finalText+`"}`, `{"type":"text","text":""}`, []string{`{"type":"text_delta","text":"One test "}`, `{"type":"text_delta","text":"fails."}`}, "end_turn"
	if s.call {
		block, start, reason = `{"type":"tool_use","id":"toolu_1","name":"run","input":`+arguments+`}`, `{"type":"tool_use","id":"toolu_1","name":"run","input":{}}`, "tool_use"
		delta = []string{`{"type":"input_json_delta","partial_json":"{\"command\": "}`, `{"type":"input_json_delta","partial_json":"\"go test ./...\"}"}`}
	}
	model := strconv.Quote(s.q.Model)
	if !s.q.Stream {
		io.WriteString(s.w, `{"id":"msg_1","type":"message","role":"assistant","model":`+model+`,"content":[`+block+`],"stop_reason":"`+reason+`","stop_sequence":null,"usage":{"input_tokens":20,"cache_creation_input_tokens":3,"cache_read_input_tokens":12,"output_tokens":9}}`)
		return
	}
	s.send(event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","model":`+model+`,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":20,"cache_creation_input_tokens":3,"cache_read_input_tokens":12,"output_tokens":1}}`),
		event("content_block_start", `,"index":0,"content_block":`+start), event("ping", ""))
	switch {
	case s.endless:
		return
	case s.breaks:
		s.send(event("content_block_delta", `,"index":0,"delta":`+delta[0]), event("error", `,"error":{"type":"overloaded_error","message":"overloaded in the middle"}`))
		return
	}
	for _, d := range delta {
		s.send(event("content_block_delta", `,"index":0,"delta":`+d))
	}
	s.send(event("content_block_stop", `,"index":0`), event("message_delta", `,"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":9}`), event("message_stop", ""))
}

func (s *speech) embeddings() {
	vectors := make([]string, 0, 2)
	for _, v := range [][]float32{{0.25, 0.5}, {-1, 2}} {
		encoded, err := json.Marshal(v)
		if s.q.EncodingFormat == "base64" {
			var raw []byte
			for _, f := range v {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
			}
			encoded, err = json.Marshal(base64.StdEncoding.EncodeToString(raw))
		}
		if err != nil {
			panic(err)
		}
		vectors = append(vectors, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, len(vectors), encoded))
	}
	io.WriteString(s.w, `{"object":"list","data":[`+strings.Join(vectors, ",")+`],"model":"text-embedding-3-small","usage":{"prompt_tokens":2,"total_tokens":2}}`)
}
