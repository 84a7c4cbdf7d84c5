package llmgateway

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// operationNames are the GenAI semantic conventions' names of what is asked
// for.
//
// Source: OpenTelemetry semantic conventions 1.41, attribute
// gen_ai.operation.name.
var operationNames = map[adapter.Format]string{
	adapter.Chat:        "chat",
	adapter.Responses:   "chat",
	adapter.Messages:    "chat",
	adapter.Completions: "text_completion",
	adapter.Embeddings:  "embeddings",
}

// conventionalProviders are the conventions' names of providers that they call
// something else than the presets do.
//
// Source: as above, attribute gen_ai.provider.name.
var conventionalProviders = map[string]string{
	"azure-openai": "azure.ai.openai",
	"gemini":       "gcp.gemini",
	"mistral":      "mistral_ai",
	"xai":          "x_ai",
}

// trace describes the exchange on the span that Caddy's tracing has made, if it
// is recorded. Nothing of what was said is told.
func (x *exchange) trace() {
	span := trace.SpanFromContext(x.r.Context())
	if !span.IsRecording() {
		return
	}
	attrs := append(make([]attribute.KeyValue, 0, 10),
		attribute.String("gen_ai.operation.name", operationNames[x.format]),
		attribute.String("gen_ai.provider.name", x.tracedProvider()))
	if x.model != "" {
		attrs = append(attrs, attribute.String("gen_ai.request.model", logSafe(x.model)))
	}
	answer := x.meter.Answer()
	if answer.Model != "" {
		attrs = append(attrs, attribute.String("gen_ai.response.model", logSafe(answer.Model)))
	}
	var finishes []string
	for _, c := range answer.Choices {
		if c.Finish != "" {
			finishes = append(finishes, logSafe(c.Finish))
		}
	}
	if finishes != nil {
		attrs = append(attrs, attribute.StringSlice("gen_ai.response.finish_reasons", finishes))
	}
	// Estimates are none of the provider's figures.
	if x.usage.Known && !x.estimated {
		attrs = append(attrs,
			attribute.Int64("gen_ai.usage.input_tokens", x.usage.Input),
			attribute.Int64("gen_ai.usage.output_tokens", x.usage.Output))
		for _, extra := range []struct {
			name string
			n    int64
		}{
			{"gen_ai.usage.cache_read.input_tokens", x.usage.CacheRead},
			{"gen_ai.usage.cache_creation.input_tokens", x.usage.CacheWrite5m + x.usage.CacheWrite1h},
		} {
			if extra.n > 0 {
				attrs = append(attrs, attribute.Int64(extra.name, extra.n))
			}
		}
	}
	span.SetAttributes(attrs...)
}

// tracedProvider is the provider's name in the conventions. Where the next
// handler is the upstream, the wire format has to tell.
func (x *exchange) tracedProvider() string {
	name := x.providerName()
	for _, p := range x.h.Providers {
		if p.Name == name {
			if known, ok := conventionalProviders[p.preset.Name]; ok {
				return known
			}
			return p.preset.Name
		}
	}
	if x.format == adapter.Messages {
		return "anthropic"
	}
	return "openai"
}
