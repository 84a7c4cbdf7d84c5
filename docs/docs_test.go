// Package docs checks that what the documentation and the files in deploy
// refer to is there.
package docs

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig"

	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/caddy-llm-gateway/caddy-llm-gateway"
)

// root is the repository's.
const root = ".."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pages are the documentation, by path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.ToSlash(name)] = read(t, name)
		}
	}
	if len(out) < 8 {
		t.Fatalf("only %d pages found", len(out))
	}
	return out
}

var (
	fence   = regexp.MustCompile("(?ms)^```(\\w*)\\n(.*?)^```")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// anchors are the names that headings of a page have in links.
func anchors(page string) map[string]bool {
	out := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(m[1]))
		out[name] = true
	}
	return out
}

// TestLinks follows every link to a file or heading of the repository.
func TestLinks(t *testing.T) {
	all := pages(t)
	n := 0
	for name, page := range all {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			n++
			path, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if path != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), path))
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: %s: %v", name, m[1], err)
				continue
			}
			if anchor != "" && !anchors(all[target])[anchor] {
				t.Errorf("%s: %s: no such heading", name, m[1])
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d links found", n)
	}
}

var (
	testName = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)`")
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
)

// TestNamesOfTests finds every test that the documentation names.
func TestNamesOfTests(t *testing.T) {
	known := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			known[string(m[1])] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, page := range pages(t) {
		for _, m := range testName.FindAllStringSubmatch(page, -1) {
			if n++; !known[m[1]] {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d names found", n)
	}
}

// TestCodesAreExplained finds every error code and every reason of the cache
// in the page that people look them up in.
func TestCodesAreExplained(t *testing.T) {
	page := read(t, "docs/troubleshooting.md")
	for _, table := range []struct {
		file    string
		pattern *regexp.Regexp
		atLeast int
	}{
		{"errors.go", regexp.MustCompile(`(?m)^\tcode\w+\s+= "(\w+)"`), 13},
		{"access/limits.go", regexp.MustCompile(`(?m)^\t\w+\s+Reason = "(\w+)"`), 3},
		{"cache/reason.go", regexp.MustCompile(`(?m)^\t\w+:\s+"([\w-]+)",`), 20},
	} {
		found := table.pattern.FindAllStringSubmatch(read(t, table.file), -1)
		if len(found) < table.atLeast {
			t.Errorf("%s: only %d found", table.file, len(found))
		}
		for _, m := range found {
			if !strings.Contains(page, "`"+m[1]+"`") {
				t.Errorf("%s: %s is not explained", table.file, m[1])
			}
		}
	}
}

// TestJSON parses every JSON in the documentation.
func TestJSON(t *testing.T) {
	n := 0
	for name, page := range pages(t) {
		for _, m := range fence.FindAllStringSubmatch(page, -1) {
			if m[1] != "json" {
				continue
			}
			if n++; !json.Valid([]byte(m[2])) {
				t.Errorf("%s: invalid JSON:\n%s", name, m[2])
			}
		}
	}
	if n == 0 {
		t.Error("no JSON found")
	}
}

// TestDeployedCaddyfiles adapts the configurations of the image and of the
// manifest.
func TestDeployedCaddyfiles(t *testing.T) {
	for _, path := range []string{"deploy/Caddyfile", "deploy/kubernetes/Caddyfile"} {
		for _, address := range []string{"", "llm.example.com"} {
			if address != "" {
				t.Setenv("GATEWAY_ADDRESS", address)
			}
			if _, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(read(t, path)), map[string]any{"filename": path}); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// TestDeployedPaths checks that what the image and the manifest are made of is
// there, and that they agree with each other.
func TestDeployedPaths(t *testing.T) {
	dockerfile := read(t, "deploy/Dockerfile")
	ignored := strings.Fields(read(t, "deploy/Dockerfile.dockerignore"))
	copied := 0
	for line := range strings.Lines(dockerfile) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[0] != "COPY" || strings.HasPrefix(fields[1], "--from") {
			continue
		}
		for _, source := range fields[1 : len(fields)-1] {
			copied++
			if _, err := os.Stat(filepath.Join(root, source)); err != nil {
				t.Errorf("Dockerfile: %v", err)
			}
			if top, _, _ := strings.Cut(source, "/"); slices.Contains(ignored, top) {
				t.Errorf("Dockerfile: %s is kept out of the build", source)
			}
		}
	}
	if copied < 5 {
		t.Errorf("Dockerfile: only %d sources found", copied)
	}

	goMod := read(t, "go.mod")
	version := regexp.MustCompile(`caddyserver/caddy/v2 (v\S+)`).FindStringSubmatch(goMod)
	if version == nil || !strings.Contains(dockerfile, "CADDY_VERSION="+version[1]+"\n") {
		t.Errorf("Dockerfile: not the version of Caddy in go.mod, %v", version)
	}

	manifest := read(t, "deploy/kubernetes/gateway.yaml")
	for _, user := range []string{"USER 10001:10001"} {
		if !strings.Contains(dockerfile, user) {
			t.Errorf("Dockerfile: %s expected", user)
		}
	}
	if !strings.Contains(manifest, "runAsUser: 10001") {
		t.Error("gateway.yaml: another user than the image's")
	}
	caddyfile := read(t, "deploy/kubernetes/Caddyfile")
	for _, m := range regexp.MustCompile(`\{env\.(\w+)\}`).FindAllStringSubmatch(caddyfile, -1) {
		if !strings.Contains(manifest, "--from-literal="+m[1]+"=") {
			t.Errorf("gateway.yaml: does not say that the Secret needs %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`containerPort: (\d+)`).FindAllStringSubmatch(manifest, -1) {
		if !strings.Contains(caddyfile, "http://:"+m[1]+" {") {
			t.Errorf("gateway.yaml: nothing listens on port %s", m[1])
		}
	}
	for _, resource := range regexp.MustCompile(`(?m)^\s+- (\S+\.yaml|Caddyfile)$`).FindAllStringSubmatch(read(t, "deploy/kubernetes/kustomization.yaml"), -1) {
		if _, err := os.Stat(filepath.Join(root, "deploy/kubernetes", resource[1])); err != nil {
			t.Errorf("kustomization.yaml: %v", err)
		}
	}
	health := regexp.MustCompile(`http://127\.0\.0\.1(:\d+)/healthz`).FindStringSubmatch(dockerfile)
	if health == nil || !strings.Contains(read(t, "deploy/Caddyfile"), "http://"+health[1]+" {") {
		t.Errorf("Dockerfile: the health check asks where nobody answers, %v", health)
	}
}
