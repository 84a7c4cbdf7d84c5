package llmgateway_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	llmgateway "github.com/caddy-llm-gateway/caddy-llm-gateway"
)

var caddyfileBlock = regexp.MustCompile("(?ms)^```caddyfile\\n(.*?)^```")

// TestDocumentedCaddyfiles adapts every Caddyfile in the documentation.
func TestDocumentedCaddyfiles(t *testing.T) {
	n := 0
	for _, root := range []string{"README.md", "docs"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range caddyfileBlock.FindAllStringSubmatch(string(text), -1) {
				n++
				if _, err := adapt(m[1]); err != nil {
					t.Errorf("%s: %v in:\n%s", path, err, m[1])
				}
			}
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if n < 3 {
		t.Errorf("only %d Caddyfiles found", n)
	}
}

// TestMetricsDocumented keeps the README's table of metrics in step with the
// code.
func TestMetricsDocumented(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), llmgateway.MetricsTable()) {
		t.Error("the README's table of metrics differs from the code's; it is MetricsTable()")
	}
}

// TestExampleAdapts keeps the example valid and formatted.
func TestExampleAdapts(t *testing.T) {
	text, err := os.ReadFile("Caddyfile.example")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := adapt(string(text)); err != nil {
		t.Fatal(err)
	}
}
