package llmgateway

import (
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/dustin/go-humanize"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache/similar"
)

// parseCache reads a cache subdirective:
//
//	cache off|exact|similar [<threshold>] {
//		ttl <duration>
//		store memory [<size>]
//		store disk <path> [<size>]
//		store valkey <url> {
//			secret <secret>
//			compress
//		}
//		scope key|site|shared
//		guard lexical|strict|off
//		tool_calls off|exact
//		deterministic_only
//		ignore_fields <name...>
//		max_entry <size>
//	}
func parseCache(d *caddyfile.Dispenser, target **Cache) error {
	c := new(Cache)
	args := d.RemainingArgs()
	if len(args) == 0 || len(args) > 2 {
		return d.Errf("cache: expected off, exact or similar with an optional threshold, got %d arguments", len(args))
	}
	if _, err := cache.ParseMode(args[0]); err != nil {
		return d.WrapErr(err)
	}
	c.Mode = args[0]
	if len(args) == 2 {
		threshold, err := strconv.ParseFloat(args[1], 64)
		if err != nil || !(threshold >= cache.MinThreshold && threshold <= 1) || args[0] != "similar" {
			return d.Errf("cache: expected similar and a threshold from %g to 1, got %s %q", cache.MinThreshold, args[0], args[1])
		}
		c.Threshold = threshold
	}
	if err := parseBlock(d, "cache", cacheDirectives(c)); err != nil {
		return err
	}
	if _, err := c.policy(); err != nil {
		return d.WrapErr(err)
	}
	*target = c
	return nil
}

// cacheDirectives are the subdirectives of cache.
func cacheDirectives(c *Cache) directives {
	name := func(target *string, check func(string) error, expected string) func(*caddyfile.Dispenser) error {
		return once(func(d *caddyfile.Dispenser) error {
			arg, err := oneArg(d, expected)
			if err != nil {
				return err
			}
			if err := check(arg); err != nil {
				return d.WrapErr(err)
			}
			*target = arg
			return nil
		})
	}
	return directives{
		"ttl":   once(func(d *caddyfile.Dispenser) error { return parseDuration(d, &c.TTL) }),
		"store": once(func(d *caddyfile.Dispenser) error { return parseStore(d, &c.Store) }),
		"scope": name(&c.Scope, func(s string) error { _, err := cache.ParseScope(s); return err }, "key, site or shared"),
		"guard": name(&c.Guard, func(s string) error { _, err := similar.ParseGuard(s); return err }, "lexical, strict or off"),
		"tool_calls": once(func(d *caddyfile.Dispenser) error {
			arg, err := oneArg(d, "off or exact")
			if err != nil {
				return err
			}
			if arg != "off" && arg != "exact" {
				return d.Errf("tool_calls: expected off or exact, got %q", arg)
			}
			c.ToolCalls = arg
			return nil
		}),
		"deterministic_only": once(func(d *caddyfile.Dispenser) error {
			if d.NextArg() {
				return d.Errf("deterministic_only takes no arguments, got %q", d.Val())
			}
			c.DeterministicOnly = true
			return nil
		}),
		"ignore_fields": once(func(d *caddyfile.Dispenser) error {
			if c.IgnoreFields = d.RemainingArgs(); len(c.IgnoreFields) == 0 {
				return d.Errf("ignore_fields: expected at least one field name")
			}
			return nil
		}),
		"max_entry": once(func(d *caddyfile.Dispenser) error { return parseSize(d, &c.MaxEntry) }),
	}
}

// parseStore reads a store subdirective.
func parseStore(d *caddyfile.Dispenser, target **CacheStore) error {
	const expected = "memory [<size>], disk <path> [<size>] or valkey <url>"
	args := d.RemainingArgs()
	if len(args) == 0 {
		return d.Errf("store: expected %s", expected)
	}
	s := &CacheStore{Kind: args[0]}
	rest := args[1:]
	switch s.Kind {
	case cache.KindMemory:
	case cache.KindDisk, cache.KindValkey:
		if len(rest) == 0 {
			return d.Errf("store %s: expected %s", s.Kind, expected)
		}
		if s.Kind == cache.KindDisk {
			s.Path = rest[0]
		} else {
			s.URL = rest[0]
		}
		rest = rest[1:]
	default:
		return d.Errf("store: unknown store %q, expected %s", s.Kind, expected)
	}
	if len(rest) > 0 && s.Kind != cache.KindValkey {
		size, err := humanize.ParseBytes(rest[0])
		if err != nil || size == 0 || size > 1<<62 {
			return d.Errf("store %s: expected a size such as 256MiB, got %q", s.Kind, rest[0])
		}
		s.Size, rest = int64(size), rest[1:]
	}
	if len(rest) > 0 {
		return d.Errf("store %s: unexpected argument %q, expected %s", s.Kind, strings.Join(rest, " "), expected)
	}
	token := d.Token()
	options := directives{
		"compress": once(func(d *caddyfile.Dispenser) error {
			if d.NextArg() {
				return d.Errf("compress takes no arguments, got %q", d.Val())
			}
			s.Compress = true
			return nil
		}),
	}
	if s.Kind == cache.KindValkey {
		options["secret"] = once(func(d *caddyfile.Dispenser) (err error) {
			s.Secret, err = oneArg(d, "a secret that all gateways share")
			return err
		})
	}
	if s.Kind == cache.KindMemory {
		options = nil
	}
	if err := parseBlock(d, "store "+s.Kind, options); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return at(token).WrapErr(err)
	}
	*target = s
	return nil
}

// parsePrice reads the price of a model.
func parsePrice(d *caddyfile.Dispenser, target **Price) error {
	args := d.RemainingArgs()
	if len(args) != 2 && len(args) != 3 {
		return d.Errf("price: expected <input> <output> [<cached_input>] in USD per million tokens, got %d arguments", len(args))
	}
	var usd [3]float64
	for i, arg := range args {
		n, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(n >= 0 && n < 1e9) {
			return d.Errf("price: expected an amount in USD per million tokens, got %q", arg)
		}
		usd[i] = n
	}
	*target = &Price{Input: usd[0], Output: usd[1]}
	if len(args) == 3 {
		(*target).CachedInput = &usd[2]
	}
	return nil
}
