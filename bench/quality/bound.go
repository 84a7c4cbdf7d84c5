package quality

import (
	"cmp"
	"slices"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// Bound is the largest share of the last turn's bytes that an engine could save
// that keeps every contract and needs no byte for saying what it did: all
// that stays is what no tool returned, the needles, what the user typed and
// what Must names. It is 0 if nothing may change.
func (c *Case) Bound() (float64, error) {
	if c.Untouched {
		return 0, nil
	}
	body := c.Turns[len(c.Turns)-1]
	var req adapter.Request
	if err := req.Parse(c.Format, body); err != nil {
		return 0, err
	}
	least := len(body)
	for _, b := range req.Blocks {
		if b.Kind == adapter.ToolResult || b.Kind == adapter.UserText && len(c.Words) > 0 {
			least -= len(req.Doc.Inner(b.Node))
		}
	}
	for _, piece := range distinct(c.Needles, c.Must, c.Words) {
		least += len(jsonspan.AppendEscaped(nil, []byte(piece)))
	}
	return share(len(body), least), nil
}

// distinct is the pieces that are no part of another one.
func distinct(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var out []string
	for _, piece := range all {
		if !slices.ContainsFunc(out, func(o string) bool { return strings.Contains(o, piece) }) {
			out = append(out, piece)
		}
	}
	return out
}
