package llmgateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/valkey-io/valkey-go"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/access"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache"
)

// Whatever Provision refuses and a Caddyfile shows is refused here first, so
// that the message names file and line. What is behind a placeholder is known
// only when the configuration is loaded.

// settled reports whether none of the values has a placeholder.
func settled(values ...string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, "{") })
}

// at is a Dispenser that stands on token, for errors about what was read
// before.
func at(token caddyfile.Token) *caddyfile.Dispenser {
	d := caddyfile.NewDispenser([]caddyfile.Token{token})
	d.Next()
	return d
}

// checks are what can be checked only when all of a block has been read.
type checks []func() error

func (c *checks) add(check func() error) { *c = append(*c, check) }

func (c *checks) run() error {
	for _, check := range *c {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkMatch checks the names of a model block.
func checkMatch(names []string) error {
	for i, name := range names {
		if name == "" {
			return errors.New("model: empty name")
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("model %s is named twice", name)
		}
	}
	return nil
}

// checkModelProviders checks the providers that a model names against those
// that there are.
func (h *Handler) checkModelProviders(m *Model, token caddyfile.Token) error {
	for _, name := range m.Providers {
		if !slices.ContainsFunc(h.Providers, func(p *Provider) bool { return p.Name == name }) {
			return at(token).Errf("model %s: provider %q is not configured", strings.Join(m.Match, " "), name)
		}
	}
	return nil
}

// checkURLs checks the URLs of p.
func (p *Provider) checkURLs() error {
	if !settled(p.URLs...) {
		return nil
	}
	copied := Provider{Format: p.Format, URLs: p.URLs} // resolving changes it
	return copied.resolveURLs(caddy.NewEmptyReplacer())
}

// checkAPIKey checks a provider's credential. The error does not show it.
func checkAPIKey(secret string) error {
	if secret == "" {
		return errors.New("api_key: the secret is empty")
	}
	if strings.ContainsAny(secret, "\r\n\x00") {
		return errors.New("api_key: the secret holds a line break")
	}
	return nil
}

// keyChecks are the keys that a Caddyfile has shown so far.
type keyChecks struct {
	users   map[string]bool
	secrets *access.Keyring[*Key]
}

func newKeyChecks() *keyChecks {
	return &keyChecks{make(map[string]bool), access.NewKeyring[*Key]()}
}

// add checks k against the keys before it.
func (c *keyChecks) add(k *Key) error {
	switch {
	case k.Name == "":
		return errors.New("key: a name is expected")
	case slices.Contains(k.Models, ""):
		return fmt.Errorf("key %s: models: empty name", k.Name)
	case k.User == "" && k.Secret == "":
		return fmt.Errorf("key %s: the secret is empty", k.Name)
	case k.User == "" && settled(k.Secret):
		if err := c.secrets.Add(k.Secret, k); err != nil {
			return fmt.Errorf("key %s: %w", k.Name, err)
		}
	case k.User != "" && c.users[k.User]:
		return fmt.Errorf("key %s: user %s has another key already", k.Name, k.User)
	}
	c.users[k.User] = true
	return nil
}

// expectedServer is what is said of a server's URL that cannot be one.
const expectedServer = "expected a URL such as redis://127.0.0.1:6379/0"

// check checks what a Caddyfile says of a store.
func (s *CacheStore) check() error {
	if !settled(s.Path, s.URL) {
		return nil
	}
	if _, err := (cache.StoreConfig{Kind: s.Kind, Size: s.Size, Path: s.Path, URL: s.URL}).Resolve(); err != nil {
		if s.Kind == cache.KindValkey {
			return errors.New("store valkey: " + expectedServer) // err shows the URL, and with it a password
		}
		return err
	}
	if s.Kind != cache.KindValkey {
		return nil
	}
	if s.Secret == "" {
		return errors.New("store valkey: a secret expected, the same for all gateways that share it")
	}
	if settled(s.Secret) && len(s.Secret) < cache.MinSecret {
		return fmt.Errorf("store valkey: a secret of at least %d bytes expected", cache.MinSecret)
	}
	return nil
}

// check checks what a Caddyfile says of the store of limits.
func (s *LimitStore) check() error {
	if s.Kind != "valkey" || !settled(s.URL) {
		return nil
	}
	if _, err := valkey.ParseURL(s.URL); err != nil || s.URL == "" {
		return errors.New("limits valkey: " + expectedServer) // err shows the URL, and with it a password
	}
	return nil
}
