package similar

import "sync"

// shard is the part of an index behind one lock.
type shard struct {
	mu    sync.RWMutex
	store slab
	// members lists the entries of each small partition, by partition.
	members tagIndex
	// signatures finds the entries of the other ones, by signature.
	signatures tagIndex
	sizes      sizeSet // of the entries in signatures
	n          int
	sums       [maxParts]uint64 // of the entry at hand, under the write lock
	_          [64]byte         // keeps the locks of two shards off one cache line
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

// sign files the entry ref under its signatures.
func (s *shard) sign(x *Index, ref uint32) {
	e := s.store.at(ref)
	it := s.store.item(ref)
	s.sizes.add(int(e.n))
	hash := partitionHash(e.partition, e.fingerprint)
	sums := s.sums[:x.parts[e.n]]
	clear(sums)
	addUp(s.store.wordsOf(e), sums)
	for p, sum := range sums {
		b := s.signatures.add(&s.store, signatureTag(hash, sum, p, len(sums)), it)
		switch {
		case b == nil:
		case b.crowd != nil:
			b.crowd.add(x, &s.store, it)
		case len(b.items) >= x.crowdAt && len(sums) <= crowdParts:
			b.crowd = newCrowd(x, &s.store, b.items)
			b.items, b.place = nil, nil
		}
	}
}

// unsign takes the entry ref out from under its signatures.
func (s *shard) unsign(x *Index, ref uint32) {
	e := s.store.at(ref)
	s.sizes.remove(int(e.n))
	hash := partitionHash(e.partition, e.fingerprint)
	sums := s.sums[:x.parts[e.n]]
	clear(sums)
	addUp(s.store.wordsOf(e), sums)
	for p, sum := range sums {
		tag := signatureTag(hash, sum, p, len(sums))
		b := s.signatures.bucketOf(s.signatures.tags.find(tag))
		if b == nil || b.crowd == nil {
			s.signatures.remove(tag, ref)
			continue
		}
		b.crowd.remove(x, &s.store, ref)
		if b.crowd.n == 0 {
			s.signatures.close(tag)
		}
	}
}
