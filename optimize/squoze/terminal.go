package squoze

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// The codes of a terminal that move text, as far as programs use them outside
// of full-screen applications (ECMA-48; the names of xterm's control sequence
// documentation are in the comments).
const (
	esc = 0x1B
	bel = 0x07
)

// Bounds of a terminal.
const (
	// screenRows is how far up a program can get to change what it wrote.
	screenRows = 128
	// screenColumns is how far right a program can get without writing.
	screenColumns = 1024
	// workPerByte bounds what may be spent on a text. A text that wants more,
	// which no real program's does, is left alone.
	workPerByte = 24
	// lookAfter is how many characters have to be written over a line before
	// it is looked at again: fewer do not spell an error.
	lookAfter = 4
)

// controlled reports whether text holds something that a terminal acts upon
// other than line ends.
func controlled(text []byte) bool {
	if bytes.IndexByte(text, esc) >= 0 || bytes.IndexByte(text, '\b') >= 0 {
		return true
	}
	for i := 0; ; i++ {
		n := bytes.IndexByte(text[i:], '\r')
		if n < 0 || i+n+1 >= len(text) {
			return false
		}
		if i += n; text[i+1] != '\n' && text[i+1] != '\r' {
			return true
		}
	}
}

// cell is one character of a row: where it starts in the source plus one, or
// blank.
type cell uint32

const blank cell = 0

// row is one line of the screen. As long as nothing in it was moved or erased
// it is a piece of the source; then it is cells.
type row struct {
	from, to int
	cells    []cell
	edited   bool // cells, not from and to, hold the text
	redrawn  bool // something in it was erased or written over
	cr       bool // a carriage return stood before its line feed
	looked   bool // it was checked for an error
	written  int  // bytes written since then
}

// terminal turns what a program wrote to a terminal into what a person would
// have seen at the end. It differs from a real one on the side of caution: no
// line is wrapped or scrolls away, clearing the screen keeps what was on it,
// and a line that held an error and is drawn over stays, in front of the line
// that takes its place.
type terminal struct {
	src      []byte
	dst      []byte
	lasting  func(line []byte) bool
	rows     []row
	top      int // the first row of the screen: the cursor cannot leave it upwards
	r, c     int // cursor; c is negative behind the text of a row that is no cells yet, see edit
	savedRow int
	savedCol int
	work     int
	free     [][]cell
	line     []byte // scratch
	kept     []byte // the last line that was kept
}

// resolve appends what is left of text to dst. lasting reports whether a line
// must not get lost. ok is false, and dst as it was, if the text holds codes
// of a full-screen application.
func (t *terminal) resolve(dst, text []byte, lasting func(line []byte) bool) (_ []byte, ok bool) {
	// Text without a single line feed whose carriage returns part lines that
	// must last ends its lines with them; overdrawing would fuse them.
	if bytes.IndexByte(text, '\n') < 0 {
		for segment := range bytes.SplitSeq(text, []byte{'\r'}) {
			if len(segment) < len(text) && lasting(segment) {
				return dst, false
			}
		}
	}
	from := len(dst)
	t.src, t.dst, t.lasting = text, dst, lasting
	t.rows, t.kept = append(t.rows[:0], row{}), t.kept[:0]
	t.top, t.r, t.c, t.savedRow, t.savedCol = 0, 0, 0, 0, 0
	t.work = workPerByte*len(text) + 1<<16
	ok = t.run()
	if ok {
		for i := range t.rows {
			if i > 0 {
				t.dst = append(t.dst, '\n')
			}
			t.flush(&t.rows[i])
		}
		dst = t.dst
	} else {
		dst = t.dst[:from]
	}
	t.src, t.dst, t.lasting = nil, nil, nil
	return dst, ok
}

// run acts on the text. It is false if it has to give up.
func (t *terminal) run() bool {
	for i := 0; i < len(t.src); {
		if t.work < 0 {
			return false
		}
		switch c := t.src[i]; {
		case c == '\n':
			t.lineFeed(i)
			i++
		case c == '\r':
			if i+1 == len(t.src) || t.src[i+1] != '\n' {
				t.left(0)
			}
			i++
		case c == '\b':
			t.edit()
			t.left(t.c - 1)
			i++
		case c == bel:
			i++
		case c == esc:
			n, ok := t.escape(t.src[i+1:])
			if !ok {
				return false
			}
			i += 1 + n
		default:
			end := i + 1
			for end < len(t.src) && !acts[t.src[end]] {
				end++
			}
			t.write(i, end)
			i = end
		}
	}
	return true
}

// acts marks the bytes that are not simply written.
var acts = [256]bool{'\n': true, '\r': true, '\b': true, bel: true, esc: true}

// write writes src[from:to] at the cursor.
func (t *terminal) write(from, to int) {
	w := &t.rows[t.r]
	if !w.edited && t.c == 0 && w.from == w.to {
		w.from, w.to = from, to
		t.c = -1 // at the end; counted when it matters
		w.written += to - from
		return
	}
	t.edit()
	for i := from; i < to; {
		n := charLen(t.src[i:to])
		for t.c > len(w.cells) {
			w.cells = append(w.cells, blank)
			t.work--
		}
		if t.c == len(w.cells) {
			w.cells = append(w.cells, cell(i+1))
		} else if !t.same(w.cells[t.c], i, n) {
			if t.keepError() {
				w = &t.rows[t.r]
				continue
			}
			w.redrawn = true
			w.cells[t.c] = cell(i + 1)
		}
		t.c++
		i += n
	}
	w.written += to - from
}

// same reports whether the cell shows what stands at src[i:i+n].
func (t *terminal) same(c cell, i, n int) bool {
	if c == blank {
		return n == 1 && t.src[i] == ' '
	}
	at := int(c) - 1
	return at+n <= len(t.src) && bytes.Equal(t.src[at:at+n], t.src[i:i+n])
}

// charLen is the length of the character that text begins with. A surrogate in
// its three-byte form is one character, so that it is never torn apart.
func charLen(text []byte) int {
	if text[0] < utf8.RuneSelf {
		return 1
	}
	if text[0] == 0xED && len(text) > 2 && text[1] >= 0xA0 && text[1] <= 0xBF && text[2]&0xC0 == 0x80 {
		return 3
	}
	_, n := utf8.DecodeRune(text)
	return n
}

// edit makes the cursor's row consist of cells. It comes before everything that
// uses the cursor's column.
func (t *terminal) edit() {
	w := &t.rows[t.r]
	if !w.edited {
		w.edited = true
		if w.cells == nil && len(t.free) > 0 {
			w.cells, t.free = t.free[len(t.free)-1], t.free[:len(t.free)-1]
		}
		w.cells = w.cells[:0]
		for i := w.from; i < w.to; {
			w.cells = append(w.cells, cell(i+1))
			i += charLen(t.src[i:w.to])
		}
	}
	if t.c < 0 {
		t.c = len(w.cells)
	}
}

// left moves the cursor to a column further left.
func (t *terminal) left(column int) {
	w := &t.rows[t.r]
	if t.c < 0 {
		t.edit()
	}
	if column = max(column, 0); column < t.c {
		t.c = column
		w.revisit()
	}
}

// right moves the cursor to a column further right.
func (t *terminal) right(column int) {
	t.c = max(t.c, min(column, max(screenColumns, len(t.rows[t.r].cells))))
}

// moveTo moves the cursor to another row.
func (t *terminal) moveTo(r int) {
	t.r = min(max(r, t.top, len(t.rows)-screenRows), len(t.rows)-1)
	t.rows[t.r].revisit()
}

// revisit makes the row be looked at before something in it is lost, if it may
// be another one than at the last look.
func (w *row) revisit() {
	if w.written >= lookAfter {
		w.looked = false
	}
}

// lineFeed goes to the start of the next row. i is where the line feed stands.
func (t *terminal) lineFeed(i int) {
	t.rows[t.r].cr = i > 0 && t.src[i-1] == '\r'
	if t.c = 0; t.r+1 < len(t.rows) {
		t.r++
		t.rows[t.r].revisit()
		return
	}
	t.rows = append(t.rows, row{})
	t.r++
	if len(t.rows) >= 2*screenRows {
		t.scroll(screenRows)
	}
}

// scroll takes the first n rows, which the cursor cannot reach any more, off
// the screen.
func (t *terminal) scroll(n int) {
	for i := range n {
		t.flush(&t.rows[i])
		t.dst = append(t.dst, '\n')
	}
	t.rows = append(t.rows[:0], t.rows[n:]...)
	t.r -= n
	t.top = max(t.top-n, 0)
	t.savedRow = max(t.savedRow-n, 0)
}

// flush appends the text of a row and takes its memory back.
func (t *terminal) flush(w *row) {
	t.dst = t.appendRow(t.dst, w)
	if w.cr {
		t.dst = append(t.dst, '\r')
	}
	if w.cells != nil {
		t.free = append(t.free, w.cells)
		w.cells = nil
	}
}

// appendRow appends what is to be seen of a row.
func (t *terminal) appendRow(dst []byte, w *row) []byte {
	if !w.edited {
		return append(dst, t.src[w.from:w.to]...)
	}
	from := len(dst)
	for _, c := range w.cells {
		if c == blank {
			dst = append(dst, ' ')
			continue
		}
		at := int(c) - 1
		dst = append(dst, t.src[at:at+charLen(t.src[at:])]...)
	}
	if w.redrawn {
		// Blanks that only wiped out something else are not seen.
		dst = append(dst[:from], bytes.TrimRight(dst[from:], " ")...)
	}
	return dst
}

// keepError looks at the cursor's row before something in it is lost. If it
// holds an error, the row as it is stays in front of an empty one.
func (t *terminal) keepError() bool {
	w := &t.rows[t.r]
	if w.looked {
		return false
	}
	w.looked, w.written = true, 0
	t.work -= len(w.cells)
	t.line = t.appendRow(t.line[:0], w)
	if !t.lasting(t.line) {
		return false
	}
	if bytes.Equal(t.line, t.kept) {
		*w = row{cr: w.cr, edited: true, redrawn: true, looked: true, cells: w.cells[:0]}
		return true // it stays already, drawn before
	}
	t.kept = append(t.kept[:0], t.line...)
	t.rows = slices.Insert(t.rows, t.r, *w)
	t.work -= screenRows
	t.r++
	t.rows[t.r] = row{cr: w.cr, edited: true, redrawn: true, looked: true}
	return true
}

// eraseCells blanks the cells [from, to) of the cursor's row.
func (t *terminal) eraseCells(from, to int) {
	t.edit() // the cursor may have moved to another row
	cells := t.rows[t.r].cells
	if to = min(to, len(cells)); from >= to {
		return
	}
	if t.keepError() {
		return // the row in front has them
	}
	w := &t.rows[t.r]
	w.redrawn = true
	t.work -= to - from
	if to == len(w.cells) {
		w.cells = w.cells[:from]
		return
	}
	clear(w.cells[from:to])
}

// eraseBelow erases from the cursor to the end of the screen.
func (t *terminal) eraseBelow() {
	t.eraseCells(t.c, 1<<31)
	r, c := t.r, t.c
	for i := r + 1; i < len(t.rows); i++ {
		// Rows that held an error move up in front of the cursor's.
		w := &t.rows[i]
		t.work -= w.to - w.from + len(w.cells)
		if t.line = t.appendRow(t.line[:0], w); t.lasting(t.line) {
			kept := *w
			copy(t.rows[r+1:i+1], t.rows[r:i])
			t.rows[r] = kept
			t.work -= screenRows
			r++
		}
	}
	t.rows = t.rows[:r+1]
	t.r, t.c = r, c
}
