// Package rtk shortens tool results. Of the output of tests, builds, package
// managers and logs it keeps every line that reports a failure together with
// its details, and the first and last lines; of listings, searches and git's
// summaries the first and last lines. What goes leaves a marker in its place
// that says how many lines went. Files, JSON values and texts of which it is
// not clear what they are stay as they are.
package rtk

import "fmt"

// Level says how much goes.
type Level uint8

// Levels.
const (
	Light      Level = iota // large blocks of tests, builds and logs only
	Standard                // listings, searches and git too
	Aggressive              // small blocks too, few lines of each end
	Auto                    // by the size of each block
)

// parameters are what a level consists of.
type parameters struct {
	name  string
	min   int  // the smallest block, in bytes of its decoded text
	edge  int  // lines that stay at each end
	aware bool // looks at the call: listings, searches and git's output are shortened as well
}

// levels is the one table of the levels.
var levels = [...]parameters{
	Light:      {"light", 8192, 40, false},
	Standard:   {"standard", 2048, 20, true},
	Aggressive: {"aggressive", 1024, 8, true},
	Auto:       {name: "auto"},
}

// Sizes of a block, in bytes of its decoded text, from which on Auto means
// more than Light.
const (
	autoStandard   = 4_000
	autoAggressive = 32_000
)

// String is the name of l.
func (l Level) String() string {
	if int(l) < len(levels) {
		return levels[l].name
	}
	return fmt.Sprintf("Level(%d)", l)
}

// ParseLevel returns the level of that name. The error lists the names.
func ParseLevel(name string) (Level, error) {
	for l, p := range levels {
		if p.name == name {
			return Level(l), nil
		}
	}
	return 0, fmt.Errorf("unknown rtk level %q, expected light, standard, aggressive or auto", name)
}

// For is the level that applies to a block of size bytes: l itself, or what
// Auto means for it. It depends on the block alone, so that what a block turns
// into does not change as the conversation grows.
func (l Level) For(size int) Level {
	switch {
	case l != Auto:
		return l
	case size < autoStandard:
		return Light
	case size < autoAggressive:
		return Standard
	}
	return Aggressive
}

// smallest is the size below which no level looks at a block.
func (l Level) smallest() int {
	if l == Auto {
		return autoStandard // light blocks of this size are below light's own gate
	}
	return levels[l].min
}
