package quality

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// gen writes made-up text. The same seed gives the same text.
type gen struct {
	*rand.Rand
	b       strings.Builder
	lines   int // calls of line and keep
	needles []string
	musts   []string // what must stay beside the needles, see Case.Must
}

func newGen(seed uint64) *gen { return &gen{Rand: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))} }

// line writes a line.
func (g *gen) line(format string, args ...any) {
	g.lines++
	if len(args) == 0 {
		g.b.WriteString(format)
	} else {
		fmt.Fprintf(&g.b, format, args...)
	}
	g.b.WriteByte('\n')
}

// keep writes a line that must survive.
func (g *gen) keep(format string, args ...any) {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	g.lines++
	g.needles = append(g.needles, text)
	g.b.WriteString(text)
	g.b.WriteByte('\n')
}

// text is what was written.
func (g *gen) text() string { return g.b.String() }

// one is one of the given words.
func (g *gen) one(words ...string) string { return words[g.IntN(len(words))] }

var (
	nouns = strings.Fields("ledger invoice router parcel sensor batch tenant quota shard cursor widget courier basket voucher gateway session planner beacon harbor pocket lantern turbine meadow anchor rivet")
	verbs = strings.Fields("opens closes retries merges splits rounds rejects accepts stores loads drains rotates parses renders signs verifies")
)

func (g *gen) noun() string { return nouns[g.IntN(len(nouns))] }
func (g *gen) verb() string { return verbs[g.IntN(len(verbs))] }

// camel is a name such as TestLedgerMergesQuota42.
func (g *gen) camel(prefix string, n int) string {
	up := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
	return fmt.Sprintf("%s%s%s%s%d", prefix, up(g.noun()), up(g.verb()), up(g.noun()), n)
}

// hex is n hexadecimal digits.
func (g *gen) hex(n int) string {
	const digits = "0123456789abcdef"
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[g.IntN(16)]
	}
	return string(b)
}

// clock is a time of day that grows with n.
func clock(n int) string { return fmt.Sprintf("%02d:%02d:%02d", 8+n/3600%12, n/60%60, n%60) }

// needle is the same text, remembered as one that must survive.
func (g *gen) needle(text string) string {
	g.needles = append(g.needles, text)
	return text
}
