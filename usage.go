package llmgateway

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// Price is what the tokens of a model cost, in USD per million.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// CachedInput is for input that the provider read from its prompt cache.
	// Default: the price of input.
	CachedInput *float64 `json:"cached_input,omitempty"`
}

// Anthropic bills input that is written into its prompt cache at a multiple of
// the price of input.
const (
	write5mFactor = 1.25
	write1hFactor = 2
)

// cost is what u costs at p, in USD.
func (p *Price) cost(u adapter.Usage) float64 {
	if p == nil {
		return 0
	}
	cached := p.Input
	if p.CachedInput != nil {
		cached = *p.CachedInput
	}
	plain := max(u.Input-u.CacheRead-u.CacheWrite5m-u.CacheWrite1h, 0)
	return (float64(plain)*p.Input +
		float64(u.CacheRead)*cached +
		float64(u.CacheWrite5m)*p.Input*write5mFactor +
		float64(u.CacheWrite1h)*p.Input*write1hFactor +
		float64(u.Output)*p.Output) / 1e6
}

// account finds out what the request used, when it is over. What a client
// that went away has not seen counts as far as it was produced.
func (x *exchange) account() {
	if !x.tee.wroteHeader || x.tee.status >= 400 {
		return
	}
	if x.fromCache() {
		x.accountCached()
		return
	}
	answer := x.meter.Answer()
	x.usage = answer.Usage
	if !x.usage.Known && x.tee.status == 200 && x.format != adapter.Unknown {
		x.estimated = true
		x.usage = estimatedUsage(x.sentBytes, answer.Written)
	} else if x.tee.status == 200 && !x.returned && !x.over && x.usage.Output < int64(answer.Written/bytesPerToken) {
		// The stream broke off before the final count.
		x.estimated = true
		x.usage.Output = int64(answer.Written / bytesPerToken)
	}
	price := x.price()
	x.cost = price.cost(x.usage)
	x.savedByTokens = price.ofSaved(x.result.SavedTokens, x.usage)
}

// accountCached finds out what an answer from the cache would have cost: the
// usage that it states was another request's.
func (x *exchange) accountCached() {
	price := x.price()
	if price == nil {
		return
	}
	answer := x.meter.Answer()
	usage := answer.Usage
	if !usage.Known {
		usage = estimatedUsage(int(x.bytesRead), answer.Written)
	}
	x.savedByCache = price.cost(usage)
}

// estimatedUsage is the usage of a request that nobody counted.
func estimatedUsage(sentBytes, answered int) adapter.Usage {
	return adapter.Usage{Input: int64(sentBytes / bytesPerToken), Output: int64(answered / bytesPerToken)}
}

// ofSaved is what n tokens that were not sent would have cost, in USD. They
// would have been read from the provider's prompt cache, or written into it, in
// the same shares as the tokens of u that were sent.
func (p *Price) ofSaved(n int, u adapter.Usage) float64 {
	if p == nil || n <= 0 {
		return 0
	}
	if u.Input <= 0 {
		return float64(n) * p.Input / 1e6
	}
	sent := u
	sent.Output = 0
	return p.cost(sent) * float64(n) / float64(u.Input)
}

// price is what the model's tokens cost, nil if that is not known.
func (x *exchange) price() *Price {
	if x.entry == nil {
		return nil
	}
	return x.entry.Price
}

// fromCache reports whether the answer came from the cache.
func (x *exchange) fromCache() bool { return x.cached != nil && x.cached.Answered() }
