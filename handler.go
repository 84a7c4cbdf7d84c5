package llmgateway

import (
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// ServeHTTP is the request's way through the gateway. What is not a model
// request (files, audio, GET, multipart, websockets, ...) goes to the next
// handler untouched and unbuffered.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	asked, warning := takeOverrides(r.Header, h.overrides)
	x := h.newExchange(w, r, endpointOf(r))
	x.sessionHeader, x.cacheAsked = asked.session, asked.cache
	defer x.end()
	if done, err := x.authenticate(); done {
		return err
	}
	if x.format == adapter.Unknown {
		if done, err := x.admit(); done {
			return err
		}
		if done, err := x.listModels(); done {
			return err
		}
		if done, err := x.countTokens(); done {
			return err
		}
		return x.passThrough(next)
	}
	if done, err := x.readBody(); done {
		return err
	}
	x.identify()
	if done, err := x.admit(); done {
		return err
	}
	x.choose(asked.settings, warning)
	x.captureRequest()
	x.beforeRequest()
	x.planUsage()
	if done, err := x.lookup(); done {
		return err
	}
	x.optimize()
	x.renameModel()
	x.injectUsage()
	x.captureSent()
	x.setBody()
	err := x.forward(next)
	x.finish(err)
	return err
}

// endpointOf tells which wire format r is for, by method and path. The body
// has the last word.
func endpointOf(r *http.Request) adapter.Format {
	if r.Method != http.MethodPost || r.Header.Get("Upgrade") != "" {
		return adapter.Unknown
	}
	return adapter.Detect(r.URL.Path)
}
