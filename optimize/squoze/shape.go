package squoze

import "slices"

// What varies from line to line of one kind is masked; two lines with the same
// masked text have the same shape. Masked are:
//
//   - runs of digits;
//   - words of letters and digits mixed, which are ids, unless it is letters
//     followed by digits: then only the digits.
//
// The words themselves stay, so "cache hit" and "cache miss" are two shapes. In
// the loose form also names are masked: words that hold one of . / _ - @ or an
// upper-case letter behind a lower-case one, and what stands behind an equals
// sign or between quotes.

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

const maskByte = '#'

// appendShape appends the strict shape of line, which is never longer than the
// line.
func appendShape(dst, line []byte) []byte {
	from := len(dst)
	dst = slices.Grow(dst, len(line))[:from+len(line)]
	n := from
	for i := 0; i < len(line); {
		c := line[i]
		class := byteClass[c]
		if class == otherByte {
			dst[n] = c
			n++
			i++
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
		if i == len(line) || byteClass[line[i]] == otherByte {
			dst[n] = maskByte
			n++
			continue
		}
		for i < len(line) && byteClass[line[i]] != otherByte {
			i++
		}
		if unit := unitOf(line[digits:i]); len(unit) > 0 {
			dst[n] = maskByte
			n += 1 + copy(dst[n+1:], unit)
			continue
		}
		n -= digits - start
		dst[n] = maskByte
		n++
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

// nameByte marks the bytes that, inside of a token, make it a name.
var nameByte = [256]bool{'.': true, '/': true, '_': true, '-': true, '@': true, ':': true, '\\': true, '#': true}

// appendLoose appends the loose shape of a line whose strict shape is given.
func appendLoose(dst, shape []byte) []byte {
	for i := 0; i < len(shape); {
		switch c := shape[i]; {
		case c == ' ' || c == '\t':
			dst = append(dst, c)
			i++
		case c == '"' || c == '\'':
			end := i + 1
			for end < len(shape) && shape[end] != c {
				end++
			}
			if end == len(shape) {
				dst = append(dst, c)
				i++
				continue
			}
			dst = append(dst, c, maskByte, c)
			i = end + 1
		default:
			end, name, equals := i, false, -1
			for end < len(shape) && shape[end] != ' ' && shape[end] != '\t' && (end == i || shape[end] != '"' && shape[end] != '\'') {
				switch b := shape[end]; {
				case b == '=' && equals < 0:
					equals = end
				case nameByte[b] && end+1 < len(shape) && end > i,
					end > i && 'A' <= b && b <= 'Z' && 'a' <= shape[end-1] && shape[end-1] <= 'z':
					name = true
				}
				end++
			}
			switch {
			case equals >= 0:
				dst = append(dst, shape[i:equals+1]...)
				if end > equals+1 {
					dst = append(dst, maskByte)
				}
			case name:
				dst = append(dst, maskByte)
			default:
				dst = append(dst, shape[i:end]...)
			}
			i = end
		}
	}
	return dst
}
