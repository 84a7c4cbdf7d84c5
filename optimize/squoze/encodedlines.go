package squoze

import (
	"bytes"
	"math/bits"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
)

// encodedLines are the lines of a JSON string's encoded text, between the
// quotes: where each ends and a hash of it. A line ends at the escape \n. The
// text itself is not kept. The hash has no seed, so that what is found by it is
// the same in every process.
type encodedLines struct {
	ends   []uint32 // offset after line i, its \n not included
	hashes []uint64 // 0 for a line that looks like a marker, else not 0
}

// newline is a line end as it is encoded.
var newline = []byte(`\n`)

// split makes l the lines of text.
func (l *encodedLines) split(text []byte) {
	l.ends, l.hashes = l.ends[:0], l.hashes[:0]
	for from, at := 0, 0; ; {
		n := bytes.Index(text[at:], newline)
		if n < 0 {
			l.add(text[from:], len(text))
			return
		}
		at += n
		if escapes(text[from:at]) {
			at += 2 // an escaped backslash and an n
			continue
		}
		l.add(text[from:at], at)
		at += 2
		from = at
	}
}

// escapes reports whether text ends with a backslash that escapes what follows.
func escapes(text []byte) bool {
	i := len(text)
	for i > 0 && text[i-1] == '\\' {
		i--
	}
	return (len(text)-i)%2 == 1
}

func (l *encodedLines) add(line []byte, end int) {
	l.ends = append(l.ends, uint32(end))
	l.hashes = append(l.hashes, hashLine(line))
}

// hashLine is 0 for a line that looks like a marker, else not 0.
func hashLine(line []byte) uint64 { return hashOf(line, xxhash.Sum64(line)) }

// hashOf is hashLine of a line whose sum is known.
func hashOf(line []byte, sum uint64) uint64 {
	if markerLike(line) {
		return 0
	}
	return sum | 1
}

// markerLike is marker.Is for an encoded line. White space around a marker may
// be encoded, nothing within it is.
func markerLike(line []byte) bool {
	// Few lines begin, or end, like a marker.
	at := 0
	for at < len(line) && line[at] == ' ' {
		at++
	}
	if at == len(line) || line[at] != '[' && line[at] != '\\' {
		return false
	}
	if bytes.IndexByte(line[max(len(line)-24, 0):], ']') < 0 || !bytes.Contains(line, []byte("[... ")) {
		return false
	}
	return marker.Is(jsonspan.AppendUnquoted(nil, line))
}

// clone is a copy of l that takes no more memory than it needs.
func (l *encodedLines) clone() encodedLines {
	return encodedLines{
		ends:   append(make([]uint32, 0, len(l.ends)), l.ends...),
		hashes: append(make([]uint64, 0, len(l.hashes)), l.hashes...),
	}
}

// oddLineEnds reports whether text has a line end that is written in an unusual
// way, as \u000a. The lines of such a text would be miscounted.
func oddLineEnds(text []byte) bool {
	for {
		i := bytes.Index(text, []byte("u000"))
		if i < 0 || i+4 >= len(text) {
			return false
		}
		if text[i+4]|0x20 == 'a' {
			return true // or the letters are part of a word, which does no harm
		}
		text = text[i+4:]
	}
}

// len is the number of lines.
func (l *encodedLines) len() int { return len(l.ends) }

// start is the offset of line i.
func (l *encodedLines) start(i int) int {
	if i == 0 {
		return 0
	}
	return int(l.ends[i-1]) + len(newline)
}

// run is the encoded text of the lines [from, to) without the last line end.
func (l *encodedLines) run(text []byte, from, to int) []byte {
	return text[l.start(from):l.ends[to-1]]
}

// size is the memory that l takes, in bytes.
func (l *encodedLines) size() int { return 4*cap(l.ends) + 8*cap(l.hashes) }

// window is how many lines are looked up together.
const window = 4

// windowHash is a hash of the lines [i, i+window), 0 if one of them looks like
// a marker.
func (l *encodedLines) windowHash(i int) uint64 {
	h := l.hashes[i : i+window : i+window]
	if h[0] == 0 || h[1] == 0 || h[2] == 0 || h[3] == 0 {
		return 0
	}
	const k = 0x9E3779B97F4A7C15
	return (bits.RotateLeft64((bits.RotateLeft64((bits.RotateLeft64(h[0]*k, 29)+h[1])*k, 29)+h[2])*k, 29) + h[3]) * k
}

// decodedLen is the number of bytes that raw, encoded text, decodes to.
func decodedLen(raw []byte) int {
	n := len(raw)
	for at := 0; ; {
		i := bytes.IndexByte(raw[at:], '\\')
		if i < 0 {
			return n
		}
		at += i
		if raw[at+1] != 'u' {
			n--
			at += 2
			continue
		}
		switch c := raw[at+2 : at+6]; {
		case c[0] == '0' && c[1] == '0' && c[2] < '8':
			n -= 5
		case c[0] == '0' && c[1] < '8':
			n -= 4
		case pair(raw[at:]):
			n -= 8
			at += 6
		default:
			n -= 3
		}
		at += 6
	}
}

// pair reports whether raw, which begins with a \u escape, begins with two that
// are one character.
func pair(raw []byte) bool {
	return len(raw) >= 12 && surrogate(raw[2:], "89ab") && raw[6] == '\\' && raw[7] == 'u' && surrogate(raw[8:], "cdef")
}

// surrogate reports whether hexadecimal digits are those of a surrogate whose
// second digit is one of these.
func surrogate(digits []byte, second string) bool {
	return digits[0]|0x20 == 'd' && strings.IndexByte(second, digits[1]|0x20) >= 0
}
