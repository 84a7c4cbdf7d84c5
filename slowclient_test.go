package llmgateway_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSlowLeader lets the client whose request others share stop reading: the
// others get their answer all the same.
func TestSlowLeader(t *testing.T) {
	arrived, release := make(chan struct{}, 2), make(chan struct{})
	big := strings.Replace(chatAnswer, "Six.", strings.Repeat("x", 7<<20), 1)
	rec := record(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-release
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, big)
	})
	base := serve(t, cacheSite(t, rec.URL, ""))
	leader, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer leader.Close()
	// A small window, and nothing is ever read.
	if err := leader.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(leader, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", leader.RemoteAddr(), len(smallChat), smallChat)
	<-arrived
	type result struct {
		body string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		res, err := oneShot.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(smallChat))
		if err != nil {
			done <- result{err: err}
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		done <- result{string(body), err}
	}()
	// The follower joins while the provider thinks; if it came later it would
	// call the provider itself, and be counted below.
	time.AfterFunc(500*time.Millisecond, func() { close(release) })
	select {
	case r := <-done:
		if r.err != nil || r.body != big {
			t.Errorf("%d bytes, %v", len(r.body), r.err)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("the slow client holds up the other one")
	}
	if n := len(rec.take()); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
}
