package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Optimizer is the thing under test: the body a client sends in, the body the
// upstream receives out; nil if it receives nothing.
type Optimizer func(body []byte) []byte

// Check sends the bodies of an optimize case through an optimizer and returns
// what does not hold. fresh makes an optimizer without memory of earlier
// requests.
func (c *Case) Check(fresh func() Optimizer) []error {
	run := fresh()
	before := c.Bodies()
	after := make([][]byte, len(before))
	for i, body := range before {
		if after[i] = run(bytes.Clone(body)); after[i] == nil {
			return []error{fmt.Errorf("request %d: the upstream received nothing", i+1)}
		}
	}
	last := len(before) - 1
	k := &checker{c: c, before: before[last], after: after[last]}
	k.plain()
	k.texts()
	k.places()
	if c.Expect.Idempotent {
		if again := run(bytes.Clone(k.after)); !bytes.Equal(again, k.after) {
			k.fail("idempotent: applied again, the body changes at byte %d: %s", differ(k.after, again), around(again, differ(k.after, again)))
		}
	}
	if c.Expect.PairsIntact {
		k.pairs()
	}
	if c.Expect.PrefixStable {
		k.prefix(before, after, fresh)
	}
	return k.errs
}

// checker holds one request before and after.
type checker struct {
	c             *Case
	before, after []byte
	errs          []error
}

func (k *checker) fail(format string, args ...any) {
	k.errs = append(k.errs, fmt.Errorf(format, args...))
}

// plain checks what needs no look into the bodies.
func (k *checker) plain() {
	e := k.c.Expect
	same := bytes.Equal(k.before, k.after)
	if e.Untouched && !same {
		at := differ(k.before, k.after)
		k.fail("untouched: differs from byte %d on: %s", at, around(k.after, at))
	}
	if e.Changed && same {
		k.fail("changed: it is as it was")
	}
	if e.ShrinksTo != nil {
		if got := float64(len(k.after)) / float64(len(k.before)); got > *e.ShrinksTo {
			k.fail("shrinks_to: %.3f of the bytes are left, more than %g", got, *e.ShrinksTo)
		}
	}
	if e.GrowsAtMost != nil && len(k.after) > len(k.before)+*e.GrowsAtMost {
		k.fail("grows_at_most: it grew by %d bytes, more than %d", len(k.after)-len(k.before), *e.GrowsAtMost)
	}
	for _, s := range e.RawKeeps {
		if !bytes.Contains(k.after, []byte(s)) {
			k.fail("raw_keeps: lost %q", s)
		}
	}
	for _, s := range e.RawDrops {
		if bytes.Contains(k.after, []byte(s)) {
			k.fail("raw_drops: it contains %q", s)
		}
	}
	if e.ValidJSON && !json.Valid(k.after) {
		k.fail("valid_json: it is not")
	}
}

// texts checks what is said about the texts of the bodies and their lines.
func (k *checker) texts() {
	e := k.c.Expect
	if len(e.Keeps)+len(e.Drops)+len(e.KeepsVars)+len(e.Together)+len(e.MarkerCount) == 0 {
		return
	}
	after := Texts(k.after)
	contains := func(s string) bool {
		for _, text := range after {
			if strings.Contains(text, s) {
				return true
			}
		}
		return false
	}
	for _, s := range e.Keeps {
		if !contains(s) {
			k.fail("keeps: lost %q", s)
		}
	}
	for _, s := range e.Drops {
		if contains(s) {
			k.fail("drops: it contains %q", s)
		}
	}
	for _, name := range e.KeepsVars {
		text, ok := k.c.vars()[name]
		if !ok {
			k.fail("keeps_vars: there is no %s", name)
		} else if !contains(text.String()) {
			k.fail("keeps_vars: %s is not complete", name)
		}
	}
	for _, pair := range e.Together {
		for _, text := range after {
			for _, line := range strings.Split(text, "\n") {
				if strings.Contains(line, pair[0]) && !strings.Contains(line, pair[1]) {
					k.fail("together: %q stands without %q in %q", pair[0], pair[1], line)
				}
			}
		}
	}
	if len(e.MarkerCount) > 0 && !k.markerCount(after) {
		k.fail("marker_count: no new line names one of %v", []int(e.MarkerCount))
	}
}

func (k *checker) markerCount(after []string) bool {
	old := map[string]bool{}
	for _, text := range Texts(k.before) {
		for _, line := range strings.Split(text, "\n") {
			old[line] = true
		}
	}
	for _, text := range after {
		for _, line := range strings.Split(text, "\n") {
			if old[line] {
				continue
			}
			for _, n := range wholeNumbers(line) {
				for _, want := range k.c.Expect.MarkerCount {
					if n == want {
						return true
					}
				}
			}
		}
	}
	return false
}

// places checks what is said about single paths.
func (k *checker) places() {
	e := k.c.Expect
	if len(e.SameAt)+len(e.NonemptyAt)+len(e.Marked)+len(e.FirstRole) == 0 {
		return
	}
	before, after := parse(k.before), parse(k.after)
	if before == nil || after == nil {
		k.fail("a body is not valid JSON")
		return
	}
	for _, path := range e.SameAt {
		was, is := before.raw(path), after.raw(path)
		if was == nil {
			k.fail("same_at: there is no %s before", path)
		} else if !bytes.Equal(was, is) {
			k.fail("same_at: %s was %.200q, is %.200q", path, was, is)
		}
	}
	for _, path := range e.NonemptyAt {
		switch raw := after.raw(path); string(bytes.Join(bytes.Fields(raw), nil)) {
		case "", `""`, "null", "[]", "{}":
			k.fail("nonempty_at: %s is %q", path, raw)
		}
	}
	for _, path := range e.Marked {
		was, ok := before.text(path)
		is, ok2 := after.text(path)
		if !ok || !ok2 {
			k.fail("marked: there is no text at %s", path)
		} else if err := Marked(was, is); err != nil {
			k.fail("marked: %s: %w", path, err)
		}
	}
	if len(e.FirstRole) > 0 {
		role, ok := "", false
		for _, path := range []string{"messages.0.role", "input.0.role", "messages.0.type", "input.0.type"} {
			if role, ok = after.text(path); ok {
				break
			}
		}
		found := false
		for _, want := range e.FirstRole {
			found = found || ok && role == want
		}
		if !found {
			k.fail("first_role: it is %q, not one of %q", role, []string(e.FirstRole))
		}
	}
}

// Marked says where the text after has a gap that no marker in front of it
// states exactly; nil if it has none.
func Marked(before, after string) error {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	last := map[string]int{} // the last index of each line in a
	for i, line := range a {
		last[line] = i
	}
	i := 0
	var pending []string
next:
	for n, x := range b {
		if len(pending) == 0 && i < len(a) && a[i] == x {
			i++
			continue
		}
		if len(pending) > 0 {
			for _, gap := range append(descending(pending), 0) {
				if i+gap < len(a) && i+gap >= 0 && a[i+gap] == x {
					i += gap + 1
					pending = nil
					continue next
				}
			}
		}
		if at, ok := last[x]; ok && at >= i {
			return fmt.Errorf("line %d, %q: a gap without marker or with a wrong count (%q)", n+1, x, pending)
		}
		pending = append(pending, x)
	}
	if i < len(a) {
		for _, gap := range descending(pending) {
			if gap == len(a)-i {
				return nil
			}
		}
		return fmt.Errorf("the last %d lines are gone, the markers say %q", len(a)-i, pending)
	}
	return nil
}

// descending are the whole numbers of lines, largest first.
func descending(lines []string) []int {
	var all []int
	for _, line := range lines {
		all = append(all, wholeNumbers(line)...)
	}
	for i := range all {
		for j := i; j > 0 && all[j] > all[j-1]; j-- {
			all[j], all[j-1] = all[j-1], all[j]
		}
	}
	return all
}

// wholeNumbers are the maximal runs of digits of a line; commas between groups
// of three digits are dropped first.
func wholeNumbers(line string) []int {
	digit := func(i int) bool { return i >= 0 && i < len(line) && '0' <= line[i] && line[i] <= '9' }
	var all []int
	for i := 0; i < len(line); {
		if !digit(i) {
			i++
			continue
		}
		var run []byte
		for digit(i) || i < len(line) && line[i] == ',' && digit(i-1) && digit(i+1) && digit(i+2) && digit(i+3) && !digit(i+4) {
			if line[i] != ',' {
				run = append(run, line[i])
			}
			i++
		}
		if n, err := strconv.Atoi(string(run)); err == nil {
			all = append(all, n)
		}
	}
	return all
}

func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func around(text []byte, at int) string {
	return strconv.Quote(string(text[max(0, at-60):min(len(text), at+100)]))
}
