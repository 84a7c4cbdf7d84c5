package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// asCaddy makes the test binary the Caddy binary.
const asCaddy = "LLM_GATEWAY_TEST_AS_CADDY"

func TestMain(m *testing.M) {
	if os.Getenv(asCaddy) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// caddy is the binary as a process of its own, not started.
func caddy(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	home := filepath.Join(os.TempDir(), fmt.Sprint("llm-gateway-cli-", os.Getpid()))
	t.Cleanup(func() { os.RemoveAll(home) })
	cmd.Env = append(os.Environ(), asCaddy+"=1", "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home)
	return cmd
}

// run runs the binary to its end.
func run(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := caddy(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// toolBody is a chat request with the output of a long test run in it.
func toolBody(t *testing.T) string {
	t.Helper()
	output := strings.Repeat("ok  \texample.test/shop/pkg\t0.012s\n", 900) + "--- FAIL: TestLedgerClose (0.01s)\n    ledger_test.go:88: got 4107, want 4170\nFAIL\n"
	text, err := json.Marshal(output)
	if err != nil {
		t.Fatal(err)
	}
	return `{"model":"gpt-5-mini","messages":[{"role":"user","content":"run"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"shell","arguments":"{\"command\":\"go test ./...\"}"}}]},{"role":"tool","tool_call_id":"c","content":` + string(text) + `}]}`
}

// TestHelp reads the help of every command of the gateway.
func TestHelp(t *testing.T) {
	status, all, _ := run(t, "", "help")
	if status != 0 {
		t.Errorf("help: status %d", status)
	}
	for name, flags := range map[string][]string{
		"llm-key":      {"--json"},
		"llm-stats":    {"--range", "--model", "--provider", "--key", "--no-key", "--watch", "--json", "--address"},
		"llm-optimize": {"--mode", "--format", "--diff", "--json", "--output"},
		"llm-original": {"--key", "--address"},
	} {
		if !strings.Contains(all, name+" ") {
			t.Errorf("caddy help does not list %s", name)
		}
		status, help, _ := run(t, "", name, "--help")
		if status != 0 {
			t.Errorf("%s --help: status %d", name, status)
		}
		for _, want := range append(flags, "Usage:", "caddy "+name, "Exit status: 0", "Examples:\n\n\tcaddy "+name) {
			if !strings.Contains(help, want) {
				t.Errorf("%s --help does not say %q", name, want)
			}
		}
	}
}

// TestStatus runs commands that need no running gateway.
func TestStatus(t *testing.T) {
	body := toolBody(t)
	file := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	nobody := freeAddress(t)
	for _, tc := range []struct {
		name, stdin string
		args        []string
		status      int
		out, errs   string // what standard output and error hold
	}{
		{"key", "", []string{"llm-key", "new", "alice"}, 0, "key alice sha256:", ""},
		{"key as JSON", "", []string{"llm-key", "new", "alice", "--json"}, 0, `"secret":"sk-gw-`, ""},
		{"key, other action", "", []string{"llm-key", "old", "alice"}, 1, "", "unknown action"},
		{"key, bad name", "", []string{"llm-key", "new", "two words"}, 1, "", "one plain word"},
		{"key, no name", "", []string{"llm-key", "new"}, 1, "", "accepts 2 arg"},
		{"optimize a file", "", []string{"llm-optimize", "--mode", "rtk=standard", file}, 0, "tool result", ""},
		{"optimize standard input", body, []string{"llm-optimize", "--diff"}, 0, "- ok  \texample.test/shop/pkg", ""},
		{"optimize as JSON", body, []string{"llm-optimize", "--json"}, 0, `"bytes_after"`, ""},
		{"optimize, output", body, []string{"llm-optimize", "--output", "-"}, 0, "TestLedgerClose", ""},
		{"optimize, nothing to do", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, []string{"llm-optimize"}, 0, "", ""},
		{"optimize, bad body", "{", []string{"llm-optimize"}, 1, "", "not valid JSON"},
		{"optimize, no file", "", []string{"llm-optimize", file + ".none"}, 1, "", "no such file"},
		{"optimize, bad mode", body, []string{"llm-optimize", "--mode", "zip"}, 1, "", "unknown optimizer"},
		{"optimize, unknown flag", "", []string{"llm-optimize", "--fast"}, 1, "", "unknown flag"},
		{"stats, nobody there", "", []string{"llm-stats", "--address", nobody}, 1, "", "is Caddy running?"},
		{"original, nobody there", "", []string{"llm-original", "abc", "--address", nobody}, 1, "", "is Caddy running?"},
		{"original, no reference", "", []string{"llm-original"}, 1, "", "accepts 1 arg"},
	} {
		status, out, errs := run(t, tc.stdin, tc.args...)
		if status != tc.status || !strings.Contains(out, tc.out) || !strings.Contains(errs, tc.errs) {
			t.Errorf("%s: status %d\n%s\n%s", tc.name, status, out, errs)
		}
		if strings.Contains(strings.Join(tc.args, " "), "--json") && !json.Valid([]byte(out)) {
			t.Errorf("%s: invalid JSON: %s", tc.name, out)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestAgainstGateway asks a running gateway.
func TestAgainstGateway(t *testing.T) {
	sent := make(chan string, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("upstream: %v", err)
		}
		sent <- string(body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1200,"completion_tokens":34,"total_tokens":1234}}`)
	}))
	t.Cleanup(upstream.Close)
	admin, site := freeAddress(t), freeAddress(t)
	config := filepath.Join(t.TempDir(), "Caddyfile")
	if err := os.WriteFile(config, fmt.Appendf(nil, "{\n\tadmin %s\n\tpersist_config off\n}\nhttp://%s {\n\tllm_gateway {\n\t\toptimize squoze\n\t\tmodel gpt-* {\n\t\t\tprice 1000 2000\n\t\t}\n\t}\n\treverse_proxy %s\n}\n", admin, site, upstream.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	gateway := caddy(t, "run", "--config", config)
	var log bytes.Buffer
	gateway.Stderr = &log
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		gateway.Process.Kill() // an error means that it is gone already
		gateway.Wait()
		if t.Failed() {
			t.Logf("the gateway's log:\n%s", log.String())
		}
	})
	await(t, func() bool {
		status, _, _ := run(t, "", "llm-stats", "--address", admin)
		return status == 0
	})
	res, err := http.Post("http://"+site+"/v1/chat/completions", "application/json", strings.NewReader(toolBody(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 {
		t.Fatalf("status %d, %v", res.StatusCode, err)
	}

	var summary string
	await(t, func() bool {
		_, summary, _ = run(t, "", "llm-stats", "--address", admin, "--range", "24h")
		return regexp.MustCompile(`(?m)^requests\s+1\b`).MatchString(summary)
	})
	for _, pattern := range []string{`tokens in\s+1,200\s`, `tokens out\s+34\s`, `tokens saved\s+[1-9]`, `spent\s+\$1\.2680`, `money saved\s+\$[1-9]`, `(?m)^\s*gpt-\*\s+1\s`, `\(no key\)\s+1\s`, `next\s+1\s`} {
		if !regexp.MustCompile(pattern).MatchString(summary) {
			t.Errorf("llm-stats does not say %q:\n%s", pattern, summary)
		}
	}
	for filter, want := range map[string]float64{"--model=gpt-*": 1, "--model=none": 0, "--provider=next": 1, "--key=alice": 0, "--no-key": 1} {
		status, out, errs := run(t, "", "llm-stats", "--address", admin, "--json", filter)
		var got struct {
			Total struct{ Requests float64 }
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 || got.Total.Requests != want {
			t.Errorf("%s: status %d, %v requests, %v %s", filter, status, got.Total.Requests, err, errs)
		}
	}
	if status, _, errs := run(t, "", "llm-stats", "--address", admin, "--range", "soon"); status != 1 || !strings.Contains(errs, "expected 1m to 30d") {
		t.Errorf("a bad range: status %d, %s", status, errs)
	}

	ref := regexp.MustCompile(`ref ([a-z]{12})`).FindStringSubmatch(<-sent)
	if ref == nil {
		t.Fatal("no reference in what went upstream")
	}
	if status, out, errs := run(t, "", "llm-original", "--address", admin, ref[1]); status != 0 || strings.Count(out, "ok  \texample.test/shop/pkg\t0.012s\n") != 900 {
		t.Errorf("original: status %d, %d bytes, %s", status, len(out), errs)
	}
	if status, out, errs := run(t, "", "llm-original", "--address", admin, "zzzzzzzzzzzz"); status != 1 || out != "" || !strings.Contains(errs, "no original is kept") {
		t.Errorf("no original: status %d, %s, %s", status, out, errs)
	}
}

// TestWatch counts how often llm-stats --watch asks, and reads what it prints.
func TestWatch(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked++
		fmt.Fprintf(w, `{"total":{"requests":%d}}`+"\n", asked)
		mu.Unlock()
	}))
	t.Cleanup(server.Close)
	cmd := caddy(t, "llm-stats", "--watch", "--json", "--address", strings.TrimPrefix(server.URL, "http://"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(out)
	for want := 1; want <= 2; want++ {
		var got struct{ Total struct{ Requests int } }
		if err := lines.Decode(&got); err != nil || got.Total.Requests != want {
			t.Fatalf("print %d: %+v, %v", want, got, err)
		}
	}
	server.Close()
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("Caddy is gone: %v", err)
	}
}

// await waits until done is true.
func await(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("still waiting after a minute")
		}
	}
}
