package llmgateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/access"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/toolschema"
)

// parseProvider reads a provider block:
//
//	provider <name> [<url...>] {
//		format <preset>
//		api_key <secret...>
//		api_key <secret> {
//			label <name>
//			weight <n>
//			price <usd>
//		}
//		tool_schema strict|gemini|off
//		strategy sticky|round_robin|priority|least_latency|cheapest
//		<any reverse_proxy subdirective>
//	}
//
// What is not one of the provider's own subdirectives is handed to
// reverse_proxy's own parser. helper is nil when there is none; then
// handle_response is not available.
func parseProvider(d *caddyfile.Dispenser, helper *httpcaddyfile.Helper, providers *[]*Provider) error {
	args := d.RemainingArgs()
	if len(args) == 0 {
		return d.Errf("provider: expected a name and URLs")
	}
	p := &Provider{Name: args[0], URLs: args[1:]}
	for _, other := range *providers {
		if other.Name == p.Name {
			return d.Errf("provider %s is already specified", p.Name)
		}
	}
	own := providerDirectives(p)
	first := d.Token()
	var rest []caddyfile.Token
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		if parse, ok := own[d.Val()]; ok {
			if err := parse(d); err != nil {
				return err
			}
			continue
		}
		rest = append(rest, d.NextSegment()...)
	}
	if len(p.URLs) == 0 && p.Format == "" {
		return d.Errf("provider %s: expected a URL, or a format that has one (%s)", p.Name, strings.Join(provider.PresetNames(), ", "))
	}
	if err := p.checkURLs(); err != nil {
		return at(first).Errf("provider %s: %v", p.Name, err)
	}
	if len(rest) > 0 {
		raw, err := parseReverseProxy(first, rest, helper)
		if err != nil {
			return fmt.Errorf("provider %s: %w", p.Name, err)
		}
		p.ReverseProxy = raw
	}
	*providers = append(*providers, p)
	return nil
}

// parseReverseProxy lets reverse_proxy read the segments in rest.
func parseReverseProxy(at caddyfile.Token, rest []caddyfile.Token, helper *httpcaddyfile.Helper) (json.RawMessage, error) {
	token := func(text string, like caddyfile.Token) caddyfile.Token {
		like.Text = text
		return like
	}
	last := rest[len(rest)-1]
	tokens := []caddyfile.Token{token("reverse_proxy", at), token("{", at)}
	tokens = append(tokens, rest...)
	last.Line++
	tokens = append(tokens, token("}", last))
	rp := new(reverseproxy.Handler)
	if err := rp.UnmarshalCaddyfile(caddyfile.NewDispenser(tokens)); err != nil {
		return nil, err
	}
	if helper != nil {
		if err := rp.FinalizeUnmarshalCaddyfile(*helper); err != nil {
			return nil, err
		}
	}
	return caddyconfig.JSON(rp, nil), nil
}

// providerDirectives are the provider's own subdirectives.
func providerDirectives(p *Provider) directives {
	return directives{
		"format": once(func(d *caddyfile.Dispenser) error {
			expected := "one of: " + strings.Join(provider.PresetNames(), ", ")
			arg, err := oneArg(d, expected)
			if err != nil {
				return err
			}
			if provider.PresetNamed(arg) == nil {
				return d.Errf("format: unknown format %q, expected %s", arg, expected)
			}
			p.Format = arg
			return nil
		}),
		"api_key": func(d *caddyfile.Dispenser) error { return parseAPIKey(d, p) },
		"tool_schema": once(func(d *caddyfile.Dispenser) error {
			arg, err := oneArg(d, "strict, gemini or off")
			if err != nil {
				return err
			}
			if _, err := toolschema.ParseMode(arg); err != nil {
				return d.WrapErr(fmt.Errorf("tool_schema: %w", err))
			}
			p.ToolSchema = arg
			return nil
		}),
		"strategy": once(func(d *caddyfile.Dispenser) error {
			expected := fmt.Sprintf("one of: %v", provider.Strategies)
			arg, err := oneArg(d, expected)
			if err != nil {
				return err
			}
			if !slices.Contains(provider.Strategies, provider.Strategy(arg)) {
				return d.Errf("strategy: unknown strategy %q, expected %s", arg, expected)
			}
			p.Strategy = provider.Strategy(arg)
			return nil
		}),
	}
}

// parseAPIKey reads one or more credentials. Errors never show a secret.
func parseAPIKey(d *caddyfile.Dispenser, p *Provider) error {
	secrets := d.RemainingArgs()
	if len(secrets) == 0 {
		return d.Errf("api_key: expected at least one secret")
	}
	for _, secret := range secrets {
		if err := checkAPIKey(secret); err != nil {
			return d.WrapErr(err)
		}
	}
	key := APIKey{Secret: secrets[0]}
	hadBlock := false
	options := directives{
		"label": once(func(d *caddyfile.Dispenser) (err error) {
			key.Label, err = oneArg(d, "a name")
			return err
		}),
		"weight": once(func(d *caddyfile.Dispenser) error { return parseInt(d, &key.Weight) }),
		"price":  once(func(d *caddyfile.Dispenser) error { return parseUSD(d, &key.Price) }),
	}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		hadBlock = true
		parse, ok := options[d.Val()]
		if !ok {
			return d.Errf("unknown subdirective %q of api_key, expected one of: label, price, weight", d.Val())
		}
		if err := parse(d); err != nil {
			return err
		}
	}
	if hadBlock && len(secrets) > 1 {
		return d.Errf("api_key: a block belongs to one secret, got %d", len(secrets))
	}
	p.APIKeys = append(p.APIKeys, key)
	for _, secret := range secrets[1:] {
		p.APIKeys = append(p.APIKeys, APIKey{Secret: secret})
	}
	return nil
}

// parseUSD reads an amount of money that is not negative.
func parseUSD(d *caddyfile.Dispenser, target *float64) error {
	name := d.Val()
	arg, err := oneArg(d, "an amount in USD")
	if err != nil {
		return err
	}
	usd, err := strconv.ParseFloat(arg, 64)
	if err != nil || !(usd >= 0 && usd < 1e12) {
		return d.Errf("%s: expected an amount in USD, got %q", name, arg)
	}
	*target = usd
	return nil
}

// parseKey reads a key block:
//
//	key <name> <secret> {
//	key <name> user <name> {
//		models <glob...>
//		optimize ...
//		cache ...
//		rpm <n>
//		tpm <n>
//		concurrency <n>
//		budget <usd> daily|monthly
//	}
func parseKey(d *caddyfile.Dispenser, keys *[]*Key, seen *keyChecks) error {
	args := d.RemainingArgs()
	k := new(Key)
	switch {
	case len(args) == 2:
		k.Name, k.Secret = args[0], args[1]
	case len(args) == 3 && args[1] == "user":
		k.Name, k.User = args[0], args[2]
	default:
		return d.Errf("key: expected a name and a secret, or a name, user and a user name; got %d arguments", len(args))
	}
	for _, other := range *keys {
		if other.Name == k.Name {
			return d.Errf("key %s is already specified", k.Name)
		}
	}
	token := d.Token()
	if err := parseBlock(d, "key", keyDirectives(k)); err != nil {
		return err
	}
	if err := seen.add(k); err != nil {
		return at(token).WrapErr(err)
	}
	*keys = append(*keys, k)
	return nil
}

// keyDirectives are the subdirectives of key.
func keyDirectives(k *Key) directives {
	optimize := optimizeParser{target: &k.Optimize}
	return directives{
		"models": once(func(d *caddyfile.Dispenser) error {
			if k.Models = d.RemainingArgs(); len(k.Models) == 0 {
				return d.Errf("models: expected at least one model name or pattern")
			}
			return nil
		}),
		"optimize":    optimize.parse,
		"cache":       once(func(d *caddyfile.Dispenser) error { return parseCache(d, &k.Cache) }),
		"rpm":         once(func(d *caddyfile.Dispenser) error { return parseInt(d, &k.RPM) }),
		"tpm":         once(func(d *caddyfile.Dispenser) error { return parseInt(d, &k.TPM) }),
		"concurrency": once(func(d *caddyfile.Dispenser) error { return parseInt(d, &k.Concurrency) }),
		"budget": once(func(d *caddyfile.Dispenser) error {
			args := d.RemainingArgs()
			if len(args) != 2 || args[1] != string(access.Daily) && args[1] != string(access.Monthly) {
				return d.Errf("budget: expected an amount in USD and daily or monthly")
			}
			usd, err := strconv.ParseFloat(args[0], 64)
			if err != nil || !(usd > 0 && usd < 1e12) {
				return d.Errf("budget: expected an amount in USD, got %q", args[0])
			}
			k.Budget, k.BudgetPeriod = usd, access.BudgetPeriod(args[1])
			return nil
		}),
	}
}

// parseDuration reads a duration such as 30s.
func parseDuration(d *caddyfile.Dispenser, target *caddy.Duration) error {
	name := d.Val()
	arg, err := oneArg(d, "a duration such as 30s")
	if err != nil {
		return err
	}
	dur, err := caddy.ParseDuration(arg)
	if err != nil || dur <= 0 {
		return d.Errf("%s: expected a duration such as 30s, got %q", name, arg)
	}
	*target = caddy.Duration(dur)
	return nil
}
