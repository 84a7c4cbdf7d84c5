package llmgateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// logLines reads the JSON lines of a log file when there are n of them. A
// request's line is written when its client has long had the answer.
func logLines(t *testing.T, file string, n int) []map[string]any {
	t.Helper()
	await(t, func() (int, bool) {
		text, _ := os.ReadFile(file) // there may be none yet
		got := bytes.Count(text, []byte{'\n'})
		return got, got >= n
	})
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []map[string]any
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var line map[string]any
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", in.Text(), err)
		}
		out = append(out, line)
	}
	return out
}

// TestNoCredentialInLogs sends credentials in every place that LLM clients
// use, at debug level, and looks for them, and for bodies, in all logs.
func TestNoCredentialInLogs(t *testing.T) {
	const secret, content = "sk-very-secret-value", "the text of the conversation"
	rec := record(t, nil)
	dir := t.TempDir()
	access, all := filepath.Join(dir, "access.log"), filepath.Join(dir, "all.log")
	site := "log {\noutput file " + access + "\nformat json\n}\nllm_gateway {\noptimize rtk standard\nprovider p %s {\n%s\n}\n}"
	base, load := serveOptions(t, "log default {\noutput file "+all+"\nformat json\nlevel DEBUG\n}\n", fmt.Sprintf(site, rec.URL, "api_key "+secret+"-of-provider"))
	body := `{"model":"m","messages":[{"role":"user","content":"` + content + `"}]}`
	places := [][]string{
		{"", "X-Api-Key", secret}, {"", "Api-Key", secret}, {"", "X-Goog-Api-Key", secret},
		{"", "Authorization", "Bearer " + secret}, {"?alt=sse&key=" + secret}, {"?k%65y=" + secret},
		{"?api_key=" + secret}, {"?api-key=" + secret}, {"?x=1&access_token=" + secret}, {"?API-KEY=" + secret},
	}
	n := 0
	for _, place := range places {
		post(t, base+"/v1/chat/completions"+place[0], body, append([]string{"User-Agent", fmt.Sprint("place ", n)}, place[1:]...)...)
		n++
		logLines(t, access, n)
	}
	// Not a model request, an answer of the gateway's own, a dead provider.
	post(t, base+"/v1/files?key="+secret, "x", "X-Api-Key", secret)
	logLines(t, access, n+1)
	post(t, base+"/v1/messages", body, "X-Api-Key", secret)
	logLines(t, access, n+2)
	if err := load(fmt.Sprintf(site, fmt.Sprintf("http://127.0.0.1:%d", freePort(t)), "api_key "+secret+"-of-provider")); err != nil {
		t.Fatal(err)
	}
	res, _ := post(t, base+"/v1/chat/completions?key="+secret, body, "X-Api-Key", secret)
	if res.StatusCode != http.StatusBadGateway {
		t.Errorf("dead provider: %d", res.StatusCode)
	}
	n += 3
	logLines(t, access, n)
	for _, file := range []string{access, all} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, needle := range []string{secret, content} {
			for _, line := range strings.Split(string(text), "\n") {
				if strings.Contains(line, needle) {
					t.Errorf("%s shows %q: %s", filepath.Base(file), needle, line)
				}
			}
		}
	}
	lines := logLines(t, access, n)
	if len(lines) != n {
		t.Fatalf("%d access log lines for %d requests", len(lines), n)
	}
	// The entry for a redacted request has the fields of Caddy's own.
	byCaddy, byUs := lines[3], lines[0]
	for name := range byCaddy {
		if _, ok := byUs[name]; !ok {
			t.Errorf("field %s is missing in the redacted entry", name)
		}
	}
	for name := range byUs {
		if _, ok := byCaddy[name]; !ok {
			t.Errorf("field %s is in the redacted entry only", name)
		}
	}
	if byUs["logger"] != byCaddy["logger"] || byUs["msg"] != byCaddy["msg"] || byUs["status"] != byCaddy["status"] || byUs["size"] != byCaddy["size"] || byUs["bytes_read"] != byCaddy["bytes_read"] {
		t.Errorf("they differ:\n%v\n%v", byUs, byCaddy)
	}
	headers := byUs["request"].(map[string]any)["headers"].(map[string]any)
	if got := fmt.Sprint(headers["X-Api-Key"]); got != "[REDACTED]" {
		t.Errorf("X-Api-Key: %s", got)
	}
	if got := lines[4]["request"].(map[string]any)["uri"]; got != "/v1/chat/completions?alt=sse&key=REDACTED" {
		t.Errorf("uri: %v", got)
	}
}

// TestLogFields reads the field group and the placeholders.
func TestLogFields(t *testing.T) {
	rec := record(t, nil)
	file := filepath.Join(t.TempDir(), "access.log")
	base := serve(t, "log {\noutput file "+file+"\nformat json\n}\nllm_gateway {\nmodel gpt-5-mini {\noptimize caveman lite\n}\n}\n"+
		"header >X-Seen \"{http.llm_gateway.model} {http.llm_gateway.endpoint} {http.llm_gateway.saved_bytes} {http.llm_gateway.applied}\"\nreverse_proxy "+rec.URL)
	res, _ := post(t, base+"/v1/chat/completions", smallChat)
	saved := len(smallChat) - len(rec.take()[0].body)
	if saved >= 0 {
		t.Fatalf("caveman added nothing")
	}
	if got, want := res.Header.Get("X-Seen"), fmt.Sprintf("gpt-5-mini chat %d caveman=lite;saved=%d", saved, saved); got != want {
		t.Errorf("placeholders: %s, want %s", got, want)
	}
	lines := logLines(t, file, 1)
	if len(lines) != 1 {
		t.Fatalf("%d lines", len(lines))
	}
	group, _ := lines[0]["llm_gateway"].(map[string]any)
	if group["endpoint"] != "chat" || group["model"] != "gpt-5-mini" || group["saved_bytes"] != float64(saved) || group["overhead_ms"] == nil {
		t.Errorf("%v", group)
	}
}
