package headroom

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
)

// Weight is the estimate of a whole conversation.
func Weight(r *adapter.Request) int {
	w := walks.Get().(*walk)
	defer w.free()
	w.d, w.r = &optimize.Draft{Req: r, New: make([][]byte, len(r.Blocks))}, r
	w.bound()
	w.weigh()
	sum := 0
	for i := range w.msgs {
		sum += w.msgs[i].tokens
	}
	return sum
}

// Upper bounds that the walk reckons with.
const (
	ClearedTokens = clearedTokens
	MarkerTokens  = markerTokens
)
