package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// readers cut the same bytes into different reads.
var readers = map[string]func(string) io.Reader{
	"at once":      func(s string) io.Reader { return strings.NewReader(s) },
	"byte by byte": func(s string) io.Reader { return iotest.OneByteReader(strings.NewReader(s)) },
	"halves":       func(s string) io.Reader { return iotest.HalfReader(strings.NewReader(s)) },
}

func TestMessages(t *testing.T) {
	const stream = "POST /v1/chat/completions?n=1 HTTP/1.1\r\nHost: a\r\nContent-LENGTH:  5 \r\n\r\nhello" +
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n" +
		"HTTP/1.1 429 Too Many Requests\r\nX-A: b:c\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n00A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n" +
		"HTTP/1.1 204 No Content\r\n\r\n"
	for name, open := range readers {
		t.Run(name, func(t *testing.T) {
			r := NewReader(open(stream), 128)
			for i, want := range []struct {
				path, xa, body string
				status         int
			}{{path: "/v1/chat/completions?n=1", body: "hello"}, {path: "/"}, {xa: "b:c", body: "abc0123456789", status: 429}, {status: 204}} {
				if err := r.Wait(); err != nil {
					t.Fatal(err)
				}
				head, err := r.Head()
				if err != nil {
					t.Fatalf("message %d: %v", i, err)
				}
				if _, path, ok := head.Request(); ok != (want.path != "") || ok && string(path) != want.path {
					t.Errorf("message %d: path %q, want %q", i, path, want.path)
				}
				if got := string(head.Get("x-a")); got != want.xa {
					t.Errorf("message %d: x-a %q, want %q", i, got, want.xa)
				}
				each := ""
				head.Each(func(name, value []byte) {
					if Is(name, "x-a") {
						each = string(value)
					}
				})
				if each != want.xa {
					t.Errorf("message %d: x-a is %q among all fields, want %q", i, each, want.xa)
				}
				if got := head.Status(); got != want.status {
					t.Errorf("message %d: status %d, want %d", i, got, want.status)
				}
				length, err := head.Length()
				if err != nil {
					t.Fatalf("message %d: %v", i, err)
				}
				var body bytes.Buffer
				n, err := r.Body(length, func(p []byte) error { body.Write(p); return nil })
				if err != nil || body.String() != want.body || n != int64(len(want.body)) {
					t.Errorf("message %d: body %q (%d), %v; want %q", i, body.String(), n, err, want.body)
				}
			}
			if _, err := r.Head(); err != io.EOF {
				t.Errorf("after the last message: %v, want EOF", err)
			}
		})
	}
}

func TestBroken(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want error
	}{
		"cut head":       {"POST / HTTP/1.1\r\nHost", io.ErrUnexpectedEOF},
		"cut body":       {"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc", io.ErrUnexpectedEOF},
		"cut chunk":      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", io.ErrUnexpectedEOF},
		"cut chunk list": {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", io.ErrUnexpectedEOF},
		"size":           {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", ErrMalformed},
		"chunk too long": {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n", ErrMalformed},
		"length":         {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", ErrMalformed},
		"coding":         {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", ErrMalformed},
		"head too large": {"POST / HTTP/1.1\r\nA: " + strings.Repeat("a", 300), ErrHeadTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(strings.NewReader(tc.in), 128)
			head, err := r.Head()
			var length int64
			if err == nil {
				length, err = head.Length()
			}
			if err == nil {
				_, err = r.Body(length, nil)
			}
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestSinkEndsBody(t *testing.T) {
	r := NewReader(strings.NewReader("abc"), 128)
	stop := errors.New("stop")
	if _, err := r.Body(3, func([]byte) error { return stop }); err != stop {
		t.Errorf("got %v", err)
	}
}

// What net/http writes reads the same here.
func TestAgainstNetHTTP(t *testing.T) {
	for _, chunked := range []bool{false, true} {
		req, _ := http.NewRequest(http.MethodPost, "http://a.example/x", strings.NewReader("body of the request"))
		req.Header.Set("X-Gateway-Applied", "rtk")
		if chunked {
			req.ContentLength = -1
		}
		var sent bytes.Buffer
		if err := req.Write(&sent); err != nil {
			t.Fatal(err)
		}
		r := NewReader(&sent, 1024)
		head, err := r.Head()
		if err != nil {
			t.Fatal(err)
		}
		length, err := head.Length()
		if err != nil || chunked != (length < 0) {
			t.Fatalf("length %d, %v", length, err)
		}
		if got := string(head.Get("x-gateway-applied")); got != "rtk" {
			t.Errorf("header %q", got)
		}
		var body strings.Builder
		if _, err := r.Body(length, func(p []byte) error { body.Write(p); return nil }); err != nil || body.String() != "body of the request" {
			t.Errorf("body %q, %v", body.String(), err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in), 256)
		head, err := r.Head()
		if err != nil {
			return
		}
		length, err := head.Length()
		if err != nil {
			return
		}
		var got []byte
		n, err := r.Body(length, func(p []byte) error { got = append(got, p...); return nil })
		if err != nil {
			return
		}
		if n != int64(len(got)) {
			t.Fatalf("%d bytes reported, %d seen", n, len(got))
		}
		// Where net/http understands the message too, it reads the same body.
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(in)), nil)
		if err != nil || resp.StatusCode == 204 || resp.StatusCode == 304 || resp.StatusCode < 200 {
			return
		}
		if resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 || len(resp.Header.Values("Content-Length")) > 1 || len(resp.Header.Values("Transfer-Encoding")) > 1 {
			return
		}
		want, err := io.ReadAll(resp.Body)
		if err == nil && !bytes.Equal(want, got) {
			t.Fatalf("body %q, net/http has %q", got, want)
		}
	})
}
