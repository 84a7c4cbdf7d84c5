package toolschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// apply returns body with the edits for mode.
func apply(t testing.TB, body string, format adapter.Format, mode Mode) string {
	var doc jsonspan.Doc
	if err := doc.Parse([]byte(body)); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	edits := Edits(nil, &doc, format, mode)
	jsonspan.SortEdits(edits)
	out := string(jsonspan.Splice(nil, []byte(body), edits))
	if !json.Valid([]byte(out)) {
		t.Fatalf("not valid: %s", out)
	}
	return out
}

func chat(schema, more string) string {
	return `{"model":"m", "tools":[{"type":"function","function":{"name":"f","parameters":` + schema + more + `}}]}`
}

func TestGemini(t *testing.T) {
	for _, tc := range []struct{ name, in, out string }{
		{"nothing", `{ "type" : "object", "properties":{"a":{"type":"string","format":"date-time","enum":["x"]}},"required":["a"]}`, ""},
		{"dropped", `{"$schema":"x", "type":"object" , "additionalProperties":false,"properties":{"additionalProperties":{"type":"string","$id":"y"}} }`, `{ "type":"object","properties":{"additionalProperties":{"type":"string"}} }`},
		{"const", `{"type":"object","properties":{"a":{"const":"x\n"},"b":{"const":1},"c":{"const":"x","enum":["x","y"]}}}`, `{"type":"object","properties":{"a":{"enum":["x\n"]},"b":{},"c":{"enum":["x","y"]}}}`},
		{"enum", `{"properties":{"a":{"enum":["x", null]},"b":{"enum":[1,2]},"c":{"enum":["x"]}}}`, `{"properties":{"a":{"enum":["x"],"nullable":true},"b":{},"c":{"enum":["x"]}}}`},
		{"types", `{"properties":{"a":{"type":["string","null"]},"b":{"type":["null","integer"],"nullable":true},"c":{"type":["string"]},"d":{"type":["string","integer"]}}}`,
			`{"properties":{"a":{"type":"string","nullable":true},"b":{"type":"integer","nullable":true},"c":{"type":"string"},"d":{"type":["string","integer"]}}}`},
		{"bounds", `{"properties":{"a":{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":10},"b":{"type":"number","exclusiveMinimum":0.5},"c":{"exclusiveMinimum":1,"minimum":0},"d":{"exclusiveMaximum":true,"maximum":3}}}`,
			`{"properties":{"a":{"type":"integer","minimum":1,"maximum":9},"b":{"type":"number","minimum":0.5},"c":{"minimum":0},"d":{"maximum":3}}}`},
		{"format", `{"properties":{"format":{"type":"string","format":"uri"},"n":{"type":"integer","format":"int32"}}}`, `{"properties":{"format":{"type":"string"},"n":{"type":"integer","format":"int32"}}}`},
		{"optional", `{"properties":{"a":{"anyOf":[{"type":"string","title":"inner","format":"uri"},{"type":"null"}],"title":"A","default":null}}}`, `{"properties":{"a":{"type":"string","title":"A","default":null,"nullable":true}}}`},
		{"oneOf", `{"items":{"oneOf":[{"type":"string"}, {"type":"integer","multipleOf":2}]}}`, `{"items":{"anyOf":[{"type":"string"}, {"type":"integer"}]}}`},
		{"allOf", `{"properties":{"a":{"allOf":[{"type":"object","properties":{"x":true}}],"description":"d"}}}`, `{"properties":{"a":{"type":"object","properties":{"x":{}},"description":"d"}}}`},
		{"nothing is lost", `{"properties":{"a":1},"allOf":[{"properties":{"b":2}}]}`, ""},
		{"values are no schemas", `{"properties":{"a":{"default":{"$schema":1,"additionalProperties":2},"enum":["const"]}}}`, ""},
		{"references", `{"$defs":{"P":{"type":"object","properties":{"q":{"$ref":"#/$defs/Q"}},"additionalProperties":false},"Q":{"type":"string","description":"of Q"}},"properties":{"p":{"$ref":"#/$defs/P"},"q":{"description":"mine","$ref":"#/$defs/Q"}}}`,
			`{"properties":{"p":{"type":"object","properties":{"q":{"type":"string","description":"of Q"}}},"q":{"description":"mine","type":"string"}}}`},
		{"optional reference", `{"$defs":{"Q":{"type":"string"}},"properties":{"q":{"anyOf":[{"$ref":"#/$defs/Q"},{"type":"null"}]}}}`, `{"properties":{"q":{"type":"string","nullable":true}}}`},
		{"recursion is left", `{"$defs":{"N":{"properties":{"next":{"$ref":"#/$defs/N"}}}},"properties":{"n":{"$ref":"#/$defs/N"}},"$schema":"s"}`, `{"$defs":{"N":{"properties":{"next":{"$ref":"#/$defs/N"}}}},"properties":{"n":{"$ref":"#/$defs/N"}}}`},
		{"foreign reference is left", `{"$defs":{"Q":{"type":"string"}},"properties":{"n":{"$ref":"https://x/y"},"q":{"$ref":"#/$defs/Q"}}}`, ""},
		{"unused definitions", `{"$defs":{"Q":{"type":"string"}},"type":"object"}`, `{"type":"object"}`},
		{"pretty", "{\n  \"type\": \"object\",\n  \"$schema\": \"s\",\n  \"properties\": {\n    \"a\": { \"type\": [\"string\", \"null\"] }\n  }\n}", "{\n  \"type\": \"object\",\n  \"properties\": {\n    \"a\": { \"type\": \"string\",\"nullable\":true }\n  }\n}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := chat(tc.out, "")
			if tc.out == "" {
				want = chat(tc.in, "")
			}
			got := apply(t, chat(tc.in, ""), adapter.Chat, Gemini)
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if again := apply(t, got, adapter.Chat, Gemini); again != got {
				t.Errorf("not idempotent: %s", again)
			}
		})
	}
	for format, body := range map[adapter.Format]string{
		adapter.Responses: `{"tools":[{"type":"function","parameters":{"$id":"x"}},{"type":"web_search"},1]}`,
		adapter.Messages:  `{"tools":[{"name":"f","input_schema":{"$id":"x"}}]}`,
		adapter.Chat:      `{"functions":[{"parameters":{"$id":"x"}}]}`,
	} {
		if got, want := apply(t, body, format, Gemini), strings.Replace(body, `{"$id":"x"}`, `{}`, 1); got != want {
			t.Errorf("%s: got %s, want %s", format, got, want)
		}
	}
}

func TestStrict(t *testing.T) {
	for _, tc := range []struct{ name, in, out string }{
		{"nothing", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, ""},
		{"filled in", `{"type":"object", "properties":{"a":{"type":"string"},"b":{"type":"integer"}}, "required":["b"]}`,
			`{"type":"object", "properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":"integer"}}, "required":["b","a"],"additionalProperties":false}`},
		{"may be null already", `{"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"null"},{"type":"string"}]}},"additionalProperties":true}`,
			`{"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"null"},{"type":"string"}]}},"additionalProperties":false,"required":["a","b"]}`},
		{"deeper", `{"type":"object","properties":{"l":{"type":"array","items":{"type":"object"}}},"required":["l"],"additionalProperties":false,"$defs":{"x":{"properties":{}}}}`,
			`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","required":[],"additionalProperties":false}}},"required":["l"],"additionalProperties":false,"$defs":{"x":{"properties":{},"required":[],"additionalProperties":false}}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := chat(tc.out, `,"strict":true`)
			if tc.out == "" {
				want = chat(tc.in, `,"strict":true`)
			}
			got := apply(t, chat(tc.in, `,"strict":true`), adapter.Chat, Strict)
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if again := apply(t, got, adapter.Chat, Strict); again != got {
				t.Errorf("not idempotent: %s", again)
			}
			for _, more := range []string{"", `,"strict":false`, `,"strict":null`} {
				if in := chat(tc.in, more); apply(t, in, adapter.Chat, Strict) != in {
					t.Errorf("changed a tool that is not strict")
				}
			}
		})
	}
}

// TestBounded replaces references that would double with every level.
func TestBounded(t *testing.T) {
	var defs []string
	for i := range 40 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1))
	}
	in := chat(`{"$defs":{`+strings.Join(defs, ",")+`,"d40":{}},"properties":{"x":{"$ref":"#/$defs/d0"}}}`, "")
	if got := apply(t, in, adapter.Chat, Gemini); got != in {
		t.Errorf("grew from %d to %d bytes", len(in), len(got))
	}
}

// manyTools is a request with 36 tools that need nothing.
func manyTools() []byte {
	schema := `{"type":"object","properties":{"path":{"type":"string","description":"the file"},"lines":{"type":"array","items":{"type":"integer","minimum":1}},"mode":{"type":"string","enum":["read","write"]},"options":{"type":"object","properties":{"deep":{"type":"boolean"}},"required":["deep"]}},"required":["path","lines","mode","options"]}`
	var tools []string
	for i := range 36 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"tool_%d","description":"does something of use","parameters":%s}}`, i, schema))
	}
	return []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[` + strings.Join(tools, ",") + `]}`)
}

// TestNoAllocation checks that schemas which need nothing cost none.
func TestNoAllocation(t *testing.T) {
	for mode, body := range map[Mode][]byte{Gemini: manyTools(), Strict: []byte(strings.ReplaceAll(strings.ReplaceAll(string(manyTools()), `"required"`, `"additionalProperties":false,"required"`), `"description":"does`, `"strict":true,"description":"does`))} {
		var doc jsonspan.Doc
		if err := doc.Parse(body); err != nil {
			t.Fatal(err)
		}
		if edits := Edits(nil, &doc, adapter.Chat, mode); len(edits) > 0 {
			t.Fatalf("%s: %d edits", Names[mode], len(edits))
		}
		if n := testing.AllocsPerRun(100, func() { Edits(nil, &doc, adapter.Chat, mode) }); n > 0 {
			t.Errorf("%s: %v allocations", Names[mode], n)
		}
	}
}

func BenchmarkNothing36Tools(b *testing.B) {
	body := manyTools()
	var doc jsonspan.Doc
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if doc.Parse(body) != nil || len(Edits(nil, &doc, adapter.Chat, Gemini)) > 0 {
			b.Fatal("edits")
		}
	}
}

// FuzzEdits checks that the result is valid JSON and needs nothing more.
func FuzzEdits(f *testing.F) {
	f.Add(`{"$defs":{"P":{"allOf":[{"const":"x"}]}},"properties":{"p":{"$ref":"#/$defs/P"},"q":{"anyOf":[{"type":"null"},{"oneOf":[]}]}}}`)
	f.Add(`{"type":["object","null"],"properties":{"a":true,"b":{"enum":[null]}},"items":{"exclusiveMinimum":3,"type":"integer"}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		for _, mode := range []Mode{Gemini, Strict} {
			in := chat(schema, `,"strict":true`)
			var doc jsonspan.Doc
			if doc.Parse([]byte(in)) != nil {
				return
			}
			once := apply(t, in, adapter.Chat, mode)
			if twice := apply(t, once, adapter.Chat, mode); len(twice) > 4*len(once)+1<<20 {
				t.Errorf("grows: %s", schema)
			}
		}
	})
}
