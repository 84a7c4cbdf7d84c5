package cache

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
)

// The behaviour cases of area cache, through this package alone.
func TestCases(t *testing.T) {
	list, err := cases.Load("../testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range list {
		if c.Area != "cache" {
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			mode, err := ParseMode(c.CacheConfig.Mode)
			if err != nil {
				t.Fatal(err)
			}
			s := newSite(t, Policy{Mode: mode, Threshold: c.CacheConfig.Threshold}, Options{})
			var got []*reply
			for i := range c.Steps {
				got = append(got, runStep(t, s, c, i, got))
			}
		})
	}
	if ran == 0 {
		t.Fatal("no case of area cache")
	}
}

func runStep(t *testing.T, s *site, c *cases.Case, i int, before []*reply) *reply {
	step, number := c.Steps[i], i+1
	s.provider = func(w http.ResponseWriter, _ *http.Request) {
		up := step.Upstream
		if up == nil {
			t.Fatalf("step %d: the upstream was called", number)
		}
		body, kind := "", "application/json"
		if up.Body != nil {
			body = *up.Body
		} else {
			kind = "text/event-stream"
			for _, frame := range up.SSE {
				body += frame + "\n\n"
			}
		}
		w.Header().Set("Content-Type", kind)
		for name, value := range up.Headers {
			w.Header().Set(name, value)
		}
		if up.Status != 0 {
			w.WriteHeader(up.Status)
		}
		if up.CutAfterBytes != nil {
			w.Write([]byte(body[:*up.CutAfterBytes]))
			panic(http.ErrAbortHandler)
		}
		w.Write([]byte(body))
	}
	var headers []string
	for _, set := range []map[string]string{c.Headers, step.Headers} {
		for name, value := range set {
			headers = append(headers, name, value)
		}
	}
	calls := s.calls.Load()
	got := s.ask(c.Path, step.RequestRaw, headers...)
	e := step.Expect
	if len(e.Cache) > 0 && !slices.Contains(e.Cache, got.result()) {
		t.Errorf("step %d: %s %v, expected %s", number, got.result(), got.reason, strings.Join(e.Cache, " or "))
	}
	if called := s.calls.Load() > calls; e.UpstreamCalled != nil && called != *e.UpstreamCalled {
		t.Errorf("step %d: upstream called: %v", number, called)
	}
	if e.Status != 0 && got.Code != e.Status {
		t.Errorf("step %d: status %d, expected %d", number, got.Code, e.Status)
	}
	if n := e.BodyEqualsStep; n > 0 && got.Body.String() != before[n-1].Body.String() {
		t.Errorf("step %d: body %q, expected that of step %d", number, got.Body, n)
	}
	return got
}
