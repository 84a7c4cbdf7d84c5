package cache

import "github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"

// unfitAnswer says why a, read to its end, is not to be given to anybody else,
// None if it may be. Only an answer that is proven whole, that ended because
// the model had said what it had to say, and that has said something, is
// stored.
func unfitAnswer(f adapter.Format, a *adapter.Answer, toolCalls bool) Reason {
	switch {
	case a.Failed:
		return ErrorInside
	case a.Fault != adapter.FaultNone:
		return Incomplete
	case a.Paused:
		return Paused
	case a.Truncated:
		return CutShort
	case a.Filtered || a.Refusal:
		return Refused
	case a.ServerTools:
		return ServerTools
	case a.ToolCalls && !toolCalls:
		return CallsTools
	case a.Odd:
		return UnknownFinish
	case !a.Complete:
		return Incomplete
	case !a.Output && f != adapter.Embeddings:
		return Empty
	}
	return None
}
