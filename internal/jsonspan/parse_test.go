package jsonspan

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

var documents = []string{
	``, ` `, `{}`, `[]`, `null`, `true`, `false`, `nul`, `tru`, `truee`, `"`, `""`, `"a`, ` "a" `, `"\"`, `"\\"`,
	`0`, `-0`, `01`, `-`, `+1`, `1.`, `.5`, `1.5e+10`, `1e`, `1E-`, `1e5`, `-12.50E-0`, `1 2`, `0x1`, `00`, `-01`, `1.e1`,
	`[`, `]`, `{`, `}`, `[}`, `{]`, `[1,]`, `[,]`, `[1 2]`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{1:2}`,
	`[[]]`, `[[],{}]`, `{"a":{}}`, `[]]`, `[[]`, `{"a":[{"b":[]}]}`, `[{}`, `{"a":[}`, `[ ]`, `{ }`, "[\n]", "[\v]", "\ufeff[]",
	`{"a":[1,2,{"b":null}],"c":"x\ny","a":false}`,
	` { "k" : [ 1 , "two" , true , null , { } , [ ] ] , "" : { "x" : -1.5e3 } } `,
	`"\ud800"`, `"\ud83d\ude00"`, `"\u00e9"`, `"\u12"`, `"\u12G4"`, `"\x"`, "\"\x01\"", "\"\x1f\"", "\"\x7f\"", "\"\xff\xfe\"", `["é"]`, `{"é":1}`, `["` + strings.Repeat("x", 100) + `é"]`, `["` + strings.Repeat("é", 70) + `","a"]`, `["a","` + strings.Repeat("x", 130) + `"]`,
	`{"aA":1}`, `"` + strings.Repeat(`\"`, 50) + `"`, `"` + strings.Repeat(`\\`, 50) + `"`, `"` + strings.Repeat(`\\`, 50) + `\"`,
	`"` + strings.Repeat(`a\u00e9`, 40) + `"`, `["` + strings.Repeat("x", 200) + `",1]`,
}

func TestParseDocuments(t *testing.T) {
	for _, s := range documents {
		both(func() { checkDocument(t, []byte(s)) })
	}
}

// TestParseCut parses what is left of a document when it ends early or one
// byte of it is another.
func TestParseCut(t *testing.T) {
	src := []byte(` {"id":-1.5e3,"a\"b":[true,{"c\u00e9":[]},"` + strings.Repeat(`x\"y\\`, 30) + `",null,"\ud83d\ude00"],"z":{}} `)
	both(func() {
		for i := range src {
			checkDocument(t, src[:i:i])
			for _, c := range []byte("\"\\ {}[]:,0a\x00\n\x80u") {
				mutant := bytes.Clone(src)
				mutant[i] = c
				checkDocument(t, mutant)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range documents {
		f.Add([]byte(s))
	}
	f.Add(testbody.Small())
	f.Fuzz(func(t *testing.T, src []byte) { both(func() { checkDocument(t, src) }) })
}

// checkDocument compares everything this package says of src with
// encoding/json.
func checkDocument(t *testing.T, src []byte) {
	t.Helper()
	var d Doc
	err := d.Parse(src)
	if deep := nesting(src) > MaxDepth; err == ErrDepth && deep {
		return
	} else if (err == nil) != (json.Valid(src) && !deep) {
		t.Fatalf("%q: %v", src, err)
	}
	if err != nil {
		if d.Nodes() != 0 || d.Root() != None {
			t.Fatalf("%q: invalid, but has %d nodes", src, d.Nodes())
		}
		return
	}
	if ascii := !bytes.ContainsFunc(src, func(r rune) bool { return r >= 0x80 }); d.ASCII() != ascii {
		t.Fatalf("%q: ASCII is %v, want %v", src, d.ASCII(), ascii)
	}
	want := slowTokens(t, src)
	if len(want) != d.Nodes() {
		t.Fatalf("%q: %d nodes, want %d", src, d.Nodes(), len(want))
	}
	for i, w := range want {
		r := Ref(i)
		if got := (token{d.Span(r), d.Kind(r), d.nodes[r].key}); got != w {
			t.Fatalf("%q: node %d is %+v, want %+v", src, i, got, w)
		}
		if w.kind == String {
			inner := src[w.Start+1 : w.End-1]
			if d.Escaped(r) != bytes.Contains(inner, []byte(`\`)) || !bytes.Equal(d.Inner(r), inner) {
				t.Fatalf("%q: node %d: escaped %v, inner %q", src, i, d.Escaped(r), d.Inner(r))
			}
			if d.nodes[r].compact && (w.key || !CompactText(inner)) || d.CompactText(r) != (!w.key && CompactText(inner)) && !w.key {
				t.Fatalf("%q: node %d: compact %v", src, i, d.CompactText(r))
			}
			checkString(t, inner)
		}
	}
	seen := 0
	checkTree(t, &d, d.Root(), &seen)
	if seen != d.Nodes() {
		t.Fatalf("%q: the tree has %d nodes, want %d", src, seen, d.Nodes())
	}
	if got := Splice(nil, src, nil); !bytes.Equal(got, src) {
		t.Fatalf("%q: spliced without edits: %q", src, got)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, src); err != nil {
		t.Fatal(err)
	}
	if got := Compact(nil, src); !bytes.Equal(got, compact.Bytes()) {
		t.Fatalf("%q: compact %q, want %q", src, got, compact.Bytes())
	}
	checkFindTop(t, &d)
}

// checkTree walks by First, Next and Value and compares with document order.
func checkTree(t *testing.T, d *Doc, r Ref, seen *int) {
	if int(r) != *seen {
		t.Fatalf("%q: node %d comes in place %d", d.Source(), r, *seen)
	}
	*seen++
	n := 0
	for c := d.First(r); c != None; c = d.Next(c) {
		if d.Is(r, Object) {
			if int(c) != *seen || !d.nodes[c].key {
				t.Fatalf("%q: node %d comes in place %d", d.Source(), c, *seen)
			}
			*seen++
			checkTree(t, d, d.Value(c), seen)
		} else {
			checkTree(t, d, c, seen)
		}
		n++
	}
	if n != d.Len(r) {
		t.Fatalf("%q: node %d has %d children, Len %d", d.Source(), r, n, d.Len(r))
	}
}

// checkFindTop asks for each key of the root, and one that is not there.
func checkFindTop(t *testing.T, d *Doc) {
	src := d.Source()
	if _, _, ok := FindTop(src, "\x00no such key"); ok {
		t.Fatalf("%q: found what is not there", src)
	}
	for k := d.First(d.Root()); d.Is(d.Root(), Object) && k != None; k = d.Next(k) {
		name := string(slowUnquote(d.Inner(k)))
		v := d.Get(d.Root(), name)
		at, kind, ok := FindTop(src, name)
		if !ok || at != d.Span(v) || kind != d.Kind(v) {
			t.Fatalf("%q: %q found at %v, kind %v, %v; want %v, %v", src, name, at, kind, ok, d.Span(v), d.Kind(v))
		}
		// Nothing after the value matters.
		cut := bytes.Clone(src[:d.Span(v).End])
		if kind != Number {
			cut = append(cut, '!')
		}
		if cutAt, _, ok := FindTop(cut, name); !ok || cutAt != at {
			t.Fatalf("%q: %q found at %v, %v; want %v", cut, name, cutAt, ok, at)
		}
		// What comes before it does.
		if s := d.Span(k).Start; d.Value(k) == v {
			broken := append(bytes.Clone(src[:s]), "}"...)
			broken = append(broken, src[s:]...)
			if _, _, ok := FindTop(broken, name); ok {
				t.Fatalf("%q: found %q", broken, name)
			}
		}
	}
}

// nesting is how deep brackets outside of strings go.
func nesting(src []byte) int {
	depth, most := 0, 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '"':
			end, _ := slowString(src, i+1)
			if end < 0 {
				return most
			}
			i = end - 1
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth--
		}
	}
	return most
}

func TestDepth(t *testing.T) {
	for _, c := range []struct {
		open, close string
		levels      int // of one open
	}{{"[", "]", 1}, {`{"a":`, "}", 1}, {`[{"b":`, "}]", 2}} {
		for _, levels := range []int{MaxDepth - 2, MaxDepth, MaxDepth + 2} {
			n := levels / c.levels
			src := []byte(strings.Repeat(c.open, n) + "1" + strings.Repeat(c.close, n))
			var d Doc
			err := d.Parse(src)
			if want := levels <= MaxDepth; (err == nil) != want || !want && err != ErrDepth {
				t.Errorf("%d levels of %s: %v", levels, c.open, err)
			}
			wrapped := []byte(`{"deep":` + string(src) + `,"k":1}`)
			if _, _, ok := FindTop(wrapped, "k"); ok != (levels+1 <= MaxDepth) {
				t.Errorf("%d levels of %s: found %v", levels+1, c.open, ok)
			}
		}
	}
	// A million levels cost no more than 512.
	var d Doc
	if err := d.Parse(bytes.Repeat([]byte("["), 1_000_000)); err != ErrDepth {
		t.Errorf("a million levels: %v", err)
	}
}

func TestFindTopTakesTheFirst(t *testing.T) {
	for _, c := range []struct {
		src, value string
		kind       Kind
		ok         bool
	}{
		{`{"model":"a","model":"b"}`, `"a"`, String, true},
		{`{"messages":[{"model":"no"}],"mod\u0065l": 5 }`, `5`, Number, true},
		{`{"x":{"model":"no"},"model":{"y":[]}}`, `{"y":[]}`, Object, true},
		{`{"model":null`, `null`, Null, true},
		{`{"model":"a`, ``, Null, false},
		{`{"x":tru,"model":"a"}`, ``, Null, false},
		{`{"x":1 "model":"a"}`, ``, Null, false},
		{`[{"model":"a"}]`, ``, Null, false},
		{`{"Model":"a"}`, ``, Null, false},
		{`{}`, ``, Null, false},
		{``, ``, Null, false},
		{`{"model"`, ``, Null, false},
		{`"model"`, ``, Null, false},
	} {
		at, kind, ok := FindTop([]byte(c.src), "model")
		if ok != c.ok || kind != c.kind || c.src[at.Start:at.End] != c.value {
			t.Errorf("%s: %q, kind %v, %v", c.src, c.src[at.Start:at.End], kind, ok)
		}
	}
}

// TestBodies checks the bodies that are measured with, and every JSON file of
// the corpus.
func TestBodies(t *testing.T) {
	for _, p := range testbody.Profiles {
		both(func() { checkDocument(t, testbody.Body(p)) })
	}
	root := filepath.FromSlash("../../../shared/corpus")
	if _, err := os.Stat(root); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	n := 0
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Ext(path) == ".json" {
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n++
			both(func() { checkDocument(t, src) })
		}
		return err
	})
	if err != nil || n == 0 {
		t.Fatalf("%d files, %v", n, err)
	}
}

func TestParseDoesNotAllocate(t *testing.T) {
	src := testbody.Large()
	var d Doc
	if err := d.Parse(src); err != nil {
		t.Fatal(err)
	}
	both(func() {
		if n := testing.AllocsPerRun(20, func() {
			if err := d.Parse(src); err != nil {
				t.Fatal(err)
			}
			if _, _, ok := FindTop(src, "max_tokens"); !ok {
				t.Fatal("not found")
			}
			if !d.Equal(d.Value(d.First(d.Root())), "gpt-4o") {
				t.Fatal("another model")
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func TestResetAndTrim(t *testing.T) {
	var d Doc
	if err := d.Parse(testbody.Large()); err != nil {
		t.Fatal(err)
	}
	n := cap(d.nodes)
	d.Trim(n)
	if d.Source() != nil || d.Nodes() != 0 || d.Root() != None || cap(d.nodes) != n {
		t.Errorf("trimmed to its size: %d nodes of %d", d.Nodes(), cap(d.nodes))
	}
	d.Trim(n - 1)
	if cap(d.nodes) != 0 {
		t.Errorf("trimmed below its size: %d nodes kept", cap(d.nodes))
	}
	if err := d.Parse([]byte(`{"a":1}`)); err != nil || d.Nodes() != 3 {
		t.Errorf("after a trim: %d nodes, %v", d.Nodes(), err)
	}
	d.Reset()
	if d.Source() != nil || d.Root() != None {
		t.Error("Reset keeps the source")
	}
}
