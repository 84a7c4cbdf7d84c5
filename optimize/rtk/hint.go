package rtk

import (
	"sync"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// maxHintKey bounds the calls whose hints are remembered: the arguments of a
// call that writes a file are as long as the file.
const maxHintKey = 4 << 10

// hint is what the call that a block answers says about its output.
func (p *Pass) hint(req *adapter.Request, call int) output.Hint {
	if p.memo == nil || call < 0 {
		return output.HintOf(req.Args(call))
	}
	c := &req.Calls[call]
	name, args := req.Doc.Raw(c.Name), req.Doc.Raw(c.Arguments)
	if len(name)+len(c.Type)+len(args) > maxHintKey {
		return output.HintOf(req.Args(call))
	}
	k := hintKeys.Get().(*[]byte)
	defer hintKeys.Put(k)
	// A raw JSON string or object cannot hold a zero byte.
	*k = append(append(append((*k)[:0], c.Type...), 0), name...)
	*k = append(append(*k, 0), args...)
	if known, ok := p.memo.Get(hintSalt, *k); ok {
		return known.hint
	}
	h := output.HintOf(req.Args(call))
	p.memo.Put(hintSalt, *k, Change{hint: h}, 0)
	return h
}

var hintKeys = sync.Pool{New: func() any { return new([]byte) }}

// hintSalt is none that saltOf returns.
const hintSalt = 1 << 32
