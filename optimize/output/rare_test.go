package output

import (
	"fmt"
	"strings"
	"testing"
)

func TestShape(t *testing.T) {
	for _, c := range []struct {
		line, want string
		numbers    int
	}{
		{"", "", 0},
		{"all is well", "all is well", 0},
		{"test_450 F ", "test_# F ", 1},
		{"result=ko id=17", "result=ko id=#", 1},
		{"0 left, 3 left", "0 left, # left", 1},
		{"took 1.5ms at 06:00:01.123Z", "took # at #", 2},
		{"2031-04-02T06:00:00.001Z INFO  x", "# INFO x", 1},
		{"3/40 done (12%)", "# done (#%)", 2},
		{"10.0.0.17:8080", "#", 1},
		{"E0102 06:00", "E# #", 2},
		{"commit deadbeef12 is 1a2b3c4d", "commit # is #", 1},
		{"abc1-4d5e-12ab x", "abc#-# x", 2},
		{"a1b2c3d4-0000-4abc-8def-0123456789ab", "#", 0},
		{"k8s x509failed", "k#s x#failed", 2},
		{"a\tb   c\r", "a b c ", 0},
		{"=====> 12 <=====", "=> # <=", 1},
		{"błąd 17", "błąd #", 1},
		{"user_17_of_3", "user_#_of_#", 2},
	} {
		var n numbers
		if got := string(appendShape(nil, []byte(c.line), &n)); got != c.want || n.n != c.numbers {
			t.Errorf("%q has the shape %q with %d numbers, want %q with %d", c.line, got, n.n, c.want, c.numbers)
		}
	}
}

// What alike takes for one shape is one, with the same numbers.
func FuzzAlike(f *testing.F) {
	f.Add([]byte("2031-04-02T06:00:00.001Z INFO test_450 0x1f done"), []byte("2031-04-03T06:00:00.071Z INFO test_451 0x1f done"))
	f.Add([]byte("a 7 b"), []byte("a 0 b"))
	f.Add([]byte("abcdef1"), []byte("abcdef12"))
	f.Add([]byte("a1b22c-4 7"), []byte("a1b23c-4 9.5s"))
	f.Add([]byte("1 2 3 4 5 6 7 8 9"), []byte("1 2 3 4 5 6 7 8 10"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var was, found, want numbers
		shape := string(appendShape(nil, a, &was))
		if !alike(b, a, &was, &found) {
			return
		}
		if got := string(appendShape(nil, b, &want)); got != shape || found != want {
			t.Errorf("%q and %q: %q and %q, numbers %+v and %+v", a, b, shape, got, found, want)
		}
	})
}

func TestAlike(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"took 3 ms", "took 417 ms", true}, {"took 3 ms", "took 1.5 ms", true}, {"took 3ms", "took 3.5us", true}, {"test_450 P", "test_451 P", true},
		{"code=2", "code=0", false}, {"code=0", "code=2", false}, {"test_450 P", "test_450 F", false}, {"a 3", "a 3 b", false}, {"a 3 b", "a 3", false},
		{"test_9 P", "test_10 P", false}, {"same", "same", true}, {"", "", true},
	} {
		var was, found numbers
		appendShape(nil, []byte(c.a), &was)
		if got := alike([]byte(c.b), []byte(c.a), &was, &found); got != c.want {
			t.Errorf("%q, %q: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func FuzzShape(f *testing.F) {
	f.Add([]byte("2031-04-02T06:00:00.001Z INFO test_450 a1b2c3-4 = 0x1f"))
	f.Add([]byte("0"))
	f.Fuzz(func(t *testing.T, line []byte) {
		var n numbers
		got := appendShape([]byte("before"), line, &n)
		if !strings.HasPrefix(string(got), "before") || len(got)-len("before") > len(line) || n.n > maxNumbers {
			t.Fatalf("%q: %q, %d numbers", line, got, n.n)
		}
		var r rare
		r.split(got)
		at := 0
		for _, w := range r.words {
			if w.from < at || w.to <= w.from || w.to > len(got) {
				t.Fatalf("%q: words %v", got, r.words)
			}
			at = w.to
		}
	})
}

// Of lines of many kinds those stay that are rare, and of what may be elided
// there are many.
func TestAddRare(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+"\n", i+1)
		}
		return b.String()
	}
	names := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+"\n", string(rune('a'+i%26))+string(rune('a'+i/26%26))+"shelf")
		}
		return b.String()
	}
	for _, c := range []struct {
		name, text string
		stay       []string // and nothing else
		all        bool     // everything stays
	}{
		{name: "one kind", text: many(900, "status=ok id=%d")},
		{name: "another word in a field", text: many(900, "status=ok id=%d") + "status=ko id=17\n" + many(900, "status=ok id=%d"), stay: []string{"status=ko id=17"}},
		{name: "another number in a field", text: many(900, "code=0 id=%d") + "code=4 id=17\n", stay: []string{"code=4 id=17"}},
		{name: "another number than one", text: many(900, "code=200 id=%d") + "code=418 id=17\n", stay: []string{"code=418 id=17"}},
		{name: "many with another word, few beside the others", text: many(1800, "status=ok id=%d") + strings.Repeat("status=schief id=17\n", 150), stay: strings.Fields(strings.Repeat("status=schief_id=17 ", 150))},
		{name: "two words, both often", text: many(900, "cache hit %d") + many(600, "cache miss %d")},
		{name: "names", text: names(500, "reading the page of %s now")},
		{name: "a word where others have a name", text: names(500, "reading the page of %s now") + "losing the page of ccshelf now\n", stay: []string{"losing the page of ccshelf now"}},
		{name: "paths", text: names(500, "  copied src/%s/main.go to out")},
		{name: "steps", text: names(500, "   Compiling %s v0.1.2")},
		{name: "passing", text: names(500, "ok 1 - counts %s"), stay: nil},
		{name: "one that passed among others", text: many(500, "status=ok id=%d") + "--- PASS: TestX (0.01s)\n", stay: []string{"--- PASS: TestX (0.01s)"}},
		{name: "each line says something else", text: "the shelf is full\nnobody counts it again\nblue paint\nfour steps to the door\n", all: true},
		{name: "two places that differ", text: names(26, "%s warmed") + names(26, "disk %s"), all: true},
		{name: "few lines", text: many(3, "status=ok id=%d"), all: true},
		{name: "served", text: many(300, `10.0.0.%d - - [02/Apr/2031:06:00:00 +0000] "GET /a HTTP/1.1" 200 8`) + `10.0.0.7 - - [02/Apr/2031:06:00:00 +0000] "GET /a HTTP/1.1" 418 8` + "\n", stay: []string{`10.0.0.7 - - [02/Apr/2031:06:00:00 +0000] "GET /a HTTP/1.1" 418 8`}},
	} {
		var lines Lines
		lines.Split([]byte(strings.TrimSuffix(c.text, "\n")))
		var keep Set
		keep.Reset(lines.Len())
		AddRare(&keep, &lines)
		var got []string
		for i := keep.Next(0); i < keep.Len(); i = keep.Next(i + 1) {
			got = append(got, string(lines.Line(i)))
		}
		if c.all {
			if len(got) != lines.Len() {
				t.Errorf("%s: %d of %d lines stay", c.name, len(got), lines.Len())
			}
			continue
		}
		for i, want := range c.stay {
			c.stay[i] = strings.ReplaceAll(want, "schief_", "schief ")
		}
		if strings.Join(got, "\n") != strings.Join(c.stay, "\n") {
			t.Errorf("%s: %d lines stay, want %d: %.300q", c.name, len(got), len(c.stay), got)
		}
	}
}
