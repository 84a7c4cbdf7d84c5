package llmgateway_test

import (
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	llmgateway "github.com/caddy-llm-gateway/caddy-llm-gateway"
)

// TestLongIdle really waits: a connection to a provider that was idle for 6 s
// is used again. It runs when CI=true, or when it is asked for by name.
func TestLongIdle(t *testing.T) {
	if os.Getenv("CI") != "true" && !strings.Contains(flag.Lookup("test.run").Value.String(), "LongIdle") {
		t.Skip("takes 6 s of waiting; TestProviderTransport looks at the configuration")
	}
	var conns atomic.Int64
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "{}")
	}))
	upstream.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	upstream.Start()
	defer upstream.Close()
	base := serve(t, "llm_gateway {\nprovider one "+upstream.URL+"\n}")
	post(t, base+"/v1/chat/completions", smallChat)
	<-time.After(6 * time.Second)
	post(t, base+"/v1/chat/completions", smallChat)
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for two requests", n)
	}
}

// TestProviderTransport looks at the transports that providers end up with:
// connections that were idle for a minute are used again. A user's own value
// counts, without taking the other defaults away.
func TestProviderTransport(t *testing.T) {
	serve(t, `llm_gateway {
		provider plain http://127.0.0.1:1
		provider tls https://127.0.0.1:1
		provider own http://127.0.0.1:1 {
			transport http {
				keepalive 75s
			}
		}
		provider other http://127.0.0.1:1 {
			transport http {
				dial_timeout 3s
			}
		}
	}`)
	for name, idle := range map[string]time.Duration{"plain": 90 * time.Second, "tls": 90 * time.Second, "own": 75 * time.Second, "other": 90 * time.Second} {
		transport := llmgateway.ProviderTransport(name)
		if transport == nil {
			t.Fatalf("%s has no HTTP transport", name)
		}
		if transport.IdleConnTimeout != idle || transport.DisableKeepAlives || transport.MaxIdleConns != 512 || transport.MaxIdleConnsPerHost != 128 {
			t.Errorf("%s: idle for %v, %d of %d, off: %v", name, transport.IdleConnTimeout, transport.MaxIdleConnsPerHost, transport.MaxIdleConns, transport.DisableKeepAlives)
		}
	}
}
