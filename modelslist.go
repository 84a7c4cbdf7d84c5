package llmgateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// Times and sizes of the lists of models that providers give.
const (
	modelListTTL     = 5 * time.Minute
	modelListTimeout = 10 * time.Second
	maxModelList     = 8 << 20 // bytes
)

// modelLists keeps what the providers list.
type modelLists struct {
	group singleflight.Group
	mu    sync.Mutex
	lists map[*Provider]modelList
	now   func() time.Time
}

type modelList struct {
	names   []string
	expires time.Time
}

// isModelsPath reports whether r asks for the list of models.
func isModelsPath(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/v1/models")
}

// listModels answers GET /v1/models with the models that are configured and
// that the key may use. Without providers, or with nothing configured and no
// restriction, the list is the upstream's own; then done is false.
func (x *exchange) listModels() (done bool, err error) {
	h := x.h
	if !isModelsPath(x.r) || len(h.Providers) == 0 || h.models.empty() && (x.key == nil || len(x.key.Models) == 0) {
		return false, nil
	}
	owners := make(map[string]string) // model -> provider
	add := func(name, owner string) {
		if _, ok := owners[name]; !ok && (x.key == nil || x.key.mayUse(name)) {
			owners[name] = owner
		}
	}
	for name, m := range h.models.exact {
		owner := h.Providers[0].Name
		if len(m.providers) > 0 {
			owner = m.providers[0].Name
		}
		add(name, owner)
	}
	globs := h.models.globs
	if h.models.empty() {
		globs = []modelGlob{{pattern: "*"}}
	}
	for _, g := range globs {
		providers := h.Providers
		if g.model != nil && len(g.model.providers) > 0 {
			providers = g.model.providers
		}
		for _, p := range providers {
			for _, name := range x.providerModels(p) {
				if matchGlob(g.pattern, name) {
					add(name, p.Name)
				}
			}
		}
	}
	body := openAIModels(owners)
	if x.r.Header.Get("Anthropic-Version") != "" {
		body = anthropicModels(owners)
	}
	x.tee.Header().Set("Content-Type", "application/json")
	x.tee.WriteHeader(http.StatusOK)
	_, err = x.tee.Write(body)
	return true, err
}

// providerModels is what p lists, from memory if it was asked lately. Requests
// that come at once share one call. A provider that does not answer lists
// nothing.
func (x *exchange) providerModels(p *Provider) []string {
	l := x.h.lists
	l.mu.Lock()
	list, ok := l.lists[p]
	l.mu.Unlock()
	if ok && l.now().Before(list.expires) {
		return list.names
	}
	names, err, _ := l.group.Do(p.Name, func() (any, error) {
		l.mu.Lock()
		list, ok := l.lists[p]
		l.mu.Unlock()
		if ok && l.now().Before(list.expires) {
			return list.names, nil
		}
		names, err := x.fetchModels(p)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		l.lists[p] = modelList{names, l.now().Add(modelListTTL)}
		l.mu.Unlock()
		return names, nil
	})
	if err != nil {
		x.h.logger.Warn("listing the models of a provider", zap.String("provider", p.Name), zap.Error(err))
		return list.names // what it listed before, if anything
	}
	return names.([]string)
}

// fetchModels asks p for its list, with its first healthy credential or the
// client's own.
func (x *exchange) fetchModels(p *Provider) ([]string, error) {
	cred := p.pool.Pick("", nil)
	if cred == nil {
		return nil, errors.New("no healthy credential")
	}
	// The answer is for everybody who waits, not only for this client.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.r.Context()), modelListTimeout)
	defer cancel()
	a := &attempt{x: x, provider: p, cred: cred}
	req, err := a.request(ctx)
	if err != nil {
		return nil, err
	}
	req.URL = &url.URL{Path: p.preset.Path(p.base, "/v1/models", adapter.Unknown), RawQuery: "limit=1000"}
	if p.preset.Name != "anthropic" {
		req.URL.RawQuery = ""
	}
	req.Method, req.Body, req.ContentLength = http.MethodGet, http.NoBody, 0
	w := &listWriter{header: make(http.Header)}
	began := time.Now()
	err = p.proxy.ServeHTTP(w, req, noNextHandler)
	p.pool.Report(cred, w.status, w.header, time.Since(began))
	if err != nil {
		return nil, err
	}
	if w.status != http.StatusOK {
		return nil, fmt.Errorf("status %d", w.status)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(w.body.Bytes(), &list); err != nil {
		return nil, fmt.Errorf("reading the list: %w", err)
	}
	var names []string
	for _, m := range list.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	return names, nil
}

// listWriter keeps a small answer.
type listWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

var errListTooLong = caddyhttp.Error(http.StatusBadGateway, errors.New("the list of models is too long"))

func (w *listWriter) Header() http.Header { return w.header }

func (w *listWriter) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
}

func (w *listWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(b) > maxModelList {
		return 0, errListTooLong
	}
	return w.body.Write(b)
}

func (w *listWriter) FlushError() error { return nil }

// openAIModels is the list in the shape of OpenAI.
func openAIModels(owners map[string]string) []byte {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	data := make([]model, 0, len(owners))
	for _, name := range sortedKeys(owners) {
		data = append(data, model{name, "model", 0, owners[name]})
	}
	return mustJSON(map[string]any{"object": "list", "data": data})
}

// anthropicModels is the list in the shape of Anthropic.
func anthropicModels(owners map[string]string) []byte {
	type model struct {
		Type        string `json:"type"`
		ID          string `json:"id"`
		DisplayName string `json:"display_name"`
		CreatedAt   string `json:"created_at"`
	}
	data := make([]model, 0, len(owners))
	for _, name := range sortedKeys(owners) {
		data = append(data, model{"model", name, name, "1970-01-01T00:00:00Z"})
	}
	list := map[string]any{"data": data, "has_more": false, "first_id": nil, "last_id": nil}
	if len(data) > 0 {
		list["first_id"], list["last_id"] = data[0].ID, data[len(data)-1].ID
	}
	return mustJSON(list)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
