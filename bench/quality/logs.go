package quality

import (
	"fmt"
	"strings"
)

// kubeLogs is a service's log with two lines that matter.
func kubeLogs(seed uint64, n int) *gen {
	g := newGen(seed)
	for i := range n {
		switch i {
		case n / 3:
			g.keep("2031-04-02T%s.%03dZ ERROR db: connection pool exhausted (size=50, waiting=312, oldest=8.4s)", clock(i), 14)
		case 2 * n / 3:
			g.keep("2031-04-02T%s.%03dZ FATAL supervisor: worker 7 killed by signal 9 (OOMKilled), exit code 137", clock(i), 201)
		default:
			g.line("2031-04-02T%s.%03dZ INFO  http: %s /v1/%s/%d status=200 took=%dms req=%s", clock(i), g.IntN(1000), g.one("GET", "PUT", "POST"), g.noun(), g.IntN(90_000), 1+g.IntN(80), g.hex(12))
		}
	}
	return g
}

// smallLog is a log of at least that many bytes, with one error.
func smallLog(seed uint64, bytes int) *gen {
	g := newGen(seed)
	for i := 0; g.b.Len() < bytes-110; i++ {
		if g.b.Len() > bytes/2 && len(g.needles) == 0 {
			g.keep("2031-04-02 %s ERROR queue: message 5512 rejected three times", clock(i))
			continue
		}
		g.line("2031-04-02 %s DEBUG queue: message %d handled by worker %d in %dms", clock(i), 4000+i, g.IntN(8), 1+g.IntN(50))
	}
	return g
}

// pnpm is an install on a terminal: colours, and a line that is drawn over
// and over.
func pnpm(seed uint64) *gen {
	g := newGen(seed)
	for i := range 900 {
		fmt.Fprintf(&g.b, "\x1b[2K\x1b[1G\x1b[36mProgress\x1b[0m: resolved \x1b[1m%d\x1b[0m, reused \x1b[1m%d\x1b[0m, downloaded \x1b[1m%d\x1b[0m, added \x1b[1m0\x1b[0m\r", i, i*3/4, i/4)
	}
	g.b.WriteString("\x1b[2K\x1b[1GProgress: resolved 900, reused 675, downloaded 225, added 900, done\n")
	g.needle("resolved 900, reused 675, downloaded 225, added 900, done")
	g.b.WriteString("\x1b[33m WARN \x1b[39m deprecated \x1b[1mlantern-pad@1.3.0\x1b[22m: use String.prototype.padStart()\n")
	g.needle("lantern-pad@1.3.0")
	for range 40 {
		g.b.WriteString("\x1b[32m+\x1b[39m " + g.noun() + "-" + g.noun() + " " + fmt.Sprintf("%d.%d.%d", g.IntN(9), g.IntN(20), g.IntN(9)) + "\n")
	}
	g.b.WriteString("\x1b[31m ERR_PNPM_PEER_DEP_ISSUES \x1b[39m Unmet peer dependencies\n")
	g.needle("ERR_PNPM_PEER_DEP_ISSUES")
	g.b.WriteString("└─┬ turbine-ui 4.1.0\n  └── ✕ unmet peer rivet@^9.0.0: found 8.4.2\n")
	g.needle("unmet peer rivet@^9.0.0: found 8.4.2")
	return g
}

// cjkLog is a log in Chinese, Japanese and Korean.
func cjkLog(seed uint64) *gen {
	g := newGen(seed)
	for i := range 600 {
		switch {
		case i == 220:
			g.keep("2031-04-02 %s 错误 支付服务: 订单 88213 扣款失败, 余额不足 (代码 4021)", clock(i))
		case i == 410:
			g.keep("2031-04-02 %s ERROR 在庫サービス: 商品 5512 の引き当てに失敗しました: タイムアウト", clock(i))
		case i%3 == 0:
			g.line("2031-04-02 %s 信息 支付服务: 订单 %d 已完成, 耗时 %d 毫秒", clock(i), 80_000+i, 3+g.IntN(90))
		case i%3 == 1:
			g.line("2031-04-02 %s INFO 在庫サービス: 商品 %d を確認しました (%dms)", clock(i), 5000+i, 3+g.IntN(90))
		default:
			g.line("2031-04-02 %s INFO 배송 서비스: 주문 %d 배송 준비 완료 (%dms)", clock(i), 80_000+i, 3+g.IntN(90))
		}
	}
	return g
}

// ndjson is a structured log, one object to a line.
func ndjson(seed uint64) *gen {
	g := newGen(seed)
	for i := range 500 {
		if i == 311 {
			g.keep(`{"ts":"2031-04-02T%sZ","level":"error","svc":"checkout","msg":"payment declined","order":88213,"code":"insufficient_funds"}`, clock(i))
			continue
		}
		g.line(`{"ts":"2031-04-02T%sZ","level":"info","svc":"checkout","msg":"order stored","order":%d,"took_ms":%d}`, clock(i), 80_000+i, 3+g.IntN(90))
	}
	return g
}

// trace is a log of repeated requests with one stack trace in it.
func trace(seed uint64, lines int, stack []string, keep map[int]bool) *gen {
	g := newGen(seed)
	for i := range lines {
		g.line("2031-04-02 %s INFO  worker-%d picked job %d (%s)", clock(i), g.IntN(8), 70_000+i, g.noun())
		if i == lines/2 {
			for j, s := range stack {
				if keep[j] {
					g.keep("%s", s)
				} else {
					g.line("%s", s)
				}
			}
		}
	}
	return g
}

// frames repeats a frame of a stack with rising numbers.
func frames(n int, format string) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(format, i, 100+i))
	}
	return out
}

// stacks are stack traces of five languages, with the places of the lines
// that must survive: the message, the first and the last frame.
var stacks = []struct {
	name  string
	lines []string
	keep  map[int]bool
}{
	{"java", append(append([]string{
		"Exception in thread \"main\" java.lang.IllegalArgumentException: quota must be positive, is -3",
		"\tat example.shop.Quota.<init>(Quota.java:31)"}, frames(30, "\tat example.shop.internal.Dispatch%d.call(Dispatch.java:%d)")...),
		"Caused by: java.lang.NumberFormatException: For input string: \"-3x\"",
		"\tat example.shop.Parse.number(Parse.java:12)", "\t... 28 more"),
		map[int]bool{0: true, 1: true, 32: true, 33: true}},
	{"python", append(append([]string{
		"Traceback (most recent call last):",
		"  File \"/srv/shop/worker.py\", line 41, in run", "    job.execute()"}, frames(20, "  File \"/srv/shop/lib/step_%d.py\", line %d, in advance")...),
		"  File \"/srv/shop/voucher.py\", line 77, in redeem", "    raise VoucherExpired(code)",
		"shop.errors.VoucherExpired: voucher SPRING-31 expired at 2031-03-31"),
		map[int]bool{0: true, 23: true, 25: true}},
	{"go", append(append([]string{
		"panic: runtime error: index out of range [7] with length 7", "",
		"goroutine 118 [running]:", "example.test/shop/planner.(*Slots).at(...)", "\t/srv/shop/planner/slots.go:88"},
		frames(24, "example.test/shop/internal/step%d.Run(0x%d)")...), "exit status 2"),
		map[int]bool{0: true, 4: true, 29: true}},
	{"javascript", append([]string{
		"TypeError: Cannot read properties of undefined (reading 'basket')",
		"    at total (/srv/shop/src/basket.js:19:31)"}, frames(24, "    at next%d (/srv/shop/node_modules/router/index.js:%d:7)")...),
		map[int]bool{0: true, 1: true}},
	{"rust", append([]string{
		"thread 'main' panicked at src/courier.rs:64:18:",
		"called `Result::unwrap()` on an `Err` value: Os { code: 28, kind: StorageFull, message: \"No space left on device\" }",
		"stack backtrace:"}, frames(24, "  %2d: shop::courier::deliver\n             at ./src/courier.rs:%d:5")...),
		map[int]bool{0: true, 1: true}},
}

// docker is a build with plain progress, in which a step fails.
func docker(seed uint64) *gen {
	g := newGen(seed)
	g.line("#0 building with \"default\" instance using docker driver\n")
	for step := 1; step < 9; step++ {
		g.line("#%d [%d/9] RUN apt-get install -y %s", step, step, g.noun())
		for i := range 60 {
			g.line("#%d %d.%03d Get:%d http://deb.example.test/debian bookworm/main amd64 lib%s%d amd64 %d.%d-%d [%d kB]", step, i/8, g.IntN(1000), i, g.noun(), i, g.IntN(5), g.IntN(30), g.IntN(9), 10+g.IntN(900))
		}
		g.line("#%d DONE %d.%ds\n", step, 3+g.IntN(30), g.IntN(10))
	}
	g.line("#9 [9/9] RUN make -C /src install")
	g.line("#9 0.412 make: Entering directory '/src'")
	g.keep("#9 3.118 src/pump.c:120:5: error: implicit declaration of function 'pump_poke' [-Wimplicit-function-declaration]")
	g.keep("#9 3.201 make: *** [Makefile:12: build/pump.o] Error 1")
	g.keep("#9 ERROR: process \"/bin/sh -c make -C /src install\" did not complete successfully: exit code: 2")
	g.line("------\n > [9/9] RUN make -C /src install:")
	g.keep("ERROR: failed to solve: process \"/bin/sh -c make -C /src install\" did not complete successfully: exit code: 2")
	return g
}

// terraform is a plan with what is refreshed and what will change.
func terraform(seed uint64) *gen {
	g := newGen(seed)
	for i := range 260 {
		g.line("%s_%s.%s[%d]: Refreshing state... [id=%s-%s]", g.one("cloud_instance", "cloud_subnet", "cloud_rule"), g.noun(), g.noun(), i, g.noun(), g.hex(10))
	}
	g.line("\nTerraform will perform the following actions:\n")
	g.keep("  # cloud_instance.ledger[0] must be replaced")
	g.keep("-/+ resource \"cloud_instance\" \"ledger\" {")
	g.keep("      ~ image_id = \"img-118\" -> \"img-204\" # forces replacement")
	g.line("    }\n")
	g.keep("Plan: 1 to add, 0 to change, 1 to destroy.")
	g.keep("│ Warning: Argument is deprecated")
	g.line("│ \n│   with cloud_rule.harbor,\n│   on rules.tf line 12, in resource \"cloud_rule\" \"harbor\":\n╵")
	return g
}

// incident is prose about failures.
func incident(seed uint64) string {
	g := newGen(seed)
	g.line("# What happened on the second of April\n")
	for range 60 {
		g.line("The %s service logged ERROR for every request that the %s %s, and the on-call engineer, who had seen FATAL in the same place in January, waited for the %s before acting.\n",
			g.noun(), g.noun(), g.verb(), g.noun())
	}
	return g.text()
}

// source is a Go file full of the words that test output consists of.
func source(seed uint64) string {
	g := newGen(seed)
	g.line("// Package verdict reads test output.\npackage verdict\n\nimport \"strings\"\n\nvar samples = []struct{ log, want string }{")
	for i := range 220 {
		g.line("\t{\"--- FAIL: %s (0.00s)\\n    x_test.go:%d: ERROR\", \"FAILED\"}, // PASSED before", g.camel("Test", i), i)
	}
	g.line("}\n\n// Failed reports whether a line says FAIL.\nfunc Failed(line string) bool {\n\treturn strings.HasPrefix(line, \"--- FAIL\") || strings.Contains(line, \"FATAL\")\n}")
	return g.text()
}

// helper is an ordinary file of test code.
func helper(seed uint64) string {
	g := newGen(seed)
	g.line("package shop\n\nimport (\n\t\"testing\"\n)\n")
	for i := range 60 {
		g.line("// %s makes a %s for tests and fails the test when it cannot.\nfunc %s(t *testing.T) *%s {\n\tt.Helper()\n\tv, err := open(%d)\n\tif err != nil {\n\t\tt.Fatalf(\"open: %%v\", err)\n\t}\n\treturn v\n}\n",
			g.camel("Make", i), g.noun(), g.camel("make", i), strings.ToUpper(g.noun()[:1])+g.noun()[1:], i)
	}
	return g.text()
}
