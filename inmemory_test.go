package llmgateway_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A small body reaches a provider together with its header, in one piece.
func TestSmallBodyComesWithItsHeader(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	pieces := make(chan string, 1)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buf := make([]byte, 64<<10)
				n, err := conn.Read(buf)
				if err != nil {
					return
				}
				pieces <- string(buf[:n])
				const answer = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`
				fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(answer), answer)
				io.Copy(io.Discard, conn)
			}()
		}
	}()
	base := serve(t, "llm_gateway {\nprovider one http://"+listener.Addr().String()+" {\napi_key provider-secret\n}\n}")
	for _, size := range []int{10, 2500} {
		body := `{"model":"gpt-5-mini","messages":[{"role":"user","content":"` + strings.Repeat("x", size) + `"}]}`
		res, _ := post(t, base+"/v1/chat/completions", body)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("status %d", res.StatusCode)
		}
		head, got, ok := strings.Cut(<-pieces, "\r\n\r\n")
		if !ok || got != body {
			t.Errorf("%d bytes: the first piece has %d of the body's %d bytes", size, len(got), len(body))
		}
		if !strings.Contains(head, "Authorization: Bearer provider-secret") || !strings.Contains(head, fmt.Sprintf("Content-Length: %d\r\n", len(body))) {
			t.Errorf("%d bytes: header %q", size, head)
		}
	}
}
