package similar

// tagTable maps 32-bit tags to 32-bit references, none of which is zero. It is
// an extendible hash table: past its first thousand slots it grows by
// splitting one segment at a time, so that no insertion stops the readers for
// longer than it takes to move a segment.
type tagTable struct {
	small   []uint64   // the only segment while there are few tags
	dir     []*segment // by the tag's high bits; nil while small is in use
	depth   uint8      // of dir: 1<<depth places
	used    int        // slots taken in small
	segment int        // segments behind dir
}

const (
	segmentSlots = 1024
	segmentFull  = segmentSlots * 3 / 4
	smallSlots   = 16
)

// segment holds the tags that agree in their depth high bits. A slot is the tag
// above its reference, 0 if empty; probing is linear from the tag's low bits.
type segment struct {
	slots [segmentSlots]uint64
	used  int
	depth uint8
}

// slotsOf returns the slots that tag is in, if it is in the table.
func (t *tagTable) slotsOf(tag uint32) []uint64 {
	if t.dir != nil {
		return t.dir[tag>>(32-t.depth)].slots[:]
	}
	return t.small
}

// find returns the reference of tag, 0 if there is none.
func (t *tagTable) find(tag uint32) uint32 {
	slots := t.slotsOf(tag)
	if len(slots) == 0 {
		return 0
	}
	mask := uint32(len(slots) - 1)
	for i := tag & mask; ; i = (i + 1) & mask {
		s := slots[i&mask]
		if s == 0 {
			return 0
		}
		if uint32(s>>32) == tag {
			return uint32(s)
		}
	}
}

// touch loads the slot where tag would stand. Touching all tags of an entry
// before they are looked up lets the memory answer all at once.
func (t *tagTable) touch(tag uint32) uint64 {
	slots := t.slotsOf(tag)
	if len(slots) == 0 {
		return 0
	}
	return slots[tag&uint32(len(slots)-1)]
}

// put sets the reference of tag.
func (t *tagTable) put(tag, ref uint32) {
	if t.dir == nil {
		if t.used >= len(t.small)*3/4 {
			t.growSmall()
		}
	}
	if t.dir == nil {
		if setSlot(t.small, tag, ref) {
			t.used++
		}
		return
	}
	s := t.dir[tag>>(32-t.depth)]
	for s.used >= segmentFull {
		t.split(tag)
		s = t.dir[tag>>(32-t.depth)]
	}
	if setSlot(s.slots[:], tag, ref) {
		s.used++
	}
}

// setSlot writes the slot of tag and reports whether it is a new one.
func setSlot(slots []uint64, tag, ref uint32) bool {
	mask := uint32(len(slots) - 1)
	for i := tag & mask; ; i = (i + 1) & mask {
		s := slots[i]
		if s == 0 || uint32(s>>32) == tag {
			slots[i] = uint64(tag)<<32 | uint64(ref)
			return s == 0
		}
	}
}

// del removes tag, which must be there.
func (t *tagTable) del(tag uint32) {
	slots := t.slotsOf(tag)
	mask := uint32(len(slots) - 1)
	hole := tag & mask
	for uint32(slots[hole]>>32) != tag {
		hole = (hole + 1) & mask
	}
	// Close the hole with the next slot that may stand there, and go on with
	// the hole that leaves.
	for i := (hole + 1) & mask; slots[i] != 0; i = (i + 1) & mask {
		home := uint32(slots[i]>>32) & mask
		if (i-home)&mask >= (i-hole)&mask {
			slots[hole] = slots[i]
			hole = i
		}
	}
	slots[hole] = 0
	if t.dir == nil {
		t.used--
	} else {
		t.dir[tag>>(32-t.depth)].used--
	}
}

// growSmall doubles the only segment or, when it has reached the size of a
// segment, makes it one.
func (t *tagTable) growSmall() {
	old := t.small
	if len(old) < segmentSlots {
		t.small = make([]uint64, max(smallSlots, 2*len(old)))
		for _, s := range old {
			if s != 0 {
				setSlot(t.small, uint32(s>>32), uint32(s))
			}
		}
		return
	}
	s := &segment{used: t.used}
	copy(s.slots[:], old)
	t.dir = []*segment{s}
	t.small, t.used = nil, 0
	t.segment = 1
}

// split halves the segment of tag by one more bit. Tags are hashes, so a full
// segment does split.
func (t *tagTable) split(tag uint32) {
	old := t.dir[tag>>(32-t.depth)]
	if old.depth == t.depth {
		dir := make([]*segment, 2*len(t.dir))
		for i, s := range t.dir {
			dir[2*i], dir[2*i+1] = s, s
		}
		t.dir = dir
		t.depth++
	}
	depth := old.depth + 1
	halves := [2]*segment{{depth: depth}, {depth: depth}}
	for _, s := range old.slots {
		if s != 0 {
			h := halves[s>>(64-depth)&1]
			setSlot(h.slots[:], uint32(s>>32), uint32(s))
			h.used++
		}
	}
	span := 1 << (t.depth - old.depth) // places of dir that old fills
	first := int(tag>>(32-t.depth)) &^ (span - 1)
	for i := range span {
		t.dir[first+i] = halves[2*i/span]
	}
	t.segment++
}

// bytes returns the memory of t.
func (t *tagTable) bytes() int64 {
	return 8*int64(len(t.small)+len(t.dir)) + int64(t.segment)*(segmentSlots+2)*8
}
