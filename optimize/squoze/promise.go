package squoze

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Most JSON that saves nothing as a table shows that in a few of its rows.
// Reading those costs a tenth of parsing the whole text.
const (
	// leastPromise is the saving, in percent, below which a sample says that
	// there is no table in a text. It takes tableSaving to have one, so rows
	// may differ a good deal from each other before the sample is wrong; what it
	// gets wrong stays as it is.
	leastPromise = 28

	promiseBytes = 4 << 10 // the smallest text that is sampled
	promiseHead  = 1 << 10 // how far in the first row must begin
	promisePiece = 704     // how much of an encoded text is decoded for some rows
	promiseRows  = 4       // rows read at the start, half as many elsewhere
	maxPromise   = 16      // columns
)

// promises reports whether text, which begins with a bracket or brace, has to be
// parsed: it may be shorter as a table, or without white space. It is false
// only for a text that is one array of alike objects, give or take an eighth of
// it, whose rows save too little at its start, in its middle and near its end.
// Whether what stands between them is valid JSON makes no difference: a text of
// one line has nothing else to lose.
func promises(text []byte) bool {
	if len(text) < promiseBytes || bytes.IndexByte(text, '\n') >= 0 {
		return true
	}
	at := bytes.Index(text[:promiseHead], []byte("[{\""))
	if at < 0 {
		return true
	}
	var s rowSample
	if at = s.read(text, at+1, promiseRows); at < 0 {
		return true
	}
	name := s.names[0]
	for _, from := range [...]int{len(text) / 2, len(text) / 8 * 7} {
		if at = max(at, from); at >= len(text) {
			return true
		}
		next := rowStart(text[at:], name)
		if next < 0 {
			return true
		}
		if at = s.read(text, at+next, promiseRows/2); at < 0 {
			return true
		}
	}
	return s.promises()
}

// promisesEncoded is promises of an encoded text that is compact (see
// jsonspan.CompactText). It reads the rows as they are encoded, so that most
// JSON is done with before it is decoded.
func promisesEncoded(inner []byte) bool {
	if len(inner) < promiseBytes {
		return true
	}
	// The only escapes are those of quotes, so a piece may begin anywhere but
	// between a backslash and its quote.
	piece := func(from, size int) []byte {
		if inner[from] == '"' {
			from++
		}
		return inner[from:min(from+size, len(inner))]
	}
	head := piece(0, promiseHead+promisePiece)
	at := bytes.Index(head[:min(promiseHead, len(head))], []byte(`[{\"`))
	if at < 0 {
		return true
	}
	s := rowSample{encoded: true}
	if s.read(head, at+1, promiseRows) < 0 {
		return true
	}
	for _, from := range [...]int{len(inner) / 2, len(inner) / 8 * 7} {
		part := piece(from, promisePiece)
		next := rowStart(part, s.names[0])
		if next < 0 || s.read(part, next, promiseRows/2) < 0 {
			return true
		}
	}
	return s.promises()
}

// promises reports whether the rows of s save enough as a table.
func (s *rowSample) promises() bool {
	kept := 0
	for i := range s.columns {
		if s.differs[i] {
			kept += s.sizes[i] + 1 // and a bar or a line end
		}
	}
	return (s.total-kept)*100 >= s.total*leastPromise
}

// rowStart is where the next object begins whose first key is name, quotes and
// colon included; -1 if there is none.
func rowStart(text, name []byte) int {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte("},{"))
		if i < 0 {
			return -1
		}
		at += i + len("},")
		if bytes.HasPrefix(text[at+1:], name) {
			return at
		}
	}
}

// rowSample is what some objects of an array have in common.
type rowSample struct {
	encoded bool // the texts are encoded, without any escape but that of a quote
	columns int
	names   [maxPromise][]byte // with quotes and colon
	values  [maxPromise][]byte // of the first row
	sizes   [maxPromise]int    // of all values
	differs [maxPromise]bool
	total   int // bytes of all rows decoded, with the commas behind them
}

// read reads n objects that stand one behind the other from at on, and returns
// the offset behind them. It is -1 if there are fewer, if they do not have the
// same keys in the same order, or if there is white space between their tokens.
func (s *rowSample) read(text []byte, at, n int) int {
	quotes := 0 // more bytes than a decoded string has
	if s.encoded {
		quotes = len(`""`)
	}
	for range n {
		from, more := at, 0
		if at >= len(text) || text[at] != '{' {
			return -1
		}
		at++
		column := 0
		for {
			end := -1
			if s.total > 0 && column < s.columns && bytes.HasPrefix(text[at:], s.names[column]) {
				end = at + len(s.names[column]) - len(":")
			} else {
				end = s.stringEnd(text, at)
			}
			if end < 0 || end >= len(text) || text[end] != ':' || column == maxPromise {
				return -1
			}
			name := text[at : end+1]
			at = s.valueEnd(text, end+1)
			if at < 0 || at >= len(text) {
				return -1
			}
			value := text[end+1 : at]
			switch {
			case s.total == 0:
				s.names[column], s.values[column] = name, value
			case column >= s.columns || !bytes.Equal(name, s.names[column]):
				return -1
			default:
				s.differs[column] = s.differs[column] || !bytes.Equal(value, s.values[column])
			}
			s.sizes[column] += len(value)
			more += quotes
			if value[0] == '"' || value[0] == '\\' {
				s.sizes[column] -= len(`""`) + quotes
				more += quotes
			}
			column++
			if text[at] == '}' {
				break
			}
			if text[at] != ',' {
				return -1
			}
			at++
		}
		if s.total > 0 && column != s.columns {
			return -1
		}
		s.columns = column
		if at++; at >= len(text) || text[at] != ',' {
			return -1
		}
		at++
		s.total += at - from - more
	}
	return at
}

// stringEnd is the offset behind the string that begins at i, -1 if there is
// none.
func (s *rowSample) stringEnd(text []byte, i int) int {
	if !s.encoded {
		return stringEndAt(text, i)
	}
	if i+1 >= len(text) || text[i] != '\\' {
		return -1
	}
	// Most end soon: eight bytes at a time cost less than a call.
	const ones, highs, slashes = 0x0101010101010101, 0x8080808080808080, '\\' * 0x0101010101010101
	for i += 2; len(text)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(text[i:]) ^ slashes
		if found := (w - ones) &^ w & highs; found != 0 {
			if i += bits.TrailingZeros64(found)/8 + 2; i <= len(text) {
				return i
			}
			return -1
		}
	}
	if n := bytes.IndexByte(text[i:], '\\'); n >= 0 && i+n+2 <= len(text) {
		return i + n + 2
	}
	return -1
}

// valueEnd is the offset behind the value that begins at i, -1 if there is none
// or if it is no scalar.
func (s *rowSample) valueEnd(text []byte, i int) int {
	if s.encoded && i < len(text) && text[i] == '\\' {
		return s.stringEnd(text, i)
	}
	return valueEndAt(text, i)
}

// stringEndAt is the offset behind the string that begins at i, -1 if there is
// none.
func stringEndAt(text []byte, i int) int {
	if i >= len(text) || text[i] != '"' {
		return -1
	}
	for i++; i < len(text); i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		if !escapes(text[:i]) {
			return i + 1
		}
	}
	return -1
}

// valueEndAt is the offset behind the value that begins at i, -1 if there is none
// or if it is no scalar.
func valueEndAt(text []byte, i int) int {
	if i >= len(text) {
		return -1
	}
	switch c := text[i]; {
	case c == '"':
		return stringEndAt(text, i)
	case c == '-' || isDigit(c) || 'a' <= c && c <= 'z':
		for i < len(text) && (byteClass[text[i]] != otherByte || text[i] == '-' || text[i] == '+' || text[i] == '.') {
			i++
		}
		return i
	}
	return -1
}
