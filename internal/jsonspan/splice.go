package jsonspan

import (
	"cmp"
	"slices"
)

// Edit replaces the bytes of Span by New. An empty Span inserts.
type Edit struct {
	Span
	New []byte
}

// SortEdits orders edits by where they start; insertions at one place keep
// their order.
func SortEdits(edits []Edit) {
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
}

// SplicedLen is the length of the result of Splice.
func SplicedLen(src []byte, edits []Edit) int {
	n := len(src)
	for _, e := range edits {
		n += len(e.New) - e.Len()
	}
	return n
}

// Splice appends src with edits applied to dst. The edits are in order and do
// not overlap; Splice panics otherwise. Without edits the result is src.
func Splice(dst, src []byte, edits []Edit) []byte {
	dst = slices.Grow(dst, max(SplicedLen(src, edits), 0)) // negative if the edits overlap
	at := 0
	for _, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(src) {
			panic("jsonspan: edits overlap, are out of order or out of range")
		}
		dst = append(dst, src[at:e.Start]...)
		dst = append(dst, e.New...)
		at = e.End
	}
	return append(dst, src[at:]...)
}
