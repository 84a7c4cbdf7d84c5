// Package clients tests the gateway with programs that people use: the SDKs
// of the npm registry and a coding agent, in front of a provider on loopback
// that answers by a script. It has no code of its own beside the tests.
package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/caddy-llm-gateway/caddy-llm-gateway"
)

// requireNode skips the test where Node.js or one of the packages is not
// installed; where everything must run, that is a failure.
func requireNode(t *testing.T, packages ...string) {
	t.Helper()
	var missing []string
	if _, err := exec.LookPath("node"); err != nil {
		missing = append(missing, "node")
	}
	for _, name := range packages {
		if _, err := os.Stat(filepath.Join("node_modules", name)); err != nil {
			missing = append(missing, "node_modules/"+name)
		}
	}
	if len(missing) == 0 {
		return
	}
	text := "missing: " + strings.Join(missing, ", ") + " (apt-get install nodejs npm; npm ci --prefix clients)"
	if os.Getenv("CI") == "true" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// serve runs a gateway with the given directives until the test ends and
// returns its base URL. Caddy is one per process, so tests that use it do not
// run in parallel.
func serve(t *testing.T, directives string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	// Not t.TempDir: Caddy may still write while it ends.
	dir, err := os.MkdirTemp("", "llm-gateway-clients")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	config := fmt.Sprintf("{\n\tadmin off\n\tpersist_config off\n\tauto_https off\n\tgrace_period 1s\n\tstorage file_system %s\n}\nhttp://%s {\n\tllm_gateway {\n%s\n\t}\n}\n", dir, address, directives)
	asJSON, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(config), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		t.Fatal(err)
	}
	if err := caddy.Load(asJSON, true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := caddy.Stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return "http://" + address
}

// check is what a client saw.
type check struct {
	Name  string          `json:"name"`
	Saw   json.RawMessage `json:"saw"`
	Error string          `json:"error"`
}

// node runs a scenario of a script with what it needs to know and returns its
// checks.
func node(t *testing.T, script, scenario string, know map[string]string) []check {
	t.Helper()
	arg, err := json.Marshal(know)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", script, scenario, string(arg))
	// Nothing of the environment may point a client elsewhere.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", script, scenario, err, stderr.String())
	}
	if stderr.Len() > 0 {
		t.Errorf("%s %s complains:\n%s", script, scenario, stderr.String())
	}
	var checks []check
	for line := range strings.Lines(stdout.String()) {
		var c check
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("unexpected output: %s", line)
		}
		checks = append(checks, c)
	}
	if len(checks) == 0 {
		t.Fatalf("%s %s checked nothing", script, scenario)
	}
	return checks
}

// testRun is the output of a long test run with one failure in the middle.
func testRun(lines int) string {
	var b strings.Builder
	for i := range lines {
		if i == lines/2 {
			b.WriteString("--- FAIL: TestLedgerClose (0.01s)\n    ledger_test.go:88: got 4107, want 4170\nFAIL\nFAIL\texample.test/ledger\t0.213s\n")
		}
		fmt.Fprintf(&b, "ok  \texample.test/p%03d\t0.%03ds\n", i, i)
	}
	b.WriteString("FAIL\n")
	return b.String()
}

// mustSurvive are the lines of testRun that no optimizer may take.
var mustSurvive = []string{"--- FAIL: TestLedgerClose (0.01s)", "    ledger_test.go:88: got 4107, want 4170", `FAIL\texample.test/ledger\t0.213s`}
