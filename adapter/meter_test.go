package adapter

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// events joins server-sent events, each of them the lines of one.
func events(list ...string) string { return strings.Join(list, "\n\n") + "\n\n" }

// data makes an event of each line of JSON.
func data(list ...string) string {
	for i := range list {
		list[i] = "data: " + list[i]
	}
	return events(list...)
}

// named makes an event with a name of each line of JSON that has a type.
func named(list ...string) string {
	for i := range list {
		kind := strings.SplitN(list[i], `"`, 5)[3]
		list[i] = "event: " + kind + "\ndata: " + list[i]
	}
	return events(list...)
}

// meterCase is one response body, made up in the shape that the provider's
// reference shows, and what it says.
type meterCase struct {
	name   string
	format Format
	stream bool
	body   string
	want   Answer
}

func one(finish string) []Choice { return []Choice{{Finish: finish}} }

var meterCases = []meterCase{
	{
		name: "chat stream with usage", format: Chat, stream: true,
		body: ": OPENROUTER PROCESSING\n\n" + data(
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}],"usage":null}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini","choices":[{"index":0,"delta":{"content":" \"you\" \u00e9"},"finish_reason":null}],"usage":null}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini","choices":[],"usage":{"prompt_tokens":2006,"completion_tokens":300,"total_tokens":2306,"prompt_tokens_details":{"cached_tokens":1920,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":64,"audio_tokens":0}}}`,
			`[DONE]`),
		want: Answer{Model: "gpt-5-mini", ID: "chatcmpl-1", Choices: one("stop"), Output: true, Content: true, Written: 20, Complete: true,
			Usage: Usage{Known: true, Input: 2006, CacheRead: 1920, Output: 300, Reasoning: 64}},
	},
	{
		name: "chat stream, two choices, tools", format: Chat, stream: true,
		body: data(
			`{"id":"c","model":"m","choices":[{"index":1,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"ls","arguments":""}}]}}]}`,
			`{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"x"}},{"index":1,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}`,
			`{"id":"c","model":"m","choices":[{"finish_reason":"length","index":0,"delta":{}}]}`,
			`{"id":"c","model":"m","choices":[{"index":1,"delta":{},"finish_reason":"tool_calls"}]}`,
			`[DONE]`),
		want: Answer{Model: "m", ID: "c", Choices: []Choice{{1, "tool_calls"}, {0, "length"}}, Output: true, Content: true, Written: 3, ToolCalls: true, Truncated: true, Complete: true},
	},
	{
		name: "chat stream, one choice open", format: Chat, stream: true,
		body: data(
			`{"id":"c","choices":[{"index":0,"delta":{"content":"x"}},{"index":1,"delta":{"content":"y"}}]}`,
			`{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			`[DONE]`),
		want: Answer{ID: "c", Choices: []Choice{{0, "stop"}, {1, ""}}, Output: true, Content: true, Written: 2},
	},
	{
		name: "chat stream without its mark", format: Chat, stream: true,
		body: data(`{"id":"c","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`),
		want: Answer{ID: "c", Choices: one("stop"), Output: true, Content: true, Written: 1},
	},
	{
		name: "chat stream that goes on behind its mark", format: Chat, stream: true,
		body: data(`{"id":"c","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`, `[DONE]`, `{"id":"c"}`),
		want: Answer{ID: "c", Choices: one("stop"), Output: true, Content: true, Written: 1, Fault: FaultLate},
	},
	{
		name: "chat stream with an error in it", format: Chat, stream: true,
		body: data(`{"id":"c","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`,
			`{"error":{"message":"upstream \"gone\"","type":"server_error","code":502}}`, `[DONE]`),
		want: Answer{ID: "c", Choices: one("stop"), Output: true, Content: true, Written: 1, Failed: true, ErrorType: "server_error", ErrorMessage: `upstream "gone"`},
	},
	{
		name: "chat stream with an event that is no JSON", format: Chat, stream: true,
		body: data(`{"id":"c","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`, `{"id":`, `[DONE]`),
		want: Answer{ID: "c", Choices: one("stop"), Output: true, Content: true, Written: 1, Fault: FaultSyntax},
	},
	{
		name: "chat stream, CRLF, data in two lines, no space", format: Chat, stream: true,
		body: "\ufeffdata:{\"id\":\"c\",\r\ndata:\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"hm\"}}]}\r\n\r\nid: 7\r\nretry: 10\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\n: bye\r\n\r\ndata: [DONE]\r\n\r\n",
		want: Answer{ID: "c", Choices: one("stop"), Content: true, Written: 2, Complete: true},
	},
	{
		name: "chat stream, CR", format: Chat, stream: true,
		body: strings.ReplaceAll(data(`{"id":"c","choices":[{"index":0,"delta":{"refusal":"no"},"finish_reason":"content_filter"}]}`, `[DONE]`), "\n", "\r"),
		want: Answer{ID: "c", Choices: one("content_filter"), Output: true, Content: true, Written: 2, Refusal: true, Filtered: true, Complete: true},
	},
	{
		name: "chat stream, end of the last line missing", format: Chat, stream: true,
		body: "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n",
		want: Answer{ID: "c", Choices: one("stop"), Output: true, Content: true, Written: 1, Fault: FaultCut},
	},
	{
		name: "chat stream, DeepSeek's usage", format: Chat, stream: true,
		body: data(`{"id":"d","model":"deepseek-chat","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":17,"completion_tokens":9,"total_tokens":26,"prompt_cache_hit_tokens":16,"prompt_cache_miss_tokens":1}}`, `[DONE]`),
		want: Answer{ID: "d", Model: "deepseek-chat", Choices: one("stop"), Output: true, Content: true, Written: 1, Complete: true,
			Usage: Usage{Known: true, Input: 17, CacheRead: 16, Output: 9}},
	},
	{
		name: "chat stream, running usage, the last counts", format: Chat, stream: true,
		body: data(
			`{"id":"v","choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}`,
			`{"id":"v","choices":[{"index":0,"delta":{"content":"y"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`,
			`[DONE]`),
		want: Answer{ID: "v", Choices: one("stop"), Output: true, Content: true, Written: 2, Complete: true, Usage: Usage{Known: true, Input: 5, Output: 2}},
	},
	{
		name: "chat body", format: Chat,
		body: "{\n  \"id\": \"chatcmpl-2\", \"object\": \"chat.completion\", \"model\": \"grok\",\n \"choices\": [{\"index\": 0, \"message\": {\"role\": \"assistant\", \"content\": \"Hi\", \"refusal\": null, \"annotations\": []}, \"finish_reason\": \"stop\"}],\n \"usage\": {\"prompt_tokens\": 10, \"completion_tokens\": 5, \"total_tokens\": 45, \"completion_tokens_details\": {\"reasoning_tokens\": 30}}}\n",
		want: Answer{ID: "chatcmpl-2", Model: "grok", Choices: one("stop"), Output: true, Content: true, Written: 2, Complete: true,
			Usage: Usage{Known: true, Input: 10, Output: 35, Reasoning: 30}},
	},
	{
		name: "chat body with searched sources", format: Chat,
		body: `{"id":"c","choices":[{"message":{"content":"Hi","annotations":[{"type":"url_citation"}]},"finish_reason":"stop"}]}`,
		want: Answer{ID: "c", Choices: one("stop"), Output: true, Content: true, Written: 2, ServerTools: true, Complete: true},
	},
	{
		name: "chat body, empty", format: Chat,
		body: `{"id":"c","choices":[{"index":0,"message":{"content":""},"finish_reason":"stop"}]}`,
		want: Answer{ID: "c", Choices: one("stop"), Complete: true},
	},
	{
		name: "chat body, new reason", format: Chat,
		body: `{"id":"c","choices":[{"index":0,"message":{"content":"x"},"finish_reason":"tired"}]}`,
		want: Answer{ID: "c", Choices: one("tired"), Output: true, Content: true, Written: 1, Odd: true, Complete: true},
	},
	{
		name: "chat body, error", format: Chat,
		body: `{"object":"error","message":"no such model","code":404}`,
		want: Answer{Failed: true, ErrorMessage: "no such model"},
	},
	{
		name: "chat body cut in the last byte", format: Chat,
		body: `{"id":"c","choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}`,
		want: Answer{ID: "c", Choices: one("stop"), Output: true, Content: true, Written: 1, Fault: FaultCut, Usage: Usage{Known: true, Input: 1, Output: 2}},
	},
	{
		name: "chat body with something behind it", format: Chat,
		body: `{"id":"c","choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]} {}`,
		want: Answer{ID: "c", Choices: one("stop"), Output: true, Content: true, Written: 1, Fault: FaultSyntax},
	},
	{
		name: "a page instead of JSON", format: Chat,
		body: "<html><body>Bad gateway</body></html>",
		want: Answer{Fault: FaultSyntax},
	},
	{
		name: "messages stream", format: Messages, stream: true,
		body: named(
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-sonnet-4-5","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":472,"cache_creation_input_tokens":300,"cache_read_input_tokens":18000,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},"output_tokens":2,"service_tier":"standard"}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type": "ping"}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqoB"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Okay"}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"location\":"}}`,
			`{"type":"content_block_stop","index":2}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":0,"cache_creation_input_tokens":300,"cache_read_input_tokens":18000,"output_tokens":89}}`,
			`{"type":"message_stop"}`),
		want: Answer{ID: "msg_1", Model: "claude-sonnet-4-5", Choices: one("tool_use"), Output: true, Content: true, Written: 24, ToolCalls: true, Complete: true,
			Usage: Usage{Known: true, Input: 472 + 300 + 18000, CacheRead: 18000, CacheWrite5m: 100, CacheWrite1h: 200, Output: 89}},
	},
	{
		name: "messages stream that does not stop", format: Messages, stream: true,
		body: named(
			`{"type":"message_start","message":{"id":"msg_2","model":"m","usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Okay"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`),
		want: Answer{ID: "msg_2", Model: "m", Choices: one("end_turn"), Output: true, Content: true, Written: 4, Usage: Usage{Known: true, Input: 1, Output: 3}},
	},
	{
		name: "messages stream with an open block", format: Messages, stream: true,
		body: named(
			`{"type":"message_start","message":{"id":"msg_3","model":"m"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"refusal"}}`,
			`{"type":"message_stop"}`),
		want: Answer{ID: "msg_3", Model: "m", Choices: one("refusal"), Output: true, Content: true, Written: 1, Refusal: true, Fault: FaultCut},
	},
	{
		name: "messages stream, overloaded", format: Messages, stream: true,
		body: named(
			`{"type":"message_start","message":{"id":"msg_4","model":"m","usage":{"input_tokens":9,"output_tokens":1}}}`,
			`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		want: Answer{ID: "msg_4", Model: "m", Choices: one(""), Failed: true, ErrorType: "overloaded_error", ErrorMessage: "Overloaded", Usage: Usage{Known: true, Input: 9, Output: 1}},
	},
	{
		name: "messages stream, server tool, paused", format: Messages, stream: true,
		body: named(
			`{"type":"message_start","message":{"id":"msg_5","model":"m"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"pause_turn"}}`,
			`{"type":"message_stop"}`) + data("[DONE]"),
		want: Answer{ID: "msg_5", Model: "m", Choices: one("pause_turn"), ServerTools: true, Paused: true, Complete: true},
	},
	{
		name: "messages body", format: Messages,
		body: `{"id":"msg_6","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"Hi there"}],"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":7,"cache_read_input_tokens":0,"output_tokens":6,"output_tokens_details":{"thinking_tokens":4}}}`,
		want: Answer{ID: "msg_6", Model: "claude", Choices: one("max_tokens"), Output: true, Content: true, Written: 8, Truncated: true, Complete: true,
			Usage: Usage{Known: true, Input: 19, CacheWrite5m: 7, Output: 6, Reasoning: 4}},
	},
	{
		name: "messages body, error", format: Messages,
		body: `{"type":"error","error":{"type":"api_error","message":"x"},"request_id":"req_1"}`,
		want: Answer{Failed: true, ErrorType: "api_error", ErrorMessage: "x"},
	},
	{
		name: "responses stream", format: Responses, stream: true,
		body: named(
			`{"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-5","error":null,"incomplete_details":null,"output":[],"usage":null}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`,
			`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","delta":"hm"}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","content":[]}}`,
			`{"type":"response.output_text.delta","item_id":"msg_1","delta":"Hi"}`,
			`{"type":"response.completed","response":{"id":"resp_1","object":"response","status":"completed","model":"gpt-5","error":null,"output":[{"type":"reasoning","summary":[]},{"type":"message","content":[{"type":"output_text","text":"Hi","annotations":[]}]}],"usage":{"input_tokens":37,"input_tokens_details":{"cached_tokens":8,"cache_write_tokens":20},"output_tokens":11,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":48}}}`),
		want: Answer{ID: "resp_1", Model: "gpt-5", Choices: one("completed"), Output: true, Content: true, Written: 4, Complete: true,
			Usage: Usage{Known: true, Input: 37, CacheRead: 8, CacheWrite5m: 20, Output: 11, Reasoning: 5}},
	},
	{
		name: "responses stream, cut off by length", format: Responses, stream: true,
		body: named(
			`{"type":"response.output_text.delta","delta":"Hi"}`,
			`{"type":"response.incomplete","response":{"id":"resp_2","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`),
		want: Answer{ID: "resp_2", Choices: one("max_output_tokens"), Output: true, Content: true, Written: 2, Truncated: true},
	},
	{
		name: "responses stream, failed", format: Responses, stream: true,
		body: named(`{"type":"response.failed","response":{"id":"resp_3","status":"failed","error":{"code":"server_error","message":"try again"}}}`),
		want: Answer{ID: "resp_3", Choices: one("failed"), Failed: true, ErrorType: "server_error", ErrorMessage: "try again"},
	},
	{
		name: "responses stream, error event", format: Responses, stream: true,
		body: named(`{"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null,"sequence_number":1}`),
		want: Answer{Failed: true, ErrorType: "rate_limit_exceeded", ErrorMessage: "slow down"},
	},
	{
		name: "responses body with a call and a search", format: Responses,
		body: `{"id":"resp_4","object":"response","status":"completed","model":"gpt-5","error":null,"output":[{"type":"web_search_call","status":"completed"},{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}],"usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}`,
		want: Answer{ID: "resp_4", Model: "gpt-5", Choices: one("completed"), Output: true, Content: true, Written: 2, ToolCalls: true, ServerTools: true, Complete: true,
			Usage: Usage{Known: true, Input: 3, Output: 4}},
	},
	{
		name: "responses body in the background", format: Responses,
		body: `{"id":"resp_5","object":"response","status":"queued","output":[]}`,
		want: Answer{ID: "resp_5", Choices: one("queued"), Odd: true},
	},
	{
		name: "completions stream", format: Completions, stream: true,
		body: data(`{"id":"cmpl-1","object":"text_completion","model":"m","choices":[{"text":"ab","index":0,"logprobs":null,"finish_reason":null}]}`,
			`{"id":"cmpl-1","object":"text_completion","model":"m","choices":[{"text":"","index":0,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`, `[DONE]`),
		want: Answer{ID: "cmpl-1", Model: "m", Choices: one("stop"), Output: true, Content: true, Written: 2, Complete: true, Usage: Usage{Known: true, Input: 1, Output: 2}},
	},
	{
		name: "embeddings", format: Embeddings,
		body: `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.0023,-9.3e-3,1E+2,0]}],"model":"text-embedding-3-small","usage":{"prompt_tokens":8,"total_tokens":8}}`,
		want: Answer{Model: "text-embedding-3-small", Output: true, Content: true, Complete: true, Usage: Usage{Known: true, Input: 8}},
	},
	{
		name: "embeddings without data", format: Embeddings,
		body: `{"object":"list","data":[],"model":"m"}`,
		want: Answer{Model: "m"},
	},
	{
		name: "no format", format: Unknown,
		body: `{}`,
		want: Answer{Fault: FaultUnmetered},
	},
}

// measure feeds body to a meter in pieces that end at the cuts.
func measure(f Format, stream bool, body string, cuts ...int) Answer {
	var m Meter
	m.Start(f, stream)
	from := 0
	for _, cut := range cuts {
		m.Write([]byte(body[from:cut]))
		from = cut
	}
	m.Write([]byte(body[from:]))
	a := *m.End()
	if len(a.Choices) == 0 {
		a.Choices = nil
	}
	return a
}

func TestMeter(t *testing.T) {
	for _, c := range meterCases {
		t.Run(c.name, func(t *testing.T) {
			if got := measure(c.format, c.stream, c.body); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// Wherever the body is cut in two, and cut into single bytes, it says the
// same.
func TestMeterSplit(t *testing.T) {
	for _, c := range meterCases {
		t.Run(c.name, func(t *testing.T) {
			all := make([]int, len(c.body))
			for i := range c.body {
				all[i] = i
				if got := measure(c.format, c.stream, c.body, i); !reflect.DeepEqual(got, c.want) {
					t.Fatalf("cut at %d:\ngot  %+v\nwant %+v", i, got, c.want)
				}
			}
			if got := measure(c.format, c.stream, c.body, all...); !reflect.DeepEqual(got, c.want) {
				t.Fatalf("byte by byte:\ngot  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// A body that ends early is never complete, wherever it ends.
func TestMeterCutShort(t *testing.T) {
	for _, c := range meterCases {
		if !c.want.Complete {
			continue
		}
		for _, crlf := range []bool{false, true} {
			body := strings.TrimRight(c.body, " \n")
			if c.stream {
				body = c.body
			}
			if crlf && c.stream && !strings.Contains(body, "\r") {
				body = strings.ReplaceAll(body, "\n", "\r\n")
			}
			// A CR may be a whole line end; a stream of nothing else is not
			// cut short before the LF that never comes. And [DONE] behind an
			// end that needs none may be missing.
			end := len(body)
			if c.format == Messages && strings.Contains(body, "[DONE]") {
				end = strings.Index(body, "data: [DONE]")
			}
			for i := range end {
				if measure(c.format, c.stream, body[:i]).Complete {
					t.Errorf("%s: complete after %d of %d bytes: %q", c.name, i, end, body[max(0, i-20):i])
				}
			}
		}
	}
}

// What is watched is found in any order of the members and with any spacing.
func TestMeterOrder(t *testing.T) {
	body := `{ "usage" : { "completion_tokens" : 2 , "prompt_tokens" : 1 } , "choices" : [ { "finish_re\u0061son" : "stop" , "message" : { "content" : "x" } , "index" : 3 } ] , "id" : "c" }`
	got := measure(Chat, false, body)
	want := Answer{ID: "c", Choices: []Choice{{3, "stop"}}, Output: true, Content: true, Written: 1, Complete: true, Usage: Usage{Known: true, Input: 1, Output: 2}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

// A line without an end takes no memory.
func TestMeterLongLine(t *testing.T) {
	var m Meter
	m.Start(Chat, true)
	m.Write([]byte(`data: {"choices":[{"index":0,"delta":{"content":"`))
	piece := []byte(strings.Repeat("long ", 1<<12))
	if n := testing.AllocsPerRun(200, func() { m.Write(piece) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	m.Write([]byte("\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
	if a := m.End(); !a.Complete || a.Written < 200*len(piece) {
		t.Errorf("%+v", a)
	}
}

// Events that begin alike are read from where they differ. What their
// beginnings say is not lost and not counted twice.
func TestMeterSameBeginnings(t *testing.T) {
	event := func(text string, usage int) string {
		return fmt.Sprintf(`{"id":"c","usage":{"prompt_tokens":%d,"completion_tokens":1},"choices":[{"index":1,"finish_reason":"stop","delta":{"role":"assistant","content":"%s"}}]}`, usage, text)
	}
	body := data(event("a", 5), event("bc", 5), event("", 7), event("d", 5), event("e", 5), `{"usage":{"prompt_tokens":9}}`, event("f", 5), event("g", 5), "[DONE]")
	want := Answer{ID: "c", Choices: []Choice{{1, "stop"}}, Output: true, Content: true, Written: 7, Complete: true, Usage: Usage{Known: true, Input: 5, Output: 1}}
	for i := range body {
		if got := measure(Chat, true, body, i); !reflect.DeepEqual(got, want) {
			t.Fatalf("cut at %d: %+v", i, got)
		}
	}
	// The length of what is kept does not matter.
	for pad := 380; pad < 440; pad++ {
		chunk := `{"id":"` + strings.Repeat("x", pad) + `","model":"m","choices":[{"index":0,"delta":{"reasoning":"r"},"finish_reason":"stop"}]}`
		got := measure(Chat, true, data(chunk, chunk, "[DONE]"))
		if !got.Complete || got.Written != 2 || got.Model != "m" {
			t.Fatalf("%d bytes more: %+v", pad, got)
		}
	}
}

// A status in the beginning that two events share counts for both.
func TestMeterSameStatus(t *testing.T) {
	event := `{"response":{"status":"incomplete"},"delta":"a","type":"response.completed"}`
	if got := measure(Responses, true, data(event, event)); got.Complete {
		t.Errorf("%+v", got)
	}
}

// What is JSON and what is not, a meter knows like encoding/json, in one
// piece and byte by byte.
func TestMeterSyntax(t *testing.T) {
	values := []string{
		"0", "-0", "01", "-01", "00", "1", "10", "-", "--1", "+1", "1.", "1.0", ".5", "1.5.5", "1e5", "1E+5", "1e-5", "1e", "1e+", "0e1", "0.0e0", "1.e1", "0x1", "1a", "-a", "1 2",
		"true", "false", "null", "tru", "truee", "nul", "True", "fals", "n", "nan",
		`""`, `"a"`, `"\n\/\""`, `"\u00e9"`, `"\u00g9"`, `"\u00"`, `"\x"`, `"a`, "\"a\nb\"", "\"\x7f\xff\"", `'a'`,
		"[]", "[1]", "[1,]", "[,1]", "[1 2]", "[", "]", "[[],[[]]]", "[}", "{]", "{}", `{"a":1}`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `{,}`, `{"a":{"b":[{}]}}`, `{"a\u0062":"c\\"}`, "",
	}
	for _, v := range values {
		for _, body := range []string{`{"x":` + v + `}`, `{"x":` + v + ` ,"choices":[` + v + "\n]}", `{"choices":[{"message":{"content":` + v + `}}]}`} {
			all := make([]int, len(body))
			for i := range all {
				all[i] = i
			}
			want := FaultNone
			if !json.Valid([]byte(body)) {
				want = FaultSyntax
			}
			for _, cuts := range [][]int{nil, all} {
				got := measure(Chat, false, body, cuts...).Fault
				if got == FaultCut {
					got = FaultSyntax
				}
				if got != want {
					t.Errorf("%s: fault %q", body, got)
				}
			}
		}
	}
	for _, depth := range []int{jsonspan.MaxDepth - 2, jsonspan.MaxDepth - 1, jsonspan.MaxDepth, jsonspan.MaxDepth + 1} {
		body := `{"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
		var d jsonspan.Doc
		if got := measure(Chat, false, body).Fault == FaultNone; got != (d.Parse([]byte(body)) == nil) {
			t.Errorf("depth %d: %v", depth+1, got)
		}
	}
}

func TestMeterManyChoices(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"choices":[`)
	for i := range 1000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"index":%d,"message":{"content":"x"},"finish_reason":"stop"}`, i)
	}
	b.WriteString(`]}`)
	a := measure(Chat, false, b.String())
	if a.Complete || a.Fault != FaultChoices || len(a.Choices) != maxChoices {
		t.Errorf("complete %v, fault %v, %d choices", a.Complete, a.Fault, len(a.Choices))
	}
}
