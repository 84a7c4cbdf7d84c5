package llmgateway_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const streamRequest = `{"model":"gpt-5-mini","stream":true,"messages":[{"role":"user","content":"count"}]}`

// frames are the events of a stream of n deltas.
func frames(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d \"},\"finish_reason\":null}]}\n\n", i))
	}
	return append(out, "data: [DONE]\n\n")
}

// stepped is an upstream that sends one frame each time the test allows it.
func stepped(t *testing.T, list []string) (*httptest.Server, chan struct{}) {
	step := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		for _, frame := range list {
			select {
			case <-step:
			case <-r.Context().Done():
				return
			}
			io.WriteString(w, frame)
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(srv.Close)
	return srv, step
}

// protocols are the ways in which clients reach a site over loopback.
func protocols() map[string]*http.Client {
	unencrypted := new(http.Protocols)
	unencrypted.SetUnencryptedHTTP2(true)
	h2c := &http.Client{Transport: &http.Transport{Protocols: unencrypted}}
	return map[string]*http.Client{"http/1.1": {Transport: &http.Transport{}}, "h2c": h2c}
}

// TestStreamOneToOne lets the upstream send a frame only after the client has
// read the one before, so any buffering on the way would hang the test.
func TestStreamOneToOne(t *testing.T) {
	list := frames(20)
	upstream, step := stepped(t, list)
	for name, outside := range map[string]string{"plain": "", "inside encode": "encode gzip\n", "https": ""} {
		site := outside + "llm_gateway {\noptimize rtk standard\n}\nreverse_proxy " + upstream.URL
		clients := protocols()
		var base string
		if name == "https" {
			var h2 *http.Client
			base, h2 = serveTLS(t, true, site)
			clients = map[string]*http.Client{"h2": h2}
		} else {
			base = serve(t, site)
		}
		for proto, client := range clients {
			t.Run(name+"/"+proto, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(streamRequest))
				req.Header.Set("Accept-Encoding", "identity")
				res, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if want := map[string]int{"http/1.1": 1, "h2c": 2, "h2": 2}[proto]; res.ProtoMajor != want {
					t.Errorf("HTTP/%d, want HTTP/%d", res.ProtoMajor, want)
				}
				buf := make([]byte, 64<<10)
				for i, frame := range list {
					step <- struct{}{}
					got := ""
					for len(got) < len(frame) {
						n, err := res.Body.Read(buf)
						got += string(buf[:n])
						if err != nil && err != io.EOF {
							t.Fatalf("frame %d: %v", i, err)
						}
					}
					if got != frame {
						t.Fatalf("frame %d: got %q, want %q", i, got, frame)
					}
				}
				if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 {
					t.Fatalf("after the last frame: %q, %v", rest, err)
				}
			})
		}
	}
}

// TestStreamReads counts reads: 20 events 20 ms apart are 20 reads.
func TestStreamReads(t *testing.T) {
	list := frames(19)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for _, frame := range list {
			<-tick.C
			io.WriteString(w, frame)
			w.(http.Flusher).Flush()
		}
	}))
	defer upstream.Close()
	base := serve(t, "llm_gateway {\noptimize rtk standard\n}\nreverse_proxy "+upstream.URL)
	res, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(streamRequest))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var all bytes.Buffer
	buf := make([]byte, 64<<10)
	reads := 0
	for {
		n, err := res.Body.Read(buf)
		all.Write(buf[:n])
		if n > 0 {
			reads++
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := strings.Join(list, ""); all.String() != want {
		t.Errorf("bytes differ: got %q", all.String())
	}
	if reads != len(list) {
		t.Errorf("%d events arrived in %d reads", len(list), reads)
	}
}

// TestClientGone drops the client at three moments; the upstream must notice
// at once.
func TestClientGone(t *testing.T) {
	const limit = 100 * time.Millisecond
	gone := make(chan time.Time, 1)
	arrived := make(chan struct{}, 1)
	midStream := false
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if midStream {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, frames(1)[0])
			w.(http.Flusher).Flush()
		}
		arrived <- struct{}{}
		<-r.Context().Done()
		gone <- time.Now()
	}))
	defer upstream.Close()
	base := serve(t, "llm_gateway {\noptimize rtk standard\n}\nreverse_proxy "+upstream.URL)

	for _, stage := range []string{"before headers", "mid-stream"} {
		t.Run(stage, func(t *testing.T) {
			midStream = stage == "mid-stream"
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(streamRequest))
			done := make(chan error, 1)
			go func() {
				res, err := http.DefaultClient.Do(req)
				if err == nil {
					_, err = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
				done <- err
			}()
			<-arrived
			dropped := time.Now()
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("client: %v", err)
			}
			select {
			case at := <-gone:
				if d := at.Sub(dropped); d > limit {
					t.Errorf("the upstream learned of it after %v", d)
				}
			case <-time.After(10 * time.Second):
				t.Error("the upstream never learned of it")
			}
		})
	}

	t.Run("during upload", func(t *testing.T) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{\"model\":", conn.RemoteAddr())
		conn.Close()
		// Nothing may reach the upstream of a request that never ended. The
		// next whole request proves that the gateway is past it.
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(streamRequest))
		go http.DefaultClient.Do(req) //nolint:bodyclose // cancelled below
		<-arrived
		cancel()
		<-gone
		select {
		case <-arrived:
			t.Error("half a request reached the upstream")
		default:
		}
	})
}

// TestUpstreamDies cuts the upstream's connection in mid-stream: the client
// must see an abort, not a clean end.
func TestUpstreamDies(t *testing.T) {
	list := frames(3)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, list[0])
		w.(http.Flusher).Flush()
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
	}))
	defer upstream.Close()
	base := serve(t, "llm_gateway {\noptimize rtk standard\n}\nreverse_proxy "+upstream.URL)
	for proto, client := range protocols() {
		t.Run(proto, func(t *testing.T) {
			res, err := client.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(streamRequest))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			got, err := io.ReadAll(res.Body)
			if err == nil {
				t.Errorf("the stream ended cleanly after %q", got)
			}
			if string(got) != list[0] {
				t.Errorf("got %q, want %q", got, list[0])
			}
		})
	}
}

// TestReloadDuringStream loads another configuration while a stream is under
// way.
func TestReloadDuringStream(t *testing.T) {
	list := frames(6)
	upstream, step := stepped(t, list)
	base, load := serveOptions(t, "", "llm_gateway {\noptimize rtk standard\n}\nreverse_proxy "+upstream.URL)
	res, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(streamRequest))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	next := func(i int) {
		t.Helper()
		step <- struct{}{}
		got := make([]byte, len(list[i]))
		if _, err := io.ReadFull(in, got); err != nil || string(got) != list[i] {
			t.Fatalf("frame %d: %q, %v", i, got, err)
		}
	}
	next(0)
	next(1)
	// Caddy waits for open requests up to grace_period, so the load returns
	// only once the stream is over or the period has passed.
	loaded := make(chan error, 1)
	go func() { loaded <- load("llm_gateway {\noptimize caveman lite\n}\nreverse_proxy " + upstream.URL) }()
	for i := 2; i < len(list); i++ {
		next(i)
	}
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("after the last frame: %v", err)
	}
	if err := <-loaded; err != nil {
		t.Errorf("reload: %v", err)
	}
}

// TestExpectContinue sends a body only when asked for it.
func TestExpectContinue(t *testing.T) {
	rec := record(t, nil)
	base := serve(t, "llm_gateway {\noptimize rtk standard\n}\nreverse_proxy "+rec.URL)
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	body := `{"model":"m","messages":[{"role":"user","content":"x"}]}`
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", conn.RemoteAddr(), len(body))
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("got %q, %v", line, err)
	}
	in.ReadString('\n')
	io.WriteString(conn, body)
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := rec.take(); len(got) != 1 || string(got[0].body) != body {
		t.Errorf("the upstream got %v", got)
	}
}

// TestUpstreamErrorUntouched passes an upstream's own error on as it is.
func TestUpstreamErrorUntouched(t *testing.T) {
	for _, tc := range []struct {
		status      int
		contentType string
		body        string
	}{
		{400, "application/json", `{"error":{"message":"bad  tool","type":"invalid_request_error","param":null,"code":null}}`},
		{404, "application/json", `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`},
		{429, "application/json; charset=utf-8", "{ \"error\" : {} }\n"},
		{500, "text/html", "<html><body>oops</body></html>"},
		{503, "text/plain", ""},
		{529, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
	} {
		t.Run(fmt.Sprint(tc.status), func(t *testing.T) {
			rec := record(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", tc.contentType)
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(tc.status)
				io.WriteString(w, tc.body)
			})
			base := serve(t, "llm_gateway {\noptimize rtk standard\n}\nreverse_proxy "+rec.URL)
			res, body := post(t, base+"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`)
			if res.StatusCode != tc.status || body != tc.body {
				t.Errorf("got %d %q, want %d %q", res.StatusCode, body, tc.status, tc.body)
			}
			if got := res.Header.Get("Content-Type"); got != tc.contentType {
				t.Errorf("content type %q, want %q", got, tc.contentType)
			}
			if got := res.Header.Get("Retry-After"); got != "7" {
				t.Errorf("Retry-After %q", got)
			}
		})
	}
}
