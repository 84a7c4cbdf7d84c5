package squoze

import "bytes"

// escape acts on what follows an ESC and returns its length. ok is false if
// it is nothing that a text can be resolved with.
func (t *terminal) escape(rest []byte) (n int, ok bool) {
	if len(rest) == 0 {
		return 0, true // cut off
	}
	c := rest[0]
	if c == '7' || c == '8' || c == 'c' || c == 'M' {
		t.edit()
	}
	switch c {
	case '[':
		return t.csi(rest)
	case ']', 'P', '_', '^', 'X': // OSC, DCS, APC, PM, SOS: strings for the terminal itself
		return stringEnd(rest, c == ']')
	case '7':
		t.saveCursor()
	case '8':
		t.restoreCursor()
	case 'c': // RIS
		t.clearScreen()
	case 'M': // RI
		t.moveTo(t.r - 1)
	case 'D', 'E': // IND, NEL
		return 0, false
	default:
		// ESC, intermediate bytes, one final byte: character sets and modes.
		for n < len(rest) && rest[n] >= 0x20 && rest[n] <= 0x2F {
			n++
		}
		if n < len(rest) && rest[n] >= 0x30 && rest[n] <= 0x7E {
			return n + 1, true
		}
		return n, n == len(rest)
	}
	return 1, true
}

// stringEnd is the length of a string for the terminal, its end included. The
// end is ST, for an OSC also BEL.
func stringEnd(rest []byte, osc bool) (n int, ok bool) {
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == bel && osc:
			return i + 1, true
		case c == esc:
			return i + 2, i+1 < len(rest) && rest[i+1] == '\\'
		case c == '\n':
			return 0, false
		}
	}
	return 0, false
}

// csi acts on a control sequence; rest begins with its bracket.
func (t *terminal) csi(rest []byte) (n int, ok bool) {
	n = 1
	for n < len(rest) && rest[n] >= 0x30 && rest[n] <= 0x3F {
		n++
	}
	params := rest[1:n]
	for n < len(rest) && rest[n] >= 0x20 && rest[n] <= 0x2F {
		n++
	}
	if n == len(rest) {
		return n, true // cut off
	}
	final := rest[n]
	if final < 0x40 || final > 0x7E {
		return 0, false
	}
	n++
	if len(params) > 0 && params[0] >= '<' {
		return n, true // private modes
	}
	switch final {
	case 'm', 'h', 'l', 'n', 'c', 'q', 't', 'r': // looks, modes, reports, scroll region
		return n, true
	}
	first, second := csiParams(params)
	count := max(first, 1)
	t.edit()
	switch final {
	case 'A':
		t.moveTo(t.r - count)
	case 'B':
		t.moveTo(t.r + count)
	case 'C':
		t.right(t.c + count)
	case 'D':
		t.left(t.c - count)
	case 'E':
		t.moveTo(t.r + count)
		t.left(0)
	case 'F':
		t.moveTo(t.r - count)
		t.left(0)
	case 'G', '`':
		t.column(count - 1)
	case 'H', 'f':
		t.moveTo(t.top + count - 1)
		t.column(max(second, 1) - 1)
	case 'd':
		t.moveTo(t.top + count - 1)
	case 'J':
		switch first {
		case 0:
			t.eraseBelow()
		case 2, 3:
			t.clearScreen()
		default:
			return 0, false
		}
	case 'K':
		switch first {
		case 0:
			t.eraseCells(t.c, 1<<31)
		case 1:
			t.eraseCells(0, t.c+1)
		case 2:
			t.eraseCells(0, 1<<31)
		}
	case 'X':
		t.eraseCells(t.c, t.c+count)
	case 's':
		t.saveCursor()
	case 'u':
		t.restoreCursor()
	default:
		// Inserting and deleting characters and lines, scrolling: only a
		// full-screen application does that.
		return 0, false
	}
	return n, true
}

// csiParams are the first two parameters, 0 where absent. Larger ones than any
// screen has are cut.
func csiParams(text []byte) (first, second int) {
	head, tail, _ := bytes.Cut(text, []byte(";"))
	tail, _, _ = bytes.Cut(tail, []byte(";"))
	return csiNumber(head), csiNumber(tail)
}

func csiNumber(text []byte) int {
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		n = min(n*10+int(c-'0'), 1<<16)
	}
	return n
}

// column moves the cursor to a column.
func (t *terminal) column(c int) {
	if c < t.c {
		t.left(c)
	} else {
		t.right(c)
	}
}

// clearScreen starts a new screen below what was written so far, which stays.
func (t *terminal) clearScreen() {
	last := len(t.rows) - 1
	if t.moveTo(last); t.rows[last].to > t.rows[last].from || len(t.rows[last].cells) > 0 {
		t.lineFeed(0)
	}
	t.c = 0
	t.top = t.r
}

func (t *terminal) saveCursor() {
	t.savedRow, t.savedCol = t.r, t.c
}

func (t *terminal) restoreCursor() {
	t.moveTo(t.savedRow)
	t.column(t.savedCol)
}
