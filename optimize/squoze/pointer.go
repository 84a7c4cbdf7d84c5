package squoze

import (
	"strconv"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
)

// appendPointer appends the line that stands for n lines which already stand
// in the text of b from line at on, both counted from 0:
//
//	[... squoze: 141 lines elided, the same as lines 18-158 of the result of tool call 4 (read call_7QaZ) ...]
//
// Calls are counted from 1, over the whole request, and so are the lines, over
// the text as it goes out. The pointer has no reference: what it stands for is
// in the request itself. It is appended in its encoded form.
func appendPointer(dst []byte, req *adapter.Request, b *block, at, n int) []byte {
	var scratch [256]byte
	d := append(scratch[:0], "the same as "...)
	if n == b.lines.len() {
		d = append(d, "the whole of "...)
	} else {
		d = append(d, "lines "...)
		d = strconv.AppendInt(d, int64(at+1), 10)
		d = strconv.AppendInt(append(d, '-'), int64(at+n), 10)
		d = append(d, " of "...)
	}
	if b.parts > 1 {
		d = strconv.AppendInt(append(d, "text "...), int64(b.part+1), 10)
		d = append(d, " of "...)
	}
	if b.call < 0 {
		d = strconv.AppendInt(append(d, "tool result "...), int64(b.order+1), 10)
	} else {
		d = append(d, "the result of tool call "...)
		d = strconv.AppendInt(d, int64(b.call+1), 10)
		d = appendCallName(d, req, b.call)
	}
	return marker.Append(dst, passName, n, "lines", string(d), "")
}

// appendCallName appends the tool's name and the call's id in parentheses, as
// far as they fit into a line.
func appendCallName(dst []byte, req *adapter.Request, call int) []byte {
	c := &req.Calls[call]
	sep := " ("
	for _, node := range [...]jsonspan.Ref{c.Name, c.ID} {
		if name := req.Doc.Inner(node); plainName(name) {
			dst = append(append(dst, sep...), name...)
			sep = " "
		}
	}
	if sep == " " {
		dst = append(dst, ')')
	}
	return dst
}

// plainName reports whether a name can stand in a pointer: short, without
// escapes and without anything that could end the line.
func plainName(name []byte) bool {
	if len(name) == 0 || len(name) > 64 {
		return false
	}
	for _, c := range name {
		if c <= ' ' || c == '\\' || c == '[' || c == ']' || c >= 0x7F {
			return false
		}
	}
	return true
}
