package replay

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/engine"
)

// letters counts each byte as a token, so that figures can be checked by hand.
func letters(s string) int { return len(s) }

func rewriting(f func([]byte) []byte) engine.Engine {
	return engine.Engine{Name: "e", New: func() engine.Apply {
		return func(_ adapter.Format, body []byte) ([]byte, error) { return f(bytes.Clone(body)), nil }
	}}
}

var identity = rewriting(func(b []byte) []byte { return b })

// turn is a body with the texts of messages. The user's and the assistant's
// take turns.
func turn(name string, texts ...string) Turn {
	var b strings.Builder
	b.WriteString(`{"model":"m","messages":[`)
	for i, text := range texts {
		if i > 0 {
			b.WriteByte(',')
		}
		role := []string{"user", "assistant"}[i%2]
		b.WriteString(`{"role":"` + role + `","content":"` + text + `"}`)
	}
	b.WriteString(`]}`)
	return Turn{name, []byte(b.String())}
}

func TestPrices(t *testing.T) {
	long := strings.Repeat("a", 2000)
	s := &Session{Name: "s", Format: adapter.Chat, Turns: []Turn{turn("0", long), turn("1", long, "bb", "ccc")}}
	r, err := Run(s, identity, letters)
	if err != nil {
		t.Fatal(err)
	}
	// Roles count as texts: user is 4 letters, assistant 9.
	first, second := 2004, 2004+11+7
	if r.Tokens != first+second || r.Cached != first || r.SentTokens != r.Tokens || r.SentCached != r.Cached {
		t.Errorf("%+v", r)
	}
	want := WritePrice*float64(first) + ReadPrice*float64(first) + WritePrice*18
	if r.Cost < want-1e-9 || r.Cost > want+1e-9 || r.SavedCost() != 0 || r.SavedBytes() != 0 {
		t.Errorf("cost %v, want %v", r.Cost, want)
	}
	// What is shorter than a provider caches is not cached.
	s.Turns = []Turn{turn("0", "a"), turn("1", "a", "b")}
	if r, err = Run(s, identity, letters); err != nil || r.Cached != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestBrokenPrefixCosts(t *testing.T) {
	long := strings.Repeat("a", 2000)
	s := &Session{Name: "s", Format: adapter.Chat, Turns: []Turn{turn("0", long), turn("1", long, "bb", "ccc")}}
	r, err := Run(s, rewriting(func(b []byte) []byte {
		if bytes.Contains(b, []byte("ccc")) {
			return bytes.Replace(b, []byte(long), []byte(long[:1900]), 1)
		}
		return b
	}), letters)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Broken) != 1 || r.SentCached != 0 || r.SentTokens != r.Tokens-100 || r.SavedCost() >= 0 {
		t.Errorf("%+v: cost %v", r, r.SavedCost())
	}
}

func TestMarksOfCachingAreNoBreak(t *testing.T) {
	long := strings.Repeat("a", 2000)
	body := func(text string, marked bool) string {
		mark := ""
		if marked {
			mark = `,"cache_control":{"type":"ephemeral"}`
		}
		return `{"role":"user","content":[{"type":"text","text":"` + text + `"` + mark + `}]}`
	}
	s := &Session{Name: "s", Format: adapter.Messages, Turns: []Turn{
		{"0", []byte(`{"system":"x","messages":[` + body(long, true) + `]}`)},
		{"1", []byte(`{"system":"x","messages":[` + body(long, false) + `,{"role":"assistant","content":"y"},` + body("z", true) + `]}`)},
	}}
	r, err := Run(s, identity, letters)
	if err != nil || len(r.Broken) != 0 || r.Cached < 2000 {
		t.Errorf("%+v, %v", r, err)
	}
}

// conversation reads a file and runs a command.
const conversation = `{"model":"m","messages":[{"role":"user","content":"go"},
{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\":\"x.go\"}"}},
{"id":"b","type":"function","function":{"name":"bash","arguments":"{\"command\":\"go test ./...\"}"}}]},
{"role":"tool","tool_call_id":"a","content":"package x\n\nvar a = 1\nvar b = 2"},
{"role":"tool","tool_call_id":"b","content":"ok  \tx\t0.1s\nvar c = 3"}]}`

func TestLostSourceLines(t *testing.T) {
	s := &Session{Name: "s", Format: adapter.Chat, Turns: []Turn{{"0", []byte(conversation)}}}
	for name, tc := range map[string]struct {
		old, new string
		lost     int
	}{
		"nothing":     {"", "", 0},
		"a line":      {`\nvar b = 2`, "", 1},
		"changed":     {`var a = 1`, "var a  = 1", 1},
		"elsewhere":   {`\nvar b = 2`, "", 0},
		"output only": {`\nvar c = 3`, "", 0},
		"blank":       {`\n\n`, `\n`, 0},
	} {
		r, err := Run(s, rewriting(func(b []byte) []byte {
			if tc.old == "" {
				return b
			}
			b = bytes.Replace(b, []byte(tc.old), []byte(tc.new), 1)
			if name == "elsewhere" { // a pointer to a text that has it
				b = bytes.Replace(b, []byte("ok  "), []byte(`var b = 2\nok  `), 1)
			}
			return b
		}), letters)
		if err != nil || r.Lost != tc.lost || r.SourceLines != 3 {
			t.Errorf("%s: %d of %d lines lost, %v", name, r.Lost, r.SourceLines, err)
		}
	}
}

func TestReadsFile(t *testing.T) {
	for args, want := range map[string]bool{
		`"name":"Read","arguments":"{\"file_path\":\"x\"}"`:                              true,
		`"name":"bash","arguments":"{\"command\":\"cat x.go\"}"`:                         true,
		`"name":"bash","arguments":"{\"command\":\"sed -n 1,20p x.go\"}"`:                true,
		`"name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"head -5 x.go\"]}"`: true,
		`"name":"bash","arguments":"{\"command\":\"cat x.log | sort\"}"`:                 false,
		`"name":"bash","arguments":"{\"command\":\"sed -i s/a/b/ x.go\"}"`:               false,
		`"name":"bash","arguments":"{\"command\":\"go test ./...\"}"`:                    false,
		`"name":"bash","arguments":"{}"`:                                                 false,
		`"name":"grep","arguments":"{\"pattern\":\"x\"}"`:                                false,
	} {
		body := `{"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{` + args + `}}]},{"role":"tool","tool_call_id":"a","content":"y"}]}`
		var req adapter.Request
		if err := req.Parse(adapter.Chat, []byte(body)); err != nil {
			t.Fatal(err)
		}
		if got := readsFile(req.Args(0)); got != want {
			t.Errorf("%s: %v", args, got)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one/anthropic/turn_02.json", "one/anthropic/turn_00.json", "one/openai_chat/turn_01.json", "two/openai_responses/turn_00.json"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Load(dir)
	if err != nil || len(got) != 3 || len(got[0].Turns) != 2 || got[0].Turns[0].Name != "turn_00" || got[1].Format != adapter.Chat || got[2].Name != "two" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("an empty folder has sessions")
	}
}

// The real sessions, where they are.
func TestSessions(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "corpus", "sessions")
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("the corpus is not here")
	}
	sessions, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"squoze", "rtk-standard"} {
		e, ok := engine.Named(name)
		if !ok {
			t.Fatalf("no engine %s", name)
		}
		for i := range sessions {
			r, err := Run(&sessions[i], e, letters)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Broken) > 0 || r.Lost > 0 || r.SentBytes > r.Bytes {
				t.Errorf("%s on %s/%s: broken %q, %d of %d source lines lost (%v), %d of %d bytes", name, r.Session, r.Format, r.Broken, r.Lost, r.SourceLines, r.LostLines, r.SentBytes, r.Bytes)
			}
			if r.SourceLines == 0 {
				t.Errorf("%s/%s: no file was read", r.Session, r.Format)
			}
		}
	}
}
