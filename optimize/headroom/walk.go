package headroom

import (
	"sync"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
)

// walk goes through one conversation. It is pooled.
type walk struct {
	d *optimize.Draft
	r *adapter.Request

	msgs   []message
	blocks []block
	units  []unit
	turns  []turn
	limits []limit

	weight int    // tokens of the conversation as it came
	total  int    // tokens of what is left of the messages seen so far
	left   int    // tokens that could still be pruned at the last point over a limit
	level  string // of the last cut

	dropped       int // messages
	droppedTokens int // what they weighed when they were dropped

	clearAt  int // every unit before is cleared as far as it goes
	dropTurn int // every turn before is gone
	partTurn int // the turn of which rounds were dropped, and
	partAt   int // the unit up to which they were

	text []byte // scratch
}

// turn is a user message and everything up to the next one.
type turn struct {
	first   int // unit
	signed  bool
	reasons bool
}

// limit is a tier during the walk. The sums say at any time what a cut would
// take away, so that looking at a point costs nothing.
type limit struct {
	*tier
	at   int // the first unit that reaches into the last keep messages
	turn int // its turn

	whole  int // live tokens in the turns before
	asked  int // live tokens of turn's user messages before at
	rounds int // live tokens of turn's other units before at
	clear  int // what clearing would save in turn before at
	all    int // what clearing would save anywhere before at
}

var walks = sync.Pool{New: func() any { return new(walk) }}

// free gives w back without what it refers to.
func (w *walk) free() {
	*w = walk{msgs: w.msgs[:0], blocks: w.blocks[:0], units: w.units[:0], turns: w.turns[:0], limits: w.limits[:0], text: w.text[:0]}
	walks.Put(w)
}

// run makes all cuts.
func (w *walk) run(p *Pass) {
	for i := range p.tiers {
		w.limits = append(w.limits, limit{tier: &p.tiers[i]})
	}
	wasAsked := false
	w.turns = append(w.turns, turn{})
	for x := range w.units {
		u := &w.units[x]
		if u.kind == asked && !wasAsked && !u.head {
			w.turns = append(w.turns, turn{first: x})
		}
		if u.kind != aside {
			wasAsked = u.kind == asked
		}
		u.turn = len(w.turns) - 1
		t := &w.turns[u.turn]
		t.signed = t.signed || u.signed
		t.reasons = t.reasons || u.reasons
		w.weight += u.live + u.pinned
		w.total += u.live + u.pinned
		if u.check {
			w.look(p, u.end)
		}
	}
}

// look is one point of the walk: a request may have ended before message end.
func (w *walk) look(p *Pass, end int) {
	for i := range w.limits {
		w.advance(&w.limits[i], end)
	}
	for i := range w.limits {
		l := &w.limits[i]
		if w.total <= l.over {
			continue
		}
		if w.left = w.gain(l); w.left >= p.gain {
			w.cut(l)
			w.left = w.gain(l)
		}
		return
	}
	w.left = 0
}

// advance moves l to the last keep messages before end.
func (w *walk) advance(l *limit, end int) {
	for w.units[l.at].end <= end-l.keep {
		u := &w.units[l.at]
		l.at++
		if !u.head {
			switch u.kind {
			case asked:
				l.asked += u.live
			case acted:
				l.rounds += u.live
			}
			l.clear += u.clear
			l.all += u.clear
		}
		if next := w.units[l.at].turn; next != l.turn {
			l.whole += l.asked + l.rounds
			l.turn, l.asked, l.rounds, l.clear = next, 0, 0, 0
		}
	}
}

// gain is what a cut would take away.
func (w *walk) gain(l *limit) int {
	if !l.drop {
		return l.all
	}
	gain := l.whole
	if w.whole(l.turn) {
		gain += l.clear
	} else {
		gain += l.rounds
	}
	if w.dropped == 0 {
		gain -= markerTokens
	}
	return max(gain, l.all) // without a drop there is no marker message
}

// whole reports whether no single round of a turn may go.
func (w *walk) whole(turn int) bool {
	t := &w.turns[turn]
	return t.signed || t.reasons && turn == len(w.turns)-1 && w.r.Format == adapter.Chat
}

// cut prunes, oldest first, until l.to is reached or nothing is left to prune.
func (w *walk) cut(l *limit) {
	w.level = l.level
	for ; w.clearAt < l.at && w.total > l.to; w.clearAt++ {
		w.clearUnit(w.clearAt)
	}
	if !l.drop {
		return
	}
	for ; w.dropTurn < l.turn && w.total > l.to; w.dropTurn++ {
		for x := w.turns[w.dropTurn].first; x < w.turns[w.dropTurn+1].first; x++ {
			w.dropUnit(x)
		}
	}
	if w.dropTurn < l.turn || w.whole(l.turn) {
		return
	}
	if w.partTurn != l.turn {
		w.partTurn, w.partAt = l.turn, 0
	}
	w.partAt = max(w.partAt, w.turns[l.turn].first)
	for ; w.partAt < l.at && w.total > l.to; w.partAt++ {
		if w.units[w.partAt].kind == acted {
			w.dropUnit(w.partAt)
		}
	}
}

// clearUnit clears the results of unit x.
func (w *walk) clearUnit(x int) {
	u := &w.units[x]
	if u.head || u.dropped || u.clear == 0 {
		return
	}
	for i := u.first; i < u.end; i++ {
		if w.msgs[i].pinned {
			continue
		}
		m := &w.r.Messages[i]
		for b := m.First; b < m.End; b++ {
			if w.clearable(b) {
				w.blocks[b].cleared = true
			}
		}
	}
	w.change(x, u.live-u.clear)
}

// dropUnit drops unit x.
func (w *walk) dropUnit(x int) {
	u := &w.units[x]
	if u.head || u.dropped || u.kind == aside {
		return
	}
	u.dropped = true
	w.droppedTokens += u.live
	w.change(x, 0)
	if w.dropped == 0 {
		w.total += markerTokens
	}
	for i := u.first; i < u.end; i++ {
		if !w.msgs[i].pinned {
			w.d.Drop[i] = true
			w.dropped++
		}
	}
}

// change sets the live tokens of unit x, of which nothing can be cleared any
// more.
func (w *walk) change(x, live int) {
	u := &w.units[x]
	delta := u.live - live
	w.total -= delta
	for i := range w.limits {
		l := &w.limits[i]
		if x >= l.at {
			continue
		}
		l.all -= u.clear
		switch {
		case u.turn < l.turn:
			l.whole -= delta
		case u.kind == asked:
			l.asked -= delta
		default:
			l.rounds -= delta
			l.clear -= u.clear
		}
	}
	u.live, u.clear = live, 0
}
