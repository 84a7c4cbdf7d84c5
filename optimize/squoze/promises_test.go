package squoze_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/squoze"
)

const corpusDir = "../../../shared/corpus"

// corpusFiles are the files of the corpus that match. Without the corpus the
// test is skipped, except in continuous integration, which has it.
func corpusFiles(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpusDir, filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no %s in the corpus", pattern)
		}
		t.Skip("no corpus here")
	}
	sort.Strings(files)
	return files
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// formatOf tells the wire format by the folder.
func formatOf(file string) adapter.Format {
	switch {
	case strings.Contains(file, "anthropic"):
		return adapter.Messages
	case strings.Contains(file, "responses"):
		return adapter.Responses
	}
	return adapter.Chat
}

// request is a body with one call and its result, twice.
func request(f adapter.Format, tool, args, result string) []byte {
	q := func(s string) string { return string(jsonspan.AppendQuoted(nil, []byte(s))) }
	turn := func(id string) string {
		switch f {
		case adapter.Messages:
			return fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"%s","name":%s,"input":%s}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"%[1]s","content":[{"type":"text","text":%[4]s}]}]}`, id, q(tool), args, q(result))
		case adapter.Responses:
			return fmt.Sprintf(`{"type":"function_call","call_id":"%s","name":%s,"arguments":%s},{"type":"function_call_output","call_id":"%[1]s","output":%[4]s}`, id, q(tool), q(args), q(result))
		}
		return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"%s","type":"function","function":{"name":%s,"arguments":%s}}]},{"role":"tool","tool_call_id":"%[1]s","content":%[4]s}`, id, q(tool), q(args), q(result))
	}
	list := "messages"
	if f == adapter.Responses {
		list = "input"
	}
	return []byte(fmt.Sprintf(`{"model":"deepseek-chat","%s":[{"role":"user","content":"Look."},%s,%s]}`, list, turn("call_1"), turn("call_2")))
}

var allFormats = []adapter.Format{adapter.Chat, adapter.Responses, adapter.Messages}

// samples are all bodies to check: requests as recorded, and the raw files of
// the corpus as tool results in every format and under different calls.
func samples(t testing.TB) map[string]struct {
	f    adapter.Format
	body []byte
} {
	t.Helper()
	all := make(map[string]struct {
		f    adapter.Format
		body []byte
	})
	add := func(name string, f adapter.Format, body []byte) {
		all[name] = struct {
			f    adapter.Format
			body []byte
		}{f, body}
	}
	for _, pattern := range []string{"requests/*/*.json", "sessions/*/*/*.json"} {
		for _, file := range corpusFiles(t, pattern) {
			add(file, formatOf(file), read(t, file))
		}
	}
	calls := []struct{ tool, args string }{
		{"shell", `{"command":"./run.sh"}`}, {"Bash", `{"command":"go test ./..."}`}, {"bash", `{"command":"git diff"}`}, {"Bash", `{"command":"tail -n 9000 app.log"}`}, {"query", `{}`},
	}
	n := 0
	for _, pattern := range []string{"logs/*", "tool_outputs/*", "diffs/*"} {
		for _, file := range corpusFiles(t, pattern) {
			text := strings.ToValidUTF8(string(read(t, file)), "\uFFFD")
			for i, c := range calls {
				n++
				add(file+" "+strconv.Itoa(i), allFormats[n%3], request(allFormats[n%3], c.tool, c.args, text))
			}
		}
	}
	add("large", adapter.Chat, testbody.Large())
	add("fresh", adapter.Chat, testbody.Fresh(testbody.ProfileLarge, 1))
	return all
}

func TestPromises(t *testing.T) {
	shared := squoze.New(squoze.Config{Originals: squoze.NewOriginals(1 << 20)})
	changed := 0
	for name, s := range samples(t) {
		store := squoze.NewOriginals(1 << 20)
		e := squoze.New(squoze.Config{Originals: store})
		out, report := e.Apply(s.f, s.body)
		if !bytes.Equal(out, s.body) {
			changed++
		}
		same := func(what string, got []byte) {
			t.Helper()
			if !bytes.Equal(got, out) {
				t.Errorf("%s: %s gives other bytes", name, what)
			}
		}
		got, _ := shared.Apply(s.f, bytes.Clone(s.body))
		same("an engine that saw other requests", got)
		got, _ = shared.Apply(s.f, bytes.Clone(s.body))
		same("an engine that saw this request", got)
		got, _ = squoze.New(squoze.Config{Originals: squoze.NewOriginals(1 << 20), MemoBytes: -1}).Apply(s.f, s.body)
		same("an engine without a memo", got)
		got, _ = squoze.New(squoze.Config{Originals: squoze.NewOriginals(1 << 20), MemoBytes: 20 << 10}).Apply(s.f, s.body)
		same("an engine that forgets at once", got)
		got, again := e.Explain(s.f, s.body)
		same("Explain", got)
		got, _ = e.Apply(s.f, bytes.Clone(out))
		same("squeezing once more", got)
		if report.Sent != len(out) || again.Sent != len(out) || len(out) > len(s.body) {
			t.Errorf("%s: %d to %d bytes, reported %d", name, len(s.body), len(out), report.Sent)
		}
		saved := 0
		for _, n := range report.Saved {
			saved += n
		}
		if saved != len(s.body)-len(out) {
			t.Errorf("%s: the steps saved %d bytes, the body lost %d", name, saved, len(s.body)-len(out))
		}
		if !json.Valid(out) || utf8.Valid(s.body) && !utf8.Valid(out) {
			t.Errorf("%s: not valid", name)
		}
		checkUntouched(t, name, s.f, s.body, out)
		checkTexts(t, name, s.f, s.body, out, again)
	}
	if changed < 100 {
		t.Errorf("only %d requests changed", changed)
	}
}

// checkUntouched checks that the bodies differ in nothing but the strings of
// tool results that are no errors and not frozen.
func checkUntouched(t *testing.T, name string, f adapter.Format, before, after []byte) {
	t.Helper()
	outside := func(body []byte) (string, int) {
		var req adapter.Request
		if req.Parse(f, body) != nil {
			return string(body), 0
		}
		var edits []jsonspan.Edit
		for _, b := range req.Blocks {
			if b.Kind == adapter.ToolResult && !b.IsError && !b.Frozen {
				edits = append(edits, jsonspan.Edit{Span: req.Doc.Span(b.Node)})
			}
		}
		jsonspan.SortEdits(edits)
		return string(jsonspan.Splice(nil, body, edits)), len(edits)
	}
	a, n := outside(before)
	b, m := outside(after)
	if a != b || n != m {
		t.Errorf("%s: something else than a tool result changed", name)
	}
}

// texts are the tool results of a body, decoded, by the order of results and
// of the texts within them.
func texts(t *testing.T, f adapter.Format, body []byte) (list [][]string, byCall map[int]int) {
	t.Helper()
	var req adapter.Request
	if req.Parse(f, body) != nil {
		return nil, nil
	}
	byCall = make(map[int]int)
	for i, r := range req.Results {
		var parts []string
		for _, b := range req.Blocks[r.First:r.End] {
			parts = append(parts, req.Doc.Text(b.Node))
		}
		list = append(list, parts)
		if r.Call >= 0 {
			byCall[r.Call] = i
		}
	}
	return list, byCall
}

var pointer = regexp.MustCompile(`^\[\.\.\. squoze: ([0-9,]+) lines? elided, the same as (?:the whole|lines ([0-9]+)-([0-9]+)) of (?:text ([0-9]+) of )?(?:the result of tool call ([0-9]+)(?: \([^)]*\))?|tool result ([0-9]+)) \.\.\.\]$`)

// expand puts the lines that pointers stand for in their places. The lines that
// a pointer leads to must be none that stand for something themselves.
func expand(t *testing.T, name, text string, results [][]string, byCall map[int]int, order int) string {
	t.Helper()
	var out []string
	for _, line := range strings.Split(text, "\n") {
		m := pointer.FindStringSubmatch(line)
		if m == nil {
			out = append(out, line)
			continue
		}
		num := func(i, otherwise int) int {
			if m[i] == "" {
				return otherwise
			}
			n, err := strconv.Atoi(strings.ReplaceAll(m[i], ",", ""))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		source := num(6, 0) - 1
		if call := num(5, 0); call > 0 {
			source = byCall[call-1]
		}
		if source < 0 || source >= order {
			t.Fatalf("%s: result %d points at result %d", name, order, source)
		}
		lines := strings.Split(results[source][num(4, 1)-1], "\n")
		from, to := num(2, 1), num(3, len(lines))
		if to > len(lines) || to-from+1 != num(1, 0) {
			t.Fatalf("%s: a pointer to lines %d-%d of %d: %s", name, from, to, len(lines), line)
		}
		for _, l := range lines[from-1 : to] {
			if marker.Is([]byte(l)) {
				t.Fatalf("%s: a pointer leads to %q", name, l)
			}
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

// checkTexts checks each tool result: a file stands there whole once its
// pointers are followed, a report has all its failures, and nothing is empty.
func checkTexts(t *testing.T, name string, f adapter.Format, before, after []byte, report squoze.Report) {
	t.Helper()
	was, _ := texts(t, f, before)
	now, byCall := texts(t, f, after)
	steps := make(map[string][]squoze.Step)
	classes := make(map[string]output.Class)
	var req adapter.Request
	if req.Parse(f, before) != nil {
		return
	}
	for _, x := range report.Texts {
		for i, r := range req.Results {
			if r.First <= x.Block && x.Block < r.End {
				key := fmt.Sprint(i, " ", x.Block-r.First)
				steps[key], classes[key] = x.Steps, x.Class
			}
		}
	}
	for i := range was {
		for j := range was[i] {
			key := fmt.Sprint(i, " ", j)
			if was[i][j] != "" && now[i][j] == "" {
				t.Errorf("%s: result %d is empty", name, i)
			}
			if was[i][j] == now[i][j] {
				continue
			}
			full := expand(t, name, now[i][j], now, byCall, i)
			lossless := true
			for _, s := range steps[key] {
				lossless = lossless && s == squoze.StepReference
			}
			if lossless && full != was[i][j] {
				t.Errorf("%s: result %d is not what it was once its pointers are followed", name, i)
			}
			if classes[key].File() && !lossless {
				t.Errorf("%s: result %d, a file, was changed: %v", name, i, steps[key])
			}
			if classes[key].Failing() {
				checkFailures(t, name, was[i][j], full)
			}
		}
	}
}

// checkFailures is the oracle for reports: every line that says by itself that
// something is wrong stands in the result, as often and in the same order. Lists
// are unfolded by their patterns.
func checkFailures(t *testing.T, name, before, after string) {
	t.Helper()
	lines := strings.Split(unlist(t, after), "\n")
	at := 0
	for _, line := range strings.Split(before, "\n") {
		if output.Important([]byte(line)) == output.None || strings.ContainsAny(line, "\x1b\b\r") {
			continue
		}
		for at < len(lines) && lines[at] != line {
			at++
		}
		if at == len(lines) {
			t.Errorf("%s: lost %q, or its order", name, line)
			return
		}
		at++
	}
}

// unlist rebuilds the lines of lists from their patterns and rows.
func unlist(t *testing.T, text string) string {
	t.Helper()
	lines := strings.Split(text, "\n")
	var out []string
	for i := 0; i < len(lines); i++ {
		pattern, ok := strings.CutPrefix(lines[i], "pattern: ")
		if !ok || i == 0 || !strings.Contains(lines[i-1], "told below by the words that differ") {
			out = append(out, lines[i])
			continue
		}
		n, err := strconv.Atoi(strings.ReplaceAll(strings.Fields(lines[i-1])[2], ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		record := strings.Split(pattern, " ⏎ ")
		for range n / len(record) {
			i++
			for _, p := range record {
				for k, w := range strings.Split(lines[i], " ") {
					p = strings.ReplaceAll(p, "«"+strconv.Itoa(k+1)+"»", w)
				}
				out = append(out, p)
			}
		}
	}
	return strings.Join(out, "\n")
}

// TestSessionsPrefixStable checks on recorded conversations that what a message
// became in one turn it also is in the next, with references on.
func TestSessionsPrefixStable(t *testing.T) {
	shared := squoze.New(squoze.Config{})
	for _, folder := range corpusFiles(t, "sessions/*/*") {
		files, err := filepath.Glob(filepath.Join(folder, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		sort.Strings(files)
		var before [][]byte
		for _, file := range files {
			f := formatOf(file)
			out, _ := shared.Apply(f, read(t, file))
			now := elements(t, f, out)
			for i := range before {
				if i >= len(now) || !bytes.Equal(before[i], now[i]) {
					t.Errorf("%s: message %d is not what it was a turn earlier", file, i)
				}
			}
			before = now
		}
	}
}

var cacheControl = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

// elements are the messages of a body, without the marks for the cache, which
// move from turn to turn.
func elements(t *testing.T, f adapter.Format, body []byte) (list [][]byte) {
	t.Helper()
	var req adapter.Request
	if err := req.Parse(f, body); err != nil {
		t.Fatal(err)
	}
	for _, m := range req.Messages {
		list = append(list, cacheControl.ReplaceAll(req.Doc.Raw(m.Node), nil))
	}
	return list
}

// TestSessionsSave states what is saved on the recorded conversations, and that
// the wire format makes no difference.
func TestSessionsSave(t *testing.T) {
	saved := make(map[string]float64)
	for _, folder := range corpusFiles(t, "sessions/*/*") {
		files, err := filepath.Glob(filepath.Join(folder, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		e := squoze.New(squoze.Config{})
		before, after, tool := 0, 0, 0
		for _, file := range files {
			body := read(t, file)
			out, _ := e.Apply(formatOf(file), body)
			before += len(body)
			after += len(out)
			list, _ := texts(t, formatOf(file), body)
			for _, parts := range list {
				for _, p := range parts {
					tool += len(p)
				}
			}
		}
		name, _ := filepath.Rel(filepath.Join(corpusDir, "sessions"), folder)
		saved[filepath.ToSlash(name)] = 100 * float64(before-after) / float64(before)
		t.Logf("%-40s %7d of %7d bytes saved: %.1f %% of the bodies, %.1f %% of the tool results", name, before-after, before,
			100*float64(before-after)/float64(before), 100*float64(before-after)/float64(tool))
	}
	const folder = "pi-large-session/"
	low, high := 100.0, 0.0
	for _, f := range []string{"anthropic", "openai_chat", "openai_responses"} {
		low, high = min(low, saved[folder+f]), max(high, saved[folder+f])
	}
	if low < 4 || high-low > 2 {
		t.Errorf("saved %v: the wire format makes a difference", saved)
	}
}

// TestSessionsBound compares what pointers save on the recorded conversations
// with what they could save at most: all text in runs of eight lines that stand
// in an earlier result, at no cost for the pointers.
func TestSessionsBound(t *testing.T) {
	const window = 8
	for _, file := range corpusFiles(t, "sessions/*/*/*.json") {
		body := read(t, file)
		var req adapter.Request
		if err := req.Parse(formatOf(file), body); err != nil {
			t.Fatal(err)
		}
		seen := make(map[string]bool)
		bound := 0
		for _, b := range req.Blocks {
			if b.Kind != adapter.ToolResult {
				continue
			}
			lines := strings.Split(string(req.Doc.Inner(b.Node)), `\n`)
			covered := make([]bool, len(lines))
			for i := 0; i+window <= len(lines); i++ {
				if w := strings.Join(lines[i:i+window], "\n"); seen[w] && len(w) >= 200 {
					for k := i; k < i+window; k++ {
						covered[k] = true
					}
				}
			}
			for i, line := range lines {
				if covered[i] && !b.IsError {
					bound += len(line) + len(`\n`)
				}
			}
			for i := 0; i+window <= len(lines); i++ {
				seen[strings.Join(lines[i:i+window], "\n")] = true
			}
		}
		_, report := squoze.New(squoze.Config{}).Apply(formatOf(file), body)
		saved := report.Saved[squoze.StepReference]
		t.Logf("%-60s %6d bytes saved of at most %6d, which is %.1f %% of the body", filepath.ToSlash(file), saved, bound, 100*float64(bound)/float64(len(body)))
		if saved*10 < bound*8-4000 {
			t.Errorf("%s: %d bytes saved of at most %d", file, saved, bound)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	e := squoze.New(squoze.Config{Originals: squoze.NewOriginals(1 << 20), MemoBytes: 1 << 20})
	bodies := [][]byte{testbody.Large(), testbody.Fresh(testbody.ProfileLarge, 1), variant(t, testbody.Large())}
	var want [][]byte
	for _, b := range bodies {
		out, _ := squoze.New(squoze.Config{Originals: squoze.NewOriginals(1 << 20)}).Apply(adapter.Chat, b)
		want = append(want, out)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 6 {
				n := (i + k) % len(bodies)
				if out, _ := e.Apply(adapter.Chat, bodies[n]); !bytes.Equal(out, want[n]) {
					t.Errorf("body %d came out otherwise", n)
				}
			}
		})
	}
	wg.Wait()
}
