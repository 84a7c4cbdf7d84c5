// Package output knows what the results of tools look like: which kind of
// output a call produced, which of its lines report a failure, and which lines
// belong to that report. The passes that shorten tool results build on it.
//
// Two rules stand above all others. A text that is, or may be, the content of
// a file (source, configuration, prose) is a file, whatever words it contains.
// And a line that may report a failure does report one: keeping a passing line
// costs a few bytes, losing a failing one costs the user's trust.
package output

// Class is a kind of tool output.
type Class uint8

// Classes. Unknown is the answer whenever two of them are close; nothing is
// done to such a text.
const (
	Unknown    Class = iota
	TestOutput       // a test runner's report
	Build            // compilers, linters, make and their kin
	Log              // lines that programs wrote over time
	Progress         // package managers, image pulls, downloads
	Diff             // a unified diff with its bodies
	DiffStat         // --stat, --numstat, --name-only, --name-status
	JSON             // one JSON value
	NDJSON           // one JSON value per line
	Listing          // ls, find, tree, ps, kubectl get: one entry per line
	Grep             // search hits, one per line
	GitLog           // commit list, with or without --stat
	GitStatus        // git status
	Source           // source code
	Config           // configuration and data files
	Prose            // text written for people
	classes
)

var classNames = [classes]string{
	"unknown", "test output", "build", "log", "progress", "diff", "diff stat", "json", "ndjson",
	"listing", "grep", "git log", "git status", "source", "config", "prose",
}

// String is the name of c as it stands in reports.
func (c Class) String() string {
	if c >= classes {
		return classNames[Unknown]
	}
	return classNames[c]
}

// File reports whether c is the content of a file, which no pass may elide.
func (c Class) File() bool { return c == Source || c == Config || c == Prose }

// Failing reports whether c is a kind of output in which the failures are what
// matters and the rest may be elided.
func (c Class) Failing() bool {
	return c == TestOutput || c == Build || c == Log || c == Progress
}
