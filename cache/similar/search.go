package similar

import "math/bits"

// narrow is the number of sizes up to which a search keeps the bounds of each.
const narrow = 128

// search is one search under way: what is asked, what is the best so far and
// what may still better it.
type search struct {
	store       *slab
	q           *Question
	partition   Key
	now         int64
	id          uint64
	score       float64
	found       bool
	low, high   int     // sizes that can reach the threshold
	level       float64 // threshold or, once something is found, its score
	tie, better [narrow]int16
}

// bounds returns the number of words in which an entry of m words may differ
// to reach the level, and to exceed it where it has been reached.
func (s *search) bounds(m int) (tie, better int) {
	if s.high-s.low < narrow {
		return int(s.tie[m-s.low]), int(s.better[m-s.low])
	}
	return s.bound(m)
}

func (s *search) bound(m int) (tie, better int) {
	n := len(s.q.words)
	tie = n + m - 2*commonFor(s.level, n, m)
	if !s.found {
		return tie, tie
	}
	return tie, n + m - 2*commonAbove(s.level, n, m)
}

// setBounds keeps the bounds that the level implies.
func (s *search) setBounds() {
	if s.high-s.low >= narrow {
		return
	}
	for m := s.low; m <= s.high; m++ {
		tie, better := s.bound(m)
		s.tie[m-s.low], s.better[m-s.low] = int16(tie), int16(better)
	}
}

// worth tells whether an entry of m words and this parity and id can be the
// answer, as far as these tell.
func (s *search) worth(parity, id uint64, m int) bool {
	if m < s.low || m > s.high {
		return false
	}
	tie, better := s.bounds(m)
	apart := bits.OnesCount64(parity ^ s.q.parity)
	return apart <= tie && (apart <= better || id < s.id)
}

// entry makes e the answer if it is the best so far.
func (s *search) entry(e *entry) {
	if !s.worth(e.parity, e.id, int(e.n)) || e.expires <= s.now ||
		e.partition != s.partition || e.fingerprint != s.q.fingerprint {
		return
	}
	tie, _ := s.bounds(int(e.n))
	common, ok := intersect(s.q.words, s.store.wordsOf(e), tie)
	if !ok {
		return
	}
	score := ratio(common, len(s.q.words), int(e.n))
	if s.found && (score < s.score || score == s.score && e.id >= s.id) {
		return
	}
	raised := score > s.score || !s.found
	s.id, s.score, s.found = e.id, score, true
	if raised {
		s.level = score
		s.setBounds()
	}
}

// intersect counts the common words of a and b, both ascending; it gives up
// once they differ in more than limit words.
func intersect(a, b []uint64, limit int) (common int, ok bool) {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch x, y := a[i], b[j]; {
		case x == y:
			i++
			j++
			common++
			continue
		case x < y:
			i++
		default:
			j++
		}
		if i+j-2*common > limit {
			return 0, false
		}
	}
	return common, len(a)+len(b)-2*common <= limit
}

// bucket looks at every item of b.
func (s *search) bucket(b *bucket) {
	for i := range b.items {
		it := &b.items[i]
		if s.worth(it.parity, it.id, int(it.n)) {
			s.entry(s.store.at(it.ref))
		}
	}
}

// ref looks at the entry or the bucket that ref names in x. It does not look
// into crowds.
func (s *search) ref(x *tagIndex, ref uint32) {
	if ref == 0 {
		return
	}
	if b := x.bucketOf(ref); b != nil {
		s.bucket(b)
		return
	}
	s.entry(s.store.at(ref))
}

// all looks at every entry of the shard.
func (s *search) all() {
	left := int(s.store.used)
	for _, chunk := range s.store.entries {
		for i := range chunk[:min(left, entryChunk)] {
			if e := &chunk[i]; e.n != 0 && s.worth(e.parity, e.id, int(e.n)) {
				s.entry(e)
			}
		}
		left -= entryChunk
	}
}

// signatures looks among the entries that share a part with the question,
// class by class: a class is the sizes that are split into the same number of
// parts. The question's own class comes first; a set equal to it can only be
// there.
func (s *search) signatures(sh *shard, parts *[MaxWords + 1]uint16, hash uint64) {
	n := min(max(len(s.q.words), s.low), s.high)
	first, last := n, n
	for first > s.low && parts[first-1] == parts[n] {
		first--
	}
	for last < s.high && parts[last+1] == parts[n] {
		last++
	}
	s.class(sh, int(parts[n]), first, last, hash)
	if s.score == 1 {
		return
	}
	for m := s.low; m <= s.high; m++ {
		if m == first {
			m = last
			continue
		}
		end := m
		for end < s.high && parts[end+1] == parts[m] {
			end++
		}
		s.class(sh, int(parts[m]), m, end, hash)
		m = end
	}
}

// class looks among the entries of from to to words, which are split into k
// parts.
func (s *search) class(sh *shard, k, from, to int, hash uint64) {
	differ := -1
	for m := from; m <= to; m++ {
		tie, _ := s.bounds(m)
		differ = max(differ, tie)
	}
	// Differences in so many words leave all parts but so many as they are:
	// among any differ+1 of the k parts one is the same.
	need := min(differ+1, k)
	if need <= 0 {
		return
	}
	if k <= 32 {
		var sums, refs [32]uint64
		s.parts(sh, sums[:k], refs[:0], need, from, to, hash)
	} else {
		var sums, refs [maxParts]uint64
		s.parts(sh, sums[:k], refs[:0], need, from, to, hash)
	}
}

const (
	shortBucket = 16  // looked at as it comes
	crowdCost   = 300 // of a look into a crowd, in bucket items
)

// parts looks at need of the parts, the cheap ones if there is a choice. sums
// is zero, refs room for as many.
func (s *search) parts(sh *shard, sums, refs []uint64, need, from, to int, hash uint64) {
	addUp(s.q.words, sums)
	signatures := sh.signatures(len(sums))
	for p, sum := range sums {
		if need == 0 {
			return
		}
		ref := signatures.tags.find(signatureTag(hash, sum, p, len(sums)))
		if b := signatures.bucketOf(ref); b != nil {
			cost := len(b.items)
			if b.crowd != nil {
				cost = crowdCost
			}
			if cost > shortBucket {
				refs = append(refs, uint64(cost)<<32|uint64(ref))
				continue
			}
		}
		s.ref(signatures, ref)
		need--
	}
	var searched *crowd
	for ; need > 0; need-- {
		cheapest := 0
		for i, r := range refs {
			if r < refs[cheapest] {
				cheapest = i
			}
		}
		b := signatures.bucketOf(uint32(refs[cheapest]))
		refs[cheapest] = refs[len(refs)-1]
		refs = refs[:len(refs)-1]
		switch {
		case b.crowd == nil:
			s.bucket(b)
		case b.crowd != searched:
			s.crowd(b.crowd, from, to)
			searched = b.crowd
		}
	}
}

// crowd looks at the entries of from to to words in c.
func (s *search) crowd(c *crowd, from, to int) {
	n := len(s.q.words)
	for _, e := range c.eras {
		var space [maxPrefix]uint64
		longest := 1
		for m := from; m <= to; m++ {
			tie, _ := s.bounds(m)
			longest = max(longest, n-(n+m-tie)/2+1)
		}
		prefix := e.ranks.first(s.q.words, longest, space[:0])
		for m := from; m <= to; m++ {
			for j := 0; ; j++ {
				// The level may have risen since.
				tie, _ := s.bounds(m)
				common := (n + m - tie) / 2
				if j > m-common {
					break
				}
				for i := 0; i <= n-common; i++ {
					s.ref(&e.lists, e.lists.tags.find(listTag(prefix[i], m, j)))
				}
			}
		}
	}
}
