package llmgateway

import (
	"errors"
	"fmt"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// Model are the settings for the models that Match names.
type Model struct {
	// Match are model names as clients send them. `*` stands for any run of
	// characters, `/` too. An exact name beats every pattern; patterns count
	// in the order of the configuration.
	Match []string `json:"match,omitempty"`

	// Optimize are the optimizers for these models, over those of the site.
	Optimize *Optimize `json:"optimize,omitempty"`

	// Cache is what holds for these models' answers, over that of the site.
	Cache *Cache `json:"cache,omitempty"`

	// Price is what these models' tokens cost.
	Price *Price `json:"price,omitempty"`

	// Providers are the names of the providers that serve these models, in the
	// order in which they are tried. Default: all that speak the wire format.
	Providers []string `json:"providers,omitempty"`

	// UpstreamModel is the provider's name for these models. It takes the
	// place of the client's in the request.
	UpstreamModel string `json:"upstream_model,omitempty"`

	// ResponseModel is `alias` to put the name that the client asked for in the
	// place of the provider's in answers, JSON and event streams. The rest of
	// an answer stays as it is. Default: `off`, answers are byte-identical.
	ResponseModel string `json:"response_model,omitempty"`

	// StreamUsage is `inject` or `off`, over that of the site.
	StreamUsage string `json:"stream_usage,omitempty"`

	settings  settings
	providers []*Provider
}

// modelTable finds the settings for a model name.
type modelTable struct {
	exact map[string]*Model
	globs []modelGlob
}

type modelGlob struct {
	pattern string
	model   *Model
}

// newModelTable resolves and checks models.
func newModelTable(models []*Model, repl *caddy.Replacer) (modelTable, error) {
	t := modelTable{exact: make(map[string]*Model)}
	for _, m := range models {
		var err error
		if m.settings, err = m.Optimize.settings(repl); err != nil {
			return t, fmt.Errorf("model %s: optimize: %w", strings.Join(m.Match, " "), err)
		}
		if len(m.Match) == 0 {
			return t, errors.New("model: match: at least one name expected")
		}
		for _, name := range m.Match {
			name = repl.ReplaceAll(name, "")
			if name == "" {
				return t, errors.New("model: match: empty name")
			}
			if strings.Contains(name, "*") {
				t.globs = append(t.globs, modelGlob{name, m})
				continue
			}
			if t.exact[name] != nil {
				return t, fmt.Errorf("model %s is configured more than once", name)
			}
			t.exact[name] = m
		}
	}
	return t, nil
}

// empty reports whether no model is configured, so that no name is needed.
func (t *modelTable) empty() bool { return len(t.exact) == 0 && len(t.globs) == 0 }

// find returns the settings for name and the configured name or pattern that
// matched, which is what metrics may show; nil and "" if there is none.
func (t *modelTable) find(name string) (*Model, string) {
	if m := t.exact[name]; m != nil {
		return m, name
	}
	for _, g := range t.globs {
		if matchGlob(g.pattern, name) {
			return g.model, g.pattern
		}
	}
	return nil, ""
}

// matchGlob reports whether name matches pattern, in which * stands for any
// run of bytes. Time is linear in len(pattern)*len(name) at worst.
func matchGlob(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
