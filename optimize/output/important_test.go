package output

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// failureLines are lines that no pass may lose, from as many tools as there are.
var failureLines = []string{
	// Test runners.
	"--- FAIL: TestLedgerClose (0.01s)", "    --- FAIL: TestA/sub_case (0.00s)", "FAIL\texample.test/shop/ledger\t0.213s", "FAIL",
	"    ledger_test.go:88: closing balance: got 4107, want 4170 (mismatch)", "panic: runtime error: index out of range [3] with length 3",
	"goroutine 7 [running]:", "WARNING: DATA RACE", "fatal error: all goroutines are asleep - deadlock!", "exit status 2",
	"E       assert 10.0 == 10.01", ">       assert refund(10.005) == 10.01", "FAILED tests/test_a.py::test_b - assert 1 == 2",
	"tests/unit/test_refund.py:27: AssertionError", "=================================== FAILURES ===================================",
	"======================== 1 failed, 400 passed in 31.20s ========================", "tests/test_a.py ..F.", "tests/test_a.py::test_x ERROR",
	"Traceback (most recent call last):", "ValueError: bad value", "test tests::it_works ... FAILED",
	"thread 'main' panicked at src/main.rs:2:5:", "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured", "error[E0308]: mismatched types",
	"  left: 3", " right: 4", "warning: unused variable: `x`", "  ● checkout › applies a voucher once", "    ✕ applies a voucher once (5 ms)",
	"  ✘  181 [chromium] › specs/checkout.spec.ts:38:5 › applies a voucher once (5.2s)", "  ✗ adds", " ❯ src/a.test.ts (2 tests | 1 failed) 3ms", " × adds numbers",
	"    Expected: 1200", "    Received: 1199", "    Expected string: \"12.00\"", "Tests:       1 failed, 520 passed, 521 total", "  1 failing",
	"FAILURES!", "Tests: 5, Assertions: 12, Failures: 1.", "Failed asserting that 1 matches expected 2.", "There was 1 failure:", "not ok 3 - adds numbers", "# fail 1",
	"[  FAILED  ] Suite.Test (0 ms)", "12/20 Test #12: foo ..............***Failed    0.01 sec", "Failed!  - Failed:     1, Passed:     5, Skipped:     0",
	"[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0", "com.x.FooTest > adds FAILED", "java.lang.AssertionError: expected:<1> but was:<2>",
	"Caused by: java.io.IOException: Broken pipe", "  1) Failure:", "3 runs, 3 assertions, 1 failures, 0 errors, 0 skips", "Failure/Error: expect(a).to eq(b)",
	"  * test greets (FAILED)", "- should add *** FAILED ***", "XPASS(strict)",

	// Compilers, linters, builds.
	"src/pump.c:118:9: warning: unused variable 'lastTick' [-Wunused-variable]", "main.c:3:1: error: expected ';' before '}' token",
	"/usr/bin/ld: relay.o: undefined reference to `codec_open'", "collect2: error: ld returned 1 exit status", "ld: symbol(s) not found for architecture arm64",
	"packages/api/src/route.ts(44,17): error TS2345: Argument of type 'string | undefined' is not assignable to parameter of type 'string'.",
	"  Type 'undefined' is not assignable to type 'string'.", "error TS5083: Cannot read file 'packages/base/tsconfig.json'.", "Found 2 errors.",
	"./main.go:12:2: undefined: foo", "./a.go:3:8: \"os\" imported and not used (unused import)", "Main.java:5: error: ';' expected", "make: *** [Makefile:12: all] Error 2",
	"make[1]: *** No rule to make target 'x', needed by 'y'.  Stop.", "ninja: build stopped: subcommand failed.", "CMake Error at CMakeLists.txt:5 (find_package):",
	"e: file:///a/B.kt:3:5 Unresolved reference: foo", "  12:3  error  'x' is not defined  no-undef", "✖ 3 problems (2 errors, 1 warning)", "BUILD FAILED in 3s",
	"[ERROR] Failed to execute goal org.x:y", "> Task :compileJava FAILED", "Program.cs(5,9): error CS0103: The name 'x' does not exist in the current context",
	"a.py:1: error: Incompatible types in assignment", "SyntaxError: Unexpected token '}'", "Module not found: Error: Can't resolve './x'", "main.c:3:1: Fehler: »x« nicht deklariert",
	"main.c:3:1: 错误：‘x’ 未声明", "CONFLICT (content): Merge conflict in a.go", "error: Your local changes would be overwritten", " ! [rejected]        main -> main (non-fast-forward)",
	"	both modified:   a.go",

	// Package managers, shells, containers, infrastructure.
	"npm ERR! code ELIFECYCLE", "npm error code ERESOLVE", "npm WARN deprecated x@1.0.0: no longer supported", "ERR_PNPM_OUTDATED_LOCKFILE  Cannot install",
	"ERROR: No matching distribution found for x==9", "E: Unable to locate package x", "W: Some index files failed to download", "bash: protoc: command not found",
	"cp: cannot create regular file 'out/relay': Permission denied", "Segmentation fault (core dumped)", "Killed", "Out of memory: Killed process 12", "OOMKilled", "signal: killed",
	"ls: cannot access 'x': No such file or directory", "curl: (7) Failed to connect: Connection refused", "ssh: connect to host x port 22: Connection timed out",
	"web-0   0/1   CrashLoopBackOff   12   1h", "web-1   0/1   ImagePullBackOff   0   1h", "  Warning  Unhealthy  1m  kubelet  Readiness probe", "web-2   0/1   Pending   0   1h", "│ Error: Unsupported argument",
	"#12 ERROR: process \"/bin/sh -c npm ci\" did not complete successfully: exit code: 1", "ERROR: failed to solve: process did not complete", "fatal: [web1]: FAILED! => {\"changed\": false}",
	"web1 : ok=3 changed=0 unreachable=0 failed=1", "fatal: not a git repository (or any of the parent directories): .git", "Process exited with code 1", "exit code: 137",
	"Command failed with exit code 2.", "Exit code: 1", "<returncode>2</returncode>", "found 3 vulnerabilities (1 high)", "3 errors and 0 warnings",

	// Logs.
	"2031-04-02T06:00:01.000Z ERROR store: shelf 221 has -3 items", "[ERROR] block 301: checksum 9f2c differs from 9f2d", "Apr  2 06:00:01 web kernel: Out of memory",
	"E0402 06:00:01.000000       1 main.go:12] boom", "W0402 06:00:01.000000       1 main.go:12] hm", "F0402 06:00:01.000000       1 main.go:12] boom",
	`{"level":"error","msg":"x"}`, `{"level":50,"msg":"x"}`, `time=x level=info msg="retry" err="dial tcp: i/o timeout"`, "3:04PM ERR cannot bind port", "3:04PM WRN slow",
	"CRITICAL: disk full", "[crit] 12#0: x", "[alert] 1#1: worker process exited with code 139", "[emerg] bind() failed", "SEVERE: x", "FATAL:  password authentication failed",
	`1.2.3.4 - - [02/Apr/2031:06:00:00 +0000] "GET / HTTP/1.1" 502 157`, "worker 0 failed", "job 0 had errors", "error 0 at line 3", "error: 0x80070005", "error: null pointer dereference",
	"finished with 0 errors and failed to upload", "rate limit exceeded", "❌ deploy", "build ❌ done", "⚠ careful", "connection reset by peer", "request timeout after 30s",
	"Exception in thread \"main\" java.lang.NullPointerException", "System.InvalidOperationException: x", "PHP Fatal error:  Uncaught TypeError", "undefined method `x' for nil:NilClass (NoMethodError)",
	"level=warn msg=slow", "open /x: ENOENT", "code: 'ERR_MODULE_NOT_FOUND'", `"PRIORITY":"3"`, "Exited (137) 5 minutes ago", "node-1 NotReady", "bad interpreter: x", "disk is down", "server exited", "mysql_error: gone away", "status=503 path=/x", `"status": 500,`, "✓ 12 passed, 3 failed", "✔ Compiled with warnings", "Error: x, errors: 0",
}

// routineLines are lines that may go.
var routineLines = []string{
	"ok  \texample.test/shop/errors\t0.213s", "ok pkg/errors", "ok   check 301 of 400 took 2 ms", "--- PASS: TestErrorHandling (0.00s)", "    --- PASS: TestA/fails_on_error (0.00s)",
	"=== RUN   TestErrorPath", "=== CONT  TestPanicRecovers", "PASS", "tests/unit/test_error.py::test_error_path PASSED", "tests/unit/test_error.py::test_error_path PASSED                 [ 12%]",
	"test errors::fails_cleanly ... ok", "  ✓ returns an error when it fails (3 ms)", "    ✔ rejects invalid input", "[       OK ] Errors.Fails (0 ms)", "[ RUN      ] Errors.Fails",
	"test_error (mod.Class) ... ok", "com.x.ErrorTest > fails PASSED", "ok 12 - fails with an error", "[gw0] [ 50%] PASSED tests/test_error.py::test_fail", "?   \texample.test/errors\t[no test files]",
	"PASS src/errors.test.js", "Test Case '-[T testFailure]' passed (0.001 seconds).", "tests/test_a.py ..s.x                [ 50%]",
	"0 errors", "0 failed", "no failures", "No errors found", "Found 0 errors. Watching for file changes.", "Failures: 0, Errors: 0", "Tests run: 5, Failures: 0, Errors: 0, Skipped: 0",
	"5 passed, 0 failed", "12 tests 0 failed", "0 warnings generated", "compiled with 0 errors", "found 0 vulnerabilities", "no errors or warnings", "0 Error(s)", "# fail 0", "fail 0", "web1 : ok=3 changed=0 unreachable=0 failed=0",
	`{"level":"info","error":null,"errors":[]}`, `level=info msg=x err=nil n=1`, `level=info err=<nil>`, `"error": false,`, `error=""`, "finished without errors", "exit code 0", "Process exited with code 0", "exit status: 0", "Exit code: 0",
	"no type errors", "0 compile errors", "Compiling thiserror v1.0.50", "   Compiling error-chain v0.12.4", "Downloading https://x.test/error_prone_annotations-2.3.pom",
	"  CC      build/obj/error_handler.o", "[ 12%] Building CXX object src/errors.cc.o", "[12/300] Compiling errors.swift", "gcc -Wall -Werror -fno-exceptions -c a.c -o a.o", "cc --fail-fast a.c",
	"2031-04-02T06:00:00.001Z INFO  store: counted shelf 001", "[INFO] packing asset group 001 of 200", "[INFO] probe 001 answered in time", "timeout=30s retries=3", `"timeout": 30,`,
	"Project 'packages/part-001/tsconfig.json' is up to date because newest input 'packages/part-001/src/index.ts' is older than its output",
	"drwxr-xr-x 2 app app 4096 Apr  2 06:00 data", "  Slow test file: [chromium] › specs/catalog-001.spec.ts (8.1s)", "DEBUG    pool:pool.py:001 worker took ticket 001 and put it back",
	"0.012s call     tests/unit/test_stock_012.py::test_level_012", "", " ", "\r", "OK (5 tests, 12 assertions)", "worker is ready", "warnock", "failover ok", `"PRIORITY":"6"`, "Exited (0) 5 minutes ago", "worker exited with code 0",
}

func TestImportant(t *testing.T) {
	for _, line := range failureLines {
		if Important([]byte(line)) == None {
			t.Errorf("lost %q", line)
		}
		if Important([]byte(line+"\r")) == None {
			t.Errorf("lost %q with a carriage return", line)
		}
	}
	for _, line := range routineLines {
		if sev := Important([]byte(line)); sev != None {
			t.Errorf("kept %q (%d)", line, sev)
		}
	}
}

// Every needle is found at every alignment, alone and inside text.
func TestNeedlesFound(t *testing.T) {
	for _, n := range needles {
		if len(n.text) < 4 {
			t.Errorf("%q is too short for the search", n.text)
		}
		for pad := range 5 {
			for _, tail := range []string{"", "!", " after", "\r"} {
				line := []byte(strings.Repeat("-", pad) + upper(n.text) + tail)
				found := false
				for i := search.next(line, 0); i < len(line); i = search.next(line, i+2) {
					for _, a := range search.lists[search.index[triple(line[i], line[i+1], line[i+2])]] {
						at := i - int(a.offset)
						found = found || at == pad && needles[a.needle].text == n.text && hasFold(line, at, search.lower[a.needle])
					}
				}
				if !found {
					t.Errorf("%q is not found in %q", n.text, line)
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, n := range needles {
		if seen[n.text] {
			t.Errorf("%q stands twice", n.text)
		}
		seen[n.text] = true
	}
	if len(search.lists) > 1<<16 {
		t.Error("too many lists for the index")
	}
}

// upper is s with its first letter in upper case, if that is ASCII.
func upper(s string) string {
	if c := s[0]; 'a' <= c && c <= 'z' {
		return string(c-0x20) + s[1:]
	}
	return s
}

// obvious is the slow and plain filter that important lines are held against:
// a word that means failure, by itself, in a line that is not about passing,
// and not counted as none.
var (
	obviousWord = regexp.MustCompile(`(?i)(^|[^a-z0-9_/.\\@+-])(error|errors|failed|failure|fatal|panic|exception|traceback|critical|denied|refused|crashed|cannot|unexpected|corrupted|undefined|segmentation fault|killed|warning|npm err!|command not found|undefined reference|no such file|out of memory|caused by)($|[^a-z0-9_/.\\@=+-])`)
	obviousNone = regexp.MustCompile(`(?i)\b(0|0%|no|zero|without)["' ]+([a-z0-9%]+["' ]+)?[a-z"']*\b(error|fail|fatal|panic|exception|critical|denied|refused|crash|unexpected|corrupt|warning)|(error|fail|fatal|panic|exception|critical|denied|refused|crash|unexpected|corrupt|warning)[a-z]*["'\\]*(\(s\))?[ \t]*[:=]?[ \t]*("?none|"?null|nil|<nil>|false|0|""|''|\[\]|\{\}|undefined|no|off|-)|\b(or|and|nor)\b`)
)

func obvious(line []byte) bool {
	line = AppendPlain(nil, line)
	return obviousWord.Match(line) && !obviousNone.Match(line) && !Passing(line) && !bytes.Contains(line, []byte(" -")) && !bytes.HasPrefix(line, []byte("-"))
}

func TestObviousLines(t *testing.T) {
	n := 0
	for _, line := range failureLines {
		if obvious([]byte(line)) {
			n++
		}
	}
	if n < len(failureLines)/4 {
		t.Errorf("the plain filter knows %d of %d failure lines only", n, len(failureLines))
	}
}

// A line costs no more than in proportion to its length.
func TestImportantLinear(t *testing.T) {
	for _, piece := range []string{"0 error", "0error", "no errors or ", "expected ", "missing-", "--error", "  ", "0 fail  ", "\" \" error:0 ", ".py ."} {
		// Not a timing: steps that grow with the square of a line this long
		// would not end within the limit of the test run.
		Important([]byte(strings.Repeat(piece, 1<<22/len(piece))))
	}
}

func FuzzImportant(f *testing.F) {
	for _, line := range append(failureLines, routineLines...) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 {
			return
		}
		if obvious(line) && Important(line) == None {
			t.Errorf("lost %q", line)
		}
	})
}

func BenchmarkImportant(b *testing.B) {
	b.Run("baseline", func(b *testing.B) { // one look at each byte, for the ratio
		text := bytes.Repeat([]byte("ok  \texample.test/shop/early001\t0.001s"), 30)
		b.SetBytes(int64(len(text)))
		n := 0
		for b.Loop() {
			for _, c := range text {
				if c == '\n' {
					n++
				}
			}
		}
	})
	for name, line := range map[string]string{
		"passing": "ok  \texample.test/shop/early001\t0.001s", "log": "2031-04-02T06:00:00.001Z INFO  store: counted shelf 001 of the second floor in the north wing",
		"cc": "  CC      build/obj/module_001.o", "prose": "the quick brown fox jumps over the lazy dog and then some more text follows here until the line is long",
	} {
		b.Run(name, func(b *testing.B) {
			text := []byte(line)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Important(text)
			}
		})
	}
}

// What is written for a whole of passing tests is passing, and only that.
func TestPassingWholes(t *testing.T) {
	for line, want := range map[string]bool{
		".............................................................    61 / 7320 (  0%)": true,
		"..S..........................................................  7320 / 7320 (100%)": true,
		"....................F........................................  4758 / 7320 ( 65%)": false,
		"....................E........................................  4758 / 7320 ( 65%)": false,
		"... and 61 more (0%)":                   false,
		"[INFO] Running example.shop.LedgerTest": true,
		"[INFO] Tests run: 9, Failures: 0, Errors: 0, Skipped: 2, Time elapsed: 0.404 s -- in example.shop.LedgerTest":               true,
		"[ERROR] Tests run: 9, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.404 s <<< FAILURE! -- in example.shop.LedgerTest": false,
		"[INFO] Tests run: 9, Failures: 0, Errors: 0, Skipped: 0":                                                                    false, // the summary
		"[INFO] Tests run: 9, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.404 s -- in example.shop.LedgerTest":               false,
		"[INFO] BUILD FAILURE": false,
	} {
		if got := Passing([]byte(line)); got != want {
			t.Errorf("%q: passing %v", line, got)
		}
	}
	for line, want := range map[string]bool{"=== RUN   TestX": true, "    [ RUN      ] A.B": true, "Test Case '-[A b]' started.": true, "Test Case '-[A b]' passed (0.1 seconds).": false, "--- PASS: TestX (0.00s)": false} {
		if got := Starting([]byte(line)); got != want {
			t.Errorf("%q: starting %v", line, got)
		}
	}
}

// The call of a compiler is routine, what it and the linker say is not.
func TestCompiles(t *testing.T) {
	for line, want := range map[string]bool{
		"gcc -std=c17 -Wall -Werror -O2 -Iinclude -MMD -c -o build/error.o src/error.c": true,
		"/usr/bin/x86_64-linux-gnu-gcc-12 -O2 -o a.o a.c":                               true,
		"clang++-17 -fno-exceptions -c fail.cc":                                         true,
		"ar rcs build/libpump.a build/pump.o":                                           true,
		"libtool: compile:  gcc -c pump.c":                                              true,
		"javac -d build src/App.java":                                                   true,
		"gcc: error: no input files":                                                    false,
		"gcc is what builds this":                                                       false,
		"clang: warning: argument unused during compilation":                            false,
		"/usr/bin/ld: build/main.o: in function `main':":                                false,
		"rm -f build/pump.o":                                                            false,
		"cc1: all warnings being treated as errors":                                     false,
		"python3 -m build":                                                              false,
	} {
		if got := compiles([]byte(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
		if want && Important([]byte(line)) != None {
			t.Errorf("%q is important", line)
		}
	}
	// The compiler's own words in the line make it one that stays.
	for _, line := range []string{"gcc -c pump.c failed with exit code 1", "gcc -c pump.c: Segmentation fault", "ld -o shop main.o: cannot find -lpump"} {
		if Important([]byte(line)) == None {
			t.Errorf("%q is not important", line)
		}
	}
}
