package similar

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// Limits of what takes part in similar look-ups. A text outside of them is
// only ever answered by its exact key.
const (
	// MinWords is the least number of distinct words of MinWordChars or more
	// characters.
	MinWords = 8
	// MinWordChars is the length, in characters, from which a word counts
	// towards MinWords.
	MinWordChars = 3
	// MaxText is the longest text in bytes.
	MaxText = 32 << 10
	// MaxWords is the largest word set.
	MaxWords = 2048

	// minText is the length of the shortest text with MinWords words.
	minText = MinWords*(MinWordChars+1) - 1
)

// Key names a partition: all that must be equal for two questions to be
// compared (tenant, model, system prompt, history, tools, parameters). Make it
// from a keyed or cryptographic hash; it is never looked into.
type Key [2]uint64

// Secret keys the hashes of a Question. Questions prepared under different
// secrets never meet. The zero Secret is valid; machines that share questions
// share their secret.
type Secret [2]uint64

// Question is a text prepared for Insert and Search: its set of lower-cased
// words as hashes and the fingerprint of its guard. The zero value is ready
// for Prepare and is meant to be reused: Prepare then allocates nothing.
type Question struct {
	words       []uint64 // ascending, distinct
	parity      uint64
	fingerprint Key

	// Room that Prepare works in.
	tokens       []token
	folded, word []byte
	spare        []uint64
}

// Prepare fills dst from text under the zero Secret. It reports whether the
// text takes part in similar look-ups at all; if not, dst must not be used.
func Prepare(dst *Question, text []byte, guard Guard) (ok bool) {
	return Secret{}.Prepare(dst, text, guard)
}

// Prepare is the package's Prepare with hashes keyed by s.
func (s Secret) Prepare(dst *Question, text []byte, guard Guard) (ok bool) {
	dst.words, dst.tokens, dst.parity = dst.words[:0], dst.tokens[:0], 0
	if len(text) < minText || len(text) > MaxText || !utf8.Valid(text) {
		return false
	}
	scan := scanner{q: dst, secret: s, text: text, guard: guard != Off}
	scan.scan()
	if scan.longWords < MinWords {
		return false
	}
	if long := dst.seal(); long < MinWords || len(dst.words) > MaxWords {
		return false
	}
	dst.fingerprint = Key{uint64(guard), format}
	if guard != Off {
		dst.fingerprint = scan.fingerprint(guard)
	}
	return true
}

// seal sorts the words, drops what is double and derives the parity. It returns
// how many of the words count for the gate.
func (q *Question) seal() (long int) {
	if len(q.words) <= spreadWords {
		q.spread()
	} else {
		slices.Sort(q.words)
	}
	kept := q.words[:0]
	last := uint64(0)
	for i, w := range q.words {
		if i > 0 && w == last {
			continue
		}
		last = w
		kept = append(kept, w)
		long += int(w & 1)
		q.parity ^= parityBit(w)
	}
	q.words = kept
	return long
}

// spreadWords is the most words that spread orders.
const spreadWords = 256

// spread sorts the words by way of their high bits, as many as it takes to tell
// most of them apart: words are hashes, so that leaves little to do.
func (q *Question) spread() {
	n := len(q.words)
	if n < 2 {
		return
	}
	shift := 64 - bits.Len(uint(n-1))
	var places [spreadWords]uint16
	for _, w := range q.words {
		places[uint8(w>>shift)]++
	}
	at := uint16(0)
	for i := range places[:1<<(64-shift)] {
		places[i], at = at, at+places[i]
	}
	q.spare = slices.Grow(q.spare[:0], n)[:n]
	for _, w := range q.words {
		p := &places[uint8(w>>shift)]
		q.spare[*p] = w
		*p++
	}
	q.words, q.spare = q.spare, q.words
	for i := 1; i < n; i++ {
		w, j := q.words[i], i
		for ; j > 0 && q.words[j-1] > w; j-- {
			q.words[j] = q.words[j-1]
		}
		q.words[j] = w
	}
}

// Words returns the number of distinct words.
func (q *Question) Words() int { return len(q.words) }

// Fingerprint returns what the guard demands to be equal. Index mixes it into
// the partition; who keeps questions elsewhere must compare it.
func (q *Question) Fingerprint() Key { return q.fingerprint }

// Jaccard returns the number of common words of a and b over the number of
// words in either, and whether the guard lets the two meet.
func Jaccard(a, b *Question) (score float64, meet bool) {
	if a.fingerprint != b.fingerprint {
		return 0, false
	}
	common := 0
	for i, j := 0, 0; i < len(a.words) && j < len(b.words); {
		switch x, y := a.words[i], b.words[j]; {
		case x == y:
			common++
			i++
			j++
		case x < y:
			i++
		default:
			j++
		}
	}
	return ratio(common, len(a.words), len(b.words)), true
}

// format is the version of the binary form and of every rule and table that
// goes into it. Raise it whenever the same text may give other hashes.
const format = 1

var errEncoding = errors.New("not a prepared question of this version")

// AppendBinary appends a form of q that UnmarshalBinary reads, in this process
// or in another one of the same version: 18 bytes and 8 for each word. It holds
// no text.
func (q *Question) AppendBinary(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, format)
	dst = binary.LittleEndian.AppendUint64(dst, q.fingerprint[0])
	dst = binary.LittleEndian.AppendUint64(dst, q.fingerprint[1])
	for _, w := range q.words {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

// UnmarshalBinary sets q from what AppendBinary wrote. It fails on bytes of
// another version or another origin, and then q must not be used.
func (q *Question) UnmarshalBinary(b []byte) error {
	const head = 18
	if len(b) < head || (len(b)-head)%8 != 0 || binary.LittleEndian.Uint16(b) != format {
		return errEncoding
	}
	n := (len(b) - head) / 8
	if n < MinWords || n > MaxWords {
		return errEncoding
	}
	q.fingerprint = Key{binary.LittleEndian.Uint64(b[2:]), binary.LittleEndian.Uint64(b[10:])}
	q.words = q.words[:0]
	for i := range n {
		w := binary.LittleEndian.Uint64(b[head+8*i:])
		if i > 0 && w <= q.words[i-1] {
			return errEncoding
		}
		q.words = append(q.words, w)
	}
	q.parity = 0
	for _, w := range q.words {
		q.parity ^= parityBit(w)
	}
	return nil
}
