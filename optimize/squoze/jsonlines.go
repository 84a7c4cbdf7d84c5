package squoze

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// rewriteLines is rewrite for a text of one JSON object per line. Lines that
// keep has stay as they are, in their place among the rows.
func (t *tabler) rewriteLines(dst []byte, lines *output.Lines, keep *output.Set) ([]byte, jsonForm) {
	if !t.join(lines, keep) || t.doc.Parse(t.joined) != nil || !t.matches(lines) {
		return dst, jsonKept
	}
	root := t.doc.Root()
	t.about = jsonspan.None
	if !t.tabular(root) {
		return dst, jsonKept
	}
	from := len(dst)
	dst = append(append(dst, linesIntro...), "\n@1: "...)
	dst, ok := t.table(dst, root)
	if !ok || (len(dst)-from)*100 > len(lines.Text)*(100-tableSaving) {
		return dst[:from], jsonKept
	}
	return dst, jsonTable
}

// join puts the lines into t.joined as the elements of one array.
func (t *tabler) join(lines *output.Lines, keep *output.Set) bool {
	t.joined, t.keep = append(t.joined[:0], '['), t.keep[:0]
	for i := range lines.Len() {
		line := bytes.TrimSpace(lines.Line(i))
		if len(line) == 0 && i == lines.Len()-1 {
			break
		}
		if len(line) == 0 || line[0] != '{' || line[len(line)-1] != '}' {
			return false
		}
		if i > 0 {
			t.joined = append(t.joined, ',')
		}
		t.joined = append(t.joined, line...)
		t.keep = append(t.keep, keep.Has(i))
	}
	t.joined = append(t.joined, ']')
	return len(t.keep) >= minRows
}

// matches reports whether each element of the array is one line, no more and
// no less.
func (t *tabler) matches(lines *output.Lines) bool {
	at, i := 1, 0
	for e := t.doc.First(t.doc.Root()); e != jsonspan.None; e = t.doc.Next(e) {
		if i == len(t.keep) {
			return false
		}
		n := len(bytes.TrimSpace(lines.Line(i)))
		if s := t.doc.Span(e); s.Start != at || s.Len() != n {
			return false
		}
		at += n + 1
		i++
	}
	return i == len(t.keep)
}
