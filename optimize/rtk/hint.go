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
	facts := p.memo.facts
	key := facts.Key(hintSalt, *k)
	if packed, ok := facts.Get(key); ok {
		return output.Hint{Class: output.Class(packed >> 16), Tool: output.Tool(packed >> 8), File: packed&1 != 0}
	}
	h := output.HintOf(req.Args(call))
	facts.Put(key, packed(h))
	return h
}

// packed is h as a number below 2^24.
func packed(h output.Hint) uint64 {
	n := uint64(h.Class)<<16 | uint64(h.Tool)<<8
	if h.File {
		n |= 1
	}
	return n
}

var hintKeys = sync.Pool{New: func() any { return new([]byte) }}

// hintSalt is none that saltOf returns.
const hintSalt = 1 << 32
