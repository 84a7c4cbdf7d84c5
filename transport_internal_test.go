package llmgateway

import (
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// ProviderTransport is the HTTP transport below the reverse proxy of the
// provider called name in the configuration that runs, nil if there is none.
func ProviderTransport(name string) *http.Transport {
	for _, h := range instances.list() {
		for _, p := range h.Providers {
			if p.Name != name {
				continue
			}
			inner, ok := p.proxy.(*reverseproxy.Handler).Transport.(*providerTransport).RoundTripper.(*reverseproxy.HTTPTransport)
			if ok {
				return inner.Transport
			}
		}
	}
	return nil
}
