package llmgateway_test

import (
	"strings"
	"testing"
)

// TestToolSchema fails over from one provider to another that takes schemas in
// another form; each gets its own, with the right length.
func TestToolSchema(t *testing.T) {
	plain := scripted(t, answer(500, ""))
	google := scripted(t, answer(503, ""), answer(200, "{}"))
	base := serve(t, `llm_gateway {
		provider plain `+plain.URL+`
		provider google `+google.URL+`/v1beta/openai {
			format gemini
			api_key a b
			tool_schema gemini
		}
	}`)
	in := ` {"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"f","parameters":{"$schema":"x","type":"object","additionalProperties":false}}}]}`
	res, _ := post(t, base+"/v1/chat/completions", in)
	if res.StatusCode != 200 || res.Header.Get("X-Gateway-Attempts") != "3" {
		t.Fatalf("%d, %s attempts", res.StatusCode, res.Header.Get("X-Gateway-Attempts"))
	}
	if got := plain.take()[0]; string(got.body) != in {
		t.Errorf("plain got %s", got.body)
	}
	want := strings.Replace(in, `{"$schema":"x","type":"object","additionalProperties":false}`, `{"type":"object"}`, 1)
	for _, got := range google.take() {
		if string(got.body) != want || got.length != int64(len(want)) {
			t.Errorf("google got %s, length %d", got.body, got.length)
		}
	}
	for _, same := range []string{smallChat, `{"model":"m","messages":[],"tools":3}`, `not JSON "$schema"`} {
		post(t, base+"/v1/chat/completions", same)
		if got := google.take(); len(got) != 1 || string(got[0].body) != same {
			t.Errorf("%s became %s", same, got[0].body)
		}
	}
}
