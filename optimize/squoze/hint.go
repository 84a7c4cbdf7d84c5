package squoze

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/memo"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// hints reads calls. What it read of a call it remembers by the call's
// arguments as they stand in the body, or by the tool's name if they say nothing.
type hints struct{ memo *memo.Memo[hinted] }

type hinted struct {
	tool string
	hint output.Hint
}

// nameSalt tells names of tools from arguments.
const nameSalt = 1

const hintMemo = 4 << 20 // bytes

func newHints() hints { return hints{memo.New[hinted](hintMemo)} }

// of is what the call says about its output. A call of -1 says nothing.
func (h hints) of(req *adapter.Request, call int) output.Hint {
	if call < 0 {
		return output.Hint{}
	}
	c := &req.Calls[call]
	raw := req.Doc.Raw(c.Arguments)
	if c.Name >= 0 && output.NameNothing(raw) {
		name := req.Doc.Raw(c.Name)
		got, ok := h.memo.Get(nameSalt, name)
		if !ok {
			got = hinted{hint: output.HintOf(req.Args(call))}
			h.memo.Put(nameSalt, name, got, 0)
		}
		return got.hint
	}
	if got, ok := h.memo.Get(0, raw); ok && c.Name >= 0 && req.Doc.Equal(c.Name, got.tool) {
		return got.hint
	}
	args := req.Args(call)
	got := hinted{tool: args.Tool(), hint: output.HintOf(args)}
	h.memo.Put(0, raw, got, len(got.tool)+32)
	return got.hint
}
