package rtk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

var (
	nouns2    = strings.Fields("shelf ledger basket invoice pump meadow parcel ticket route stock label crate orchard harbour signal window lantern bridge copper velvet")
	verbs2    = strings.Fields("opens closes counts merges splits sorts renders loads stores trims parses joins rounds copies moves hides shows resets locks drains")
	someWords = func(i int) (string, string) { return verbs2[i*7%len(verbs2)], nouns2[(i/3)%len(nouns2)] }
)

// passingRuns are outputs in which all is well, by the tool that wrote them.
var passingRuns = []struct {
	name, command string
	line          func(i int) string
}{
	{"go test", "go test ./...", func(i int) string { return fmt.Sprintf("ok  \texample.test/shop/p%d\t0.%03ds", i, i%900) }},
	{"go test -v", "go test -v ./...", func(i int) string {
		v, n := someWords(i)
		return fmt.Sprintf("=== RUN   Test%s%s%d\n--- PASS: Test%s%s%d (0.0%ds)", v, n, i, v, n, i, i%9)
	}},
	{"go test -v with output", "go test -v ./...", func(i int) string {
		return fmt.Sprintf("=== RUN   TestPlan%d\n    plan_test.go:%d: planned %d steps\n--- PASS: TestPlan%d (0.0%ds)", i, i%80+3, i, i, i%9)
	}},
	{"pytest -v", "pytest -v", func(i int) string {
		v, n := someWords(i)
		return fmt.Sprintf("tests/unit/test_%s.py::test_%s_%d PASSED                 [ %2d%%]", n, v, i, i/20)
	}},
	{"unittest", "python -m unittest -v", func(i int) string { return fmt.Sprintf("test_level_%d (mod.Case) ... ok", i) }},
	{"cargo test", "cargo test", func(i int) string {
		v, n := someWords(i)
		return fmt.Sprintf("test %s::tests::%s_%d ... ok", n, v, i)
	}},
	{"jest", "npx jest --verbose", func(i int) string {
		v, n := someWords(i)
		return fmt.Sprintf("    ✓ %s the %s number %d (%d ms)", v, n, i, i%40)
	}},
	{"mocha", "npx mocha", func(i int) string { v, n := someWords(i); return fmt.Sprintf("      ✔ %s the %s of day %d", v, n, i) }},
	{"TAP", "node --test", func(i int) string { v, n := someWords(i); return fmt.Sprintf("ok %d - %s the %s", i+1, v, n) }},
	{"bats", "bats test", func(i int) string { return fmt.Sprintf("ok %d shelf number %d is counted", i+1, i) }},
	{"maven", "mvn test", func(i int) string {
		_, n := someWords(i)
		return fmt.Sprintf("[INFO] Running example.shop.%s%dTest\n[INFO] Tests run: %d, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.0%d s - in example.shop.%s%dTest", n, i, i%9+1, i%9, n, i)
	}},
	{"gtest", "./unit_tests --gtest_filter=*", func(i int) string {
		return fmt.Sprintf("[ RUN      ] Store.Counts%d\n[       OK ] Store.Counts%d (%d ms)", i, i, i%7)
	}},
	{"ctest", "ctest", func(i int) string {
		return fmt.Sprintf("        Start %4d: store_%d\n%4d/2000 Test %4d: store_%d ......................   Passed    0.0%d sec", i+1, i, i+1, i+1, i, i%9)
	}},
	{"dotnet test", "dotnet test -v n", func(i int) string {
		v, n := someWords(i)
		return fmt.Sprintf("  Passed Shop.Tests.%sTests.%s%d [%d ms]", n, v, i, i%40+1)
	}},
	{"marked lines", "./run-tests.sh", func(i int) string { return fmt.Sprintf("check %d status=ok took %d ms", i, i%70) }},
	{"letters", "./run-tests.sh test", func(i int) string { return fmt.Sprintf("test_%d P ", i) }},
	{"results", "make test", func(i int) string { return fmt.Sprintf("result=ok id=%d code=0", i) }},
	{"log", "kubectl logs web", func(i int) string {
		return fmt.Sprintf("2031-04-02T06:%02d:%02d.%03dZ INFO  store: counted shelf %d of the second floor in %d ms", i/60%60, i%60, i%1000, i, i%300)
	}},
	{"log with names", "kubectl logs web", func(i int) string {
		v, n := someWords(i)
		return fmt.Sprintf("2031-04-02 06:%02d:%02d INFO  store: user %s_%d asked for the page of %s", i/60%60, i%60, v, i, n)
	}},
	{"glog", "docker logs web", func(i int) string {
		return fmt.Sprintf("I0402 06:%02d:%02d.000123  %5d store.cc:%d] counted shelf %d", i/60%60, i%60, 1234, i%90+10, i)
	}},
	{"logcat", "adb logcat", func(i int) string {
		return fmt.Sprintf("04-02 06:%02d:%02d.123  1234  1250 I Store: counted shelf %d", i/60%60, i%60, i)
	}},
	{"JSON log", "kubectl logs web", func(i int) string {
		return fmt.Sprintf(`{"level":"info","ts":%d.123,"msg":"counted shelf","shelf":%d,"result":"ok"}`, 1932890400+i, i)
	}},
	{"docker compose", "docker compose logs", func(i int) string { return fmt.Sprintf("web-1  | GET /shelf/%d 200 %dms", i, i%50) }},
	{"web server", "tail -n 5000 access.log", func(i int) string {
		_, n := someWords(i)
		return fmt.Sprintf(`10.0.%d.%d - - [02/Apr/2031:06:%02d:%02d +0000] "GET /%s/%d HTTP/1.1" 200 %d "-" "curl/8.%d"`, i/250, i%250, i/60%60, i%60, n, i, 100+i%5000, i%3)
	}},
	{"cargo build", "cargo build", func(i int) string {
		v, n := someWords(i)
		return fmt.Sprintf("   Compiling %s-%s v0.%d.%d", v, n, i%30, i%7)
	}},
	{"make", "make -j8", func(i int) string { return fmt.Sprintf("  CC      build/obj/module_%d.o", i) }},
	{"npm", "npm install", func(i int) string {
		v, n := someWords(i)
		return fmt.Sprintf("npm http fetch GET 200 https://registry.test/%s-%s%d %dms (cache hit)", v, n, i, i%300)
	}},
	{"docker build", "docker build .", func(i int) string {
		return fmt.Sprintf("#12 %d.345 Get:%d http://deb.test/debian bookworm/main amd64 pkg%d all 1.%d [%d kB]", i/10, i, i, i%9, i%700+1)
	}},
	{"green", "./run-tests.sh tests", func(i int) string { return fmt.Sprintf("\x1b[32mtest_%d\x1b[0m (0.0%ds)", i, i%9) }},
}

// needles are pieces of text that tell of a failure and must stay as they are.
var needles = []string{
	// Verdicts that are no known word.
	"result=ko id=17", "test_450 F ", "test_450 F", "check 12: KO", "code=1", "rc=1", "exit 2", "status=2", "ERR", "ERR 17 shelf", "shelf 17 NG",
	"state=schief shelf=17", "17 unverdaut", "the shelf of aisle 17 is odd", "nope",
	// Other languages.
	"błąd: x", "Falló la prueba", "echec du test", "Échec du test 17", "Fehler", "FEHLER in Regal 17", "ошибка", "Ошибка: полка 17", "错误", "失败", "エラー", "실패", "테스트 실패: 17",
	"σφάλμα στο ράφι", "خطأ في الرف", "chyba v polici", "lỗi ở kệ 17",
	// Levels of one letter.
	"E/Store: shelf is gone", "E0102 06:00:01.000123  1234 store.cc:17] shelf is gone", "F/Store( 1234): shelf is gone",
	// Colour alone.
	"\x1b[31mtest_1717\x1b[0m (0.01s)", "\x1b[91mtest_1718\x1b[0m", "\x1b[38;5;9mshelf 17\x1b[0m", "\x1b[41mshelf 17\x1b[0m",
	// Headings, with what follows.
	"--- FAIL: TestShelf (0.01s)\n    --- FAIL: TestShelf/empty (0.00s)\n        shelf_test.go:17: 3 left\n        --- FAIL: TestShelf/empty/twice (0.00s)",
	"=== RUN   TestHang\n    hang_test.go:3: waiting for the lock",
	"---- shelf::tests::holds stdout ----\n\nthread 'shelf::tests::holds' panicked at src/shelf.rs:17:5:\nleft over: 3\nnote: run with `RUST_BACKTRACE=1`\n\n\nfailures:\n    shelf::tests::holds\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored",
	"---- shelf::tests::holds stdout ----\nplain line one\nplain line two\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored",
	"____ test_x ____\n\n    def test_x():\n>       assert left() == 2\nE       assert 3 == 2\n\ntests/test_x.py:17: AssertionError\n---- Captured stdout call ----\nstep 1\nstep 1\nstep 1\nstep 2\n==== 1 failed, 9 passed in 3.21s ====",
	"__ test_x __\nplain line one\nplain line two\n==== 1 failed, 9 passed in 3.21s ====",
	"  ● shelf › holds three\n\n    expect(received).toBe(expected)\n\n    ok 3\n    ok 3\n    Expected: 3\n    Received: 2\n\n      at Object.<anonymous> (shelf.test.js:17:3)\n\nTest Suites: 1 failed, 1 total",
	"  1) should go\n     the shelf is left",
	"There was 1 failure:\n\n1) ShelfTest::testHolds\nthree are left\n\n/src/tests/ShelfTest.php:17\n\nFAILURES!\nTests: 9, Assertions: 9, Failures: 1.",
	"1) ShelfTest::testHolds\n3 is not 2.",
	"Failures:\n\n  1) Shelf holds three\n     # ./spec/shelf_spec.rb:17\n       three are left\n\nFinished in 0.1 seconds",
	"[ERROR] Tests run: 1, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.01 s <<< FAILURE! - in example.shop.ShelfTest\n[ERROR] example.shop.ShelfTest.holds  Time elapsed: 0.01 s  <<< FAILURE!\njava.lang.AssertionError: 3 left\n\tat example.shop.ShelfTest.holds(ShelfTest.java:17)",
	"[ RUN      ] Shelf.Hangs\nlooking at shelf 17",
	"[ RUN      ] Shelf.Holds\nlooking at shelf 17\nshelf.cc:17: Failure\nthree are left\n[  FAILED  ] Shelf.Holds (0 ms)",
	"not ok 17 - holds three\n# (in test file shelf.bats, line 17)\n#   `[ $left = 2 ]'\n  ---\n  at: shelf.js:17\n  ...",
	"  17/40 Test  #17: shelf_holds ......................***Failed    0.01 sec\nthree are left\nthree are left",
	"  Failed Shop.Tests.ShelfTests.Holds [12 ms]\n  Standard Output Messages:\n three are left\n three are left\n  Stack Trace:\n     at Shop.Tests.ShelfTests.Holds() in /src/ShelfTests.cs:line 17\n\nTotal tests: 9",
	"Test Case '-[Shelf holds]' started.\nlooking at shelf 17",
	"..F..E... [ 34%]",
	"tests/test_shelf.py ..F..",
}

// A needle of each kind stands at each tenth of a run of 2,000 tests in which all
// else is well, as each tool writes it, and stays at every level. The race
// detector makes that slow and finds nothing in it: it sees a part.
func TestPlantedFailuresStay(t *testing.T) {
	const lines, parts = 2000, 10
	for _, passing := range passingRuns {
		t.Run(passing.name, func(t *testing.T) {
			t.Parallel()
			var routine [lines]string
			for i := range routine {
				routine[i] = passing.line(i)
			}
			hint := output.HintFor("Bash", passing.command, "")
			lost := make(map[string]bool)
			step := 1
			if raceEnabled {
				step = 7
			}
			for first := 0; first < len(needles); first += step {
				var b strings.Builder
				for i, line := range routine {
					if at := i - lines/parts/2; at%(lines/parts) == 0 {
						b.WriteString(needles[(first+at/(lines/parts))%len(needles)] + "\n")
					}
					b.WriteString(line + "\n")
				}
				text := b.String()
				// Sections of one tool in the output of another do not end.
				section := false
				for part := range parts {
					section = section || strings.Contains(needles[(first+part)%len(needles)], "\n")
				}
				// Aggressive takes most; the other levels take turns.
				for _, level := range [...]Level{Aggressive, [...]Level{Light, Standard, Auto}[first%3]} {
					var out string
					var r Report
					if first == 0 {
						out, r = run(t, level, passing.command, text)
					} else {
						var b []byte
						b, r = Compress(level, hint, []byte(text), nil)
						out = string(b)
					}
					if !r.Changed {
						continue
					}
					for part := range parts {
						needle := needles[(first+part)%len(needles)]
						if !strings.Contains(out, "\n"+needle+"\n") && !lost[needle] {
							lost[needle] = true
							t.Errorf("%v lost from part %d of %v: %q", level, part, r.Class, needle)
						}
					}
					if !section && 4*len(out) > len(text) {
						t.Errorf("%v: %d of %d bytes are left", level, len(out), len(text))
					}
				}
			}
		})
	}
}

// The same needle ten times over is no kind of which there are many.
func TestRepeatedOddLinesStay(t *testing.T) {
	for _, passing := range passingRuns {
		hint := output.HintFor("Bash", passing.command, "")
		for _, needle := range []string{"result=ko id=17", "test_450 F ", "shelf 17 is odd", "code=1", "state=schief 9", "status=2"} {
			var b strings.Builder
			for i := range 2000 {
				if i%200 == 100 {
					b.WriteString(needle + "\n")
				}
				b.WriteString(passing.line(i) + "\n")
			}
			for _, level := range []Level{Light, Aggressive} {
				out, r := Compress(level, hint, []byte(b.String()), nil)
				if n := strings.Count(string(out), "\n"+needle+"\n"); r.Changed && n != 10 {
					t.Errorf("%s, %v: %d of ten stay: %q", passing.name, level, n, needle)
				}
			}
		}
	}
}

// TestAmongTheLinesOfAnother plants single lines right behind any line of a run,
// also between the start of a passing test and its end, and lines that say
// something else about one of many.
func TestAmongTheLinesOfAnother(t *testing.T) {
	for _, tc := range []struct{ command, format, needle string }{
		{"./unit_tests", "[ RUN      ] Cart.Add%[1]d\n[       OK ] Cart.Add%[1]d (0 ms)", "[ RUN      ] Cart.Hang"},
		{"xcodebuild test", "Test Case '-[CartTests testAdd%[1]d]' started.\nTest Case '-[CartTests testAdd%[1]d]' passed (0.001 seconds).", "Test Case '-[CartTests testHang]' started."},
		{"ansible-playbook site.yml", "ok: [web%d.example.test]", "changed: [web77.example.test]"},
		{"./poll.sh", "job %d status=ok rc=0", "job 811 status=ko rc=3"},
	} {
		var run []string
		for i := range 400 {
			run = append(run, strings.Split(fmt.Sprintf(tc.format, i), "\n")...)
		}
		for at := 120; at < 126; at++ {
			text := strings.Join(run[:at], "\n") + "\n" + tc.needle + "\n" + strings.Join(run[at:], "\n") + "\n"
			for level := Light; level <= Auto; level++ {
				out, r := Compress(level, output.HintFor("shell", tc.command, ""), []byte(text), nil)
				if r.Changed && !strings.Contains(string(out), "\n"+tc.needle+"\n") {
					t.Errorf("%s, %v, line %d: %q is lost", tc.command, level, at, tc.needle)
				}
			}
		}
	}
}
