package llmgateway

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/valkey-io/valkey-go"
	"go.uber.org/zap"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/access"
)

// LimitStore says where the counters of keys are kept. Keys of the same name
// that use the same store share their limits.
type LimitStore struct {
	// Kind is `memory`, `disk` (what was spent survives a restart) or `valkey`
	// (Redis works too; counters are shared by all gateways that use it, and
	// while it is down each counts on its own). Default: `disk` if a key has a
	// budget, else `memory`.
	Kind string `json:"kind,omitempty"`
	// Path is the file of `disk`. Default: llm_gateway/limits.db in Caddy's
	// data directory.
	Path string `json:"path,omitempty"`
	// URL is the server of `valkey`, for example redis://127.0.0.1:6379/0.
	URL string `json:"url,omitempty"`
}

var limitKinds = []string{"memory", "disk", "valkey"}

// limitPrefix is what the names of counters on a server start with.
const limitPrefix = "llm_gateway:limits:"

// limiters are the limiters of all configurations in this process.
var limiters = caddy.NewUsagePool()

// sharedLimiter is a limiter and what it is built on.
type sharedLimiter struct {
	limiter *access.Limiter
	journal *access.FileJournal
}

// Destruct implements caddy.Destructor.
func (s *sharedLimiter) Destruct() error {
	s.limiter.Close()
	if s.journal != nil {
		return s.journal.Close()
	}
	return nil
}

// provisionLimiter opens the limiter, or takes over the one of the
// configuration before.
func (h *Handler) provisionLimiter(repl *caddy.Replacer) error {
	store := LimitStore{}
	if h.Limits != nil {
		store = *h.Limits
	}
	if store.Kind == "" {
		store.Kind = "memory"
		if slices.ContainsFunc(h.Keys, func(k *Key) bool { return k.Budget > 0 }) {
			store.Kind = "disk"
		}
	}
	if !slices.Contains(limitKinds, store.Kind) {
		return fmt.Errorf("unknown store %q, expected memory, disk or valkey", store.Kind)
	}
	store.Path, store.URL = repl.ReplaceAll(store.Path, ""), repl.ReplaceAll(store.URL, "")
	if store.Kind == "disk" && store.Path == "" {
		store.Path = filepath.Join(caddy.AppDataDir(), "llm_gateway", "limits.db")
	}
	id := "llm_gateway limits " + store.Kind + " " + store.Path + " " + store.URL
	logger := caddy.Log().Named("http.handlers.llm_gateway")
	v, _, err := limiters.LoadOrNew(id, func() (caddy.Destructor, error) { return openLimiter(store, logger) })
	if err != nil {
		return err
	}
	h.limiterID, h.limiter = id, v.(*sharedLimiter).limiter
	return nil
}

// openLimiter opens a limiter on store.
func openLimiter(store LimitStore, logger *zap.Logger) (*sharedLimiter, error) {
	s := new(sharedLimiter)
	var journal access.Journal
	switch store.Kind {
	case "disk":
		var err error
		s.journal, err = access.OpenJournal(store.Path, func(err error) { logger.Error("limits: the journal", zap.Error(err)) })
		if err != nil {
			return nil, err
		}
		journal = s.journal
	case "valkey":
		options, err := valkey.ParseURL(store.URL)
		if err != nil {
			return nil, errors.New("valkey: " + expectedServer) // err shows the URL, and with it a password
		}
		options.DisableCache = true
		options.Dialer.Timeout = access.SharedTimeout
		s.limiter = access.NewLimiter(nil, time.Now)
		// Limits must hold although the server is away: it is tried again.
		s.limiter.Share(func() (valkey.Client, error) { return valkey.NewClient(options) }, limitPrefix, access.SharedTimeout, func(err error) {
			logger.Error("limits: the server cannot be reached; this process counts on its own", zap.Error(err))
		})
		return s, nil
	}
	s.limiter = access.NewLimiter(journal, time.Now)
	return s, nil
}

// closeLimiter gives the limiter back.
func (h *Handler) closeLimiter() error {
	if h.limiterID == "" {
		return nil
	}
	_, err := limiters.Delete(h.limiterID)
	return err
}

// parseLimits reads a limits subdirective:
//
//	limits memory
//	limits disk [<path>]
//	limits valkey <url>
func parseLimits(d *caddyfile.Dispenser, target **LimitStore) error {
	const expected = "memory, disk [<path>] or valkey <url>"
	args := d.RemainingArgs()
	if len(args) == 0 || !slices.Contains(limitKinds, args[0]) {
		return d.Errf("limits: expected %s", expected)
	}
	s := &LimitStore{Kind: args[0]}
	switch {
	case s.Kind == "disk" && len(args) <= 2:
		if len(args) == 2 {
			s.Path = args[1]
		}
	case s.Kind == "valkey" && len(args) == 2:
		s.URL = args[1]
	case s.Kind == "memory" && len(args) == 1:
	default:
		return d.Errf("limits: expected %s", expected)
	}
	if err := s.check(); err != nil {
		return d.WrapErr(err)
	}
	*target = s
	return nil
}
