package quality

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/engine"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
)

// identity leaves everything as it is.
var identity = engine.Engine{Name: "identity", New: func() engine.Apply {
	return func(_ adapter.Format, body []byte) ([]byte, error) { return body, nil }
}}

// rewriting changes bodies by f.
func rewriting(f func([]byte) []byte) engine.Engine {
	return engine.Engine{Name: "rewriting", New: func() engine.Apply {
		return func(_ adapter.Format, body []byte) ([]byte, error) { return f(bytes.Clone(body)), nil }
	}}
}

func TestCorpus(t *testing.T) {
	corpus := Corpus()
	names := map[string]bool{}
	reference := 0
	for _, c := range corpus {
		if names[c.Name] {
			t.Errorf("%s: twice", c.Name)
		}
		names[c.Name] = true
		if c.Reference {
			reference++
		}
		// What changes nothing breaks nothing and loses nothing.
		o := Measure(&c, identity, Options{})
		if len(o.Violations) > 0 || o.Found != o.Needles || o.Fired() {
			t.Errorf("%s: %v, %d of %d needles, %q", c.Name, o.Violations, o.Found, o.Needles, o.Lost)
		}
		if c.Fires && len(c.Needles) == 0 {
			t.Errorf("%s: no needles", c.Name)
		}
		for _, turn := range c.Turns {
			if !json.Valid(turn) || len(turn) < 1000 {
				t.Errorf("%s: a body of %d bytes", c.Name, len(turn))
			}
			var req adapter.Request
			if err := req.Parse(c.Format, turn); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			if err := cases.PairsIntact(c.Path(), turn, turn); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
	if reference != 15 || len(corpus)-reference < 15 {
		t.Errorf("%d cases of the reference's classes, %d of our own", reference, len(corpus)-reference)
	}
	again := Corpus()
	for i := range corpus {
		for j := range corpus[i].Turns {
			if !bytes.Equal(corpus[i].Turns[j], again[i].Turns[j]) {
				t.Errorf("%s: the corpus differs from run to run", corpus[i].Name)
			}
		}
	}
}

func named(t *testing.T, name string) *Case {
	t.Helper()
	for _, c := range Corpus() {
		if c.Name == name {
			return &c
		}
	}
	t.Fatalf("no case %s", name)
	return nil
}

func TestSizes(t *testing.T) {
	for name, want := range map[string]int{"small log, 3 KB, claude": 3000, "small log, 6 KB, claude": 6000, "small log, 1.5 KB, deepseek": 1500} {
		c := named(t, name)
		var req adapter.Request
		if err := req.Parse(c.Format, c.Turns[0]); err != nil {
			t.Fatal(err)
		}
		for _, b := range req.Blocks {
			if b.Kind != adapter.ToolResult {
				continue
			}
			if n := len(req.Doc.Text(b.Node)); n < want-150 || n > want+50 {
				t.Errorf("%s: a result of %d bytes", name, n)
			}
		}
	}
	if n := strings.Count(goTest(1, 3000, 2).text(), "\n"); n < 2995 || n > 3005 {
		t.Errorf("go test has %d lines", n)
	}
	if n := strings.Count(kubeLogs(3, 1200).text(), "\n"); n != 1200 {
		t.Errorf("the log has %d lines", n)
	}
	if n := len(manyFailures(12, 200).needles); n != 402 {
		t.Errorf("%d needles", n)
	}
}

// Every kind of damage is noticed.
func TestMeasureNotices(t *testing.T) {
	replace := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(old), []byte(new)) }
	}
	calls := 0
	for name, tc := range map[string]struct {
		c    string
		e    engine.Engine
		want string
	}{
		"not JSON":       {"jest", rewriting(func(b []byte) []byte { return b[:len(b)-1] }), "no valid JSON"},
		"larger":         {"jest", rewriting(func(b []byte) []byte { return append(b, ' ') }), "bytes became"},
		"untouched":      {"configuration", rewriting(replace("on_error: retry", "on_error: x")), "had to stay"},
		"user's words":   {"jest", rewriting(replace("Run it.", "Run.")), "no tool result and changed"},
		"around a paste": {"test run in the user's own message", rewriting(replace("CI is red", "CI is")), "own words"},
		"gap": {"jest", rewriting(func(b []byte) []byte {
			i := bytes.Index(b, []byte(`PASS `))
			j := i + bytes.Index(b[i:], []byte(`\n`)) + 2
			return append(b[:i], b[j:]...)
		}), "gap without marker"},
		"empty": {"go test, 3000 lines, 2 failures", rewriting(func(b []byte) []byte {
			i := bytes.Index(b, []byte(`"=== RUN`)) + 1
			j := i + bytes.LastIndex(b[i:], []byte(`\n`)) + 2
			return append(b[:i], b[j:]...)
		}), "became empty"},
		"idempotence": {"jest", rewriting(func(b []byte) []byte { return bytes.Replace(b, []byte("PASS src"), []byte("src"), 1) }), "when it is sent again"},
		"determinism": {"jest", rewriting(func(b []byte) []byte {
			calls++
			return bytes.Replace(b, []byte("PASS src"), []byte("src"), calls)
		}), "fresh engine makes something else"},
		"prefix": {"session of 4 turns, a file read twice", rewriting(func(b []byte) []byte {
			if len(b) > 20_000 {
				return bytes.ReplaceAll(b, []byte("total"), []byte("sum"))
			}
			return b
		}), "prefix of turn"},
		"pairs": {"vitest", rewriting(replace(`"function_call_output","call_id":"call_a"`, `"function_call_output","call_id":"call_b"`)), "call_b"},
	} {
		t.Run(name, func(t *testing.T) {
			c := named(t, tc.c)
			// Keys are sorted when the bodies are made; find the pair as it stands.
			if name == "pairs" {
				tc.e = rewriting(func(b []byte) []byte {
					i := bytes.LastIndex(b, []byte(`"call_a"`))
					return append(append(b[:i:i], `"call_b"`...), b[i+8:]...)
				})
			}
			o := Measure(c, tc.e, Options{})
			if !strings.Contains(strings.Join(o.Violations, "\n"), tc.want) {
				t.Errorf("violations %q, want %q", o.Violations, tc.want)
			}
		})
	}
}

func TestSearch(t *testing.T) {
	texts := []string{"a\nb\nc", "d"}
	for _, tc := range []struct {
		needles  []string
		anyOrder bool
		found    int
	}{{[]string{"a", "c", "d"}, false, 3}, {[]string{"c", "a"}, false, 1}, {[]string{"c", "a"}, true, 2}, {[]string{"x"}, true, 0}, {[]string{"a", "a"}, false, 2}} {
		if found, lost := search(tc.needles, texts, tc.anyOrder); found != tc.found || len(lost) != len(tc.needles)-found {
			t.Errorf("%v: %d found, lost %v", tc.needles, found, lost)
		}
	}
}

func TestTokensAndTimes(t *testing.T) {
	c := named(t, "vitest")
	o := Measure(c, rewriting(func(b []byte) []byte { return b }), Options{Count: func(s string) int { return len(s) }, Runs: 3})
	if o.Tokens == 0 || o.Tokens != o.SentTokens || o.ColdP50 <= 0 || o.ColdP95 < o.ColdP50 || o.WarmP95 < o.WarmP50 {
		t.Errorf("%+v", o)
	}
	if got := percentile([]float64{3, 1, 2}, 0.5); got != 2 {
		t.Errorf("median %v", got)
	}
	if got := percentile([]float64{1, 2, 3, 4}, 0.95); got != 4 {
		t.Errorf("p95 %v", got)
	}
}

// The diff of the corpus is one that git takes.
func TestDiffApplies(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no git here")
	}
	g, code := lockDiff(10, 300)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.diff"), []byte(g.text()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(git, "-C", dir, "apply", "--stat", "a.diff").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 files changed") {
		t.Errorf("%s, %v", out, err)
	}
	if !strings.HasPrefix(g.text(), code) {
		t.Error("the code's part is not the beginning")
	}
}

// The engines of this tree lose nothing on a few cases of each kind; bench
// quality says the rest.
func TestEngines(t *testing.T) {
	for _, name := range []string{"squoze", "rtk-standard"} {
		e, ok := engine.Named(name)
		if !ok {
			t.Fatalf("no engine %s", name)
		}
		for _, c := range []string{"pytest, 400 pass, 1 traceback", "cargo build", "source full of FAILED and PASSED", "session of 4 turns, a file read twice", "grep -n"} {
			o := Measure(named(t, c), e, Options{})
			if len(o.Violations) > 0 || o.Found < o.Needles {
				t.Errorf("%s, %s: %q, lost %q", name, c, o.Violations, o.Lost)
			}
		}
	}
}
