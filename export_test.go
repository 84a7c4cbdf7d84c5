package llmgateway

import (
	"reflect"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/stats"
)

// AdminFields are the names of the fields that each part of the admin API may
// answer, by the heading under which the README documents them.
func AdminFields() map[string]map[string]bool {
	out := make(map[string]map[string]bool)
	for heading, types := range map[string][]any{
		"GET stats":     {stats.Summary{}},
		"Totals":        {stats.Point{}, stats.Row{}, stats.Totals{}, stats.Percentiles{}},
		"GET requests":  {stats.Sample{}, stats.Applied{}},
		"GET live":      {view{}},
		"GET cache":     {cacheView{}, cache.Stats{}},
		"GET keys":      {keyView{}},
		"GET providers": {providerView{}, provider.State{}},
		"GET guard":     {guardView{}},
		"Changes":       {removedView{}, restoredView{}},
	} {
		names := make(map[string]bool)
		for _, v := range types {
			for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name != "" {
					names[name] = true
				}
			}
		}
		out[heading] = names
	}
	return out
}

// ServeAdmin answers a request to the admin API without Caddy around it.
var ServeAdmin = serveAdmin
