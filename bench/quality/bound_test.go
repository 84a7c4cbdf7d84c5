package quality

import (
	"slices"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/engine"
)

func TestBound(t *testing.T) {
	chat := func(result string) [][]byte { return [][]byte{body(adapter.Chat, gpt, []step{shell("make", result)})} }
	size := func(result string) float64 { return float64(len(chat(result)[0])) }
	const text = "one \"two\" three\nfour five six\n"
	for name, tc := range map[string]struct {
		c    Case
		left string // what stays of the result
	}{
		"nothing":            {Case{}, ""},
		"needles":            {Case{Needles: []string{"four", `"two"`}}, `"two"four`},
		"one in another":     {Case{Needles: []string{"five", "four five six"}}, "four five six"},
		"twice":              {Case{Needles: []string{"five", "five"}}, "five"},
		"what must stay":     {Case{Needles: []string{"five"}, Must: []string{"one", "five six"}}, "onefive six"},
		"all of it":          {Case{Must: []string{text}}, text},
		"nothing may change": {Case{Untouched: true}, text},
	} {
		tc.c.Format, tc.c.Turns = adapter.Chat, chat(text)
		got, err := tc.c.Bound()
		if want := 1 - size(tc.left)/size(text); err != nil || got != want {
			t.Errorf("%s: %v, want %v (%v)", name, got, want, err)
		}
	}
	if _, err := (&Case{Format: adapter.Chat, Turns: [][]byte{[]byte("{")}}).Bound(); err == nil {
		t.Error("no error for a body that cannot be read")
	}
	typed := Case{Format: adapter.Chat, Turns: [][]byte{body(adapter.Chat, gpt, []step{{user: "Look: " + text}})}, Words: []string{"Look: "}}
	if got, err := typed.Bound(); err != nil || got != share(len(typed.Turns[0]), len(typed.Turns[0])-len(text)-2-2) { // two quotes, two line ends
		t.Errorf("what a user typed: %v (%v)", got, err)
	}
}

// TestReferenceBounds shows what can be had of the reference's classes, and what
// squoze gets: in fewer than half of those that fire 97 % can be saved at all,
// so that the median cannot be.
func TestReferenceBounds(t *testing.T) {
	const target = 0.97
	e, ok := engine.Named("squoze")
	if !ok {
		t.Fatal("no squoze")
	}
	var saved, bounds, possible []float64
	for _, c := range referenceCases() {
		o := Measure(&c, e, Options{})
		if o.SavedBytes > o.Bound {
			t.Errorf("%s: %.3f saved, which cannot be: at most %.3f", c.Name, o.SavedBytes, o.Bound)
		}
		if !o.Fired() {
			continue
		}
		t.Logf("%-40s %5.1f %% saved of at most %5.1f", c.Name, 100*o.SavedBytes, 100*o.Bound)
		saved, bounds = append(saved, o.SavedBytes), append(bounds, o.Bound)
		if o.Bound >= target {
			possible = append(possible, o.SavedBytes)
			if o.SavedBytes < target {
				t.Errorf("%s: %.3f saved of at most %.3f", c.Name, o.SavedBytes, o.Bound)
			}
		}
	}
	for _, list := range [][]float64{saved, bounds, possible} {
		slices.Sort(list)
	}
	if len(saved) != 11 || len(possible) != 4 {
		t.Errorf("%d cases fired, in %d of them %v can be saved", len(saved), len(possible), target)
	}
	t.Logf("median %.3f saved of at most %.3f", saved[len(saved)/2], bounds[len(bounds)/2])
}
