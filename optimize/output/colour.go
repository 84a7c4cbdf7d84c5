package output

import "bytes"

// Some tools say by colour alone that something failed: the names of all tests
// look alike, those of the failed ones are red.

// FailureColour reports whether some of the text of line is red, or stands on
// red: ESC[31m, 91, 41 and 101, and what is red among the 256 colours (38;5;1,
// 38;5;9, 38;5;160) and the others (38;2;220;50;47). Red that a line before has
// switched on does not count; see AddRed.
func FailureColour(line []byte) bool {
	if bytes.IndexByte(line, esc) < 0 {
		return false
	}
	var c colour
	return c.line(line)
}

// AddRed puts into set the lines with text in red, one that lasts over several
// lines included, and returns how many they are. Lines that say that something
// passed or goes on have to begin in red: a duration or a speed may be red for
// being slow. When most lines are red it puts none: then the colour tells
// nothing. A text without escape sequences costs one search for them.
func AddRed(set *Set, lines *Lines) int {
	if bytes.IndexByte(lines.Text, esc) < 0 {
		return 0
	}
	n, red, filled := lines.Len(), 0, 0
	var c colour
	for i := range n {
		if line := lines.Line(i); len(line) > 0 {
			filled++
			if c.line(line) {
				red++
			}
		}
	}
	if red == 0 || 2*red > filled {
		return 0
	}
	c, red = colour{}, 0
	var plain []byte
	for i := range n {
		line := lines.Line(i)
		if len(line) == 0 || !c.line(line) {
			continue
		}
		if !c.leads {
			plain = AppendPlain(plain[:0], line)
			if Passing(plain) || progressing(plain) {
				continue
			}
		}
		set.Add(i)
		red++
	}
	return red
}

// colour is what a terminal would write in.
type colour struct {
	text, ground bool // red
	leads        bool // the last line began in red
}

// line reads a line and reports whether it shows anything in red.
func (c *colour) line(line []byte) bool {
	red, first := false, true
	c.leads = false
	for len(line) > 0 {
		i := bytes.IndexByte(line, esc)
		if i < 0 {
			i = len(line)
		}
		if shown := len(bytes.TrimSpace(line[:i])) > 0; shown {
			if c.text || c.ground {
				red = true
				c.leads = c.leads || first
			}
			first = false
		}
		if i == len(line) {
			break
		}
		line = line[i:]
		n := escapeLen(line)
		if n > 2 && line[1] == '[' && line[n-1] == 'm' {
			c.set(line[2 : n-1])
		}
		line = line[n:]
	}
	return red
}

// set applies the parameters of one ESC[...m (ECMA-48, 8.3.117).
func (c *colour) set(parameters []byte) {
	var p [16]int
	n := 0
	for i := 0; i <= len(parameters) && n < len(p); n++ {
		v := 0
		for ; i < len(parameters) && isDigit(parameters[i]); i++ {
			v = min(10*v+int(parameters[i]-'0'), 1<<20)
		}
		p[n] = v
		i++ // the semicolon or colon
	}
	for i := 0; i < n; i++ {
		switch v := p[i]; {
		case v == 0:
			c.text, c.ground = false, false
		case v == 31 || v == 91:
			c.text = true
		case v == 41 || v == 101:
			c.ground = true
		case v == 38 || v == 48:
			red := false
			switch {
			case i+2 < n && p[i+1] == 5:
				red = redOf256(p[i+2])
				i += 2
			case i+4 < n && p[i+1] == 2:
				from := i + 2
				if n-i == 6 && bytes.IndexByte(parameters, ':') >= 0 {
					from++ // 38:2:<colour space>:r:g:b
				}
				red = mostlyRed(p[from], p[from+1], p[from+2])
				i = from + 2
			default:
				i = n
			}
			if v == 38 {
				c.text = red
			} else {
				c.ground = red
			}
		case 30 <= v && v <= 39, 90 <= v && v <= 97:
			c.text = false
		case 40 <= v && v <= 49, 100 <= v && v <= 107:
			c.ground = false
		}
	}
}

// redOf256 reports whether a colour of the table of 256 is red.
func redOf256(v int) bool {
	switch {
	case v == 1 || v == 9:
		return true
	case 16 <= v && v < 232: // a cube of six steps each
		level := func(step int) int {
			if step == 0 {
				return 0
			}
			return 55 + 40*step
		}
		v -= 16
		return mostlyRed(level(v/36), level(v/6%6), level(v%6))
	}
	return false
}

// mostlyRed reports whether a colour is red rather than orange or pink.
func mostlyRed(r, g, b int) bool { return r >= 120 && 2*g < r && 2*b < r }
