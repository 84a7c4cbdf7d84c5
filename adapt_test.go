package llmgateway_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig"
)

var update = flag.Bool("update", false, "write the golden files of the adapt tests anew")

// divider separates the Caddyfile from what is expected of it.
const divider = "----------\n"

// adapt turns a site block with the handler inside into JSON; errors come as
// a user sees them.
func adapt(caddyfile string) ([]byte, error) {
	out, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(caddyfile), map[string]any{"filename": "Caddyfile"})
	return out, err
}

// TestAdapt compares what each Caddyfile in testdata/adapt becomes with the
// JSON below its divider.
func TestAdapt(t *testing.T) {
	goldens(t, "adapt", func(caddyfile string) (string, error) {
		out, err := adapt(caddyfile)
		if err != nil {
			return "", err
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, out, "", "\t"); err != nil {
			return "", err
		}
		return pretty.String() + "\n", nil
	})
}

// TestAdaptErrors does the same for Caddyfiles that must be refused. Every
// message names the file and the line.
func TestAdaptErrors(t *testing.T) {
	goldens(t, "adapt-errors", func(caddyfile string) (string, error) {
		_, err := adapt(caddyfile)
		if err == nil {
			return "no error\n", nil
		}
		if !strings.Contains(err.Error(), "Caddyfile:") {
			t.Errorf("no file and line in: %v", err)
		}
		return err.Error() + "\n", nil
	})
}

func goldens(t *testing.T, dir string, run func(string) (string, error)) {
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.caddyfiletest"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files in %s: %v", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".caddyfiletest"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			caddyfile, want, ok := strings.Cut(string(content), divider)
			if !ok && !*update {
				t.Fatal("no divider")
			}
			got, err := run(caddyfile)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(file, []byte(caddyfile+divider+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}
