package squoze

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/memo"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// Engine squeezes requests. It is safe for concurrent use. What it remembers
// makes it fast and has no influence on what comes out.
type Engine struct {
	config Config
	memo   *memo.Memo[*result]
	hints  hints
}

// New returns an engine.
func New(config Config) *Engine {
	for f := range Families {
		if config.Gates[f] == 0 {
			config.Gates[f] = f.DefaultGate()
		}
	}
	if config.MemoBytes == 0 {
		config.MemoBytes = defaultMemo
	}
	return &Engine{config: config, memo: memo.New[*result](config.MemoBytes), hints: newHints()}
}

// result is what became of one text by itself. It does not change any more.
type result struct {
	made
	text  []byte // the JSON string that takes its place, quotes included; nil: it stays
	lines encodedLines
	sum   uint64

	// end and hash hold the lines of a text of one line.
	end  [1]uint32
	hash [1]uint64

	tokens int // that it saves, an estimate

	// originals are the pieces of the decoded text that are to be kept.
	originals []piece
}

// piece is a piece of a text that lines were elided from.
type piece struct {
	ref      string
	from, to int
}

// workers pools the memory that requests are worked on with. It belongs to no
// engine.
var workers = sync.Pool{New: func() any { return &worker{squeezer: newSqueezer()} }}

// worker holds the memory for one request at a time.
type worker struct {
	squeezer *squeezer
	refs     references
	text     []byte
	out      []byte
	raw      []byte
	lines    encodedLines
	regions  []region
	offsets  []int

	// Results that nobody remembers: those in use, and those to be used again.
	lent, free []*result

	engine *Engine
	tenant string
	draft  *optimize.Draft
	family Family
	mode   References
	report *Report
	detail bool
	tokens int      // saved so far, an estimate
	kept   []string // references of the originals in the store
}

// Apply squeezes a request of the given format. It returns the new body, or
// body itself when nothing changed or nothing could be done; the report says
// why. Originals are kept for the tenant "".
func (e *Engine) Apply(format adapter.Format, body []byte) ([]byte, Report) {
	return e.apply(format, body, "", false)
}

// ApplyFor is Apply with originals kept for a tenant.
func (e *Engine) ApplyFor(tenant string, format adapter.Format, body []byte) ([]byte, Report) {
	return e.apply(format, body, tenant, false)
}

// Explain is Apply with a report on every single text.
func (e *Engine) Explain(format adapter.Format, body []byte) ([]byte, Report) {
	return e.apply(format, body, "", true)
}

// requests pools the views of request bodies.
var requests = sync.Pool{New: func() any { return new(view) }}

// view is a request and the list of passes over it.
type view struct {
	req    adapter.Request
	pass   Pass
	passes [1]optimize.Pass
	report Report
}

func (e *Engine) apply(format adapter.Format, body []byte, tenant string, detail bool) ([]byte, Report) {
	v := requests.Get().(*view)
	out := v.apply(e, format, body, tenant, detail)
	report := v.report
	v.req.Reset()
	v.pass, v.report = Pass{}, Report{}
	requests.Put(v)
	return out, report
}

func (v *view) apply(e *Engine, format adapter.Format, body []byte, tenant string, detail bool) []byte {
	v.report = Report{Format: format, Original: len(body), Sent: len(body)}
	if over := e.overBody(len(body)); over != "" {
		v.report.Skipped = []string{over}
		return body
	}
	if err := v.req.Parse(format, body); err != nil {
		v.report.Skipped = []string{err.Error()}
		return body
	}
	v.pass = Pass{engine: e, tenant: tenant, report: &v.report, detail: detail}
	v.passes[0] = &v.pass
	res := optimize.Run(&v.req, v.passes[:], nil)
	switch {
	case res.Panic != nil:
		v.report = Report{Format: format, Family: v.report.Family, Original: len(body), Sent: len(body),
			Skipped: []string{fmt.Sprintf("internal error: %v", res.Panic.Value)}}
		return body
	case res.Body == nil:
		return body
	}
	v.report.Sent, v.report.SavedTokens = len(res.Body), res.SavedTokens
	return res.Body
}

func (e *Engine) overBody(size int) string {
	if e.config.MaxBody > 0 && int64(size) > e.config.MaxBody {
		return "body over max_body"
	}
	return ""
}

// run squeezes the blocks of a draft.
func (w *worker) run() optimize.Outcome {
	req := w.draft.Req
	if over := w.engine.overBody(len(req.Doc.Source())); over != "" {
		return optimize.Outcome{Notes: []string{over}}
	}
	w.family = familyOf(req.Doc.Inner(req.Model))
	if w.report != nil {
		w.report.Family = w.family
	}
	w.refs.reset()
	w.tokens = 0
	var out optimize.Outcome
	if w.mode = w.engine.config.References; w.mode != ReferenceOff {
		if why := prunes(req); why != "" {
			w.mode = ReferenceOff
			out.Notes = append(out.Notes, why)
		}
	}
	tooLarge, order := 0, -1
	for i := range req.Blocks {
		b := &req.Blocks[i]
		for order+1 < len(req.Results) && i >= req.Results[order+1].First {
			order++
		}
		if b.Frozen || b.Message >= 0 && w.draft.Drop[b.Message] || b.Kind != adapter.ToolResult && b.Kind != adapter.UserText {
			continue
		}
		raw := w.draft.Raw(i)
		least := w.engine.config.Gates[w.family]
		if b.Kind == adapter.ToolResult && w.mode != ReferenceOff {
			least = min(least, runBytes)
		}
		if len(raw)-len(`""`) < least {
			continue // no text is shorter encoded than decoded
		}
		if limit := w.engine.config.MaxBlock; limit > 0 && int64(len(raw)) > limit {
			tooLarge++
			w.note(i, raw, nil, nil, "block over max_block")
			continue
		}
		var now []byte
		if b.Kind == adapter.UserText {
			now = w.user(i, raw)
		} else {
			now = w.toolResult(i, raw, order)
		}
		out.Blocks++
		if now != nil {
			w.draft.New[i] = now
			out.Changed++
			out.Saved += len(raw) - len(now)
		}
	}
	out.SavedTokens = w.tokens
	switch {
	case tooLarge == 1:
		out.Notes = append(out.Notes, "1 block over max_block")
	case tooLarge > 1:
		out.Notes = append(out.Notes, fmt.Sprintf("%d blocks over max_block", tooLarge))
	}
	if w.report != nil {
		w.report.Seen, w.report.Squeezed = out.Blocks, out.Changed
		w.report.Skipped = out.Notes
	}
	return out
}

// prunes says why the provider may take earlier results out of the request
// before the model sees it, so that a pointer could lead nowhere; "" if it may
// not.
func prunes(req *adapter.Request) string {
	d := &req.Doc
	if v := d.Get(req.Root, "context_management"); d.Kind(v) != jsonspan.Null {
		return "no pointers: the request has context_management"
	}
	if req.Format == adapter.Responses && d.Equal(d.Get(req.Root, "truncation"), "auto") {
		return "no pointers: the request allows truncation"
	}
	return ""
}

// toolResult returns what takes the place of block i, nil if it stays.
func (w *worker) toolResult(i int, raw []byte, order int) []byte {
	req := w.draft.Req
	b := &req.Blocks[i]
	var res *result
	if b.IsError {
		// Never changed, but what it says may be pointed to.
		res = w.recall(output.Hint{File: true}, raw, i)
	} else {
		res = w.recall(w.engine.hints.of(req, b.Call), raw, i)
	}
	text := raw
	if res.text != nil {
		text = res.text
		w.tokens += res.tokens
		w.keep(res, raw)
	}
	if w.mode == ReferenceOff || len(text)-len(`""`) < runBytes || res.lines.len() == 0 {
		w.note(i, raw, res, nil, "")
		return res.text
	}
	known := block{text: text[1 : len(text)-1], lines: &res.lines, sum: res.sum, call: b.Call, order: order, parts: 1}
	if order >= 0 && order < len(req.Results) {
		known.part, known.parts = i-req.Results[order].First, req.Results[order].End-req.Results[order].First
	}
	if b.IsError {
		w.refs.add(known, w.mode)
		return nil
	}
	if now := w.refer(&known, text); now != nil {
		w.note(i, raw, res, now, "")
		return now
	}
	w.refs.add(known, w.mode)
	w.note(i, raw, res, nil, "")
	return res.text
}

// refer returns the text with pointers in the place of what already stands in
// the request, and makes what is left of it known. It returns nil, and nothing
// becomes known, if there are to be no pointers.
func (w *worker) refer(b *block, text []byte) []byte {
	req, refs := w.draft.Req, &w.refs
	if n := refs.whole(b); n >= 0 {
		saved := worthwhile(b.text)
		if saved == 0 {
			return nil
		}
		w.tokens += saved
		p := appendPointer([]byte{'"'}, req, &refs.blocks[n], 0, b.lines.len())
		return append(p, '"')
	}
	if w.mode != ReferenceRuns {
		return nil
	}
	runs := refs.lookup(b)
	if len(runs) == 0 {
		return nil
	}
	out := append(w.raw[:0], '"')
	at, saved := 0, 0
	for _, x := range runs {
		saved += x.tokens
		out = append(out, b.text[at:b.lines.start(x.from)]...)
		out = appendPointer(out, req, &refs.blocks[x.source], x.at, x.to-x.from)
		at = int(b.lines.ends[x.to-1])
	}
	out = append(append(out, b.text[at:]...), '"')
	w.raw = out
	if (len(text)-len(out))*100 < len(text)*savingsFloor {
		return nil
	}
	// What is left must not be squeezed further when the request comes again.
	again := w.recall(w.hintOf(b), out, -1)
	if again.text != nil {
		return nil
	}
	w.tokens += saved
	out = bytes.Clone(out)
	left := *b
	left.text, left.lines, left.sum = out[1:len(out)-1], &again.lines, again.sum
	refs.add(left, w.mode)
	return out
}

func (w *worker) hintOf(b *block) output.Hint { return w.engine.hints.of(w.draft.Req, b.call) }

// recall is what becomes of raw, the text of block i (below 0: of none), by
// itself.
func (w *worker) recall(hint output.Hint, raw []byte, i int) *result {
	gate := w.engine.config.Gates[w.family]
	salt := saltOf(hint, gate)
	if res := w.rows(hint, gate, raw[1:len(raw)-1], i); res != nil {
		return res
	}
	if res, ok := w.engine.memo.Get(salt, raw); ok {
		if w.report != nil {
			w.report.MemoHits++
		}
		return res
	}
	res := w.compute(hint, gate, raw)
	if !res.quick {
		w.engine.memo.Put(salt, raw, res, res.size())
	}
	return res
}

// rows is the result for an encoded text that is one line of JSON which stays
// as it is, as a glance at it shows; nil if that is not certain. It takes less
// time than to look the text up.
func (w *worker) rows(hint output.Hint, gate int, inner []byte, i int) *result {
	if hint.File || len(inner) < max(gate, promiseBytes) {
		return nil
	}
	if i >= 0 && !w.draft.CompactText(i) || i < 0 && !jsonspan.CompactText(inner) {
		return nil
	}
	if promisesEncoded(inner) {
		return nil
	}
	// At most every other byte is a backslash.
	if len(inner) < 2*gate && len(inner) < gate+bytes.Count(inner, backslash) {
		return nil
	}
	res := w.borrow()
	res.made = made{class: output.JSON, tool: hint.Tool, quick: true}
	if w.engine.config.References != ReferenceOff {
		w.split(res, inner, 0)
	}
	return res
}

var backslash = []byte{'\\'}

// borrow returns a result for the time of the request.
func (w *worker) borrow() *result {
	if n := len(w.free); n > 0 {
		w.lent = append(w.lent, w.free[n-1])
		w.free = w.free[:n-1]
	} else {
		w.lent = append(w.lent, new(result))
	}
	return w.lent[len(w.lent)-1]
}

// takeBack ends the time of the results that were borrowed.
func (w *worker) takeBack() {
	for _, res := range w.lent {
		*res = result{}
	}
	w.free = append(w.free, w.lent...)
	clear(w.lent)
	w.lent = w.lent[:0]
}

// saltOf tells apart what the memo must not mix up.
func saltOf(hint output.Hint, gate int) uint64 {
	salt := uint64(hint.Class)<<16 | uint64(hint.Tool)<<8 | uint64(gate)<<24
	if hint.File {
		salt |= 1
	}
	return salt
}

// userSalt tells what users wrote from what tools returned.
const userSalt = 2

func (w *worker) compute(hint output.Hint, gate int, raw []byte) *result {
	res := w.borrow()
	inner := raw[1 : len(raw)-1]
	breaks := -1 // line ends of the text that inner stands for, -1 if not known
	if len(inner) >= gate && !hint.File {
		text := inner
		if bytes.IndexByte(inner, '\\') >= 0 {
			w.text = jsonspan.AppendUnquoted(w.text[:0], inner)
			text = w.text
		}
		t := w.task(hint, gate)
		var m made
		w.out, m = w.squeezer.squeeze(w.out[:0], text, &t)
		res.made = m
		if m.step != StepNone {
			w.raw = jsonspan.AppendQuoted(w.raw[:0], w.out)
			if len(w.raw) < len(raw) {
				res.text = bytes.Clone(w.raw)
				res.original(m.ref, 0, len(text))
				res.tokens = savedTokens(raw, res.text)
				inner, text = res.text[1:len(res.text)-1], w.out
			} else {
				res.made = made{class: m.class, tool: m.tool}
			}
		}
		if breaks = 0; !m.quick {
			breaks = bytes.Count(text, lineFeed)
		}
	}
	if !res.quick {
		kept := *res // for good
		res = &kept
	}
	if w.engine.config.References != ReferenceOff && len(inner) >= runBytes {
		w.split(res, inner, breaks)
	}
	return res
}

// split finds the lines of inner, what goes out, for result res. breaks is how
// many line ends the text that inner stands for has, -1 if nobody knows. Text
// with line ends that are written in an unusual way gets no lines.
func (w *worker) split(res *result, inner []byte, breaks int) {
	if breaks < 0 && oddLineEnds(inner) {
		return
	}
	res.sum = sumOf(inner)
	if breaks == 0 {
		res.lines = encodedLines{ends: append(res.end[:0], uint32(len(inner))), hashes: append(res.hash[:0], hashOf(inner, res.sum))}
		return
	}
	w.lines.split(inner)
	if breaks < 0 || w.lines.len() == breaks+1 {
		res.lines = w.lines.clone()
	}
}

var lineFeed = []byte{'\n'}

func (w *worker) task(hint output.Hint, gate int) task {
	return task{hint: hint, gate: gate, kept: w.engine.config.Originals.Keeps, strict: w.engine.config.RequireOriginals}
}

func (r *result) size() int { return len(r.text) + r.lines.size() + 160 }

// original notes a piece that is to be kept.
func (r *result) original(ref string, from, to int) {
	if ref != "" {
		r.originals = append(r.originals, piece{ref, from, to})
	}
}

// keep keeps the originals of what was elided from raw.
func (w *worker) keep(res *result, raw []byte) {
	store, decoded := w.engine.config.Originals, false
	for _, p := range res.originals {
		if store.Touch(w.tenant, p.ref) {
			w.kept = append(w.kept, p.ref)
			continue
		}
		if !decoded {
			w.text = jsonspan.AppendUnquoted(w.text[:0], raw[1:len(raw)-1])
			decoded = true
		}
		if store.Keep(w.tenant, p.ref, w.text[p.from:p.to]) {
			w.kept = append(w.kept, p.ref)
		}
	}
}
