package output

import (
	"strings"
	"testing"
)

func lines(list ...string) string { return strings.Join(list, "\n") + "\n" }

// Texts by what they are. They are classified for several calls below.
var texts = map[string]string{
	"go source": lines("package main", "", "import (", "\t\"fmt\"", ")", "", "// FAIL: TestX is what the parser looks for", "func main() {", "\tif err != nil {",
		"\t\tfmt.Println(\"--- FAIL: TestX (0.00s)\", \"PASS\", \"ERROR\")", "\t}", "}") + filler("func f%d() error { return fmt.Errorf(\"ERROR %%d\") }", 80),
	"numbered source": filler("%6d\tassert total('FAIL') == 1  # ERROR", 100),
	"arrow source":    filler("%6d→2031-04-02T06:00:00Z ERROR in a fixture", 100),
	"python source":   "import logging\n\n" + filler("def test_%d():\n    logging.error(\"FAILED\")\n    assert f() == 1\n", 40),
	"yaml":            filler("limit_%d: 100", 100),
	"jsonc":           "// settings\n{\n" + filler("  // group %[1]d\n  \"lint.%[1]d\": {\n    \"severity\": \"error\",\n  },", 40) + "}\n",
	"guide": lines("# How we log [second edition]", "", "This page is for everybody who writes a service here.", "") +
		filler("Rule %d: use INFO for progress, WARN for a fault that heals itself and ERROR when somebody has to act.", 60),
	"guide with a log": lines("# Incident", "", "On Tuesday the store refused to write.", "", "```") + filler("2031-04-02T06:00:%02dZ ERROR store: refusing", 30) +
		lines("```", "", "The reason was a negative count in the shelf table.", "It was fixed by hand, then by a migration.", "## What we learn", "Counts need a constraint, and the store a better message.", "We will add both before the summer."),
	"guide with tests": lines("# Running the tests", "", "Run `go test ./...` and look for failures:", "") + filler("--- PASS: TestX%d (0.00s)", 10) +
		lines("", "A failing test looks like this:", "", "--- FAIL: TestY (0.00s)", "", "Ask in the channel when that happens to you.", "Most of the time the fixture is out of date.", "Then run the generator and commit what it wrote.", "The review is quick.", "Thank you for reading the guide to the end."),
	"changelog":     filler("Added support for shelf kind %d in the store", 40) + filler("Removed shelf kind %d", 40),
	"checklist":     filler("✓ water plant %d", 60),
	"csv":           filler("2031-04-02,shelf-%d,12,true", 100),
	"csv with time": filler("2031-04-02 06:00:00,shelf-%d,12,error", 100),
	"base64":        strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA0000AAAAQCAYAAAAf8v9hAAAABmJLR0QAvwD1AP+gvaeTAAAAAAAA\n", 60),
	"json":          `{"a": [1, 2, {"error": null}]}`,
	"pretty json":   "{\n  \"a\": [\n    1,\n    2\n  ]\n}\n",
	"ndjson":        filler(`{"level":"info","msg":"counted","n":%d}`, 60),
	"cut json":      `{"a": [1, 2, {"error": nul`,
	"log":           filler("2031-04-02T06:00:00.%03dZ INFO  store: counted shelf", 100),
	"tagged log":    filler("[INFO] packing asset group %d of 200", 100) + "npm ERR! code ELIFECYCLE\n" + filler("[INFO] copying %d", 40),
	"access log":    filler(`1.2.3.4 - - [02/Apr/2031:06:00:00 +0000] "GET /%d HTTP/1.1" 200 157`, 100),
	"go test":       filler("ok  \texample.test/p%d\t0.01s", 100) + "--- FAIL: TestX (0.00s)\n    a_test.go:1: bad\n",
	"jest":          filler("    ✓ counts item %d (3 ms)", 100),
	"kbuild":        filler("  CC      build/obj/m_%d.o", 100),
	"tagged build":  filler("[build] compiled unit %d of 400", 100),
	"diff":          lines("diff --git a/x.go b/x.go", "index 1..2 100644", "--- a/x.go", "+++ b/x.go", "@@ -1,2 +1,2 @@", " a", "-\tlog.Error(\"x\")", "+\tlog.Error(\"y\")"),
	"show": lines("commit 1f0c2aa93be7711f0c2aa93be7711f0c2aa93be7", "Author: A <a@example.test>", "Date:   Wed Apr 2 06:00:00 2031 +0000", "", "    Fix the error", "",
		"diff --git a/x.go b/x.go", "--- a/x.go", "+++ b/x.go", "@@ -1 +1 @@", "-a", "+b"),
	"git log":           strings.Repeat(lines("commit 1f0c2aa93be7711f0c2aa93be7711f0c2aa93be7", "Author: A <a@example.test>", "Date:   Wed Apr 2 06:00:00 2031 +0000", "", "    Fix the error", ""), 20),
	"oneline":           filler("1f0c2aa Fix error %d", 60),
	"git status":        lines("On branch main", "Changes not staged for commit:", "  (use \"git add <file>...\" to update what will be committed)", "\tmodified:   errors.go", "", "Untracked files:", "\tx.go"),
	"short":             filler(" M file%d.go", 60),
	"stat":              filler(" services/unit-%d/handler.go | 14 +++++++-------", 60) + " 60 files changed, 420 insertions(+), 420 deletions(-)\n",
	"ls":                "total 4100\n" + filler("-rw-r--r-- 1 app app 107 Apr  2 06:00 ledger-%d.dat", 60),
	"find":              filler("./src/errors/file%d.go", 60),
	"pods":              "NAME                         READY   RESTARTS   AGE\n" + filler("storefront-%d-x7k2p          1/1     0          7h", 60),
	"grep":              filler("src/area%d/session.ts:17:  const handle = openSession('a', opts);", 60),
	"grep with context": filler("src/a.ts-%[1]d-  const a = 1;\nsrc/a.ts-%[1]d-  const b = 1;\nsrc/a.ts:%[1]d:  open();\n--", 30),
	"npm":               filler("npm http fetch GET 200 https://registry.test/p%d 12ms", 60),
	"html":              filler("<tr><td>error %d</td></tr>", 60),
	"empty":             "",
	"blank":             "\n\n\n",
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		command string
		want    map[Class]string
	}{
		// Nothing is known: only what cannot be anything else.
		{"./frob", map[Class]string{
			Unknown: "go source,python source,yaml,jsonc,guide,guide with a log,guide with tests,changelog,checklist,csv,csv with time,base64,cut json,access log,kbuild,tagged build,stat,ls,find,pods,grep,grep with context,npm,html,empty,blank,short,oneline",
			Source:  "numbered source,arrow source", JSON: "json,pretty json", NDJSON: "ndjson", Log: "log,tagged log", TestOutput: "go test,jest",
			Diff: "diff,show", GitLog: "git log", GitStatus: "git status",
		}},
		// A file is a file.
		{"cat some.txt", map[Class]string{
			Source: "go source,numbered source,arrow source,python source,yaml,jsonc,log,tagged log,go test,diff,grep,access log,git log",
			Prose:  "guide", Config: "json,pretty json,ndjson",
		}},
		// A script that is named for what it does.
		{"./ci.sh", map[Class]string{
			Unknown: "go source,python source,yaml,jsonc,guide,guide with a log,guide with tests,base64,html",
			Source:  "numbered source,arrow source", Log: "log,tagged log,access log,tagged build", TestOutput: "go test,jest", Build: "kbuild,npm", JSON: "json",
		}},
		{"make", map[Class]string{Unknown: "go source,yaml,guide,python source", Build: "kbuild", Log: "tagged build", TestOutput: "go test"}},
		{"go test ./...", map[Class]string{TestOutput: "go test,jest,log,tagged log", Unknown: "go source,guide", NDJSON: "ndjson", JSON: "json"}},
		{"kubectl logs web", map[Class]string{Log: "log,tagged log,access log,csv with time", NDJSON: "ndjson", Unknown: "go source,guide,guide with a log", TestOutput: "go test"}},
		{"tail -n 100 x.log", map[Class]string{Log: "log,tagged log,access log", TestOutput: "go test", Unknown: "guide,python source"}},
		{"git diff", map[Class]string{Diff: "diff", Unknown: "stat,ls,go source,guide,log"}},
		{"git show", map[Class]string{Diff: "diff,show", GitLog: "git log"}},
		{"git log", map[Class]string{GitLog: "git log,oneline", Diff: "show", Unknown: "guide,log"}},
		{"git status", map[Class]string{GitStatus: "git status,short", Unknown: "guide,diff"}},
		{"git diff --stat", map[Class]string{DiffStat: "stat", Unknown: "guide,diff"}},
		{"ls -la", map[Class]string{Listing: "ls,find,pods", Unknown: "go source,guide,yaml"}},
		{"grep -rn x src", map[Class]string{Grep: "grep", Unknown: "grep with context", Source: "numbered source"}},
		{"curl -s https://x.test/y", map[Class]string{JSON: "json,pretty json", NDJSON: "ndjson", Unknown: "guide,html,log,go test,go source"}},
		{"npm ci", map[Class]string{Progress: "npm,log", Unknown: "go source,guide"}},
	} {
		hint := HintFor("Bash", c.command, "")
		for want, names := range c.want {
			for _, name := range strings.Split(names, ",") {
				text, ok := texts[name]
				if !ok {
					t.Fatalf("there is no text %q", name)
				}
				if got, _ := Classify(hint, []byte(text)); got != want {
					var l Lines
					l.Split([]byte(text))
					t.Errorf("%s: %q is %v, want %v (%+v)", c.command, name, got, want, looksOf(&l))
				}
			}
		}
	}
}

// What agents put in front of an output does not hide it.
func TestPreamble(t *testing.T) {
	for _, before := range []string{"Exit code: 0\nWall time: 1.2 seconds\nOutput:\n", "<returncode>0</returncode>\n<output>\n"} {
		for command, name := range map[string]string{"git diff": "diff", "git status": "git status", "git log": "git log", "go test ./...": "go test", "make": "kbuild", "./frob": "log"} {
			hint := HintFor("shell", command, "")
			want, _ := Classify(hint, []byte(texts[name]))
			if got, _ := Classify(hint, []byte(before+texts[name])); got != want || got == Unknown {
				t.Errorf("%s: %v, want %v", command, got, want)
			}
		}
	}
}

// Every text is safe in every call that reads files.
func TestFilesAreFiles(t *testing.T) {
	for _, command := range []string{"cat a.txt", "sed -n '1,300p' a.go", "head -200 x", "nl -ba a.py", "bat x.md", "type notes.txt"} {
		for name, text := range texts {
			if got, _ := Classify(HintFor("Bash", command, ""), []byte(text)); !got.File() {
				t.Errorf("%s: %q is %v", command, name, got)
			}
		}
	}
	for name, text := range texts {
		if got, _ := Classify(HintFor("Read", "", "a/b.py"), []byte(text)); !got.File() {
			t.Errorf("Read: %q is %v", name, got)
		}
	}
}

func FuzzClassify(f *testing.F) {
	for _, text := range texts {
		for _, command := range []string{"./frob", "make", "git log", "kubectl logs x", "ls"} {
			f.Add(command, []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, command string, text []byte) {
		hint := HintFor("Bash", command, "")
		class, tool := Classify(hint, text)
		if again, tool2 := Classify(hint, text); again != class || tool2 != tool {
			t.Errorf("%v, then %v", class, again)
		}
		var l Lines
		l.Split(text)
		var keep Set
		Keep(&keep, class, tool, &l)
		for i := range l.Len() {
			line := l.Line(i)
			// Listings and git's summaries are lists of names.
			if obvious(line) && !keep.Has(i) && class != Listing && class != GitLog && class != GitStatus && class != DiffStat && !goEvent(line) {
				t.Errorf("%v: lost %q", class, line)
			}
		}
	})
}
