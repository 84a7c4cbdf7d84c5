package llmgateway_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// stalled sends a request and reads nothing of the answer, with a window as
// small as the system allows.
func stalled(t *testing.T, base, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", conn.RemoteAddr(), len(body), body)
}

// TestSlowClients lets the client that made the call, and one that shares its
// answer, read nothing at all: 50 others have all of it at once, whether the
// two stopped before the others came or not, and it is stored.
func TestSlowClients(t *testing.T) {
	text := strings.Repeat("x", 32<<10)
	var list []string
	for i := range 128 { // 4 MiB
		list = append(list, strings.Replace(frames(1)[0], "word 0 ", fmt.Sprint(i, text), 1))
	}
	list = append(list, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n", "data: [DONE]\n\n")
	answers := map[string][]string{
		"stream": list,
		"json":   {strings.Replace(chatAnswer, "Six.", strings.Repeat("x", 4<<20), 1)},
	}
	for kind, pieces := range answers {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprint(kind, ", late ", late), func(t *testing.T) {
				contentType, ask := "application/json", smallChat
				if kind == "stream" {
					contentType, ask = "text/event-stream", streamRequest
				}
				arrived, sent, release := make(chan struct{}, 100), make(chan struct{}, 100), make(chan struct{})
				rec := record(t, func(w http.ResponseWriter, r *http.Request) {
					arrived <- struct{}{}
					w.Header().Set("Content-Type", contentType)
					if late {
						// Before anybody shares the call, more than the
						// leader's connection takes, so that it is stuck.
						w.(http.Flusher).Flush()
						half := strings.Join(pieces, "")[:3<<20]
						for len(half) > 0 {
							n, err := io.WriteString(w, half[:min(len(half), 64<<10)])
							if err != nil {
								return
							}
							half = half[n:]
							select {
							case sent <- struct{}{}:
							default:
							}
						}
						io.WriteString(w, strings.Join(pieces, "")[3<<20:])
						return
					}
					<-release
					for _, piece := range pieces {
						io.WriteString(w, piece)
						w.(http.Flusher).Flush()
					}
				})
				base := serve(t, cacheSite(t, rec.URL, ""))
				stalled(t, base, ask)
				<-arrived
				if late {
					<-sent
				}
				stalled(t, base, ask)
				var all sync.WaitGroup
				done := make(chan struct{})
				want := strings.Join(pieces, "")
				for range 50 {
					all.Go(func() {
						res, err := oneShot.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(ask))
						if err != nil {
							t.Error(err)
							return
						}
						defer res.Body.Close()
						if body, err := io.ReadAll(res.Body); err != nil || string(body) != want {
							t.Errorf("%d bytes of %d, %v", len(body), len(want), err)
						}
					})
				}
				go func() { all.Wait(); close(done) }()
				close(release)
				select {
				case <-done:
				case <-time.After(25 * time.Second): // less than what frees a connection that is stuck
					t.Fatal("clients that do not read hold up the others")
				}
				if n := len(rec.take()); n != 1 {
					t.Errorf("the provider was asked %d times", n)
				}
				if res, _ := post(t, base+"/v1/chat/completions", ask); res.Header.Get("X-Gateway-Cache") != "HIT" {
					t.Errorf("afterwards: %s", res.Header.Get("X-Gateway-Cache"))
				}
			})
		}
	}
}
