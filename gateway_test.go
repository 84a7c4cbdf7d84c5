package llmgateway_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// goTestRun is the output of a long test run with one failure in the middle.
func goTestRun(lines int) string {
	var b strings.Builder
	for i := range lines {
		if i == lines/2 {
			b.WriteString("--- FAIL: TestLedgerClose (0.01s)\n    ledger_test.go:88: got 4107, want 4170\nFAIL\nFAIL\texample.test/shop/ledger\t0.213s\n")
		}
		fmt.Fprintf(&b, "ok  \texample.test/shop/pkg%04d\t0.%03ds\n", i, i%1000)
	}
	b.WriteString("FAIL")
	return b.String()
}

// chatWithToolResult is a chat request whose last message is the output of a
// shell command.
func chatWithToolResult(command, output string) string {
	quote := func(s string) string {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			panic(err)
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	return `{"model":"gpt-5-mini", "temperature": 1.0e0,"x_unknown":[1,2,{"a":null}],"messages":[{"role":"user","content":"Run it."},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"shell","arguments":` + quote(`{"command":`+quote(command)+`}`) + `}}]},` +
		`{"role":"tool","tool_call_id":"call_1","content":` + quote(output) + `}]}`
}

// TestNothingApplies sends bodies that no optimizer may touch: they arrive
// byte for byte, with the right length.
func TestNothingApplies(t *testing.T) {
	rec := record(t, nil)
	base := serve(t, "llm_gateway {\noptimize rtk aggressive\noptimize headroom aggressive\noptimize reasoning high\n}\nreverse_proxy "+rec.URL)
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	for name, tc := range map[string]struct{ path, body string }{
		"small chat":         {"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`},
		"odd white space":    {"/v1/chat/completions", " \n{ \"model\" :\t\"m\" ,\"messages\":[ ] }\r\n "},
		"invalid JSON":       {"/v1/chat/completions", `{"model":"m","messages":[`},
		"empty":              {"/v1/messages", ""},
		"not an object":      {"/v1/messages", `[1,2,3]`},
		"binary":             {"/v1/chat/completions", "\x00\xff\xfe\x80"},
		"duplicate messages": {"/v1/chat/completions", `{"model":"m","messages":[],"messages":[{"role":"user","content":"x"}]}`},
		"too deep":           {"/v1/chat/completions", `{"model":"m","messages":[],"x":` + deep + `}`},
		"null messages":      {"/v1/messages", `{"model":"m","messages":null}`},
		"numbers":            {"/v1/embeddings", `{"model":"m","input":[1e400,-0.0,12345678901234567890]}`},
		"lone surrogate":     {"/v1/responses", `{"model":"m","input":"\ud800\/<\u003c>"}`},
		"not a model path":   {"/v1/files", chatWithToolResult("go test ./...", goTestRun(900))},
		"count tokens":       {"/v1/messages/count_tokens", chatWithToolResult("go test ./...", goTestRun(900))},
	} {
		t.Run(name, func(t *testing.T) {
			res, _ := post(t, base+tc.path, tc.body)
			got := rec.take()
			if len(got) != 1 {
				t.Fatalf("the upstream got %d requests", len(got))
			}
			if string(got[0].body) != tc.body {
				t.Errorf("the upstream got %q, want %q", got[0].body, tc.body)
			}
			if got[0].length != int64(len(tc.body)) {
				t.Errorf("Content-Length %d for %d bytes", got[0].length, len(tc.body))
			}
			if a := res.Header.Get("X-Gateway-Applied"); a != "" {
				t.Errorf("claims to have applied %s", a)
			}
		})
	}
}

// TestContentEncoding sends compressed bodies.
func TestContentEncoding(t *testing.T) {
	rec := record(t, nil)
	base := serve(t, "llm_gateway {\noptimize rtk standard\nmax_body 2MiB\n}\nreverse_proxy "+rec.URL)
	compress := map[string]func(io.Writer) io.WriteCloser{
		"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"zstd":    func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
		"x-raw":   func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 6); return z },
	}
	pack := func(t *testing.T, coding, body string) string {
		var b bytes.Buffer
		z := compress[coding](&b)
		io.WriteString(z, body)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	body := chatWithToolResult("go test ./...", goTestRun(900))
	post(t, base+"/v1/chat/completions", body)
	want := string(rec.take()[0].body)
	bomb := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("a", 3<<20) + `"}]}`
	for coding := range compress {
		name := strings.Replace(coding, "x-raw", "deflate", 1)
		t.Run(coding, func(t *testing.T) {
			post(t, base+"/v1/chat/completions", pack(t, coding, body), "Content-Encoding", name)
			got := rec.take()
			if len(got) != 1 || string(got[0].body) != want {
				t.Fatalf("not the same as uncompressed")
			}
			if e := got[0].header.Get("Content-Encoding"); e != "" {
				t.Errorf("Content-Encoding %s for a plain body", e)
			}
			res, answer := post(t, base+"/v1/chat/completions", pack(t, coding, bomb), "Content-Encoding", name)
			if res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(answer, `"body_too_large"`) {
				t.Errorf("bomb: %d %s", res.StatusCode, answer)
			}
			if len(rec.take()) != 0 {
				t.Errorf("the bomb reached the upstream")
			}
		})
	}
	t.Run("two codings", func(t *testing.T) {
		post(t, base+"/v1/chat/completions", pack(t, "br", pack(t, "gzip", body)), "Content-Encoding", "gzip, br")
		if got := rec.take(); string(got[0].body) != want {
			t.Error("not the same as uncompressed")
		}
	})
	for name, tc := range map[string]struct{ coding, body string }{
		"unknown coding": {"snappy", body},
		"broken gzip":    {"gzip", "\x1f\x8bnot gzip"},
		"cut gzip":       {"gzip", pack(t, "gzip", body)[:200]},
	} {
		t.Run(name, func(t *testing.T) {
			post(t, base+"/v1/chat/completions", tc.body, "Content-Encoding", tc.coding)
			got := rec.take()
			if len(got) != 1 || string(got[0].body) != tc.body || got[0].header.Get("Content-Encoding") != tc.coding {
				t.Errorf("did not pass as it came")
			}
		})
	}
}

// TestMaxBody streams a body over the limit on, unchanged and unbuffered.
func TestMaxBody(t *testing.T) {
	first := make(chan string, 1)
	done := make(chan int64, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 10)
		io.ReadFull(r.Body, buf)
		first <- string(buf)
		n, _ := io.Copy(io.Discard, r.Body)
		done <- n + 10
	}))
	defer upstream.Close()
	base := serve(t, "llm_gateway {\noptimize rtk standard\nmax_body 4KiB\n}\nreverse_proxy "+upstream.URL)
	for _, length := range []int64{-1, 100_000} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			pr, pw := io.Pipe()
			req, _ := http.NewRequest(http.MethodPost, base+"/v1/chat/completions", pr)
			req.ContentLength = length
			answered := make(chan error, 1)
			go func() {
				res, err := http.DefaultClient.Do(req)
				if err == nil {
					res.Body.Close()
					if got := res.Header.Get("X-Gateway-Skipped"); got != "body larger than max_body" {
						t.Errorf("X-Gateway-Skipped: %q", got)
					}
				}
				answered <- err
			}()
			// The rest is written only once the upstream has seen the beginning.
			io.WriteString(pw, `{"model":"`+strings.Repeat("m", 9_990))
			if got := <-first; got != `{"model":"` {
				t.Errorf("the upstream got %q", got)
			}
			io.WriteString(pw, strings.Repeat("x", 90_000))
			pw.Close()
			if n := <-done; n != 100_000 {
				t.Errorf("the upstream got %d bytes", n)
			}
			if err := <-answered; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUpstreamUnreachable answers in the client's dialect.
func TestUpstreamUnreachable(t *testing.T) {
	base := serve(t, fmt.Sprintf("llm_gateway {\noptimize rtk standard\n}\nreverse_proxy 127.0.0.1:%d", freePort(t)))
	for path, want := range map[string]string{
		"/v1/chat/completions": `"code":"upstream_unreachable"`,
		"/v1/messages":         `"type":"error"`,
	} {
		res, body := post(t, base+path, `{"model":"m","messages":[{"role":"user","content":"x"}]}`)
		if res.StatusCode != http.StatusBadGateway || !strings.Contains(body, want) || !strings.Contains(body, "connection refused") {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
		if !json.Valid([]byte(body)) {
			t.Errorf("%s: not JSON: %s", path, body)
		}
	}
}

// TestMemory holds 12 requests of 4 MiB at an upstream that has answered its
// headers, and counts what the gateway holds before and after.
func TestMemory(t *testing.T) {
	const size, n = 4 << 20, 12
	read := make(chan struct{}, n)
	answer := make(chan struct{})
	finish := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.CopyBuffer(io.Discard, struct{ io.Reader }{io.LimitReader(r.Body, size-1)}, make([]byte, 32<<10))
		read <- struct{}{}
		<-answer
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-finish
	}))
	defer upstream.Close()
	base := serve(t, "llm_gateway {\noptimize rtk standard\noptimize headroom balanced\n}\nreverse_proxy "+upstream.URL)
	noise := make([]byte, size/2)
	rand.Read(noise)
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"` + fmt.Sprintf("%x", noise)[:size-100] + `"}]}`)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var wg sync.WaitGroup
	headers := make(chan struct{}, n)
	for range n {
		wg.Go(func() {
			res, err := http.Post(base+"/v1/chat/completions", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			headers <- struct{}{}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		})
	}
	for range n {
		<-read
	}
	held := heap() - before
	close(answer)
	for range n {
		<-headers
	}
	after := heap()
	after -= min(before, after)
	close(finish)
	wg.Wait()
	t.Logf("held %.1f MiB for %d bodies of 4 MiB, %.1f MiB after the headers", float64(held)/(1<<20), n, float64(after)/(1<<20))
	if held > n*size*3/2 {
		t.Errorf("%d bytes held for %d bytes of bodies", held, n*size)
	}
	if after > n*size/4 {
		t.Errorf("%d bytes still held after the response headers", after)
	}
}

// TestConcurrent sends many requests at once that must not mix.
func TestConcurrent(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var req struct{ Model string }
		json.Unmarshal(body, &req)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"model":%q,"n":%d}`, req.Model, strings.Count(string(body), req.Model))
	}))
	defer upstream.Close()
	base := serve(t, "llm_gateway {\noptimize rtk aggressive\n}\nreverse_proxy "+upstream.URL)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 20 {
				name := fmt.Sprintf("model-%d-%d-end", g, i)
				body := strings.Replace(chatWithToolResult("go test ./...", goTestRun(100+10*g)+"\nerror: "+name), "gpt-5-mini", name, 1)
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(body))
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				got, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if want := fmt.Sprintf(`{"model":%q,"n":2}`, name); string(got) != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
	wg.Wait()
}
