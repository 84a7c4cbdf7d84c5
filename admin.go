package llmgateway

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/stats"
)

func init() {
	caddy.RegisterModule(adminAPI{})
}

// adminAPI serves the gateway's part of Caddy's admin endpoint. Who may reach
// it is Caddy's decision, as for the rest of the endpoint.
type adminAPI struct{}

// CaddyModule returns the Caddy module information.
func (adminAPI) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "admin.api.llm_gateway",
		New: func() caddy.Module { return new(adminAPI) },
	}
}

// adminPath is where the API and the dashboard are.
const adminPath = "/llm_gateway/"

// Routes implements caddy.AdminRouter.
func (adminAPI) Routes() []caddy.AdminRoute {
	return []caddy.AdminRoute{{Pattern: adminPath, Handler: caddy.AdminHandlerFunc(serveAdmin)}}
}

// adminEndpoint is one row of the API.
type adminEndpoint struct {
	method, path string
	serve        func(http.ResponseWriter, *http.Request) error
}

// adminEndpoints are the API; a path that ends with a slash takes one more
// segment.
func adminEndpoints() []adminEndpoint {
	return []adminEndpoint{
		{http.MethodGet, "", serveDashboard},
		{http.MethodGet, "stats", serveStats},
		{http.MethodGet, "live", serveLive},
		{http.MethodGet, "requests", serveRequests},
		{http.MethodGet, "cache", serveCacheStats},
		{http.MethodDelete, "cache", purgeCache},
		{http.MethodGet, "keys", serveKeys},
		{http.MethodGet, "guard", serveGuard},
		{http.MethodGet, "originals/", serveOriginal},
		{http.MethodGet, "providers", serveProviders},
		{http.MethodPost, "providers/", restoreProvider},
	}
}

// serveAdmin finds the endpoint and checks the method.
func serveAdmin(w http.ResponseWriter, r *http.Request) error {
	path := strings.TrimPrefix(r.URL.Path, adminPath)
	var allowed []string
	for _, e := range adminEndpoints() {
		prefix, isPrefix := strings.CutSuffix(e.path, "/")
		if path != e.path && !(isPrefix && strings.HasPrefix(path, prefix+"/") && len(path) > len(prefix)+1) {
			continue
		}
		if r.Method == e.method || e.method == http.MethodGet && r.Method == http.MethodHead {
			return e.serve(w, r)
		}
		allowed = append(allowed, e.method)
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return caddy.APIError{HTTPStatus: http.StatusMethodNotAllowed, Err: fmt.Errorf("method %s is not allowed, expected %s", r.Method, strings.Join(allowed, " or "))}
	}
	return caddy.APIError{HTTPStatus: http.StatusNotFound, Err: fmt.Errorf("nothing at %s", r.URL.Path)}
}

// badQuery is an error in the request's parameters.
func badQuery(format string, args ...any) error {
	return caddy.APIError{HTTPStatus: http.StatusBadRequest, Err: fmt.Errorf(format, args...)}
}

// writeJSON answers v.
func writeJSON(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return json.NewEncoder(w).Encode(v)
}

//go:embed dashboard
var dashboardFiles embed.FS

// serveDashboard serves the one page; it needs nothing else from anywhere.
func serveDashboard(w http.ResponseWriter, _ *http.Request) error {
	page, err := dashboardFiles.ReadFile("dashboard/index.html")
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	// Caddy's admin endpoint answers a browser only if it says where it comes
	// from, and for the page's own GET requests that is the Referer.
	h.Set("Referrer-Policy", "same-origin")
	_, err = w.Write(page)
	return err
}

// maxRange is as far back as figures are kept.
const maxRange = 30 * 24 * time.Hour

// rangeAndFilter reads range, model, provider, key and no_key.
func rangeAndFilter(q url.Values) (time.Duration, stats.Filter, error) {
	span := time.Hour
	if v := q.Get("range"); v != "" {
		var err error
		if span, err = caddy.ParseDuration(v); err != nil || span < time.Minute || span > maxRange {
			return 0, stats.Filter{}, badQuery("range: expected 1m to 30d, got %q", v)
		}
	}
	f := stats.Filter{Model: q.Get("model"), Provider: q.Get("provider"), Key: q.Get("key")}
	switch v := q.Get("no_key"); v {
	case "", "false":
	case "true":
		f.NoKey = true
	default:
		return 0, stats.Filter{}, badQuery("no_key: expected true or false, got %q", v)
	}
	if f.NoKey && f.Key != "" {
		return 0, stats.Filter{}, badQuery("expected key= or no_key=true, got both")
	}
	return span, f, nil
}

// serveStats answers a stats.Summary.
func serveStats(w http.ResponseWriter, r *http.Request) error {
	span, filter, err := rangeAndFilter(r.URL.Query())
	if err != nil {
		return err
	}
	return writeJSON(w, observatory.Summarize(span, filter))
}

// liveEvery is the shortest time between two events of the live stream.
const liveEvery = time.Second

// liveKeepAlive is how often the live stream sends something when nothing
// happens, so that a dead connection is noticed.
const liveKeepAlive = 20 * time.Second

// stopping are the servers of the admin endpoint that live streams are on, and
// for each a channel that is closed when it shuts down. Caddy starts another
// server with every configuration, and the old one waits for its requests.
var stopping sync.Map // *http.Server -> chan struct{}

// shutdown is closed when the server that serves r shuts down.
func shutdown(r *http.Request) <-chan struct{} {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return nil
	}
	done, known := stopping.LoadOrStore(server, make(chan struct{}))
	if !known {
		// Caddy may shut one server down twice, after a reload and at its end.
		server.RegisterOnShutdown(sync.OnceFunc(func() {
			stopping.Delete(server)
			close(done.(chan struct{}))
		}))
	}
	return done.(chan struct{})
}

// view is everything that the dashboard shows.
type view struct {
	Stats     stats.Summary  `json:"stats"`
	Requests  []stats.Sample `json:"requests"`
	Providers []providerView `json:"providers"`
	Cache     []cacheView    `json:"cache"`
	Guard     []guardView    `json:"guard"`
}

// livePoints is how many points of time a chart has room for.
const livePoints = 120

// serveLive sends the view as server-sent events whenever something happened.
func serveLive(w http.ResponseWriter, r *http.Request) error {
	span, filter, err := rangeAndFilter(r.URL.Query())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(w).Flush
	over := shutdown(r)
	for {
		changed := observatory.Changed()
		data, err := json.Marshal(view{observatory.Summarize(span, filter).Coarsen(livePoints), observatory.Recent(50, filter), providerViews(), cacheViews(), guardViews()})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
			return nil // the browser is gone
		}
		if flush() != nil {
			return nil
		}
		pause := time.NewTimer(liveEvery)
		select {
		case <-r.Context().Done():
			pause.Stop()
			return nil
		case <-over:
			pause.Stop()
			return nil
		case <-pause.C:
		}
		idle := time.NewTimer(liveKeepAlive)
		select {
		case <-r.Context().Done():
			idle.Stop()
			return nil
		case <-over:
			idle.Stop()
			return nil
		case <-changed:
		case <-idle.C:
		}
		idle.Stop()
	}
}

// serveRequests answers the last requests, the newest first.
func serveRequests(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	n := 50
	if v := q.Get("n"); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil || n < 1 {
			return badQuery("n: expected a number of at least 1, got %q", v)
		}
	}
	_, filter, err := rangeAndFilter(q)
	if err != nil {
		return err
	}
	return writeJSON(w, observatory.Recent(n, filter))
}

// cacheView is one cache.
type cacheView struct {
	// Name is stable across configurations and shows no secret.
	Name string `json:"name"`
	cache.Stats
}

func cacheViews() []cacheView {
	out := []cacheView{}
	caches.Range(func(key, value any) bool {
		if c, ok := value.(*cache.Cache); ok {
			out = append(out, cacheView{key.(string), c.Stats()})
		}
		return true
	})
	slices.SortFunc(out, func(a, b cacheView) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// serveCacheStats answers the caches' figures.
func serveCacheStats(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, cacheViews())
}

// removedView says how many stored answers were removed.
type removedView struct {
	Removed int `json:"removed"`
}

// purgeCache removes stored answers: ?all=true, or those of a ?model=,
// ?namespace= or ?key= (each narrows the choice).
func purgeCache(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	p := cache.Purge{All: q.Get("all") == "true", Model: q.Get("model")}
	if q.Has("namespace") {
		ns := q.Get("namespace")
		p.Namespace = &ns
	}
	key := q.Get("key")
	if p.All == (p.Model != "" || p.Namespace != nil || key != "") {
		return badQuery("purge: expected all=true, or model=, namespace= or key=")
	}
	removed := 0
	var errs []error
	caches.Range(func(_, value any) bool {
		c, ok := value.(*cache.Cache)
		if !ok {
			return true
		}
		own := p
		if key != "" {
			tenant := c.KeyTenant(key)
			own.Tenant = &tenant
		}
		n, err := c.Purge(r.Context(), own)
		removed += max(n, 0)
		errs = append(errs, err)
		return true
	})
	if err := errors.Join(errs...); err != nil {
		return caddy.APIError{HTTPStatus: http.StatusInternalServerError, Err: err}
	}
	return writeJSON(w, removedView{removed})
}

// keyView is one virtual key; its secret is not known here.
type keyView struct {
	Name         string   `json:"name"`
	User         string   `json:"user,omitempty"`
	Models       []string `json:"models,omitempty"`
	RPM          int      `json:"rpm,omitempty"`
	TPM          int      `json:"tpm,omitempty"`
	Concurrency  int      `json:"concurrency,omitempty"`
	BudgetUSD    float64  `json:"budget_usd,omitempty"`
	BudgetPeriod string   `json:"budget_period,omitempty"`
	SpentUSD     float64  `json:"spent_usd"`
}

// serveKeys answers the keys with what they spent.
func serveKeys(w http.ResponseWriter, r *http.Request) error {
	out := []keyView{}
	for _, h := range instances.list() {
		for _, k := range h.Keys {
			v := keyView{Name: k.Name, User: k.User, Models: k.Models, RPM: k.RPM, TPM: k.TPM, Concurrency: k.Concurrency, BudgetUSD: k.Budget}
			if k.Budget > 0 {
				v.BudgetPeriod = string(k.BudgetPeriod)
			}
			v.SpentUSD = h.limiter.Spent(r.Context(), k.Name, k.BudgetPeriod)
			out = append(out, v)
		}
	}
	return writeJSON(w, out)
}

// providerView is one provider and the health of its credentials.
type providerView struct {
	Name        string           `json:"name"`
	Format      string           `json:"format"`
	URLs        []string         `json:"urls"`
	Strategy    string           `json:"strategy"`
	Credentials []provider.State `json:"credentials"`
}

func providerViews() []providerView {
	out := []providerView{}
	for _, h := range instances.list() {
		for _, p := range h.Providers {
			out = append(out, providerView{p.Name, p.preset.Name, p.URLs, string(p.Strategy), p.pool.States()})
		}
	}
	return out
}

// serveProviders answers the providers.
func serveProviders(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, providerViews())
}

// restoredView says how many credentials were not healthy and are now.
type restoredView struct {
	Restored int `json:"restored"`
}

// restoreProvider makes credentials healthy again:
// POST providers/<name>/restore[?credential=<label>].
func restoreProvider(w http.ResponseWriter, r *http.Request) error {
	name, action, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, adminPath+"providers/"), "/")
	if action != "restore" {
		return caddy.APIError{HTTPStatus: http.StatusNotFound, Err: errors.New("expected providers/<name>/restore")}
	}
	found, restored := false, 0
	for _, h := range instances.list() {
		for _, p := range h.Providers {
			if p.Name != name {
				continue
			}
			found = true
			for _, s := range p.pool.States() {
				if label := r.URL.Query().Get("credential"); label == "" || label == s.Label {
					restored += p.pool.Restore(s.Label)
				}
			}
		}
	}
	if !found {
		return caddy.APIError{HTTPStatus: http.StatusNotFound, Err: fmt.Errorf("provider %q is not configured", name)}
	}
	return writeJSON(w, restoredView{restored})
}

// Interface guards
var _ caddy.AdminRouter = (*adminAPI)(nil)
