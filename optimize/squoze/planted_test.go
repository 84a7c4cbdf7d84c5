package squoze

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// planted are lines that stay wherever they stand: failures in few words and
// in other languages, and lines that nothing else looks like.
var planted = []string{
	"ERR",
	"rc=1",
	"Killed",
	"致命的なエラー: メモリが足りません",
	"Ошибка сборки: нет файла",
	"erreur : lecture impossible",
	"src/pump.c:118:9: warning: unused variable 'last_tick' [-Wunused-variable]",
	"main.c:(.text+0x1f): undefined reference to `pump_poke'",
	"the lease moved to the other zone",
	"gcc -c src/pump.c: Segmentation fault",
	"[ERROR] Tests run: 4, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! -- in example.shop.LedgerTest",
	"[INFO] Tests run: 4, Failures: 0, Errors: 2, Skipped: 0, Time elapsed: 0.1 s -- in example.shop.TillTest",
	"....................F........................................  4758 / 7320 ( 65%)",
	"WARNING: retrying after connection broken by 'ReadTimeoutError'",
	"#7 12.01 E: Unable to locate package libpump2",
}

// Lines planted among what builds and test runs repeat stay, each as it is.
func TestPlanted(t *testing.T) {
	w := strings.Fields("ledger invoice router parcel sensor batch tenant quota shard cursor widget courier")
	for command, line := range map[string]func(i int) string{
		"npx tsc --listEmittedFiles": func(i int) string { return fmt.Sprintf("TSFILE: /srv/shop/dist/%s/%s%d.js", w[i%12], w[i*7%11], i) },
		"npx tsc --listFiles":        func(i int) string { return fmt.Sprintf("/srv/shop/node_modules/%s/%s%d.d.ts", w[i%12], w[i*7%11], i) },
		"make": func(i int) string {
			return fmt.Sprintf("gcc -std=c17 -Wall -Werror -O2 -c -o build/%s_%d.o src/%s_%d.c", w[i%12], i, w[i*5%12], i)
		},
		"make -j8": func(i int) string { return fmt.Sprintf("  CC      build/obj/%s_%d.o", w[i%12], i) },
		"vendor/bin/phpunit": func(i int) string {
			return fmt.Sprintf("%s %5d / 73200 (%3d%%)", strings.Repeat(".", 61), 61*(i+1), i/12)
		},
		"mvn test": func(i int) string {
			return fmt.Sprintf("[INFO] Running example.shop.%s.Case%dTest\n[INFO] Tests run: %d, Failures: 0, Errors: 0, Skipped: %d, Time elapsed: 0.%03d s -- in example.shop.Case%dTest", w[i%12], i, 1+i%19, i%2, i%997, i)
		},
		"pip install -r r.txt": func(i int) string {
			return fmt.Sprintf("Collecting %s-%s>=%d.%d\n  Downloading %[1]s_%[2]s-%[3]d.%[4]d.0-py3-none-any.whl (%d kB)", w[i%12], w[i*5%12], i%4, i%30, 10+i*37%900)
		},
		"docker build --progress=plain .": func(i int) string {
			return fmt.Sprintf("#7 %d.%03d Get:%d http://deb.example.test/debian bookworm/main amd64 lib%s%d amd64 %d.%d-1 [%d kB]", i/8, i*7%1000, i, w[i%12], i, i%5, i%30, 10+i*37%900)
		},
		"cargo build": func(i int) string { return fmt.Sprintf("   Compiling %s-%s v0.%d.%d", w[i%12], w[i*5%12], i%30, i%12) },
		"npm ci": func(i int) string {
			return fmt.Sprintf("npm http fetch GET 200 https://registry.example.test/%s-%s %dms (cache miss)", w[i%12], w[i*5%12], 5+i*37%300)
		},
	} {
		t.Run(command, func(t *testing.T) {
			var b strings.Builder
			for i := range 1200 {
				b.WriteString(line(i) + "\n")
				if i%75 == 40 {
					b.WriteString(planted[i/75%len(planted)] + "\n")
				}
			}
			in := b.String()
			s := newSqueezer()
			task := task{hint: output.HintFor("Bash", command, ""), gate: 1024, kept: func(int) bool { return true }}
			out, m := s.squeeze(nil, []byte(in), &task)
			if m.step != StepFold || len(out)*100 > len(in)*20 {
				t.Fatalf("%v, %v: %d of %d bytes", m.class, m.step, len(out), len(in))
			}
			checkElided(t, in, string(out))
			for _, p := range planted {
				if !strings.Contains("\n"+string(out), "\n"+p+"\n") {
					t.Errorf("%v: lost %q", m.class, p)
				}
			}
		})
	}
}

// TestAmongTheLinesOfAnother is of the same name in optimize/rtk.
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
		s := newSqueezer()
		for at := 120; at < 126; at++ {
			text := strings.Join(run[:at], "\n") + "\n" + tc.needle + "\n" + strings.Join(run[at:], "\n") + "\n"
			task := task{hint: output.HintFor("Bash", tc.command, ""), gate: 1024, kept: func(int) bool { return true }}
			out, m := s.squeeze(nil, []byte(text), &task)
			if m.step != StepNone && !strings.Contains(string(out), "\n"+tc.needle+"\n") {
				t.Errorf("%s, line %d: %q is lost", tc.command, at, tc.needle)
			}
		}
	}
}
