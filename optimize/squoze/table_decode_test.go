package squoze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// decodeTable rebuilds the JSON values of a table text: one value, or for JSON
// lines one per line. It knows the grammar in table.go and nothing else.
func decodeTable(text string) ([]json.RawMessage, error) {
	intro, rest, ok := strings.Cut(text, "\n")
	if !ok || intro != tableIntro && intro != linesIntro {
		return nil, fmt.Errorf("no intro")
	}
	lines := strings.Split(rest, "\n")
	envelope := "@1"
	if !strings.HasPrefix(lines[0], "@1: ") {
		envelope, lines = lines[0], lines[1:]
	}
	var arrays [][]string
	for len(lines) > 0 {
		var rows []string
		var err error
		head := fmt.Sprintf("@%d: ", len(arrays)+1)
		if !strings.HasPrefix(lines[0], head) {
			return nil, fmt.Errorf("line %q is no %q", lines[0], head)
		}
		if rows, lines, err = decodeRows(strings.TrimPrefix(lines[0], head), lines[1:], intro == linesIntro); err != nil {
			return nil, err
		}
		arrays = append(arrays, rows)
	}
	if intro == linesIntro {
		var values []json.RawMessage
		for _, row := range arrays[0] {
			values = append(values, json.RawMessage(row))
		}
		return values, nil
	}
	value, err := fillEnvelope(envelope, arrays)
	return []json.RawMessage{json.RawMessage(value)}, err
}

// fillEnvelope puts the arrays in the places of "@n" outside of strings.
func fillEnvelope(envelope string, arrays [][]string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(envelope); i++ {
		switch c := envelope[i]; c {
		case '"':
			end := i + 1
			for envelope[end] != '"' {
				if envelope[end] == '\\' {
					end++
				}
				end++
			}
			b.WriteString(envelope[i : end+1])
			i = end
		case '@':
			end := i + 1
			for end < len(envelope) && envelope[end] >= '0' && envelope[end] <= '9' {
				end++
			}
			n, err := strconv.Atoi(envelope[i+1 : end])
			if err != nil || n < 1 || n > len(arrays) {
				return "", fmt.Errorf("placeholder in %q", envelope)
			}
			b.WriteString("[" + strings.Join(arrays[n-1], ",") + "]")
			i = end - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

type decodedColumn struct {
	name  string // a JSON string
	fixed bool
	value string
}

func decodeRows(count string, lines []string, verbatim bool) (rows, rest []string, err error) {
	n, err := strconv.Atoi(strings.TrimSuffix(count, " rows"))
	if err != nil {
		return nil, nil, err
	}
	if len(lines) == 0 {
		return nil, nil, fmt.Errorf("no header")
	}
	var cols []decodedColumn
	varying := 0
	for text := lines[0]; ; {
		var c decodedColumn
		if c, text, err = decodeHead(text); err != nil {
			return nil, nil, err
		}
		cols = append(cols, c)
		if !c.fixed {
			varying++
		}
		if text == "" {
			break
		}
		text = text[1:]
	}
	lines = lines[1:]
	for range n {
		row := ""
		if varying > 0 {
			if len(lines) == 0 {
				return nil, nil, fmt.Errorf("%d rows stated, too few there", n)
			}
			row, lines = lines[0], lines[1:]
		}
		if verbatim && strings.HasPrefix(row, "{") {
			rows = append(rows, row)
			continue
		}
		object, err := decodeRow(row, cols)
		if err != nil {
			return nil, nil, fmt.Errorf("row %q: %w", row, err)
		}
		rows = append(rows, object)
	}
	return rows, lines, nil
}

func decodeHead(text string) (c decodedColumn, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		if c.name, rest, err = literal(text); err != nil {
			return c, "", err
		}
	} else {
		end := strings.IndexAny(text, "|=")
		if end < 0 {
			end = len(text)
		}
		c.name, rest = quote(text[:end]), text[end:]
	}
	if strings.HasPrefix(rest, "=") {
		c.fixed = true
		c.value, rest, err = decodeCell(rest[1:])
		if c.value == "" {
			return c, "", fmt.Errorf("a head without a cell")
		}
	}
	if rest != "" && rest[0] != '|' {
		return c, "", fmt.Errorf("head before %q", rest)
	}
	return c, rest, err
}

func decodeRow(row string, cols []decodedColumn) (string, error) {
	var members []string
	rest, first := row, true
	for _, c := range cols {
		value := c.value
		if !c.fixed {
			if !first && rest != "" {
				if rest[0] != '|' {
					return "", fmt.Errorf("no bar before %q", rest)
				}
				rest = rest[1:]
			}
			first = false
			var err error
			if value, rest, err = decodeCell(rest); err != nil {
				return "", err
			}
		}
		if value != "" {
			members = append(members, c.name+":"+value)
		}
	}
	if rest != "" {
		return "", fmt.Errorf("left over: %q", rest)
	}
	return "{" + strings.Join(members, ",") + "}", nil
}

// decodeCell returns the JSON of the cell that text begins with, "" if it is
// empty.
func decodeCell(text string) (value, rest string, err error) {
	if text == "" || text[0] == '|' {
		return "", text, nil
	}
	if strings.IndexByte(`"[{`, text[0]) >= 0 {
		return literal(text)
	}
	end := strings.IndexByte(text, '|')
	if end < 0 {
		end = len(text)
	}
	if value = text[:end]; json.Valid([]byte(value)) {
		return value, text[end:], nil
	}
	return quote(value), text[end:], nil
}

// literal cuts the JSON value that text begins with.
func literal(text string) (value, rest string, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return "", "", err
	}
	return string(raw), text[d.InputOffset():], nil
}

// quote is the JSON string of a bare text, which holds no escape.
func quote(text string) string { return `"` + text + `"` }

// sameJSON reports whether two texts are the same JSON value, numbers, strings
// and keys compared as they are written; the members of an object may come in
// any order unless a key stands twice.
func sameJSON(a, b []byte) bool {
	var da, db jsonspan.Doc
	return da.Parse(a) == nil && db.Parse(b) == nil && sameValue(&da, da.Root(), &db, db.Root())
}

func sameValue(da *jsonspan.Doc, a jsonspan.Ref, db *jsonspan.Doc, b jsonspan.Ref) bool {
	if da.Kind(a) != db.Kind(b) || da.Len(a) != db.Len(b) {
		return false
	}
	switch da.Kind(a) {
	case jsonspan.Array:
		x, y := da.First(a), db.First(b)
		for ; x != jsonspan.None; x, y = da.Next(x), db.Next(y) {
			if !sameValue(da, x, db, y) {
				return false
			}
		}
		return true
	case jsonspan.Object:
		at := make(map[string]jsonspan.Ref)
		for k := db.First(b); k != jsonspan.None; k = db.Next(k) {
			at[string(db.Raw(k))] = k
		}
		ordered := len(at) != db.Len(b)
		y := db.First(b)
		for x := da.First(a); x != jsonspan.None; x = da.Next(x) {
			k, ok := at[string(da.Raw(x))]
			if ordered {
				k, ok = y, bytes.Equal(da.Raw(x), db.Raw(y))
				y = db.Next(y)
			}
			if !ok || !sameValue(da, da.Value(x), db, db.Value(k)) {
				return false
			}
		}
		return true
	}
	return bytes.Equal(da.Raw(a), db.Raw(b))
}
