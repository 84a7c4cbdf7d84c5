package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// filler is n routine lines made from a format with one number.
func filler(format string, n int) string {
	if format == "" {
		return ""
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i+1)
	}
	return b.String()
}

// keepCase is an output with routine lines around what matters. In text, lines
// that start with "+" have to be kept and lines that start with "-" must not
// be; those with "=" may go either way.
type keepCase struct {
	name    string
	command string
	class   Class
	routine string // routine lines around the text, %d in them
	text    string
}

var keepCases = []keepCase{
	{"go test", "go test ./...", TestOutput, "ok  \texample.test/shop/p%d\t0.01s", `
+--- FAIL: TestLedgerClose (0.01s)
+    ledger_test.go:88: closing balance: got 4107, want 4170
+        second line of the message
+    --- FAIL: TestLedgerClose/negative (0.00s)
+        ledger_test.go:91: entry 17 has no counter entry
+FAIL
+FAIL	example.test/shop/ledger	0.213s`},
	{"go test, output before the failure", "go test ./...", TestOutput, "ok  \texample.test/shop/p%d\t0.01s", `
+opened ledger 7
+closing
+--- FAIL: TestLedgerClose (0.01s)
+FAIL
+FAIL	example.test/shop/ledger	0.213s
-ok  	example.test/shop/after	0.01s
+main returned 3
+FAIL	example.test/shop/bad	0.213s`},
	{"go test -v", "go test -v ./...", TestOutput, "=== RUN   TestPass%[1]d\n    a_test.go:5: fine %[1]d\n--- PASS: TestPass%[1]d (0.00s)", `
+=== RUN   TestBroken
+    b_test.go:9: first remark
+printed by the test
+    b_test.go:12: sum is 3
+--- FAIL: TestBroken (0.01s)
-=== RUN   TestOther
-    b_test.go:19: nothing to see
---- PASS: TestOther (0.00s)`},
	{"go test -v, parallel subtests", "go test -v ./...", TestOutput, "=== RUN   TestPass%[1]d\n--- PASS: TestPass%[1]d (0.00s)", `
+=== RUN   TestP
-=== RUN   TestP/good
-=== PAUSE TestP/good
+=== RUN   TestP/broken
=== PAUSE TestP/broken
-=== CONT  TestP/good
-    p_test.go:3: good one speaks
+=== CONT  TestP/broken
+    p_test.go:4: broken one speaks
+=== NAME  TestP
+    p_test.go:9: parent speaks
+--- FAIL: TestP (0.02s)
-    --- PASS: TestP/good (0.00s)
+    --- FAIL: TestP/broken (0.01s)`},
	{"go panic", "go test ./...", TestOutput, "ok  \texample.test/shop/p%d\t0.01s", `
+panic: runtime error: index out of range [3] with length 3 [recovered]
+	panic: runtime error: index out of range [3] with length 3
+
+goroutine 7 [running]:
+testing.tRunner.func1.2({0x1027e0, 0xc00001c0a8})
+	/usr/local/go/src/testing/testing.go:1545 +0x1c8
+example.test/shop/ledger.TestX(0xc000003a00)
+	/src/ledger/ledger_test.go:12 +0x1d
+created by testing.(*T).Run in goroutine 1
+	/usr/local/go/src/testing/testing.go:1648 +0x3ad
+
+goroutine 1 [chan receive]:
+testing.(*T).Run(0xc000003860, {0x10f3a5?, 0x0?}, 0x118e20)
+	/usr/local/go/src/testing/testing.go:1649 +0x3c8
+main.main()
+	_testmain.go:47 +0x1bd
+exit status 2
+FAIL	example.test/shop/ledger	0.213s`},
	{"go data race", "go test -race ./...", TestOutput, "ok  \texample.test/shop/p%d\t0.01s", `
+WARNING: DATA RACE
+Write at 0x00c00001c0a8 by goroutine 8:
+  example.test/shop/ledger.add()
+      /src/ledger/ledger.go:12 +0x44
+
+Previous read at 0x00c00001c0a8 by goroutine 7:
+  example.test/shop/ledger.sum()
+      /src/ledger/ledger.go:30 +0x44
+==================`},
	{"go build", "go build ./...", Build, "go: downloading example.test/mod%d v1.0.0", `
+# example.test/shop/ledger
+./ledger.go:12:2: undefined: foo
+./ledger.go:13:5: cannot use x (variable of type int) as string value in argument to f:
+	int does not implement string
+./ledger.go:20:1: declared and not used: y`},
	{"pytest", "pytest -v", TestOutput, "tests/unit/test_%[1]d.py::test_level_%[1]d PASSED", `
+tests/unit/test_refund.py::test_refund_rounding FAILED
+=================================== FAILURES ===================================
+_____________________________ test_refund_rounding _____________________________
+
+    def test_refund_rounding():
+        amount = 10.005
+>       assert refund(amount) == 10.01
+E       assert 10.0 == 10.01
+E        +  where 10.0 = refund(10.005)
+
+tests/unit/test_refund.py:27: AssertionError
+------------------------------ Captured log call -------------------------------
+INFO     shop:refund.py:12 rounding down
+=========================== short test summary info ============================
+FAILED tests/unit/test_refund.py::test_refund_rounding - assert 10.0 == 10.01
+======================== 1 failed, 400 passed in 31.20s ========================`},
	{"unittest", "python -m unittest -v", TestOutput, "test_%d (mod.Case) ... ok", `
+test_total (mod.Case) ... FAIL
=
=======================================================================
+FAIL: test_total (mod.Case)
+----------------------------------------------------------------------
+Traceback (most recent call last):
+  File "/src/test_mod.py", line 8, in test_total
+    self.assertEqual([1, 2], [1, 3])
+AssertionError: Lists differ: [1, 2] != [1, 3]
+
+First differing element 1:
+2
+3
+
+- [1, 2]
+?     ^
+
+ [1, 3]`},
	{"python traceback", "python x.py && make all", Build, "  CC      build/obj/m_%d.o", `
+Traceback (most recent call last):
+  File "gen.py", line 3, in <module>
+    main()
+KeyError: 'name'
+
+During handling of the above exception, another exception occurred:
+
+Traceback (most recent call last):
+  File "gen.py", line 9, in <module>
+    raise GenError("no name")
+gen.GenError: no name
-  CC      build/obj/last.o`},
	{"cargo test", "cargo test", TestOutput, "test tests::passes_%d ... ok", `
+test tests::breaks ... FAILED
-test tests::error_path ... ok
+failures:
+
+---- tests::breaks stdout ----
+thread 'tests::breaks' panicked at src/lib.rs:12:9:
+assertion ` + "`left == right`" + ` failed
+  left: 3
+ right: 4
+note: run with ` + "`RUST_BACKTRACE=1`" + ` environment variable to display a backtrace
+
+
+failures:
+    tests::breaks
+
+test result: FAILED. 60 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out`},
	{"rustc", "cargo build", Build, "   Compiling crate%d v0.1.0", `
+error[E0308]: mismatched types
+ --> src/main.rs:4:18
+  |
+4 |     let x: i32 = "a";
+  |            ---   ^^^ expected ` + "`i32`" + `, found ` + "`&str`" + `
+  |            |
+  |            expected due to this
+
-   Compiling thiserror v1.0.0
+warning: unused variable: ` + "`y`" + `
+ --> src/main.rs:5:9
+  |
+5 |     let y = 1;
+  |         ^ help: if this is intentional, prefix it with an underscore
+  |
+  = note: ` + "`#[warn(unused_variables)]`" + ` on by default`},
	{"jest", "npx jest --verbose", TestOutput, "    ✓ counts item %d (3 ms)", `
+    ✕ rounds the refund up (5 ms)
-    ✓ counts the last item
+  ● refund › rounds the refund up
+
+    expect(received).toBe(expected) // Object.is equality
+
+    Expected: 1200
+    Received: 1199
+
+      40 |   const total = refund(10.005);
+    > 41 |   expect(total).toBe(1200);
+         |                 ^
+
+      at Object.<anonymous> (src/refund.test.ts:41:17)
+
-    ✓ counts another item
+Test Suites: 1 failed, 3 passed, 4 total`},
	{"vitest", "npx vitest run", TestOutput, " ✓ src/a%d.test.ts (3 tests) 3ms", `
+ ❯ src/b.test.ts (2 tests | 1 failed) 9ms
+   × adds numbers 5ms
+⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯
+
+ FAIL  src/b.test.ts > adds numbers
+AssertionError: expected 3 to be 4 // Object.is equality
+
+- Expected
++ Received
+
+- 4
++ 3
+
+ ❯ src/b.test.ts:5:13
+      3| test('adds numbers', () => {
+      4|   expect(add(1, 2)).toBe(4)
+
+⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯⎯
+ Test Files  1 failed | 60 passed (61)`},
	{"mocha", "npx mocha", TestOutput, "    ✔ works %d", `
+    1) breaks
-    ✔ works again
+  1 failing
+
+  1) Array
+       #indexOf()
+         breaks:
+
+      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
+      + expected - actual
+
+      -1
+      +0
+
+      at Context.<anonymous> (test/test.js:5:14)`},
	{"playwright", "npx playwright test", TestOutput, "  ✓  %d [chromium] › specs/c.spec.ts:9:3 › shows product (412ms)", `
+  ✘  181 [chromium] › specs/checkout.spec.ts:38:5 › applies a voucher once (5.2s)
-  ✓  182 [chromium] › specs/a.spec.ts:9:3 › opens (388ms)
+  1) [chromium] › specs/checkout.spec.ts:38:5 › applies a voucher once ─────────
+
+    Error: expect(locator).toHaveText(expected)
+
+    Expected string: "12.00"
+    Received string: "24.00"
+
+      40 |   await page.getByTestId('voucher').click();
+    > 41 |   await expect(total).toHaveText('12.00');
+         |                       ^
+
+        at specs/checkout.spec.ts:41:23
+
-  Slow test file: [chromium] › specs/catalog-001.spec.ts (8.1s)`},
	{"tap", "node --test", TestOutput, "ok %d - works", `
+not ok 61 - adds numbers
+  ---
+  duration_ms: 1.2
+  location: '/src/a.test.js:3:1'
+  error: 'Expected values to be strictly equal'
+  expected: 4
+  actual: 3
+  ...
-ok 62 - works again`},
	{"phpunit", "vendor/bin/phpunit", TestOutput, "Passed case %d", `
+There was 1 failure:
+
+1) StackTest::testPush
+Failed asserting that 1 matches expected 2.
+
+/src/tests/StackTest.php:12
+
+FAILURES!
+Tests: 60, Assertions: 61, Failures: 1.`},
	{"rspec", "bundle exec rspec", TestOutput, "ok spec %d", `
+Failures:
+
+  1) Refund rounds up
+     Failure/Error: expect(refund(10.005)).to eq(10.01)
+
+       expected: 10.01
+            got: 10.0
+
+       (compared using ==)
+     # ./spec/refund_spec.rb:5:in 'block (2 levels) in <top (required)>'
=
=Finished in 0.01 seconds (files took 0.1 seconds to load)
+61 examples, 1 failure
=
+Failed examples:
+
+rspec ./spec/refund_spec.rb:4 # Refund rounds up`},
	{"minitest", "bundle exec rails test", TestOutput, "ok case %d", `
+  1) Failure:
+RefundTest#test_rounding [test/refund_test.rb:5]:
+Expected: 10.01
+  Actual: 10.0`},
	{"exunit", "mix test", TestOutput, "ok case %d", `
+  1) test rounds up (RefundTest)
+     test/refund_test.exs:5
+     Assertion with == failed
+     code:  assert refund(10.005) == 10.01
+     left:  10.0
+     right: 10.01
+     stacktrace:
+       test/refund_test.exs:6: (test)
+
=Finished in 0.03 seconds`},
	{"gtest", "ctest --output-on-failure", TestOutput, "[ RUN      ] Sum.Works%[1]d\n[       OK ] Sum.Works%[1]d (0 ms)", `
+[ RUN      ] Sum.Breaks
+sum of 1 and 2
+/src/sum_test.cc:12: Failure
+Expected equality of these values:
+  sum(1, 2)
+    Which is: 3
+  4
+[  FAILED  ] Sum.Breaks (0 ms)
-[ RUN      ] Sum.WorksAgain
-[       OK ] Sum.WorksAgain (0 ms)`},
	{"ctest", "ctest", TestOutput, " %[1]d/60 Test #%[1]d: sum_%[1]d ........   Passed    0.01 sec", `
+ 61/62 Test #61: sum_breaks ........***Failed    0.01 sec
+sum of 1 and 2
+gave 4
-      Start 62: sum_last`},
	{"maven", "mvn test", Build, "[INFO] Downloading from central: https://repo.test/x%d.pom", `
+[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! - in com.x.RefundTest
+[ERROR] rounds(com.x.RefundTest)  Time elapsed: 0.01 s  <<< FAILURE!
+java.lang.AssertionError: expected:<10.01> but was:<10.0>
+	at org.junit.Assert.fail(Assert.java:88)
+	at com.x.RefundTest.rounds(RefundTest.java:12)
+Caused by: java.io.IOException: gone
+	... 23 more
-[INFO] Downloading from central: https://repo.test/last.pom`},
	{"gradle", "./gradlew test", Build, "> Task :m%d:compileJava UP-TO-DATE", `
+> Task :app:test FAILED
+com.x.RefundTest > rounds() FAILED
+    org.opentest4j.AssertionFailedError: expected: <10.01> but was: <10.0>
+        at com.x.RefundTest.rounds(RefundTest.java:12)
+FAILURE: Build failed with an exception.
+
+* What went wrong:
+Execution failed for task ':app:test'.
+> There were failing tests. See the report at: file:///x
+
+* Try:
+> Run with --scan to get full insights.
+
+BUILD FAILED in 3s`},
	{"message in many lines", "make", Build, "  CC      build/obj/m_%d.o", `
+ERROR: the generator is too old
+please install version 4 or newer
+(see the wiki)
-this was the third line behind it
-  CC      build/obj/next.o`},
	{"javac", "javac *.java", Build, "[parsing started SimpleFileObject[/src/M%d.java]]", `
+Main.java:5: error: ';' expected
+        int x = 1
+                 ^
+1 error`},
	{"gcc", "make -j8", Build, "  CC      build/obj/m_%d.o", `
+In file included from src/a.c:3:
+                 from src/b.c:4:
+src/pump.h:12:3: error: unknown type name 'pump_t'
+   12 |   pump_t *next;
+      |   ^~~~~~
-  CC      build/obj/error_handler.o
+src/pump.c: In function 'tick':
+src/pump.c:118:9: warning: unused variable 'lastTick' [-Wunused-variable]
+  118 |     int lastTick;
+      |         ^~~~~~~~
-  LD      build/bin/tool
+/usr/bin/ld: relay.o: in function ` + "`main'" + `:
+relay.c:(.text+0x5): undefined reference to ` + "`codec_open'" + `
+collect2: error: ld returned 1 exit status
+make: *** [Makefile:12: all] Error 1`},
	{"tsc pretty", "npx tsc --pretty", Build, "Project 'packages/p%d/tsconfig.json' is up to date", `
+src/route.ts:44:17 - error TS2345: Argument of type 'undefined' is not assignable to parameter of type 'string'.
+
+44     open(undefined);
+            ~~~~~~~~~
+
+  src/open.ts:3:22
+    3 export function open(name: string) {}
+                           ~~~~
+    The expected type comes from parameter 'name'`},
	{"eslint", "npm run lint", Build, "Checking file%d.ts", `
+/src/route.ts
+  12:3  error    'x' is not defined      no-undef
+  14:5  warning  Unexpected console statement  no-console
+
+✖ 2 problems (1 error, 1 warning)`},
	{"node crash", "npm run build", Build, "transforming (%d) src/a.ts", `
+/src/build.js:3
+  foo(;
+      ^
+
+SyntaxError: Unexpected token ';'
+    at internalCompileFunction (node:internal/vm:73:18)
+    at wrapSafe (node:internal/modules/cjs/loader:1178:20)
+
=Node.js v20.11.0`},
	{"npm", "npm ci", Progress, "npm http fetch GET 200 https://registry.test/p%d 12ms", `
+npm WARN deprecated x@1.0.0: this package is no longer supported
+npm ERR! code ELIFECYCLE
+npm ERR! storefront@2.1.0 build: ` + "`vite build`" + `
+npm ERR! Exit status 1`},
	{"pip", "pip install -r requirements.txt", Progress, "Collecting pkg%d==1.0", `
+ERROR: Could not find a version that satisfies the requirement x==9 (from versions: 1, 2)
+ERROR: No matching distribution found for x==9`},
	{"docker", "docker build .", Build, "#%d 0.345 Get:1 http://deb.test/debian bookworm InRelease", `
+#12 ERROR: process "/bin/sh -c npm ci" did not complete successfully: exit code: 1
+------
+ > [build 4/6] RUN npm ci:
+0.345 npm notice
+1.201 added 3 packages
+------
+Dockerfile:9
+--------------------
+   7 |     COPY package.json .
+   9 | >>> RUN npm ci
+--------------------
+ERROR: failed to solve: process "/bin/sh -c npm ci" did not complete successfully: exit code: 1`},
	{"terraform", "terraform apply", Build, "aws_instance.web[%d]: Still creating... [10s elapsed]", `
+╷
+│ Error: creating EC2 Instance: UnauthorizedOperation
+│ 
+│   with aws_instance.web,
+│   on main.tf line 3, in resource "aws_instance" "web":
+│    3: resource "aws_instance" "web" {
+│ 
+╵`},
	{"terraform plan", "terraform plan", Build, "aws_instance.web[%d]: Refreshing state... [id=i-0]", `
+Terraform will perform the following actions:
+
+  # aws_instance.web will be destroyed
+  - resource "aws_instance" "web" {
+      - ami = "ami-1" -> null
+    }
+
+Plan: 0 to add, 0 to change, 1 to destroy.`},
	{"go benchmark", "go test -bench . ./...", TestOutput, "ok  \texample.test/shop/p%d\t0.01s", `
+BenchmarkSum-8   	 1000000	      1053 ns/op	     123 B/op
+BenchmarkSum/small-8   	 1000000	      53 ns/op`},
	{"coverage", "pytest --cov", TestOutput, "tests/unit/test_%[1]d.py::test_level_%[1]d PASSED  [ 50%%]", `
+src/shop/refund.py      120      3    98%   12-14
+src/shop/ledger.py       80      0   100%`},
	{"npm audit", "npm audit", Build, "", `
+lodash  <4.17.21
+Severity: high
+Prototype Pollution - https://advisories.test/1
+fix available via npm audit fix`},
	{"linter", "golangci-lint run", Build, "", `
+a.go:12:3: should omit type int
+a.go:13:3: exported func X should have comment
+* 2 issues:
+* lint: 2`},
	{"logcat", "adb logcat", Log, "04-02 06:00:00.123  1234  1250 I Store: counted shelf %d", `
+04-02 06:00:01.000  1234  1250 E Store: shelf is -3
+04-02 06:00:01.000  1234  1250 W Store: shelf is 0
-04-02 06:00:01.000  1234  1250 D Store: shelf is 7`},
	{"ansible", "ansible-playbook site.yml", Build, "ok: [web%d]", `
+TASK [install nginx] *********************************************************
+fatal: [web1]: FAILED! => {"changed": false, "msg": "No package matching 'nginx'"}
-ok: [web99]
+web1                       : ok=3    changed=0    unreachable=0    failed=1    skipped=0`},
	{"xctest", "swift test", TestOutput, "Test Case '-[T testA%[1]d]' started.\nTest Case '-[T testA%[1]d]' passed (0.001 seconds).", `
+Test Case '-[T testB]' started.
+value is 3
+/src/T.swift:12: error: -[T testB] : XCTAssertEqual failed: ("3") is not equal to ("4")
+Test Case '-[T testB]' failed (0.002 seconds).`},
	{"log with stacks", "kubectl logs web", Log, "2031-04-02T06:00:00.%03dZ INFO  store: counted shelf", `
+2031-04-02T06:00:01.000Z ERROR store: shelf 221 has -3 items
+java.lang.IllegalStateException: negative
+	at com.x.Store.count(Store.java:12)
+	at com.x.Main.main(Main.java:3)
+Caused by: java.sql.SQLException: gone
+	... 23 more
-2031-04-02T06:00:02.000Z INFO  store: next
-  with a second line
+2031-04-02T06:00:03.000Z INFO  store: a record
+whose third line says
+Connection refused`},
	{"log without times", "docker logs web", Log, "GET /shelf/%d 200 12ms", `
+Error: shelf 221 has -3 items
+    at Store.recount (store.js:204:11)
+    at main (main.js:3:1)
+  [cause]: Error: gone
-GET /shelf/999 200 12ms`},
	{"php log", "tail -n 500 app.log", Log, "[2031-04-02 06:00:00] prod.INFO: counted %d", `
+[2031-04-02 06:00:01] prod.ERROR: gone {"exception":"[object] (Exception(code: 0): gone at /src/a.php:3)
+[stacktrace]
+#0 /src/b.php(12): a()
+#1 {main}
+"}
-[2031-04-02 06:00:02] prod.INFO: next`},
}

// Colours other than red hide nothing and tell nothing: the same lines stay.
func TestKeepColours(t *testing.T) {
	for _, c := range keepCases {
		text := filler(c.routine, 30) + marked(c.text) + filler(c.routine, 30)
		var b strings.Builder
		for i, line := range strings.Split(text, "\n") {
			if i > 0 {
				b.WriteByte('\n')
			}
			if line == "" {
				continue
			}
			half := len(line) / 2
			fmt.Fprintf(&b, "\x1b[%dm\x1b]8;;x\x07%s\x1b[1m%s\x1b[0m\x1b(B", 32+i%6, line[:half], line[half:])
		}
		var plain, coloured Lines
		plain.Split([]byte(text))
		coloured.Split([]byte(b.String()))
		hint := HintFor("Bash", c.command, "")
		class, tool := ClassifyLines(hint, &plain)
		if got, _ := ClassifyLines(hint, &coloured); got != class {
			t.Errorf("%s: coloured it is %v, not %v", c.name, got, class)
		}
		var a, z Set
		Keep(&a, class, tool, &plain)
		Keep(&z, class, tool, &coloured)
		for i := range plain.Len() {
			if a.Has(i) != z.Has(i) {
				t.Errorf("%s: plain %v, coloured %v: %q", c.name, a.Has(i), z.Has(i), plain.Line(i))
			}
			if plainSev, sev := Important(plain.Line(i)), Important(coloured.Line(i)); plainSev != sev {
				t.Errorf("%s: plain %v, coloured %v: %q", c.name, plainSev, sev, plain.Line(i))
			}
		}
	}
}

// Carriage returns hide nothing either.
func TestKeepCRLF(t *testing.T) {
	for _, c := range keepCases {
		text := filler(c.routine, 30) + marked(c.text) + filler(c.routine, 30)
		var unix, dos Lines
		unix.Split([]byte(text))
		dos.Split([]byte(strings.ReplaceAll(text, "\n", "\r\n")))
		hint := HintFor("Bash", c.command, "")
		class, tool := ClassifyLines(hint, &unix)
		if got, _ := ClassifyLines(hint, &dos); got != class {
			t.Errorf("%s: with CRLF it is %v, not %v", c.name, got, class)
		}
		var a, z Set
		Keep(&a, class, tool, &unix)
		Keep(&z, class, tool, &dos)
		for i := range unix.Len() {
			if a.Has(i) && !z.Has(i) {
				t.Errorf("%s: with CRLF lost %q", c.name, unix.Line(i))
			}
		}
	}
}

// marked is the text of a case without its marks.
func marked(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\n"), "\n") {
		if line != "" {
			b.WriteString(line[1:])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestAppendPlain(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain\n": "plain\n", "\x1b[31mred\x1b[0m": "red", "\x1b[2K\x1b[1Gx": "x", "a\x1b": "a", "a\x1b[": "a", "a\x1b[31\nb": "a\nb", "\x1b]0;title\x07x": "x",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link", "\x1b]0;cut\nx": "\nx", "\x1b(Bx": "x", "\x1b\nx": "\nx", "\x1b=x": "x", "\x1bERROR": "ERROR", "\x1b[é": "é", "\x1b(\n": "\n",
	} {
		if got := string(AppendPlain(nil, []byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzAppendPlain(f *testing.F) {
	f.Add([]byte("a\x1b[31m\nb\x1b]0;x\x07\x1b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got := AppendPlain(nil, text); bytes.Count(got, []byte("\n")) != bytes.Count(text, []byte("\n")) || len(got) > len(text) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func TestKeep(t *testing.T) {
	for _, c := range keepCases {
		t.Run(c.name, func(t *testing.T) {
			text := filler(c.routine, 60)
			first := strings.Count(text, "\n")
			var marks []byte
			for _, line := range strings.Split(strings.TrimPrefix(c.text, "\n"), "\n") {
				if line == "" {
					marks, text = append(marks, '='), text+"\n"
					continue
				}
				marks, text = append(marks, line[0]), text+line[1:]+"\n"
			}
			text += filler(c.routine, 60)
			var lines Lines
			lines.Split([]byte(text))
			class, tool := ClassifyLines(HintFor("Bash", c.command, ""), &lines)
			if class != c.class {
				t.Fatalf("it is %v, not %v", class, c.class)
			}
			var keep Set
			Keep(&keep, class, tool, &lines)
			for i, m := range marks {
				line := lines.Line(first + i)
				switch has := keep.Has(first + i); {
				case m == '+' && !has && len(line) > 0:
					t.Errorf("lost %q", line)
				case m == '-' && has:
					t.Errorf("kept %q", line)
				}
			}
			around := 0
			for i := range lines.Len() {
				if (i < first-1 || i > first+len(marks)+maxTrail) && keep.Has(i) {
					if around++; around < 4 {
						t.Errorf("kept the routine line %q", lines.Line(i))
					}
				}
			}
		})
	}
}
