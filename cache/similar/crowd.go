package similar

// A crowd is what many entries of a partition are that share a signature,
// because their questions come from a template and the words of this part are
// the template's own. A scan of such a bucket would be a scan of the traffic, so
// its entries are indexed once more, by prefix filter: with the words of every entry in one fixed
// order, the rare ones first, two sets of n and m words that have c in common
// share one among the first n-c+1 of the one and m-c+1 of the other. Entries
// are filed under each of these first words together with its position and the
// entry's size, so that a search reads only lists which may hold a match.
// (Prefix and positional filtering as in Xiao, Wang, Lin, Yu: Efficient
// similarity joins for near duplicate detection, WWW 2008.)
//
// The order must not change while entries are filed by it. It is taken from a
// sample when the crowd forms; when the traffic drifts and lists grow long, a
// new era starts with a new order, and searches look in every era.
//
// The buckets of one partition, of questions of as many parts, share one crowd.
// It holds an entry once, in however many of these buckets that is.
type crowd struct {
	key     uint64 // in the shard
	buckets int
	eras    []*era
	n       int
	recent  [crowdSample]uint32 // the last entries added, a ring
	at      int
}

const (
	crowdSample = 256 // entries that an order is taken from
	crowdParts  = 8   // most parts of a question in a crowd: a search's look-ups grow with their square
	maxPrefix   = crowdParts + 2
	maxEras     = 4
)

// era is one order of words and the entries filed by it.
type era struct {
	ranks    rankTable
	lists    tagIndex
	n        int
	outgrown int // number of entries from which a long list starts a new era
}

// newCrowd makes an empty crowd whose first order is that of items.
func newCrowd(x *Index, s *slab, key uint64, items []item) *crowd {
	c := &crowd{key: key}
	for i := range crowdSample {
		c.recent[i] = items[i*len(items)/crowdSample].ref
	}
	c.start(x, s)
	return c
}

// start opens an era with the order of the sample.
func (c *crowd) start(x *Index, s *slab) {
	e := &era{ranks: rankWords(s, c.recent[:]), outgrown: 8 * max(c.n, x.crowdAt)}
	c.eras = append(c.eras, e)
}

func (c *crowd) add(x *Index, s *slab, it item) {
	e := c.eras[len(c.eras)-1]
	c.recent[c.at] = it.ref
	c.at = (c.at + 1) % crowdSample
	longest := 0
	var prefix [maxPrefix]uint64
	for j, w := range e.prefixOf(x, s, it.ref, prefix[:0]) {
		if b := e.lists.add(s, listTag(w, int(it.n), j), it); b != nil {
			longest = max(longest, len(b.items))
		}
	}
	c.n++
	e.n++
	if longest > x.longList && e.n >= e.outgrown && len(c.eras) < maxEras {
		c.start(x, s)
	}
}

// remove takes the entry ref out of the era it was filed in.
func (c *crowd) remove(x *Index, s *slab, ref uint32) {
	size := int(s.at(ref).n)
	var prefix [maxPrefix]uint64
	for k := len(c.eras) - 1; k >= 0; k-- {
		e := c.eras[k]
		words := e.prefixOf(x, s, ref, prefix[:0])
		if !e.lists.remove(listTag(words[0], size, 0), ref) {
			continue
		}
		for j, w := range words[1:] {
			e.lists.remove(listTag(w, size, j+1), ref)
		}
		c.n--
		e.n--
		if e.n == 0 && k < len(c.eras)-1 {
			c.eras = append(c.eras[:k], c.eras[k+1:]...)
		}
		return
	}
}

// prefixOf returns the words that the entry ref is filed under: as many as a
// match at the floor, with a set as small as can be, may lack, and one more.
func (e *era) prefixOf(x *Index, s *slab, ref uint32, prefix []uint64) []uint64 {
	words := s.wordsOf(s.at(ref))
	low, _ := sizesFor(x.floor, len(words))
	return e.ranks.first(words, len(words)-low+1, prefix)
}

// listTag is the tag of the list of entries of size words with word at the
// given position of their order.
func listTag(word uint64, size, position int) uint32 {
	return uint32(mix(word^c4, c5+uint64(size)<<16+uint64(position)) >> 16)
}

// bytes returns the memory of c.
func (c *crowd) bytes() int64 {
	n := int64(4*crowdSample + 48)
	for _, e := range c.eras {
		n += 160 + 16*int64(len(e.ranks.slots)) + e.lists.bytes()
	}
	return n
}

// rankTable tells how common a word is, coarsely: 0 for a rare or unknown word,
// more for a more common one. It does not change once made.
type rankTable struct {
	slots []rankSlot
}

type rankSlot struct {
	word uint64
	rank uint8 // 0: the slot is empty
}

// rankWords counts the words of the sampled entries.
func rankWords(s *slab, sample []uint32) rankTable {
	count := map[uint64]int{}
	for _, ref := range sample {
		// A reference may by now name another entry, or none. Any sample
		// makes a valid order.
		if e := s.at(ref); e.n != 0 {
			for _, w := range s.wordsOf(e) {
				count[w]++
			}
		}
	}
	common := 0
	for _, n := range count {
		if rankOf(n) > 0 {
			common++
		}
	}
	size := 8
	for size < 2*common {
		size *= 2
	}
	t := rankTable{slots: make([]rankSlot, size)}
	for w, n := range count {
		if r := rankOf(n); r > 0 {
			i := w & uint64(size-1)
			for t.slots[i].rank != 0 {
				i = (i + 1) & uint64(size-1)
			}
			t.slots[i] = rankSlot{w, r}
		}
	}
	return t
}

// rankOf ranks a word that n entries of a sample have.
func rankOf(n int) uint8 {
	switch {
	case n <= crowdSample/128:
		return 0
	case n <= crowdSample/32:
		return 1
	case n <= crowdSample/8:
		return 2
	case n <= crowdSample/2:
		return 3
	}
	return 4
}

func (t rankTable) rank(word uint64) uint8 {
	mask := uint64(len(t.slots) - 1)
	for i := word & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.rank == 0 || s.word == word {
			return s.rank
		}
	}
}

// first appends to prefix the first n of words, at most cap(prefix), in the
// order of their rank and, among equals, of their hash.
func (t rankTable) first(words []uint64, n int, prefix []uint64) []uint64 {
	var ranks [maxPrefix]uint8
	n = min(n, len(words), cap(prefix))
	for _, w := range words {
		r := t.rank(w)
		i := len(prefix)
		if i < n {
			prefix = prefix[:i+1]
		} else if i--; r >= ranks[i] {
			continue // words come by hash, so an equal rank is no gain
		}
		for ; i > 0 && ranks[i-1] > r; i-- {
			prefix[i], ranks[i] = prefix[i-1], ranks[i-1]
		}
		prefix[i], ranks[i] = w, r
	}
	return prefix
}
