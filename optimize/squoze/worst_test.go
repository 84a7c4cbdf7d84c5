package squoze_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/squoze"
)

// worstCases make texts of about n bytes that are as bad as can be for one of
// the steps.
var worstCases = []struct {
	name, tool, args string
	text             func(n int) string
}{
	{"one line", "Bash", `{"command":"tail app.log"}`, func(n int) string { return "INFO " + strings.Repeat("x1 ", n/3) }},
	{"short lines", "Bash", `{"command":"tail app.log"}`, func(n int) string { return strings.Repeat("a 1\n", n/4) }},
	{"different lines", "Bash", `{"command":"tail app.log"}`, func(n int) string { return lines(n/12, "INFO {w} {w}") }},
	{"empty lines", "Read", `{"file_path":"a"}`, func(n int) string { return strings.Repeat("\n", n) }},
	{"only errors", "Bash", `{"command":"go test ./..."}`, func(n int) string { return lines(n/24, "--- FAIL: Test{W} {i}") }},
	{"periodic errors", "Bash", `{"command":"go test ./..."}`, func(n int) string { return strings.Repeat("Error: a\nError: (b)\nError: [c]\n(d)\n", n/36) }},
	{"escapes", "Bash", `{"command":"./run"}`, func(n int) string { return strings.Repeat(`"\`, n/2) }},
	{"terminal codes", "Bash", `{"command":"./run"}`, func(n int) string { return strings.Repeat("\x1b[2K\x1b[1G", n/8) + "x" }},
	{"redraws", "Bash", `{"command":"./run"}`, func(n int) string { return strings.Repeat("\rERRORx", n/7) }},
	{"backspaces", "Bash", `{"command":"./run"}`, func(n int) string { return strings.Repeat("x", n/2) + strings.Repeat("y\b", n/4) }},
	{"cursor up", "Bash", `{"command":"./run"}`, func(n int) string { return strings.Repeat("line\n", n/10) + strings.Repeat("\x1b[9Aa\n", n/12) }},
	{"addresses", "Bash", `{"command":"tail app.log"}`, func(n int) string { return strings.Repeat(strings.Repeat("1:", 500)+"z\n", n/1002) }},
	{"almost rows", "query", `{}`, func(n int) string {
		return "[" + rowsOf(9, `{"identifier":%d,"path":"a/%[1]d"}`) + strings.Repeat(`},{"identifiers":`, n/17) + "]"
	}},
	{"red lines", "Bash", `{"command":"go test ./..."}`, func(n int) string { return strings.Repeat("\x1b[31ma\x1b[0m\n\x1b[32mb\x1b[0m\nc\n", n/24) }},
	{"rows", "query", `{}`, func(n int) string {
		return "[" + rowsOf(n/60, `{"identifier":%d,"state":"open","path":"a/%[1]d"}`) + "]"
	}},
	{"sparse rows", "query", `{}`, func(n int) string { return "[" + rowsOf(n/24, `{"column_%d":%[1]d}`) + "]" }},
	{"nested arrays", "query", `{}`, func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(strings.Repeat("[", 500)+strings.Repeat("]", 500)+",", n/1000), ",") + "]"
	}},
	{"too deep", "query", `{}`, func(n int) string { return strings.Repeat("[", n/2) + strings.Repeat("]", n/2) }},
	{"JSON lines", "Bash", `{"command":"./run"}`, func(n int) string {
		return strings.ReplaceAll(rowsOf(n/60, `{"identifier":%d,"state":"open","path":"a/%[1]d"}`), "},{", "}\n{")
	}},
	{"hunks", "Bash", `{"command":"git diff"}`, func(n int) string {
		return strings.Repeat("diff --git a/go.sum b/go.sum\n--- a/go.sum\n+++ b/go.sum\n@@ -1 +1 @@\n-a v1 h1:=\n+a v2 h1:=\n", n/92)
	}},
}

func rowsOf(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestWorstCases checks the promises on small worst cases.
func TestWorstCases(t *testing.T) {
	e := squoze.New(squoze.Config{})
	for _, c := range worstCases {
		body := request(adapter.Chat, c.tool, c.args, c.text(200_000))
		out, report := e.Explain(adapter.Chat, body)
		if len(out) > len(body) || report.Sent != len(out) {
			t.Errorf("%s: %d bytes became %d", c.name, len(body), len(out))
		}
		if again, _ := e.Apply(adapter.Chat, out); string(again) != string(out) {
			t.Errorf("%s: changed again", c.name)
		}
		checkUntouched(t, c.name, adapter.Chat, body, out)
	}
}

// BenchmarkWorst shows, by two sizes each, that the time grows with the size.
func BenchmarkWorst(b *testing.B) {
	for _, c := range worstCases {
		for _, size := range []int{1 << 20, 4 << 20} {
			body := one(adapter.Chat, "gpt-5", c.tool, c.args, c.text(size))
			b.Run(fmt.Sprintf("%s/%dMiB", c.name, size>>20), func(b *testing.B) {
				for b.Loop() {
					squoze.New(squoze.Config{}).Apply(adapter.Chat, body)
				}
				perByte(b, body)
			})
		}
	}
}
