package squoze

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// The text of a table:
//
//	text     = intro LF [ envelope LF ] table { LF table }
//	envelope = compact JSON in which "@1", "@2", ... stand for arrays; absent
//	           if the whole value is the array "@1"
//	table    = "@" number ": " count " rows" LF header { LF row }
//	header   = head { "|" head }
//	head     = name [ "=" cell ]
//	row      = cell { "|" cell }
//
// A head with a cell is a column whose cell is the same in every row; the
// other columns have a cell in each row, in the order of the header, which is
// the order in which the keys first appear over all rows. A table without such
// columns has no rows. In JSON lines a row that starts with "{" is the line as
// it was.
//
//	cell = nothing: the row has no such key; the cells after the last present
//	       one are left out together with their bars
//	     | a JSON literal exactly as it stood: number, true, false, null,
//	       string in quotes; an array or an object without white space
//	     | the text of a string without its quotes, if it could not be taken
//	       for one of the others: it is not empty, holds no escape and no bar,
//	       does not begin with a quote, bracket, brace, "@" or space, does not
//	       end with a space, and is no number, true, false or null
//	name = as a string cell, but bare also if it is a number or a word of JSON,
//	       and never bare with "="
//
// So the JSON value can be rebuilt: every key, every literal, and which keys a
// row lacks.
const (
	tableIntro = `[squoze: JSON, its arrays of objects as tables; name=value: the same in every row; empty cell: no such key]`
	linesIntro = `[squoze: JSON lines as a table; name=value: the same in every row; empty cell: no such key; lines in braces as they were]`
)

const (
	// tableSaving is how much of a text tables must save, in percent.
	tableSaving = 35

	minRows    = 3   // an array with fewer rows stays as it is
	maxColumns = 128 // an array with more different keys stays as it is
)

// jsonForm is what tabler made of a text.
type jsonForm uint8

const (
	jsonKept     jsonForm = iota // nothing
	jsonMinified                 // white space between tokens removed
	jsonTable                    // at least one array became a table
)

// tabler rewrites JSON texts. It keeps its memory between texts.
type tabler struct {
	doc    jsonspan.Doc
	cols   []column
	cells  []jsonspan.Ref // of one row, by column
	arrays []jsonspan.Ref // those that become tables
	about  jsonspan.Ref   // the array that cols describe
	joined []byte         // JSON lines as one array
	keep   []bool         // JSON lines: rows that stay as they were
}

// column is one key of the rows of an array.
type column struct {
	name    []byte       // between the quotes
	value   jsonspan.Ref // in the first row that has it
	count   int          // rows that have it
	last    int          // the last row that has it, counted from 1
	bytes   int          // of all values
	differs bool         // not all values are equal
}

// fixed reports whether the column has the same cell in all of rows rows.
func (c *column) fixed(rows int) bool { return c.count == rows && !c.differs }

// parse reads text. It is false if text is not one array or object.
func (t *tabler) parse(text []byte) bool {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i < len(text) && (text[i] == '{' || text[i] == '[') && t.doc.Parse(text) == nil
}

// rewrite is parse and rewriteParsed.
func (t *tabler) rewrite(dst, text []byte) ([]byte, jsonForm) {
	if !t.parse(text) {
		return dst, jsonKept
	}
	return t.rewriteParsed(dst, text)
}

// rewriteParsed appends a shorter text for text, which was parsed last, to dst:
// with tables if that saves tableSaving percent, else without white space. If
// neither is shorter dst is returned as it is.
func (t *tabler) rewriteParsed(dst, text []byte) ([]byte, jsonForm) {
	from := len(dst)
	t.keep = t.keep[:0]
	if t.find(); len(t.arrays) > 0 {
		dst = append(dst, tableIntro...)
		if root := t.doc.Root(); t.arrays[0] != root {
			n := 0
			dst = t.value(append(dst, '\n'), root, &n)
		}
		for i, array := range t.arrays {
			if t.about != array {
				t.tabular(array)
			}
			dst = append(dst, "\n@"...)
			dst = strconv.AppendInt(dst, int64(i+1), 10)
			dst = append(dst, ": "...)
			dst, _ = t.table(dst, array)
		}
		if (len(dst)-from)*100 <= len(text)*(100-tableSaving) {
			return dst, jsonTable
		}
		dst = dst[:from]
	}
	if !t.spaced() {
		return dst, jsonKept
	}
	return t.value(dst, t.doc.Root(), nil), jsonMinified
}

// find puts the arrays that make a table into t.arrays, none within another.
func (t *tabler) find() {
	d := &t.doc
	t.arrays, t.about = t.arrays[:0], jsonspan.None
	for r, end := jsonspan.Ref(0), 0; int(r) < d.Nodes(); r++ {
		if !d.Is(r, jsonspan.Array) {
			continue
		}
		if s := d.Span(r); s.Start >= end && t.tabular(r) {
			t.arrays = append(t.arrays, r)
			end = s.End
		}
	}
}

// spaced reports whether there is white space between the tokens of the text
// that was parsed last, or around them: then it is longer than its literals,
// brackets, commas and colons. Of those last there is one less in each array or
// object than it has nodes, unless it has none.
func (t *tabler) spaced() bool {
	d := &t.doc
	size := d.Nodes() - 1
	for r := range jsonspan.Ref(d.Nodes()) {
		switch {
		case d.Kind(r) < jsonspan.Array:
			size += d.Span(r).Len()
		case d.First(r) != jsonspan.None:
			size += len("[]") - 1
		default:
			size += len("[]")
		}
	}
	return size != len(d.Source())
}

// value appends the value r without white space. If n is not nil, a placeholder
// takes the place of each of t.arrays; n counts them.
func (t *tabler) value(dst []byte, r jsonspan.Ref, n *int) []byte {
	d := &t.doc
	switch d.Kind(r) {
	case jsonspan.Object:
		dst = append(dst, '{')
		for k := d.First(r); k != jsonspan.None; k = d.Next(k) {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(append(dst, d.Raw(k)...), ':')
			dst = t.value(dst, d.Value(k), n)
		}
		return append(dst, '}')
	case jsonspan.Array:
		if n != nil && *n < len(t.arrays) && t.arrays[*n] == r {
			*n++
			return strconv.AppendInt(append(dst, '@'), int64(*n), 10)
		}
		dst = append(dst, '[')
		for e := d.First(r); e != jsonspan.None; e = d.Next(e) {
			if dst[len(dst)-1] != '[' {
				dst = append(dst, ',')
			}
			dst = t.value(dst, e, n)
		}
		return append(dst, ']')
	}
	return append(dst, d.Raw(r)...)
}

// tabular reports whether the array r makes a table that is worth it, and
// leaves its columns in t.cols.
func (t *tabler) tabular(r jsonspan.Ref) bool {
	d := &t.doc
	if !d.Is(r, jsonspan.Array) {
		return false
	}
	t.cols, t.about = t.cols[:0], r
	rows, n := 0, 0
	for e := d.First(r); e != jsonspan.None; e = d.Next(e) {
		if n++; n <= len(t.keep) && t.keep[n-1] {
			continue
		}
		if !d.Is(e, jsonspan.Object) || d.First(e) == jsonspan.None {
			return false
		}
		if rows++; !t.addRow(e, rows) {
			return false
		}
	}
	if rows < minRows {
		return false
	}
	size, bars := 0, 0
	for i := range t.cols {
		if c := &t.cols[i]; !c.fixed(rows) {
			size += c.bytes
			bars++
		}
	}
	return (size+bars*rows)*4 <= d.Span(r).Len()*3
}

// addRow counts row, the rows-th, among the columns. It is false if the row
// cannot be part of a table.
func (t *tabler) addRow(row jsonspan.Ref, rows int) bool {
	d := &t.doc
	next := 0
	for k := d.First(row); k != jsonspan.None; k = d.Next(k) {
		i := t.column(k, next)
		if i < 0 {
			return false
		}
		next = i + 1
		c := &t.cols[i]
		if c.last == rows {
			return false // a key stands twice
		}
		value := d.Raw(d.Value(k))
		if c.count == 0 {
			c.value = d.Value(k)
		} else if !c.differs && !bytes.Equal(d.Raw(c.value), value) {
			c.differs = true
		}
		c.last = rows
		c.count++
		c.bytes += len(value)
	}
	return true
}

// column is the column of the key k, which most likely is next; -1 if k has an
// escape or is one too many.
func (t *tabler) column(k jsonspan.Ref, next int) int {
	name := t.doc.Inner(k)
	if next < len(t.cols) && bytes.Equal(t.cols[next].name, name) {
		return next
	}
	for i := range t.cols {
		if bytes.Equal(t.cols[i].name, name) {
			return i
		}
	}
	if len(t.cols) == maxColumns || t.doc.Escaped(k) {
		return -1
	}
	t.cols = append(t.cols, column{name: name})
	return len(t.cols) - 1
}

// table appends the array r, whose columns are in t.cols, from the count of its
// rows on. ok is false if a row among kept lines could be taken for one.
func (t *tabler) table(dst []byte, r jsonspan.Ref) (_ []byte, ok bool) {
	d := &t.doc
	rows := 0 // those that the columns were made of
	for i := range t.cols {
		rows = max(rows, t.cols[i].last)
	}
	dst = append(strconv.AppendInt(dst, int64(d.Len(r)), 10), " rows"...)
	varies := t.header(&dst, rows)
	ok = varies || len(t.keep) == 0
	n := 0
	for e := d.First(r); e != jsonspan.None; e = d.Next(e) {
		switch {
		case n < len(t.keep) && t.keep[n]:
			dst = append(append(dst, '\n'), d.Raw(e)...)
		case varies:
			from := len(dst) + 1
			if dst = t.row(append(dst, '\n'), e, rows); len(dst) > from && dst[from] == '{' {
				ok = ok && len(t.keep) == 0
			}
		}
		n++
	}
	return dst, ok
}

// header appends a line end and the header, and reports whether a column has a
// cell in each row.
func (t *tabler) header(dst *[]byte, rows int) (varies bool) {
	b := *dst
	sep := byte('\n')
	for i := range t.cols {
		c := &t.cols[i]
		b = append(b, sep)
		sep = '|'
		if bareText(c.name) && bytes.IndexByte(c.name, '=') < 0 {
			b = append(b, c.name...)
		} else {
			b = append(append(append(b, '"'), c.name...), '"')
		}
		if c.fixed(rows) {
			b = t.cell(append(b, '='), c.value)
		} else {
			varies = true
		}
	}
	*dst = b
	return varies
}

// row appends the cells of the row e.
func (t *tabler) row(dst []byte, e jsonspan.Ref, rows int) []byte {
	d := &t.doc
	if cap(t.cells) < len(t.cols) {
		t.cells = make([]jsonspan.Ref, maxColumns)
	}
	cells := t.cells[:len(t.cols)]
	for i := range cells {
		cells[i] = jsonspan.None
	}
	next := 0
	for k := d.First(e); k != jsonspan.None; k = d.Next(k) {
		i := t.column(k, next)
		cells[i] = d.Value(k)
		next = i + 1
	}
	bars := -1
	for i, v := range cells {
		if t.cols[i].fixed(rows) {
			continue
		}
		bars++
		if v == jsonspan.None {
			continue
		}
		for ; bars > 0; bars-- {
			dst = append(dst, '|')
		}
		dst = t.cell(dst, v)
	}
	return dst
}

// cell appends the value v as a cell.
func (t *tabler) cell(dst []byte, v jsonspan.Ref) []byte {
	d := &t.doc
	switch d.Kind(v) {
	case jsonspan.Array, jsonspan.Object:
		return t.value(dst, v, nil)
	case jsonspan.String:
		if text := d.Inner(v); !d.Escaped(v) && bareText(text) && !isLiteral(text) {
			return append(dst, text...)
		}
	}
	return append(dst, d.Raw(v)...)
}

// bareText reports whether text can stand without quotes in a place where only
// a string can stand.
func bareText(text []byte) bool {
	if len(text) == 0 || text[len(text)-1] == ' ' {
		return false
	}
	switch text[0] {
	case '"', '[', '{', '@', ' ':
		return false
	}
	return bytes.IndexByte(text, '|') < 0
}

// isLiteral reports whether text is a number or a word of JSON.
func isLiteral(text []byte) bool {
	switch c := text[0]; {
	case c == '-' || '0' <= c && c <= '9':
		for _, c := range text {
			if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c|0x20 != 'e' {
				return false
			}
		}
		return json.Valid(text)
	case c == 't' || c == 'f' || c == 'n':
		return string(text) == "true" || string(text) == "false" || string(text) == "null"
	}
	return false
}
