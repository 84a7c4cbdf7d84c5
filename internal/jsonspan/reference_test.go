package jsonspan

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"unicode/utf8"
)

// both runs f with the vector code, where there is any, and without.
func both(f func()) {
	had, wide := useAVX2, useAVX512
	defer func() { useAVX2, useAVX512 = had, wide }()
	f()
	if wide {
		useAVX512 = false
		f()
	}
	if had {
		useAVX2 = false
		f()
	}
}

// What follows is slow and obvious, to compare the rest with.

// slowString is scanString.
func slowString(src []byte, i int) (end int, escaped bool) {
	for i < len(src) {
		switch c := src[i]; {
		case c == '"':
			return i + 1, escaped
		case c < 0x20:
			return -1, false
		case c == '\\':
			escaped = true
			i++
			if i == len(src) || !bytes.ContainsRune([]byte(`"\/bfnrtu`), rune(src[i])) {
				return -1, false
			}
			if src[i] == 'u' {
				for range 4 {
					i++
					if i == len(src) || !bytes.ContainsRune([]byte("0123456789abcdefABCDEF"), rune(src[i])) {
						return -1, false
					}
				}
			}
		}
		i++
	}
	return -1, false
}

// slowUnquote is AppendUnquoted.
func slowUnquote(raw []byte) []byte {
	out := []byte{}
	unit := func(i int) rune {
		var r rune
		for _, c := range raw[i+2 : i+6] {
			r = r<<4 | rune(bytes.IndexByte([]byte("0123456789abcdef"), c|0x20))
			if c <= '9' {
				r = r&^15 | rune(c-'0')
			}
		}
		return r
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		if at := bytes.IndexByte([]byte(`"\/bfnrt`), raw[i+1]); at >= 0 {
			out = append(out, "\"\\/\b\f\n\r\t"[at])
			i++
			continue
		}
		r := unit(i)
		i += 5
		if r >= 0xD800 && r < 0xDC00 && bytes.HasPrefix(raw[i+1:], []byte(`\u`)) {
			if low := unit(i + 1); low >= 0xDC00 && low < 0xE000 {
				out = utf8.AppendRune(out, 0x10000+(r-0xD800)*0x400+low-0xDC00)
				i += 6
				continue
			}
		}
		if r >= 0xD800 && r < 0xE000 {
			out = append(out, byte(0xE0|r>>12), byte(0x80|r>>6&0x3F), byte(0x80|r&0x3F))
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// slowEscape is AppendEscaped.
func slowEscape(text []byte) []byte {
	out := []byte{}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if at := bytes.IndexByte([]byte("\"\\\b\f\n\r\t"), c); at >= 0 {
			out = append(out, '\\', `"\bfnrt`[at])
		} else if c < 0x20 {
			out = append(out, '\\', 'u', '0', '0', "01"[c>>4], "0123456789abcdef"[c&15])
		} else if s, ok := surrogate(text[i:]); ok {
			out = append(out, '\\', 'u', 'd', hexDigits[s>>8&15], hexDigits[s>>4&15], hexDigits[s&15])
			i += 2
		} else {
			out = append(out, c)
		}
	}
	return out
}

// surrogate is the surrogate that b begins with in its three-byte form.
func surrogate(b []byte) (rune, bool) {
	if len(b) < 3 || b[0] != 0xED || b[1] < 0xA0 || b[1] > 0xBF || b[2] < 0x80 || b[2] > 0xBF {
		return 0, false
	}
	return 0xD000 | rune(b[1]&0x3F)<<6 | rune(b[2]&0x3F), true
}

// token is one token of valid JSON.
type token struct {
	Span
	kind Kind
	key  bool
}

// slowTokens lists values and keys in document order, by a walk with
// encoding/json's decoder.
func slowTokens(t *testing.T, src []byte) []token {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	type level struct {
		object bool
		at     int // of the container in out
		key    bool
	}
	var (
		out   []token
		stack = []level{{}}
		from  = 0
	)
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		end := int(d.InputOffset())
		for bytes.IndexByte([]byte(" \t\r\n,:"), src[from]) >= 0 {
			from++
		}
		top := &stack[len(stack)-1]
		v := token{Span: Span{from, end}}
		from = end
		if tok == json.Delim('}') || tok == json.Delim(']') {
			out[top.at].End = end
			stack = stack[:len(stack)-1]
			continue
		}
		if top.object {
			top.key = !top.key
			v.key = top.key
		}
		switch tok := tok.(type) {
		case json.Delim:
			v.kind = Array
			if tok == '{' {
				v.kind = Object
			}
			stack = append(stack, level{object: tok == '{', at: len(out)})
		case string:
			v.kind = String
		case json.Number:
			v.kind = Number
		case bool:
			v.kind = False
			if tok {
				v.kind = True
			}
		case nil:
			v.kind = Null
		}
		out = append(out, v)
	}
}
