package adapter

import (
	"bytes"
	"strings"
	"testing"
)

// TestRewriter compares what a client gets with what it should, for the answer
// in one piece and cut at every byte.
func TestRewriter(t *testing.T) {
	const usage = `data: {"id":"c","object":"chat.completion.chunk","model":"real-1","choices":[],"usage":{"prompt_tokens":1}}` + "\n\n"
	for _, tc := range []struct {
		name   string
		format Format
		stream bool
		model  string
		hide   bool
		in     string
		want   string
	}{
		{"chat", Chat, false, "fast", false, ` {"id":"a\"model\":\"x","model" : "real-1","choices":[{"model":"inner","message":{"content":"\"model\": \"real-1\" \\"}}]}` + "\n",
			` {"id":"a\"model\":\"x","model" : "fast","choices":[{"model":"inner","message":{"content":"\"model\": \"real-1\" \\"}}]}` + "\n"},
		{"model last", Chat, false, "fast", false, `{"a":[{"b":{"model":"no"}},"model",{"model":1}],"model":"r\"eal"}`, `{"a":[{"b":{"model":"no"}},"model",{"model":1}],"model":"fast"}`},
		{"quotes in the alias", Embeddings, false, "a\"\\\nü", false, `{"model":"m","data":[]}`, `{"model":"a\"\\\nü","data":[]}`},
		{"not a string", Chat, false, "fast", false, `{"model":null,"x":"model"}`, `{"model":null,"x":"model"}`},
		{"twice", Chat, false, "f", false, `{"model":"a","model":"b"}`, `{"model":"f","model":"f"}`},
		{"longer key", Chat, false, "f", false, `{"model_name_long":"a","mode":"b","models":"c"}`, `{"model_name_long":"a","mode":"b","models":"c"}`},
		{"array", Chat, false, "f", false, `["model","x",{"model":"y"}]`, `["model","x",{"model":"y"}]`},
		{"not JSON", Chat, false, "f", false, `<html>}}]"model":"x"`, `<html>}}]"model":"x"`},
		{"nothing to do", Chat, false, "", false, `{"model":"a"}`, `{"model":"a"}`},
		{"responses", Responses, false, "fast", false, `{"model":"real","output":[{"model":"x"}]}`, `{"model":"fast","output":[{"model":"x"}]}`},
		{"chat stream", Chat, true, "fast", false, "data: {\"model\":\"real\",\"choices\":[{}]}\n\n: ping\n\ndata:{\"model\":\"real\"}\r\n\r\ndata: [DONE]\n\n",
			"data: {\"model\":\"fast\",\"choices\":[{}]}\n\n: ping\n\ndata:{\"model\":\"fast\"}\r\n\r\ndata: [DONE]\n\n"},
		{"messages stream", Messages, true, "fast", false, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"claude-real\"}}\n\nevent: x\ndata: {\"model\":\"stays\",\"delta\":{\"model\":\"stays\"}}\n\n",
			"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"fast\"}}\n\nevent: x\ndata: {\"model\":\"stays\",\"delta\":{\"model\":\"stays\"}}\n\n"},
		{"responses stream", Responses, true, "fast", false, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"model\":\"real\",\"metadata\":{\"model\":\"mine\"}}}\n\n",
			"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"model\":\"fast\",\"metadata\":{\"model\":\"mine\"}}}\n\n"},
		{"data in two lines", Chat, true, "fast", false, "data: {\"a\":1,\ndata: \"model\":\"real\"}\n\n", "data: {\"a\":1,\ndata: \"model\":\"fast\"}\n\n"},
		{"usage hidden", Chat, true, "", true, "data: {\"choices\":[{\"delta\":{}}],\"usage\":null}\n\n" + usage + "data: [DONE]\n\n", "data: {\"choices\":[{\"delta\":{}}],\"usage\":null}\n\ndata: [DONE]\n\n"},
		{"usage hidden, CRLF", Chat, true, "", true, "data: {\"choices\":[1]}\r\n\r\n" + strings.ReplaceAll(usage, "\n", "\r\n") + "data: [DONE]\r\n\r\n", "data: {\"choices\":[1]}\r\n\r\ndata: [DONE]\r\n\r\n"},
		{"usage first", Chat, true, "", true, "data: {\"usage\":{\"a\":1},\"choices\": [ ]}\n\ndata: {\"usage\":{},\"choices\":[0]}\n\n", "data: {\"usage\":{},\"choices\":[0]}\n\n"},
		{"filter results pass", Chat, true, "f", true, "data: {\"choices\":[],\"model\":\"\",\"prompt_filter_results\":[]}\n\n", "data: {\"choices\":[],\"model\":\"f\",\"prompt_filter_results\":[]}\n\n"},
		{"error passes", Chat, true, "f", true, "data: {\"error\":{\"usage\":{}}}\n\n", "data: {\"error\":{\"usage\":{}}}\n\n"},
		{"cut in the middle", Chat, true, "", true, "data: {\"choices\":[],\"us", "data: {\"choices\":[],\"us"},
		{"both", Chat, true, "f", true, "data: {\"model\":\"real\",\"choices\":[{}]}\n\n" + usage, "data: {\"model\":\"f\",\"choices\":[{}]}\n\n"},
		{"no usage chunk in messages", Messages, true, "", true, usage, usage},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var w Rewriter
			for size := range len(tc.in) + 1 {
				if size == 0 {
					size = len(tc.in) + 1
				}
				w.Start(tc.format, tc.stream, tc.model, tc.hide)
				var out []byte
				for rest := []byte(tc.in); len(rest) > 0; {
					n := min(size, len(rest))
					out = w.Append(out, rest[:n])
					rest = rest[n:]
				}
				if out = w.End(out); string(out) != tc.want {
					t.Fatalf("in pieces of %d:\ngot  %q\nwant %q", size, out, tc.want)
				}
			}
		})
	}
}

// TestRewriterHoldsLittle checks that an event goes on as soon as it is clear
// what it is.
func TestRewriterHoldsLittle(t *testing.T) {
	var w Rewriter
	w.Start(Chat, true, "f", true)
	out := w.Append(nil, []byte(`data: {"id":"x","model":"real","choices":[`))
	if len(out) != 0 {
		t.Errorf("went on before it was clear: %q", out)
	}
	out = w.Append(out, []byte(`{"delta":{"content":"tok`))
	if want := `data: {"id":"x","model":"f","choices":[{"delta":{"content":"tok`; string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
	w.Start(Chat, true, "f", false)
	if out = w.Append(nil, []byte(`data: {"id`)); string(out) != `data: {"id` {
		t.Errorf("held without need: %q", out)
	}
	w.Start(Chat, true, "", true)
	long := []byte("data: " + strings.Repeat("x", maxHeld+1))
	if out = w.Append(nil, long); !bytes.Equal(out, long) {
		t.Errorf("held %d bytes", len(long)-len(out))
	}
}

// FuzzRewriter checks that a Rewriter which has nothing to do changes nothing,
// that cutting makes no difference, and that it never panics.
func FuzzRewriter(f *testing.F) {
	f.Add([]byte("data: {\"model\":\"a\",\"choices\":[],\"usage\":{}}\r\n\r\n"), true, 3)
	f.Add([]byte(`{"model":"a\\","x":[{}]}`), false, 1)
	f.Fuzz(func(t *testing.T, in []byte, stream bool, size int) {
		size = max(1, size)
		var w Rewriter
		run := func(model string, hide bool, size int) []byte {
			w.Start(Chat, stream, model, hide)
			var out []byte
			for rest := in; len(rest) > 0; {
				n := min(size, len(rest))
				out = w.Append(out, rest[:n])
				rest = rest[n:]
			}
			return w.End(out)
		}
		if out := run("", false, size); !bytes.Equal(out, in) {
			t.Errorf("changed %q into %q", in, out)
		}
		whole := run("alias", true, len(in)+1)
		if cut := run("alias", true, size); !bytes.Equal(cut, whole) {
			t.Errorf("cut every %d bytes: %q, whole: %q", size, cut, whole)
		}
	})
}
