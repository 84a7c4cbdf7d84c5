package llmgateway

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/caveman"
)

// buildPasses makes the passes that s asks for, in the order in which they run.
func (h *Handler) buildPasses(s settings) []optimize.Pass {
	var passes []optimize.Pass
	if set := s.by[optCaveman]; set.active() {
		if p, ok := caveman.New(set.level); ok {
			passes = append(passes, p)
		}
	}
	return passes
}
