package output

import (
	"bytes"
	"math/bits"
)

// Lines is a text split at line feeds. A carriage return in front of the line
// feed belongs to the line; a text that ends with a line feed has an empty last
// line. The zero value is ready for use and may be split again, which keeps its
// memory.
type Lines struct {
	Text []byte
	ends []uint32 // where line i ends, the line feed not included
}

// Split makes l the lines of text, which must be shorter than 4 GiB.
func (l *Lines) Split(text []byte) {
	l.Text, l.ends = text, l.ends[:0]
	for at := 0; ; {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 {
			l.ends = append(l.ends, uint32(len(text)))
			return
		}
		l.ends = append(l.ends, uint32(at+n))
		at += n + 1
	}
}

// Len is the number of lines, at least one.
func (l *Lines) Len() int { return len(l.ends) }

// Start is the offset of line i.
func (l *Lines) Start(i int) int {
	if i == 0 {
		return 0
	}
	return int(l.ends[i-1]) + 1
}

// End is the offset after line i, the line feed not included.
func (l *Lines) End(i int) int { return int(l.ends[i]) }

// Line is line i without its line feed. It aliases the text.
func (l *Lines) Line(i int) []byte { return l.Text[l.Start(i):l.ends[i]:l.ends[i]] }

// Range is the text of the lines [from, to), with the line feed of the last.
func (l *Lines) Range(from, to int) []byte {
	if from >= to {
		return nil
	}
	end := int(l.ends[to-1])
	if end < len(l.Text) {
		end++
	}
	return l.Text[l.Start(from):end:end]
}

// Reset forgets the text, so that pooled Lines do not keep it alive.
func (l *Lines) Reset() { l.Text, l.ends = nil, l.ends[:0] }

// Set is a set of line numbers.
type Set struct {
	words []uint64
	n     int
}

// Reset empties s and makes room for the numbers below n.
func (s *Set) Reset(n int) {
	words := (n + 63) / 64
	if cap(s.words) < words {
		s.words = make([]uint64, words)
	} else {
		s.words = s.words[:words]
		clear(s.words)
	}
	s.n = n
}

// Len is the number given to Reset.
func (s *Set) Len() int { return s.n }

// Has reports whether i is in s.
func (s *Set) Has(i int) bool { return s.words[i>>6]>>(i&63)&1 != 0 }

// Add puts i into s.
func (s *Set) Add(i int) { s.words[i>>6] |= 1 << (i & 63) }

// AddRange puts the numbers [from, to) into s; numbers outside of s are ignored.
func (s *Set) AddRange(from, to int) {
	for i := max(from, 0); i < min(to, s.n); i++ {
		s.words[i>>6] |= 1 << (i & 63)
	}
}

// Count is the size of s.
func (s *Set) Count() int {
	n := 0
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// Next is the smallest number in s that is not below i, or Len if there is none.
func (s *Set) Next(i int) int {
	if i >= s.n {
		return s.n
	}
	w := i >> 6
	word := s.words[w] &^ (1<<(i&63) - 1)
	for word == 0 {
		if w++; w == len(s.words) {
			return s.n
		}
		word = s.words[w]
	}
	return w<<6 + bits.TrailingZeros64(word)
}
