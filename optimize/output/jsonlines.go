package output

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
)

// keepRecords keeps the important lines of newline-delimited JSON. The events
// of go test -json are read for what the tests wrote.
func keepRecords(keep *Set, lines *Lines) {
	events := false
	for i := range lines.Len() {
		line := lines.Line(i)
		if goEvent(line) {
			events = true
			continue
		}
		if Important(line) != None || marker.Is(line) {
			keep.Add(i)
		}
	}
	if events {
		keepEvents(keep, lines)
	}
}

// keepEvents keeps the events of go test -json that say that something failed,
// all events of tests that failed or have no verdict, and those whose output, put together per
// package, belongs to a failure.
func keepEvents(keep *Set, lines *Lines) {
	type group struct {
		text  []byte
		lines []int // the event that wrote each line of text
	}
	var order []*group // in the order of their first events: maps have none
	groups := make(map[string]*group)
	failed := make(map[string]bool)
	running := make(map[string]bool) // began and have no verdict
	doc := docPool.Get().(*jsonspan.Doc)
	defer func() {
		doc.Reset()
		docPool.Put(doc)
	}()
	for i := range lines.Len() {
		line := lines.Line(i)
		if !goEvent(line) {
			continue
		}
		pkg, test := string(jsonText(line, "Package")), string(jsonText(line, "Test"))
		switch string(jsonText(line, "Action")) {
		case "fail", "build-fail":
			keep.Add(i)
			failed[pkg+" "+test] = true
			delete(running, pkg+" "+test)
		case "run":
			running[pkg+" "+test] = true
		case "pass", "skip":
			delete(running, pkg+" "+test)
		}
		out := jsonText(line, "Output")
		if out == nil {
			continue
		}
		g := groups[pkg]
		if g == nil {
			g = new(group)
			groups[pkg] = g
			order = append(order, g)
		}
		if doc.Parse(line) != nil {
			keep.Add(i) // cut off, or forged
			continue
		}
		from := len(g.text)
		g.text = jsonspan.AppendUnquoted(g.text, out)
		g.text = bytes.TrimSuffix(g.text, []byte("\n"))
		for j, c := range g.text[from:] {
			if c == '\n' {
				g.text[from+j] = ' '
			}
		}
		g.text = append(g.text, '\n')
		g.lines = append(g.lines, i)
	}
	var part Lines
	var parts Set
	for _, g := range order {
		part.Split(g.text)
		keepFailures(resetSet(&parts, part.Len()), nil, TestOutput, GoTest, &part, nil)
		for j, i := range g.lines {
			if parts.Has(j) {
				keep.Add(i)
			}
		}
	}
	for test := range running {
		failed[test] = true // it hangs, or ended the process
	}
	if len(failed) == 0 {
		return
	}
	for i := range lines.Len() {
		line := lines.Line(i)
		if test := jsonText(line, "Test"); test != nil && goEvent(line) && failed[string(jsonText(line, "Package"))+" "+string(test)] {
			keep.Add(i)
		}
	}
}

func resetSet(s *Set, n int) *Set {
	s.Reset(n)
	return s
}

// goEvent reports whether a line is an event of go test -json.
func goEvent(line []byte) bool {
	return (hasPrefix(line, `{"Time":"`) || hasPrefix(line, `{"Action":"`) || hasPrefix(line, `{"ImportPath":"`)) && bytes.Contains(line, []byte(`"Action":"`))
}

func hasJSON(line []byte, name, value string) bool { return string(jsonText(line, name)) == value }

// jsonText is the encoded value of the string field name, nil if there is none.
func jsonText(line []byte, name string) []byte {
	var key [32]byte
	k := append(append(append(key[:0], '"'), name...), `":"`...)
	at := bytes.Index(line, k)
	if at < 0 {
		return nil
	}
	at += len(k)
	for i := at; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return line[at:i]
		}
	}
	return nil
}
