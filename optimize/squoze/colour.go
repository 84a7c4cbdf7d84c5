package squoze

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// Where red among other colours is all that says that a line failed, the colour
// is part of the text: such a line keeps it, in the plainest form there is.
const (
	redStart = "\x1b[31m"
	redEnd   = "\x1b[0m"
)

// painter gives lines their red back. It keeps its memory.
type painter struct {
	lines output.Lines
	red   output.Set
	seen  map[string]bool // what stood in red
	plain []byte
}

// paint appends clean, which is what a terminal shows of text, to dst, with the
// lines in red that were red in text, unless they say by a word that they
// failed. If there are none, it returns dst as it is.
func (p *painter) paint(dst, clean, text []byte) []byte {
	if bytes.IndexByte(text, esc) < 0 {
		return dst
	}
	p.lines.Split(text)
	defer p.lines.Reset()
	n := p.lines.Len()
	p.red.Reset(n)
	if output.AddRed(&p.red, &p.lines) == 0 {
		return dst
	}
	if p.seen == nil {
		p.seen = make(map[string]bool)
	}
	clear(p.seen)
	for i := p.red.Next(0); i < n; i = p.red.Next(i + 1) {
		line := bytes.TrimRight(p.lines.Line(i), "\r")
		drawn := bytes.IndexByte(line, '\r') >= 0
		for part := range bytes.SplitSeq(line, []byte{'\r'}) {
			if drawn && !output.FailureColour(part) {
				continue
			}
			p.plain = output.AppendPlain(p.plain[:0], part)
			if shown := bytes.TrimSpace(p.plain); len(shown) > 0 {
				p.seen[string(shown)] = true
			}
		}
	}
	from, painted := len(dst), false
	for len(clean) > 0 {
		line, rest, more := bytes.Cut(clean, []byte{'\n'})
		shown := bytes.TrimSpace(line)
		if p.seen[string(shown)] && output.Important(line) == output.None {
			at := bytes.Index(line, shown)
			dst = append(append(append(dst, line[:at]...), redStart...), shown...)
			dst = append(append(dst, redEnd...), line[at+len(shown):]...)
			painted = true
		} else {
			dst = append(dst, line...)
		}
		if more {
			dst = append(dst, '\n')
		}
		clean = rest
	}
	clear(p.seen)
	if !painted {
		return dst[:from]
	}
	return dst
}
