package llmgateway

import (
	"runtime"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
)

// passTable keeps the passes for each combination of settings that was asked
// for. Clients choose parameters freely, so it is bounded.
type passTable struct {
	mu sync.RWMutex
	m  map[settings][]optimize.Pass
}

// maxPassTable bounds the combinations that are kept.
const maxPassTable = 512

// passesFor returns the passes that s asks for, in the order in which they
// run.
func (h *Handler) passesFor(s settings) []optimize.Pass {
	t := h.passes
	t.mu.RLock()
	passes, ok := t.m[s]
	t.mu.RUnlock()
	if ok {
		return passes
	}
	passes = h.buildPasses(s)
	t.mu.Lock()
	if len(t.m) < maxPassTable {
		if t.m == nil {
			t.m = make(map[settings][]optimize.Pass)
		}
		t.m[s] = passes
	}
	t.mu.Unlock()
	return passes
}

// optimize runs the optimizers of x and returns the payload that is to be
// sent: a new one, or the client's own.
func (h *Handler) optimize(x *exchange) *payload {
	apply, audit := x.plan.split()
	if audit.any() {
		defer x.audit(audit)
	}
	passes := h.passesFor(apply)
	if len(passes) == 0 {
		return x.body
	}
	if h.guards() {
		if x.parse(); x.parseErr == nil && x.guarded(&apply) {
			return x.body
		}
	}
	tenant := tenantOf(passes, x)
	key := repeats.Key(passes, x.format, tenant, x.body.bytes())
	result, edits, known, again := repeats.Find(key, x.body.bytes())
	var text []byte
	if known {
		x.result = result
	} else {
		x.parse()
		if x.parseErr != nil {
			x.skipped, x.failedOpen = x.parseErr.Error(), "shape"
			return x.body
		}
		edits, text = x.runPasses(key, again, forTenant(passes, tenant))
	}
	if p := x.result.Panic; p != nil {
		gatewayMetrics.inc("optimizer_panics_total", p.Pass)
		if h.panics.allow(time.Now()) {
			h.logger.Error("an optimizer panicked; the original request was sent",
				zap.String("optimizer", p.Pass), zap.Any("panic", p.Value), zap.ByteString("stack", p.Stack))
		}
		x.skipped, x.failedOpen = "internal error in "+p.Pass, "panic"
		return x.body
	}
	if why := x.result.Skipped; why != "" {
		x.skipped, x.failedOpen = why, "utf8"
		return x.body
	}
	x.describe()
	if len(edits) == 0 {
		return x.body
	}
	return editedPayload(x.body, edits, text)
}

// runPasses makes x.result and returns the edits that make the new body, and
// the buffer, if any, in which what they put in stands. again says that the
// body came before, so that what is made of it is worth to be remembered.
func (x *exchange) runPasses(key optimize.RepeatKey, again bool, passes []optimize.Pass) (edits []jsonspan.Edit, text []byte) {
	if x.body.len() > 32<<10 {
		turns <- struct{}{}
		defer func() { <-turns }()
	}
	if again {
		x.result, edits = repeats.EditsAgain(key, x.view, passes)
		return edits, nil
	}
	x.result, edits = optimize.Edits(x.view, passes, func(size int) []byte {
		text = newBuffer(size)
		return text
	})
	return edits, text
}

var turns = make(chan struct{}, runtime.GOMAXPROCS(0))

// audit reports what the optimizers in s would do, and changes nothing.
func (x *exchange) audit(s settings) {
	x.parse()
	if x.parseErr != nil {
		return
	}
	res := optimize.Run(x.view, x.h.passesFor(s), nil)
	if res.Panic != nil {
		gatewayMetrics.inc("optimizer_panics_total", res.Panic.Pass)
		return
	}
	x.audited = res
	var would []string
	for _, p := range res.Passes {
		if p.Changed > 0 {
			would = append(would, p.Name+"="+p.Level+";saved="+itoa(p.SavedBytes))
		}
	}
	x.auditHeader = strings.Join(would, ", ")
}

// describe writes down what was done, for the response header and the log.
func (x *exchange) describe() {
	var applied, notes []string
	for _, p := range x.result.Passes {
		if p.Changed > 0 {
			applied = append(applied, p.Name+"="+p.Level+";saved="+itoa(p.SavedBytes))
		}
		notes = append(notes, p.Notes...)
	}
	x.applied = strings.Join(applied, ", ")
	x.skipped = strings.Join(notes, "; ")
}

// requestViews pools the views of request bodies.
var requestViews = sync.Pool{New: func() any { return new(adapter.Request) }}

// giveBack returns a view to the pool without the body it refers to.
func giveBack(view *adapter.Request) {
	view.Reset()
	requestViews.Put(view)
}
