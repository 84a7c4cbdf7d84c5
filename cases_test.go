package llmgateway_test

import (
	"net/http"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
)

// TestOptimizeCases runs every case of area optimize through a real Caddy with
// the gateway in front of a recording upstream. "A fresh handler" is a new
// Caddy on the same port.
func TestOptimizeCases(t *testing.T) {
	all, err := cases.Load("testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	rec := record(t, nil)
	site := "llm_gateway {\n}\nreverse_proxy " + rec.URL
	base, load := serveOptions(t, "", site)
	ran := 0
	for _, c := range all {
		if c.Area != "optimize" {
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			fresh := func() cases.Optimizer {
				if err := load(site); err != nil {
					t.Fatal(err)
				}
				return func(body []byte) []byte {
					pairs := []string{"X-Gateway-Optimize", c.Optimize}
					for name, value := range c.Headers {
						pairs = append(pairs, name, value)
					}
					res, _ := post(t, base+c.Path, string(body), pairs...)
					if res.StatusCode != http.StatusOK {
						t.Fatalf("status %d", res.StatusCode)
					}
					got := rec.take()
					if len(got) != 1 {
						t.Fatalf("the upstream received %d requests", len(got))
					}
					return got[0].body
				}
			}
			for _, err := range c.Check(fresh) {
				t.Error(err)
			}
		})
	}
	if ran < 40 {
		t.Errorf("only %d cases ran", ran)
	}
}
