package similar

import "sync"

// shard is the part of an index behind one lock.
type shard struct {
	mu    sync.RWMutex
	store slab
	// members lists the entries of each small partition, by partition.
	members tagIndex
	// short and long find the entries of the other ones, by signature: those of
	// up to crowdParts parts, which may come in crowds, and the rest.
	short, long tagIndex
	crowds      map[uint64]*crowd
	sizes       sizeSet // of the entries in these two
	n           int

	// Room to work in, under the write lock.
	partSums [maxParts]uint64
	partTags [maxParts]uint32
	touched  uint64
	set      crowdSet
	_        [64]byte // keeps the locks of two shards off one cache line
}

// partitionHash is the hash of a partition as the guard narrows it. Its low
// bits choose the shard.
func partitionHash(partition, fingerprint Key) uint64 {
	return mix(partition[0]^c0, fingerprint[0]^c1) ^ mix(partition[1]^c2, fingerprint[1]^c3)
}

func memberTag(hash uint64) uint32 { return uint32(hash >> 32) }

// signatureTag is the tag of part p of k of a question whose words in this part
// add up to sum.
func signatureTag(hash, sum uint64, p, k int) uint32 {
	return uint32(mix(hash^sum, c4+uint64(k)<<16+uint64(p)) >> 16)
}

// partOf tells which of k parts word falls in.
func partOf(word, k uint64) uint64 { return uint64(uint32(word)) * k >> 32 }

// addUp adds up the words of each part.
func addUp(words, sums []uint64) {
	k := uint64(len(sums))
	for _, w := range words {
		sums[partOf(w, k)] += w
	}
}

// insert adds an entry and returns its reference.
func (s *shard) insert(x *Index, hash uint64, partition Key, q *Question, id uint64, expires int64) uint32 {
	ref := s.store.add(partition, q, id, expires)
	s.n++
	b := s.members.add(&s.store, memberTag(hash), s.store.item(ref))
	switch {
	case b == nil:
	case b.spread > 0:
		b.spread++
		s.sign(x, ref)
	case len(b.items) > x.spreadAt:
		for i := range b.items {
			s.sign(x, b.items[i].ref)
		}
		b.spread, b.items = len(b.items), nil
	}
	return ref
}

// remove takes the entry ref out.
func (s *shard) remove(x *Index, ref uint32) {
	e := s.store.at(ref)
	tag := memberTag(partitionHash(e.partition, e.fingerprint))
	if b := s.members.bucketOf(s.members.tags.find(tag)); b != nil && b.spread > 0 {
		s.unsign(x, ref)
		if b.spread--; b.spread == 0 {
			s.members.close(tag)
		}
	} else {
		s.members.remove(tag, ref)
	}
	s.store.free(ref)
	s.n--
}

// signatures returns the index of the entries of k parts.
func (s *shard) signatures(k int) *tagIndex {
	if k > crowdParts {
		return &s.long
	}
	return &s.short
}

// tags returns the tags of the parts of e, whose partition has the given hash,
// and the index they are in.
func (s *shard) tags(x *Index, e *entry, hash uint64) ([]uint32, *tagIndex) {
	k := int(x.parts[e.n])
	sums, tags := s.partSums[:k], s.partTags[:k]
	clear(sums)
	addUp(s.store.wordsOf(e), sums)
	signatures := s.signatures(k)
	for p, sum := range sums {
		tags[p] = signatureTag(hash, sum, p, k)
		s.touched ^= signatures.tags.touch(tags[p])
	}
	return tags, signatures
}

// sign files the entry ref under its signatures.
func (s *shard) sign(x *Index, ref uint32) {
	e := s.store.at(ref)
	it := s.store.item(ref)
	s.sizes.add(int(e.n))
	hash := partitionHash(e.partition, e.fingerprint)
	var joined crowdSet
	tags, signatures := s.tags(x, e, hash)
	var full [crowdParts]uint32 // tags of buckets that are to become a crowd
	n := 0
	for _, tag := range tags {
		b := signatures.add(&s.store, tag, it)
		switch {
		case b == nil:
		case b.crowd != nil:
			b.spread++
			if joined.add(b.crowd) {
				b.crowd.add(x, &s.store, it)
			}
		case len(b.items) >= x.crowdAt && len(tags) <= crowdParts:
			full[n] = tag
			n++
		}
	}
	k := uint64(len(tags)) // gather works in the room of tags
	for _, tag := range full[:n] {
		s.gather(x, tag, mix(hash, k))
	}
}

// gather makes the bucket of tag part of the crowd key.
func (s *shard) gather(x *Index, tag uint32, key uint64) {
	b := s.short.bucketOf(s.short.tags.find(tag))
	if b.crowd != nil {
		return // two parts of the entry have one tag
	}
	c := s.crowds[key]
	if c == nil {
		c = newCrowd(x, &s.store, key, b.items)
		if s.crowds == nil {
			s.crowds = map[uint64]*crowd{}
		}
		s.crowds[key] = c
	}
	seen := make(map[uint32]bool, len(b.items))
	for _, it := range b.items {
		if !seen[it.ref] && !s.crowdsOf(x, it.ref).has(c) {
			c.add(x, &s.store, it)
		}
		seen[it.ref] = true
	}
	c.buckets++
	*b = bucket{crowd: c, spread: len(b.items)}
}

// crowdSet is the crowds that an entry is in, by its parts: one, but for tags
// that collide.
type crowdSet struct {
	list [crowdParts]*crowd
	n    int
}

func (s *crowdSet) has(c *crowd) bool {
	for _, l := range s.list[:s.n] {
		if l == c {
			return true
		}
	}
	return false
}

// add reports whether c is new.
func (s *crowdSet) add(c *crowd) bool {
	if s.has(c) {
		return false
	}
	s.list[s.n] = c
	s.n++
	return true
}

// crowdsOf returns the crowds that the entry ref is in.
func (s *shard) crowdsOf(x *Index, ref uint32) *crowdSet {
	e := s.store.at(ref)
	hash := partitionHash(e.partition, e.fingerprint)
	set := &s.set
	set.n = 0
	tags, signatures := s.tags(x, e, hash)
	for _, tag := range tags {
		b := signatures.bucketOf(signatures.tags.find(tag))
		if b != nil && b.crowd != nil {
			set.add(b.crowd)
		}
	}
	return set
}

// unsign takes the entry ref out from under its signatures.
func (s *shard) unsign(x *Index, ref uint32) {
	e := s.store.at(ref)
	s.sizes.remove(int(e.n))
	hash := partitionHash(e.partition, e.fingerprint)
	var left crowdSet
	tags, signatures := s.tags(x, e, hash)
	for _, tag := range tags {
		b := signatures.bucketOf(signatures.tags.find(tag))
		if b == nil || b.crowd == nil {
			signatures.remove(tag, ref)
			continue
		}
		c := b.crowd
		if left.add(c) {
			c.remove(x, &s.store, ref)
		}
		if b.spread--; b.spread == 0 {
			signatures.close(tag)
			if c.buckets--; c.buckets == 0 {
				delete(s.crowds, c.key)
			}
		}
	}
}
