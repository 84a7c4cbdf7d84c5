package rtk

import (
	"bytes"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

func perByte(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/byte")
}

// chatOf is a chat request with one tool result per text.
func chatOf(command string, texts ...string) []byte {
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"run"}`)
	for _, text := range texts {
		body = append(body, `,{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"Bash","arguments":`...)
		body = jsonspan.AppendQuoted(body, []byte(`{"command":"`+command+`"}`))
		body = append(body, `}}]},{"role":"tool","tool_call_id":"c","content":`...)
		body = jsonspan.AppendQuoted(body, []byte(text))
		body = append(body, '}')
	}
	return append(body, "]}"...)
}

// BenchmarkPass runs the pass over parsed requests: the bodies that all passes
// are measured with, and outputs in which there is work. Parsing is not part
// of it. The scan of the body and a walk over its bytes are there for the ratio.
func BenchmarkPass(b *testing.B) {
	goTest := filler("ok  \texample.test/shop/early%d\t0.012s", 1200) + "--- FAIL: TestLedgerClose (0.01s)\n    ledger_test.go:88: closing balance: got 4107, want 4170\n" + filler("ok  \texample.test/shop/late%d\t0.013s", 1200)
	log := filler("2031-04-02T06:00:00.%03dZ INFO  store: counted shelf of the second floor", 700) + "2031-04-02T06:00:01Z ERROR store: gone\n" + filler("2031-04-02T06:00:02.%03dZ INFO  store: counted bin of the second floor", 700)
	build := filler("  CC      build/obj/module_%d.o", 1500) + "src/pump.c:118:9: warning: unused variable 'lastTick' [-Wunused-variable]\n" + filler("  LD      build/bin/tool_%d", 1500)
	for _, body := range []struct {
		name string
		text []byte
	}{
		{"large", testbody.Large()}, {"huge", testbody.Huge()}, {"huge fresh", testbody.Fresh(testbody.ProfileHuge, 1)},
		{"go test", chatOf("go test ./...", goTest)}, {"log", chatOf("kubectl logs web", log)}, {"build", chatOf("make -j8", build)},
	} {
		var req adapter.Request
		if err := req.Parse(adapter.Chat, body.text); err != nil {
			b.Fatal(err)
		}
		b.Run(body.name+"/scan", func(b *testing.B) {
			var d jsonspan.Doc
			for b.Loop() {
				if d.Parse(body.text) != nil {
					b.Fatal("not valid")
				}
			}
			perByte(b, len(body.text))
		})
		b.Run(body.name+"/walk", func(b *testing.B) {
			n := 0
			for b.Loop() {
				for _, c := range body.text {
					if c == '\n' {
						n++
					}
				}
			}
			perByte(b, len(body.text))
		})
		for _, level := range []string{"standard", "aggressive"} {
			b.Run(body.name+"/cold "+level, func(b *testing.B) {
				p, _ := New(level, nil)
				b.ReportAllocs()
				for b.Loop() {
					optimize.Run(&req, []optimize.Pass{p}, nil)
				}
				perByte(b, len(body.text))
			})
		}
		b.Run(body.name+"/warm", func(b *testing.B) {
			p, _ := New("standard", NewMemo(64<<20))
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				if res := optimize.Run(&req, []optimize.Pass{p}, dst[:0]); res.Body != nil {
					dst = res.Body
				}
			}
			perByte(b, len(body.text))
		})
	}
}

// BenchmarkCompress looks at worst cases at two sizes: what takes longer must
// not take more per byte.
func BenchmarkCompress(b *testing.B) {
	for name, piece := range map[string]string{
		"one line": "x", "short lines": "a\n", "all failures": "error\n", "details": "error\n  a\n    b\n", "carets": "^\n", "rejected words": "no errors or ",
		"tracebacks": "Traceback (most recent call last):\n", "events": `{"Action":"output","Package":"p","Test":"T","Output":"x\n"}` + "\n",
	} {
		for _, size := range []int{1 << 20, 4 << 20} {
			text := bytes.Repeat([]byte(piece), size/len(piece))
			b.Run(name+strings.Repeat("/larger", size>>22), func(b *testing.B) {
				hint := output.HintFor("Bash", "go test ./...", "")
				for b.Loop() {
					Compress(Aggressive, hint, text, nil)
				}
				perByte(b, len(text))
			})
		}
	}
}
