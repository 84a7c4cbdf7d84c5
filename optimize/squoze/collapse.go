package squoze

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// minSection is the smallest section of a diff that is collapsed, in bytes.
const minSection = 512

// collapseDiff appends the diff with the sections of lock files and generated
// files collapsed to one line each. Everything else is copied as it stands, so
// that the result still applies to the other files: git apply and patch skip
// lines between sections that are no headers. If there is nothing to collapse
// dst is returned as it is.
func (s *diffScanner) collapseDiff(dst []byte, lines *output.Lines, m mark) ([]byte, bool) {
	from, done := len(dst), 0
	for i := range s.scan(lines) {
		sec := &s.sections[i]
		text := lines.Range(sec.from, sec.to)
		if len(text) < minSection || !sec.whole || sec.added+sec.removed == 0 {
			continue
		}
		kind, read := "", lockReaderOf(sec.name)
		if read != nil {
			kind = "lock file"
		} else if kind = generated(sec, lines); kind == "" {
			continue
		}
		before := len(dst)
		dst = append(dst, lines.Range(done, sec.from)...)
		start := len(dst)
		dst = m.append(dst, sec.to-sec.from, string(describe(sec, lines, kind, read)))
		if 2*(len(dst)-start) > len(text) {
			dst = dst[:before]
			continue
		}
		dst = append(dst, lineEnd(text)...)
		done = sec.to
	}
	if done == 0 {
		return dst[:from], false
	}
	return append(dst, lines.Range(done, lines.Len())...), true
}

// describe says what a collapsed section was about: its file, how many hunks,
// lines added and removed, and of a lock file the packages.
func describe(sec *section, lines *output.Lines, kind string, read lockReader) []byte {
	b := append([]byte(nil), bytes.TrimSpace(sec.name)...)
	b = append(b, " ("...)
	b = append(b, kind...)
	if sec.created {
		b = append(b, ", new"...)
	} else if sec.gone {
		b = append(b, ", deleted"...)
	}
	b = append(b, "): "...)
	b = marker.AppendCount(b, sec.hunks)
	if b = append(b, " hunk"...); sec.hunks != 1 {
		b = append(b, 's')
	}
	b = marker.AppendCount(append(b, ", +"...), sec.added)
	b = marker.AppendCount(append(b, " -"...), sec.removed)
	if read != nil {
		b = appendChanges(b, lockChanges(sec, lines, read), len(lines.Range(sec.from, sec.to))/10)
	}
	return b
}

// appendChanges lists the packages: every one whose version changes, and of
// those added and removed as many as fit into budget bytes, with the number of
// the others.
func appendChanges(b []byte, list []change, budget int) []byte {
	groups := [...]struct {
		title string
		has   func(c *change) bool
		all   bool
	}{
		{"; changed ", func(c *change) bool { return len(c.old) > 0 && len(c.now) > 0 }, true},
		{"; added ", func(c *change) bool { return len(c.old) == 0 }, false},
		{"; removed ", func(c *change) bool { return len(c.now) == 0 }, false},
	}
	for _, g := range groups {
		start, left := len(b), 0
		for i := range list {
			c := &list[i]
			if !g.has(c) {
				continue
			}
			if !g.all && len(b)-start > budget/2 {
				left++
				continue
			}
			if len(b) == start {
				b = append(b, g.title...)
			} else {
				b = append(b, ", "...)
			}
			b = append(b, c.name...)
			b = appendVersions(b, c.old)
			if len(c.old) > 0 && len(c.now) > 0 {
				b = append(b, " →"...)
			}
			b = appendVersions(b, c.now)
		}
		if left > 0 {
			b = marker.AppendCount(append(b, " and "...), left)
			b = append(b, " more"...)
		}
	}
	return b
}

func appendVersions(b []byte, versions [][]byte) []byte {
	for _, v := range versions {
		b = append(append(b, ' '), v...)
	}
	return b
}

// lineEnd is the line end of the last line of text, "" if it has none.
func lineEnd(text []byte) []byte {
	switch n := len(text); {
	case n > 1 && text[n-1] == '\n' && text[n-2] == '\r':
		return text[n-2:]
	case n > 0 && text[n-1] == '\n':
		return text[n-1:]
	}
	return nil
}
