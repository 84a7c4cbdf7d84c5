package optimize

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/tokens"
)

// Result is what Run made of a request.
type Result struct {
	// Body is the new body, nil when nothing changed: then the original bytes
	// are to be sent.
	Body []byte
	// Passes reports the passes that changed something or have something to
	// say, in their order.
	Passes []Report
	// SavedBytes and SavedTokens are the sums over all passes. They are
	// negative when a directive took more than was saved.
	SavedBytes  int
	SavedTokens int
	// Skipped says why nothing was changed although passes would have. Everything
	// else is zero then, and the original bytes are to be sent.
	Skipped string
	// Panic is set when a pass was at fault: it panicked, or what it wants
	// would break the request. Everything else is zero then, and the original
	// bytes are to be sent.
	Panic *Panic
}

// SkippedUTF8 is the reason for leaving alone a body that is not valid UTF-8.
const SkippedUTF8 = "the body is not valid UTF-8"

// Report is what one pass did.
type Report struct {
	Name        string
	Level       string // the level that was applied
	Blocks      int    // blocks looked at
	Changed     int    // blocks or messages changed
	SavedBytes  int    // bytes of the body, exact
	SavedTokens int    // an estimate
	Notes       []string
	// Renew is the pass's, see Outcome.
	Renew func() bool `json:"-"`
}

// Panic is the fault of a pass.
type Panic struct {
	Pass  string
	Value any // what it panicked with, or an error that says what is wrong with its work
	Stack []byte
}

// Faults of a pass that did not panic.
var (
	errLarger  = errors.New("the pass made the body larger")
	errInvalid = errors.New("the pass made a text that is not a valid JSON string")
	errUTF8    = errors.New("the pass made invalid UTF-8 out of valid")
	errEmpty   = errors.New("the pass made an empty text")
	errNothing = errors.New("the pass dropped every message")
	errShape   = errors.New("the pass changed the length of New or Drop")
)

var drafts = sync.Pool{New: func() any { return new(Draft) }}

// Run applies the passes to req in their order and splices what they want into
// a copy of the body, appended to dst. When nothing changes it does not
// allocate.
//
// A request goes out optimised as a whole or as it came: when a pass panics,
// makes the body larger, or makes a text that is no valid JSON string, none of
// the changes is made. So it is when the body is not valid UTF-8.
func Run(req *adapter.Request, passes []Pass, dst []byte) (res Result) {
	with(req, func(d *Draft) {
		if res = d.run(passes); len(d.edits) == 0 || res.Skipped != "" || res.Panic != nil {
			return
		}
		if dst == nil {
			dst = make([]byte, 0, jsonspan.SplicedLen(req.Doc.Source(), d.edits))
		}
		res.Body = jsonspan.Splice(dst, req.Doc.Source(), d.edits)
	})
	return res
}

// Edits is Run without putting the new body together: it returns the edits that
// make it, in order, none if nothing changes. What they put in is copied into
// memory that dst returns, empty, for so many bytes.
func Edits(req *adapter.Request, passes []Pass, dst func(size int) []byte) (res Result, edits []jsonspan.Edit) {
	with(req, func(d *Draft) {
		if res = d.run(passes); len(d.edits) == 0 || res.Skipped != "" || res.Panic != nil {
			return
		}
		edits = copyEdits(d.edits, dst)
	})
	return res, edits
}

// copyEdits copies edits and what they put in, which may be used again by
// whoever made it.
func copyEdits(edits []jsonspan.Edit, dst func(size int) []byte) []jsonspan.Edit {
	size := 0
	for _, e := range edits {
		size += len(e.New)
	}
	text := dst(size)
	own := make([]jsonspan.Edit, len(edits))
	for i, e := range edits {
		at := len(text)
		text = append(text, e.New...)
		own[i] = jsonspan.Edit{Span: e.Span, New: text[at:len(text):len(text)]}
	}
	return own
}

// with calls do with a draft of req, unless there is nothing that a pass could
// act on.
func with(req *adapter.Request, do func(d *Draft)) {
	if len(req.Messages) == 0 && req.System == jsonspan.None && len(req.Blocks) == 0 {
		return
	}
	d := drafts.Get().(*Draft)
	d.open(req)
	do(d)
	d.close()
	drafts.Put(d)
}

// run runs the passes and leaves the edits in d.
func (d *Draft) run(passes []Pass) Result {
	var res Result
	size := len(d.Req.Doc.Source())
	for _, p := range passes {
		copy(d.prev, d.New)
		inserted := len(d.Insert)
		out, fault := d.apply(p)
		if fault != nil {
			return Result{Panic: fault}
		}
		if out.Changed == 0 && len(out.Notes) == 0 {
			continue
		}
		r := Report{Name: p.Name(), Level: out.Level, Blocks: out.Blocks, Changed: out.Changed, Notes: out.Notes, Renew: out.Renew}
		if l, ok := p.(Leveled); ok && r.Level == "" {
			r.Level = l.Level()
		}
		if out.Changed > 0 {
			now, fault := d.measure(p.Name())
			if fault == nil {
				fault = d.check(p.Name(), now-size, out.Added)
			}
			if fault != nil {
				return Result{Panic: fault}
			}
			r.SavedBytes, size = size-now, now
			r.SavedTokens = out.SavedTokens
			if r.SavedTokens == 0 {
				r.SavedTokens = d.savedTokens(inserted)
			}
			res.SavedBytes += r.SavedBytes
			res.SavedTokens += r.SavedTokens
		}
		res.Passes = append(res.Passes, r)
	}
	if len(d.edits) == 0 {
		return res
	}
	// Bytes that are no text may mean anything to who wrote them. Looking for
	// them costs nothing where nothing is changed, and next to nothing where
	// most is ASCII.
	if doc := &d.Req.Doc; !doc.ASCII() && !utf8.Valid(doc.Source()) {
		return Result{Skipped: SkippedUTF8}
	}
	return res
}

// open makes d the empty draft of req.
func (d *Draft) open(req *adapter.Request) {
	d.Req = req
	d.New = resize(d.New, len(req.Blocks))
	d.prev = resize(d.prev, len(req.Blocks))
	d.Drop = resize(d.Drop, len(req.Messages))
}

// resize returns a slice of n zero values, s itself if it is large enough. Of
// s everything is zero already.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// close lets go of everything that d refers to.
func (d *Draft) close() {
	d.Req = nil
	clear(d.New)
	clear(d.prev)
	clear(d.Drop)
	clear(d.Insert)
	clear(d.edits)
	d.New, d.prev, d.Drop = d.New[:0], d.prev[:0], d.Drop[:0]
	d.Insert, d.edits = d.Insert[:0], d.edits[:0]
	d.doc.Reset()
}

// apply runs one pass and turns a panic into a fault.
func (d *Draft) apply(p Pass) (out Outcome, fault *Panic) {
	defer func() {
		if v := recover(); v != nil {
			fault = &Panic{Pass: p.Name(), Value: v, Stack: debug.Stack()}
		}
	}()
	return p.Apply(d), nil
}

// measure collects the edits of all passes so far and returns the length of
// the body that they make. Edits that contradict each other are a fault of the
// pass.
func (d *Draft) measure(pass string) (size int, fault *Panic) {
	if len(d.New) != len(d.Req.Blocks) || len(d.Drop) != len(d.Req.Messages) {
		return 0, &Panic{Pass: pass, Value: errShape}
	}
	if len(d.Drop) > 0 && !slices.Contains(d.Drop, false) {
		return 0, &Panic{Pass: pass, Value: errNothing}
	}
	d.collect()
	src := d.Req.Doc.Source()
	at := 0
	for _, e := range d.edits {
		if e.Start < at || e.End < e.Start || e.End > len(src) {
			return 0, &Panic{Pass: pass, Value: fmt.Errorf("the edit of bytes %d to %d contradicts another one", e.Start, e.End)}
		}
		at = e.End
	}
	return jsonspan.SplicedLen(src, d.edits), nil
}

// collect makes d.edits the ordered list of all changes.
func (d *Draft) collect() {
	clear(d.edits)
	d.edits = append(d.edits[:0], d.Insert...)
	doc := &d.Req.Doc
	for i, s := range d.New {
		if s == nil {
			continue
		}
		b := &d.Req.Blocks[i]
		if b.Message < 0 || !d.Drop[b.Message] {
			d.edits = append(d.edits, jsonspan.Edit{Span: doc.Span(b.Node), New: s})
		}
	}
	d.edits = appendDrops(d.edits, d.Req, d.Drop)
	if !slices.IsSortedFunc(d.edits, func(a, b jsonspan.Edit) int { return a.Start - b.Start }) {
		jsonspan.SortEdits(d.edits)
	}
}

// appendDrops appends the edits that take the messages named by drop out of
// their array, each with one of the commas beside it.
func appendDrops(edits []jsonspan.Edit, req *adapter.Request, drop []bool) []jsonspan.Edit {
	for i := 0; i < len(drop); i++ {
		if !drop[i] {
			continue
		}
		first := i
		for i+1 < len(drop) && drop[i+1] {
			i++
		}
		start := req.Doc.Span(req.Messages[first].Node).Start
		end := req.Doc.Span(req.Messages[i].Node).End
		switch {
		case i+1 < len(drop): // up to the next message
			end = req.Doc.Span(req.Messages[i+1].Node).Start
		case first > 0: // from the message before
			start = req.Doc.Span(req.Messages[first-1].Node).End
		}
		edits = append(edits, jsonspan.Edit{Span: jsonspan.Span{Start: start, End: end}})
	}
	return edits
}

// check looks at what the pass that ran last made: grown is by how much the
// body grew, added by how much it may.
func (d *Draft) check(pass string, grown, added int) *Panic {
	if grown > max(added, 0) {
		return &Panic{Pass: pass, Value: errLarger}
	}
	for i, s := range d.New {
		if s == nil || sameSlice(s, d.prev[i]) {
			continue
		}
		if err := d.checkText(i, s); err != nil {
			return &Panic{Pass: pass, Value: fmt.Errorf("%w (block %d)", err, i)}
		}
	}
	return nil
}

func (d *Draft) checkText(i int, s []byte) error {
	if d.doc.Parse(s) != nil || !d.doc.Is(d.doc.Root(), jsonspan.String) || d.doc.Span(d.doc.Root()).Len() != len(s) {
		return errInvalid
	}
	old := d.Req.Doc.Raw(d.Req.Blocks[i].Node)
	if len(s) == len(`""`) && len(old) > len(s) {
		return errEmpty
	}
	if !utf8.Valid(s) && utf8.Valid(old) {
		return errUTF8
	}
	return nil
}

// sameSlice reports whether a and b are the same memory.
func sameSlice(a, b []byte) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// savedTokens estimates what the last pass saved: the texts it changed, less
// what it inserted.
func (d *Draft) savedTokens(inserted int) int {
	saved := 0
	for i, s := range d.New {
		if s == nil || sameSlice(s, d.prev[i]) {
			continue
		}
		was := d.prev[i]
		if was == nil {
			was = d.Req.Doc.Raw(d.Req.Blocks[i].Node)
		}
		saved += tokens.EstimateRaw(was[1:len(was)-1]) - tokens.EstimateRaw(s[1:len(s)-1])
	}
	for _, e := range d.Insert[inserted:] {
		saved -= tokens.EstimateRaw(e.New)
	}
	return saved
}
