package similar

import "fmt"

// Guard says which differences between two questions a similar answer may
// bridge. The zero value is Lexical.
type Guard uint8

// The guards, from the default to none at all.
const (
	// Lexical lets two questions meet only if they are the same sequence of
	// words once fillers, soft punctuation and harmless spelling are set aside.
	Lexical Guard = iota
	// Strict is Lexical with a handful of fillers and no spelling variants.
	Strict
	// Off compares word sets alone. Questions of opposite meaning meet.
	Off
)

// guardNames is the one table of the words a configuration uses.
var guardNames = [...]string{Lexical: "lexical", Strict: "strict", Off: "off"}

// ParseGuard returns the guard that a configuration calls name.
func ParseGuard(name string) (Guard, error) {
	for g, n := range guardNames {
		if n == name {
			return Guard(g), nil
		}
	}
	return Lexical, fmt.Errorf("unknown guard %q: expected lexical, strict or off", name)
}

// String returns the word that a configuration uses for g.
func (g Guard) String() string {
	if int(g) < len(guardNames) {
		return guardNames[g]
	}
	return fmt.Sprintf("guard(%d)", uint8(g))
}
