package adapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

// perByte adds the time per byte to a benchmark's result.
func perByte(b *testing.B, size int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/byte")
}

// BenchmarkParse reads request bodies: the scan alone, the view, and in Go's
// own way.
func BenchmarkParse(b *testing.B) {
	bodies := map[string][]byte{"large": testbody.Large(), "huge": testbody.Huge()}
	formats := map[string]Format{"large": Chat, "huge": Chat}
	for _, name := range []string{
		"sessions/pi-large-session/anthropic/turn_05.json",
		"sessions/pi-large-session/openai_responses/turn_05.json",
	} {
		f, ok := corpusBodies(b)[name]
		if !ok {
			b.Fatalf("%s is missing", name)
		}
		bodies[f.String()], formats[f.String()] = corpusBody(b, name), f
	}
	for _, name := range []string{"large", "huge", "messages", "responses"} {
		body := bodies[name]
		b.Run("scan/"+name, func(b *testing.B) {
			var d jsonspan.Doc
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Parse(body); err != nil {
					b.Fatal(err)
				}
			}
			perByte(b, len(body))
		})
		b.Run("view/"+name, func(b *testing.B) {
			var r Request
			b.ReportAllocs()
			for b.Loop() {
				if err := r.Parse(formats[name], body); err != nil {
					b.Fatal(err)
				}
			}
			perByte(b, len(body))
		})
		b.Run("unmarshal/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var v map[string]any
				if err := json.Unmarshal(body, &v); err != nil {
					b.Fatal(err)
				}
			}
			perByte(b, len(body))
		})
	}
}

func TestParseAllocs(t *testing.T) {
	for name, c := range map[string]struct {
		f    Format
		body []byte
	}{
		"large":     {Chat, testbody.Large()},
		"chat":      {Chat, []byte(parseCases[0].body)},
		"messages":  {Messages, []byte(`{"model":"c","system":[{"type":"text","text":"s"}],"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"}]}]}]}`)},
		"responses": {Responses, []byte(`{"model":"c","input":[{"type":"function_call","call_id":"a","name":"n","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"x"},{"type":"reasoning","summary":[]},{"type":"new"}]}`)},
		"broken":    {Chat, []byte(`{"model":"c","messages":[{"role":"user","content":7}]}`)},
	} {
		var r Request
		run := func() { _ = r.Parse(c.f, c.body) }
		run()
		if n := testing.AllocsPerRun(20, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkPeekModel(b *testing.B) {
	first := testbody.Large()
	last := []byte(`{"x":` + string(first) + `,"model":"m"}`)
	for name, body := range map[string][]byte{"first": first, "last": last} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := PeekModel(body); !ok {
					b.Fatal("no model")
				}
			}
			perByte(b, len(body))
		})
	}
}

// benchStreams are streams of 2 000 tokens in chunks as providers send them.
func benchStreams() map[string]struct {
	f    Format
	body []byte
} {
	var chat, messages, responses []string
	messages = append(messages,
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-sonnet-4-5","stop_reason":null,"usage":{"input_tokens":472,"output_tokens":2}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for i := range 2000 {
		chat = append(chat, fmt.Sprintf(`{"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","object":"chat.completion.chunk","created":1741570283,"model":"gpt-5-mini-2025-08-07","service_tier":"default","system_fingerprint":"fp_fc9f1d7035","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}],"usage":null}`, i%7))
		messages = append(messages, fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word%d and more"}}`, i%7))
		responses = append(responses, fmt.Sprintf(`{"type":"response.output_text.delta","item_id":"msg_67c9fdcf37fc8190ba82116e33fb28c507b8b0ad4e5eb654","output_index":0,"content_index":0,"delta":" word%d","sequence_number":%d}`, i%7, i))
	}
	chat = append(chat, `{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2000,"total_tokens":2005}}`, "[DONE]")
	messages = append(messages, `{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2000}}`, `{"type":"message_stop"}`)
	responses = append(responses, `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"`+strings.Repeat(" word", 2000)+`"}]}],"usage":{"input_tokens":5,"output_tokens":2000,"total_tokens":2005}}}`)
	type stream = struct {
		f    Format
		body []byte
	}
	return map[string]stream{
		"chat":      {Chat, []byte(data(chat...))},
		"messages":  {Messages, []byte(named(messages...))},
		"responses": {Responses, []byte(named(responses...))},
	}
}

// BenchmarkMeter reads streams event by event, as they come over a network.
func BenchmarkMeter(b *testing.B) {
	for name, s := range benchStreams() {
		var pieces [][]byte
		for rest := s.body; len(rest) > 0; {
			var event []byte
			event, rest = NextEvent(rest)
			pieces = append(pieces, event)
		}
		b.Run(name, func(b *testing.B) {
			var m Meter
			b.ReportAllocs()
			for b.Loop() {
				m.Start(s.f, true)
				for _, p := range pieces {
					m.Write(p)
				}
				if a := m.End(); !a.Complete {
					b.Fatalf("%+v", a)
				}
			}
			perByte(b, len(s.body))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(pieces)), "ns/event")
		})
	}
	long := []byte(`{"id":"c","model":"m","choices":[{"index":0,"message":{"content":"` + strings.Repeat(`a line of text with \"quotes\"\n`, 4000) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`)
	vector := []byte(`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[` + strings.TrimSuffix(strings.Repeat("-0.0123456789,", 16*1536), ",") + `]}],"model":"m","usage":{"prompt_tokens":8,"total_tokens":8}}`)
	for name, s := range map[string]struct {
		f    Format
		body []byte
	}{"body": {Chat, long}, "embeddings": {Embeddings, vector}} {
		b.Run(name, func(b *testing.B) {
			var m Meter
			b.ReportAllocs()
			for b.Loop() {
				m.Start(s.f, false)
				for rest := s.body; len(rest) > 0; {
					n := min(len(rest), 32<<10)
					m.Write(rest[:n])
					rest = rest[n:]
				}
				if a := m.End(); !a.Complete {
					b.Fatalf("%+v", a)
				}
			}
			perByte(b, len(s.body))
		})
	}
}
