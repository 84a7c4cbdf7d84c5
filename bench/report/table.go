// Package report shows results: as tables on a terminal and in Markdown, as
// charts, and as sections of one document that is only ever generated.
package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is a table of texts. The first column is aligned left, all others
// right; Left lists further columns that are aligned left.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
	Left  []int
}

// Add adds a row. Missing cells are empty.
func (t *Table) Add(cells ...string) {
	row := make([]string, len(t.Head))
	copy(row, cells)
	t.Rows = append(t.Rows, row)
}

// left reports whether column i is aligned left.
func (t *Table) left(i int) bool {
	if i == 0 {
		return true
	}
	for _, l := range t.Left {
		if l == i {
			return true
		}
	}
	return false
}

// Text writes t for a terminal.
func (t *Table) Text(w io.Writer) error {
	width := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(t.Title + "\n")
	}
	line := func(row []string) {
		var l strings.Builder
		for i, cell := range row {
			if i > 0 {
				l.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if t.left(i) {
				l.WriteString(cell + pad)
			} else {
				l.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	line(t.Head)
	total := 2 * (len(width) - 1)
	for _, n := range width {
		total += n
	}
	b.WriteString(strings.Repeat("-", total) + "\n")
	for _, row := range t.Rows {
		line(row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown is t as a Markdown table, below its title.
func (t *Table) Markdown() string {
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "**%s**\n\n", escape(t.Title))
	}
	line := func(row []string) {
		b.WriteByte('|')
		for _, cell := range row {
			b.WriteString(" " + escape(cell) + " |")
		}
		b.WriteByte('\n')
	}
	line(t.Head)
	b.WriteByte('|')
	for i := range t.Head {
		if t.left(i) {
			b.WriteString(" --- |")
		} else {
			b.WriteString(" ---: |")
		}
	}
	b.WriteByte('\n')
	for _, row := range t.Rows {
		line(row)
	}
	return b.String()
}

// escape makes a text safe inside a Markdown table.
func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
}
