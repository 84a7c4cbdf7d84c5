package marker

import (
	"regexp"
	"strings"
	"testing"
)

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		pass, noun, detail, ref string
		count                   int
		want                    string
	}{
		{"rtk", "lines", "all passing", "kpqzvwxnmlor", 1240, "[... rtk: 1,240 lines elided, all passing · ref kpqzvwxnmlor ...]"},
		{"rtk", "lines", "", "kpqzvwxnmlor", 1, "[... rtk: 1 line elided · ref kpqzvwxnmlor ...]"},
		{"headroom", "messages", "", "", 12, "[... headroom: 12 messages elided ...]"},
		{"squoze", "lines", "x", "", 1234567, "[... squoze: 1,234,567 lines elided, x ...]"},
	} {
		got := string(Append([]byte("keep"), c.pass, c.count, c.noun, c.detail, c.ref))
		if got != "keep"+c.want {
			t.Errorf("got  %q\nwant %q", got, "keep"+c.want)
		}
		if !Is([]byte(c.want)) || !Is([]byte("  "+c.want+"\r")) {
			t.Errorf("%q is not seen as a marker", c.want)
		}
		if len(c.want) > MaxLen(c.pass, c.noun, c.detail, c.ref) {
			t.Errorf("MaxLen is too small for %q", c.want)
		}
	}
}

func TestAppendCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 12345: "12,345", 123456: "123,456", 1000000: "1,000,000", -1000: "-1,000"} {
		if got := string(AppendCount(nil, n)); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestIsNot(t *testing.T) {
	for _, line := range []string{
		"", " ", "[... 12 more ...]", "[... rtk: elided ...]", "see [... rtk: 5 lines elided ...]", "[... rtk: 5 lines elided ...] and more",
		"[... RTK: 5 lines elided ...]", "[... rtk: 5 lines ...]", "[...]", "[...  ...]",
	} {
		if Is([]byte(line)) {
			t.Errorf("%q is seen as a marker", line)
		}
	}
}

// The reference has no digit, differs for different texts and is the same in
// every process.
func TestRef(t *testing.T) {
	if got := Ref([]byte("abc")); !regexp.MustCompile(`^[k-z]{12}$`).MatchString(got) {
		t.Errorf("got %q, want twelve letters from k to z", got)
	}
	if a, b := Ref([]byte("abc")), Ref([]byte("abd")); a == b {
		t.Errorf("two texts, one reference %q", a)
	}
	// SHA-256 of the empty text begins with e3b0c44298fc.
	want := strings.Map(func(r rune) rune { return 'k' + rune(strings.IndexRune("0123456789abcdef", r)) }, "e3b0c44298fc")
	if got := Ref(nil); got != want {
		t.Errorf("empty text: got %q, want %q", got, want)
	}
}
