package similar

// item is what a bucket knows of an entry: enough to rule most of them out
// without a look at the entry itself.
type item struct {
	parity uint64
	id     uint64
	ref    uint32
	n      uint16
}

// bucket lists the entries that share a tag.
type bucket struct {
	items []item
	// place finds an item by its reference once there are many: an open hash
	// table of 1 + positions in items.
	place []uint32
	// crowd stands in for items in a signature bucket that has outgrown
	// its limit.
	crowd *crowd
	// spread is the number of entries that are indexed elsewhere, with items
	// empty: members once they are indexed by signature, entries in a crowd.
	spread int
}

const (
	placeAt   = 64 // length from which a bucket keeps places
	keptItems = 16 // room that an unused bucket keeps
)

func (b *bucket) add(it item) {
	b.items = append(b.items, it)
	if b.place == nil && len(b.items) < placeAt {
		return
	}
	if len(b.items)*2 > len(b.place) {
		b.place = make([]uint32, max(4*placeAt, 2*len(b.place)))
		for i := range b.items {
			b.setPlace(b.items[i].ref, i)
		}
		return
	}
	b.setPlace(it.ref, len(b.items)-1)
}

// remove takes out an item of ref and reports whether there was one.
func (b *bucket) remove(ref uint32) bool {
	i := b.position(ref)
	if i < 0 {
		return false
	}
	last := len(b.items) - 1
	if b.place != nil {
		b.clearPlace(ref, i)
		if i != last {
			b.clearPlace(b.items[last].ref, last)
			b.setPlace(b.items[last].ref, i)
		}
	}
	b.items[i] = b.items[last]
	b.items = b.items[:last]
	if last < placeAt/2 {
		b.place = nil
	}
	return true
}

func (b *bucket) position(ref uint32) int {
	if b.place == nil {
		for i := range b.items {
			if b.items[i].ref == ref {
				return i
			}
		}
		return -1
	}
	mask := uint32(len(b.place) - 1)
	for h := spreadRef(ref) & mask; b.place[h] != 0; h = (h + 1) & mask {
		if i := int(b.place[h] - 1); b.items[i].ref == ref {
			return i
		}
	}
	return -1
}

func (b *bucket) setPlace(ref uint32, i int) {
	mask := uint32(len(b.place) - 1)
	h := spreadRef(ref) & mask
	for b.place[h] != 0 {
		h = (h + 1) & mask
	}
	b.place[h] = uint32(i) + 1
}

// clearPlace removes the place that says ref is at i. All items must still be
// where the places say.
func (b *bucket) clearPlace(ref uint32, i int) {
	mask := uint32(len(b.place) - 1)
	hole := spreadRef(ref) & mask
	for b.place[hole] != uint32(i)+1 {
		hole = (hole + 1) & mask
	}
	for h := (hole + 1) & mask; b.place[h] != 0; h = (h + 1) & mask {
		home := spreadRef(b.items[b.place[h]-1].ref) & mask
		if (h-home)&mask >= (h-hole)&mask {
			b.place[hole] = b.place[h]
			hole = h
		}
	}
	b.place[hole] = 0
}

// spreadRef spreads references, which are consecutive, over a hash table.
func spreadRef(ref uint32) uint32 { return ref * 0x9e3779b1 >> 7 }

// bucketFlag marks a reference that names a bucket and not an entry.
const bucketFlag = 1 << 31

// tagIndex finds the entries that share a tag. A tag of one entry names it
// directly, a tag of several names a bucket.
type tagIndex struct {
	tags    tagTable
	buckets []*bucket
	free    []uint32 // unused places in buckets
}

// bucketOf returns the bucket that ref names, nil if it names an entry.
func (x *tagIndex) bucketOf(ref uint32) *bucket {
	if ref&bucketFlag == 0 {
		return nil
	}
	return x.buckets[ref&^bucketFlag]
}

// add files it under tag and returns the bucket it went to, nil if it is the
// tag's only entry. An entry that was the only one joins it in the bucket.
func (x *tagIndex) add(s *slab, tag uint32, it item) *bucket {
	ref := x.tags.find(tag)
	if ref == 0 {
		x.tags.put(tag, it.ref)
		return nil
	}
	b := x.bucketOf(ref)
	if b == nil {
		b = x.open(tag)
		b.add(s.item(ref))
	}
	if b.spread == 0 {
		b.add(it)
	}
	return b
}

// open makes a bucket for tag.
func (x *tagIndex) open(tag uint32) *bucket {
	var n uint32
	if last := len(x.free) - 1; last >= 0 {
		n, x.free = x.free[last], x.free[:last]
	} else {
		n = uint32(len(x.buckets))
		x.buckets = append(x.buckets, new(bucket))
	}
	x.tags.put(tag, n|bucketFlag)
	return x.buckets[n]
}

// close drops tag and takes back its bucket.
func (x *tagIndex) close(tag uint32) {
	ref := x.tags.find(tag)
	b := x.bucketOf(ref)
	*b = bucket{items: b.items[:0]}
	if cap(b.items) > keptItems {
		b.items = nil
	}
	x.free = append(x.free, ref&^bucketFlag)
	x.tags.del(tag)
}

// remove takes the entry ref out from under tag and reports whether it was
// there. It does not know entries that are spread.
func (x *tagIndex) remove(tag, ref uint32) bool {
	at := x.tags.find(tag)
	if at == ref {
		x.tags.del(tag)
		return true
	}
	b := x.bucketOf(at)
	if b == nil || !b.remove(ref) {
		return false
	}
	if len(b.items) == 1 {
		rest := b.items[0].ref
		x.close(tag)
		x.tags.put(tag, rest)
	}
	return true
}

// bytes returns the memory of x.
func (x *tagIndex) bytes() int64 {
	n := x.tags.bytes() + 8*int64(len(x.buckets)) + 4*int64(cap(x.free))
	for _, b := range x.buckets {
		n += 72 + 24*int64(cap(b.items)) + 4*int64(cap(b.place))
	}
	return n
}

// item returns the bucket item of the entry ref.
func (s *slab) item(ref uint32) item {
	e := s.at(ref)
	return item{parity: e.parity, id: e.id, ref: ref, n: e.n}
}
