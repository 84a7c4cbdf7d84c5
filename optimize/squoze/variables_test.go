package squoze

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// podID is n characters as Kubernetes makes them.
func podID(r *rand.Rand, n int) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

func uuid(r *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<16), r.IntN(1<<16), r.Uint64()>>16)
}

// What varies in the lines of a log, whatever it is made of, does not keep them
// from folding; what stands out among them stays.
func TestVariables(t *testing.T) {
	var r *rand.Rand
	paths := []string{"/v1/orders/%x", "/v1/orders/%x/lines", "/healthz?probe=%x", "/static/app.%x.js", "/v2/users/me/%x"}
	templates := map[string]func(i int) string{
		"UUIDs":     func(i int) string { return "INFO http: handled request " + uuid(r) + " for tenant " + uuid(r) },
		"short hex": func(i int) string { return fmt.Sprintf("INFO store: wrote object %x to shard", r.Uint32()>>r.IntN(24)) },
		"hex and paths": func(i int) string {
			return fmt.Sprintf("INFO http: GET "+paths[r.IntN(len(paths))]+" status=200 took=%dms req=%012x", r.IntN(1<<24), r.IntN(90), r.Uint64()>>16)
		},
		"pods": func(i int) string {
			return "INFO scheduler: bound pod api-" + podID(r, 9) + "-" + podID(r, 5) + " to a node"
		},
		"daemon pods": func(i int) string { return "INFO kubelet: started pod fluentd-" + podID(r, 5) + " on this node" },
		"addresses": func(i int) string {
			return fmt.Sprintf("INFO net: accepted connection from 10.%d.%d.%d:%d via %02x:%02x:%02x:%02x:%02x:%02x", r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(1<<16), i&255, r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256))
		},
		"durations": func(i int) string {
			return fmt.Sprintf("INFO queue: job %d done in %d.%ds, waited %dms", i, r.IntN(4), r.IntN(10), r.IntN(900))
		},
		"quoted names": func(i int) string {
			return fmt.Sprintf(`INFO image: pulled "registry.example.test/shop/%s:%d.%d" from cache`, strings.Repeat(string(rune('a'+i%26)), 2+i%5), i%7, i%13)
		},
		"rfc time": func(i int) string {
			return fmt.Sprintf("2031-04-02T06:%02d:%02d.%dZ INFO clock: tick number %d", i/60%60, i%60, 1+r.IntN(1_000_000), i)
		},
	}
	odd := []string{
		"INFO leader lease handed over to the other zone",
		"rc=1",
		"ERR",
		"錯誤 磁碟: 写入失败",
		"INFO http: drain begun by operator",
		"Ошибка записи",
	}
	for name, line := range templates {
		t.Run(name, func(t *testing.T) {
			r = rand.New(rand.NewPCG(1, 2))
			var b strings.Builder
			for i := range 1200 {
				b.WriteString(line(i) + "\n")
				if i%197 == 100 {
					b.WriteString(odd[i/197%len(odd)] + "\n")
				}
			}
			in := b.String()
			got := foldText(output.Log, in)
			checkElided(t, in, got)
			for _, o := range odd {
				if !strings.Contains("\n"+got, "\n"+o+"\n") {
					t.Errorf("lost %q", o)
				}
			}
			if len(got)*100 > len(in)*7 { // six odd lines with those around them are three of it
				t.Errorf("%d of %d bytes are left:\n%.6000s", len(got), len(in), got)
			}
		})
	}
}

// What passing tests log goes with them, except what stands out. What failing
// tests log stays.
func TestPassingLogs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("ledger invoice router parcel sensor batch tenant quota shard cursor widget courier basket voucher")
	word := func() string { return words[r.IntN(len(words))] }
	odd := map[int]string{
		70:  "    store_test.go:88: falling back to the slow path",
		140: "ERR",
		210: "    store_test.go:12: rc=1",
		280: "    データベース: 書き込みに失敗しました",
		350: "    plan_test.go:9: Fehler beim Lesen",
		420: "background worker still holds the lease",
	}
	failing := "=== RUN   TestTheOne\n    one_test.go:7: checking ledger against quota\n    one_test.go:8: using fixture shard\n    one_test.go:9: got 1, want 2\n--- FAIL: TestTheOne (0.00s)\n"
	var b strings.Builder
	for i := range 500 {
		name := fmt.Sprintf("Test%s%d", strings.ToUpper(word()), i)
		fmt.Fprintf(&b, "=== RUN   %s\n", name)
		for range 1 + i%4 {
			switch r.IntN(3) {
			case 0:
				fmt.Fprintf(&b, "    %s_test.go:%d: checking %s against %s\n", word(), r.IntN(300), word(), word())
			case 1:
				fmt.Fprintf(&b, "    %s_test.go:%d: using fixture %s\n", word(), r.IntN(300), word())
			default:
				fmt.Fprintf(&b, "    %s_test.go:%d: posted %d entries in %dms\n", word(), r.IntN(300), r.IntN(90), r.IntN(500))
			}
		}
		if o := odd[i]; o != "" {
			b.WriteString(o + "\n")
		}
		fmt.Fprintf(&b, "--- PASS: %s (0.0%ds)\n", name, i%10)
		if i == 250 {
			b.WriteString(failing)
		}
	}
	b.WriteString("FAIL\nFAIL\texample.test/shop\t3.1s\nFAIL\n")
	in := b.String()
	got := foldText(output.TestOutput, in)
	checkElided(t, in, got)
	for _, o := range odd {
		if !strings.Contains(got, "\n"+o+"\n") {
			t.Errorf("lost %q", o)
		}
	}
	if !strings.Contains(got, failing) {
		t.Errorf("the failing test is not whole")
	}
	if len(got)*100 > len(in)*4 {
		t.Errorf("%d of %d bytes are left:\n%.6000s", len(got), len(in), got)
	}
}
