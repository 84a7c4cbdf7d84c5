package squoze_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/squoze"
)

func TestCases(t *testing.T) {
	list, err := cases.Load(filepath.FromSlash("../../testdata/cases"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range list {
		if c.Area != "optimize" || c.Optimize != "squoze" {
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			store := squoze.NewOriginals(squoze.DefaultOriginals)
			for _, err := range c.Check(func() cases.Optimizer {
				e := squoze.New(squoze.Config{Originals: store})
				return func(body []byte) []byte {
					out, report := e.Apply(adapter.Detect(c.Path), body)
					if report.Sent != len(out) || report.Original != len(body) {
						t.Errorf("the report says %d to %d bytes, they are %d to %d", report.Original, report.Sent, len(body), len(out))
					}
					return out
				}
			}) {
				t.Error(err)
			}
			checkRefs(t, store, c)
		})
	}
	if ran < 15 {
		t.Errorf("only %d cases", ran)
	}
}

// checkRefs checks that each reference in the markers of the last body can be
// had back, and is part of a text of the request.
func checkRefs(t *testing.T, store *squoze.Originals, c *cases.Case) {
	t.Helper()
	bodies := c.Bodies()
	e := squoze.New(squoze.Config{Originals: store})
	body := bodies[len(bodies)-1]
	out, _ := e.Apply(adapter.Detect(c.Path), body)
	for rest := out; ; {
		_, after, ok := bytes.Cut(rest, []byte(" · ref "))
		if !ok {
			return
		}
		ref, _, _ := strings.Cut(string(after), " ")
		text, ok := store.Get("", ref)
		if !ok {
			t.Errorf("no original for %s", ref)
		}
		if len(text) > len(body) {
			t.Errorf("the original of %s has %d bytes", ref, len(text))
		}
		rest = after
	}
}
