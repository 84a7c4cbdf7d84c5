package squoze

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/tokens"
)

// References says which repeated text becomes a pointer.
type References uint8

// What may become a pointer.
const (
	ReferenceRuns   References = iota // runs of lines, and whole blocks
	ReferenceBlocks                   // whole blocks only
	ReferenceOff                      // nothing
)

const (
	// runLines and runBytes are the least that a pointer stands for; bytes are
	// those of the decoded text.
	runLines = 8
	runBytes = 200

	// stride is the distance of the lines at which an earlier block is
	// indexed. With it every run of runLines lines holds an indexed window,
	// because all windows of the later block are looked up.
	stride = runLines - window + 1
)

// block is one text of the request as it goes out, between its quotes.
type block struct {
	text  []byte
	lines *encodedLines
	sum   uint64 // sumOf(text)
	call  int    // index into the request's calls, -1 if not known
	order int    // which result of the request it is, from 0
	part  int    // which of its result's texts it is, from 0
	parts int    // how many the result has
}

// run is a piece of a block that already stands in an earlier one.
type run struct {
	from, to int // lines of the block
	source   int // index of the earlier block
	at       int // its line
	tokens   int // about what a pointer saves
}

// references finds text that already stands in a request. What it finds for a
// block depends on the blocks that were added before and on nothing else.
//
// Blocks are compared as they go out, in their encoded form. A line that looks
// like a marker is part of no run, so no pointer leads to something that is a
// pointer or an elision itself.
type references struct {
	blocks []block
	slots  []slot // hash table of the windows, open addressing
	used   int
	filter [filterWords]uint64 // one bit for each window that is in slots
	epoch  uint32
	wholes map[uint64]int32 // sum to the first block that has it
	runs   []run
}

// slot is one indexed window.
type slot struct {
	hash  uint64
	block int32
	line  int32
	epoch uint32 // the request it belongs to
}

const filterWords = 1 << 11

// reset forgets all blocks.
func (r *references) reset() {
	clear(r.blocks)
	r.blocks = r.blocks[:0]
	if r.used > 0 {
		clear(r.filter[:])
	}
	if r.epoch++; r.epoch == 0 || r.slots == nil {
		r.slots = make([]slot, 1<<10)
		r.epoch = 1
	}
	r.used = 0
	if r.wholes == nil {
		r.wholes = make(map[uint64]int32)
	}
	clear(r.wholes)
}

// add makes b known to later blocks.
func (r *references) add(b block, mode References) {
	n := int32(len(r.blocks))
	r.blocks = append(r.blocks, b)
	if mode == ReferenceOff {
		return
	}
	for try := range uint64(wholeTries) {
		same, ok := r.wholes[b.sum+try]
		if !ok {
			r.wholes[b.sum+try] = n
		}
		if !ok || bytes.Equal(r.blocks[same].text, b.text) {
			break
		}
	}
	if mode != ReferenceRuns {
		return
	}
	// Every stretch between markers is indexed from its start.
	for i := 0; i+window <= b.lines.len(); {
		if m := slices.Index(b.lines.hashes[i:i+window], 0); m >= 0 {
			i += m + 1
			continue
		}
		r.insert(b.lines.windowHash(i), n, int32(i))
		i += stride
	}
}

func (r *references) insert(h uint64, block, line int32) {
	if 2*r.used >= len(r.slots) {
		r.grow()
	}
	for i := r.place(h); ; i = (i + 1) & (len(r.slots) - 1) {
		s := &r.slots[i]
		if s.epoch != r.epoch {
			*s = slot{h, block, line, r.epoch}
			r.used++
			r.filter[h>>6&(filterWords-1)] |= 1 << (h & 63)
			return
		}
		if s.hash == h {
			return // the first one counts
		}
	}
}

func (r *references) place(h uint64) int { return int(h >> 20 & uint64(len(r.slots)-1)) }

func (r *references) grow() {
	old := r.slots
	r.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.epoch != r.epoch {
			continue
		}
		i := r.place(s.hash)
		for r.slots[i].epoch == r.epoch {
			i = (i + 1) & (len(r.slots) - 1)
		}
		r.slots[i] = s
	}
}

// find is where a window stands first, ok false if it is not known.
func (r *references) find(h uint64) (block, line int, ok bool) {
	if h == 0 || r.filter[h>>6&(filterWords-1)]>>(h&63)&1 == 0 {
		return 0, 0, false
	}
	for i := r.place(h); ; i = (i + 1) & (len(r.slots) - 1) {
		s := &r.slots[i]
		if s.epoch != r.epoch {
			return 0, 0, false
		}
		if s.hash == h {
			return int(s.block), int(s.line), true
		}
	}
}

// whole is the earlier block whose text is that of b, -1 if there is none.
func (r *references) whole(b *block) int {
	for try := range uint64(wholeTries) {
		n, ok := r.wholes[b.sum+try]
		if !ok {
			break
		}
		if bytes.Equal(r.blocks[n].text, b.text) {
			if slices.Contains(b.lines.hashes, 0) {
				break
			}
			return int(n)
		}
	}
	return -1
}

// wholeTries is how many different texts with one sum are told apart: versions
// of a text that differ only where sumOf does not look.
const wholeTries = 8

// sumOf is what a whole text is found by, before it is compared. A long one is
// known by its length and what stands at its ends and at fixed places between
// them.
func sumOf(text []byte) uint64 {
	const (
		end    = 128
		places = 8
		piece  = 32
	)
	if len(text) <= 2*end+2*places*piece {
		return xxhash.Sum64(text)
	}
	var buf [2*end + places*piece + 8]byte
	b := append(buf[:0], text[:end]...)
	step := (len(text) - 2*end) / places
	for i := range places {
		b = append(b, text[end+i*step:][:piece]...)
	}
	b = append(b, text[len(text)-end:]...)
	return xxhash.Sum64(binary.LittleEndian.AppendUint64(b, uint64(len(text))))
}

// lookup finds the runs of b that stand in earlier blocks, in order. They do
// not overlap. The result is valid until the next call.
func (r *references) lookup(b *block) []run {
	r.runs = r.runs[:0]
	done := 0 // what lies before is dealt with
	for i := 0; i+window <= b.lines.len(); i++ {
		source, at, ok := r.find(b.lines.windowHash(i))
		if !ok {
			continue
		}
		found := r.extend(b, i, source, at, done)
		if found.to-found.from < runLines {
			continue
		}
		if r.verified(b, found) {
			found.tokens = worthwhile(b.lines.run(b.text, found.from, found.to))
		}
		if found.tokens == 0 {
			i = max(i, found.to-window)
			continue
		}
		r.runs = append(r.runs, found)
		done = found.to
		i = found.to - 1
	}
	return r.runs
}

// extend makes the window at line i, which stands at line at of the source,
// the longest run of lines with equal hashes that does not reach before done.
func (r *references) extend(b *block, i, source, at, done int) run {
	mine, theirs := b.lines.hashes, r.blocks[source].lines.hashes
	from, start := i, at
	for from > done && start > 0 && mine[from-1] == theirs[start-1] && mine[from-1] != 0 {
		from--
		start--
	}
	to, end := i, at
	for to < len(mine) && end < len(theirs) && mine[to] == theirs[end] && mine[to] != 0 {
		to++
		end++
	}
	return run{from: from, to: to, source: source, at: start}
}

// verified compares the run byte by byte: equal hashes prove nothing.
func (r *references) verified(b *block, x run) bool {
	s := &r.blocks[x.source]
	return bytes.Equal(b.lines.run(b.text, x.from, x.to), s.lines.run(s.text, x.at, x.at+x.to-x.from))
}

// pointerTokens is about what a pointer costs. enoughBytes of text nearly always
// have more, so no more of a run is looked at first.
const (
	pointerTokens = 48
	enoughBytes   = 512
)

// worthwhile is about how many tokens a pointer in the place of raw, encoded
// text, saves; 0 if raw is too short for one, in bytes or in tokens: blanks and
// rules have many bytes and few tokens.
func worthwhile(raw []byte) int {
	if decodedLen(raw[:cut(raw, 2*runBytes)]) < runBytes && decodedLen(raw) < runBytes {
		return 0
	}
	n := estimate(raw, enoughBytes)
	if n <= pointerTokens && len(raw) > enoughBytes {
		n = tokens.EstimateRaw(raw)
	}
	return max(n-pointerTokens, 0)
}

// sampleBytes is how much of a text is looked at to estimate its tokens.
const sampleBytes = 1 << 10

// savedTokens is about how many tokens fewer the JSON string after has than
// before.
func savedTokens(before, after []byte) int {
	return max(estimate(before, sampleBytes)-estimate(after, sampleBytes), 1)
}

// estimate is about the number of tokens of raw, encoded text, by its first n
// bytes.
func estimate(raw []byte, n int) int {
	head := raw[:cut(raw, n)]
	if len(head) == 0 {
		return len(raw) / 4
	}
	return int(int64(tokens.EstimateRaw(head)) * int64(len(raw)) / int64(len(head)))
}

// cut is where to cut raw, encoded text, after at most n bytes so that no
// escape is split.
func cut(raw []byte, n int) int {
	if len(raw) <= n {
		return len(raw)
	}
	if i := bytes.LastIndexByte(raw[:n], ' '); i > 0 {
		return i // a blank is no part of an escape
	}
	return 0
}
