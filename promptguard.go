package llmgateway

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/guard"
)

// promptGuard watches what optimizers do to the providers' prompt caches.
// There is one per process, so that it survives a reload.
var promptGuard = guard.New(time.Now)

// assumedCachedPrice is the price of input that was read from a prompt cache,
// in prices of plain input, where none is configured.
const assumedCachedPrice = 0.1

// guards reports whether the prompt-cache guard is on.
func (h *Handler) guards() bool { return h.GuardPromptCache != nil && *h.GuardPromptCache }

// guarded reports whether the prompt-cache guard wants the request to go as it
// came, although apply asks for optimizers. The request has been parsed.
func (x *exchange) guarded(apply *settings) bool {
	session := x.session()
	if session == "" {
		return false
	}
	x.ticket = promptGuard.Decide(guard.Subject{Site: x.h.place.of(x.h, x.r), Model: x.guardedModel(), Mode: apply.mode()}, x.guardedName(session))
	if t := x.ticket.Treatment(); t != guard.Optimized {
		x.skipped = "prompt-cache guard: " + t.String()
		return true
	}
	return false
}

// guardedName names a conversation for the guard: two keys may use one name.
func (x *exchange) guardedName(session string) string {
	if x.key == nil {
		return "\x00" + session
	}
	return x.key.Name + "\x00" + session
}

// longestModel bounds the names that clients make the guard remember, in
// bytes.
const longestModel = 128

// guardedModel is the model as the client named it: every model has a prompt
// cache of its own, also where one pattern matches several.
func (x *exchange) guardedModel() string {
	if x.model == "" || len(x.model) > longestModel {
		return x.label
	}
	return logSafe(x.model)
}

// mode names the optimizers that s switches on, and their levels.
func (s *settings) mode() string {
	var b strings.Builder
	for i := range s.by {
		if !s.by[i].active() {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(optimizers[i].name + "=" + s.by[i].level)
	}
	return b.String()
}

// tellGuard tells the guard what the provider reported, and the log what the
// guard made of it.
func (x *exchange) tellGuard() {
	if !x.usage.Known || x.estimated || x.tee.status != http.StatusOK || x.fromCache() {
		return
	}
	var price *Price
	if x.entry != nil {
		price = x.entry.Price
	}
	f, switched := promptGuard.Observe(x.ticket, guard.Sample{
		Input: x.usage.Input, CacheRead: x.usage.CacheRead, Saved: int64(x.result.SavedTokens), Cost: price.relativeInput(x.usage),
	})
	if !switched {
		return
	}
	fields := []zap.Field{
		zap.String("model", f.Model), zap.String("optimizers", f.Mode),
		zap.Float64("control_cache_read_share", f.Control.CacheReadShare), zap.Float64("optimized_cache_read_share", f.Optimized.CacheReadShare),
		zap.Int("control_conversations", f.Control.Conversations), zap.Int("optimized_conversations", f.Optimized.Conversations),
	}
	if f.Change != nil {
		fields = append(fields, zap.Float64("price_change", *f.Change))
	}
	if f.State == guard.Off {
		x.h.logger.Warn("optimizers cost more in lost prompt-cache reads than they save and are switched off for this model",
			append(fields, zap.Time("until", f.Until))...)
		return
	}
	x.h.logger.Info("optimizers no longer cost more than they save and are switched on again for this model", fields...)
}

// relativeInput is what the input of u costs in prices of one plain token. A
// missing price of cached input is assumed: here it would mean that the prompt
// cache is worth nothing.
func (p *Price) relativeInput(u adapter.Usage) float64 {
	cached := assumedCachedPrice
	if p != nil && p.Input > 0 && p.CachedInput != nil {
		cached = *p.CachedInput / p.Input
	}
	u.Output = 0
	return (&Price{Input: 1, CachedInput: &cached}).cost(u) * 1e6
}

// guardCollector reads one figure of the guard's findings when it is asked.
type guardCollector struct {
	*prometheus.GaugeVec
	figure string
}

// Collect implements prometheus.Collector.
func (c guardCollector) Collect(ch chan<- prometheus.Metric) {
	type subject struct{ model, mode string }
	type tokens struct{ input, read float64 }
	type sums struct {
		off                int
		control, optimized tokens
	}
	add := func(t *tokens, r guard.ArmReport) {
		t.input += float64(r.InputTokens)
		t.read += float64(r.CacheReadTokens)
	}
	by := make(map[subject]*sums)
	all := instances.list()
	for _, f := range promptGuard.Findings() {
		// The guard knows models by the names that clients use.
		key := subject{configuredModel(all, f.Model), f.Mode}
		s := by[key]
		if s == nil {
			s = new(sums)
			by[key] = s
		}
		if f.State != guard.On {
			s.off++
		}
		add(&s.control, f.Control)
		add(&s.optimized, f.Optimized)
	}
	c.Reset()
	for key, s := range by {
		if c.figure == "guard_off" {
			c.WithLabelValues(key.model, key.mode).Set(float64(s.off))
			continue
		}
		for arm, t := range map[string]tokens{"control": s.control, "optimized": s.optimized} {
			if t.input > 0 {
				c.WithLabelValues(key.model, key.mode, arm).Set(t.read / t.input)
			}
		}
	}
	c.GaugeVec.Collect(ch)
}

// configuredModel is the configured name or pattern for a model.
func configuredModel(all []*Handler, model string) string {
	for _, h := range all {
		if m, label := h.models.find(model); m != nil {
			return label
		}
	}
	return otherModel
}

// guardView is what the guard found about one model and mode.
type guardView struct {
	Model string `json:"model"`
	Mode  string `json:"optimizers"`
	// State is on, off or trial.
	State guard.State `json:"state"`
	Since time.Time   `json:"since"`
	// Until is when a mode that is off is tried again.
	Until *time.Time `json:"until,omitempty"`
	// SwitchedOff is how often it was switched off.
	SwitchedOff int `json:"switched_off"`
	// Judged says that there are enough conversations to judge.
	Judged bool `json:"judged"`
	// PriceChange is by how much optimization changes the price of input, lost
	// cache reads and saved tokens together: -0.3 is 30 % cheaper.
	PriceChange            *float64 `json:"price_change_rate,omitempty"`
	ControlConversations   int      `json:"control_conversations"`
	OptimizedConversations int      `json:"optimized_conversations"`
	ControlShare           float64  `json:"control_cache_read_share"`
	OptimizedShare         float64  `json:"optimized_cache_read_share"`
	ControlInput           int64    `json:"control_input_tokens"`
	OptimizedInput         int64    `json:"optimized_input_tokens"`
	SavedTokens            int64    `json:"saved_tokens"`
	// Site tells the places of gateways apart.
	Site string `json:"site"`
}

func guardViews() []guardView {
	out := []guardView{}
	for _, f := range promptGuard.Findings() {
		v := guardView{
			Model: f.Model, Mode: f.Mode, State: f.State, Since: f.Since, SwitchedOff: f.SwitchedOff, Judged: f.Judged, PriceChange: f.Change,
			ControlConversations: f.Control.Conversations, OptimizedConversations: f.Optimized.Conversations,
			ControlShare: f.Control.CacheReadShare, OptimizedShare: f.Optimized.CacheReadShare,
			ControlInput: f.Control.InputTokens, OptimizedInput: f.Optimized.InputTokens, SavedTokens: f.Optimized.SavedTokens, Site: f.Site,
		}
		if !f.Until.IsZero() {
			v.Until = &f.Until
		}
		out = append(out, v)
	}
	return out
}

// serveGuard answers the guard's findings.
func serveGuard(w http.ResponseWriter, _ *http.Request) error { return writeJSON(w, guardViews()) }
