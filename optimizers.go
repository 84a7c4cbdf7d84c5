package llmgateway

import "github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"

// buildPasses makes the passes that s asks for.
func (h *Handler) buildPasses(s settings) []optimize.Pass { return nil }
