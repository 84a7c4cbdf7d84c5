package squoze

// A number of a line that may mean something by itself: a status, a count, a
// duration. Parts of dates, times, addresses and versions are none.
type number struct {
	value int64 // in thousandths
	at    int   // how many numbers stand before it in the line
}

// maxNumbers is how many numbers of a line are looked at.
const maxNumbers = 6

// appendNumbers appends the numbers of line, at most maxNumbers.
func appendNumbers(dst []number, line []byte) []number {
	n := 0
	for i := 0; i < len(line); {
		if !isDigit(line[i]) {
			i++
			continue
		}
		start := i
		groups, value, digits := 1, int64(0), 0
		for i < len(line) && isDigit(line[i]) {
			value = value*10 + int64(line[i]-'0')
			digits++
			i++
			if digits > 12 {
				value = 0
			}
		}
		value *= 1000
		if i+1 < len(line) && line[i] == '.' && isDigit(line[i+1]) {
			i++
			for scale := int64(100); i < len(line) && isDigit(line[i]); i++ {
				value += int64(line[i]-'0') * scale
				scale /= 10
			}
		}
		// Whatever goes on behind a joint belongs to a date, an address, ...
		for i+1 < len(line) && (line[i] == '.' || line[i] == '-' || line[i] == ':' || line[i] == '/' || line[i] == ',') && isDigit(line[i+1]) {
			groups++
			for i++; i < len(line) && isDigit(line[i]); i++ {
			}
		}
		unit := i
		for i < len(line) && byteClass[line[i]] != otherByte {
			i++
		}
		if groups > 1 || digits > 12 || i-unit > 3 || start > 0 && joined(line, start-1) || i > unit && isDigit(line[i-1]) {
			continue
		}
		dst = append(dst, number{value, n})
		if n++; n == maxNumbers {
			break
		}
	}
	return dst
}

// joined reports whether what ends at i makes the number behind it part of a
// word, a path, a version or a time.
func joined(line []byte, i int) bool {
	switch c := line[i]; {
	case byteClass[c] != otherByte:
		return true
	case c == '/':
		return true
	case c == ':':
		return i > 0 && (isDigit(line[i-1]) || named(line, i))
	case c == '.' || c == '@' || c == '#':
		return i > 0 && line[i-1] != ' '
	case c == '-':
		return i > 0 && byteClass[line[i-1]] != otherByte
	}
	return false
}

// named reports whether the word in front of i has a dot, as the name of a file
// has in front of the number of a line.
func named(line []byte, i int) bool {
	for j := i - 1; j >= 0 && i-j <= maxName && line[j] != ' '; j-- {
		if line[j] == '.' {
			return j > 0 && byteClass[line[j-1]] != otherByte && byteClass[line[i-1]] == letterByte
		}
		if byteClass[line[j]] == otherByte {
			break
		}
	}
	return false
}

// maxName bounds how far back the name of a file is looked for.
const maxName = 64

// maxValues is how many different values of a number are counted. One with
// more is a measure or an id, one with fewer a state.
const maxValues = 8

// field is what is known about one number of the lines of one shape.
type field struct {
	n          int // lines seen
	values     [maxValues]int64
	counts     [maxValues]int
	used       int // of values
	many       bool
	min, max   int64
	minAt      int // the first line with the smallest value
	maxAt      int
	last       int64
	rose, fell bool
}

// add counts a value of a line.
func (f *field) add(value int64, line int) {
	if f.n == 0 {
		f.min, f.max, f.minAt, f.maxAt = value, value, line, line
	} else {
		f.rose = f.rose || value > f.last
		f.fell = f.fell || value < f.last
		if value < f.min {
			f.min, f.minAt = value, line
		}
		if value > f.max {
			f.max, f.maxAt = value, line
		}
	}
	f.n++
	f.last = value
	if f.many {
		return
	}
	for i := range f.used {
		if f.values[i] == value {
			f.counts[i]++
			return
		}
	}
	if f.used == maxValues {
		f.many = true
		return
	}
	f.values[f.used], f.counts[f.used] = value, 1
	f.used++
}

// rareCount is how often a state may occur to be rare, at most.
const rareCount = 3

// states reports whether the number is a state, that is, has few values, one of
// which most lines have.
func (f *field) states() bool {
	if f.many || f.used < 2 {
		return false
	}
	top := 0
	for _, n := range f.counts[:f.used] {
		top = max(top, n)
	}
	return 2*top >= f.n
}

// rare reports whether value is a state that few lines are in.
func (f *field) rare(value int64) bool {
	if !f.states() {
		return false
	}
	for i, v := range f.values[:f.used] {
		if v == value {
			return f.counts[i] <= min(max(f.n/10, 1), rareCount)
		}
	}
	return false
}

// measure reports whether the number goes up and down over many values, so
// that its extremes say something.
func (f *field) measure() bool { return f.many && f.rose && f.fell }
