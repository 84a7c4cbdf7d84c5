package similar

// entry is what the index knows of one question: a cache line. Its words are
// in the slab beside it. n is 0 in a free entry.
type entry struct {
	id          uint64
	partition   Key
	fingerprint Key
	expires     int64
	parity      uint64
	words       uint32 // offset in the slab; of a free entry, the next free one
	n           uint16
}

const (
	entryChunk = 64   // entries allocated at once
	wordChunk  = 2048 // words allocated at once, MaxWords at least
)

// slab holds the entries of a shard and their words in chunks without pointers,
// so that a million of them cost the garbage collector nothing. Freed space is
// reused for its own size.
type slab struct {
	entries   []*[entryChunk]entry
	used      uint32 // entries ever handed out
	freeEntry uint32

	words     []*[wordChunk]uint64
	wordsUsed uint32
	freeWords [wordClasses]uint32 // 1 + offset of the first free block of a class, 0 if none
}

// Words are stored in blocks of these many classes of size: steps of 2 words
// up to 64, of 8 up to 512 and of 64 above.
const wordClasses = 32 + 56 + 24

// wordClass returns the class of a block for n words and its capacity.
func wordClass(n int) (class, capacity int) {
	switch {
	case n <= 64:
		c := (n + 1) / 2
		return c - 1, 2 * c
	case n <= 512:
		c := (n - 64 + 7) / 8
		return 32 + c - 1, 64 + 8*c
	default:
		c := (n - 512 + 63) / 64
		return 88 + c - 1, 512 + 64*c
	}
}

// at returns the entry that ref names; references start from 1.
func (s *slab) at(ref uint32) *entry {
	ref--
	return &s.entries[ref/entryChunk][ref%entryChunk]
}

// wordsOf returns the words of e.
func (s *slab) wordsOf(e *entry) []uint64 {
	return s.words[e.words/wordChunk][e.words%wordChunk:][:e.n:e.n]
}

// add stores q and returns its reference.
func (s *slab) add(partition Key, q *Question, id uint64, expires int64) uint32 {
	ref := s.freeEntry
	if ref != 0 {
		s.freeEntry = s.at(ref).words
	} else {
		if int(s.used) == len(s.entries)*entryChunk {
			s.entries = append(s.entries, new([entryChunk]entry))
		}
		s.used++
		ref = s.used
	}
	e := s.at(ref)
	*e = entry{
		id: id, partition: partition, fingerprint: q.fingerprint, expires: expires,
		parity: q.parity, words: s.block(len(q.words)), n: uint16(len(q.words)),
	}
	copy(s.wordsOf(e), q.words)
	return ref
}

// block returns the offset of a free block for n words.
func (s *slab) block(n int) uint32 {
	class, capacity := wordClass(n)
	if free := s.freeWords[class]; free != 0 {
		at := free - 1
		s.freeWords[class] = uint32(s.words[at/wordChunk][at%wordChunk])
		return at
	}
	at := s.wordsUsed
	if at%wordChunk+uint32(capacity) > wordChunk {
		at = at/wordChunk*wordChunk + wordChunk
	}
	if int(at/wordChunk) == len(s.words) {
		s.words = append(s.words, new([wordChunk]uint64))
	}
	s.wordsUsed = at + uint32(capacity)
	return at
}

// free takes back the entry that ref names.
func (s *slab) free(ref uint32) {
	e := s.at(ref)
	class, _ := wordClass(int(e.n))
	s.words[e.words/wordChunk][e.words%wordChunk] = uint64(s.freeWords[class])
	s.freeWords[class] = e.words + 1
	*e = entry{words: s.freeEntry}
	s.freeEntry = ref
}

// bytes returns the memory of s.
func (s *slab) bytes() int64 {
	return int64(len(s.entries))*(entryChunk*64+8) + int64(len(s.words))*(wordChunk*8+8)
}
