package llmgateway_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/caddy-llm-gateway/caddy-llm-gateway"
)

// serve runs a real Caddy with the given site block (without its address) on
// a loopback port until the test ends and returns its base URL. Global
// options may be given in front, in braces. Caddy is one per process, so
// tests that use it do not run in parallel.
func serve(t testing.TB, site string) string {
	t.Helper()
	base, _ := serveOptions(t, "", site)
	return base
}

// serveOptions is serve with further global options; it also returns a
// function that loads another site block in place of the first.
func serveOptions(t testing.TB, options, site string) (string, func(site string) error) {
	return serveScheme(t, "http", "auto_https off\n\t"+options, site)
}

// serveTLS is serve over HTTPS with a certificate of Caddy's own CA. The
// client speaks HTTP/2 where h2 is set.
func serveTLS(t testing.TB, h2 bool, site string) (string, *http.Client) {
	t.Helper()
	base, _ := serveScheme(t, "https", "auto_https disable_redirects\n\tskip_install_trust\n\tlocal_certs\n\tdefault_sni 127.0.0.1", site)
	// The CA is made for the test and dies with it.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: h2}
	t.Cleanup(transport.CloseIdleConnections)
	// Caddy obtains the certificate after it has loaded.
	for deadline := time.Now().Add(20 * time.Second); ; {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(base, "https://"), transport.TLSClientConfig)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no certificate: %v", err)
		}
		runtime.Gosched()
	}
	return base, &http.Client{Transport: transport}
}

func serveScheme(t testing.TB, scheme, options, site string) (string, func(site string) error) {
	t.Helper()
	port := freePort(t)
	// Not t.TempDir: certificate maintenance may still write while it ends.
	dir, err := os.MkdirTemp("", "llm-gateway-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	loads := 0
	load := func(site string) error {
		// Another host of the same server says which configuration answers.
		loads++
		if scheme == "http" {
			site += fmt.Sprintf("\n}\nhttp://%s:%d {\nrespond %d", loadedHost, port, loads)
		}
		config := fmt.Sprintf("{\n\tadmin off\n\tpersist_config off\n\tgrace_period 1s\n\tstorage file_system %s\n\t%s\n}\n%s://127.0.0.1:%d {\n%s\n}\n",
			dir, options, scheme, port, site)
		adapter := caddyconfig.GetAdapter("caddyfile")
		json, warnings, err := adapter.Adapt([]byte(config), map[string]any{"filename": "Caddyfile"})
		if err != nil {
			return err
		}
		for _, w := range warnings {
			if !strings.Contains(w.Message, "not formatted") {
				return fmt.Errorf("warning: %s", w)
			}
		}
		defer func() { loadedAt.Store(time.Now().UnixNano()) }()
		if err := caddy.Load(json, true); err != nil || loads == 1 || scheme != "http" {
			return err
		}
		return awaitLoaded(t, port, loads)
	}
	if err := load(site); err != nil {
		t.Fatalf("loading: %v", err)
	}
	t.Cleanup(func() {
		if err := caddy.Stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port), load
}

// loadedHost is where a server under test tells the number of its configuration.
const loadedHost = "loaded.test"

// awaitLoaded waits until only the configuration of that number answers. Caddy
// returns from a reload when the servers before begin to shut down; until they
// have closed their sockets, the system gives them new connections, too.
func awaitLoaded(t testing.TB, port, number int) error {
	t.Helper()
	inARow := 0
	await(t, func() (int, bool) {
		req, _ := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", port), nil)
		req.Host = loadedHost
		inARow++
		res, err := oneShot.Do(req)
		if err != nil { // reset by the server that shuts down
			inARow = 0
			return 0, false
		}
		defer res.Body.Close()
		if body, err := io.ReadAll(res.Body); err != nil || string(body) != fmt.Sprint(number) {
			inARow = 0
		}
		return inARow, inARow == 12
	})
	if inARow != 12 {
		return fmt.Errorf("configuration %d does not answer", number)
	}
	return nil
}

// freePort finds a loopback port that nobody listens on.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// recorded is one request as the upstream saw it.
type recorded struct {
	method string
	uri    string
	header http.Header
	body   []byte
	length int64
}

// recorder is an upstream that keeps what it receives.
type recorder struct {
	*httptest.Server
	mu       sync.Mutex
	requests []recorded
}

// record starts an upstream that answers with answer, or with a small chat
// completion if that is nil.
func record(t testing.TB, answer http.HandlerFunc) *recorder {
	t.Helper()
	rec := new(recorder)
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("upstream: reading the request: %v", err)
		}
		rec.mu.Lock()
		rec.requests = append(rec.requests, recorded{r.Method, r.RequestURI, r.Header.Clone(), body, r.ContentLength})
		rec.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	t.Cleanup(rec.Close)
	return rec
}

// take returns what was received so far and forgets it.
func (rec *recorder) take() []recorded {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	out := rec.requests
	rec.requests = nil
	return out
}

// loadedAt is when a configuration was loaded last. On Linux every server has a
// socket of its own on the port, and closing the old one resets connections
// that it has not accepted yet; Caddy does that in the background.
var loadedAt atomic.Int64

// resetByReload reports whether err is such a reset.
func resetByReload(err error) bool {
	recent := time.Since(time.Unix(0, loadedAt.Load())) < 3*time.Second
	return recent && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed))
}

// oneShot uses each connection once: a server that goes at a reload closes its
// idle connections, and a POST that meets a closing one fails.
var oneShot = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

var names atomic.Int64

// unique returns name with a suffix that no other call in this process got,
// for what is counted for as long as the process lives.
func unique(name string) string { return fmt.Sprintf("%s-%d", name, names.Add(1)) }

// await asks look until it is content, or for 20 seconds, and returns what it
// saw last. A client has its answer before the exchange has come to its end,
// and so before it is counted.
func await[T any](t testing.TB, look func() (T, bool)) T {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
		if got, done := look(); done || time.Now().After(deadline) {
			return got
		}
	}
}

// post sends body and returns the response with its body read.
func post(t testing.TB, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := oneShot.Do(req)
	if err != nil && resetByReload(err) {
		return post(t, url, body, header...)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(out)
}
