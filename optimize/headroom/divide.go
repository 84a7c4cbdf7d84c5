package headroom

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
)

// message is what the walk knows of a message.
type message struct {
	tokens int  // 0 for the system's
	reach  int  // the last message of the unit that begins here or before
	pinned bool // stays whatever its unit does

	// unanswered: it holds a call with an id that no result names. (Some
	// clients use no ids.)
	unanswered bool
}

// block is what the walk knows of a block.
type block struct {
	tokens  int
	cleared bool
}

// kind is what a unit is.
type kind uint8

const (
	aside kind = iota // of the system or pinned; it never goes
	asked             // a user message
	acted             // an answer or a round
)

// unit is a run of messages that go or stay together, but for pinned ones.
type unit struct {
	first, end int // messages
	kind       kind
	turn       int
	head       bool // before anything that may go
	live       int  // tokens of what may go and has not gone
	pinned     int  // tokens of pinned messages
	clear      int  // tokens that clearing its results would save
	signed     bool // holds reasoning that goes back with its whole turn
	reasons    bool // holds reasoning
	check      bool // a request may have ended with it
	dropped    bool
}

// divide makes the units.
func (w *walk) divide() {
	r := w.r
	n := len(r.Messages)
	for i := range n {
		w.msgs[i].reach = i
		w.msgs[i].pinned = w.pinned(i)
	}
	for i := range n {
		m := &r.Messages[i]
		switch {
		case m.Type == "reasoning" && i+1 < n:
			w.msgs[i].reach = i + 1
		case m.Results > 0 && r.Format != adapter.Responses && i > 0:
			// By the rules of these formats the call is right before it.
			w.msgs[i-1].reach = max(w.msgs[i-1].reach, i)
		}
	}
	for i := n - 2; i >= 0; i-- {
		if r.Messages[i].Type == "reasoning" && w.msgs[i+1].pinned {
			w.msgs[i].pinned = true
		}
	}
	for i := range r.Results {
		if res := &r.Results[i]; res.Call >= 0 {
			call := &w.msgs[r.Calls[res.Call].Message]
			call.reach = max(call.reach, res.Message)
		}
	}
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Results == 0 && c.ID != jsonspan.None {
			w.msgs[c.Message].unanswered = true
		}
	}
	w.units = w.units[:0]
	for i := 0; i < n; {
		end := w.msgs[i].reach
		for j := i; j <= end; j++ {
			end = max(end, w.msgs[j].reach)
		}
		w.units = append(w.units, w.unit(i, end+1))
		i = end + 1
	}
	w.findHead()
}

// unit describes the messages [first, end).
func (w *walk) unit(first, end int) unit {
	r := w.r
	u := unit{first: first, end: end, kind: aside}
	open, unanswered := 0, false
	for i := first; i < end; i++ {
		open += r.Messages[i].Calls - r.Messages[i].Results
		unanswered = unanswered || w.msgs[i].unanswered
	}
	for i := first; i < end; i++ {
		m := &r.Messages[i]
		// A call without its result, or the other way round, is left for the
		// provider to judge.
		w.msgs[i].pinned = w.msgs[i].pinned || open != 0 || unanswered
		if w.msgs[i].pinned {
			u.pinned += w.msgs[i].tokens
			continue
		}
		if m.Role == adapter.User && m.Results == 0 {
			u.kind = max(u.kind, asked)
		} else {
			u.kind = acted
		}
		u.live += w.msgs[i].tokens
		for b := m.First; b < m.End; b++ {
			if r.Blocks[b].Kind == adapter.Reasoning {
				u.reasons = true
				u.signed = u.signed || r.Blocks[b].Frozen && r.Format != adapter.Responses
			}
			if w.clearable(b) {
				u.clear += w.blocks[b].tokens - clearedTokens
			}
		}
	}
	last := &r.Messages[end-1]
	u.check = u.kind == asked || last.Results > 0
	return u
}

// clearable reports whether the text of a block may be cleared.
func (w *walk) clearable(b int) bool {
	x := &w.r.Blocks[b]
	return x.Kind == adapter.ToolResult && !x.IsError && !x.Frozen &&
		w.blocks[b].tokens >= minClearTokens && len(w.d.Raw(b)) >= minClearBytes
}

// pinned reports whether message i stays where it is.
func (w *walk) pinned(i int) bool {
	m := &w.r.Messages[i]
	if m.Role == adapter.System || m.Role == adapter.NoRole || w.ownMarker(m) {
		return true
	}
	switch w.r.Format {
	case adapter.Messages:
		return w.summary(m)
	case adapter.Responses:
		return !prunable(m.Type)
	}
	return false
}

// prunable reports whether an item of the Responses format may go. What is not
// named stands for something that the model would miss (a tool list, a summary
// of what came before) or that is not known.
func prunable(itemType string) bool {
	switch itemType {
	case "message", "reasoning",
		"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call",
		"function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output",
		"apply_patch_call_output", "computer_call_output",
		"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call":
		return true
	}
	return false
}

// summary reports whether a message of the Messages format holds a part that
// stands for everything before it.
func (w *walk) summary(m *adapter.Message) bool {
	d := &w.r.Doc
	if m.Role != adapter.Assistant {
		return false
	}
	content := d.Get(m.Node, "content")
	if !d.Is(content, jsonspan.Array) {
		return false
	}
	for part := d.First(content); part != jsonspan.None; part = d.Next(part) {
		if d.Equal(d.Get(part, "type"), "compaction") {
			return true
		}
	}
	return false
}

// ownMarker reports whether a message is nothing but headroom's marker, as in a
// request that has come through a gateway before. Nothing is concluded from
// what it says; but it stays, so that the second gateway changes nothing.
func (w *walk) ownMarker(m *adapter.Message) bool {
	if m.End != m.First+1 || m.Calls+m.Results > 0 {
		return false
	}
	text := w.r.Doc.Inner(w.r.Blocks[m.First].Node)
	return len(text) < 256 && bytes.HasPrefix(text, []byte(markerStart)) && marker.Is(text)
}

// findHead marks the units that never go because they come first: everything up
// to the end of the first run of user messages.
func (w *walk) findHead() {
	found := false
	for i := range w.units {
		u := &w.units[i]
		switch {
		case u.kind == asked:
			found = true
		case found && w.r.Messages[u.first].Role != adapter.System:
			return
		}
		u.head = true
	}
}
