package optimize_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// fuzzModes reach every pass with limits so low that they have work.
var fuzzModes = []string{
	"rtk=aggressive", "squoze=on", "caveman=auto", "headroom=aggressive;keep=1;reserve=1", "headroom=auto;keep=2;reserve=200", "reasoning=low",
	"rtk=auto, reasoning=low, headroom=balanced;keep=1;reserve=300, caveman=full",
}

// FuzzRun sends any body through the passes: none of them panics, and what
// comes out keeps the promises.
func FuzzRun(f *testing.F) {
	list, err := cases.Load("../testdata/cases")
	if err != nil {
		f.Fatal(err)
	}
	for i, c := range list {
		if c.Area != "optimize" {
			continue
		}
		for _, body := range c.Bodies() {
			if len(body) < 20_000 { // the fuzzer has to get somewhere
				f.Add(body, uint8(adapter.Detect(c.Path)), uint8(i))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, format, mode uint8) {
		survives(t, adapter.Format(1+format%5), body, fuzzModes[int(mode)%len(fuzzModes)])
	})
}

// survives sends a body through a mode and checks what comes out.
func survives(t *testing.T, f adapter.Format, body []byte, header string) (changed bool) {
	t.Helper()
	s := sample{"body", f, body}
	passes, _ := passesOf(t, header)
	after, res := run(t, f, body, passes)
	if bytes.Equal(after, body) {
		return false
	}
	if !json.Valid(body) || !json.Valid(after) {
		t.Fatalf("%s: invalid JSON\n%.2000q\n%.2000q", header, body, after)
	}
	if res.SavedBytes != len(body)-len(after) {
		t.Fatalf("%s: %d bytes saved, reported %d", header, len(body)-len(after), res.SavedBytes)
	}
	if again, _ := run(t, f, after, passes); !bytes.Equal(again, after) {
		t.Fatalf("%s: applied again, it changes at byte %d\n%.2000q\n%.2000q\n%.2000q", header, differAt(again, after), body, after, again)
	}
	k := &keeper{header: header, noTokens: true}
	if last := len(passes) - 1; passes[last].Name() == "caveman" {
		middle, _ := run(t, f, body, passes[:last])
		k.directive(s, middle, after)
		after = middle
	}
	k.check(s, after)
	for _, err := range k.errs {
		t.Errorf("%s: %v\n%.2000q\n%.2000q", header, err, body, after)
	}
	return true
}

// TestMutatedRequests changes the structure of the cases' bodies at random, as
// broken or unusual clients would: parts deleted, repeated, exchanged, emptied.
func TestMutatedRequests(t *testing.T) {
	list, err := cases.Load("../testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2, 4))
	rounds := 60
	if raceEnabled {
		rounds = 6
	}
	sent, changed := 0, 0
	for _, c := range list {
		if c.Area != "optimize" {
			continue
		}
		bodies := c.Bodies()
		for range rounds {
			body := bodies[r.IntN(len(bodies))]
			for range 1 + r.IntN(4) {
				body = mutate(r, body)
			}
			sent++
			if survives(t, adapter.Detect(c.Path), body, fuzzModes[r.IntN(len(fuzzModes))]) {
				changed++
			}
			if t.Failed() {
				t.Fatalf("case %s", c.Name)
			}
		}
	}
	if changed < sent/10 {
		t.Errorf("only %d of %d requests were changed", changed, sent)
	}
}

// mutate makes one change to the structure of a body.
func mutate(r *rand.Rand, body []byte) []byte {
	var d jsonspan.Doc
	if d.Parse(body) != nil || d.Nodes() < 3 {
		return body
	}
	pick := func() jsonspan.Ref { return jsonspan.Ref(1 + r.IntN(d.Nodes()-1)) }
	replace := func(s jsonspan.Span, by string) []byte {
		return append(append(append([]byte(nil), body[:s.Start]...), by...), body[s.End:]...)
	}
	n := pick()
	span, next := d.Span(n), d.Next(n)
	element := next != jsonspan.None // it has a comma behind it
	if element {
		span.End = d.Span(next).Start
	}
	switch r.IntN(7) {
	case 0: // delete
		if element {
			return replace(span, "")
		}
	case 1: // repeat
		if element {
			return replace(jsonspan.Span{Start: span.Start, End: span.Start}, string(body[span.Start:span.End]))
		}
	case 2: // exchange with the next
		if element && d.Next(next) != jsonspan.None {
			both := jsonspan.Span{Start: span.Start, End: d.Span(d.Next(next)).Start}
			return replace(both, string(body[span.End:both.End])+string(body[span.Start:span.End]))
		}
	case 3: // another value of the same kind from elsewhere
		for range 20 {
			if m := pick(); d.Kind(m) == d.Kind(n) {
				return replace(d.Span(n), string(d.Raw(m)))
			}
		}
	case 4: // a value of any kind
		if !isKey(&d, n) {
			return replace(d.Span(n), string(d.Raw(pick())))
		}
	case 5:
		if !isKey(&d, n) {
			return replace(d.Span(n), []string{`null`, `""`, `[]`, `{}`, `0`, `true`, `"tool"`, `"user"`, `"text"`}[r.IntN(9)])
		}
	case 6: // longer
		if d.Is(n, jsonspan.String) {
			inner := string(d.Inner(n))
			return replace(d.Span(n), `"`+strings.Repeat(inner+`\n`, 1+r.IntN(40))+`"`)
		}
	}
	return body
}

// isKey reports whether n is the key of a member.
func isKey(d *jsonspan.Doc, n jsonspan.Ref) bool {
	rest := bytes.TrimLeft(d.Source()[d.Span(n).End:], " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
