package llmgateway

import (
	"slices"

	"go.uber.org/zap"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/caveman"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/headroom"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/reasoning"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/rtk"
)

// memoSize bounds what is remembered of the blocks that passes have seen, in
// bytes. There is one memo per process, so that it survives a reload.
const memoSize = 64 << 20

var rtkMemo = rtk.NewMemo(memoSize)

// repeatsSize bounds what is remembered of bodies that came more than once, in
// bytes.
const repeatsSize = 16 << 20

var repeats = optimize.NewRepeats(repeatsSize)

// buildPasses makes the passes that s asks for, in the order in which they
// run. The levels were checked when s was made; one that a pass does not know
// after all is left out and logged.
func (h *Handler) buildPasses(s settings) []optimize.Pass {
	var passes []optimize.Pass
	add := func(i int, p optimize.Pass, ok bool) {
		if !ok {
			h.logger.Error("optimizer not available", zap.String("optimizer", optimizers[i].name), zap.String("level", s.by[i].level))
			return
		}
		passes = append(passes, p)
	}
	for i, set := range s.by {
		if !set.active() {
			continue
		}
		switch i {
		case optSquoze:
			e, err := h.engines.engine(set.squoze)
			if err == nil {
				passes = append(passes, &squozeSlot{e})
			}
		case optRTK:
			p, err := rtk.New(set.level, rtkMemo)
			add(i, p, err == nil)
		case optReasoning:
			p, ok := reasoning.New(set.level)
			add(i, p, ok)
		case optHeadroom:
			p, ok := headroom.New(set.level, set.keep, set.reserve)
			add(i, p, ok)
		case optCaveman:
			p, ok := caveman.New(set.level)
			add(i, p, ok)
		}
	}
	return passes
}

// squozeSlot stands for the engine in a list of passes that is kept; the
// request's own pass, which knows its tenant, takes its place.
type squozeSlot struct{ *squozeEngine }

// Name implements optimize.Pass.
func (*squozeSlot) Name() string { return optimizers[optSquoze].name }

// Apply implements optimize.Pass.
func (s *squozeSlot) Apply(d *optimize.Draft) optimize.Outcome { return s.engine.Pass("").Apply(d) }

// squozePass is the engine for one tenant.
type squozePass struct{ optimize.Pass }

// Level implements optimize.Leveled.
func (squozePass) Level() string { return optimizers[optSquoze].levels[0] }

// forTenant puts the request's own passes in the place of slots.
func forTenant(passes []optimize.Pass, tenant string) []optimize.Pass {
	for i, p := range passes {
		if slot, ok := p.(*squozeSlot); ok {
			own := slices.Clone(passes)
			own[i] = squozePass{slot.engine.Pass(tenant)}
			return own
		}
	}
	return passes
}

// tenantOf is for whom passes do something beside making a body, "" if they
// do no such thing.
func tenantOf(passes []optimize.Pass, x *exchange) string {
	for _, p := range passes {
		if _, ok := p.(*squozeSlot); ok {
			return x.originalsTenant()
		}
	}
	return ""
}
