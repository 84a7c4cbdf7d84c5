package squoze_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/squoze"
)

// lines is n lines of format, in which {i} is the number of the line, {w} a
// word and {d} a duration in milliseconds, both different from line to line.
func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		word := fmt.Sprintf("%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i*7%26)
		r := strings.NewReplacer("{i}", fmt.Sprint(i), "{w}", word, "{W}", strings.ToUpper(word[:1])+word[1:], "{d}", fmt.Sprint(3+i*7919%97))
		b.WriteString(r.Replace(format))
		b.WriteByte('\n')
	}
	return b.String()
}

// one is a request with one call and its result.
func one(f adapter.Format, model, tool, args, result string) []byte {
	body := request(f, tool, args, result)
	body = []byte(strings.Replace(string(body), "deepseek-chat", model, 1))
	// The second call is not needed.
	var req adapter.Request
	if err := req.Parse(f, body); err != nil {
		panic(err)
	}
	first, last := req.Doc.Span(req.Messages[2].Node).End, req.Doc.Span(req.List).End-1
	return append(append([]byte(nil), body[:first]...), body[last:]...)
}

// TestKinds checks, for the kinds of output that agents see most, how much is
// saved and that what a reader looks for is still there.
func TestKinds(t *testing.T) {
	goFail := "--- FAIL: TestLedger (0.01s)\n    ledger_test.go:91: entry 17 has no counter entry\n        want 12.00\n        got 24.00\n"
	traceback := "=================================== FAILURES ===================================\n_____________________________ test_refund _____________________________\n\n    def test_refund():\n>       assert refund(10.005) == 10.01\nE       assert 10.0 == 10.01\n\ntests/test_refund.py:27: AssertionError\n=========================== short test summary info ============================\nFAILED tests/test_refund.py::test_refund - assert 10.0 == 10.01\n======================== 1 failed, 400 passed in 31.20s ========================\n"
	spam := ""
	for i := range 600 {
		spam += fmt.Sprintf("\x1b[2K\x1b[1G\x1b[36mProgress\x1b[0m: resolved \x1b[1m%d\x1b[0m, reused %d, downloaded 0, added 0\r", i, i)
	}
	tests := []struct {
		name, tool, args, in string
		saved                float64 // percent of the body, at least; 0: untouched
		needles              []string
	}{
		{"go test", "Bash", `{"command":"go test ./..."}`,
			lines(1500, "ok  \texample.test/shop/{w}{i}\t0.{i}s") + goFail + lines(1500, "--- PASS: Test{W}{i} (0.0{i}s)") + "FAIL\nFAIL\texample.test/shop\t3.1s\n",
			97, []string{"--- FAIL: TestLedger (0.01s)", "ledger_test.go:91: entry 17 has no counter entry", "want 12.00", "got 24.00", "FAIL\texample.test/shop"}},
		{"pytest", "Bash", `{"command":"pytest -v"}`,
			"collected 401 items\n\n" + lines(400, "tests/unit/test_{w}.py::test_level_{i} PASSED [ {i}%]") + traceback,
			95, []string{">       assert refund(10.005) == 10.01", "E       assert 10.0 == 10.01", "tests/test_refund.py:27: AssertionError", "FAILED tests/test_refund.py::test_refund", "1 failed, 400 passed in 31.20s"}},
		{"kubernetes logs", "Bash", `{"command":"kubectl logs -n shop deploy/api"}`,
			lines(600, `2031-04-02T06:00:00.{i}Z INFO http: GET /v1/items/{i} status=200 took={d}ms req={w}-{i}`) + "2031-04-02T06:10:00Z ERROR db: connection pool exhausted (size=50)\n" +
				lines(600, `2031-04-02T06:00:00.{i}Z INFO http: GET /v1/items/{i} status=200 took={d}ms req={w}-{i}`) + "2031-04-02T06:20:00Z FATAL db: giving up, exit code 3\n",
			97, []string{"connection pool exhausted (size=50)", "giving up, exit code 3"}},
		{"pnpm", "Bash", `{"command":"pnpm install"}`, spam + "\n\x1b[33m WARN \x1b[0m deprecated left-pad@1.3.0\n\nDone in 12s\n",
			97, []string{"deprecated left-pad@1.3.0", "Done in 12s", "resolved 599"}},
		{"200 failures", "Bash", `{"command":"go test ./routes"}`,
			lines(200, "--- FAIL: TestRoute{W}{i} (0.00s)\n    route_test.go:{i}: GET /r/{w}: the handler answered with an unexpected status\n        got:  {d}\n        want: 200") + "FAIL\n",
			60, needles(200, "TestRoute{W}{i}", "/r/{w}", "{d}")},
		{"git log -p", "Bash", `{"command":"git log -p -2"}`, "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: A <a@example.test>\nDate:   Mon Apr 2 06:00:00 2031 +0000\n\n    Bump\n\ndiff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-a := 1\n+a := 2\ndiff --git a/go.sum b/go.sum\n--- a/go.sum\n+++ b/go.sum\n@@ -0,0 +1,90 @@\n" + lines(90, "+example.test/lib-{i} v1.{i}.0 h1:QkQkp9wJmR2sT8uV4xY6zA1bC3dE5fG7hI9jK0lM="),
			60, []string{"commit 0123456789abcdef0123456789abcdef01234567", "    Bump", "-a := 1\n+a := 2", "go.sum (lock file): 1 hunk, +90 -0"}},
		{"cargo build", "Bash", `{"command":"cargo build"}`, lines(300, "   Compiling {w}-{w} v1.{i}.0") + "error[E0308]: mismatched types\n --> src/main.rs:9:18\n  |\n9 |     let x: u32 = \"a\";\n  |            ---   ^^^ expected `u32`, found `&str`\n\nerror: could not compile `shop` (bin \"shop\") due to 1 previous error\n",
			90, []string{"error[E0308]: mismatched types", "--> src/main.rs:9:18", "expected `u32`, found `&str`", "could not compile `shop`"}},
		{"jest", "Bash", `{"command":"npx jest"}`, lines(300, "PASS src/{w}/{w}{i}.test.ts") + "FAIL src/cart.test.ts\n  ● cart › adds\n\n    expect(received).toBe(expected)\n\n    Expected: 12\n    Received: 24\n\n      at Object.<anonymous> (src/cart.test.ts:9:20)\n\nTests:       1 failed, 300 passed, 301 total\n",
			90, []string{"● cart › adds", "Expected: 12", "Received: 24", "src/cart.test.ts:9:20", "1 failed, 300 passed, 301 total"}},
		{"maven", "Bash", `{"command":"mvn -q verify"}`, lines(400, "[INFO] Downloading from central: https://repo.test/{w}/{w}-{i}.pom") + "[ERROR] COMPILATION ERROR :\n[ERROR] /src/App.java:[12,8] cannot find symbol\n[INFO] BUILD FAILURE\n",
			95, []string{"/src/App.java:[12,8] cannot find symbol", "BUILD FAILURE"}},
		{"gcc", "Bash", `{"command":"make -j8"}`, lines(300, "  CC      build/obj/{w}_{i}.o") + "src/pump.c:118:9: warning: unused variable 'lastTick' [-Wunused-variable]\nsrc/pump.c:120:5: error: implicit declaration of function 'poke'\nmake: *** [Makefile:12: build/obj/pump.o] Error 1\n",
			90, []string{"unused variable 'lastTick'", "implicit declaration of function 'poke'", "Error 1"}},
		{"JSON list", "list_orders", `{"page":1}`, `{"object":"list","has_more":true,"next_cursor":"cur_9","data":[` + strings.TrimSuffix(strings.ReplaceAll(lines(800, `{"id":"ord_{i}","status":"paid","currency":"eur","amount":99{i},"customer":{"id":"cus_{w}"},"livemode":true,"metadata":null}`), "\n", ","), ",") + `]}`,
			60, append(needles(800, "ord_{i}", "99{i}", "cus_{w}"), "has_more", "cur_9", "livemode", "metadata", "currency")},
		{"JSON lines", "Bash", `{"command":"jq -c .[] events.json | cat"}`, lines(300, `{"timestamp":"2031-04-02T06:00:{i}Z","level":"info","service":"checkout","message":"order {w} accepted","duration_ms":{d}}`) + `{"timestamp":"2031-04-02T07:00:00Z","level":"error","service":"checkout","message":"payment declined"}` + "\n",
			35, append(needles(300, "order {w} accepted"), `{"timestamp":"2031-04-02T07:00:00Z","level":"error","service":"checkout","message":"payment declined"}`)},
		{"source", "Read", `{"file_path":"verdict.go"}`, "package verdict\n\n" + lines(200, `	{Name: "{w}{i}", Log: "--- FAIL: Test{W} (0.0s)", Want: "FAILED", Got: "PASSED ERROR"},`), 0, nil},
		{"prose", "fetch", `{"url":"https://docs.example.test/incident"}`, "# Incident\n\n" + lines(80, "At {i} past six the ERROR rate rose and the service logged FATAL {w}, which nobody saw until later that day."), 0, nil},
		{"ls", "Bash", `{"command":"ls -la src"}`, "total 800\n" + lines(200, "-rw-r--r-- 1 app app {i}07 Apr  2 06:00 {w}-{i}.go"), 0, nil},
		{"grep", "Bash", `{"command":"grep -rn handle src"}`, lines(200, "src/{w}/{w}.go:{i}:	handle({w}, err) // ERROR path"), 0, nil},
		{"git log", "Bash", `{"command":"git log --oneline"}`, lines(200, "{i}abcdef Fix the {w} of {w}"), 0, nil},
		{"CSV", "Bash", `{"command":"cat rows.csv"}`, "id,name,amount\n" + lines(300, "{i},{w},{d}.00"), 0, nil},
		{"find", "Bash", `{"command":"find . -name '*.go'"}`, lines(300, "./pkg/{w}/{w}_{i}.go"), 0, nil},
	}
	e := squoze.New(squoze.Config{Originals: squoze.NewOriginals(squoze.DefaultOriginals)})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, f := range allFormats {
				body := one(f, "claude-sonnet-4-5", tt.tool, tt.args, tt.in)
				out, report := e.Apply(f, body)
				saved := 100 - 100*float64(len(out))/float64(len(body))
				if tt.saved == 0 && len(out) != len(body) || saved < tt.saved {
					t.Errorf("%s: %.1f %% saved, want %v; %v", f, saved, tt.saved, report.Saved)
				}
				list, _ := texts(t, f, out)
				for _, needle := range tt.needles {
					if !strings.Contains(list[0][0], needle) {
						t.Fatalf("%s: lost %q in\n%s", f, needle, list[0][0])
					}
				}
				if f == adapter.Chat {
					t.Logf("%.1f %% saved", saved)
				}
			}
		})
	}
}

// needles are the texts of n lines.
func needles(n int, formats ...string) (list []string) {
	for _, f := range formats {
		list = append(list, strings.Split(strings.TrimSuffix(lines(n, f), "\n"), "\n")...)
	}
	return list
}
