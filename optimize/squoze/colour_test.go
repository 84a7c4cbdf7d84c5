package squoze

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// A line that failed by its colour alone stays, and stays red.
func TestRedLineStays(t *testing.T) {
	names := func(n int, colour string, odd string) string {
		var b strings.Builder
		for i := range n {
			if i == 2*n/3 {
				b.WriteString(odd)
			}
			fmt.Fprintf(&b, "  \x1b[%sm%s moves item %d in the basket\x1b[0m\n", colour, []string{"cart", "stock", "till"}[i%3], i)
		}
		return b.String() + "done in 3 s\n"
	}
	for name, tc := range map[string]struct {
		in   string
		want string // a line of the result
	}{
		"red among green":      {names(300, "32", "  \x1b[31mtill moves item 999 in the basket\x1b[0m\n"), "\n  \x1b[31mtill moves item 999 in the basket\x1b[0m\n"},
		"one of 256":           {names(300, "32", "  \x1b[38;5;160mtill moves item 999 in the basket\x1b[0m\n"), "\n  \x1b[31mtill moves item 999 in the basket\x1b[0m\n"},
		"drawn over a spinner": {names(300, "32", "\x1b[33m⠋ till moves item 999\x1b[0m\r\x1b[2K  \x1b[31mtill moves item 999 in the basket\x1b[0m\n"), "\n  \x1b[31mtill moves item 999 in the basket\x1b[0m\n"},
		"a word says so":       {names(300, "32", "  \x1b[31mtill FAILED to move item 999\x1b[0m\n"), "\n  till FAILED to move item 999\n"},
		"over two lines":       {names(300, "32", "  \x1b[31mtill moves item 999 in the basket\n  till moves item 998 in the basket\x1b[0m\n"), "\n  \x1b[31mtill moves item 999 in the basket\x1b[0m\n  \x1b[31mtill moves item 998 in the basket\x1b[0m\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, class := range []output.Class{output.TestOutput, output.Build, output.Log} {
				s := newSqueezer()
				task := task{hint: output.Hint{Class: class, Tool: output.JSTest}, gate: 1024, kept: func(int) bool { return true }}
				out, m := s.squeeze(nil, []byte(tc.in), &task)
				if m.step == StepNone || len(out)*10 > len(tc.in) {
					t.Fatalf("%v: %v, %d of %d bytes\n%s", class, m.step, len(out), len(tc.in), out)
				}
				if !strings.Contains(string(out), tc.want) {
					t.Errorf("%v: lost the red line:\n%s", class, out)
				}
				task.gate = 1
				if again, m := s.squeeze(nil, out, &task); m.step != StepNone {
					t.Errorf("%v: squeezed again:\n%s", class, again)
				}
			}
		})
	}
	// When all is red the colour says nothing.
	s := newSqueezer()
	out, _ := s.squeeze(nil, []byte(names(300, "31", "")), &task{hint: output.Hint{Class: output.TestOutput, Tool: output.JSTest}, gate: 1024, kept: func(int) bool { return true }})
	if strings.Contains(string(out), redStart) || len(out) == 0 {
		t.Errorf("%s", out)
	}
}
