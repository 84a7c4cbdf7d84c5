package similar

import "math/bits"

// sizeSet knows which sizes the signed entries of a shard have, so that a
// question of a size that none of them can match is answered at once.
type sizeSet struct {
	present [MaxWords/64 + 1]uint64
	count   *[MaxWords + 1]uint32
}

func (s *sizeSet) add(n int) {
	if s.count == nil {
		s.count = new([MaxWords + 1]uint32)
	}
	s.count[n]++
	s.present[n/64] |= 1 << (n % 64)
}

func (s *sizeSet) remove(n int) {
	if s.count[n]--; s.count[n] == 0 {
		s.present[n/64] &^= 1 << (n % 64)
	}
}

// clip narrows a range to the least and the greatest size in it that is
// present. The range is empty, high < low, if there is none.
func (s *sizeSet) clip(low, high int) (int, int) {
	w := low / 64
	for m := s.present[w] >> (low % 64) << (low % 64); ; m = s.present[w] {
		if m != 0 {
			low = w*64 + bits.TrailingZeros64(m)
			break
		}
		if w++; w*64 > high {
			return low, low - 1
		}
	}
	w = high / 64
	for m := s.present[w] << (63 - high%64) >> (63 - high%64); ; m = s.present[w] {
		if m != 0 {
			return low, w*64 + 63 - bits.LeadingZeros64(m)
		}
		if w == 0 {
			return low, low - 1
		}
		w--
	}
}
