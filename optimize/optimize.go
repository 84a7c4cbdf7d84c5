// Package optimize makes requests smaller. A pass looks at the blocks of a
// request and proposes changes; Run applies all of them in one splice. The
// package knows nothing of servers.
package optimize

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// Draft is what the passes work on: a parsed request and the changes so far.
// A pass reads a block's text through Text, so that it sees what the passes
// before it made of it.
type Draft struct {
	Req *adapter.Request

	// New[i], if not nil, is the JSON string (quotes included) that takes the
	// place of block i.
	New [][]byte
	// Drop[i] says that message i goes.
	Drop []bool
	// Insert are further edits, for example the caveman directive or
	// headroom's marker message.
	Insert []jsonspan.Edit
}

// Pass is one optimizer with its settings.
type Pass interface {
	// Name is the optimizer's name as it stands in headers: rtk, caveman, ...
	Name() string
	// Apply changes d. What it returns goes into the report as it is.
	Apply(d *Draft) Outcome
}

// Outcome is what a pass did to one request.
type Outcome struct {
	Saved   int      // bytes of the body saved; negative when it grew
	Blocks  int      // blocks looked at
	Changed int      // blocks changed
	Notes   []string // why something was left alone, one short phrase each ("over reserve, nothing to prune")
}
