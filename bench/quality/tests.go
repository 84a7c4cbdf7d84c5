package quality

import (
	"strings"
)

// goTest is a verbose run of n lines with the given failures buried in it.
func goTest(seed uint64, n int, failures int) *gen {
	g := newGen(seed)
	every := n / (failures + 1)
	failed := 0
	for i := 0; g.lines < n-4; i++ {
		name := g.camel("Test", i)
		if failed < failures && i*3 > every*(failed+1) {
			failed++
			g.line("=== RUN   %s", name)
			g.keep("    %s_test.go:%d: balance after %d transfers: got %d, want %d", g.noun(), 40+g.IntN(300), 3+g.IntN(9), 4000+g.IntN(999), 5000+g.IntN(999))
			g.keep("--- FAIL: %s (0.%02ds)", name, g.IntN(99))
			continue
		}
		g.line("=== RUN   %s", name)
		if i%7 == 0 {
			g.line("    %s_test.go:%d: using fixture %s", g.noun(), 12+g.IntN(80), g.noun())
		}
		g.line("--- PASS: %s (0.%02ds)", name, g.IntN(99))
	}
	g.keep("FAIL")
	g.keep("FAIL\texample.test/shop/ledger\t%d.%03ds", 3+g.IntN(20), g.IntN(1000))
	g.keep("FAIL")
	return g
}

// pytest is a run with many passes and one traceback.
func pytest(seed uint64, passing int) *gen {
	g := newGen(seed)
	g.line("============================= test session starts ==============================")
	g.line("platform linux -- Python 3.13.1, pytest-8.3.4, pluggy-1.5.0 -- /usr/bin/python3")
	g.line("rootdir: /srv/shop\nconfigfile: pyproject.toml\nplugins: anyio-4.8.0, cov-6.0.0")
	g.line("collected %d items\n", passing+1)
	for i := range passing {
		g.line("tests/unit/test_%s.py::test_%s_%s_%d PASSED %s[%3d%%]", g.noun(), g.noun(), g.verb(), i, strings.Repeat(" ", g.IntN(12)), 100*i/passing)
	}
	g.keep("tests/unit/test_refund.py::test_refund_rounds_half_up FAILED                [100%%]")
	g.line("")
	g.line("=================================== FAILURES ===================================")
	g.keep("__________________________ test_refund_rounds_half_up __________________________")
	g.line("")
	g.line("    def test_refund_rounds_half_up():")
	g.line("        order = make_order(total=Decimal(\"10.005\"))")
	g.keep(">       assert refund(order).amount == Decimal(\"10.01\")")
	g.keep("E       AssertionError: assert Decimal('10.00') == Decimal('10.01')")
	g.keep("E        +  where Decimal('10.00') = Refund(order=7731, amount=Decimal('10.00')).amount")
	g.line("")
	g.keep("tests/unit/test_refund.py:27: AssertionError")
	g.line("=========================== short test summary info ============================")
	g.keep("FAILED tests/unit/test_refund.py::test_refund_rounds_half_up - AssertionError: assert Decimal('10.00') == Decimal('10.01')")
	g.keep("======================== 1 failed, %d passed in 31.20s =========================", passing)
	return g
}

// jest is a run of suites, one of which fails.
func jest(seed uint64) *gen {
	g := newGen(seed)
	for i := range 340 {
		g.line("PASS src/%s/%s.%d.test.ts (%d.%03d s)", g.noun(), g.noun(), i, 1+g.IntN(4), g.IntN(1000))
		if i == 200 {
			g.keep("FAIL src/basket/total.test.ts")
			g.keep("  ● basket total › applies the voucher before tax")
			g.line("")
			g.line("    expect(received).toBe(expected) // Object.is equality")
			g.line("")
			g.keep("    Expected: 1188")
			g.keep("    Received: 1212")
			g.line("")
			g.line("      41 |   const basket = fill(3)")
			g.line("    > 42 |   expect(total(basket, voucher)).toBe(1188)")
			g.line("         |                                 ^")
			g.keep("      at Object.<anonymous> (src/basket/total.test.ts:42:33)")
			g.line("")
		}
	}
	g.line("")
	g.keep("Test Suites: 1 failed, 340 passed, 341 total")
	g.keep("Tests:       1 failed, 2411 passed, 2412 total")
	g.line("Snapshots:   0 total\nTime:        48.112 s\nRan all test suites.")
	return g
}

// vitest is a run with a failure and an unhandled error.
func vitest(seed uint64) *gen {
	g := newGen(seed)
	g.line(" RUN  v3.0.5 /srv/shop\n")
	for i := range 300 {
		g.line(" ✓ src/%s/%s.spec.ts (%d tests) %dms", g.noun(), g.noun(), 1+i%14, 3+g.IntN(400))
	}
	g.keep(" ❯ src/courier/route.spec.ts (9 tests | 1 failed) 51ms")
	g.keep("   × courier route > avoids the closed bridge 14ms")
	g.keep("     → expected [ 'a', 'c', 'd' ] to deeply equal [ 'a', 'b', 'd' ]")
	g.line("")
	g.line("⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯\n")
	g.keep(" FAIL  src/courier/route.spec.ts > courier route > avoids the closed bridge")
	g.keep("AssertionError: expected [ 'a', 'c', 'd' ] to deeply equal [ 'a', 'b', 'd' ]")
	g.line("")
	g.keep(" ❯ src/courier/route.spec.ts:73:25")
	g.line("")
	g.keep(" Test Files  1 failed | 300 passed (301)")
	g.keep("      Tests  1 failed | 2093 passed (2094)")
	g.line("   Duration  21.04s")
	return g
}

// cargoTest is a run with a panic.
func cargoTest(seed uint64) *gen {
	g := newGen(seed)
	for range 160 {
		g.line("   Compiling %s-%s v%d.%d.%d", g.noun(), g.noun(), g.IntN(4), g.IntN(30), g.IntN(12))
	}
	g.line("    Finished `test` profile [unoptimized + debuginfo] target(s) in 61.20s")
	g.line("     Running unittests src/lib.rs (target/debug/deps/shop-%s)\n\nrunning 421 tests", g.hex(16))
	for i := range 420 {
		g.line("test %s::%s::%s_%s_%d ... ok", g.noun(), g.noun(), g.noun(), g.verb(), i)
	}
	g.keep("test planner::tests::splits_on_day_boundary ... FAILED")
	g.line("\nfailures:\n")
	g.keep("---- planner::tests::splits_on_day_boundary stdout ----")
	g.keep("thread 'planner::tests::splits_on_day_boundary' panicked at src/planner.rs:212:9:")
	g.keep("assertion `left == right` failed: second slot")
	g.keep("  left: 1439")
	g.keep(" right: 1440")
	g.line("note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\nfailures:")
	g.line("    planner::tests::splits_on_day_boundary\n")
	g.keep("test result: FAILED. 420 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.31s")
	g.line("")
	g.keep("error: test failed, to rerun pass `--lib`")
	return g
}

// manyFailures is a run in which everything fails, each in its own way.
func manyFailures(seed uint64, n int) *gen {
	g := newGen(seed)
	for i := range n {
		name := g.camel("TestRoute", i)
		g.line("=== RUN   %s", name)
		g.line("    route_test.go:%d: GET /v1/%s/%d: the handler answered with an unexpected status and body", 31+i, g.noun(), i*7)
		g.line("        got:  %d %s", 400+g.IntN(120), g.hex(8))
		g.line("        want: 200")
		g.line("--- FAIL: %s (0.%02ds)", name, g.IntN(99))
	}
	text := g.text()
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		// What identifies a failure: its name, and what came out.
		switch f := strings.Fields(line); {
		case strings.HasPrefix(line, "--- FAIL: "):
			g.needle(f[2])
		case f[0] == "got:":
			g.needle(f[2])
		}
	}
	g.keep("FAIL")
	g.keep("FAIL\texample.test/shop/routes\t%d.%03ds", 8, 112)
	return g
}

// phpunit is a run with dots, a failure and a warning.
func phpunit(seed uint64) *gen {
	g := newGen(seed)
	g.line("PHPUnit 11.5.3 by Sebastian Bergmann and contributors.\n")
	for i := range 120 {
		dots := strings.Repeat(".", 61)
		if i == 77 {
			dots = dots[:20] + "F" + dots[21:]
		}
		g.line("%s %5d / 7320 (%3d%%)", dots, 61*(i+1), 100*(i+1)/120)
	}
	g.line("\nTime: 00:12.511, Memory: 88.00 MB\n")
	g.line("There was 1 failure:\n")
	g.keep("1) Tests\\Unit\\VoucherTest::testExpiresAtMidnight")
	g.keep("Failed asserting that 86399 matches expected 86400.")
	g.line("")
	g.keep("/srv/shop/tests/Unit/VoucherTest.php:58")
	g.line("")
	g.keep("FAILURES!")
	g.keep("Tests: 7320, Assertions: 19044, Failures: 1.")
	return g
}

// junit is Surefire's output with an error and its cause.
func junit(seed uint64) *gen {
	g := newGen(seed)
	g.line("[INFO] -------------------------------------------------------")
	g.line("[INFO]  T E S T S")
	g.line("[INFO] -------------------------------------------------------")
	for i := range 260 {
		name := g.camel("", i)
		g.line("[INFO] Running example.shop.%s.%sTest", g.noun(), name)
		g.line("[INFO] Tests run: %d, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.%03d s -- in example.shop.%sTest", 1+g.IntN(20), g.IntN(1000), name)
	}
	g.line("[INFO] Running example.shop.ledger.LedgerTest")
	g.keep("[ERROR] Tests run: 14, Failures: 0, Errors: 1, Skipped: 0, Time elapsed: 0.512 s <<< FAILURE! -- in example.shop.ledger.LedgerTest")
	g.keep("[ERROR] example.shop.ledger.LedgerTest.closesPeriod -- Time elapsed: 0.031 s <<< ERROR!")
	g.keep("java.lang.IllegalStateException: period 2031-03 has 2 open entries")
	g.keep("\tat example.shop.ledger.Ledger.close(Ledger.java:118)")
	for i := range 24 {
		g.line("\tat org.junit.platform.engine.support.hierarchical.NodeTestTask.execute%d(NodeTestTask.java:%d)", i, 90+i)
	}
	g.keep("Caused by: java.sql.SQLException: deadlock found when trying to get lock")
	g.keep("\tat example.shop.db.Tx.commit(Tx.java:77)")
	g.line("\t... 31 more")
	g.line("")
	g.keep("[ERROR] Tests run: 3120, Failures: 0, Errors: 1, Skipped: 0")
	g.keep("[INFO] BUILD FAILURE")
	return g
}

// fenced is a user's own words around a pasted run.
func fenced(seed uint64) (text string, g *gen, before, after string) {
	g = goTest(seed, 700, 1)
	before = "CI is red since this morning. I think FAIL means the ledger package, but I am not sure:\n\n"
	after = "\nPlease fix only that one, and do not touch the PASS ones. Error budget is gone.\n"
	return before + "```terminal\n" + g.text() + "```" + after, g, before, after
}

// mixedEndings is a run whose lines end in different ways.
func mixedEndings(seed uint64) *gen {
	g := newGen(seed)
	for i := range 500 {
		end := ""
		if i%3 == 0 {
			end = "\r"
		}
		g.line("ok  \texample.test/shop/%s%d\t0.%03ds%s", g.noun(), i, g.IntN(1000), end)
		if i == 250 {
			g.keep("--- FAIL: TestAnchorHolds (0.00s)")
			g.keep("    anchor_test.go:19: chain of %d links broke at %d", 40, 17)
		}
	}
	g.keep("FAIL")
	return g
}
