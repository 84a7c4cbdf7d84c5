package rtk

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

const corpusDir = "../../../shared/corpus"

// corpus returns the files of a folder of the corpus. Where it is absent the
// test is skipped, but not in CI.
func corpus(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpusDir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no corpus at %s", pattern)
		}
		t.Skipf("no corpus at %s", pattern)
	}
	return files
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// commandsFor are commands that may have written a file of the corpus, and
// some that did not.
func commandsFor(file string) []string {
	name := filepath.Base(file)
	list := []string{"./frob", "cat /var/log/x.log", "make", "cat " + name}
	switch {
	case strings.Contains(name, "go-test-json"):
		list = append(list, "go test -json ./...")
	case strings.HasPrefix(name, "gotestsum"):
		list = append(list, "go test -v ./...")
	case strings.HasPrefix(name, "git__log"):
		list = append(list, "git log --stat")
	case strings.HasSuffix(name, ".diff"):
		list = append(list, "git diff")
	case strings.HasPrefix(name, "errorformat"):
		list = append(list, "npm run lint", "npx eslint .", "mvn compile")
	default:
		list = append(list, "kubectl logs web", "docker compose logs")
	}
	return list
}

// troubleWords are what the plain filter below looks for.
var troubleWords = []string{"error", "fail", "fatal", "panic", "exception", "warning", "critical", "denied", "refused", "traceback"}

// trouble is a plain filter for lines that report something wrong: one of the
// words, by itself, in a line that does not speak of none.
func trouble(line string) bool {
	low := strings.ToLower(line)
	if output.Passing([]byte(line)) || strings.ContainsAny(low, "0{[<") || strings.Contains(low, "no ") || strings.Contains(low, "without") || strings.Contains(low, "null") {
		return false
	}
	for _, word := range troubleWords {
		for _, field := range strings.FieldsFunc(low, func(r rune) bool { return r == ' ' || r == ':' || r == '\t' || r == '\r' }) {
			if field == word || field == word+"s" || field == word+"ed" {
				return true
			}
		}
	}
	return false
}

// Every file as the output of every command, at every level: the promises
// hold and no line that reports something wrong is lost.
func TestCorpusOutputs(t *testing.T) {
	type sum struct{ before, after, files, changed int }
	total := map[string]*sum{}
	for _, folder := range []string{"tool_outputs", "logs", "diffs"} {
		for _, file := range corpus(t, folder+"/*") {
			text := read(t, file)
			commands := commandsFor(file)
			for i, command := range commands {
				hint := output.HintFor("Bash", command, "")
				for _, level := range []Level{Light, Standard, Aggressive, Auto} {
					out, r := Compress(level, hint, text, nil)
					if !r.Changed {
						out = text
					} else {
						check(t, level, hint, text, out, r)
						if hint.File {
							t.Errorf("%s, %s: a file was shortened", file, command)
						}
					}
					if r.Class.Failing() || r.Class == output.NDJSON || r.Class == output.Grep {
						missing(t, file+", "+command, text, out)
					}
					if t.Failed() {
						t.Fatalf("%s, %s, %v: %+v", file, command, level, r)
					}
					if i == len(commands)-1 { // the command that fits best
						key := folder + " " + r.Class.String() + " " + level.String()
						s := total[key]
						if s == nil {
							s = new(sum)
							total[key] = s
						}
						s.files++
						s.before += len(text)
						s.after += len(out)
						if r.Changed {
							s.changed++
						}
					}
				}
			}
		}
	}
	var keys []string
	for key := range total {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		s := total[key]
		t.Logf("%-40s %3d files, %3d changed, %8d -> %8d bytes, %5.1f %% saved", key, s.files, s.changed, s.before, s.after, 100-100*float64(s.after)/float64(s.before))
	}
}

// missing reports lines of text that report something wrong and are not in out.
func missing(t testing.TB, what string, text, out []byte) {
	t.Helper()
	have := map[string]bool{}
	for line := range strings.SplitSeq(string(out), "\n") {
		have[line] = true
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if !have[line] && trouble(line) {
			t.Errorf("%s: lost %q", what, line)
		}
	}
}

// Requests and sessions: the promises hold for each, at every level.
func TestCorpusRequests(t *testing.T) {
	folders := map[string]string{
		"requests/openai_chat/*.json": "/v1/chat/completions", "requests/openai_responses/*.json": "/v1/responses", "requests/anthropic/*.json": "/v1/messages",
		"sessions/*/openai_chat/*.json": "/v1/chat/completions", "sessions/*/openai_responses/*.json": "/v1/responses", "sessions/*/anthropic/*.json": "/v1/messages",
	}
	for pattern, path := range folders {
		files := corpus(t, pattern)
		for _, level := range []string{"light", "standard", "aggressive", "auto"} {
			shared, _ := New(level, NewMemo(16<<20))
			before, after := 0, 0
			var prev, prevOut []byte
			for _, file := range files {
				body := read(t, file)
				alone, _ := New(level, nil)
				out := through(t, path, body, shared)
				if !bytes.Equal(out, through(t, path, body, alone)) {
					t.Errorf("%s, %s: the memo changes the result", file, level)
				}
				before, after = before+len(body), after+len(out)
				if len(out) > len(body) || !json.Valid(out) {
					t.Errorf("%s, %s: %d bytes became %d", file, level, len(body), len(out))
				}
				if again := through(t, path, out, alone); !bytes.Equal(again, out) {
					t.Errorf("%s, %s: applied twice it changes again", file, level)
				}
				// Some recordings are not well paired; what they are they stay.
				if cases.PairsIntact(path, body, body) == nil {
					if err := cases.PairsIntact(path, body, out); err != nil {
						t.Errorf("%s, %s: %v", file, level, err)
					}
				}
				onlyResults(t, file, path, body, out)
				if prev != nil && filepath.Dir(file) == filepath.Dir(string(prev)) && strings.HasPrefix(pattern, "sessions") {
					if err := cases.PrefixStable(stripMarks(prevOut), stripMarks(out)); err != nil {
						t.Errorf("%s, %s: %v", file, level, err)
					}
				}
				prev, prevOut = []byte(file), out
			}
			t.Logf("%-34s %-10s %8d -> %8d bytes", pattern, level, before, after)
		}
	}
}

// stripMarks takes the cache marks out, which move from turn to turn.
func stripMarks(body []byte) []byte {
	body = bytes.ReplaceAll(body, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
	return bytes.ReplaceAll(body, []byte(`"cache_control":{"type":"ephemeral"},`), nil)
}

// onlyResults checks that nothing but tool results that are no errors and not
// frozen has changed.
func onlyResults(t *testing.T, file, path string, body, out []byte) {
	t.Helper()
	var a, b adapter.Request
	if a.Parse(adapter.Detect(path), body) != nil {
		return
	}
	if err := b.Parse(adapter.Detect(path), out); err != nil || len(a.Blocks) != len(b.Blocks) || a.Doc.Nodes() != b.Doc.Nodes() {
		t.Fatalf("%s: another request: %v", file, err)
	}
	at := 0
	for i := range a.Blocks {
		x, y := &a.Blocks[i], &b.Blocks[i]
		was, is := a.Doc.Span(x.Node), b.Doc.Span(y.Node)
		if bytes.Equal(a.Doc.Raw(x.Node), b.Doc.Raw(y.Node)) {
			continue
		}
		if x.Kind != adapter.ToolResult || x.IsError || x.Frozen {
			t.Errorf("%s: block %d of kind %v changed", file, i, x.Kind)
		}
		// Outside of the block all bytes are as they were.
		if shift := was.Start - is.Start; shift != at {
			t.Errorf("%s: block %d has moved by %d, not by %d", file, i, shift, at)
		}
		at += was.Len() - is.Len()
	}
	if len(body)-len(out) != at {
		t.Errorf("%s: %d bytes are gone, %d of them from blocks", file, len(body)-len(out), at)
	}
}

// What is shortened takes fewer tokens too.
func TestNeverMoreTokens(t *testing.T) {
	enc, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	count := func(text []byte) int {
		n, err := enc.Count(string(text))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	texts := map[string][]byte{"json": []byte("[" + strings.Repeat(`{"id": 1, "name": "a b", "list": [1, 2, 3]}, `, 200) + "1]")}
	for _, folder := range []string{"tool_outputs", "diffs", "logs"} {
		for _, file := range corpus(t, folder+"/*") {
			if text := read(t, file); len(text) < 130_000 {
				texts[file] = text
			}
		}
	}
	for file, text := range texts {
		for _, command := range commandsFor(file) {
			out, r := Compress(Aggressive, output.HintFor("Bash", command, ""), text, nil)
			if !r.Changed {
				continue
			}
			if a, b := count(text), count(out); b >= a {
				t.Errorf("%s, %s: %d tokens became %d", file, command, a, b)
			}
			break
		}
	}
	// A gap that is just worth its marker.
	gap := strings.Repeat("a b c d e f g h i j k l m n\n", 10)
	text := []byte(strings.Repeat("ok x\n", 8) + gap + "error\n" + gap + "error\n" + gap + "error\n" + gap + strings.Repeat("ok y\n", 8))
	for len(text) < 1024 {
		text = append(text, text...)
	}
	if out, r := Compress(Aggressive, output.HintFor("Bash", "go test", ""), text, nil); r.Changed && count(out) >= count(text) {
		t.Errorf("%d tokens became %d", count(text), count(out))
	}
}
