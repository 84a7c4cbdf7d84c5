package llmgateway_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	llmgateway "github.com/caddy-llm-gateway/caddy-llm-gateway"
)

var (
	fieldSection = regexp.MustCompile(`(?ms)^### ([^\n]+)\n(.*?)(?:^##|\z)`)
	fieldRow     = regexp.MustCompile("(?m)^\\| (`[^|]*) \\|")
	fieldName    = regexp.MustCompile("`(\\w+)`")
)

// documentedFields are the names in the first columns of the README's tables of
// fields, by heading.
func documentedFields(t *testing.T) map[string]map[string]bool {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, below, ok := strings.Cut(string(text), "## Fields of the admin API\n")
	if !ok {
		t.Fatal("the README has no fields of the admin API")
	}
	out := make(map[string]map[string]bool)
	for below != "" {
		m := fieldSection.FindStringSubmatchIndex(below)
		if m == nil {
			break
		}
		names := make(map[string]bool)
		for _, row := range fieldRow.FindAllStringSubmatch(below[m[4]:m[5]], -1) {
			for _, name := range fieldName.FindAllStringSubmatch(row[1], -1) {
				names[name[1]] = true
			}
		}
		out[below[m[2]:m[3]]] = names
		below = below[m[5]:]
	}
	return out
}

// TestAdminFields compares the fields that the README documents with those that
// the code may answer, both ways.
func TestAdminFields(t *testing.T) {
	documented := documentedFields(t)
	for heading, want := range llmgateway.AdminFields() {
		got := documented[heading]
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if !got[name] {
				t.Errorf("README, %s: %s is not documented", heading, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if !want[name] {
				t.Errorf("README, %s: %s is not a field", heading, name)
			}
		}
	}
}

// keysOf adds the names of all members of all objects in v to names. Objects
// whose names are data are left out.
func keysOf(v any, names map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			keysOf(e, names)
		}
	case map[string]any:
		for name, e := range v {
			names[name] = true
			if name != "bypasses" && name != "not_stored" {
				keysOf(e, names)
			}
		}
	}
}

// TestAdminFieldsServed looks for every field that a running gateway answers in
// the README.
func TestAdminFieldsServed(t *testing.T) {
	one := scripted(t, answer(200, chatAnswer), answer(429, "{}", "Retry-After", "60"))
	base, admin := serveAdmin(t, `llm_gateway {
		optimize rtk standard
		optimize caveman lite {
			audit
		}
		guard_prompt_cache on
		cache exact {
			store disk `+filepath.Join(t.TempDir(), "cache")+`
		}
		model * {
			price 1 2
		}
		key alice sk-alice {
			rpm 100
			tpm 10000000
			concurrency 5
			budget 5 daily
			models *
		}
		limits memory
		provider one `+one.URL+` {
			api_key k
		}
	}`)
	body := strings.Replace(chatWithToolResult("go test ./...", goTestRun(900)), "gpt-5-mini", unique("fields"), 1)
	for i := range 3 {
		other := body
		if i == 2 {
			other = strings.Replace(body, "fields", "others", 1)
		}
		post(t, base+"/v1/chat/completions", other, "X-Api-Key", "sk-alice", "X-Gateway-Session", "s")
	}
	documented := documentedFields(t)
	served := func(text string, atLeast int, headings ...string) {
		t.Helper()
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%v: %v: %s", headings, err, text)
		}
		names := make(map[string]bool)
		keysOf(v, names)
		if len(names) < atLeast {
			t.Errorf("%v: only %d fields: %s", headings, len(names), text)
		}
		for name := range names {
			if !slices.ContainsFunc(headings, func(h string) bool { return documented[h][name] }) {
				t.Errorf("README, %v: %s is not documented", headings, name)
			}
		}
	}
	lists := []string{"GET requests", "GET cache", "GET providers", "GET guard"}
	for _, tc := range []struct {
		method, path string
		atLeast      int
		headings     []string
	}{
		{http.MethodGet, "stats", 30, []string{"GET stats", "Totals"}},
		{http.MethodGet, "requests", 22, lists[:1]},
		{http.MethodGet, "cache", 14, lists[1:2]},
		{http.MethodGet, "providers", 9, lists[2:3]},
		{http.MethodGet, "keys", 8, []string{"GET keys"}},
		{http.MethodGet, "guard", 13, lists[3:]},
		{http.MethodPost, "providers/one/restore", 1, []string{"Changes"}},
		{http.MethodDelete, "cache?all=true", 1, []string{"Changes"}},
	} {
		// An answer is there before the request that it is for was counted.
		text := await(t, func() (string, bool) {
			status, text := call(t, tc.method, admin+"/llm_gateway/"+tc.path)
			return text, status == http.StatusOK && (tc.method != http.MethodGet || len(text) > 20)
		})
		served(text, tc.atLeast, tc.headings...)
	}
	res, err := oneShot.Get(admin + "/llm_gateway/live")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var live json.RawMessage
	if err := json.NewDecoder(io.Reader(skipPrefix(t, res.Body, "data: "))).Decode(&live); err != nil {
		t.Fatal(err)
	}
	served(string(live), 50, append(lists, "GET live", "GET stats", "Totals")...)
}
