package squoze

import "github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"

// notKept is what a marker says, in place of a reference, if the original is
// too large to be kept.
const notKept = ", original not kept"

// mark makes the markers of one text.
type mark struct {
	ref string // reference to the text as it was, "" if that is not kept
}

// append appends the marker for count lines. detail says what they were.
func (m mark) append(dst []byte, count int, detail string) []byte {
	if m.ref == "" {
		detail += notKept
	}
	return marker.Append(dst, passName, count, "lines", detail, m.ref)
}

// maxLen is an upper bound on the length of a marker.
func (m mark) maxLen(detail string) int {
	return marker.MaxLen(passName, "lines", detail, m.ref) + len(notKept)
}
