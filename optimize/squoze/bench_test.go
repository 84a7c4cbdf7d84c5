package squoze_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/squoze"
)

// perByte reports the time per byte of body.
func perByte(b *testing.B, body []byte) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(body)), "ns/byte")
	b.ReportAllocs()
}

// variant is body with every tool result different: the number of the turn
// stands in each row, and in one more row each time.
func variant(tb testing.TB, body []byte) []byte {
	tb.Helper()
	var out []byte
	n := 0
	for rest := string(body); ; n++ {
		const start = `"content":"{\"status\":\"ok\",\"rows\":[`
		before, after, ok := strings.Cut(rest, start)
		out = append(out, before...)
		if !ok {
			break
		}
		end := strings.Index(after, `]}"`)
		out = append(out, start...)
		out = append(out, strings.ReplaceAll(after[:end], "internal/module_", fmt.Sprintf("internal/m%02dule_", n))...)
		rest = after[end:]
	}
	if n < 8 || len(out) != len(body) {
		tb.Fatalf("%d tool results, %d bytes", n, len(out))
	}
	return out
}

func BenchmarkEngine(b *testing.B) {
	bodies := []struct {
		name string
		body []byte
	}{
		{"large", testbody.Large()}, {"huge", testbody.Huge()},
		{"large-different", variant(b, testbody.Large())}, {"huge-different", variant(b, testbody.Huge())},
		{"large-fresh", testbody.Fresh(testbody.ProfileLarge, 1)}, {"huge-fresh", testbody.Fresh(testbody.ProfileHuge, 1)},
	}
	for _, x := range bodies {
		b.Run(x.name+"/scan", func(b *testing.B) {
			var d jsonspan.Doc
			for b.Loop() {
				if err := d.Parse(x.body); err != nil {
					b.Fatal(err)
				}
			}
			perByte(b, x.body)
		})
		b.Run(x.name+"/cold", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				e := squoze.New(squoze.Config{})
				b.StartTimer()
				e.Apply(adapter.Chat, x.body)
			}
			perByte(b, x.body)
		})
		b.Run(x.name+"/warm", func(b *testing.B) {
			e := squoze.New(squoze.Config{})
			for b.Loop() {
				e.Apply(adapter.Chat, x.body)
			}
			perByte(b, x.body)
		})
	}
	// A conversation without tools, and one whose tool results are too small.
	small := strings.Repeat(" ok", 60)
	for name, turn := range map[string]string{
		"prose": `{"role":"user","content":"` + strings.Repeat("What is to be done about that, and who is to do it? ", 60) + `"},{"role":"assistant","content":"` + strings.Repeat("Let us see what there is to see. ", 90) + `"},`,
		"tools": `{"role":"user","content":"` + strings.Repeat("Go on. ", 200) + `"},{"role":"assistant","content":null,"tool_calls":[{"id":"c%[1]d","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%[1]d","content":"%[1]d` + small + `"},`,
	} {
		body := []byte(`{"model":"gpt-5","messages":[`)
		for i := range 100 {
			body = append(body, strings.ReplaceAll(turn, "%[1]d", fmt.Sprint(i))...)
		}
		body = append(body, `{"role":"user","content":"Bye."}]}`...)
		b.Run("untouched/"+name, func(b *testing.B) {
			e := squoze.New(squoze.Config{})
			for b.Loop() {
				if out, _ := e.Apply(adapter.Chat, body); len(out) != len(body) {
					b.Fatal("changed")
				}
			}
			perByte(b, body)
		})
	}
}
