package cases

import (
	"fmt"
	"strconv"
	"strings"
)

// Text is a VAR: a text given by its lines.
type Text struct {
	Lines []Entry `json:"lines"`
	Join  *string `json:"join"`
	Raw   bool    `json:"raw"`
}

// Entry is one or, with Repeat, several texts.
type Entry struct {
	Repeat *int   `json:"repeat"`
	Start  *int   `json:"start"`
	Text   string `json:"text"`
}

// String is the expanded text, before it is escaped for a template.
func (t Text) String() string {
	join := "\n"
	if t.Join != nil {
		join = *t.Join
	}
	var texts []string
	for _, e := range t.Lines {
		texts = e.appendTo(texts)
	}
	return strings.Join(texts, join)
}

func (e Entry) appendTo(texts []string) []string {
	repeat, start := 1, 1
	if e.Repeat != nil {
		repeat = *e.Repeat
	}
	if e.Start != nil {
		start = *e.Start
	}
	for i := start; i < start+repeat; i++ {
		texts = append(texts, counter(e.Text, i))
	}
	return texts
}

// counter replaces {i} and {i:W} in text by i.
func counter(text string, i int) string {
	var b strings.Builder
	for {
		at := strings.Index(text, "{i")
		if at < 0 {
			break
		}
		b.WriteString(text[:at])
		rest := text[at+2:]
		if strings.HasPrefix(rest, "}") {
			b.WriteString(strconv.Itoa(i))
			text = rest[1:]
			continue
		}
		if end := strings.IndexByte(rest, '}'); strings.HasPrefix(rest, ":") && end > 1 {
			if width, err := strconv.Atoi(rest[1:end]); err == nil {
				fmt.Fprintf(&b, "%0*d", width, i)
				text = rest[end+1:]
				continue
			}
		}
		b.WriteString("{i")
		text = rest
	}
	b.WriteString(text)
	return b.String()
}

// Bodies are the request bodies of an optimize case: one, or one per turn.
func (c *Case) Bodies() [][]byte {
	switch {
	case c.RequestRaw != nil:
		return [][]byte{[]byte(*c.RequestRaw)}
	case c.RequestGen != nil:
		return [][]byte{fill(c.RequestGen.Template, c.RequestGen.Vars)}
	}
	var bodies [][]byte
	for _, turn := range c.Turns {
		bodies = append(bodies, fill(turn, c.Vars))
	}
	return bodies
}

// vars are the texts of the case, wherever they stand.
func (c *Case) vars() map[string]Text {
	if c.RequestGen != nil {
		return c.RequestGen.Vars
	}
	return c.Vars
}

func fill(template string, vars map[string]Text) []byte {
	var pairs []string
	for name, text := range vars {
		s := text.String()
		if !text.Raw {
			s = escape(s)
		}
		pairs = append(pairs, "${"+name+"}", s)
	}
	return []byte(strings.NewReplacer(pairs...).Replace(template))
}

// escape writes s for the inside of a JSON string, escaping no more than JSON
// demands. It is independent of jsonspan, which the cases test.
func escape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < 0x20:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
