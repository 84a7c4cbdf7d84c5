package output

import "slices"

// The shape of a line is what it has in common with others of its kind:
//
//   - a number, with the dots, colons, dashes, slashes and commas inside of it
//     and a unit behind it, is a #: 17, 1.5ms, 06:00:01.123Z, 2031-04-02, 3/40.
//     A single 0 stays, since "0 left" and "3 left" are not the same;
//   - of letters and digits the digits are: test_450 is test_#. Words in which
//     they alternate, and hexadecimal numbers of eight digits or more, are ids
//     and a # as a whole, with all that is tied to them by dashes;
//   - of blanks, and of the same sign several times in a row, there is one.
//
// All other words stay: "cache hit" and "cache miss" are two shapes.

// Classes of bytes in a shape.
const (
	signByte = iota
	letterByte
	digitByte
)

var shapeClass = func() (t [256]byte) {
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

const (
	maskByte = '#'
	// hexMin is from how many digits on a hexadecimal number is one.
	hexMin = 8
	// maxNumbers is how many numbers of a line are looked at.
	maxNumbers = 8
	// maxShape is how much of a line makes its shape, in bytes.
	maxShape = 512
)

// numbers are the values that a shape hides: hashes of the first ones, and where
// they stand in the line.
type numbers struct {
	value    [maxNumbers]uint32
	from, to [maxNumbers]uint16
	mixed    [maxNumbers]bool // part of a word of letters and digits
	n        int
}

func (n *numbers) add(line []byte, from, to int, mixed bool) {
	if n.n == maxNumbers {
		return
	}
	h := uint32(2166136261)
	for _, c := range line[from:to] {
		h = (h ^ uint32(c)) * 16777619
	}
	n.value[n.n], n.from[n.n], n.to[n.n], n.mixed[n.n] = h, uint16(from), uint16(to), mixed
	n.n++
}

// alike reports whether line is other, whose numbers are was, with other numbers
// in their places, so that both have one shape. Then it puts those of line into
// found. It is much cheaper than finding the shape, and does not always see it.
func alike(line, other []byte, was, found *numbers) bool {
	if len(line) > maxShape || len(other) > maxShape {
		return false
	}
	found.n = 0
	i, j := 0, 0
	for k := range was.n {
		between := other[j:was.from[k]]
		if len(line)-i <= len(between) || string(line[i:i+len(between)]) != string(between) {
			return false
		}
		i += len(between)
		end := i
		if was.mixed[k] {
			// As many digits, so that the word is neither more nor less of an id.
			end += int(was.to[k] - was.from[k])
			if end > len(line) || end < len(line) && isDigit(line[end]) {
				return false
			}
			for _, c := range line[i:end] {
				if !isDigit(c) {
					return false
				}
			}
		} else {
			if !isDigit(line[i]) {
				return false
			}
			if end = numberEnd(line, i); end-i == 1 && line[i] == '0' {
				return false
			}
		}
		found.add(line, i, end, was.mixed[k])
		i, j = end, int(was.to[k])
	}
	return string(line[i:]) == string(other[j:])
}

// appendShape appends the shape of line to dst and puts the numbers in it into
// found. The shape is never longer than the line.
func appendShape(dst, line []byte, found *numbers) []byte {
	found.n = 0
	if len(line) > maxShape {
		line = line[:maxShape]
	}
	from := len(dst)
	dst = slices.Grow(dst, len(line))[:from+len(line)]
	out := dst[from:]
	n := 0
	for i := 0; i < len(line); {
		c := line[i]
		switch shapeClass[c] {
		case signByte:
			if c == '\t' || c == '\r' {
				c = ' '
			}
			if n == 0 || out[n-1] != c {
				out[n] = c
				n++
			}
			i++
			continue
		case letterByte:
			start := i
			for {
				out[n] = c
				n++
				if i++; i == len(line) {
					return dst[:from+n]
				}
				if c = line[i]; shapeClass[c] != letterByte {
					break
				}
			}
			if shapeClass[c] == signByte {
				continue
			}
			n -= i - start
			k, end := appendMixed(out[n:], line, start, i, found)
			n += k
			i = end
		default:
			end := numberEnd(line, i)
			if end-i == 1 && c == '0' {
				out[n] = c
			} else {
				out[n] = maskByte
				found.add(line, i, end, false)
			}
			n++
			i = end
		}
	}
	return dst[:from+n]
}

// numberEnd is where the number ends that begins at i, with its unit.
func numberEnd(line []byte, i int) int {
	for i++; i < len(line); i++ {
		if shapeClass[line[i]] != signByte {
			continue
		}
		switch line[i] {
		case '.', ':', ',', '-', '/', '+':
			if i+1 < len(line) && shapeClass[line[i+1]] == digitByte {
				continue
			}
		}
		break
	}
	return i
}

// appendMixed writes the shape of the word of letters and digits that begins at
// start and has its first digit at i. It returns how long that is, and where
// the word ends.
func appendMixed(out, line []byte, start, i int, found *numbers) (n, end int) {
	turns := 0 // from a digit to a letter
	for ; i < len(line) && shapeClass[line[i]] != signByte; i++ {
		if isDigit(line[i-1]) && !isDigit(line[i]) && line[i] != '_' {
			turns++
		}
	}
	if turns > 1 || i-start >= hexMin && hexadecimal(line[start:i]) {
		for i+1 < len(line) && line[i] == '-' && shapeClass[line[i+1]] != signByte {
			for i++; i < len(line) && shapeClass[line[i]] != signByte; i++ {
			}
		}
		out[0] = maskByte
		return 1, i // an id has no value to look at
	}
	for j := start; j < i; {
		from := j
		for ; j < i && !isDigit(line[j]); j++ {
		}
		n += copy(out[n:], line[from:j])
		if from = j; j == i {
			break
		}
		for ; j < i && isDigit(line[j]); j++ {
		}
		out[n] = maskByte
		n++
		found.add(line, from, j, true)
	}
	return n, i
}

// hexadecimal reports whether text consists of hexadecimal digits.
func hexadecimal(text []byte) bool {
	for _, c := range text {
		if c-'0' > 9 && c|0x20-'a' > 5 {
			return false
		}
	}
	return true
}
