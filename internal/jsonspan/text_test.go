package jsonspan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

// checkString checks what becomes of raw, the valid text between quotes.
func checkString(t *testing.T, raw []byte) {
	t.Helper()
	slow := slowUnquote(raw)
	if breaks, size := Measure(raw); breaks != bytes.Count(slow, []byte{'\n'}) || size != len(slow) {
		t.Fatalf("%q: %d line feeds in %d bytes, want %d in %d", raw, breaks, size, bytes.Count(slow, []byte{'\n'}), len(slow))
	}
	text := AppendUnquoted([]byte("before"), raw)
	want := slowUnquote(raw)
	if string(text) != "before"+string(want) {
		t.Fatalf("%q: unquoted %q, want %q", raw, text, want)
	}
	text = text[len("before"):]
	if utf8.Valid(text) {
		var s string
		if err := json.Unmarshal([]byte(`"`+string(raw)+`"`), &s); err != nil || s != string(text) {
			t.Fatalf("%q: unquoted %q, encoding/json says %q, %v", raw, text, s, err)
		}
	}
	if !unquotedEqual(raw, string(text)) || unquotedEqual(raw, string(text)+"x") ||
		len(text) > 0 && (unquotedEqual(raw, string(text[1:])) && string(text[1:]) != string(text) || unquotedEqual(raw, string(text[:len(text)-1])+"\x00") && text[len(text)-1] != 0) {
		t.Fatalf("%q: unquotedEqual", raw)
	}
	checkText(t, text)
}

// checkText checks what becomes of text.
func checkText(t *testing.T, text []byte) {
	t.Helper()
	want := slowEscape(text)
	for _, room := range []int{0, 1, len(text), len(text) + 40, 7*len(text) + 200} {
		dst := append(make([]byte, 0, room+6), "before"...)
		if got := AppendEscaped(dst, text); string(got) != "before"+string(want) {
			t.Fatalf("%q: escaped with room for %d: %q, want %q", text, room, got, want)
		}
	}
	quoted := AppendQuoted(nil, text)
	if string(quoted) != `"`+string(want)+`"` || !json.Valid(quoted) {
		t.Fatalf("%q: quoted %q", text, quoted)
	}
	back := AppendUnquoted(nil, want)
	if bytes.Equal(back, text) {
		return
	}
	// Two surrogates in their three-byte form are not UTF-8; as escapes they
	// are a pair and come back as the one character.
	for i := range text {
		if s, ok := surrogate(text[i:]); ok && s < 0xDC00 {
			if low, ok := surrogate(text[i+3:]); ok && low >= 0xDC00 {
				return
			}
		}
	}
	t.Fatalf("%q: comes back as %q", text, back)
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "a\nb\t\"c\"\\", "\x00\x1f\x7f", "é漢😀", "한국어 텍스트", "\xed\xa0\x80", "\xed\xa0\xbd\xed\xb8\x80", "\xed", "\xed\xbf",
		strings.Repeat("\"", 100), strings.Repeat("\xed\x9f\xbf", 40), strings.Repeat("x", 63) + "\xed\xa0\x80", strings.Repeat("\x01", 99)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) { both(func() { checkText(t, text) }) })
}

// pieces are what strings are put together from.
var pieces = []string{
	`\"`, `\\`, `\/`, `\n`, `\u0041`, `\u000a\u000A`, `\\n\n`, `\ud83d\ude00\udc00`, `\ud83d\ude00`, `\ud800`, `\udc00\ud800`, `\u0000`, `\uFFFF`, "é", "漢", "😀", "\xed\xa0\x80", "\xed\x9f\xbf", "\xff",
	`\\\"`, `\\\\`, `\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"`,
}

// faults end a string in a way that is not valid.
var faults = []string{`\`, `\x`, `\U0041`, `\u`, `\u1`, `\u12`, `\u123`, `\u123g`, `\u12"4`, "\x00", "\x1f", "\n", `\u00\n`, "\\\x80", "\\\x00"}

// TestStringAtEveryOffset puts each piece and each fault at every place
// relative to words and blocks.
func TestStringAtEveryOffset(t *testing.T) {
	both(func() {
		for before := range 2*blockSize + 10 {
			for _, after := range []int{0, 1, 9, blockSize, 2*blockSize + 3} {
				for _, p := range pieces {
					raw := strings.Repeat("a", before) + p + strings.Repeat("b", after)
					checkScan(t, raw+`"`)
					checkScan(t, raw+`","`+p+strings.Repeat("c", 80))
					checkScan(t, raw)
					checkString(t, []byte(raw))
				}
				for _, p := range faults {
					raw := strings.Repeat("a", before) + p + strings.Repeat("b", after)
					checkScan(t, raw)
					checkScan(t, raw+`"`)
					// A fault behind the end is somebody else's.
					checkScan(t, strings.Repeat("a", before)+`"`+p+strings.Repeat("b", after)+`"`)
					checkScan(t, `\"`+strings.Repeat("a", before)+`"`+p+strings.Repeat("b", after)+`"`)
				}
			}
		}
	})
}

func checkScan(t *testing.T, src string) {
	t.Helper()
	wantEnd, wantEscaped := slowString([]byte(src), 0)
	end, saw := scanString([]byte(src), 0)
	escaped := saw&sawEscape != 0
	if end != wantEnd || escaped != wantEscaped {
		t.Fatalf("%q: ends at %d, escaped %v; want %d, %v", src, end, escaped, wantEnd, wantEscaped)
	}
	if end < 0 {
		return
	}
	text := src[:end-1]
	high := strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
	if high && saw&sawHigh == 0 {
		t.Fatalf("%q: is not ASCII", src)
	}
	if saw&sawCompact != 0 && !CompactText([]byte(text)) {
		t.Fatalf("%q: is not compact", src)
	}
}

// TestJSONText: texts that are JSON themselves, with one byte changed or put in
// between at every place, are scanned like any other, and known to be compact if
// they are, where that is looked for.
func TestJSONText(t *testing.T) {
	for _, text := range []string{
		`[` + strings.Repeat(`{\"id\":1,\"text\":\"some words of it\"},`, 5) + `1]`,
		`{\"a b\":` + strings.Repeat("1", 120) + `,\"é\":\"ż ó\",\"c\":[true,null]}`,
		`[` + strings.Repeat("1234567,", 30) + `1]`,
	} {
		for _, behind := range []string{"", strings.Repeat("x", 40), `,"b":"` + strings.Repeat("x y ", 40) + `"}`} {
			both(func() {
				whole := text + `"` + behind
				_, saw := scanString([]byte(whole), 0)
				if useAVX512 && len(behind) > 64 && saw&sawCompact == 0 {
					t.Errorf("%s: not found to be compact", text)
				}
				checkScan(t, whole)
				for i := range len(text) + 1 {
					for _, put := range []string{`"`, `\`, " ", "\x01", "\n", "é", `\n`, `\"`, `\\`, "{"} {
						checkScan(t, whole[:i]+put+whole[i:])
						checkScan(t, whole[:i]+put+whole[i+1:])
					}
					checkScan(t, whole[:i]+whole[i+1:])
					checkScan(t, whole[:i])
				}
			})
		}
	}
}

// TestBackslashRuns has runs of every length begin at every place of a block.
func TestBackslashRuns(t *testing.T) {
	both(func() {
		for before := range blockSize {
			for run := range 2*blockSize + 2 {
				checkScan(t, strings.Repeat("a", before)+strings.Repeat(`\`, run)+`"`+strings.Repeat("b", 70)+`"`)
			}
		}
	})
}

// TestEscapes has every byte after a backslash, and in each place of a \u.
func TestEscapes(t *testing.T) {
	both(func() {
		for c := range 256 {
			for _, before := range []int{0, 17, 62} {
				a, b := strings.Repeat("a", before), strings.Repeat("b", 80)
				checkScan(t, a+`\`+string([]byte{byte(c)})+b+`"`)
				for i := range 4 {
					digits := []byte("09Af")
					digits[i] = byte(c)
					checkScan(t, a+`\u`+string(digits)+b+`"`)
				}
			}
		}
	})
}

func FuzzString(f *testing.F) {
	for _, p := range append(pieces, faults...) {
		f.Add([]byte(strings.Repeat("a", 60) + p + `b"`))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		both(func() {
			checkScan(t, string(src))
			for i := range src {
				if end, _ := scanString(src, i); end > 0 {
					checkString(t, src[i:end-1])
				}
				if i == 70 {
					break
				}
			}
		})
	})
}

func TestUnquoteDoesNotAllocate(t *testing.T) {
	var d Doc
	if err := d.Parse(testbody.Large()); err != nil {
		t.Fatal(err)
	}
	raw := longest(&d)
	text := AppendUnquoted(nil, raw)
	dst, back := make([]byte, 0, len(raw)), make([]byte, 0, len(raw))
	both(func() {
		if n := testing.AllocsPerRun(20, func() {
			if len(AppendUnquoted(dst, raw)) != len(text) || len(AppendEscaped(back, text)) != len(raw) {
				t.Fatal("wrong length")
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// longest is the inner text of d's longest string.
func longest(d *Doc) (raw []byte) {
	for r := range Ref(d.Nodes()) {
		if in := d.Inner(r); len(in) > len(raw) {
			raw = in
		}
	}
	return raw
}

func TestSplice(t *testing.T) {
	src := []byte("0123456789")
	edits := []Edit{{Span{5, 7}, []byte("xyz")}, {Span{2, 2}, []byte("b")}, {Span{0, 1}, nil}, {Span{2, 2}, []byte("c")}, {Span{10, 10}, []byte("!")}}
	SortEdits(edits)
	const want = "1bc234xyz789!"
	if got := Splice([]byte("> "), src, edits); string(got) != "> "+want || SplicedLen(src, edits) != len(want) {
		t.Errorf("%q, SplicedLen %d", got, SplicedLen(src, edits))
	}
	for _, bad := range [][]Edit{
		{{Span{2, 4}, nil}, {Span{3, 5}, nil}},
		{{Span{4, 5}, nil}, {Span{1, 2}, nil}},
		{{Span{3, 2}, nil}},
		{{Span{9, 11}, nil}},
	} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			Splice(nil, src, bad)
		})
	}
}

func TestGetAndText(t *testing.T) {
	var d Doc
	if err := d.Parse([]byte(`{"a":"1","b\n":["x\ty",2],"a":"2","":{}}`)); err != nil {
		t.Fatal(err)
	}
	list := d.Get(d.Root(), "b\n")
	for _, c := range []struct{ got, want any }{
		{d.Text(d.Get(d.Root(), "a")), "1"},
		{d.Len(list), 2},
		{d.Text(d.First(list)), "x\ty"},
		{string(d.AppendText([]byte(">"), d.First(list))), ">x\ty"},
		{d.Equal(d.First(list), "x\ty"), true},
		{d.Equal(d.First(list), `x\ty`), false},
		{d.Text(list), ""},
		{d.Get(list, "a"), None},
		{d.Get(d.Root(), "c"), None},
		{d.Get(None, "c"), None},
		{d.Is(d.Get(d.Root(), ""), Object), true},
		{d.First(d.Get(d.Root(), "")), None},
		{string(d.Raw(list)), `["x\ty",2]`},
		{d.Raw(None) == nil && d.Inner(list) == nil && d.Next(None) == None && d.Value(None) == None, true},
		{d.Span(None), Span{}},
		{d.Kind(None), Null},
	} {
		if c.got != c.want {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}

// TestCut: what is cut is decoded as if it had not been, and no more is taken
// away than an escape is long.
func TestCut(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	parts := append([]string{"a", "u", "plain words ", `\\u00e9`, `\\\u00e9`, `\ud83d\ude00\ud83d\ude00`, `\ude00\ud83d`}, pieces...)
	for range 3000 {
		var raw []byte
		for len(raw) < 60 {
			raw = append(raw, parts[random.IntN(len(parts))]...)
		}
		want := AppendUnquoted(nil, raw)
		for n := 12; n <= len(raw)+1; n++ {
			at := Cut(raw, n)
			if at > n || at < min(n, len(raw))-11 {
				t.Fatalf("%q is cut at %d for %d", raw, at, n)
			}
			if got := AppendUnquoted(AppendUnquoted(nil, raw[:at]), raw[at:]); !bytes.Equal(got, want) {
				t.Fatalf("%q, cut at %d: %q, want %q", raw, at, got, want)
			}
		}
	}
}
