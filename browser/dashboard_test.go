// Package browser tests the dashboard in a real browser against a real
// gateway. It has no code of its own beside the tests.
package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// chromium is where Debian's package puts the browser.
const chromium = "/usr/bin/chromium"

// requireBrowser skips the test where the browser or its driver is not
// installed; where everything must run, that is a failure.
func requireBrowser(t *testing.T) {
	t.Helper()
	var missing []string
	if _, err := exec.LookPath("node"); err != nil {
		missing = append(missing, "node")
	}
	for _, path := range []string{chromium, "node_modules/playwright-core"} {
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, path)
		}
	}
	if len(missing) == 0 {
		return
	}
	text := "missing: " + strings.Join(missing, ", ") + " (apt-get install nodejs chromium; npm ci --prefix browser)"
	if os.Getenv("CI") == "true" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// drive runs a scenario of dashboard.mjs with what it needs to know. Each of
// its checks becomes a subtest.
func drive(t *testing.T, scenario string, know map[string]string) {
	t.Helper()
	shots, err := filepath.Abs("../build")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(shots, 0o755); err != nil {
		t.Fatal(err)
	}
	know["chromium"], know["shots"] = chromium, shots
	arg, err := json.Marshal(know)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "dashboard.mjs", scenario, string(arg))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	checks := 0
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var check struct{ Name, Error string }
		if err := json.Unmarshal(lines.Bytes(), &check); err != nil {
			t.Errorf("unexpected output: %s", lines.Text())
			continue
		}
		checks++
		t.Run(check.Name, func(t *testing.T) {
			if check.Error != "" {
				t.Error(check.Error)
			}
		})
	}
	if err := lines.Err(); err != nil {
		t.Errorf("reading the checks: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	if checks == 0 {
		t.Error("nothing was checked")
	}
}

// gateway is a gateway in a process of its own.
type gateway struct {
	t           *testing.T
	binary, dir string
	admin, site string // host and port

	mu  sync.Mutex
	cmd *exec.Cmd
	log *lockedBuffer
}

// lockedBuffer can be read while a process still writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// buildGateway compiles the gateway of this checkout.
func buildGateway(t *testing.T) *gateway {
	t.Helper()
	// Not t.TempDir: Caddy may still write while it ends.
	dir, err := os.MkdirTemp("", "llm-gateway-browser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	g := &gateway{t: t, dir: dir, binary: filepath.Join(dir, "caddy"), admin: freeAddress(t), site: freeAddress(t), log: new(lockedBuffer)}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", g.binary, "../cmd/caddy")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the gateway: %v\n%s", err, out)
	}
	return g
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start runs the gateway with a Caddyfile until stop or the test's end, and
// returns when its admin endpoint answers.
func (g *gateway) start(caddyfile string) error {
	file := filepath.Join(g.dir, "Caddyfile")
	if err := os.WriteFile(file, []byte(caddyfile), 0o644); err != nil {
		return err
	}
	cmd := exec.Command(g.binary, "run", "--config", file)
	cmd.Env = append(os.Environ(), "HOME="+g.dir, "XDG_CONFIG_HOME="+g.dir, "XDG_DATA_HOME="+g.dir)
	cmd.Stderr = g.log
	if err := cmd.Start(); err != nil {
		return err
	}
	g.mu.Lock()
	g.cmd = cmd
	g.mu.Unlock()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		res, err := http.Get("http://" + g.admin + "/llm_gateway/stats")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("status %d", res.StatusCode)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the gateway does not answer: %w", err)
		}
	}
}

// stop ends the process as a crash does.
func (g *gateway) stop() {
	g.mu.Lock()
	cmd := g.cmd
	g.cmd = nil
	g.mu.Unlock()
	if cmd != nil {
		cmd.Process.Kill() // an error means that it is gone already
		cmd.Wait()
	}
}

// caddyfile is the configuration of the live scenario. Caddy's admin endpoint
// refuses browsers that do not say where they come from, as they do not when
// an address is typed in; the empty origin lets them in.
func (g *gateway) caddyfile(providers string) string {
	_, port, err := net.SplitHostPort(g.admin)
	if err != nil {
		g.t.Fatal(err)
	}
	return fmt.Sprintf(`{
	admin %s {
		origins 127.0.0.1:%s localhost:%s ""
	}
	persist_config off
	auto_https off
	grace_period 1s
	storage file_system %s
}
http://%s {
	llm_gateway {
		optimize rtk standard
		cache exact
		key alice sk-alice
		key "<b>bob</b>" sk-bob
		%s
	}
}
`, g.admin, port, port, filepath.Join(g.dir, "storage"), g.site, providers)
}

// serve runs an HTTP server until the test ends.
func serve(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

// TestDashboardLive opens the dashboard of a running gateway and looks at it
// while requests, a reload of the configuration and a restart happen.
func TestDashboardLive(t *testing.T) {
	requireBrowser(t)
	working := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if err != nil || bytes.Contains(body, []byte("please fail")) {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}`)
			return
		}
		io.WriteString(w, `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1200,"completion_tokens":34,"total_tokens":1234}}`)
	})
	rejecting := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error":{"message":"bad key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`)
	})
	model := func(name, provider string) string {
		return "model " + name + " {\nprice 1000 2000\nprovider " + provider + "\n}\n"
	}
	provider := func(name, url string) string {
		return "provider " + name + " " + url + " {\nformat openai\napi_key secret\n}\n"
	}
	first := provider("working", working) + provider("rejecting", rejecting) + model("swift", "working") + model("deep", "working") + model("refused", "rejecting")
	second := provider("working", working) + model("swift", "working") + model("reloaded", "working")

	g := buildGateway(t)
	t.Cleanup(func() {
		g.stop()
		if t.Failed() {
			t.Logf("the gateway's log:\n%s", g.log.String())
		}
	})
	if err := g.start(g.caddyfile(first)); err != nil {
		t.Fatal(err)
	}
	control := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/stop":
			g.stop()
		case "/start":
			if err := g.start(g.caddyfile(second)); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		default:
			http.NotFound(w, r)
		}
	})
	drive(t, "live", map[string]string{
		"admin": "http://" + g.admin, "site": "http://" + g.site, "control": control, "reloaded": g.caddyfile(second), "toolOutput": testRun(900),
	})
}

// testRun is the output of a long test run with one failure in the middle.
func testRun(lines int) string {
	var b strings.Builder
	for i := range lines {
		if i == lines/2 {
			b.WriteString("--- FAIL: TestLedger (0.01s)\n    ledger_test.go:88: got 4107, want 4170\n")
		}
		fmt.Fprintf(&b, "=== RUN   TestRow%d\n--- PASS: TestRow%d (0.00s)\n", i, i)
	}
	b.WriteString("FAIL\nFAIL\texample.test/shop/ledger\t0.213s\n")
	return b.String()
}
