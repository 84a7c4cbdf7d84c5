package llmgateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/guard"
)

// finding is a row of GET /llm_gateway/guard.
type finding struct {
	Model, Optimizers, State string
	Until                    string
	SwitchedOff              int     `json:"switched_off"`
	Judged                   bool    `json:"judged"`
	Control                  int     `json:"control_conversations"`
	Optimized                int     `json:"optimized_conversations"`
	ControlShare             float64 `json:"control_cache_read_share"`
	OptimizedShare           float64 `json:"optimized_cache_read_share"`
}

func findings(t *testing.T, admin, model string) (out []finding) {
	t.Helper()
	status, text := call(t, http.MethodGet, admin+"/llm_gateway/guard")
	var all []finding
	if err := json.Unmarshal([]byte(text), &all); status != 200 || err != nil {
		t.Fatalf("%d %v %s", status, err, text)
	}
	for _, f := range all {
		if f.Model == model {
			out = append(out, f)
		}
	}
	return out
}

// TestGuardPromptCache lets real requests show that a mode breaks the prompt
// cache of one model but not of another.
func TestGuardPromptCache(t *testing.T) {
	goodModel, badModel, otherModel := unique("guard-good"), unique("guard-bad"), unique("guard-other")
	provider := scripted(t, nil)
	long := chatWithToolResult("go test ./...", goTestRun(900))
	provider.steps = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		read := 9000
		if r.Header.Get("X-Model") == badModel && r.ContentLength < int64(len(long))/2 {
			read = 0
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100000,"completion_tokens":5,"total_tokens":100005,"prompt_tokens_details":{"cached_tokens":%d}}}`, read*10)
	}}
	site := "llm_gateway {\n\tguard_prompt_cache on\n\toptimize rtk standard\n\tmodel " + badModel + "\n\tmodel " + goodModel + "*\n\tmodel *\n\tprovider one " + provider.URL + "\n}"
	admin := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	base, load := serveScheme(t, "http", "admin "+admin+"\n\tauto_https off", site)
	admin = "http://" + admin

	var control, others []string // names of sessions
	for i := 0; len(control) < 24; i++ {
		name := fmt.Sprint("session-", i)
		if guard.InControl("\x00header\x00" + name) {
			control = append(control, name)
		} else if len(others) < 40 {
			others = append(others, name)
		}
	}
	ask := func(model, session string) (skipped string) {
		t.Helper()
		res, _ := post(t, base+"/v1/chat/completions", strings.Replace(long, "gpt-5-mini", model, 1), "X-Gateway-Session", session, "X-Model", model)
		seen := provider.take()
		skipped = res.Header.Get("X-Gateway-Skipped")
		if res.StatusCode != 200 || len(seen) != 1 {
			t.Fatalf("%d, the provider saw %d requests", res.StatusCode, len(seen))
		}
		untouched := string(seen[0].body) == strings.Replace(long, "gpt-5-mini", model, 1)
		if guarded := strings.HasPrefix(skipped, "prompt-cache guard: "); guarded != untouched || guarded == (res.Header.Get("X-Gateway-Applied") != "") {
			t.Fatalf("%s: untouched %v, skipped %q, applied %q", session, untouched, skipped, res.Header.Get("X-Gateway-Applied"))
		}
		return skipped
	}
	const isControl, isOff = "prompt-cache guard: control conversation", "prompt-cache guard: switched off for this model"
	for _, model := range []string{goodModel, badModel} {
		for _, session := range others[:30] {
			if got := ask(model, session); got != "" {
				t.Fatalf("%s %s: %q", model, session, got)
			}
		}
		for _, session := range control {
			if got := ask(model, session); got != isControl {
				t.Fatalf("%s %s: %q", model, session, got)
			}
		}
	}
	if err := load(site + "\n# again"); err != nil { // the state survives
		t.Fatal(err)
	}
	found := await(t, func() (out [2][]finding, done bool) {
		good, bad := findings(t, admin, goodModel), findings(t, admin, badModel)
		return [2][]finding{good, bad}, len(good) == 1 && len(bad) == 1 && good[0].Control == 24 && good[0].Optimized == 30 && bad[0].State == "off"
	})
	good, bad := found[0], found[1]
	if len(good) != 1 || good[0].State != "on" || !good[0].Judged || good[0].OptimizedShare != 0.9 || good[0].Control != 24 || good[0].Optimized != 30 {
		t.Errorf("good: %+v", good)
	}
	if len(bad) != 1 || bad[0].State != "off" || bad[0].SwitchedOff != 1 || bad[0].Until == "" || bad[0].OptimizedShare != 0 || bad[0].ControlShare != 0.9 || bad[0].Optimizers != "rtk=standard" {
		t.Errorf("bad: %+v", bad)
	}
	_, metrics := call(t, http.MethodGet, admin+"/metrics")
	for _, line := range []string{
		`caddy_llm_gateway_guard_off{mode="rtk=standard",model="` + badModel + `"} 1`,
		`caddy_llm_gateway_guard_off{mode="rtk=standard",model="` + goodModel + `*"} 0`,
		`caddy_llm_gateway_guard_cache_read_ratio{arm="control",mode="rtk=standard",model="` + badModel + `"} 0.9`,
		`caddy_llm_gateway_guard_cache_read_ratio{arm="optimized",mode="rtk=standard",model="` + badModel + `"} 0`,
		`caddy_llm_gateway_guard_cache_read_ratio{arm="optimized",mode="rtk=standard",model="` + goodModel + `*"} 0.9`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	if strings.Contains(metrics, goodModel+`"`) {
		t.Error("a client's name for a model became a label")
	}
	for _, tc := range []struct{ model, session, want string }{
		{goodModel, others[0], ""},
		{goodModel, others[35], ""},
		{goodModel, control[0], isControl},
		{badModel, others[0], ""}, // it was running
		{badModel, others[35], isOff},
		{badModel, control[0], isControl},
		{otherModel, others[0], ""},
	} {
		if got := ask(tc.model, tc.session); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.model, tc.session, got, tc.want)
		}
	}
	res, err := oneShot.Get(admin + "/llm_gateway/live")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var live struct{ Guard []finding }
	if err := json.NewDecoder(skipPrefix(t, res.Body, "data: ")).Decode(&live); err != nil || len(live.Guard) < 2 {
		t.Errorf("live: %v %+v", err, live.Guard)
	}
	// Without the directive everything is optimized.
	if err := load(strings.Replace(site, "guard_prompt_cache on", "guard_prompt_cache off", 1)); err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{others[35], control[0]} {
		if got := ask(badModel, session); got != "" {
			t.Errorf("guard off: %q", got)
		}
	}
}

// skipPrefix reads prefix off r.
func skipPrefix(t *testing.T, r io.Reader, prefix string) io.Reader {
	t.Helper()
	got := make([]byte, len(prefix))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != prefix {
		t.Fatalf("%q, %v", got, err)
	}
	return r
}
