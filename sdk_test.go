package llmgateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// modelServer is an upstream that answers in the published shapes of both
// APIs, streamed or not as asked, with a tool call as long as the conversation
// has no tool result.
func modelServer(w http.ResponseWriter, r *http.Request, body []byte) {
	var req struct {
		Stream bool              `json:"stream"`
		Tools  []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text := string(body)
	call := len(req.Tools) > 0 && !strings.Contains(text, `"role":"tool"`) && !strings.Contains(text, `"tool_result"`)
	events := func(frames ...string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, frame := range frames {
			io.WriteString(w, frame+"\n\n")
			w.(http.Flusher).Flush()
		}
	}
	chunk := func(delta, finish string) string {
		return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
	}
	event := func(kind, rest string) string {
		return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + rest + "}"
	}
	const start = `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":20,"output_tokens":1}}`
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/chat/completions") && req.Stream && call:
		events(chunk(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"run","arguments":""}}]}`, "null"),
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":\"go test ./...\"}"}}]}`, "null"), chunk(`{}`, `"tool_calls"`), "data: [DONE]")
	case strings.HasSuffix(r.URL.Path, "/chat/completions") && req.Stream:
		events(chunk(`{"role":"assistant","content":"One test "}`, "null"), chunk(`{"content":"fails."}`, "null"), chunk(`{}`, `"stop"`), "data: [DONE]")
	case strings.HasSuffix(r.URL.Path, "/chat/completions") && call:
		io.WriteString(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"run","arguments":"{\"command\":\"go test ./...\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":20,"completion_tokens":5,"total_tokens":25}}`)
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		io.WriteString(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"One test fails."},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":5,"total_tokens":25}}`)
	case strings.HasSuffix(r.URL.Path, "/responses"):
		io.WriteString(w, `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"One test fails.","annotations":[]}]}],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":0},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":25}}`)
	case strings.HasSuffix(r.URL.Path, "/embeddings"):
		io.WriteString(w, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.25,0.5]}],"model":"m","usage":{"prompt_tokens":2,"total_tokens":2}}`)
	case req.Stream && call:
		events(event("message_start", start), event("content_block_start", `,"index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"run","input":{}}`),
			event("content_block_delta", `,"index":0,"delta":{"type":"input_json_delta","partial_json":"{\"command\": \"go test ./...\"}"}`), event("content_block_stop", `,"index":0`),
			event("message_delta", `,"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}`), event("message_stop", ""))
	case req.Stream:
		events(event("message_start", start), event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`),
			event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"One test fails."}`), event("content_block_stop", `,"index":0`),
			event("message_delta", `,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}`), event("message_stop", ""))
	case call:
		io.WriteString(w, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"run","input":{"command":"go test ./..."}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":20,"output_tokens":9}}`)
	default:
		io.WriteString(w, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"One test fails."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":20,"output_tokens":9}}`)
	}
}

// sdkGateway is a gateway with rtk and caveman in front of modelServer.
func sdkGateway(t *testing.T) (string, *recorder) {
	var rec *recorder
	rec = record(t, func(w http.ResponseWriter, r *http.Request) {
		rec.mu.Lock()
		body := rec.requests[len(rec.requests)-1].body
		rec.mu.Unlock()
		modelServer(w, r, body)
	})
	return serve(t, "llm_gateway {\noptimize rtk standard\noptimize caveman lite\n}\nreverse_proxy "+rec.URL), rec
}

// checkSent looks at the last request that the upstream got: it is small, and
// the failure is in it.
func checkSent(t *testing.T, rec *recorder, output string) {
	t.Helper()
	got := rec.take()
	body := string(got[len(got)-1].body)
	if len(body) > len(output)/2 {
		t.Errorf("%d bytes were sent for a tool result of %d", len(body), len(output))
	}
	if !strings.Contains(body, "TestLedgerClose") || !strings.Contains(body, "got 4107, want 4170") {
		t.Errorf("the failure is lost: %s", body)
	}
}

func TestOpenAISDK(t *testing.T) {
	base, rec := sdkGateway(t)
	client := openai.NewClient(option.WithBaseURL(base+"/v1"), option.WithAPIKey("sk-test"), option.WithMaxRetries(0))
	output := goTestRun(900)
	tools := []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name:       "run",
		Parameters: openai.FunctionParameters{"type": "object", "properties": map[string]any{"command": map[string]string{"type": "string"}}},
	})}
	t.Run("tools", func(t *testing.T) {
		params := openai.ChatCompletionNewParams{
			Model:    "gpt-5-mini",
			Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("You are a coding agent."), openai.UserMessage("Run the tests.")},
			Tools:    tools,
		}
		res, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		msg := res.Choices[0].Message
		if len(msg.ToolCalls) != 1 || msg.ToolCalls[0].Function.Name != "run" {
			t.Fatalf("%+v", msg)
		}
		params.Messages = append(params.Messages, msg.ToParam(), openai.ToolMessage(output, msg.ToolCalls[0].ID))
		if res, err = client.Chat.Completions.New(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		if res.Choices[0].Message.Content != "One test fails." || res.Usage.TotalTokens != 25 {
			t.Errorf("%+v", res)
		}
		checkSent(t, rec, output)
	})
	t.Run("tools streamed", func(t *testing.T) {
		params := openai.ChatCompletionNewParams{
			Model:    "gpt-5-mini",
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Run the tests.")},
			Tools:    tools,
		}
		for turn := range 2 {
			stream := client.Chat.Completions.NewStreaming(t.Context(), params)
			acc := openai.ChatCompletionAccumulator{}
			for stream.Next() {
				acc.AddChunk(stream.Current())
			}
			if err := stream.Err(); err != nil {
				t.Fatal(err)
			}
			msg := acc.Choices[0].Message
			if turn == 0 {
				if len(msg.ToolCalls) != 1 || msg.ToolCalls[0].Function.Arguments != `{"command":"go test ./..."}` {
					t.Fatalf("%+v", msg)
				}
				params.Messages = append(params.Messages, msg.ToParam(), openai.ToolMessage(output, msg.ToolCalls[0].ID))
			} else if msg.Content != "One test fails." {
				t.Errorf("%+v", msg)
			}
		}
		checkSent(t, rec, output)
	})
	t.Run("responses", func(t *testing.T) {
		res, err := client.Responses.New(t.Context(), responses.ResponseNewParams{
			Model: "gpt-5-mini",
			Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
				responses.ResponseInputItemParamOfMessage("Run the tests.", "user"),
				responses.ResponseInputItemParamOfFunctionCall(`{"command":"go test ./..."}`, "call_1", "run"),
				{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
					CallID: openai.String("call_1"),
					Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String(output)},
				}},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if res.OutputText() != "One test fails." {
			t.Errorf("%+v", res)
		}
		checkSent(t, rec, output)
	})
	t.Run("embeddings", func(t *testing.T) {
		res, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{Model: "embed", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("text")}})
		if err != nil || fmt.Sprint(res.Data[0].Embedding) != "[0.25 0.5]" {
			t.Errorf("%+v %v", res, err)
		}
	})
}

func TestAnthropicSDK(t *testing.T) {
	base, rec := sdkGateway(t)
	client := anthropic.NewClient(anthropicoption.WithBaseURL(base), anthropicoption.WithAPIKey("sk-ant-test"), anthropicoption.WithMaxRetries(0))
	output := goTestRun(900)
	params := func() anthropic.MessageNewParams {
		return anthropic.MessageNewParams{
			Model: "claude-sonnet-4-5", MaxTokens: 1000,
			System:   []anthropic.TextBlockParam{{Text: "You are a coding agent.", CacheControl: anthropic.NewCacheControlEphemeralParam()}},
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Run the tests."))},
			Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
				Name:        "run",
				InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"command": map[string]string{"type": "string"}}},
			}}},
		}
	}
	check := func(t *testing.T, turn int, msg *anthropic.Message, p *anthropic.MessageNewParams) {
		t.Helper()
		if turn == 1 {
			if msg.Content[0].Text != "One test fails." || msg.Usage.OutputTokens != 9 {
				t.Errorf("%+v", msg)
			}
			return
		}
		use, ok := msg.Content[0].AsAny().(anthropic.ToolUseBlock)
		if !ok || use.Name != "run" {
			t.Fatalf("%+v", msg)
		}
		p.Messages = append(p.Messages, msg.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(use.ID, output, false)))
	}
	t.Run("tools", func(t *testing.T) {
		p := params()
		for turn := range 2 {
			msg, err := client.Messages.New(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			check(t, turn, msg, &p)
		}
		checkSent(t, rec, output)
	})
	t.Run("tools streamed", func(t *testing.T) {
		p := params()
		for turn := range 2 {
			stream := client.Messages.NewStreaming(t.Context(), p)
			var msg anthropic.Message
			for stream.Next() {
				if err := msg.Accumulate(stream.Current()); err != nil {
					t.Fatal(err)
				}
			}
			if err := stream.Err(); err != nil {
				t.Fatal(err)
			}
			check(t, turn, &msg, &p)
		}
		checkSent(t, rec, output)
	})
}
