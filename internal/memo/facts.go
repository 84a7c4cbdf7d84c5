package memo

import (
	"hash/maphash"
	"sync"
	"unsafe"
)

// Facts remembers one number about each of many texts without keeping the
// texts: a text is known by 128 bits of hashes under seeds of this process, so
// that there is no hope of taking one for another, by accident or by design. It
// is for numbers with which even that would do no harm, such as an estimate, or
// that a text stays as it is.
//
// It is a table of fixed size in which a text has a few places, of which the
// least recently used is given up: storing and finding touch one or two cache
// lines and allocate nothing, also when every text is new. It is safe for
// concurrent use.
type Facts struct {
	seeds   [2]maphash.Seed
	buckets []bucket // as many as a power of two
	locks   [64]struct {
		sync.Mutex
		_ [56]byte // a cache line each
	}
}

// bucket holds the places of a text, the most recently used first.
type bucket struct {
	places [5]place
	_      [8]byte // two cache lines in all
}

// place holds one number. The zero key is none.
type place struct {
	key   Key
	value uint64
}

// Key stands for a text. It is worth nothing in another process.
type Key [2]uint64

// NewFacts returns a table of about size bytes, at least one bucket. The memory
// is taken from the system as it fills.
func NewFacts(size int) *Facts {
	n := 1
	for 2*n*int(unsafe.Sizeof(bucket{})) <= size {
		n *= 2
	}
	return &Facts{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, buckets: make([]bucket, n)}
}

// Key is the key of raw under salt, which tells apart what is known of the same
// text in different respects.
func (f *Facts) Key(salt uint64, raw []byte) Key {
	return Key{maphash.Bytes(f.seeds[0], raw), maphash.Bytes(f.seeds[1], raw)}.Salted(salt)
}

// Salted is the key of the same text under another salt as well.
func (k Key) Salted(salt uint64) Key {
	return Key{mix(k[0] ^ salt*0x9E3779B97F4A7C15), mix(k[1] + salt)}
}

func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= 0xD6E8FEB86659FD93
	return h ^ h>>32
}

// Get returns what was put for k.
func (f *Facts) Get(k Key) (value uint64, ok bool) {
	b, lock := f.bucket(k)
	lock.Lock()
	defer lock.Unlock()
	for i := range b.places {
		if p := b.places[i]; p.key == k {
			copy(b.places[1:i+1], b.places[:i])
			b.places[0] = p
			return p.value, k != Key{}
		}
	}
	return 0, false
}

// Put stores value for k.
func (f *Facts) Put(k Key, value uint64) {
	b, lock := f.bucket(k)
	lock.Lock()
	defer lock.Unlock()
	at := len(b.places) - 1
	for i := range b.places {
		if b.places[i].key == k {
			at = i
			break
		}
	}
	copy(b.places[1:at+1], b.places[:at])
	b.places[0] = place{k, value}
}

func (f *Facts) bucket(k Key) (*bucket, *sync.Mutex) {
	i := k[0] & uint64(len(f.buckets)-1)
	return &f.buckets[i], &f.locks[i%uint64(len(f.locks))].Mutex
}
