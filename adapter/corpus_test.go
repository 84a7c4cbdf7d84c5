package adapter

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

const corpusDir = "../../shared/corpus"

// corpusBodies are the recorded requests and session turns with their formats,
// by path below the corpus.
func corpusBodies(t testing.TB) map[string]Format {
	t.Helper()
	if _, err := os.Stat(corpusDir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("the corpus is missing")
		}
		t.Skip("no corpus beside the repository")
	}
	formats := map[string]Format{"anthropic": Messages, "openai_chat": Chat, "openai_responses": Responses}
	files := make(map[string]Format)
	for dir, f := range formats {
		for _, pattern := range []string{"requests/" + dir + "/*.json", "sessions/*/" + dir + "/*.json"} {
			found, err := filepath.Glob(filepath.Join(corpusDir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range found {
				short, err := filepath.Rel(corpusDir, name)
				if err != nil {
					t.Fatal(err)
				}
				files[filepath.ToSlash(short)] = f
			}
		}
	}
	if len(files) < 100 {
		t.Fatalf("only %d bodies found", len(files))
	}
	return files
}

func corpusBody(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(corpusDir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tally counts a view.
type tally struct {
	messages, system, user, assistant, reasoning, results, arguments int // texts by kind
	calls, answers, errors                                           int
}

func count(r *Request) tally {
	t := tally{messages: len(r.Messages), calls: len(r.Calls), answers: len(r.Results)}
	for _, b := range r.Blocks {
		switch b.Kind {
		case SystemText:
			t.system++
		case UserText:
			t.user++
		case AssistantText:
			t.assistant++
		case Reasoning:
			t.reasoning++
		case ToolResult:
			t.results++
		case ToolArguments:
			t.arguments++
		}
	}
	for _, res := range r.Results {
		if res.IsError {
			t.errors++
		}
	}
	return t
}

// corpusTallies were counted by hand, with a script that knows the shapes of
// these files only.
var corpusTallies = map[string]tally{
	"sessions/pi-large-session/anthropic/turn_05.json":                                                      {103, 1, 6, 28, 0, 54, 0, 54, 54, 3},
	"sessions/pi-large-session/openai_responses/turn_05.json":                                               {142, 1, 6, 28, 0, 54, 54, 54, 54, 0},
	"sessions/pi-large-session/openai_chat/turn_06.json":                                                    {215, 1, 7, 60, 0, 105, 105, 105, 105, 0},
	"sessions/pi-before-compaction/anthropic/turn_03.json":                                                  {20, 1, 6, 5, 4, 6, 0, 6, 6, 0},
	"requests/openai_chat/swe-agent_marshmallow-1867__marshmallow-code__marshmallow-1867.traj__00.json":     {28, 1, 1, 13, 0, 13, 13, 13, 13, 0},
	"requests/openai_responses/fantasy_TestOpenAIResponsesWithSummaryThinking__thinking-streaming__01.json": {4, 1, 1, 0, 0, 1, 1, 1, 1, 0},
	"requests/openai_responses/pydantic_test_bedrock_mantle__test_reused_tool_call_ids_request___03.json":   {8, 0, 2, 1, 1, 2, 2, 2, 2, 0},
}

func TestParseCorpus(t *testing.T) {
	var r Request
	files := corpusBodies(t)
	for name := range corpusTallies {
		if _, ok := files[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	for name, f := range files {
		if err := r.Parse(f, corpusBody(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkView(t, &r)
		// Bedrock and Vertex name the model in the path.
		inPath := strings.Contains(name, "Bedrock") || strings.Contains(name, "GoogleCommon")
		if (r.ModelState == ModelUnique) == inPath {
			t.Errorf("%s: model state %d", name, r.ModelState)
		}
		if len(r.Messages) == 0 {
			t.Errorf("%s: no messages", name)
		}
		for i, res := range r.Results {
			if res.Call < 0 {
				t.Errorf("%s: result %d has no call", name, i)
			}
		}
		for i, c := range r.Calls {
			if c.Results != 1 || r.Args(i).Tool() == "" {
				t.Errorf("%s: call %d of tool %q has %d results", name, i, r.Args(i).Tool(), c.Results)
			}
		}
		for _, b := range r.Blocks {
			if b.Frozen && b.Kind == ToolResult {
				t.Errorf("%s: a tool result of a type that is not known", name)
			}
			if signed := f != Chat && b.Kind == Reasoning; signed && !b.Frozen {
				t.Errorf("%s: reasoning is not frozen", name)
			}
		}
		if want, ok := corpusTallies[name]; ok && count(&r) != want {
			t.Errorf("%s: %+v, want %+v", name, count(&r), want)
		}
	}
}

// What a turn makes of a message stays what it is in every later turn.
func TestParseSessionsGrow(t *testing.T) {
	files := corpusBodies(t)
	compared := 0
	for name, f := range files {
		dir, file, _ := strings.Cut(name, "/turn_")
		if file == "" {
			continue
		}
		var early, late Request
		if err := early.Parse(f, corpusBody(t, name)); err != nil {
			t.Fatal(err)
		}
		for other := range files {
			otherDir, otherFile, _ := strings.Cut(other, "/turn_")
			if otherDir != dir || otherFile <= file {
				continue
			}
			if err := late.Parse(f, corpusBody(t, other)); err != nil {
				t.Fatal(err)
			}
			for i, b := range early.Blocks {
				l := late.Blocks[i]
				b.Node, l.Node = jsonspan.None, jsonspan.None
				if !reflect.DeepEqual(b, l) {
					t.Fatalf("block %d is %+v in %s and %+v in %s", i, b, name, l, other)
				}
				compared++
			}
		}
	}
	if compared < 500 {
		t.Errorf("only %d blocks compared", compared)
	}
}

// Every edit that this package makes leaves a recorded body valid and of the
// same format, with everything else in its place.
func TestEditCorpus(t *testing.T) {
	for name, f := range corpusBodies(t) {
		body := corpusBody(t, name)
		var before, after Request
		if err := before.Parse(f, body); err != nil {
			t.Fatal(err)
		}
		edits, ok := before.AppendSystem("Be brief.")
		if !ok {
			t.Errorf("%s: no place for system text", name)
			continue
		}
		out := jsonspan.Splice(nil, body, edits)
		if err := after.Parse(f, out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, a := count(&before), count(&after)
		added := after.Messages[len(after.Messages)-len(before.Messages):]
		if a.user != b.user || a.results != b.results || a.answers != b.answers || len(after.Blocks)-len(before.Blocks) > 1 ||
			string(after.Doc.Raw(added[len(added)-1].Node)) != string(before.Doc.Raw(before.Messages[len(before.Messages)-1].Node)) && len(before.Messages) > 1 {
			t.Errorf("%s: %+v became %+v", name, b, a)
		}
		if n := strings.Count(string(out), "Be brief.") - strings.Count(string(body), "Be brief."); n != 1 {
			t.Errorf("%s: the text was added %d times", name, n)
		}
	}
}
