package llmgateway

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/access"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// Key is one client's virtual key. With any key configured every request
// needs one.
type Key struct {
	// Name is what logs, metrics and the admin API call the client.
	Name string `json:"name,omitempty"`

	// Secret is what the client presents, as text, as a placeholder such as
	// {env.TEAM_KEY}, or as `sha256:` and the hex of its hash, as
	// `caddy llm-key new` prints it.
	Secret string `json:"secret,omitempty"`

	// User takes the place of Secret: the key then belongs to whoever another
	// module authenticated under this name ({http.auth.user.id}).
	User string `json:"user,omitempty"`

	// Models are the names, or patterns with *, of the models that the client
	// may use. Default: all.
	Models []string `json:"models,omitempty"`

	// Optimize are the client's optimizers, over those of model and site.
	Optimize *Optimize `json:"optimize,omitempty"`

	// Cache is what holds for the client's answers, over model and site.
	Cache *Cache `json:"cache,omitempty"`

	// RPM and TPM limit requests and tokens per minute. Default: no limit.
	RPM int `json:"rpm,omitempty"`
	TPM int `json:"tpm,omitempty"`

	// Concurrency limits requests at a time. Default: no limit.
	Concurrency int `json:"concurrency,omitempty"`

	// Budget limits what the client spends per BudgetPeriod, in USD, by the
	// prices of the models. Default: no limit.
	Budget float64 `json:"budget,omitempty"`

	// BudgetPeriod is `daily` or `monthly`, in UTC. Default: `monthly`.
	BudgetPeriod access.BudgetPeriod `json:"budget_period,omitempty"`

	settings settings
	limits   access.Limits
}

// keyTable finds the key of a client.
type keyTable struct {
	secrets *access.Keyring[*Key]
	users   map[string]*Key
}

// newKeyTable resolves and checks keys.
func newKeyTable(keys []*Key, repl *caddy.Replacer) (*keyTable, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	t := &keyTable{secrets: access.NewKeyring[*Key](), users: make(map[string]*Key)}
	names := make(map[string]bool)
	for _, k := range keys {
		if k.Name == "" || names[k.Name] {
			return nil, fmt.Errorf("key %q: a name of its own is expected", k.Name)
		}
		names[k.Name] = true
		if err := t.add(k, repl); err != nil {
			return nil, fmt.Errorf("key %s: %w", k.Name, err)
		}
	}
	return t, nil
}

func (t *keyTable) add(k *Key, repl *caddy.Replacer) error {
	var err error
	if k.settings, err = k.Optimize.settings(repl); err != nil {
		return fmt.Errorf("optimize: %w", err)
	}
	if k.RPM < 0 || k.TPM < 0 || k.Concurrency < 0 || k.Budget < 0 {
		return errors.New("limits must not be negative")
	}
	if k.BudgetPeriod == "" {
		k.BudgetPeriod = access.Monthly
	}
	if k.BudgetPeriod != access.Daily && k.BudgetPeriod != access.Monthly {
		return fmt.Errorf("budget: expected daily or monthly, got %q", k.BudgetPeriod)
	}
	for i, name := range k.Models {
		if k.Models[i] = repl.ReplaceAll(name, ""); k.Models[i] == "" {
			return errors.New("models: empty name")
		}
	}
	k.limits = access.Limits{RPM: k.RPM, TPM: k.TPM, Concurrency: k.Concurrency, Budget: k.Budget, Period: k.BudgetPeriod}
	if k.User != "" {
		if k.Secret != "" {
			return errors.New("user and secret exclude each other")
		}
		if t.users[k.User] != nil {
			return fmt.Errorf("user %s has another key already", k.User)
		}
		t.users[k.User] = k
		return nil
	}
	secret := repl.ReplaceAll(k.Secret, "")
	if secret == "" {
		return errors.New("the secret is empty: is its placeholder set?")
	}
	return t.secrets.Add(secret, k)
}

// mayUse reports whether k's client may use model. Names are compared byte
// for byte, so a look-alike is another name.
func (k *Key) mayUse(model string) bool {
	if len(k.Models) == 0 {
		return true
	}
	for _, pattern := range k.Models {
		if matchGlob(pattern, model) {
			return true
		}
	}
	return false
}

// presented returns the credential that the client presents, and takes the
// query parameters that may carry one out of r. A request that presents two
// different ones is nobody's.
func presented(r *http.Request) (secret string, ok bool) {
	var buf [4]string
	ok = true
	for _, s := range adapter.Credentials(buf[:0], r.Header, r.URL.RawQuery) {
		if secret != "" && s != secret {
			ok = false
		}
		secret = s
	}
	r.URL.RawQuery = adapter.RemoveQueryCredentials(r.URL.RawQuery)
	return secret, ok
}

// authenticate finds the client's key. With no keys configured everybody is
// let in.
func (x *exchange) authenticate() (done bool, err error) {
	t := x.h.keys
	if t == nil {
		return false, nil
	}
	if repl, ok := x.r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok && len(t.users) > 0 {
		if user, ok := repl.GetString("http.auth.user.id"); ok && user != "" {
			if k := t.users[user]; k != nil {
				x.key = k
				return false, nil
			}
		}
	}
	secret, ok := presented(x.r)
	if ok {
		if k, found := t.secrets.Find(secret); found {
			x.key = k
			adapter.RemoveCredentials(x.r.Header) // it must not reach a provider
			return false, nil
		}
	}
	message := "the API key is not known here"
	if secret == "" {
		message = "an API key is required: Authorization: Bearer, x-api-key, api-key or x-goog-api-key"
	}
	return true, x.fail(gatewayError{http.StatusUnauthorized, codeUnknownKey, message})
}
