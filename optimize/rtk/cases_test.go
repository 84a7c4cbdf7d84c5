package rtk

import (
	"bytes"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
)

// through sends a body through passes; it comes back as it is when nothing
// applies.
func through(t testing.TB, path string, body []byte, passes ...optimize.Pass) []byte {
	t.Helper()
	var req adapter.Request
	if req.Parse(adapter.Detect(path), body) != nil {
		return body
	}
	res := optimize.Run(&req, passes, nil)
	if res.Panic != nil {
		t.Fatalf("%v\n%s", res.Panic.Value, res.Panic.Stack)
	}
	if res.Body == nil {
		return body
	}
	return res.Body
}

// TestCases runs the cases that ask for rtk and for nothing else.
func TestCases(t *testing.T) {
	list, err := cases.Load("../../testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range list {
		level, ok := strings.CutPrefix(c.Optimize, "rtk=")
		if c.Area != "optimize" || !ok || strings.Contains(level, ",") {
			continue
		}
		n++
		t.Run(c.Name, func(t *testing.T) {
			for _, withMemo := range []bool{false, true} {
				fresh := func() cases.Optimizer {
					var m *Memo
					if withMemo {
						m = NewMemo(1 << 20)
					}
					p, err := New(level, m)
					if err != nil {
						t.Fatal(err)
					}
					return func(body []byte) []byte { return through(t, c.Path, body, p) }
				}
				for _, err := range c.Check(fresh) {
					t.Error(err)
				}
				if body := c.Bodies()[0]; !withMemo {
					after := fresh()(bytes.Clone(body))
					t.Logf("%d -> %d bytes", len(body), len(after))
				}
			}
		})
	}
	if n < 20 {
		t.Errorf("only %d cases", n)
	}
}
