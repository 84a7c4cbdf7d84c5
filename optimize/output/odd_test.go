package output

import "testing"

// TestOddFailures are reports of failures that none of the usual words name.
func TestOddFailures(t *testing.T) {
	for _, line := range []string{
		"Bail out!  DB gone",
		"ninja: build stopped: subcommand failed.",
		"ninja: build stopped: subcommand x",
		"[KO] t450",
		"KO: test 17",
		"t450 BROKEN",
		"2025-01-01T00:00:01Z INFO job 450 success=false",
		"2025-01-01T00:00:01Z ERRO req 450 done",
		"GET /a450 504 3ms",
		"HTTP 500 for /a",
		"//a:b450   NO STATUS",
		"17/99 Test #17: foo ...***Not Run",
		"host450 down",
		"file450.tf drifted",
		"[DEAD] t450",
		"img450 differs",
		"ALERT x",
		"BUG: x",
		"make: *** bad",
		"recipe for target 'x' x",
	} {
		if Important([]byte(line)) == None {
			t.Errorf("not important: %s", line)
		}
	}
}
