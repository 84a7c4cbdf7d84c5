package adapter

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// CallArgs reads the arguments of one call. They are parsed at the first
// question and no more than once per request. It is valid until the request
// is parsed again or reset, and like the request for one goroutine only.
type CallArgs struct {
	r    *Request
	call int
}

// Args are the arguments of r.Calls[call]. For -1, a call that is not known,
// every question has no answer.
func (r *Request) Args(call int) CallArgs { return CallArgs{r, call} }

// builtinTools names the tools whose calls carry no name, by Call.Type.
var builtinTools = map[string]string{
	"local_shell_call": "local_shell",
	"shell_call":       "shell",
	"apply_patch_call": "apply_patch",
	"computer_call":    "computer",
}

// Tool is the name of the tool, "" if it is not known. Built-in tools of the
// Responses API are called local_shell, shell, apply_patch and computer.
func (a CallArgs) Tool() string {
	v := a.view()
	if v == nil {
		return ""
	}
	if !v.named {
		v.named = true
		c := &a.r.Calls[a.call]
		if c.Name == jsonspan.None {
			v.tool = builtinTools[c.Type]
		} else {
			v.tool = a.r.Doc.Text(c.Name)
		}
	}
	return v.tool
}

// String is the decoded value of the first of keys that is there and a string.
// A key that stands twice counts as not there.
func (a CallArgs) String(keys ...string) (string, bool) {
	d, object := a.object()
	for _, key := range keys {
		if v := only(d, object, key); d.Is(v, jsonspan.String) {
			return d.Text(v), true
		}
	}
	return "", false
}

// Strings is the decoded value of key if it is an array of strings.
func (a CallArgs) Strings(key string) ([]string, bool) {
	d, object := a.object()
	return texts(d, only(d, object, key))
}

// Values are the values of arguments, as CallArgs.Look found them.
type Values struct {
	doc  *jsonspan.Doc
	refs []jsonspan.Ref
}

// Look finds the values of all keys at once. The result aliases refs, which is
// as long as keys, and memory of the request.
func (a CallArgs) Look(keys []string, refs []jsonspan.Ref) Values {
	const twice = jsonspan.None - 1
	d, object := a.object()
	for i := range refs {
		refs[i] = jsonspan.None
	}
	for k := d.First(object); k != jsonspan.None; k = d.Next(k) {
		for i, key := range keys {
			switch {
			case !d.Equal(k, key):
			case refs[i] == jsonspan.None:
				refs[i] = d.Value(k)
			default:
				refs[i] = twice
			}
		}
	}
	for i := range refs {
		if refs[i] == twice {
			refs[i] = jsonspan.None
		}
	}
	return Values{d, refs}
}

// String is the decoded value of the i-th key if it is a string. A key that
// stands twice counts as not there.
func (v Values) String(i int) (string, bool) {
	if !v.doc.Is(v.refs[i], jsonspan.String) {
		return "", false
	}
	return v.doc.Text(v.refs[i]), true
}

// Strings is the decoded value of the i-th key if it is an array of strings.
func (v Values) Strings(i int) ([]string, bool) { return texts(v.doc, v.refs[i]) }

// texts decodes an array of strings.
func texts(d *jsonspan.Doc, array jsonspan.Ref) ([]string, bool) {
	if !d.Is(array, jsonspan.Array) {
		return nil, false
	}
	list := make([]string, 0, d.Len(array))
	for e := d.First(array); e != jsonspan.None; e = d.Next(e) {
		if !d.Is(e, jsonspan.String) {
			return nil, false
		}
		list = append(list, d.Text(e))
	}
	return list, true
}

// Text is the whole argument text: decoded if the arguments are a string (JSON
// for function calls, anything for custom tools), else the JSON object as it
// stands. It aliases memory of the request; nil if there are no arguments.
func (a CallArgs) Text() []byte {
	v := a.view()
	if v == nil {
		return nil
	}
	c := &a.r.Calls[a.call]
	if !a.r.Doc.Is(c.Arguments, jsonspan.String) {
		return a.r.Doc.Raw(c.Arguments)
	}
	if !a.r.Doc.Escaped(c.Arguments) {
		return a.r.Doc.Inner(c.Arguments)
	}
	if !v.decoded {
		v.decoded = true
		v.text = a.r.args.decode(a.r.Doc.Inner(c.Arguments))
	}
	return v.text
}

// only is the value of the one member called key, None if there is none or
// more than one.
func only(d *jsonspan.Doc, object jsonspan.Ref, key string) jsonspan.Ref {
	found := jsonspan.None
	for k := d.First(object); k != jsonspan.None; k = d.Next(k) {
		if !d.Equal(k, key) {
			continue
		}
		if found != jsonspan.None {
			return jsonspan.None
		}
		found = d.Value(k)
	}
	return found
}

// object is the argument object and the Doc it stands in, None if the
// arguments are no JSON object.
func (a CallArgs) object() (*jsonspan.Doc, jsonspan.Ref) {
	v := a.view()
	if v == nil {
		return &a.r.Doc, jsonspan.None
	}
	c := &a.r.Calls[a.call]
	if !a.r.Doc.Is(c.Arguments, jsonspan.String) {
		return &a.r.Doc, c.Arguments
	}
	if v.doc == 0 {
		v.doc = a.r.args.parse(a.Text())
	}
	d := a.r.args.docs[v.doc-1]
	if root := d.Root(); d.Is(root, jsonspan.Object) {
		return d, root
	}
	return d, jsonspan.None
}

func (a CallArgs) view() *argView {
	if a.call < 0 || a.call >= len(a.r.Calls) {
		return nil
	}
	t := &a.r.args
	if len(t.views) == 0 {
		t.views = grown(t.views, len(a.r.Calls))
	}
	return &t.views[a.call]
}

// argView is what is known about the arguments of one call.
type argView struct {
	named, decoded bool
	tool           string
	text           []byte // decoded arguments
	doc            int    // index into argTable.docs plus one, 0 before they are parsed
}

// argTable holds what the calls of a request were asked for. Its memory is
// kept from request to request.
type argTable struct {
	views []argView       // by call; empty until the first question
	docs  []*jsonspan.Doc // docs[:used] are in use
	used  int
	arena []byte // decoded texts
}

// decode returns the decoded form of an encoded string. Texts decoded before
// stay valid: when the arena is full a new one takes its place.
func (t *argTable) decode(raw []byte) []byte {
	if cap(t.arena)-len(t.arena) < len(raw) {
		t.arena = make([]byte, 0, max(4096, 2*cap(t.arena), len(raw)))
	}
	from := len(t.arena)
	t.arena = jsonspan.AppendUnquoted(t.arena, raw)
	return t.arena[from:len(t.arena):len(t.arena)]
}

// parse returns the index of a Doc of text, plus one.
func (t *argTable) parse(text []byte) int {
	if t.used == len(t.docs) {
		t.docs = append(t.docs, new(jsonspan.Doc))
	}
	t.used++
	// Arguments that are no JSON (cut off, or free text) leave the Doc empty:
	// then no key has a value.
	_ = t.docs[t.used-1].Parse(text)
	return t.used
}

func (t *argTable) clear() {
	clear(t.views)
	t.views = t.views[:0]
	t.used = 0
	t.arena = t.arena[:0]
}

// reset is clear without a reference to any body.
func (t *argTable) reset() {
	t.clear()
	const keep = 1 << 10 // documents and kilobytes
	if len(t.docs) > keep {
		t.docs = nil
	}
	if cap(t.arena) > keep<<10 {
		t.arena = nil
	}
	for _, d := range t.docs {
		d.Reset()
	}
}

// grown returns s with n zero elements.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2)
	}
	s = s[:n]
	clear(s)
	return s
}
