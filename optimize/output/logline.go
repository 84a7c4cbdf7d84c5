package output

import "bytes"

// recordStart reports whether a line starts a record of a log: with a time, a
// level, a host or a JSON object, as loggers and servers write it.
func recordStart(line []byte) bool {
	if len(line) < 4 {
		return false
	}
	c := line[0]
	switch {
	case isDigit(c):
		return timeAt(line, 0) || addressAt(line)
	case c == '[':
		// [2031-04-02, [INFO], [12:00:00], [ 0.123456] (kernel), [pid 12]
		i := skipSpaces(line, 1)
		if isDigit(byteAt(line, i)) {
			return timeAt(line, i) || secondsAt(line, i)
		}
		return levelAt(line, i) || weekdayAt(line, i) || hasPrefix(line[i:], "pid ") || hasPrefix(line[i:], "pid: ") || taggedAt(line, i)
	case c == '{':
		return line[1] == '"'
	case c == '<':
		return isDigit(line[1])
	case c == '@':
		return hasPrefix(line, "@4000")
	case c == '(':
		return timeAt(line, 1) || levelAt(line, 1)
	case isLetter(c):
		if (c == 'I' || c == 'W' || c == 'E' || c == 'F' || c == 'D') && len(line) > 5 && isDigit(line[1]) && isDigit(line[2]) && isDigit(line[3]) && isDigit(line[4]) && line[5] == ' ' {
			return true // glog
		}
		if levelAt(line, 0) || monthAt(line, 0) || weekdayAt(line, 0) {
			return true
		}
		if fieldsAt(line) {
			return true
		}
		if hasPrefix(line, "time=") || hasPrefix(line, "ts=") || hasPrefix(line, "level=") || hasPrefix(line, "t=") || hasPrefix(line, "timestamp=") || hasPrefix(line, "date=") || hasPrefix(line, "lvl=") {
			return true
		}
		return serviceAt(line)
	case c == '#':
		return hasPrefix(line, "# Time: ") || hasPrefix(line, "# User@Host")
	}
	return false
}

// fieldsAt reports whether a line consists of fields of the form key=value with
// a level or a message among them.
func fieldsAt(line []byte) bool {
	i := 0
	for i < len(line) && i < 24 && (isLetter(line[i]) || line[i] == '_' || line[i] == '.') {
		i++
	}
	if i == 0 || byteAt(line, i) != '=' {
		return false
	}
	line = line[:min(len(line), 256)]
	return bytes.Contains(line, []byte(" level=")) || bytes.Contains(line, []byte(" lvl=")) || bytes.Contains(line, []byte(" msg="))
}

// taggedAt reports whether a word and a closing bracket stand at i: [store] text.
func taggedAt(line []byte, i int) bool {
	for j := i; j < len(line) && j < i+32; j++ {
		switch c := line[j]; {
		case c == ']':
			return j > i+1 && byteAt(line, j+1) == ' '
		case isLetter(c) || isDigit(c) || c == '-' || c == '_' || c == '.' || c == ':' || c == '/':
		default:
			return false
		}
	}
	return false
}

// serviceAt reports whether a line starts the way docker compose prints the
// lines of its services: "web-1  | text".
func serviceAt(line []byte) bool {
	i := 0
	for i < len(line) && i < 48 && (isLetter(line[i]) || isDigit(line[i]) || line[i] == '-' || line[i] == '_' || line[i] == '.') {
		i++
	}
	j := i
	for byteAt(line, j) == ' ' {
		j++
	}
	return j > i && byteAt(line, j) == '|' && (byteAt(line, j+1) == ' ' || j+1 == len(line))
}

// timeAt reports whether a date or a time of day stands at i: 2031-04-02,
// 2031/04/02, 02/Apr/2031, 02.04.2031, 06:00:01, or seconds since 1970.
func timeAt(line []byte, i int) bool {
	j := i
	for j < len(line) && isDigit(line[j]) {
		j++
	}
	if n := j - i; n > 0 && n < 8 && byteAt(line, j) == ' ' && isDigit(byteAt(line, j+1)) && byteAt(line, j+3) == ':' {
		return true // a process number in front of the time
	}
	switch n := j - i; {
	case n == 4 || n == 2 || n == 1:
		sep := byteAt(line, j)
		switch sep {
		case '-', '/', '.':
			if isDigit(byteAt(line, j+1)) && (isDigit(byteAt(line, j+2)) && byteAt(line, j+3) == sep || byteAt(line, j+2) == sep) {
				return sep != '.' || n <= 2 && isDigit(byteAt(line, j+7)) && !isDigit(byteAt(line, j+8))
			}
			return sep != '.' && monthAt(line, j+1) && byteAt(line, j+4) == sep
		case ':':
			return isDigit(byteAt(line, j+1)) && isDigit(byteAt(line, j+2))
		case ' ':
			return monthAt(line, j+1)
		}
	case n == 10 || n == 13:
		c := byteAt(line, j)
		return line[i] == '1' && (c == '.' || c == ' ' || c == ',' || c == ':' || c == '\t')
	case n == 8:
		return line[i] == '2' && (byteAt(line, j) == ' ' || byteAt(line, j) == 'T' || byteAt(line, j) == '-')
	}
	return false
}

// addressAt reports whether a line starts with an IPv4 address.
func addressAt(line []byte) bool {
	dots, digits := 0, 0
	for i := 0; i < len(line) && i < 16; i++ {
		switch c := line[i]; {
		case isDigit(c):
			if digits++; digits > 3 {
				return false
			}
		case c == '.' && digits > 0:
			dots++
			digits = 0
		default:
			return dots == 3 && digits > 0 && (c == ' ' || c == ':' || c == '\t' || c == ',')
		}
	}
	return false
}

// secondsAt reports whether seconds with a fraction stand at i and a bracket
// closes behind them, as in the kernel's log.
func secondsAt(line []byte, i int) bool {
	j, dot := i, false
	for j < len(line) && (isDigit(line[j]) || line[j] == '.' && !dot) {
		dot = dot || line[j] == '.'
		j++
	}
	return dot && byteAt(line, j) == ']'
}

var (
	months   = [...]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdays = [...]string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
	levels   = [...]string{
		"info", "warn", "warning", "error", "debug", "trace", "notice", "fatal", "critical", "severe", "verbose", "panic", "crit", "alert", "emerg", "err", "wrn", "inf",
		"dbg", "trc", "ftl", "note", "finest", "finer", "fine", "config", "log",
	}
)

func monthAt(line []byte, i int) bool {
	for _, m := range months {
		if hasFold(line, i, m) {
			c := byteAt(line, i+3)
			return (c == ' ' && (isDigit(byteAt(line, i+4)) || byteAt(line, i+4) == ' ')) || c == '/' || c == '-'
		}
	}
	return false
}

func weekdayAt(line []byte, i int) bool {
	for _, d := range weekdays {
		if hasFold(line, i, d) {
			j := i + 3
			if byteAt(line, j) == ',' {
				j++
			}
			return byteAt(line, j) == ' ' && (monthAt(line, j+1) || isDigit(byteAt(line, j+1)))
		}
	}
	return false
}

// levelAt reports whether a log level stands at i, as a word of its own and,
// outside of brackets, in upper case or followed by a colon.
func levelAt(line []byte, i int) bool {
	c := lower(byteAt(line, i))
	for _, l := range levels {
		if l[0] != c || !hasFold(line, i, l) {
			continue
		}
		j := i + len(l)
		switch next := byteAt(line, j); {
		case isLetter(next) || isDigit(next) || next == '_' || next == '-' || next == '.' || next == '/':
			continue
		case next == ']' || next == ':' || next == '|' || next == ')':
			return true
		default:
			return line[i] < 'a' && line[i+1] < 'a' && next != 0
		}
	}
	return false
}
