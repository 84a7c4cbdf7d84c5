package llmgateway

import (
	"go.uber.org/zap"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/caveman"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/headroom"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/rtk"
)

// memoSize bounds what is remembered of the blocks that passes have seen, in
// bytes. There is one memo per process, so that it survives a reload.
const memoSize = 64 << 20

var rtkMemo = rtk.NewMemo(memoSize)

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
		case optRTK:
			p, err := rtk.New(set.level, rtkMemo)
			add(i, p, err == nil)
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
