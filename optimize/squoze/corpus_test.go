package squoze

import (
	"os"
	"path/filepath"
	"testing"
)

// corpusDir is where the shared test data stands, seen from this package.
const corpusDir = "../../../shared/corpus"

// corpusFile is the path of a file of the corpus. Without the corpus the test
// is skipped, except in continuous integration, which has it.
func corpusFile(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(corpusDir, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no corpus here")
	}
	return path
}
