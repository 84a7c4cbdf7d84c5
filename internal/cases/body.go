package cases

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// body is a parsed request body.
type body struct{ doc jsonspan.Doc }

// parse returns nil for a text that is not valid JSON.
func parse(text []byte) *body {
	b := new(body)
	if b.doc.Parse(text) != nil {
		return nil
	}
	return b
}

// at is the value at a path: keys and indices with dots, a negative index
// counts from the end.
func (b *body) at(path string) jsonspan.Ref {
	r := b.doc.Root()
	for _, step := range strings.Split(path, ".") {
		if b.doc.Is(r, jsonspan.Object) {
			r = b.doc.Get(r, step)
			continue
		}
		n, err := strconv.Atoi(step)
		if err != nil || !b.doc.Is(r, jsonspan.Array) {
			return jsonspan.None
		}
		if n < 0 {
			n += b.doc.Len(r)
		}
		if n < 0 {
			return jsonspan.None
		}
		for r = b.doc.First(r); n > 0 && r != jsonspan.None; n-- {
			r = b.doc.Next(r)
		}
	}
	return r
}

func (b *body) raw(path string) []byte { return b.doc.Raw(b.at(path)) }

func (b *body) text(path string) (string, bool) {
	r := b.at(path)
	return b.doc.Text(r), b.doc.Is(r, jsonspan.String)
}

// elements are the elements of the array r.
func (b *body) elements(r jsonspan.Ref) []jsonspan.Ref {
	if !b.doc.Is(r, jsonspan.Array) {
		return nil
	}
	var all []jsonspan.Ref
	for r = b.doc.First(r); r != jsonspan.None; r = b.doc.Next(r) {
		all = append(all, r)
	}
	return all
}

// string is the text of the member name of obj, "" if it is no string.
func (b *body) string(obj jsonspan.Ref, name string) string {
	return b.doc.Text(b.doc.Get(obj, name))
}

// Texts are the string values (not the keys) of a JSON text, decoded, in
// document order; none if it is not valid.
func Texts(text []byte) []string {
	b := parse(text)
	if b == nil {
		return nil
	}
	var texts []string
	var walk func(r jsonspan.Ref)
	walk = func(r jsonspan.Ref) {
		switch d := &b.doc; d.Kind(r) {
		case jsonspan.String:
			texts = append(texts, d.Text(r))
		case jsonspan.Array:
			for r = d.First(r); r != jsonspan.None; r = d.Next(r) {
				walk(r)
			}
		case jsonspan.Object:
			for r = d.First(r); r != jsonspan.None; r = d.Next(r) {
				walk(d.Value(r))
			}
		}
	}
	walk(b.doc.Root())
	return texts
}

// prefix checks that earlier turns look the same in later ones, and that each
// turn looks the same to an optimizer that has not seen the others.
func (k *checker) prefix(before, after [][]byte, fresh func() Optimizer) {
	for i := range after {
		if i > 0 {
			if err := PrefixStable(after[i-1], after[i]); err != nil {
				k.fail("prefix_stable: turn %d: %w", i+1, err)
			}
		}
		if alone := fresh()(bytes.Clone(before[i])); !bytes.Equal(alone, after[i]) {
			at := differ(alone, after[i])
			k.fail("prefix_stable: turn %d alone differs from byte %d on: %s", i+1, at, around(alone, at))
		}
	}
}

// PrefixStable says which part of one turn's body looks different in the next
// turn's; nil if there is none.
func PrefixStable(turn, next []byte) error {
	a, b := parse(turn), parse(next)
	if a == nil || b == nil {
		return fmt.Errorf("not valid JSON")
	}
	for _, name := range []string{"system", "instructions", "tools"} {
		if was, is := a.raw(name), b.raw(name); !bytes.Equal(was, is) {
			return fmt.Errorf("%s was %.200q, is %.200q", name, was, is)
		}
	}
	for _, name := range []string{"messages", "input"} {
		was, is := a.elements(a.at(name)), b.elements(b.at(name))
		for i := range min(len(was), len(is)) {
			if w, n := a.doc.Raw(was[i]), b.doc.Raw(is[i]); !bytes.Equal(w, n) {
				at := differ(w, n)
				return fmt.Errorf("%s.%d: was %s, is %s", name, i, around(w, at), around(n, at))
			}
		}
	}
	return nil
}
