package similar

import (
	"math/bits"
	"sync"
	"unsafe"
)

// Options of an Index. The zero value is ready to use.
type Options struct {
	// Floor is the lowest threshold that Search answers by signature, 0.9 if
	// zero: the lowest one configured is right. Lower thresholds are answered
	// as exactly, but by a scan of a shard. Signatures below 0.8 would not
	// pay, so that is the least.
	Floor float64
	// Shards is the number of locks that partitions are spread over, rounded
	// up to a power of two, 64 if zero.
	Shards int
}

// Index finds the nearest of the questions inserted so far, exactly. It is safe
// for concurrent use.
type Index struct {
	floor  float64
	parts  *[MaxWords + 1]uint16
	shards []shard
	places []place
	limits
}

// limits are the lengths at which a list gives way to something that finds more
// and costs more. Tests lower them.
type limits struct {
	// spreadAt is the number of members up to which a partition is a plain
	// list. Behind the lexical guard nearly every partition stays one.
	spreadAt int
	// crowdAt is the length at which a signature bucket becomes a crowd.
	crowdAt int
	// longList is the length of a crowd's list that asks for a new era.
	longList int
}

// place is a part of the directory of ids. Its lock is taken before a shard's.
type place struct {
	mu sync.Mutex
	at map[uint64]location
	_  [40]byte
}

// location says where an id's entry is.
type location struct {
	shard, ref uint32
}

// New returns an empty Index.
func New(o Options) *Index {
	if o.Floor == 0 {
		o.Floor = 0.9
	}
	if o.Shards <= 0 {
		o.Shards = 64
	}
	n := 1 << bits.Len(uint(o.Shards-1))
	floor := min(max(o.Floor, minFloor), 1)
	x := &Index{
		floor:  floor,
		parts:  partsFor(floor),
		shards: make([]shard, n),
		places: make([]place, n),
		limits: limits{spreadAt: 16, crowdAt: 512, longList: 512},
	}
	for i := range x.places {
		x.places[i].at = map[uint64]location{}
	}
	return x
}

func (x *Index) shardOf(hash uint64) uint32 { return uint32(hash) & uint32(len(x.shards)-1) }

func (x *Index) placeOf(id uint64) *place {
	return &x.places[mix(id^c0, c1)&uint64(len(x.places)-1)]
}

// Insert adds a copy of q under id, which it replaces if it is there already.
// The entry is found while now < expires. q must be one that Prepare or
// UnmarshalBinary accepted; another one only removes id.
func (x *Index) Insert(partition Key, q *Question, id uint64, expires int64) {
	hash := partitionHash(partition, q.fingerprint)
	n := x.shardOf(hash)
	p := x.placeOf(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	x.drop(p, id)
	if len(q.words) == 0 || len(q.words) > MaxWords {
		return
	}
	s := &x.shards[n]
	s.mu.Lock()
	ref := s.insert(x, hash, partition, q, id, expires)
	s.mu.Unlock()
	p.at[id] = location{n, ref}
}

// Delete removes id and reports whether it was there.
func (x *Index) Delete(id uint64) bool {
	p := x.placeOf(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	return x.drop(p, id)
}

// drop removes id under the lock of p, its place.
func (x *Index) drop(p *place, id uint64) bool {
	l, ok := p.at[id]
	if !ok {
		return false
	}
	s := &x.shards[l.shard]
	s.mu.Lock()
	s.remove(x, l.ref)
	s.mu.Unlock()
	delete(p.at, id)
	return true
}

// Search returns the entry of partition that is most similar to q, with its
// score, if that is at least threshold. Only entries with q's fingerprint and
// with now < expires are considered. Of several equally similar ones the
// lowest id wins: make ids from content, and the answer depends on nothing but
// what is stored. A threshold of 0 or less is one that a single common word
// reaches.
func (x *Index) Search(partition Key, q *Question, threshold float64, now int64) (id uint64, score float64, ok bool) {
	n := len(q.words)
	if n == 0 || !(threshold <= 1) {
		return 0, 0, false
	}
	hash := partitionHash(partition, q.fingerprint)
	sh := &x.shards[x.shardOf(hash)]
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	ref := sh.members.tags.find(memberTag(hash))
	if ref == 0 {
		return 0, 0, false
	}
	threshold = max(threshold, 1.0/(2*MaxWords))
	s := search{store: &sh.store, q: q, partition: partition, now: now, level: threshold}
	s.low, s.high = sizesFor(threshold, n)
	if b := sh.members.bucketOf(ref); b == nil || b.spread == 0 {
		s.setBounds()
		s.ref(&sh.members, ref)
		return s.id, s.score, s.found
	}
	if s.low, s.high = sh.sizes.clip(s.low, s.high); s.high < s.low {
		return 0, 0, false
	}
	s.setBounds()
	if threshold < x.floor {
		s.all()
	} else {
		s.signatures(sh, x.parts, hash)
	}
	return s.id, s.score, s.found
}

// Sweep removes what has expired at now and returns how many entries that were.
// It holds no lock for longer than it takes to look at one shard.
func (x *Index) Sweep(now int64) int {
	swept := 0
	var expired []uint64
	for i := range x.shards {
		s := &x.shards[i]
		expired = expired[:0]
		s.mu.RLock()
		for _, chunk := range s.store.entries {
			for j := range chunk {
				if e := &chunk[j]; e.n != 0 && e.expires <= now {
					expired = append(expired, e.id)
				}
			}
		}
		s.mu.RUnlock()
		for _, id := range expired {
			if x.dropExpired(id, now) {
				swept++
			}
		}
	}
	return swept
}

// dropExpired removes id unless it has been replaced by an entry that lives.
func (x *Index) dropExpired(id uint64, now int64) bool {
	p := x.placeOf(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	l, ok := p.at[id]
	if !ok {
		return false
	}
	s := &x.shards[l.shard]
	s.mu.RLock()
	live := s.store.at(l.ref).expires > now
	s.mu.RUnlock()
	return !live && x.drop(p, id)
}

// Len returns the number of entries, expired ones that are still held included.
func (x *Index) Len() int {
	n := 0
	for i := range x.shards {
		s := &x.shards[i]
		s.mu.RLock()
		n += s.n
		s.mu.RUnlock()
	}
	return n
}

// Bytes returns the memory that the index holds. The directory of ids, a map of
// the runtime's, is estimated.
func (x *Index) Bytes() int64 {
	n := int64(len(x.shards)) * int64(unsafe.Sizeof(shard{})+unsafe.Sizeof(place{}))
	for i := range x.shards {
		s := &x.shards[i]
		s.mu.RLock()
		n += s.store.bytes() + s.members.bytes() + s.short.bytes() + s.long.bytes() + 25*int64(s.n)
		for _, c := range s.crowds {
			n += c.bytes()
		}
		s.mu.RUnlock()
	}
	return n
}
