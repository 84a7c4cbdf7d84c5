package rtk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// filler is n lines made from a format with one number.
func filler(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i+1)
	}
	return b.String()
}

// run compresses text as the output of a command and checks what holds for
// every text.
func run(t testing.TB, level Level, command, text string) (string, Report) {
	t.Helper()
	hint := output.HintFor("Bash", command, "")
	out, r := Compress(level, hint, []byte(text), []byte("before"))
	if !bytes.HasPrefix(out, []byte("before")) {
		t.Fatal("what stood in dst is gone")
	}
	out = out[len("before"):]
	if !r.Changed {
		if len(out) != 0 {
			t.Fatalf("not changed, but %q was appended", out)
		}
		return text, r
	}
	check(t, level, hint, []byte(text), out, r)
	return string(out), r
}

// check holds a changed text against the promises.
func check(t testing.TB, level Level, hint output.Hint, text, out []byte, r Report) {
	t.Helper()
	if len(out) >= len(text) || len(out) == 0 {
		t.Errorf("%d bytes became %d", len(text), len(out))
	}
	if utf8.Valid(text) && !utf8.Valid(out) {
		t.Error("valid UTF-8 became invalid")
	}
	if again, r2 := Compress(level, hint, out, nil); r2.Changed {
		t.Errorf("applied twice it changes again: %q", again)
	}
	if r.Class == output.JSON {
		var a, b any
		if json.Valid(text) {
			// Compare the decoded values with number literals as they stand.
			da, db := json.NewDecoder(bytes.NewReader(text)), json.NewDecoder(bytes.NewReader(out))
			da.UseNumber()
			db.UseNumber()
			if da.Decode(&a) != nil || db.Decode(&b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("another JSON value: %q", out)
			}
		}
		return
	}
	if err := cases.Marked(string(text), string(out)); err != nil {
		t.Error(err)
	}
	if a, b := bytes.HasSuffix(text, []byte("\n")), bytes.HasSuffix(out, []byte("\n")); a != b {
		t.Errorf("line feed at the end: was %v, is %v", a, b)
	}
	// What the class may not lose is there, in its order, repetitions aside.
	var lines output.Lines
	var keep output.Set
	lines.Split(text)
	if r.Class != output.Diff {
		output.Keep(&keep, r.Class, r.Tool, &lines)
		rest := bytes.Split(out, []byte("\n"))
		var prev []byte
		for i := range lines.Len() {
			line := lines.Line(i)
			if keep.Has(i) && !(i > 0 && bytes.Equal(line, prev) && !marker.Is(line)) {
				at := 0
				for at < len(rest) && !bytes.Equal(rest[at], line) {
					at++
				}
				if at == len(rest) {
					t.Fatalf("%v: lost line %d, %q", r.Class, i+1, line)
				}
				rest = rest[at+1:]
			}
			prev = line
		}
	}
	elided := 0
	for line := range bytes.SplitSeq(out, []byte("\n")) {
		if marker.Is(line) {
			elided++
		}
	}
	if elided == 0 || r.Elided < minGapLines {
		t.Errorf("%d markers, %d lines elided", elided, r.Elided)
	}
}

// sized is routine test output of exactly n bytes with enough lines.
func sized(n int) string {
	text := filler("ok  \texample.test/shop/p%d\t0.01s", n/20)
	return text[:n-1] + "\n"
}

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		level   Level
		size    int
		applied Level
		changed bool
		edge    int
	}{
		{Light, 8191, Light, false, 0}, {Light, 8192, Light, true, 40},
		{Standard, 2047, Standard, false, 0}, {Standard, 2048, Standard, true, 20},
		{Aggressive, 1023, Aggressive, false, 0}, {Aggressive, 1024, Aggressive, true, 8},
		{Auto, 3999, Light, false, 0}, {Auto, 4000, Standard, true, 20}, {Auto, 31999, Standard, true, 20}, {Auto, 32000, Aggressive, true, 8},
	} {
		text := sized(c.size)
		if len(text) != c.size {
			t.Fatal("the text has another size")
		}
		out, r := run(t, c.level, "go test ./...", text)
		if r.Changed != c.changed || r.Level != c.applied {
			t.Errorf("%v, %d bytes: %+v", c.level, c.size, r)
		}
		if !c.changed {
			continue
		}
		// The ends stay, to the line.
		head, rest, _ := strings.Cut(out, "[... rtk: ")
		_, tail, _ := strings.Cut(rest, "\n")
		if h, l := strings.Count(head, "\n"), strings.Count(tail, "\n"); h != c.edge || l != c.edge {
			t.Errorf("%v, %d bytes: %d lines in front, %d behind, want %d", c.level, c.size, h, l, c.edge)
		}
	}
}

func TestParseLevel(t *testing.T) {
	for _, name := range []string{"light", "standard", "aggressive", "auto"} {
		if l, err := ParseLevel(name); err != nil || l.String() != name {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
	for _, name := range []string{"", "Light", "max", "Level(7)"} {
		if _, err := ParseLevel(name); err == nil {
			t.Errorf("%q is a level", name)
		}
	}
}

// Light looks at the output of tests, builds and logs only.
func TestLightIsNotAware(t *testing.T) {
	for _, command := range []string{"ls -la", "grep -rn open src", "git diff --stat", "git log --oneline", "find . -name x"} {
		var text string
		switch {
		case strings.HasPrefix(command, "git log"):
			text = filler("1f0c2aa Count shelf number %d of the store by hand", 400)
		case strings.Contains(command, "stat"):
			text = filler(" services/unit-%d/handler.go | 14 +++++++-------", 400)
		default:
			text = filler("src/area%d/session.ts:17:  const handle = openSession('a', opts);", 400)
		}
		if _, r := run(t, Light, command, text); r.Changed {
			t.Errorf("%s: changed at light", command)
		}
		if out, r := run(t, Standard, command, text); !r.Changed || len(out) > len(text)/4 {
			t.Errorf("%s: %+v, %d of %d bytes", command, r, len(out), len(text))
		}
	}
}

// All failures stay, in their order, however many there are.
func TestManyFailures(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "ok  \texample.test/routes/part%03da\t0.01s\nok  \texample.test/routes/part%03db\t0.01s\n--- FAIL: TestRoute%03d (0.00s)\n    route_test.go:%d: status 500, want 200 on /r/%d\n", i, i, i, i, i)
		if i%20 == 0 {
			b.WriteString(filler("ok  \texample.test/routes/other%d\t0.01s", 50))
		}
	}
	out, r := run(t, Aggressive, "go test ./...", b.String())
	if !r.Changed {
		t.Fatal("nothing changed")
	}
	at := 0
	for i := range 200 {
		for _, s := range []string{fmt.Sprintf("--- FAIL: TestRoute%03d (0.00s)\n", i), fmt.Sprintf("    route_test.go:%d: status 500, want 200 on /r/%d\n", i, i)} {
			n := strings.Index(out[at:], s)
			if n < 0 {
				t.Fatalf("%q is lost or out of order", s)
			}
			at += n + len(s)
		}
	}
}

func TestRepeats(t *testing.T) {
	const warning = "2031-04-02T06:00:00Z WARN  pool: worker waits for a ticket of the second queue\n"
	text := filler("2031-04-02T06:00:00Z INFO  store: counted shelf %d", 50) + strings.Repeat(warning, 1200) + filler("2031-04-02T06:00:01Z INFO  store: counted bin %d", 50)
	out, r := run(t, Standard, "kubectl logs web", text)
	if strings.Count(out, warning) != 1 || !strings.Contains(out, warning+"[... rtk: 1,") {
		t.Errorf("%+v\n%s", r, out)
	}
	if !strings.Contains(out, "repeated") {
		t.Errorf("the marker does not say so:\n%s", out)
	}
	// Repetitions alone.
	text = filler("2031-04-02T06:00:00Z ERROR store: shelf %d is broken and has to be counted anew", 10) + strings.Repeat(warning, 500) +
		filler("2031-04-02T06:00:01Z ERROR store: bin %d is broken and has to be counted anew", 60)
	out, _ = run(t, Standard, "kubectl logs web", text)
	if !strings.Contains(out, warning+"[... rtk: 499 lines elided, repeats of the line above · ref ") {
		t.Errorf("no fold:\n%s", out)
	}
	// Never in files.
	if _, r := run(t, Aggressive, "cat x.txt", strings.Repeat(warning, 500)); r.Changed {
		t.Errorf("%+v", r)
	}
}

// Texts that stay as they are, whatever the level.
func TestUntouched(t *testing.T) {
	source := "package main\n\n" + filler("func f%d() error {\n\treturn fmt.Errorf(\"--- FAIL: x\")\n}\n", 400)
	log := filler("2031-04-02T06:00:00Z INFO  store: counted shelf %d", 400)
	for _, c := range []struct{ command, text string }{
		{"cat main.go", source}, {"make", source}, {"./frob", source}, {"sed -n 1,900p notes.txt", log}, {"head -500 x.md", log}, {"cat a.go && go test ./...", log},
		{"nl -ba x", filler("%6d\tline", 400)}, {"grep -n -A3 x y", filler("12:a %d", 400)}, {"./frob", filler("%d,shelf,12", 400)},
		{"./frob", strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA0000AAAAQCAYAAAAf8v9hAAAABmJLR0QAvwD1AP+gvaeTAAAAAAAA\n", 300)},
		{"curl -s https://x.test", "{\n" + filler(`  "key%d": "value",`, 300) + "  \"last\": 1\n}\n"}, {"./frob", "[" + strings.Repeat("1,", 3000) + "2]"},
		{"jq -c .[] x.json", filler(`{"id":%d,"name":"shelf","state":"open"}`, 400)}, {"git diff", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,400 +1,400 @@\n" + filler("-old %[1]d\n+new %[1]d", 400)},
		{"git show HEAD:x", log}, {"", log[:900]}, {"make", strings.Repeat("a", 100000)},
	} {
		for _, level := range []Level{Light, Standard, Aggressive, Auto} {
			if out, r := run(t, level, c.command, c.text); r.Changed {
				t.Errorf("%v, %q: %+v\n%.400s", level, c.command, r, out)
			}
		}
	}
}

func TestMinify(t *testing.T) {
	row := `{ "id": 12345678901234567890, "ratio": 1.50, "e": 1E-9, "text": "a  b: c, \u00e9 \" {", "none": null, "list": [1, 2, [ ] ], "id": 2 }`
	text := "[" + strings.Repeat(row+", ", 100) + row + "]\n"
	out, r := run(t, Aggressive, "api get", text)
	want := strings.Repeat(`{"id":12345678901234567890,"ratio":1.50,"e":1E-9,"text":"a  b: c, \u00e9 \" {","none":null,"list":[1,2,[]],"id":2},`, 101)
	if !r.Changed || out != "["+strings.TrimSuffix(want, ",")+"]\n" {
		t.Errorf("%+v\n%.500s", r, out)
	}
	// A file is not minified: who edits it needs its bytes.
	if _, r := run(t, Aggressive, "cat x.json", text); r.Changed {
		t.Error("a file was minified")
	}
}

// Bytes that are no text stay what they are in the lines that stay.
func TestBytesOfKeptLines(t *testing.T) {
	odd := []string{"ERROR a\rb\r", "ERROR \xff\xfe", "ERROR \xed\xa0\xbd half", "ERROR \x1b[31mred\x1b[0m", "ERROR \x00", "ERROR  ", "\tERROR"}
	text := filler("ok   check %d of 400 took 2 ms\r", 200) + strings.Join(odd, "\r\n") + "\r\n" + filler("ok   check %d of 400 took 2 ms\r", 200)
	out, r := run(t, Standard, "make check", text)
	if !r.Changed {
		t.Fatal("nothing changed")
	}
	for _, line := range odd {
		if !strings.Contains(out, "\n"+line+"\r\n") {
			t.Errorf("%q is not what it was", line)
		}
	}
}

// Lines that look like markers are lines like others, and always stay.
func TestForgedMarkers(t *testing.T) {
	const forged = "[... rtk: 5 lines elided, routine · ref kpqzvwxnmlor ...]\n"
	text := filler("ok  \texample.test/a%d\t0.01s", 100) + forged + forged + forged + "[... squoze: 7 lines elided ...]\n" + filler("ok  \texample.test/b%d\t0.01s", 100)
	out, r := run(t, Standard, "go test ./...", text)
	if !r.Changed || strings.Count(out, forged) != 3 || !strings.Contains(out, "[... squoze: 7 lines elided ...]\n") {
		t.Errorf("%+v\n%s", r, out)
	}
}

func TestGitLog(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "commit %040x\nAuthor: A <a@example.test>\nDate:   Wed Apr 2 06:00:%02d 2031 +0000\n\n    Count shelf %d\n\n", i, i, i)
		b.WriteString(filler("    The reason number %d is long and needs a line of its own.", 6))
		b.WriteString("\n" + filler(" services/unit-%d/handler.go | 14 +++++++-------", 8) + " 8 files changed, 56 insertions(+), 56 deletions(-)\n\n")
	}
	out, r := run(t, Standard, "git log --stat", b.String())
	for i := range 60 {
		if !strings.Contains(out, fmt.Sprintf("commit %040x\n", i)) || !strings.Contains(out, fmt.Sprintf("    Count shelf %d\n", i)) {
			t.Fatalf("commit %d is lost", i)
		}
	}
	if !r.Changed || len(out) > b.Len()/2 {
		t.Errorf("%+v: %d of %d bytes", r, len(out), b.Len())
	}
}

func TestGitStatus(t *testing.T) {
	text := "On branch main\nYour branch is ahead of 'origin/main' by 2 commits.\n\nUnmerged paths:\n  (use \"git add <file>...\" to mark resolution)\n\tboth modified:   relay/dial.go\n\n" +
		"Changes not staged for commit:\n" + filler("\tmodified:   services/unit-%d/handler.go", 100) + "\nUntracked files:\n" + filler("\tdata/ledger-%d.dat", 300) + "\nno changes added to commit\n"
	out, r := run(t, Standard, "git status", text)
	for _, s := range []string{"On branch main\n", "both modified:   relay/dial.go\n", "unit-1/", "unit-20/", "unit-81/", "unit-100/", "Untracked files:\n", "ledger-1.dat", "ledger-300.dat"} {
		if !strings.Contains(out, s) {
			t.Errorf("lost %q", s)
		}
	}
	if !r.Changed || strings.Contains(out, "ledger-150.dat") {
		t.Errorf("%+v\n%s", r, out)
	}
}

func TestDiff(t *testing.T) {
	edit := "diff --git a/cmd/run.go b/cmd/run.go\nindex 8a1..77c 100644\n--- a/cmd/run.go\n+++ b/cmd/run.go\n@@ -12,3 +12,3 @@ func run() error {\n \tq := open()\n-\tretries := 2\n+\tretries := 5\n \treturn q.drain(retries)\n"
	deleted := "diff --git a/old.md b/old.md\ndeleted file mode 100644\nindex 6b2..000\n--- a/old.md\n+++ /dev/null\n@@ -1,300 +0,0 @@\n" + filler("-entry %d: nightly export finished", 150) + filler("--- a/fake %d", 150)
	lock := "diff --git a/web/yarn.lock b/web/yarn.lock\nindex 1..2 100644\n--- a/web/yarn.lock\n+++ b/web/yarn.lock\n@@ -1,100 +1,100 @@\n" + filler("-lib-%d@^1.0.0:", 100) + filler("+lib-%d@^1.1.0:", 100)
	created := "diff --git a/new.go b/new.go\nnew file mode 100644\nindex 000..6b2\n--- /dev/null\n+++ b/new.go\n@@ -0,0 +1,300 @@\n" + filler("+line %d of the new file", 300)
	text := edit + deleted + created + lock + edit
	out, r := run(t, Standard, "git diff", text)
	if !r.Changed || strings.Count(out, edit) != 2 || !strings.Contains(out, created) {
		t.Fatalf("%+v: a hunk that people read is not complete\n%s", r, out)
	}
	for _, s := range []string{"-entry 1:", "-entry 20:", "--- a/fake 150\n", "[... rtk: 260 lines elided, changes of", "[... rtk: 160 lines elided, changes of", "+++ /dev/null\n", "@@ -1,100 +1,100 @@\n"} {
		if !strings.Contains(out, s) {
			t.Errorf("lost %q\n%s", s, out)
		}
	}
}

func TestListingKeepsTrouble(t *testing.T) {
	text := "NAME                         READY   STATUS             RESTARTS   AGE\n" + filler("storefront-%d-x7k2p          1/1     Running            0          7h", 150) +
		"billing-0                    0/1     CrashLoopBackOff   12         1h\n" + filler("search-%d-x7k2p              1/1     Running            0          7h", 150) + "error: you must be logged in\n"
	out, r := run(t, Aggressive, "kubectl get pods -A", text)
	for _, s := range []string{"NAME    ", "billing-0  ", "error: you must be logged in\n"} {
		if !strings.Contains(out, s) {
			t.Errorf("%+v: lost %q", r, s)
		}
	}
	text = filler("./src/errors/file%d.go", 200) + "find: './root': Permission denied\n" + filler("./src/failures/file%d.go", 200)
	out, _ = run(t, Aggressive, "find . -name '*.go'", text)
	if !strings.Contains(out, "Permission denied") || len(out) > 1500 {
		t.Errorf("%d bytes\n%s", len(out), out)
	}
}

func FuzzCompress(f *testing.F) {
	commands := []string{"go test ./...", "make", "kubectl logs x", "./frob", "ls", "grep -n x y", "git log", "git diff", "git status", "cat x", "git diff --stat", "npm ci", "curl x"}
	for i, text := range []string{
		filler("ok  \texample.test/a%d\t0.01s", 100) + "--- FAIL: TestX (0.00s)\n    x_test.go:1: a\n", filler("[INFO] a %d", 100) + "error\n" + filler("[INFO] b %d", 100),
		strings.Repeat("WARN same line again and again\n", 100), "commit 1f0c2aa93be7\nAuthor: a\n\n    subject\n\n" + filler("    body %d", 100), `[1, 2,  {"a": 1.0}]`,
		"diff --git a/x b/go.sum\n--- a/x\n+++ /dev/null\n@@ -1,60 +0,0 @@\n" + filler("-line %d", 60) + "@@ -1 +1 @@\n-a\n+b\n", filler(`{"level":"info","n":%d}`, 100),
		"[... rtk: 5 lines elided, routine · ref kpqzvwxnmlor ...]\n" + filler("a %d", 90),
	} {
		f.Add(uint8(i), uint8(2), []byte(text))
	}
	f.Fuzz(func(t *testing.T, command, level uint8, text []byte) {
		// The gates keep small inputs out; a fuzzer finds more in what repeats.
		for len(text) > 0 && len(text) < 1100 {
			text = append(text, text...)
		}
		l := Level(level % uint8(len(levels)))
		hint := output.HintFor("Bash", commands[int(command)%len(commands)], "")
		out, r := Compress(l, hint, text, nil)
		if r.Changed {
			check(t, l, hint, text, out, r)
		}
	})
}

// TestCompactTextStays: what the pass does not even decode, no level shortens,
// wherever it comes from.
func TestCompactTextStays(t *testing.T) {
	rows := strings.Repeat(`{"level":"info","msg":"all passing","n":1},`, 300)
	for _, text := range []string{
		"[" + rows + "1]", `{"rows":[` + rows + `1]}`, strings.Repeat(`{"level":"info"}`, 300), `["` + strings.Repeat("ok some words ", 300) + `"]`,
		`[ok]` + strings.Repeat("xyz", 400),
	} {
		raw := jsonspan.AppendQuoted(nil, []byte(text))
		if !jsonspan.CompactText(raw[1 : len(raw)-1]) {
			t.Fatalf("%.40s is in doubt", text)
		}
		for level := Light; level <= Auto; level++ {
			for class := output.Unknown; class <= output.Prose; class++ {
				for _, file := range []bool{false, true} {
					if _, r := Compress(level, output.Hint{Class: class, File: file}, []byte(text), nil); r.Changed {
						t.Errorf("%v shortens %.40s from a call for %v", level, text, class)
					}
				}
			}
		}
	}
}
