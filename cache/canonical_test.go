package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// canonicalOf is the canonical form of src, for tests.
func canonicalOf(t testing.TB, src string, ignore ...string) (string, error) {
	t.Helper()
	var d jsonspan.Doc
	if err := d.Parse([]byte(src)); err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	var c canon
	err := c.append(&d, ignore, jsonspan.None)
	return string(c.out), err
}

func TestCanonicalForm(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{` { "b" : 1 , "a" : [ 1.0 , 1e2 , -0 ] } `, `{"b":1,"a":[1.0,1e2,-0]}`},
		{`{"b":{"d":1,"c":null},"a":{"f":true,"e":false}}`, `{"b":{"d":1,"c":null},"a":{"f":true,"e":false}}`},
		{`"\u0041\/\u00e9\u000A\u001f\u0022\u005c"`, `"A/é\n\u001f\"\\"`},
		{`"\ud83d\ude00"`, `"😀"`},
		{`"\uD800x\uDC00\ud800\ud800"`, `"\ud800x\udc00\ud800\ud800"`},
		{`{"\u0062":1,"a":2}`, `{"b":1,"a":2}`},
		{`[]`, `[]`},
		{`{}`, `{}`},
		{`12345678901234567890.10`, `12345678901234567890.10`},
	} {
		got, err := canonicalOf(t, tc.in)
		if err != nil || got != tc.want {
			t.Errorf("%s: got %s, %v; want %s", tc.in, got, err, tc.want)
		}
		again, err := canonicalOf(t, got)
		if err != nil || again != got {
			t.Errorf("%s: form of the form is %s, %v", got, again, err)
		}
	}
}

func TestCanonicalIgnoresTopLevelOnly(t *testing.T) {
	got, err := canonicalOf(t, `{"user":"u","m":{"user":"v"},"metadata":{"a":1},"z":0}`, "user", "metadata")
	if want := `{"z":0,"m":{"user":"v"}}`; err != nil || got != want {
		t.Fatalf("got %s, %v; want %s", got, err, want)
	}
	// An ignored field must not hide that it is there twice.
	if _, err := canonicalOf(t, `{"user":"a","user":"b"}`, "user"); !errors.Is(err, errDuplicateKey) {
		t.Fatalf("duplicate ignored key: %v", err)
	}
}

func TestCanonicalDuplicateKeys(t *testing.T) {
	wide := strings.Builder{}
	for i := range 100 {
		fmt.Fprintf(&wide, `"k%d":0,`, i)
	}
	for _, src := range []string{
		`{"a":1,"a":1}`,
		`{"a":1,"\u0061":2}`,
		`{"x":[{"b":{"c":1,"d":2,"c":3}}]}`,
		`{` + wide.String() + `"k57":1}`,
	} {
		if _, err := canonicalOf(t, src); !errors.Is(err, errDuplicateKey) {
			t.Errorf("%.60s: %v", src, err)
		}
	}
	if _, err := canonicalOf(t, `[{"a":1},{"a":1},{"a":{"a":1}}]`); err != nil {
		t.Errorf("equal keys in different objects: %v", err)
	}
}

func TestCanonicalKeepsInvalidUTF8Apart(t *testing.T) {
	forms := map[string]string{}
	for _, src := range []string{
		"\"\\n\xed\xa0\x80\"", `"\n\ud800"`, "\"\\n\\ufffd\"", "\"\\n\xff\"", "\"\\n\xed\xa0\x80\xed\xb0\x80\"", `"\n\ud800\udc00"`,
	} {
		form, err := canonicalOf(t, src)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := forms[form]; ok {
			t.Errorf("%q and %q have the same form", other, src)
		}
		forms[form] = src
	}
}

// watched must name the string's bytes in the form, wherever sorting puts it.
func TestCanonicalWatch(t *testing.T) {
	var d jsonspan.Doc
	if err := d.Parse([]byte(`{"b":"q\u0041","y":["q\u0041"]}`)); err != nil {
		t.Fatal(err)
	}
	var c canon
	c.out = append(c.out, "head"...)
	if err := c.append(&d, nil, d.Get(d.Root(), "b")); err != nil {
		t.Fatal(err)
	}
	if got := string(c.out[c.watched.Start:c.watched.End]); got != `"qA"` || c.watched.Start != len(`head{"y":["qA"],"b":`) {
		t.Fatalf("watched %q at %d of %s", got, c.watched.Start, c.out)
	}
}

func TestCanonicalDepth(t *testing.T) {
	src := strings.Repeat(`{"a":[`, jsonspan.MaxDepth/2) + strings.Repeat(`]}`, jsonspan.MaxDepth/2)
	if got, err := canonicalOf(t, src); err != nil || got != src {
		t.Fatalf("depth %d: %v", jsonspan.MaxDepth, err)
	}
}

// respell writes v, as decoded with UseNumber, with members in random order,
// random white space and random escapes.
func respell(b *bytes.Buffer, v any, r *rand.Rand) {
	space := func() {
		for r.IntN(3) == 0 {
			b.WriteByte(" \t\n\r"[r.IntN(4)])
		}
	}
	text := func(s string) {
		b.WriteByte('"')
		for _, c := range s {
			switch {
			case c < 0x20 || c == '"' || c == '\\' || c < 0x10000 && r.IntN(3) == 0:
				fmt.Fprintf(b, []string{`\u%04x`, `\u%04X`}[r.IntN(2)], c)
			case c >= 0x10000 && r.IntN(3) == 0:
				fmt.Fprintf(b, `\u%04x\u%04X`, 0xD800+(c-0x10000)>>10, 0xDC00+(c-0x10000)&0x3FF)
			case c == '/' && r.IntN(2) == 0:
				b.WriteString(`\/`)
			default:
				b.WriteRune(c)
			}
		}
		b.WriteByte('"')
	}
	space()
	defer space()
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case json.Number:
		b.WriteString(v.String())
	case string:
		text(v)
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			respell(b, e, r)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		var names []string
		for k := range v {
			names = append(names, k)
		}
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for i, k := range names {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			text(k)
			space()
			b.WriteByte(':')
			respell(b, v[k], r)
		}
		b.WriteByte('}')
	}
}

// FuzzCanonical: equal values, however they are spelled, have one form; the
// form is valid JSON of the same value; a different value has another form.
func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":[1,2.50,{"x":"\u00e9\ud83d\ude00\/"}],"a":null,"aa":true}`), []byte(`{"b":[1]}`), uint64(1))
	f.Add([]byte(`{"a":"b","c":"d"}`), []byte(`{"a":"b\",\"c\":\"d"}`), uint64(2))
	f.Add([]byte(`[1,[2]]`), []byte(`[[1],2]`), uint64(3))
	f.Add([]byte(`"\ud800"`), []byte(`"\udc00"`), uint64(4))
	f.Fuzz(func(t *testing.T, one, two []byte, seed uint64) {
		form1, value1, ok1 := fuzzForm(t, one)
		if !ok1 {
			return
		}
		var b bytes.Buffer
		respell(&b, value1, rand.New(rand.NewPCG(seed, 1)))
		respelled, _, ok := fuzzForm(t, b.Bytes())
		if !ok || respelled != form1 {
			t.Fatalf("%s\nrespelled\n%s\nforms\n%s\n%s", one, b.Bytes(), form1, respelled)
		}
		form2, value2, ok2 := fuzzForm(t, two)
		if !ok2 {
			return
		}
		// Numbers are compared as written, strings as decoded.
		same := fmt.Sprintf("%#v", value1) == fmt.Sprintf("%#v", value2)
		if same != (form1 == form2) {
			t.Fatalf("same value: %v, same form: %v\n%s\n%s", same, form1 == form2, one, two)
		}
	})
}

// fuzzForm is src's form and value; ok is false for what has none or cannot
// be compared by encoding/json, which folds lone surrogates and bytes that are
// not UTF-8 into U+FFFD.
func fuzzForm(t *testing.T, src []byte) (form string, value any, ok bool) {
	var d jsonspan.Doc
	if d.Parse(src) != nil {
		return "", nil, false
	}
	var c canon
	if err := c.append(&d, nil, jsonspan.None); err != nil {
		return "", nil, false
	}
	if !json.Valid(c.out) {
		t.Fatalf("form of %q is not JSON: %q", src, c.out)
	}
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	if strings.Contains(fmt.Sprintf("%s", value), "\ufffd") {
		return "", nil, false
	}
	return string(c.out), value, true
}

func BenchmarkCanonical(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			src := []byte(chatBody(size, "the question"))
			var d jsonspan.Doc
			if err := d.Parse(src); err != nil {
				b.Fatal(err)
			}
			var c canon
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			form := func() {
				c.out = c.out[:0]
				if err := c.append(&d, nil, jsonspan.None); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				form()
			}
			quiet(b, form)
		})
	}
}
