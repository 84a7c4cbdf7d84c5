package cases

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const folder = "../../testdata/cases"

func TestLoad(t *testing.T) {
	list, err := Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := os.ReadDir(folder)
	if want := len(files) - 1; len(list) != want { // all but the README
		t.Errorf("%d cases of %d files", len(list), want)
	}
	for _, c := range list {
		for i, body := range c.Bodies() {
			if bytes.Contains(body, []byte("${")) || bytes.Contains(body, []byte("{i}")) || bytes.Contains(body, []byte("{i:")) {
				t.Errorf("%s: request %d is not expanded", c.Name, i+1)
			}
			if !json.Valid(body) && !c.Expect.Untouched {
				t.Errorf("%s: request %d is not valid JSON", c.Name, i+1)
			}
		}
	}
}

// What passes everything on as it came violates no expectation but those that
// ask for a change.
func TestCheckIdentity(t *testing.T) {
	list, err := Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.Area != "optimize" {
			continue
		}
		for _, err := range c.Check(func() Optimizer { return func(body []byte) []byte { return body } }) {
			switch name, _, _ := strings.Cut(err.Error(), ":"); name {
			case "changed", "shrinks_to", "marker_count", "keeps", "drops", "first_role", "nonempty_at":
			default:
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
}

// The copies are what the specification says.
func TestCopies(t *testing.T) {
	const original = "../../../shared/cases"
	files, err := os.ReadDir(original)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("the shared cases are not here")
	}
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join(original, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the copy differs (%v)", f.Name(), err)
		}
	}
}

func TestExpand(t *testing.T) {
	c, err := Parse([]byte(`{"name":"x","area":"optimize","path":"/v1/chat/completions","optimize":"rtk=light, caveman=lite",
		"request_gen":{"template":"[\"${A}\",${B}]","vars":{
			"A":{"lines":[{"repeat":2,"text":"<{i}\t\"\u0001é{i:3}"},{"text":"{i:2} {if} end"}]},
			"B":{"lines":[{"repeat":2,"start":9,"text":"{i:1}"}],"join":",","raw":true}}},
		"expect":{"keeps":[{"repeat":2,"start":3,"text":"k{i}"},"z"],"marker_count":4,"first_role":"user"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `["<1\t\"\u0001é001\n<2\t\"\u0001é002\n01 {if} end",9,10]`
	if got := string(c.Bodies()[0]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := strings.Join(c.Expect.Keeps, " "); got != "k3 k4 z" {
		t.Errorf("keeps: %q", got)
	}
	if !c.Uses("rtk") || !c.Uses("caveman") || c.Uses("squoze") {
		t.Error("Uses is wrong about", c.Optimize)
	}
}

// Each expectation notices its violation.
func TestCheckNotices(t *testing.T) {
	const chat = `{"messages":[{"role":"user","content":"a\nb\nc\nd"},{"role":"assistant","tool_calls":[{"id":"c1"}]},{"role":"tool","tool_call_id":"c1","content":"r"}]}`
	for _, v := range []struct{ name, path, expect, before, after string }{
		{"untouched", "", `{"untouched":true}`, `[1]`, `[1 ]`},
		{"changed", "", `{"changed":true}`, `[1]`, `[1]`},
		{"shrinks_to", "", `{"shrinks_to":0.5}`, `[1,2]`, `[1]`},
		{"grows_at_most", "", `{"grows_at_most":1}`, `[1]`, `[1,2]`},
		{"keeps", "", `{"keeps":["\"x"]}`, `["\"x"]`, `["x"]`},
		{"drops", "", `{"drops":["é"]}`, `[]`, `["\u00e9"]`},
		{"raw_keeps", "", `{"raw_keeps":["\\u00e9"]}`, `["\u00e9"]`, `["é"]`},
		{"raw_drops", "", `{"raw_drops":["é"]}`, `["\u00e9"]`, `["é"]`},
		{"same_at", "", `{"same_at":["a.-1.b"]}`, `{"a":[0,{"b":1.0}]}`, `{"a":[{"b":1}]}`},
		{"same_at", "", `{"same_at":["a"]}`, `{"a":1}`, `{}`},
		{"nonempty_at", "", `{"nonempty_at":["a.0"]}`, `{"a":["x"]}`, `{"a":[""]}`},
		{"nonempty_at", "", `{"nonempty_at":["a.0"]}`, `{"a":["x"]}`, `{"a":[]}`},
		{"nonempty_at", "", `{"nonempty_at":["a"]}`, `{"a":["x"]}`, `{"a":[ ]}`},
		{"together", "", `{"together":[["a","b"]]}`, `["ab"]`, `["x\na\nb"]`},
		{"marked", "", `{"marked":["messages.0.content"]}`, chat, strings.Replace(chat, `a\nb\nc\nd`, `a\nd`, 1)},
		{"marked", "", `{"marked":["messages.0.content"]}`, chat, strings.Replace(chat, `a\nb\nc\nd`, `a\n3 lines\nd`, 1)},
		{"marked", "", `{"marked":["messages.0.content"]}`, chat, strings.Replace(chat, `a\nb\nc\nd`, `a\nc\nb\nd`, 1)},
		{"marked", "", `{"marked":["messages.0.content"]}`, chat, strings.Replace(chat, `a\nb\nc\nd`, `a\nb`, 1)},
		{"marker_count", "", `{"marker_count":[4,5]}`, `["4"]`, `["4\n14 or 45"]`},
		{"first_role", "", `{"first_role":["user"]}`, chat, strings.Replace(chat, `"user"`, `"system"`, 1)},
		{"valid_json", "", `{"valid_json":true}`, `[1]`, `[1`},
		{"pairs_intact", "/v1/chat/completions", `{"pairs_intact":true}`, chat, strings.Replace(chat, `_id":"c1"`, `_id":"c2"`, 1)},
		{"pairs_intact", "/v1/chat/completions", `{"pairs_intact":true}`, chat, strings.Replace(chat, `[{"id":"c1"}]`, `[]`, 1)},
		{"pairs_intact", "/v1/messages", `{"pairs_intact":true}`, `[]`, `{"messages":[{"content":[{"type":"tool_use","id":"a"}]},{"content":[]}]}`},
		{"pairs_intact", "/v1/messages", `{"pairs_intact":true}`, `[]`, `{"messages":[{"content":[{"type":"tool_use","id":"a"}]}]}`},
		{"pairs_intact", "/v1/responses", `{"pairs_intact":true}`, `[]`, `{"input":[{"type":"function_call_output","call_id":"a"},{"type":"function_call","call_id":"a"}]}`},
		{"pairs_intact", "/v1/responses", `{"pairs_intact":true}`, `[]`, `{"input":[{"type":"function_call","call_id":"a"}]}`},
		{"pairs_intact", "/v1/responses", `{"pairs_intact":true}`, `{"input":[{"type":"reasoning","id":"r"},{"type":"message","id":"m"}]}`, `{"input":[{"type":"reasoning","id":"r"}]}`},
		{"pairs_intact", "/v1/responses", `{"pairs_intact":true}`, `{"input":[{"type":"reasoning","id":"r"},{"type":"message","id":"m"}]}`, `{"input":[{"type":"message","id":"m"}]}`},
		{"idempotent", "", `{"idempotent":true}`, `[1]`, `[1,2]`},
	} {
		raw, _ := json.Marshal(v.before)
		c, err := Parse([]byte(`{"name":"x","area":"optimize","path":"` + v.path + `","request_raw":` + string(raw) + `,"expect":` + v.expect + `}`))
		if err != nil {
			t.Fatal(v.name, err)
		}
		errs := c.Check(func() Optimizer {
			return func(body []byte) []byte {
				if string(body) != v.before { // second time
					return []byte(`[3]`)
				}
				return []byte(v.after)
			}
		})
		if len(errs) == 0 || !strings.HasPrefix(errs[0].Error(), v.name+": ") {
			t.Errorf("%s: %s -> %s: %v", v.name, v.before, v.after, errs)
		}
	}
}

func TestCheckNoticesPrefix(t *testing.T) {
	c, err := Parse([]byte(`{"name":"x","area":"optimize","path":"/v1/messages","expect":{"prefix_stable":true},
		"turns":["{\"system\":\"s\",\"messages\":[1]}","{\"system\":\"s\",\"messages\":[1,2]}"]}`))
	if err != nil {
		t.Fatal(err)
	}
	constant := func(bodies ...string) func() Optimizer {
		return func() Optimizer {
			n := -1
			return func([]byte) []byte { n++; return []byte(bodies[n]) }
		}
	}
	for want, fresh := range map[string]func() Optimizer{
		"messages.0":     constant(`{"messages":[1]}`, `{"messages":[1.0,2]}`),
		"system":         constant(`{"system":"s","messages":[]}`, `{"system":"t","messages":[]}`),
		"turn 2 alone":   constant(`{"messages":[1]}`, `{"messages":[1,2]}`),
		"not valid JSON": constant(`{`, `{`),
	} {
		errs := c.Check(fresh)
		if len(errs) == 0 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%s: %v", want, errs)
		}
	}
}

func TestMarkedAccepts(t *testing.T) {
	for _, v := range [][2]string{
		{"a\nb\nc\nd", "a\nb\nc\nd"},
		{"a\nb\nc\nd", "a\n[2 gone]\nd"},
		{"a\nb\nc\nd", "[3 gone]\nd"},
		{"a\nb\nc\nd", "a\n3 gone"},
		{"a\nb\nc\nd", "a\nnew line\nb\nc\nd"},
		{strings.Repeat("x\n", 1234) + "y", "x\n1,233 gone\ny"},
	} {
		if err := Marked(v[0], v[1]); err != nil {
			t.Errorf("%q: %v", v[1], err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		`{"name":"x","area":"optimize","request_raw":"","expect":{"keep":["a"]}}`,
		`{"name":"x","area":"optimize","request_raw":"","turns":[],"expect":{}}`,
		`{"name":"x","area":"optimize","expect":{}}`,
		`{"name":"x","area":"cache"}`,
		`{"name":"x","area":"other"}`,
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("accepted %s", text)
		}
	}
}
