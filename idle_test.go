package llmgateway_test

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	llmgateway "github.com/caddy-llm-gateway/caddy-llm-gateway"
)

// TestLongIdle really waits: a connection to a provider that was idle for 6 s,
// or for a minute, is used again. It runs when CI=true, or when it is asked for
// by name.
func TestLongIdle(t *testing.T) {
	if os.Getenv("CI") != "true" && !strings.Contains(flag.Lookup("test.run").Value.String(), "LongIdle") {
		t.Skip("takes a minute of waiting; TestProviderTransport looks at the configuration")
	}
	type leg struct {
		name  string
		proto int
		idle  time.Duration
		conns *atomic.Int64
	}
	var legs []leg
	var site strings.Builder
	for _, proto := range []int{1, 2} {
		for _, idle := range []time.Duration{6 * time.Second, time.Minute} {
			l := leg{fmt.Sprintf("http%d-%.0fs", proto, idle.Seconds()), proto, idle, new(atomic.Int64)}
			upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if r.ProtoMajor != proto {
					t.Errorf("%s: the request came by %s", l.name, r.Proto)
				}
				io.WriteString(w, "{}")
			}))
			upstream.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					l.conns.Add(1)
				}
			}
			upstream.EnableHTTP2 = proto == 2
			upstream.StartTLS()
			t.Cleanup(upstream.Close)
			legs = append(legs, l)
			fmt.Fprintf(&site, "provider %s %s {\ntransport http {\ntls_insecure_skip_verify\n}\n}\nmodel %[1]s {\nprovider %[1]s\n}\n", l.name, upstream.URL)
		}
	}
	base := serve(t, "llm_gateway {\n"+site.String()+"}")
	var wg sync.WaitGroup
	for _, l := range legs {
		wg.Go(func() {
			body := strings.Replace(smallChat, "gpt-5-mini", l.name, 1)
			for i := range 2 {
				if i > 0 {
					<-time.After(l.idle)
				}
				if res, answer := post(t, base+"/v1/chat/completions", body); res.StatusCode != http.StatusOK {
					t.Errorf("%s: %d %s", l.name, res.StatusCode, answer)
				}
			}
			if n := l.conns.Load(); n != 1 {
				t.Errorf("%s: %d connections for two requests", l.name, n)
			}
		})
	}
	wg.Wait()
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
