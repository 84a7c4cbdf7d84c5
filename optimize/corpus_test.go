package optimize_test

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// corpusDir is where the corpus lies beside the repository.
const corpusDir = "../../shared/corpus"

// sample is one request of the corpus.
type sample struct {
	name   string
	format adapter.Format
	body   []byte
}

var formats = map[string]adapter.Format{
	"anthropic": adapter.Messages, "openai_chat": adapter.Chat, "openai_responses": adapter.Responses,
}

var endpoints = map[adapter.Format]string{
	adapter.Messages: "/v1/messages", adapter.Chat: "/v1/chat/completions", adapter.Responses: "/v1/responses",
}

// corpus are the requests: single ones, conversations by turn, and requests
// made here of the raw files, each the result of a tool.
type corpus struct {
	singles  []sample
	sessions [][]sample
}

var loadCorpus = sync.OnceValues(readCorpus)

// needCorpus skips the test if there is no corpus, which must not happen in CI.
func needCorpus(t testing.TB) corpus {
	t.Helper()
	c, err := loadCorpus()
	if os.IsNotExist(err) && os.Getenv("CI") != "true" {
		t.Skip("no corpus beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func readCorpus() (c corpus, err error) {
	read := func(pattern string, f adapter.Format) (list []sample) {
		files, _ := filepath.Glob(filepath.Join(corpusDir, pattern)) // the pattern is fine
		sort.Strings(files)
		for _, file := range files {
			body, e := os.ReadFile(file)
			if e != nil {
				err = e
			}
			name, _ := filepath.Rel(corpusDir, file)
			list = append(list, sample{name, f, body})
		}
		return list
	}
	if _, err := os.Stat(corpusDir); err != nil {
		return c, err
	}
	for folder, f := range formats {
		c.singles = append(c.singles, read("requests/"+folder+"/*", f)...)
		talks, _ := filepath.Glob(filepath.Join(corpusDir, "sessions/*/"+folder))
		for _, talk := range talks {
			dir, _ := filepath.Rel(corpusDir, talk)
			c.sessions = append(c.sessions, read(dir+"/turn_*.json", f))
		}
	}
	sort.Slice(c.singles, func(i, j int) bool { return c.singles[i].name < c.singles[j].name })
	sort.Slice(c.sessions, func(i, j int) bool { return c.sessions[i][0].name < c.sessions[j][0].name })
	for i, file := range append(append(append(read("logs/*", 0), read("tool_outputs/*", 0)...), read("diffs/*", 0)...), read("transcripts/*", 0)...) {
		c.singles = append(c.singles, asResult(file, i))
	}
	return c, err
}

// asResult is a request in which a tool returned the file.
func asResult(file sample, i int) sample {
	text := string(jsonspan.AppendQuoted(nil, file.body))
	call := `{"command":"` + []string{"cat /tmp/out", "make all", "run-it --verbose", "tail -n 5000 app.log"}[i%4] + `"}`
	name := string(jsonspan.AppendQuoted(nil, []byte(file.name)))
	switch i % 3 {
	case 0:
		file.format = adapter.Chat
		file.body = []byte(`{"model":"gpt-5-mini","messages":[{"role":"user","content":` + name + `},` +
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"shell","arguments":` + string(jsonspan.AppendQuoted(nil, []byte(call))) + `}}]},` +
			`{"role":"tool","tool_call_id":"c","content":` + text + `}]}`)
	case 1:
		file.format = adapter.Messages
		file.body = []byte(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":` + name + `},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"Bash","input":` + call + `}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":` + text + `}]}]}]}`)
	default:
		file.format = adapter.Responses
		file.body = []byte(`{"model":"gpt-5-mini","input":[{"role":"user","content":` + name + `},` +
			`{"type":"function_call","call_id":"c","name":"shell","arguments":` + string(jsonspan.AppendQuoted(nil, []byte(call))) + `},` +
			`{"type":"function_call_output","call_id":"c","output":` + text + `}]}`)
	}
	return file
}

// name of a mode as a test name.
func modeName(header string) string {
	return strings.NewReplacer(", ", "+", "=", "-", ";", ".").Replace(header)
}
