package squoze

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// Report is what the engine did to one request.
type Report struct {
	Format   adapter.Format
	Family   Family
	Original int // bytes of the body as it came
	Sent     int // bytes of the body as it goes out
	Seen     int // texts looked at
	Squeezed int // texts changed
	MemoHits int // texts that were known from an earlier request or place

	// Saved are the bytes of the body that each step saved.
	Saved [steps]int

	// SavedTokens is an estimate.
	SavedTokens int

	// Skipped says why something was left alone, one short phrase each.
	Skipped []string

	// Texts are the single texts, in prompt order. Only Explain fills it.
	Texts []Text
}

// Text is what the engine did to one text of a request.
type Text struct {
	Block   int    // index into the request's blocks
	Message int    // index of the message it stands in
	Tool    string // name of the tool that returned it, "" if it is not a tool result or not known
	Class   output.Class
	Program output.Tool
	Steps   []Step // what was done, in order
	Before  int    // bytes in the body, quotes included
	After   int
	Ref     string // reference to the original, "" if none is needed or kept
	Skipped string // why it was not looked at, "" if it was
}

// Steps lists the steps that a Report counts, in the order in which they
// stand in Report.Saved.
func Steps() []Step {
	list := make([]Step, 0, steps-1)
	for s := StepTerminal; s < steps; s++ {
		list = append(list, s)
	}
	return list
}
