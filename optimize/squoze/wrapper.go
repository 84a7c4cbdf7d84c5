package squoze

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// In what a user wrote, only what stands in one of these wrappers is looked
// at, and nothing outside of it is touched.
var (
	wrapperTags = []string{"tool_output", "command_output", "bash-stdout", "bash-stderr", "system-output"}

	// fenceTags are the info words of fences, with what they promise.
	fenceTags = map[string]output.Class{
		"terminal": output.Unknown, "console": output.Unknown, "shell-session": output.Unknown,
		"log": output.Log, "diff": output.Diff,
	}
)

// region is a piece of a decoded text: what stands in one wrapper, without the
// line ends next to the tags.
type region struct {
	from, to int
	class    output.Class
}

// regionFinder finds the regions of one text.
type regionFinder struct {
	text []byte
	last [5]int // by tag: where its last closing tag stands plus one, 0 if that was not looked for
}

// appendRegions appends the regions of text, in order.
func appendRegions(dst []region, text []byte) []region {
	f := regionFinder{text: text}
	for at := 0; at < len(text); {
		i := bytes.IndexAny(text[at:], "<`~")
		if i < 0 {
			break
		}
		at += i
		var r region
		end := 0
		if text[at] == '<' {
			r, end = f.tag(at)
		} else {
			r, end = f.fence(at)
		}
		if end > 0 {
			if r.to > r.from {
				dst = append(dst, r)
			}
			at = end
			continue
		}
		for c := text[at]; at < len(text) && text[at] == c; at++ {
		}
	}
	return dst
}

// tag is the region of the tag that starts at i, and where its closing tag
// ends; 0 if there is none.
func (f *regionFinder) tag(i int) (r region, end int) {
	for k, tag := range wrapperTags {
		rest, ok := bytes.CutPrefix(f.text[i+1:], []byte(tag))
		if !ok || len(rest) == 0 || rest[0] != '>' && rest[0] != ' ' {
			continue
		}
		open := bytes.IndexByte(rest[:min(len(rest), maxTag)], '>')
		if open < 0 || bytes.IndexByte(rest[:open], '\n') >= 0 {
			return r, 0
		}
		from := i + 1 + len(tag) + open + 1
		closing := []byte("</" + tag + ">")
		if f.last[k] == 0 {
			f.last[k] = max(bytes.LastIndex(f.text, closing), 0) + 1
		}
		if f.last[k] <= from {
			return r, 0
		}
		n := bytes.Index(f.text[from:], closing)
		r = region{from: from, to: from + n}
		if r.to > r.from && f.text[r.from] == '\n' {
			r.from++
		}
		if r.to > r.from && f.text[r.to-1] == '\n' {
			r.to--
		}
		return r, from + n + len(closing)
	}
	return r, 0
}

// maxTag bounds the attributes of a tag, in bytes.
const maxTag = 1 << 10

// fence is the region of the fence that starts at i, and where its last line
// ends; 0 if no fence starts there. Fences are those of CommonMark: one that is
// not closed goes on to the end of the text, and then it is no region.
func (f *regionFinder) fence(i int) (r region, end int) {
	text := f.text
	start := i
	for start > 0 && i-start < 4 && text[start-1] == ' ' {
		start--
	}
	if i-start > 3 || start > 0 && text[start-1] != '\n' {
		return r, 0
	}
	mark, n := text[i], 0
	for i+n < len(text) && text[i+n] == mark {
		n++
	}
	line := bytes.IndexByte(text[i:], '\n')
	if n < 3 || line < 0 {
		return r, 0
	}
	info := bytes.TrimSpace(text[i+n : i+line])
	if mark == '`' && bytes.IndexByte(info, '`') >= 0 {
		return r, 0 // code within a line
	}
	word, _, _ := bytes.Cut(info, []byte(" "))
	class, known := fenceTags[string(bytes.ToLower(word))]
	from := i + line + 1
	for at := from; at < len(text); {
		next := bytes.IndexByte(text[at:], '\n')
		if next < 0 {
			next = len(text) - at
		}
		l := bytes.TrimRight(text[at:at+next], " \t\r")
		body := bytes.TrimLeft(l, " ")
		if len(l)-len(body) <= 3 && len(body) >= n && len(bytes.Trim(body, string(mark))) == 0 {
			if known && at > from {
				r = region{from, at - 1, class}
			}
			return r, at + len(l)
		}
		at += next + 1
	}
	return r, len(text)
}

// rawOffsets turns ascending offsets of the decoded text into those of its
// encoded form raw.
func rawOffsets(raw []byte, offsets []int) {
	var buf [16]byte
	at, n := 0, 0 // positions in raw and in the decoded text
	for k := range offsets {
		for n < offsets[k] {
			if raw[at] != '\\' {
				step := bytes.IndexByte(raw[at:], '\\')
				if step < 0 {
					step = len(raw) - at
				}
				step = min(step, offsets[k]-n)
				at += step
				n += step
				continue
			}
			size := 2
			if raw[at+1] == 'u' {
				size = 6
				if pair(raw[at:]) {
					size = 12
				}
			}
			n += len(jsonspan.AppendUnquoted(buf[:0], raw[at:at+size]))
			at += size
		}
		offsets[k] = at
	}
}
