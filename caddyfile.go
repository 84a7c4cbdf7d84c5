package llmgateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/dustin/go-humanize"
)

func init() {
	httpcaddyfile.RegisterHandlerDirective("llm_gateway", parseCaddyfile)
	// Inside encode, so that the gateway sees plain bytes, and before what
	// answers or proxies.
	httpcaddyfile.RegisterDirectiveOrder("llm_gateway", httpcaddyfile.Before, "reverse_proxy")
}

func parseCaddyfile(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	g := new(Handler)
	if err := g.unmarshal(h.Dispenser, &h); err != nil {
		return nil, err
	}
	return g, nil
}

// UnmarshalCaddyfile sets up h from Caddyfile tokens. Syntax:
//
//	llm_gateway [<matcher>] {
//		optimize <optimizer> [<level>] [{ ... }]
//		optimize off
//		cache off|exact|similar [<threshold>] [{ ... }]
//		model <name-or-glob...> {
//			optimize ...
//			cache ...
//			price <input> <output> [<cached_input>]
//			provider <name...>
//			upstream_model <name>
//			response_model alias|off
//			stream_usage inject|off
//		}
//		key <name> <secret> { ... }
//		limits memory|disk [<path>]|valkey <url>
//		provider <name> <url...> { ... }
//		stream_usage inject|off
//		hook <name> ...
//		capture <dir>
//		guard_prompt_cache on|off
//		max_attempts <n>
//		attempt_deadline <duration>
//		max_body <size>
//		gc_headroom <size>|off
//		client_overrides on|off
//	}
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	return h.unmarshal(d, nil)
}

func (h *Handler) unmarshal(d *caddyfile.Dispenser, helper *httpcaddyfile.Helper) error {
	d.Next() // directive name
	if d.NextArg() {
		return d.Errf("llm_gateway takes no arguments, got %q", d.Val())
	}
	var late checks
	if err := parseBlock(d, "llm_gateway", handlerDirectives(h, helper, &late)); err != nil {
		return err
	}
	return late.run()
}

// directives are the subdirectives of a block: the name, and what reads the
// rest of its segment. The Dispenser stands on the name.
type directives map[string]func(d *caddyfile.Dispenser) error

// handlerDirectives are the subdirectives of llm_gateway.
func handlerDirectives(h *Handler, helper *httpcaddyfile.Helper, late *checks) directives {
	optimize := optimizeParser{target: &h.Optimize}
	seen := newKeyChecks()
	return directives{
		"optimize":           optimize.parse,
		"cache":              once(func(d *caddyfile.Dispenser) error { return parseCache(d, &h.Cache) }),
		"model":              func(d *caddyfile.Dispenser) error { return parseModel(d, h, late) },
		"key":                func(d *caddyfile.Dispenser) error { return parseKey(d, &h.Keys, seen) },
		"limits":             once(func(d *caddyfile.Dispenser) error { return parseLimits(d, &h.Limits) }),
		"provider":           func(d *caddyfile.Dispenser) error { return parseProvider(d, helper, &h.Providers) },
		"max_attempts":       once(func(d *caddyfile.Dispenser) error { return parseInt(d, &h.MaxAttempts) }),
		"attempt_deadline":   once(func(d *caddyfile.Dispenser) error { return parseDuration(d, &h.AttemptDeadline) }),
		"max_body":           once(func(d *caddyfile.Dispenser) error { return parseSize(d, &h.MaxBody) }),
		"gc_headroom":        once(func(d *caddyfile.Dispenser) error { return parseSizeOrOff(d, &h.GCHeadroom) }),
		"capture":            once(func(d *caddyfile.Dispenser) error { return parseCapture(d, &h.Capture) }),
		"hook":               func(d *caddyfile.Dispenser) error { return parseHook(d, h) },
		"guard_prompt_cache": once(func(d *caddyfile.Dispenser) error { return parseOnOff(d, &h.GuardPromptCache) }),
		"stream_usage":       choice(&h.StreamUsage, streamUsageInject, streamUsageOff),
		"client_overrides":   once(func(d *caddyfile.Dispenser) error { return parseOnOff(d, &h.ClientOverrides) }),
	}
}

// modelDirectives are the subdirectives of model.
func modelDirectives(h *Handler, m *Model, late *checks) directives {
	optimize := optimizeParser{target: &m.Optimize}
	return directives{
		"optimize": optimize.parse,
		"provider": once(func(d *caddyfile.Dispenser) error {
			token := d.Token()
			late.add(func() error { return h.checkModelProviders(m, token) })
			if m.Providers = d.RemainingArgs(); len(m.Providers) == 0 {
				return d.Errf("provider: expected at least one name of a provider")
			}
			return nil
		}),
		"cache": once(func(d *caddyfile.Dispenser) error { return parseCache(d, &m.Cache) }),
		"price": once(func(d *caddyfile.Dispenser) error { return parsePrice(d, &m.Price) }),
		"upstream_model": once(func(d *caddyfile.Dispenser) (err error) {
			m.UpstreamModel, err = oneArg(d, "the provider's name of the model")
			return err
		}),
		"response_model": choice(&m.ResponseModel, responseModelAlias, responseModelOff),
		"stream_usage":   choice(&m.StreamUsage, streamUsageInject, streamUsageOff),
	}
}

// parseBlock reads the block that the Dispenser stands before. owner names it
// in errors.
func parseBlock(d *caddyfile.Dispenser, owner string, known directives) error {
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		if len(known) == 0 {
			return d.Errf("%s takes no block, got %q", owner, d.Val())
		}
		parse, ok := known[d.Val()]
		if !ok {
			return d.Errf("unknown subdirective %q of %s, expected one of: %s",
				d.Val(), owner, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if err := parse(d); err != nil {
			return err
		}
	}
	return nil
}

// once makes parse refuse to be called twice in one block.
func once(parse func(*caddyfile.Dispenser) error) func(*caddyfile.Dispenser) error {
	seen := 0
	return func(d *caddyfile.Dispenser) error {
		if seen > 0 {
			return d.Errf("%s is already specified at line %d", d.Val(), seen)
		}
		seen = d.Line()
		return parse(d)
	}
}

// oneArg reads exactly one argument; expected says in errors what it is.
func oneArg(d *caddyfile.Dispenser, expected string) (string, error) {
	name := d.Val()
	args := d.RemainingArgs()
	if len(args) != 1 {
		return "", d.Errf("%s: expected %s, got %d arguments", name, expected, len(args))
	}
	return args[0], nil
}

// parseSize reads a size such as 32MiB.
func parseSize(d *caddyfile.Dispenser, target *int64) error {
	name := d.Val()
	arg, err := oneArg(d, "a size such as 32MiB")
	if err != nil {
		return err
	}
	size, err := humanize.ParseBytes(arg)
	if err != nil || size == 0 || size > 1<<31-1 {
		return d.Errf("%s: expected a size between 1B and 2GiB such as 32MiB, got %q", name, arg)
	}
	*target = int64(size)
	return nil
}

// parseSizeOrOff reads a number of bytes, or off for -1.
func parseSizeOrOff(d *caddyfile.Dispenser, target *int64) error {
	name := d.Val()
	const expected = "off or a size such as 32MiB"
	arg, err := oneArg(d, expected)
	if err != nil {
		return err
	}
	if arg == "off" {
		*target = -1
		return nil
	}
	size, err := humanize.ParseBytes(arg)
	if err != nil || size == 0 || size > 1<<31-1 {
		return d.Errf("%s: expected %s, at most 2GiB, got %q", name, expected, arg)
	}
	*target = int64(size)
	return nil
}

// parseOnOff reads on or off.
func parseOnOff(d *caddyfile.Dispenser, target **bool) error {
	name := d.Val()
	arg, err := oneArg(d, "on or off")
	if err != nil {
		return err
	}
	on := arg == "on"
	if !on && arg != "off" {
		return d.Errf("%s: expected on or off, got %q", name, arg)
	}
	*target = &on
	return nil
}

// choice reads one of the words in choices.
func choice(target *string, choices ...string) func(*caddyfile.Dispenser) error {
	return once(func(d *caddyfile.Dispenser) error {
		name := d.Val()
		arg, err := oneArg(d, strings.Join(choices, " or "))
		if err != nil {
			return err
		}
		if err := checkChoice(name, arg, choices...); err != nil {
			return d.WrapErr(err)
		}
		*target = arg
		return nil
	})
}

// parseInt reads a whole number of at least 1.
func parseInt(d *caddyfile.Dispenser, target *int) error {
	name := d.Val()
	arg, err := oneArg(d, "a whole number of at least 1")
	if err != nil {
		return err
	}
	if *target, err = parsePositive(name, arg); err != nil {
		return d.WrapErr(err)
	}
	return nil
}

// parseModel reads a model block.
func parseModel(d *caddyfile.Dispenser, h *Handler, late *checks) error {
	models := &h.Models
	m := new(Model)
	line := d.Line()
	m.Match = d.RemainingArgs()
	if len(m.Match) == 0 {
		return d.Errf("model: expected at least one model name or pattern")
	}
	if err := checkMatch(m.Match); err != nil {
		return d.WrapErr(err)
	}
	for _, name := range m.Match {
		for _, other := range *models {
			if slices.Contains(other.Match, name) {
				return d.Errf("model %s is already specified", name)
			}
		}
	}
	if err := parseBlock(d, fmt.Sprintf("model (line %d)", line), modelDirectives(h, m, late)); err != nil {
		return err
	}
	*models = append(*models, m)
	return nil
}

// optimizeParser reads the optimize subdirectives of one level.
type optimizeParser struct {
	target **Optimize
	lines  [optCount]int // where each optimizer was specified
	off    int           // where optimize off was
}

// parse reads one optimize subdirective.
func (p *optimizeParser) parse(d *caddyfile.Dispenser) error {
	line := d.Line()
	args := d.RemainingArgs()
	if len(args) == 0 || len(args) > 2 {
		return d.Errf("optimize: expected an optimizer (%s) with an optional level, or off; got %d arguments", optimizerNames(), len(args))
	}
	if *p.target == nil {
		*p.target = new(Optimize)
	}
	o := *p.target
	if args[0] == levelOff {
		if len(args) > 1 {
			return d.Errf("optimize off: expected no level, got %q", args[1])
		}
		if p.off > 0 {
			return d.Errf("optimize off is already specified at line %d", p.off)
		}
		p.off, o.Off = line, true
		return parseBlock(d, "optimize off", nil)
	}
	i := optimizerNamed(args[0])
	if i < 0 {
		return d.Errf("optimize: unknown optimizer %q, expected %s or off", args[0], optimizerNames())
	}
	if p.lines[i] > 0 {
		return d.Errf("optimize %s is already specified at line %d", args[0], p.lines[i])
	}
	p.lines[i] = line
	level := optimizers[i].levels[0]
	if len(args) == 2 {
		level = args[1]
		if !strings.Contains(level, "{") { // a placeholder is resolved later
			if err := optimizers[i].checkLevel(level); err != nil {
				return d.Errf("optimize: %v", err)
			}
		}
	}
	var params directives
	switch i {
	case optRTK:
		o.RTK = level
	case optCaveman:
		o.Caveman = level
	case optReasoning:
		o.Reasoning = level
	case optHeadroom:
		o.Headroom = &Headroom{Level: level}
		params = directives{
			"keep":    once(func(d *caddyfile.Dispenser) error { return parseInt(d, &o.Headroom.Keep) }),
			"reserve": once(func(d *caddyfile.Dispenser) error { return parseInt(d, &o.Headroom.Reserve) }),
		}
	case optSquoze:
		o.Squoze = &Squoze{Off: level == levelOff}
		params = squozeDirectives(o.Squoze)
	}
	if params == nil {
		params = directives{}
	}
	params["audit"] = once(func(d *caddyfile.Dispenser) error {
		if d.NextArg() {
			return d.Errf("audit takes no arguments, got %q", d.Val())
		}
		if level == levelOff {
			return d.Errf("audit: optimize %s is off", optimizers[i].name)
		}
		o.Audit = append(o.Audit, optimizers[i].name)
		return nil
	})
	if level != levelOff {
		if err := p.checkExclusive(d, i, o); err != nil {
			return err
		}
	}
	return parseBlock(d, "optimize "+args[0], params)
}

// checkExclusive refuses squoze beside rtk or headroom at one level.
func (p *optimizeParser) checkExclusive(d *caddyfile.Dispenser, added int, o *Optimize) error {
	active := map[int]bool{
		optSquoze:   o.Squoze != nil && !o.Squoze.Off,
		optRTK:      o.RTK != "" && o.RTK != levelOff,
		optHeadroom: o.Headroom != nil && o.Headroom.Level != levelOff,
	}
	if !active[optSquoze] {
		return nil
	}
	for _, other := range []int{optRTK, optHeadroom} {
		if !active[other] || added != optSquoze && added != other {
			continue
		}
		return d.Errf("squoze (line %d) cannot be combined with %s (line %d): it does that work itself; remove one of them",
			p.lines[optSquoze], optimizers[other].name, p.lines[other])
	}
	return nil
}

// Interface guards
var _ caddyfile.Unmarshaler = (*Handler)(nil)
