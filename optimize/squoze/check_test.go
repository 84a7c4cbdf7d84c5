package squoze

import (
	"strconv"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
)

func itoa(n int) string { return strconv.Itoa(n) }

// checkElided checks that out is in with some runs of lines replaced by one
// marker each, which states their exact number, and nothing else changed.
func checkElided(t *testing.T, in, out string) {
	t.Helper()
	a, b := strings.Split(in, "\n"), strings.Split(out, "\n")
	i := 0
	for _, line := range b {
		if i < len(a) && a[i] == line {
			i++
			continue
		}
		if !marker.Is([]byte(line)) {
			t.Fatalf("line %q is neither the next line nor a marker\n%s", line, out)
		}
		text := strings.TrimPrefix(strings.TrimSpace(line), "[... squoze: ")
		n, err := strconv.Atoi(strings.ReplaceAll(text[:strings.IndexByte(text, ' ')], ",", ""))
		if err != nil {
			t.Fatalf("no count in %q", line)
		}
		i += n
	}
	// An elided run that ends the text takes the empty last line with it only
	// if there is one.
	if i != len(a) {
		t.Fatalf("%d of %d lines accounted for\n%s", i, len(a), out)
	}
}
