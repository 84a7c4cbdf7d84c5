package rtk

import (
	"fmt"
	"strings"
	"testing"
)

// What a failed test wrote, and what is written about it, stays to the byte,
// however long it is and whatever stands in it.
func TestSectionsOfFailedTestsStayWhole(t *testing.T) {
	// Lines that would go anywhere else: routine, repeated, blank, and such that
	// look like the end of a section.
	long := func(indent string) string {
		var b strings.Builder
		for i := range 900 {
			fmt.Fprintf(&b, "%sstep %d done in 3 ms\n", indent, i)
			switch {
			case i%50 == 7:
				b.WriteString(strings.Repeat(indent+"the same line of the very same text, again and again and again\n", 20))
			case i%50 == 9:
				b.WriteString("\n\n\n")
			case i == 450:
				b.WriteString(indent + "=== step 450 ===\n" + indent + "connecting to the store... ok\n" + indent + "--- phase ---\n" + indent + "Ran out of shelves\n")
			}
		}
		return b.String()
	}
	bar := func(title string) string {
		n := (80 - len(title) - 2) / 2
		return strings.Repeat("=", n) + " " + title + " " + strings.Repeat("=", 80-n-len(title)-2) + "\n"
	}
	heading := func(title string) string {
		return strings.Repeat("_", 30) + " " + title + " " + strings.Repeat("_", 30) + "\n"
	}
	body := "\n    def test_x():\n>       assert left() == 2\nE       assert 3 == 2\n\ntests/test_x.py:17: AssertionError\n"
	for _, c := range []struct {
		name, command, routine string
		section, after         string
	}{
		{"pytest", "pytest -v", "tests/test_a.py::test_%d PASSED", bar("FAILURES") + heading("test_x") + body + "----------------------------- Captured stdout call -----------------------------\n" + long("") +
			"------------------------------ Captured log call -------------------------------\n" + long("INFO     root:test_x.py:3 ") + heading("test_y") + body + "----------------------------- Captured stderr call -----------------------------\n" + long(""),
			bar("short test summary info") + "FAILED tests/test_x.py::test_x - assert 3 == 2\n" + bar("2 failed, 900 passed in 3.21s")},
		{"pytest, errors", "pytest -v", "tests/test_a.py::test_%d PASSED", bar("ERRORS") + heading("ERROR at setup of test_x") + body + "---------------------------- Captured stdout setup -----------------------------\n" + long(""), bar("1 error in 3.21s")},
		{"pytest, headings alone", "pytest -v | tail -n 2000", "tests/test_a.py::test_%d PASSED", "____ test_x ____\n" + body + "---- Captured stdout call ----\n" + long(""), "==== 1 failed, 900 passed in 3.21s ====\n"},
		{"pytest, cut off in front", "pytest | tail -n 2000", "tests/test_a.py::test_%d PASSED", "----------------------------- Captured stdout call -----------------------------\n" + long(""), bar("1 failed in 3.21s")},
		{"cargo", "cargo test", "test shelf::tests::counts_%d ... ok", "failures:\n\n---- shelf::tests::holds stdout ----\n" + long("") + "thread 'shelf::tests::holds' panicked at src/shelf.rs:17:5:\n3 left\n\n---- shelf::tests::falls stdout ----\n" + long("") +
			"\n\nfailures:\n    shelf::tests::falls\n    shelf::tests::holds\n\ntest result: FAILED. 900 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s\n", ""},
		{"cargo, headings alone", "cargo test | tail -n 2000", "test shelf::tests::counts_%d ... ok", "---- shelf::tests::holds stdout ----\n" + long("") + "\ntest result: FAILED. 900 passed; 1 failed; 0 ignored\n", ""},
		{"nextest", "cargo nextest run", "        PASS [   0.0%ds] shop shelf::counts", "--- STDOUT:              shop shelf::holds ---\n" + long(""), "------------\n"},
		{"go test", "go test ./...", "ok  \texample.test/shop/p%d\t0.012s", long("") + "--- FAIL: TestHolds (0.01s)\n    shelf_test.go:17: 3 left\nFAIL\nFAIL\texample.test/shop/shelf\t0.012s\n", ""},
		{"go test -v", "go test -v ./...", "=== RUN   TestCounts%[1]d\n--- PASS: TestCounts%[1]d (0.00s)", "=== RUN   TestHolds\n" + long("    shelf_test.go:3: ") + "--- FAIL: TestHolds (0.01s)\n", ""},
		{"go test -v, hangs", "go test -v ./...", "=== RUN   TestCounts%[1]d\n--- PASS: TestCounts%[1]d (0.00s)", "=== RUN   TestHangs\n" + long("    shelf_test.go:3: "), ""},
		{"gtest", "./unit_tests --gtest_color=no", "[ RUN      ] Store.Counts%[1]d\n[       OK ] Store.Counts%[1]d (0 ms)", "[ RUN      ] Shelf.Holds\n" + long("") + "shelf.cc:17: Failure\n3 left\n[  FAILED  ] Shelf.Holds (3 ms)\n", ""},
		{"gtest, crashed", "./unit_tests --gtest_color=no", "[ RUN      ] Store.Counts%[1]d\n[       OK ] Store.Counts%[1]d (0 ms)", "[ RUN      ] Shelf.Hangs\n" + long(""), ""},
		{"surefire", "mvn test", "[INFO] Running example.T%[1]d\n[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.01 s - in example.T%[1]d", "[INFO] Running example.ShelfTest\n" + long("") + "[ERROR] Tests run: 1, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.01 s <<< FAILURE! - in example.ShelfTest\n", ""},
		{"jest", "npx jest", "    ✓ counts shelf %d (3 ms)", "  ● shelf › holds three\n\n" + long("    ") + "    Expected: 3\n    Received: 2\n\n      at Object.<anonymous> (shelf.test.js:17:3)\n\n", "Test Suites: 1 failed, 9 passed, 10 total\n"},
		{"ctest", "ctest --output-on-failure", "        Start %4[1]d: store_%[1]d\n%4[1]d/2000 Test %4[1]d: store_%[1]d ......   Passed    0.01 sec", "  17/40 Test  #17: shelf_holds ......................***Failed    0.01 sec\n" + long(""), "        Start   18: next\n  18/40 Test  #18: next ......   Passed    0.01 sec\n"},
		{"dotnet", "dotnet test -v n", "  Passed Shop.Tests.Counts%d [3 ms]", "  Failed Shop.Tests.Holds [12 ms]\n  Error Message:\n   3 left\n  Stack Trace:\n     at Shop.Tests.Holds() in /src/ShelfTests.cs:line 17\n  Standard Output Messages:\n" + long(" "), "\nTest Run Failed.\nTotal tests: 901\n"},
		{"TAP", "node --test", "ok %d - counts", "not ok 17 - holds\n" + long("# "), "1..901\n"},
		{"unittest", "python -m unittest -v", "test_%d (mod.Case) ... ok", strings.Repeat("=", 70) + "\nFAIL: test_x (mod.Case)\n" + strings.Repeat("-", 70) + "\nTraceback (most recent call last):\n  File \"/src/mod.py\", line 17, in test_x\n    self.hold()\nAssertionError: 3\n\nStdout:\n" + long(""), strings.Repeat("-", 70) + "\nRan 901 tests in 0.012s\n\nFAILED (failures=1)\n"},
		{"phpunit", "vendor/bin/phpunit", "ok %d - counts", "There was 1 failure:\n\n1) ShelfTest::testHolds\n" + long(" ") + "\n/src/tests/ShelfTest.php:17\n\n", "FAILURES!\nTests: 901, Assertions: 901, Failures: 1.\n"},
		{"rspec", "bundle exec rspec", "ok %d - counts", "Failures:\n\n  1) Shelf holds three\n" + long("     ") + "\n", "Finished in 0.1 seconds\n901 examples, 1 failure\n"},
		{"mocha", "npx mocha", "    ✔ counts shelf %d", "  1 failing\n\n  1) shelf\n       holds three:\n" + long("      ") + "\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := filler(c.routine, 900) + c.section + c.after
			for level := Light; level <= Auto; level++ {
				out, r := run(t, level, c.command, text)
				if !r.Changed {
					t.Errorf("%v (%v): nothing is saved", level, r.Class)
				}
				if !strings.Contains(out, c.section) {
					t.Errorf("%v (%v): the section has changed: %s", level, r.Class, firstDifference(c.section, out))
				}
			}
		})
	}
}

// A test that began and never ended is told from those that did, in events too.
func TestHungTestInEvents(t *testing.T) {
	event := func(action, test, output string) string {
		return fmt.Sprintf(`{"Time":"2031-04-02T06:00:00.001Z","Action":"%s","Package":"example.test/shop","Test":"%s"%s}`, action, test, output) + "\n"
	}
	var b strings.Builder
	hangs := event("run", "TestHangs", "") + event("output", "TestHangs", `,"Output":"=== RUN   TestHangs\n"`) + event("output", "TestHangs", `,"Output":"    shelf_test.go:3: counted shelf 17\n"`)
	for i := range 900 {
		name := fmt.Sprintf("TestCounts%d", i)
		b.WriteString(event("run", name, "") + event("output", name, `,"Output":"=== RUN   `+name+`\n"`) + event("output", name, `,"Output":"    shelf_test.go:3: counted shelf 18\n"`))
		b.WriteString(event("output", name, `,"Output":"--- PASS: `+name+` (0.00s)\n"`) + event("pass", name, `,"Elapsed":0`))
		if i == 450 {
			b.WriteString(hangs)
		}
	}
	for level := Light; level <= Auto; level++ {
		out, r := run(t, level, "go test -json ./...", b.String())
		if !r.Changed || !strings.Contains(out, hangs) || 10*len(out) > b.Len() {
			t.Errorf("%v (%v): %d of %d bytes are left, the test that hangs: %v", level, r.Class, len(out), b.Len(), strings.Contains(out, hangs))
		}
	}
}

// firstDifference shows where out leaves section.
func firstDifference(section, out string) string {
	lines := strings.SplitAfter(section, "\n")
	at := strings.Index(out, lines[0])
	if at < 0 {
		return fmt.Sprintf("%q is not there", lines[0])
	}
	for _, line := range lines {
		if !strings.HasPrefix(out[at:], line) {
			return fmt.Sprintf("want %q, got %.100q", line, out[at:])
		}
		at += len(line)
	}
	return "nowhere"
}
