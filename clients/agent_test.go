package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	agentSession = "3f1c9a52-7b0e-4d7c-9a64-0c1d2e3f4a5b"
	agentTask    = "Read go.mod, then run the tests with ./run-tests.sh and say what fails."
	agentAnswer  = "TestLedgerClose fails: got 4107, want 4170."
)

// agentSpeak is the model behind the agent: it reads a file, then runs the
// tests, then answers.
func agentSpeak(_ *provider, w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Request-Id", "req_1")
	switch {
	case r.Method == http.MethodHead:
		return // is anybody there?
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"input_tokens":1000}`)
		return
	case r.URL.Path != "/v1/messages":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"type":"error","error":{"type":"not_found_error","message":"Not found"}}`)
		return
	}
	var q question
	if err := json.Unmarshal(body, &q); err != nil || !q.Stream {
		http.Error(w, "a streamed request is expected", http.StatusBadRequest)
		return
	}
	use := func(id, name, input string) {
		s := &speech{w: w, q: q}
		s.block("tool_use", `{"type":"tool_use","id":"`+id+`","name":"`+name+`","input":{}}`, fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, input))
	}
	switch bytes.Count(body, []byte(`"type":"tool_result"`)) {
	case 0:
		use("toolu_01read", "Read", `{"file_path":"go.mod"}`)
	case 1:
		use("toolu_02bash", "Bash", `{"command":"./run-tests.sh","description":"Run the tests"}`)
	default:
		s := &speech{w: w, q: q}
		s.block("end_turn", `{"type":"text","text":""}`, fmt.Sprintf(`{"type":"text_delta","text":%q}`, agentAnswer))
	}
}

// block streams an answer of one content block.
func (s *speech) block(reason, start, delta string) {
	s.send(event("message_start", fmt.Sprintf(`,"message":{"id":"msg_1","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":20,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}`, s.q.Model)),
		event("content_block_start", `,"index":0,"content_block":`+start), event("ping", ""), event("content_block_delta", `,"index":0,"delta":`+delta), event("content_block_stop", `,"index":0`),
		event("message_delta", `,"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":9}`), event("message_stop", ""))
}

// outside is a proxy that lets nobody through: it is all there is of the world
// that is not on loopback. The agent asks for its maker's servers at the start
// whatever it is told, and does without them.
type outside struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func startOutside(t *testing.T) *outside {
	t.Helper()
	o := new(outside)
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.asked = append(o.asked, r.Method+" "+r.RequestURI)
		http.Error(w, "there is no way out", http.StatusForbidden)
	}))
	t.Cleanup(o.Close)
	return o
}

// gauge stands in front of the provider or of the gateway. It keeps what the
// agent sends and how the answers begin.
type gauge struct {
	*httptest.Server
	mu      sync.Mutex
	sent    []call
	answers []*http.Response
}

func startGauge(t *testing.T, target string) *gauge {
	t.Helper()
	base, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	g := new(gauge)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(base) },
		FlushInterval: -1,
		ModifyResponse: func(res *http.Response) error {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.answers = append(g.answers, res)
			return nil
		},
	}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("reading the agent's request: %v", err)
		}
		g.mu.Lock()
		g.sent = append(g.sent, call{r.Method, r.RequestURI, r.Header.Clone(), body})
		g.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// seen returns what was kept.
func (g *gauge) seen() ([]call, []*http.Response) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.sent), slices.Clone(g.answers)
}

// runAgent lets the agent do its task against base, in a workspace and a home
// of its own below dir, and returns what it printed, a JSON object a line. The
// directory's name is part of prompts.
func runAgent(t *testing.T, dir, base, key string) string {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	workspace, home := filepath.Join(dir, "shop"), filepath.Join(dir, "home")
	for _, d := range []string{workspace, home} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{
		"go.mod":       "module example.test/shop\n\ngo 1.26\n",
		"output.txt":   testRun(900),
		"run-tests.sh": "#!/bin/sh\ncat output.txt\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(workspace, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Without an identity in its settings it makes one up, and sends it along.
	if err := os.WriteFile(filepath.Join(home, ".claude.json"), []byte(`{"userID":"`+strings.Repeat("5a", 32)+`","hasCompletedOnboarding":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cli, err := filepath.Abs("node_modules/@anthropic-ai/claude-code/cli.js")
	if err != nil {
		t.Fatal(err)
	}
	out := startOutside(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", cli, "-p", agentTask, "--output-format", "stream-json", "--verbose",
		"--model", "claude-test-1", "--session-id", agentSession, "--allowedTools", "Read,Bash(./run-tests.sh)")
	cmd.Dir = workspace
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + dir, "SHELL=/bin/bash",
		"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_API_KEY=" + key,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		"HTTP_PROXY=" + out.URL, "HTTPS_PROXY=" + out.URL, "NO_PROXY=127.0.0.1",
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("the agent: %v\n%s\n%s", err, stderr.String(), stdout.String())
	}
	if stderr.Len() > 0 {
		t.Errorf("the agent complains: %s", stderr.String())
	}
	out.mu.Lock()
	defer out.mu.Unlock()
	if len(out.asked) > 0 {
		t.Logf("not let out: %q", out.asked)
	}
	return stdout.String()
}

// transcript is what an agent printed, without what differs from run to run:
// random ids and times.
func transcript(t *testing.T, printed string) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(printed) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("the agent printed %s", line)
		}
		forget(v)
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(b))
	}
	return lines
}

// forget takes random ids and times out of v.
func forget(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			forget(e)
		}
	case map[string]any:
		for key, e := range v {
			switch key {
			case "uuid", "duration_ms", "duration_api_ms", "timestamp":
				v[key] = "*"
			default:
				forget(e)
			}
		}
	}
}

// TestAgent lets Claude Code do a task once against the provider itself and
// once through the gateway for each optimizer. It must print and send the same
// to the last byte, nothing may be refused, and what reaches the provider must
// be the same but for the credential and the output of the command, which is
// shorter and still tells what failed.
func TestAgent(t *testing.T) {
	requireNode(t, "@anthropic-ai/claude-code")
	root, err := os.MkdirTemp("", "llm-gateway-agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	dir := filepath.Join(root, "run")
	p := startProvider(t, agentSpeak)
	direct := startGauge(t, p.URL)
	want := transcript(t, runAgent(t, dir, direct.URL, teamKey))
	if last := want[len(want)-1]; !strings.Contains(last, `"result":"`+agentAnswer) || !strings.Contains(last, `"is_error":false`) || !strings.Contains(last, `"permission_denials":[]`) {
		t.Fatalf("without the gateway the agent ended with %s", last)
	}
	wantSent, _ := direct.seen()
	p.take()
	for _, optimizer := range []string{"rtk standard", "squoze"} {
		t.Run(optimizer, func(t *testing.T) {
			base := serve(t, "optimize "+optimizer+"\nkey team "+teamKey+"\nprovider claude "+p.URL+" {\nformat anthropic\napi_key "+claudeKey+"\n}\n")
			through := startGauge(t, base)
			got := transcript(t, runAgent(t, dir, through.URL, teamKey))
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Errorf("line %d of %d, %d without the gateway:\n%s\nwithout the gateway\n%s", i, len(got), len(want), got[min(i, len(got)-1)], want[min(i, len(want)-1)])
					break
				}
			}
			asked, answers := through.seen()
			for _, res := range answers {
				if res.StatusCode != http.StatusOK {
					t.Errorf("%s %s: status %d", res.Request.Method, res.Request.URL, res.StatusCode)
				}
			}
			// Whether anybody is there is asked for at the same time as the first
			// question; the questions come one after the other.
			posted := func(c call) bool { return c.method == http.MethodPost }
			reference, asked, arrived := filter(wantSent, posted), filter(asked, posted), filter(p.take(), posted)
			answers = slices.DeleteFunc(answers, func(res *http.Response) bool { return res.Request.Method != http.MethodPost })
			if len(arrived) != len(reference) || len(asked) != len(reference) || len(answers) != len(reference) {
				t.Fatalf("%d requests sent, %d arrived, %d answered, %d without the gateway", len(asked), len(arrived), len(answers), len(reference))
			}
			withOutput := 0
			for i, sent := range asked {
				if !bytes.Equal(sent.body, reference[i].body) {
					t.Errorf("request %d: the agent sends %s\nwithout the gateway %s", i, sent.body, reference[i].body)
				}
				shrunk := compareCalls(t, arrived[i], sent, strings.TrimSuffix(testRun(900), "\n"))
				saved := answers[i].Header.Get("X-Gateway-Saved-Bytes")
				if shrunk {
					withOutput++
					if n := len(sent.body) - len(arrived[i].body); n <= 0 || saved != strconv.Itoa(n) {
						t.Errorf("request %d: %d bytes fewer arrived, said to be %q", i, n, saved)
					}
					t.Logf("request with the command's output: %d bytes, %d sent on (%s)", len(sent.body), len(arrived[i].body), answers[i].Header.Get("X-Gateway-Applied"))
				}
			}
			if withOutput == 0 {
				t.Error("no request carried the command's output")
			}
		})
	}
}
