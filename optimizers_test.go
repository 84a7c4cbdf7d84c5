package llmgateway_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestShrinks follows one request through an optimizer: headers, length, and
// everything outside the edited string.
func TestShrinks(t *testing.T) {
	rec := record(t, nil)
	base := serve(t, "llm_gateway {\noptimize rtk standard\n}\nreverse_proxy "+rec.URL)
	output := goTestRun(900)
	body := chatWithToolResult("go test ./...", output)
	res, _ := post(t, base+"/v1/chat/completions", body, "X-Gateway-Session", "s1")
	got := rec.take()
	if len(got) != 1 {
		t.Fatalf("the upstream got %d requests", len(got))
	}
	sent := string(got[0].body)
	if got[0].length != int64(len(sent)) || len(sent)*2 > len(body) {
		t.Fatalf("sent %d of %d bytes, Content-Length %d", len(sent), len(body), got[0].length)
	}
	cut := strings.Index(body, `"content":"ok`) + len(`"content":`)
	if sent[:cut] != body[:cut] || !strings.HasSuffix(sent, "}]}") {
		t.Errorf("bytes outside the tool result changed")
	}
	for _, line := range []string{"--- FAIL: TestLedgerClose (0.01s)", "ledger_test.go:88: got 4107, want 4170", `FAIL\texample.test/shop/ledger\t0.213s`} {
		if !strings.Contains(sent, line) {
			t.Errorf("lost: %s", line)
		}
	}
	saved := len(body) - len(sent)
	if h := res.Header.Get("X-Gateway-Applied"); h != fmt.Sprintf("rtk=standard;saved=%d", saved) {
		t.Errorf("X-Gateway-Applied: %s, saved %d", h, saved)
	}
	if h := res.Header.Get("X-Gateway-Saved-Bytes"); h != fmt.Sprint(saved) {
		t.Errorf("X-Gateway-Saved-Bytes: %s, saved %d", h, saved)
	}
	if h := res.Header.Get("X-Gateway-Saved-Tokens"); len(h) < 4 {
		t.Errorf("X-Gateway-Saved-Tokens: %s for %d bytes", h, saved)
	}
	if h := res.Header.Get("X-Gateway-Overhead-Ms"); h == "" || !strings.Contains(res.Header.Get("Server-Timing"), "llm-gateway;dur="+h) {
		t.Errorf("overhead %q, Server-Timing %q", h, res.Header.Get("Server-Timing"))
	}
	for name := range got[0].header {
		if strings.HasPrefix(name, "X-Gateway") {
			t.Errorf("%s reached the upstream", name)
		}
	}
}

// TestCascade checks header > model > site, optimizer by optimizer.
func TestCascade(t *testing.T) {
	rec := record(t, nil)
	site := `llm_gateway {
		optimize rtk light
		model gpt-5-mini {
			optimize rtk standard
		}
		model gpt-* {
			optimize off
		}
		model squeezed {
			optimize squoze
		}
		%s
	}
	reverse_proxy ` + rec.URL
	base, load := serveOptions(t, "", fmt.Sprintf(site, ""))
	body := chatWithToolResult("go test ./...", goTestRun(900))
	applied := func(model, header string) string {
		t.Helper()
		var pairs []string
		if header != "" {
			pairs = []string{"X-Gateway-Optimize", header}
		}
		res, _ := post(t, base+"/v1/chat/completions", strings.Replace(body, "gpt-5-mini", model, 1), pairs...)
		rec.take()
		value, _, _ := strings.Cut(res.Header.Get("X-Gateway-Applied"), ";")
		return value
	}
	for _, tc := range []struct{ model, header, want string }{
		{"any", "", "rtk=light"},
		{"gpt-5-mini", "", "rtk=standard"},
		{"gpt-4.1", "", ""},
		{"gpt-4.1", "rtk=aggressive", "rtk=aggressive"},
		{"gpt-5-mini", "off", ""},
		{"gpt-5-mini", "rtk=off", ""},
		{"gpt-5-mini", "rtk=?0", ""},
		{"gpt-5-mini", "off, rtk=light", "rtk=light"},
		{"squeezed", "", "squoze=on"},
		{"squeezed", "rtk=light", "rtk=light"},
		{"any", "squoze", "squoze=on"},
		{"any", "rtk=turbo", "rtk=light"},         // not understood: as if not sent
		{"any", "((", "rtk=light"},                // not a dictionary
		{"any", "squoze, rtk=light", "rtk=light"}, // exclusive
	} {
		if got := applied(tc.model, tc.header); got != tc.want {
			t.Errorf("model %s, header %q: applied %q, want %q", tc.model, tc.header, got, tc.want)
		}
	}
	res, _ := post(t, base+"/v1/chat/completions", body, "X-Gateway-Optimize", "rtk=turbo")
	if w := res.Header.Get("X-Gateway-Warning"); !strings.Contains(w, `unknown level "turbo" for rtk, expected auto, light`) {
		t.Errorf("X-Gateway-Warning: %s", w)
	}
	if err := load(fmt.Sprintf(site, "client_overrides off")); err != nil {
		t.Fatal(err)
	}
	if got := applied("any", "off"); got != "rtk=light" {
		t.Errorf("client_overrides off: applied %q", got)
	}
}

// TestAudit computes what an optimizer would do, beside one that does it.
func TestAudit(t *testing.T) {
	rec := record(t, nil)
	base := serve(t, "llm_gateway {\noptimize rtk standard {\naudit\n}\noptimize caveman lite\n}\nreverse_proxy "+rec.URL)
	body := chatWithToolResult("go test ./...", goTestRun(900))
	res, _ := post(t, base+"/v1/chat/completions", body)
	sent := string(rec.take()[0].body)
	if !strings.Contains(sent, "pkg0500") || len(sent) < len(body) {
		t.Errorf("the audited optimizer changed the request")
	}
	if a := res.Header.Get("X-Gateway-Applied"); !strings.HasPrefix(a, "caveman=lite;") || strings.Contains(a, "rtk") {
		t.Errorf("X-Gateway-Applied: %s", a)
	}
	if a := res.Header.Get("X-Gateway-Audit"); !strings.HasPrefix(a, "rtk=standard;saved=") {
		t.Errorf("X-Gateway-Audit: %s", a)
	}
}
