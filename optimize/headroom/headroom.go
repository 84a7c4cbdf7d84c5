// Package headroom keeps long conversations below a reserve of tokens. It
// first clears the bodies of old tool results and then drops whole old turns.
//
// # Stateless and prefix-stable
//
// A provider's prompt cache is worth more than anything headroom could save,
// so the cut stays where it is until the conversation has grown by a lot. No
// state is kept for that: the conversation is walked from its front, as if
// every request of it were made again. At each point at which a request may
// have been made (after a user message, and after the results of a round of
// tool calls) the running estimate is compared with the reserve. When it
// passes the reserve, the oldest part is cut until half of it is left. What is
// decided at such a point depends only on the messages in front of it, and it
// is never taken back. So all requests between two cuts, an epoch, share their
// prefix byte by byte.
//
// A cut has to be worth it: it is only made when it takes away a quarter of
// the reserve at least. As what is gone cannot be cut again, a conversation of
// T tokens has at most 4 T/reserve epochs, however little of it can be pruned;
// and as long as pruning down to half of the reserve succeeds, more than half
// a reserve of new conversation lies between two of them.
//
// # What counts
//
// The estimate is of the conversation: all messages but those of the system
// and the developer. The system prompt and the tools cannot be pruned, so they
// must not move the cut either. Texts count as the passes before left them.
//
// # What goes and what stays
//
// The conversation is divided into units, which go or stay as a whole: a user
// message; an answer; a round, that is a message with tool calls and all their
// results. In the Responses format a reasoning item belongs to the item that
// follows it. A user message with everything up to the next one is a turn.
//
//   - System and developer messages stay in place, and so do items of a type
//     that is not known, compaction summaries, tool lists, and calls without a
//     result.
//   - The head stays: the first user message, which is the task, with the user
//     messages directly after it (agents put their instructions there).
//   - All units stay that reach into the last keep messages; so the round that
//     is running is never touched.
//   - Stage one clears the texts of tool results, oldest first. The result
//     stays, and the pair with it. Errors, frozen texts and short texts are not
//     cleared.
//   - Stage two drops whole turns, oldest first. Of the turn in which the kept
//     part begins it drops the oldest rounds and keeps the user message, unless
//     the turn holds signed thinking (or, while it is running, any reasoning of
//     a chat model): that goes back as a whole or not at all.
//
// # The marker
//
// Dropped messages are replaced by one marker that says how many they were. It
// stands where the first of them stood. Providers and chat templates want
// user and assistant to take turns, and some take no other content than a
// string, so the marker is a message of its own, in plain text:
//
//   - an assistant message if a user message follows (task, marker, user ...);
//   - else, as it would split an assistant's turn: in the Messages format a
//     text part behind those of the task, whose own text keeps its bytes; in
//     the other formats, which allow it, a user message.
package headroom

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
)

// Levels.
const (
	Conservative = "conservative"
	Balanced     = "balanced"
	Aggressive   = "aggressive"
	// Auto leaves a conversation alone below half of the reserve, which is
	// Balanced's. Above that it keeps as many messages as Conservative and
	// only clears tool results, down to a quarter of the reserve; above nine
	// tenths it keeps as few messages as Aggressive and also drops, down to
	// half. Each has its own points in the walk, so they are as stable as the
	// cuts of the other levels.
	Auto = "auto"
)

// levels are the defaults: the reserve in estimated tokens, and how many of the
// last messages always stay.
var levels = map[string]struct{ reserve, keep int }{
	Conservative: {150_000, 16},
	Balanced:     {120_000, 8},
	Aggressive:   {80_000, 4},
	Auto:         {120_000, 0}, // keep is that of the level it acts as
}

// minGain is the least number of tokens that a cut takes away, however small
// the reserve: more than the markers cost.
const minGain = 64

// tier is one limit and what happens above it.
type tier struct {
	level string
	over  int // above so many tokens a cut is made
	to    int // and goes down to so many
	keep  int // the last messages that stay
	drop  bool
}

// Pass prunes conversations.
type Pass struct {
	level   string
	tiers   []tier // the highest limit first
	reserve int
	gain    int // what a cut takes away at least
}

// New returns the pass for a level. keep and reserve take the place of the
// level's own where they are above 0. ok is false if there is no such level.
func New(level string, keep, reserve int) (p *Pass, ok bool) {
	l, ok := levels[level]
	if !ok {
		return nil, false
	}
	if reserve <= 0 {
		reserve = l.reserve
	}
	keepOf := func(level string) int {
		if keep > 0 {
			return keep
		}
		return levels[level].keep
	}
	p = &Pass{level: level, reserve: reserve, gain: max(reserve/4, minGain)}
	if level != Auto {
		p.tiers = []tier{{level: level, over: reserve, to: reserve / 2, keep: keepOf(level), drop: true}}
		return p, true
	}
	p.tiers = []tier{
		{level: Aggressive, over: reserve - reserve/10, to: reserve / 2, keep: keepOf(Aggressive), drop: true},
		{level: Conservative, over: reserve / 2, to: reserve / 4, keep: keepOf(Conservative)},
	}
	return p, true
}

// Name is "headroom".
func (p *Pass) Name() string { return "headroom" }

// Level is the level that the pass was built with.
func (p *Pass) Level() string { return p.level }

// Notes of a request that stays over its reserve or is left alone.
var (
	noteNothing  = []string{"headroom: over reserve, nothing to prune"}
	noteLittle   = []string{"headroom: over reserve, too little to prune"}
	noteRemote   = []string{"headroom: the provider keeps the conversation"}
	noteUnpaired = []string{"headroom: a tool result whose call is not in the request"}
)

// Apply prunes the request.
func (p *Pass) Apply(d *optimize.Draft) optimize.Outcome {
	r := d.Req
	if len(r.Messages) == 0 || r.List == jsonspan.None {
		return optimize.Outcome{}
	}
	w := walks.Get().(*walk)
	defer w.free()
	w.d, w.r = d, r
	if w.bound() <= p.tiers[len(p.tiers)-1].over {
		return optimize.Outcome{}
	}
	if notes := refuse(r); notes != nil {
		return optimize.Outcome{Notes: notes}
	}
	w.weigh()
	w.divide()
	w.run(p)
	changed := w.write()
	out := optimize.Outcome{Level: w.level, Blocks: len(r.Messages), Changed: changed, SavedTokens: w.weight - w.total}
	if w.total > p.reserve {
		out.Notes = noteNothing
		if w.left > 0 {
			out.Notes = noteLittle
		}
	}
	return out
}

// refuse says why nothing may be pruned: part of a Responses conversation is
// not in the request, so what belongs together cannot be known.
func refuse(r *adapter.Request) []string {
	if r.Format != adapter.Responses {
		return nil
	}
	for _, name := range [...]string{"previous_response_id", "conversation"} {
		if r.Doc.Kind(r.Doc.Get(r.Root, name)) != jsonspan.Null {
			return noteRemote
		}
	}
	for i := range r.Messages {
		if r.Messages[i].Type == "item_reference" {
			return noteRemote
		}
	}
	for i := range r.Results {
		if r.Results[i].Call < 0 {
			return noteUnpaired
		}
	}
	return nil
}
