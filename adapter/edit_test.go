package adapter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// apply parses body, applies what edit returns, and checks that the result is
// valid and can be read again.
func apply(t *testing.T, f Format, body string, edit func(*Request) ([]jsonspan.Edit, bool)) (string, bool) {
	t.Helper()
	var r Request
	if err := r.Parse(f, []byte(body)); err != nil && !strings.Contains(body, "null") {
		t.Fatalf("%s: %v", body, err)
	}
	edits, ok := edit(&r)
	if !ok {
		if edits != nil {
			t.Errorf("%s: edits although not ok", body)
		}
		return body, false
	}
	jsonspan.SortEdits(edits)
	out := jsonspan.Splice(nil, []byte(body), edits)
	if !json.Valid(out) {
		t.Fatalf("%s\nbecame invalid: %s", body, out)
	}
	if err := r.Parse(f, out); err != nil {
		t.Fatalf("%s\nbecame %s: %v", body, out, err)
	}
	return string(out), true
}

func TestAppendSystem(t *testing.T) {
	const text = "say \"less\"\n\\ <b>é"
	const enc = `say \"less\"\n\\ <b>é`
	cases := []struct {
		name   string
		format Format
		body   string
		want   string // "" for not ok
	}{
		{"chat, string", Chat, `{"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"q"}]}`,
			`{"messages":[{"role":"system","content":"be kind\n\n` + enc + `"},{"role":"user","content":"q"}]}`},
		{"chat, developer, content before role, spaces", Chat, "{ \"messages\" : [ { \"content\" : \"be \\u006bind\\\\\" , \"role\" : \"developer\" }\n] }",
			"{ \"messages\" : [ { \"content\" : \"be \\u006bind\\\\\\n\\n" + enc + "\" , \"role\" : \"developer\" }\n] }"},
		{"chat, parts", Chat, `{"messages":[{"role":"system","content":[ {"type":"text","text":"a","cache_control":{"type":"ephemeral"}} ]}]}`,
			`{"messages":[{"role":"system","content":[ {"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"` + enc + `"} ]}]}`},
		{"chat, none", Chat, `{"messages":[ {"role":"user","content":"q"}]}`,
			`{"messages":[ {"role":"system","content":"` + enc + `"},{"role":"user","content":"q"}]}`},
		{"chat, only later", Chat, `{"messages":[{"role":"user","content":"q"},{"role":"system","content":"s"}]}`,
			`{"messages":[{"role":"system","content":"` + enc + `"},{"role":"user","content":"q"},{"role":"system","content":"s"}]}`},
		{"chat, empty string", Chat, `{"messages":[{"role":"system","content":""},{"role":"user","content":"q"}]}`, ""},
		{"chat, empty parts", Chat, `{"messages":[{"role":"system","content":[]},{"role":"user","content":"q"}]}`, ""},
		{"chat, null content", Chat, `{"messages":[{"role":"system","content":null},{"role":"user","content":"q"}]}`, ""},
		{"chat, no content", Chat, `{"messages":[{"role":"system"},{"role":"user","content":"q"}]}`, ""},
		{"chat, no messages", Chat, `{"messages":[]}`, ""},
		{"chat, null messages", Chat, `{"messages":null}`, ""},

		{"responses, string", Responses, `{"instructions":"x","input":"q"}`, `{"instructions":"x\n\n` + enc + `","input":"q"}`},
		{"responses, none", Responses, "{\"input\":\"q\",\n \"store\":false\n}", "{\"input\":\"q\",\n \"store\":false,\"instructions\":\"" + enc + "\"\n}"},
		{"responses, null", Responses, `{"instructions": null ,"input":[]}`, `{"instructions": "` + enc + `" ,"input":[]}`},
		{"responses, empty string", Responses, `{"instructions":"","input":"q"}`, ""},
		{"responses, stored prompt", Responses, `{"prompt":{"id":"pmpt_1"},"input":"q"}`, ""},
		{"responses, null prompt", Responses, `{"prompt":null,"input":"q"}`, `{"prompt":null,"input":"q","instructions":"` + enc + `"}`},
		{"responses, empty object", Responses, `{}`, ""},

		{"messages, string", Messages, `{"system":"x","messages":[{"role":"user","content":"q"}]}`, `{"system":"x\n\n` + enc + `","messages":[{"role":"user","content":"q"}]}`},
		{"messages, blocks", Messages, "{\"messages\":[],\"system\":[{\"type\":\"text\",\"text\":\"x\",\"cache_control\":{\"type\":\"ephemeral\"}}\n]}",
			"{\"messages\":[],\"system\":[{\"type\":\"text\",\"text\":\"x\",\"cache_control\":{\"type\":\"ephemeral\"}},{\"type\":\"text\",\"text\":\"" + enc + "\"}\n]}"},
		{"messages, none", Messages, `{"messages":[{"role":"user","content":"q"}],"max_tokens":5}`, `{"messages":[{"role":"user","content":"q"}],"max_tokens":5,"system":"` + enc + `"}`},
		{"messages, empty string", Messages, `{"system":"","messages":[{"role":"user","content":"q"}]}`, ""},
		{"messages, empty array", Messages, `{"system":[],"messages":[{"role":"user","content":"q"}]}`, ""},
		{"messages, null", Messages, `{"system":null,"messages":[{"role":"user","content":"q"}]}`, ""},
		{"messages, no messages", Messages, `{"messages":[]}`, ""},
		{"messages, null messages", Messages, `{"messages":null}`, ""},

		{"embeddings", Embeddings, `{"input":"x"}`, ""},
		{"completions", Completions, `{"prompt":"x"}`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, ok := apply(t, c.format, c.body, func(r *Request) ([]jsonspan.Edit, bool) { return r.AppendSystem(text) })
			if ok != (c.want != "") {
				t.Fatalf("ok is %v: %s", ok, got)
			}
			if ok && got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if _, ok := new(Request).AppendSystem(text); ok {
		t.Error("ok for a view of nothing")
	}
	var r Request
	if err := r.Parse(Chat, []byte(`{"messages":[{"role":"user","content":"q"}]}`)); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.AppendSystem(""); ok {
		t.Error("ok for no text")
	}
}

func TestDropMessages(t *testing.T) {
	m := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	list := func(messages ...string) string {
		return `{"messages":[` + strings.Join(messages, ",") + `],"x":1}`
	}
	odd := "{\"messages\" : [ \n" + m("a") + " ,\n\t" + m("b") + "\n, " + m("c") + "\n ] }"
	cases := []struct {
		name   string
		body   string
		drop   string // x for gone
		at     int
		marker string
		want   string // "" for not ok
	}{
		{"nothing", list(m("a"), m("b")), "..", 0, "", list(m("a"), m("b"))},
		{"first", list(m("a"), m("b"), m("c")), "x..", 0, "", list(m("b"), m("c"))},
		{"middle", list(m("a"), m("b"), m("c")), ".x.", 0, "", list(m("a"), m("c"))},
		{"last", list(m("a"), m("b"), m("c")), "..x", 0, "", list(m("a"), m("b"))},
		{"two of three", list(m("a"), m("b"), m("c")), "x.x", 0, "", list(m("b"))},
		{"runs", list(m("a"), m("b"), m("c"), m("d"), m("e")), ".xx.x", 0, "", list(m("a"), m("d"))},
		{"all", list(m("a"), m("b")), "xx", 0, "", ""},
		{"all, marked", list(m("a"), m("b")), "xx", 1, "M", list(m("M"))},
		{"marked in front of what stays", list(m("a"), m("b"), m("c")), ".x.", 2, "M", list(m("a"), m("M"), m("c"))},
		{"marked at the start of the gap", list(m("a"), m("b"), m("c")), ".x.", 1, "M", list(m("a"), m("M"), m("c"))},
		{"marked at the end", list(m("a"), m("b")), ".x", 2, "M", list(m("a"), m("M"))},
		{"marked in front", list(m("a"), m("b")), "x.", 0, "M", list(m("M"), m("b"))},
		{"marked only", list(m("a"), m("b")), "..", 1, "M", list(m("a"), m("M"), m("b"))},
		{"marked behind all", list(m("a"), m("b")), "..", 2, "M", list(m("a"), m("b"), m("M"))},
		{"marked elsewhere", list(m("a"), m("b"), m("c")), "x..", 2, "M", list(m("b"), m("M"), m("c"))},
		{"escaped", list(m("a"), m("b")), "x.", 0, "\"\n", list(m(`\"\n`), m("b"))},
		{"spaces, first", odd, "x..", 0, "", "{\"messages\" : [ \n" + m("b") + "\n, " + m("c") + "\n ] }"},
		{"spaces, middle", odd, ".x.", 1, "M", "{\"messages\" : [ \n" + m("a") + " ,\n\t" + m("M") + "," + m("c") + "\n ] }"},
		{"spaces, last", odd, "..x", 3, "M", "{\"messages\" : [ \n" + m("a") + " ,\n\t" + m("b") + "," + m("M") + "\n ] }"},
		{"spaces, all", odd, "xxx", 0, "M", "{\"messages\" : [ \n" + m("M") + "\n ] }"},
		{"empty", list(), "", 0, "M", ""},
		{"too far", list(m("a")), ".", 2, "M", ""},
		{"negative", list(m("a")), ".", -1, "M", ""},
		{"wrong length", list(m("a")), "..", 0, "M", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			drop := make([]bool, len(c.drop))
			for i := range c.drop {
				drop[i] = c.drop[i] == 'x'
			}
			got, ok := apply(t, Chat, c.body, func(r *Request) ([]jsonspan.Edit, bool) { return r.DropMessages(drop, c.at, c.marker) })
			if ok != (c.want != "") {
				t.Fatalf("ok is %v: %s", ok, got)
			}
			if ok && got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Every way to drop messages out of up to five, with the marker everywhere,
// leaves the messages that it should.
func TestDropMessagesAll(t *testing.T) {
	for n := 1; n <= 5; n++ {
		var items []string
		for i := range n {
			items = append(items, `{"role":"user","content":"`+string(rune('a'+i))+`"}`)
		}
		body := `{"input":[` + strings.Join(items, " ,\n") + `]}`
		for mask := range 1 << n {
			for at := -1; at <= n; at++ {
				marker := "M"
				if at < 0 {
					marker = ""
				}
				drop := make([]bool, n)
				want := ""
				for i := range n {
					if i == at {
						want += "M"
					}
					drop[i] = mask>>i&1 != 0
					if !drop[i] {
						want += string(rune('a' + i))
					}
				}
				if at == n {
					want += "M"
				}
				out, ok := apply(t, Responses, body, func(r *Request) ([]jsonspan.Edit, bool) { return r.DropMessages(drop, max(at, 0), marker) })
				if ok != (want != "") {
					t.Fatalf("%d messages, drop %v, at %d: ok is %v", n, drop, at, ok)
				}
				if !ok {
					continue
				}
				var v struct{ Input []struct{ Content string } }
				if err := json.Unmarshal([]byte(out), &v); err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, m := range v.Input {
					got += m.Content
				}
				if got != want {
					t.Fatalf("%d messages, drop %v, at %d: %q, want %q", n, drop, at, got, want)
				}
			}
		}
	}
}

func TestSetModel(t *testing.T) {
	cases := []struct{ body, want string }{
		{`{"model" : "a\u0062" ,"messages":[]}`, `{"model" : "x/\"y\"" ,"messages":[]}`},
		{`{"messages":[]}`, ""},
		{`{"model":null,"messages":[]}`, ""},
	}
	for _, c := range cases {
		got, ok := apply(t, Chat, c.body, func(r *Request) ([]jsonspan.Edit, bool) {
			e, ok := r.SetModel(`x/"y"`)
			if !ok {
				return nil, false
			}
			return []jsonspan.Edit{e}, true
		})
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %v %s", c.body, ok, got)
		}
	}
	var r Request
	if err := r.Parse(Chat, []byte(`{"model":"a","messages":[],"MODEL":"b"}`)); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.SetModel("x"); ok {
		t.Error("one of two models was set")
	}
}

func TestReplaceText(t *testing.T) {
	body := `{"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"b","x":1.50}]}]}`
	got, _ := apply(t, Chat, body, func(r *Request) ([]jsonspan.Edit, bool) {
		return []jsonspan.Edit{r.ReplaceText(1, []byte("\tc\x1b<\xed\xa0\x80"))}, true
	})
	want := `{"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"\tc\u001b<\ud800","x":1.50}]}]}`
	if got != want {
		t.Errorf("got %s", got)
	}
}
