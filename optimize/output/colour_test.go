package output

import (
	"fmt"
	"strings"
	"testing"
)

func TestFailureColour(t *testing.T) {
	const e = "\x1b["
	for _, c := range []struct {
		line string
		want bool
	}{
		{"plain", false},
		{"", false},
		{e + "31mtest_17" + e + "0m", true},
		{"a " + e + "31mb" + e + "39m", true},
		{e + "1;31mtest_17" + e + "m", true},
		{e + "31;1mtest_17", true},
		{e + "91mtest_17", true},
		{e + "0;91mtest_17", true},
		{e + "41mtest_17" + e + "49m", true},
		{e + "101;37mtest_17", true},
		{e + "37;41m FAIL ", true},
		{e + "38;5;1mx", true},
		{e + "38;5;9mx", true},
		{e + "38;5;160mx", true},
		{e + "38;5;196mx", true},
		{e + "48;5;9mx", true},
		{e + "38;2;220;50;47mx", true},
		{e + "38:2::220:50:47mx", true},
		{e + "38:5:9mx", true},
		{e + "38;5;2mx", false},
		{e + "38;5;31mx", false}, // blue: the 31 is no parameter of its own
		{e + "38;2;31;91;1mx", false},
		{e + "38;5;208mx", false}, // orange
		{e + "38;2;249;38;180mx", false},
		{e + "32mtest_17" + e + "0m", false},
		{e + "33mtest_17" + e + "0m", false},
		{e + "31m" + e + "0mtest_17", false}, // nothing stands in it
		{e + "31m  " + e + "32mtest_17" + e + "0m", false},
		{e + "31mx" + e + "0m" + e + "32my", true},
		{e + "31Kx", false},
		{e + "31", false},
		{e + "38;5", false},
		{e + "38;5mx", false},
		{e + "38mx", false},
		{"\x1b]0;31m\x07x", false},
	} {
		if got := FailureColour([]byte(c.line)); got != c.want {
			t.Errorf("FailureColour(%q) = %v, want %v", c.line, got, c.want)
		}
	}
}

func TestAddRed(t *testing.T) {
	green := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "\x1b[32mtest_%d\x1b[0m\n", i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, text string
		want       []int
	}{
		{"none", green(5), nil},
		{"no colours", "a\nb\n", nil},
		{"one", green(5) + "\x1b[31mtest_5\x1b[0m\n" + green(3), []int{5}},
		{"over several lines", green(6) + "\x1b[31mone\ntwo\n\nthree\x1b[0m\nfour\n" + green(3), []int{6, 7, 9}},
		{"slow", "\x1b[32m✓ adds\x1b[0m \x1b[31m350ms\x1b[0m\n   \x1b[90m━━━━\x1b[0m \x1b[31m1.2 MB/s\x1b[0m\n" + green(4) + "\x1b[31mBuilding shop\x1b[0m\n", []int{6}},
		{"all red", strings.ReplaceAll(green(5), "[32m", "[31m"), nil},
		{"most red", strings.ReplaceAll(green(5), "[32m", "[31m") + green(4), nil},
	} {
		var lines Lines
		lines.Split([]byte(c.text))
		var set Set
		set.Reset(lines.Len())
		n := AddRed(&set, &lines)
		var got []int
		for i := set.Next(0); i < set.Len(); i = set.Next(i + 1) {
			got = append(got, i)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) || n != len(c.want) {
			t.Errorf("%s: red are %v (%d), want %v", c.name, got, n, c.want)
		}
	}
}

// TestKeepRed has tests that fail by their colour alone.
func TestKeepRed(t *testing.T) {
	for _, red := range []string{"\x1b[31m", "\x1b[1;31m", "\x1b[91m", "\x1b[38;5;9m", "\x1b[41m", "[31m"} {
		var b strings.Builder
		for i := range 600 {
			colour := "\x1b[32m"
			if red[0] == '[' {
				colour = "[32m"
			}
			if i == 300 {
				colour = red
			}
			fmt.Fprintf(&b, "%stest_%d\x1b[0m (0.01s)\n", colour, i)
		}
		var lines Lines
		lines.Split([]byte(b.String()))
		for _, class := range []Class{TestOutput, Build, Log, Progress} {
			var keep Set
			Keep(&keep, class, NoTool, &lines)
			if !keep.Has(300) {
				t.Errorf("%v, %q: the red line is routine", class, red)
			}
			if n := keep.Count(); n > 10 {
				t.Errorf("%v, %q: %d lines are kept", class, red, n)
			}
		}
	}
}
