// Package optimize makes requests smaller. A pass looks at the blocks of a
// request and proposes changes; Run applies all of them in one splice. The
// package knows nothing of servers.
//
// The passes run in this order, which is that of the slice given to Run:
// squoze or rtk, which shorten single texts; reasoning, which shortens old
// reasoning; headroom, which weighs what the others left over; and last
// caveman, the only one that adds.
package optimize

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// Draft is what the passes work on: a parsed request and the changes so far.
// A pass reads a block through Raw, so that it sees what the passes before it
// made of it.
type Draft struct {
	Req *adapter.Request

	// New[i], if not nil, is the JSON string (quotes included) that takes the
	// place of block i. It must not change afterwards; it may come from a memo.
	New [][]byte
	// Drop[i] says that message i goes, with everything in it.
	Drop []bool
	// Insert are further edits, for example the caveman directive or
	// headroom's marker message. They lie outside of every block that has a
	// New and of every dropped message; one may stand right before or behind
	// of either.
	Insert []jsonspan.Edit

	edits []jsonspan.Edit // scratch for the splice
	prev  [][]byte        // New before the running pass
	doc   jsonspan.Doc    // scratch for the check of replacements
}

// Raw is the JSON string of block i, quotes included, as it stands after the
// passes so far. It must not be changed.
func (d *Draft) Raw(i int) []byte {
	if s := d.New[i]; s != nil {
		return s
	}
	return d.Req.Doc.Raw(d.Req.Blocks[i].Node)
}

// CompactText is jsonspan.CompactText of the text of block i as it is now.
func (d *Draft) CompactText(i int) bool {
	if s := d.New[i]; s != nil {
		return jsonspan.CompactText(s[1 : len(s)-1])
	}
	return d.Req.Doc.CompactText(d.Req.Blocks[i].Node)
}

// Pass is one optimizer with its settings. It may be used by many requests at
// once.
type Pass interface {
	// Name is the optimizer's name as it stands in headers: rtk, caveman, ...
	Name() string
	// Apply changes d. What it returns goes into the report.
	Apply(d *Draft) Outcome
}

// Leveled is a Pass that knows the level it was built with.
type Leveled interface {
	Level() string
}

// Outcome is what a pass did to one request.
type Outcome struct {
	// Level is the level that was applied, where that differs from the one the
	// pass was built with (auto).
	Level string
	// Saved is the pass's own count of the bytes saved, negative when the body
	// grew. The report has Run's.
	Saved int
	// SavedTokens is the estimate of the tokens saved, for passes that
	// remember it with a block. If it is 0, Run makes one of the blocks that
	// the pass changed.
	SavedTokens int
	// Added is the number of bytes that the pass adds on purpose. A pass that
	// makes the body larger by more than this is at fault.
	Added   int
	Blocks  int      // blocks looked at
	Changed int      // blocks (or messages) changed; 0: the pass did nothing
	Notes   []string // why something was left alone, one short phrase each ("over reserve, nothing to prune")
	// Renew, if not nil, does again what the pass did beside changing the
	// body, such as keeping originals. It reports whether that could be done
	// without the body.
	Renew func() bool
}
