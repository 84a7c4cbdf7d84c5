package llmgateway

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// routeID tells the places at which gateways stand apart: two routes of one
// site may lead to different upstreams, and neither's answers may be given for
// the other's requests. It is the same after a reload, and on every machine
// with the same configuration: the server's name, the handler's place in its
// routes, and the upstreams of the reverse proxies that stand with it.
type routeID struct {
	once sync.Once
	id   string
}

// of returns the identity of h's place.
func (r *routeID) of(h *Handler, req *http.Request) string {
	r.once.Do(func() {
		server, ok := req.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
		if ok {
			if place, ok := findHandler(server.Routes, h, ""); ok {
				r.id = server.Name() + place
				return
			}
		}
		// Inside of a module that keeps its routes to itself: a place of its
		// own, until the next reload.
		r.id = rand.Text()
	})
	return r.id
}

// findHandler returns the place of h in routes, with the upstreams of the
// innermost list of routes around it that proxies at all.
func findHandler(routes caddyhttp.RouteList, h *Handler, prefix string) (place string, ok bool) {
	for i := range routes {
		for j, handler := range routes[i].Handlers {
			here := fmt.Sprintf("%s/%d.%d", prefix, i, j)
			if handler == caddyhttp.MiddlewareHandler(h) {
				place, ok = here, true
			} else if sub, isSub := handler.(*caddyhttp.Subroute); isSub {
				place, ok = findHandler(sub.Routes, h, here)
			}
			if !ok {
				continue
			}
			if !strings.Contains(place, upstreamMark) {
				if upstreams := proxiesIn(routes); upstreams != "" {
					place += upstreamMark + upstreams
				}
			}
			return place, true
		}
	}
	return "", false
}

const upstreamMark = " -> "

// proxiesIn lists the upstreams of all reverse proxies below routes.
func proxiesIn(routes caddyhttp.RouteList) string {
	var b strings.Builder
	for i := range routes {
		for _, handler := range routes[i].Handlers {
			switch next := handler.(type) {
			case *reverseproxy.Handler:
				for _, u := range next.Upstreams {
					b.WriteString(u.Dial + " ")
				}
				if next.DynamicUpstreams != nil {
					fmt.Fprintf(&b, "%T ", next.DynamicUpstreams)
				}
				if next.Rewrite != nil {
					b.WriteString(next.Rewrite.URI + " ")
				}
			case *caddyhttp.Subroute:
				b.WriteString(proxiesIn(next.Routes))
			}
		}
	}
	return b.String()
}
