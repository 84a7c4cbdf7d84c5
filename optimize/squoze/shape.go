package squoze

import "slices"

// What varies from line to line of one kind is masked; two lines with the same
// masked text have the same shape. Masked are:
//
//   - runs of digits;
//   - words of letters and digits mixed, which are ids. Of letters followed by
//     digits only the digits are masked, of a number with a unit too, unless
//     it is a hexadecimal number of eight digits or more.
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
	hexMin   = 8 // from how many digits on a hexadecimal number is one
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
		case i-start >= hexMin && (digits > start || number < i) && isHex(line[start:i]):
			n -= digits - start
			dst[n] = maskByte
			n++
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
		}
	}
	return dst[:n]
}

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
