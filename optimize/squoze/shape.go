package squoze

import "slices"

// What varies from line to line of one kind is masked; two lines with the same
// masked text have the same shape. Masked are:
//
//   - runs of digits;
//   - words of letters and digits mixed, which are ids. Of letters followed by
//     digits only the digits are masked, of a number with a unit too, unless
//     it is a hexadecimal number of five digits or more;
//   - words of eight hexadecimal digits or more, letters only or not: there is
//     no such word;
//   - UUIDs, IPv6 and MAC addresses, as a whole;
//   - what Kubernetes appends to the names of pods: eight to ten characters of
//     its alphabet without vowels, and five behind an id and a hyphen.
//
// The words themselves stay, so "cache hit" and "cache miss" are two shapes.
// Blanks that only align count once; an indent counts in full.

// Classes of bytes: letters and digits make words, other bytes do not.
const (
	otherByte = iota
	letterByte
	digitByte
)

var byteClass = func() (t [256]byte) {
	for c := range t {
		switch {
		case '0' <= c && c <= '9':
			t[c] = digitByte
		case 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c >= 0x80:
			t[c] = letterByte
		}
	}
	return t
}()

func isDigit(c byte) bool { return c-'0' <= 9 }

const (
	maskByte = '#'
	hexMin   = 5 // from how many digits on a hexadecimal number is one
	hexWord  = 8 // from how many letters on it needs no digit
	podHash  = 8 // the least characters of the hash in a pod's name
	podTail  = 5 // the characters behind it

	maxAddress = 39 // the longest IPv6 address
)

// appendShape appends the strict shape of line, which is never longer than the
// line.
func appendShape(dst, line []byte) []byte {
	from := len(dst)
	dst = slices.Grow(dst, len(line))[:from+len(line)]
	n, i := from, 0
	for ; i < len(line) && line[i] == ' '; i++ {
		dst[n] = ' '
		n++
	}
	id := -1 // where the last id ended
	for i < len(line) {
		c := line[i]
		class := byteClass[c]
		if class == otherByte {
			dst[n] = c
			n++
			i++
			for c == ' ' && i < len(line) && line[i] == ' ' {
				i++
			}
			continue
		}
		// A word. Most have no digit.
		start := i
		if long := addressLen(line[i:]); long > 0 {
			dst[n] = maskByte
			n++
			i += long
			id = i
			continue
		}
		for class == letterByte {
			dst[n] = c
			n++
			if i++; i == len(line) {
				break
			}
			c = line[i]
			class = byteClass[c]
		}
		if i == len(line) || class == otherByte {
			if word := line[start:i]; len(word) >= hexWord && isHex(word) || isPod(line, start, i, id) {
				n -= len(word)
				dst[n] = maskByte
				n++
				id = i
			}
			continue
		}
		digits := i
		for i < len(line) && byteClass[line[i]] == digitByte {
			i++
		}
		number := i
		for i < len(line) && byteClass[line[i]] != otherByte {
			i++
		}
		switch unit := unitOf(line[digits:i]); {
		case i-start >= hexMin && (digits > start || number < i) && isHex(line[start:i]) || isPod(line, start, i, id):
			n -= digits - start
			dst[n] = maskByte
			n++
			id = i
		case number == i: // only digits are left
			dst[n] = maskByte
			n++
		case len(unit) > 0:
			dst[n] = maskByte
			n += 1 + copy(dst[n+1:], unit)
		default:
			n -= digits - start
			dst[n] = maskByte
			n++
			id = i
		}
	}
	return dst[:n]
}

// isPod reports whether the word [from, to) of line is part of a pod's name that
// was made up. id is where the last id ended.
func isPod(line []byte, from, to, id int) bool {
	switch n := to - from; {
	case n == podTail && from > 0 && id == from-1 && line[id] == '-':
	case n < podHash || n > podHash+2:
		return false
	}
	for _, c := range line[from:to] {
		if !podByte[c] {
			return false
		}
	}
	return true
}

// podByte are the characters that Kubernetes makes names of
// (k8s.io/apimachinery/pkg/util/rand).
var podByte = func() (t [256]bool) {
	for _, c := range "bcdfghjklmnpqrstvwxz2456789" {
		t[c] = true
	}
	return t
}()

// addressLen is the length of the UUID, the IPv6 or the MAC address that text
// begins with, 0 if there is none.
func addressLen(text []byte) int {
	const uuid = 36
	i := 0
	for i < len(text) && i < 8 && hexByte(text[i]) {
		i++
	}
	switch {
	case i == 8 && len(text) >= uuid && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-' && (len(text) == uuid || byteClass[text[uuid]] == otherByte):
		for j, c := range text[:uuid] {
			if !hexByte(c) && j != 8 && j != 13 && j != 18 && j != 23 {
				return 0
			}
		}
		return uuid
	case i == 0 || i > 4 || i == len(text) || text[i] != ':':
		return 0
	}
	colons, double, digit := 0, false, false
	text = text[:min(len(text), maxAddress+1)]
	for i = 0; i < len(text) && (hexByte(text[i]) || text[i] == ':'); i++ {
		switch {
		case text[i] == ':':
			colons++
			double = double || text[i-1] == ':'
		case isDigit(text[i]):
			digit = true
		}
	}
	if i > maxAddress || i < len(text) && byteClass[text[i]] != otherByte || text[i-1] == ':' || !digit || colons < 5 && !double {
		return 0
	}
	return i
}

func hexByte(c byte) bool { return isDigit(c) || c|0x20-'a' <= 5 }

// unitOf is the unit behind the number that text, a word, begins with: at most
// three letters. It is empty if text is no number with a unit.
func unitOf(text []byte) []byte {
	i := 0
	for i < len(text) && byteClass[text[i]] == digitByte {
		i++
	}
	unit := text[i:]
	if len(unit) > 3 {
		return nil
	}
	for _, c := range unit {
		if byteClass[c] == digitByte {
			return nil
		}
	}
	return unit
}

// isHex reports whether text consists of hexadecimal digits.
func isHex(text []byte) bool {
	for _, c := range text {
		if c-'0' > 9 && c|0x20-'a' > 5 {
			return false
		}
	}
	return true
}
