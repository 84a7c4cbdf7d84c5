package llmgateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/toolschema"
)

// Provider is an upstream with its credentials. Requests reach it through
// Caddy's own reverse_proxy.
type Provider struct {
	// Name is what models and headers call the provider.
	Name string `json:"name,omitempty"`

	// URLs are base URLs, with or without the version path (`/v1`). Several
	// must differ in nothing but the host; reverse_proxy balances between
	// them. Default: the public URL of the format.
	URLs []string `json:"urls,omitempty"`

	// Format is the kind of provider: `openai`, `azure-openai`, `anthropic`,
	// `deepseek`, `gemini`, `mistral`, `groq`, `openrouter`, `together`,
	// `fireworks`, `xai`, `ollama`, `vllm`, `llama.cpp` or `lmstudio`. It
	// says which wire formats are served and how a credential travels.
	// Default: guessed from the first URL.
	Format string `json:"format,omitempty"`

	// APIKeys are the credentials. With at least one of them the client's own
	// never reaches the provider; with none it is passed on unchanged.
	APIKeys []APIKey `json:"api_keys,omitempty"`

	// ToolSchema adapts the JSON schemas of tools to what the provider accepts:
	// `gemini`, `strict` (OpenAI's strict tools) or `off`. Default: `off`.
	ToolSchema string `json:"tool_schema,omitempty"`

	// Strategy says which of several healthy credentials a request uses:
	// `sticky` (the default: one conversation stays on one credential),
	// `round_robin`, `priority`, `least_latency` or `cheapest`.
	Strategy provider.Strategy `json:"strategy,omitempty"`

	// ReverseProxy is the configuration of the reverse_proxy handler. What it
	// leaves out has defaults for LLM providers: flush_interval -1, the Host
	// of the upstream, no compression, keepalive 90s, 512 idle connections,
	// 128 per host, dial timeout 10s, TLS handshake timeout 10s, HTTP/1.1 and 2.
	ReverseProxy json.RawMessage `json:"reverse_proxy,omitempty"`

	base       *url.URL
	preset     *provider.Preset
	pool       *provider.Pool
	proxy      caddyhttp.MiddlewareHandler
	toolSchema toolschema.Mode
	own        bool // has credentials of its own
}

// APIKey is one credential of a provider.
type APIKey struct {
	// Secret is the key itself; placeholders such as {env.OPENAI_API_KEY} are
	// resolved when the configuration is loaded.
	Secret string `json:"secret,omitempty"`

	// Label names the key in headers, logs and the admin API. Default: its
	// position, `key1`, `key2`, ...
	Label string `json:"label,omitempty"`

	// Weight is its share of requests for `round_robin` and `sticky`.
	// Default: 1.
	Weight int `json:"weight,omitempty"`

	// Price orders keys for `cheapest`, in USD per million input tokens.
	Price float64 `json:"price,omitempty"`
}

// Defaults of a provider's transport, where the configuration says nothing.
const (
	providerKeepAlive        = 90 * time.Second
	providerIdleConns        = 512
	providerIdleConnsPerHost = 128
	providerDialTimeout      = 10 * time.Second
	providerTLSTimeout       = 10 * time.Second
)

// provision resolves p and loads its reverse proxy.
func (p *Provider) provision(ctx caddy.Context, repl *caddy.Replacer) error {
	if p.Name == "" {
		return errors.New("a name is expected")
	}
	if err := p.resolveURLs(repl); err != nil {
		return err
	}
	if err := p.resolveKeys(repl); err != nil {
		return err
	}
	var err error
	if p.toolSchema, err = toolschema.ParseMode(p.ToolSchema); err != nil {
		return fmt.Errorf("tool_schema: %w", err)
	}
	raw, err := p.proxyConfig(repl)
	if err != nil {
		return fmt.Errorf("reverse_proxy: %w", err)
	}
	mod, err := ctx.LoadModuleByID("http.handlers.reverse_proxy", raw)
	if err != nil {
		return fmt.Errorf("reverse_proxy: %w", err)
	}
	proxy := mod.(*reverseproxy.Handler)
	proxy.Transport = &providerTransport{RoundTripper: proxy.Transport}
	p.proxy = proxy
	return nil
}

// provisionProviders resolves the providers and what the models say of them.
func (h *Handler) provisionProviders(ctx caddy.Context, repl *caddy.Replacer) error {
	byName := make(map[string]*Provider)
	for _, p := range h.Providers {
		if byName[p.Name] != nil {
			return fmt.Errorf("provider %s is configured more than once", p.Name)
		}
		if err := p.provision(ctx, repl); err != nil {
			return fmt.Errorf("provider %s: %w", p.Name, err)
		}
		byName[p.Name] = p
	}
	for _, m := range h.Models {
		m.UpstreamModel = repl.ReplaceAll(m.UpstreamModel, "")
		m.providers = nil
		for _, name := range m.Providers {
			p := byName[name]
			if p == nil {
				return fmt.Errorf("model %s: provider %q is not configured", strings.Join(m.Match, " "), name)
			}
			m.providers = append(m.providers, p)
		}
	}
	return nil
}

// resolveURLs parses the base URLs and finds the preset.
func (p *Provider) resolveURLs(repl *caddy.Replacer) error {
	if p.Format != "" {
		if p.preset = provider.PresetNamed(p.Format); p.preset == nil {
			return fmt.Errorf("format: unknown format %q, expected one of: %s", p.Format, strings.Join(provider.PresetNames(), ", "))
		}
	}
	urls := p.URLs
	if len(urls) == 0 && p.preset != nil && p.preset.BaseURL != "" {
		urls = []string{p.preset.BaseURL}
	}
	if len(urls) == 0 {
		return errors.New("at least one URL is expected")
	}
	p.URLs = nil
	for _, raw := range urls {
		u, err := url.Parse(repl.ReplaceAll(raw, ""))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("expected a URL such as https://api.example.com/v1, got %q", raw)
		}
		if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return fmt.Errorf("the URL must have no query, fragment or user: %q", u.Redacted())
		}
		if p.base == nil {
			p.base = u
		} else if u.Scheme != p.base.Scheme || u.Path != p.base.Path {
			return fmt.Errorf("the URLs must differ in nothing but the host: %s, %s", p.base, u)
		}
		p.URLs = append(p.URLs, u.String())
	}
	if p.preset == nil {
		p.preset = provider.Guess(p.base)
	}
	return nil
}

// resolveKeys builds the credential pool.
func (p *Provider) resolveKeys(repl *caddy.Replacer) error {
	if p.Strategy == "" {
		p.Strategy = provider.Sticky
	}
	if !slices.Contains(provider.Strategies, p.Strategy) {
		return fmt.Errorf("strategy: unknown strategy %q, expected one of: %v", p.Strategy, provider.Strategies)
	}
	var creds []*provider.Credential
	for i, k := range p.APIKeys {
		secret := repl.ReplaceAll(k.Secret, "")
		if secret == "" {
			return fmt.Errorf("api_key %d is empty: is its placeholder set?", i+1)
		}
		if strings.ContainsAny(secret, "\r\n\x00") {
			return fmt.Errorf("api_key %d holds a line break", i+1)
		}
		label := k.Label
		if label == "" {
			label = fmt.Sprintf("key%d", i+1)
		}
		creds = append(creds, &provider.Credential{Label: label, Secret: secret, Weight: k.Weight, Price: k.Price})
	}
	p.own = len(creds) > 0
	if !p.own {
		creds = []*provider.Credential{{Label: "client"}}
	}
	p.pool = provider.NewPool(p.Strategy, creds, time.Now)
	return nil
}

// proxyConfig is the JSON of the reverse_proxy handler with the defaults
// filled in beneath what the user said.
func (p *Provider) proxyConfig(repl *caddy.Replacer) (json.RawMessage, error) {
	config := make(map[string]json.RawMessage)
	if len(p.ReverseProxy) > 0 {
		if err := json.Unmarshal(p.ReverseProxy, &config); err != nil {
			return nil, err
		}
	}
	delete(config, "handler")
	if config["upstreams"] == nil && config["dynamic_upstreams"] == nil {
		var upstreams reverseproxy.UpstreamPool
		for _, raw := range p.URLs {
			u, err := url.Parse(raw)
			if err != nil {
				return nil, err
			}
			upstreams = append(upstreams, &reverseproxy.Upstream{Dial: dialAddress(u)})
		}
		config["upstreams"] = mustJSON(upstreams)
	}
	setDefault(config, "flush_interval", -1)
	if err := p.headerDefaults(config); err != nil {
		return nil, err
	}
	if err := p.transportDefaults(config); err != nil {
		return nil, err
	}
	return json.Marshal(config)
}

// headerDefaults sends the upstream's own host name, unless the user sets one.
func (p *Provider) headerDefaults(config map[string]json.RawMessage) error {
	var ops struct {
		Request map[string]json.RawMessage `json:"request,omitempty"`
		Rest    json.RawMessage            `json:"response,omitempty"`
	}
	if raw := config["headers"]; raw != nil {
		if err := json.Unmarshal(raw, &ops); err != nil {
			return err
		}
	}
	set := make(map[string][]string)
	if raw := ops.Request["set"]; raw != nil {
		if err := json.Unmarshal(raw, &set); err != nil {
			return err
		}
	}
	for name := range set {
		if strings.EqualFold(name, "Host") {
			return nil
		}
	}
	set["Host"] = []string{"{http.reverse_proxy.upstream.hostport}"}
	if p.defaultPort() {
		set["Host"] = []string{"{http.reverse_proxy.upstream.host}"}
	}
	if ops.Request == nil {
		ops.Request = make(map[string]json.RawMessage)
	}
	ops.Request["set"] = mustJSON(set)
	config["headers"] = mustJSON(ops)
	return nil
}

// defaultPort reports whether every URL uses the port of its scheme, which a
// Host header leaves out.
func (p *Provider) defaultPort() bool {
	return !slices.ContainsFunc(p.URLs, func(raw string) bool {
		u, err := url.Parse(raw)
		return err != nil || u.Port() != "" && u.Port() != map[string]string{"http": "80", "https": "443"}[u.Scheme]
	})
}

// transportDefaults fills in the HTTP transport. A transport of another kind
// is the user's own business.
func (p *Provider) transportDefaults(config map[string]json.RawMessage) error {
	transport := make(map[string]json.RawMessage)
	if raw := config["transport"]; raw != nil {
		if err := json.Unmarshal(raw, &transport); err != nil {
			return err
		}
	}
	setDefault(transport, "protocol", "http")
	if string(transport["protocol"]) != `"http"` {
		return nil
	}
	keepAlive := make(map[string]json.RawMessage)
	if raw := transport["keep_alive"]; raw != nil {
		if err := json.Unmarshal(raw, &keepAlive); err != nil {
			return err
		}
	}
	setDefault(keepAlive, "idle_timeout", providerKeepAlive)
	setDefault(keepAlive, "max_idle_conns", providerIdleConns)
	setDefault(keepAlive, "max_idle_conns_per_host", providerIdleConnsPerHost)
	transport["keep_alive"] = mustJSON(keepAlive)
	setDefault(transport, "dial_timeout", providerDialTimeout)
	setDefault(transport, "compression", false)
	setDefault(transport, "versions", []string{"1.1", "2"})
	if p.base.Scheme == "https" || transport["tls"] != nil {
		tls := make(map[string]json.RawMessage)
		if raw := transport["tls"]; raw != nil {
			if err := json.Unmarshal(raw, &tls); err != nil {
				return err
			}
		}
		setDefault(tls, "handshake_timeout", providerTLSTimeout)
		transport["tls"] = mustJSON(tls)
	}
	config["transport"] = mustJSON(transport)
	return nil
}

// setDefault sets name unless the user did.
func setDefault(config map[string]json.RawMessage, name string, value any) {
	if config[name] == nil {
		config[name] = mustJSON(value)
	}
}

// mustJSON encodes values that always can be.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// dialAddress is host and port of u.
func dialAddress(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if strings.Contains(u.Hostname(), ":") {
		return "[" + u.Hostname() + "]:" + port
	}
	return u.Hostname() + ":" + port
}

// providerTransport completes the request below reverse_proxy, with what the
// context holds.
type providerTransport struct{ http.RoundTripper }

type outgoingKey struct{}

// outgoing is what a request to a provider has that reverse_proxy does not see.
type outgoing struct {
	header, secret string // the credential, "" for none; so that no debug log shows it
	// body is the whole body, if it is small. In the form of a reader that
	// net/http knows to be in memory it goes out together with the header, in one
	// packet; reverse_proxy would hide what it is.
	body []byte
}

// maxInMemory is the largest body, in bytes, that is sent together with its
// header: both fit into the transport's buffer.
const maxInMemory = 3 << 10

// RoundTrip implements http.RoundTripper. The request is reverse_proxy's own
// copy, but it is logged afterwards, so the header is put into another copy.
func (t *providerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	o, ok := req.Context().Value(outgoingKey{}).(*outgoing)
	if !ok {
		return t.RoundTripper.RoundTrip(req)
	}
	r := *req
	if o.header != "" {
		r.Header = make(http.Header, len(req.Header)+1)
		maps.Copy(r.Header, req.Header)
		r.Header[o.header] = []string{o.secret}
	}
	if len(o.body) > 0 && req.ContentLength == int64(len(o.body)) {
		r.Body = io.NopCloser(bytes.NewReader(o.body))
	}
	return t.RoundTripper.RoundTrip(&r)
}

// ProxyProtocolEnabled passes on what reverse_proxy asks of its transport.
func (t *providerTransport) ProxyProtocolEnabled() bool {
	inner, ok := t.RoundTripper.(reverseproxy.ProxyProtocolTransport)
	return ok && inner.ProxyProtocolEnabled()
}
