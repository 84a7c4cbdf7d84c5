package adapter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const corpusDir = "../../shared/corpus"

// corpusBodies are the recorded requests and session turns, by path below the
// corpus, with their formats.
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
				files[name] = f
			}
		}
	}
	if len(files) < 100 {
		t.Fatalf("only %d bodies found", len(files))
	}
	return files
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseCorpus(t *testing.T) {
	var r Request
	for name, f := range corpusBodies(t) {
		if err := r.Parse(f, readFile(t, name)); err != nil {
			t.Errorf("%s: %v", filepath.Base(name), err)
			continue
		}
		// Bedrock and Vertex name the model in the path.
		inPath := strings.Contains(name, "Bedrock") || strings.Contains(name, "GoogleCommon")
		if (r.ModelState == ModelUnique) == inPath {
			t.Errorf("%s: model state %d", filepath.Base(name), r.ModelState)
		}
		orphans := 0
		for _, res := range r.Results {
			if res.Call < 0 {
				orphans++
			}
		}
		t.Logf("%-100s msgs %d blocks %d calls %d results %d orphans %d", filepath.Base(name), len(r.Messages), len(r.Blocks), len(r.Calls), len(r.Results), orphans)
	}
}
