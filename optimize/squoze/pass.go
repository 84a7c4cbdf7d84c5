package squoze

import (
	"slices"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// Pass is the engine as an optimize.Pass.
type Pass struct {
	engine *Engine
	tenant string
	report *Report
	detail bool
}

// Pass returns the engine as a pass over requests of a tenant: that is whose
// originals can be had back by nobody else.
func (e *Engine) Pass(tenant string) *Pass { return &Pass{engine: e, tenant: tenant} }

// Name is squoze.
func (*Pass) Name() string { return passName }

// Apply squeezes the tool results of d and the wrapped parts of what users
// wrote.
func (p *Pass) Apply(d *optimize.Draft) optimize.Outcome {
	w := workers.Get().(*worker)
	w.engine, w.tenant, w.report, w.detail, w.draft = p.engine, p.tenant, p.report, p.detail, d
	out := w.run()
	if len(w.kept) > 0 {
		out.Renew = p.renew(slices.Clone(w.kept))
		clear(w.kept)
		w.kept = w.kept[:0]
	}
	w.refs.reset()
	w.takeBack()
	w.engine, w.tenant, w.report, w.draft = nil, "", nil, nil
	if len(d.Req.Doc.Source()) <= maxPooled {
		workers.Put(w)
	}
	return out
}

// renew makes the originals recent ones again, if all of them are still there.
func (p *Pass) renew(refs []string) func() bool {
	store, tenant := p.engine.config.Originals, p.tenant
	return func() bool {
		for _, ref := range refs {
			if !store.Touch(tenant, ref) {
				return false
			}
		}
		return true
	}
}

// maxPooled is the largest request, in bytes, after which the memory that it
// took is kept for the next one.
const maxPooled = 8 << 20

// note writes down what became of block i, if anybody asked for that.
func (w *worker) note(i int, raw []byte, res *result, pointed []byte, skipped string) {
	if w.report == nil {
		return
	}
	now := raw
	if res != nil && res.text != nil {
		w.report.Saved[res.step] += len(raw) - len(res.text)
		now = res.text
	}
	if pointed != nil {
		w.report.Saved[StepReference] += len(now) - len(pointed)
		now = pointed
	}
	if !w.detail {
		return
	}
	b := &w.draft.Req.Blocks[i]
	t := Text{Block: i, Message: b.Message, Before: len(raw), After: len(now), Skipped: skipped}
	if b.Kind == adapter.ToolResult {
		t.Tool = w.draft.Req.Args(b.Call).Tool()
	}
	if res != nil {
		t.Class, t.Program, t.Ref = res.class, res.tool, res.ref
		if res.text != nil {
			t.Steps = append(t.Steps, res.step)
		}
		if res.class == output.Unknown && b.Kind == adapter.ToolResult {
			// Below the gate, or a file: nobody had to look yet.
			text := jsonspan.AppendUnquoted(nil, raw[1:len(raw)-1])
			t.Class, t.Program = output.Classify(w.engine.hints.of(w.draft.Req, b.Call), text)
		}
	}
	if pointed != nil {
		t.Steps = append(t.Steps, StepReference)
	}
	w.report.Texts = append(w.report.Texts, t)
}

// user returns what takes the place of block i, which a user wrote: the same
// with what stands in wrappers squeezed. It returns nil if nothing changes.
func (w *worker) user(i int, raw []byte) []byte {
	salt := saltOf(output.Hint{}, w.engine.config.Gates[w.family]) | userSalt
	res, ok := w.engine.memo.Get(salt, raw)
	if !ok {
		res = w.computeUser(raw)
		w.engine.memo.Put(salt, raw, res, res.size())
	} else if w.report != nil {
		w.report.MemoHits++
	}
	if res.text != nil {
		w.tokens += res.tokens
		w.keep(res, raw)
	}
	w.note(i, raw, res, nil, "")
	return res.text
}

func (w *worker) computeUser(raw []byte) *result {
	res := new(result)
	inner := raw[1 : len(raw)-1]
	w.text = jsonspan.AppendUnquoted(w.text[:0], inner)
	gate := w.engine.config.Gates[w.family]
	w.regions = appendRegions(w.regions[:0], w.text)
	w.raw = append(w.raw[:0], '"')
	at := 0
	for _, r := range w.regions {
		if r.to-r.from < gate {
			continue
		}
		t := w.task(output.Hint{Class: r.class}, gate)
		var m made
		if w.out, m = w.squeezer.squeeze(w.out[:0], w.text[r.from:r.to], &t); m.step == StepNone {
			continue
		}
		w.offsets = append(w.offsets[:0], r.from, r.to)
		rawOffsets(inner, w.offsets)
		from, to := w.offsets[0], w.offsets[1]
		before := len(w.raw) + from - at
		w.raw = append(w.raw, inner[at:from]...)
		w.raw = jsonspan.AppendEscaped(w.raw, w.out)
		if len(w.raw)-before >= to-from {
			w.raw = append(w.raw[:before], inner[from:to]...)
		} else {
			res.made = m
			res.original(m.ref, r.from, r.to)
		}
		at = to
	}
	if res.step != StepNone {
		res.text = append(append(append([]byte(nil), w.raw...), inner[at:]...), '"')
		res.tokens = savedTokens(raw, res.text)
	}
	return res
}
