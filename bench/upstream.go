package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tiktoken-go/tokenizer"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/load"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

// runUpstream serves the stand-in provider until it is interrupted.
func runUpstream(ctx context.Context, args []string) error {
	f := newFlags("upstream")
	listen := f.String("listen", "127.0.0.1:8490", "address for plain HTTP/1.1")
	listenTLS := f.String("listen-tls", "", "address for HTTP/1.1 over TLS")
	listenH2 := f.String("listen-h2", "", "address for HTTP/2 over TLS")
	ca := f.String("ca", "", "write the certificate that TLS clients must trust to this file")
	firstByte := f.Duration("first-byte", 0, "wait before the first byte of an answer")
	gap := f.Duration("gap", 0, "wait between the deltas of a stream")
	frames := f.Int("frames", 8, "deltas of a stream")
	answer := f.Int("answer", 160, "length of the answer's text in bytes")
	check := f.Bool("check", true, "refuse what a real provider refuses; without it large bodies cost no more than their transfer")
	tokens := f.Bool("tokens", false, "count the tokens of a body with o200k, which is slow, instead of one for every 4 bytes")
	keys := f.String("keys", "", "accepted credentials, comma-separated; empty: any")
	models := f.String("models", "", "known models, comma-separated; empty: any")
	failEvery := f.Int("fail-every", 0, "answer every n-th request with an error")
	failStatus := f.Int("fail-status", 500, "status of that error")
	limit := f.Bool("limit", false, "measure how much this provider can answer, and end")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	cfg := provider.Config{
		FirstByte: *firstByte, Gap: *gap, Frames: *frames, AnswerBytes: *answer, Check: *check,
		Keys: list(*keys), Models: list(*models), FailEvery: *failEvery, FailStatus: *failStatus,
	}
	if *tokens {
		count, err := o200k()
		if err != nil {
			return err
		}
		cfg.CountTokens = func(body []byte) int { return count(string(body)) }
	}
	if *limit {
		return printLimit(ctx, cfg)
	}
	up, err := startUpstream(cfg, upstreamAddrs{proc.Plain: *listen, proc.TLS: *listenTLS, proc.HTTP2: *listenH2}, *ca)
	if err != nil {
		return err
	}
	defer up.close()
	for leg, addr := range up.addr {
		fmt.Printf("%-5s %s\n", leg, addr)
	}
	<-ctx.Done()
	s := up.provider.Stats()
	fmt.Printf("%s requests, %s of bodies, %s refused\n", report.Count(s.Requests), report.Bytes(float64(s.BodyBytes)), report.Count(s.Refused))
	return nil
}

// list splits a comma-separated list; an empty one has no elements.
func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// o200k returns a function that counts tokens as OpenAI's models do.
func o200k() (func(string) int, error) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return nil, err
	}
	return func(s string) int {
		n, err := codec.Count(s)
		if err != nil {
			return 0 // Count has no way to fail for valid text
		}
		return n
	}, nil
}

// upstreamAddrs are addresses by leg.
type upstreamAddrs map[proc.Leg]string

// upstream is a running provider.
type upstream struct {
	provider *provider.Provider
	addr     upstreamAddrs
	ca       string // file
	h2       *http.Server
}

// startUpstream serves a provider on the legs that listen names. The
// certificate goes into the file ca, if that is not empty.
func startUpstream(cfg provider.Config, listen upstreamAddrs, ca string) (*upstream, error) {
	cert, pem, err := provider.Certificate()
	if err != nil {
		return nil, err
	}
	if ca != "" {
		if err := os.WriteFile(ca, pem, 0o644); err != nil {
			return nil, err
		}
	}
	u := &upstream{provider: provider.New(cfg), addr: make(upstreamAddrs), ca: ca}
	for leg, addr := range listen {
		if addr == "" {
			continue
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			u.close()
			return nil, err
		}
		u.addr[leg] = l.Addr().String()
		switch leg {
		case proc.TLS:
			l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}})
			go func() { _ = u.provider.Serve(l) }() // ends with close
		case proc.HTTP2:
			u.h2 = &http.Server{Handler: u.provider, TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}}
			go func() { _ = u.h2.ServeTLS(l, "", "") }() // ends with close
		default:
			go func() { _ = u.provider.Serve(l) }() // ends with close
		}
	}
	return u, nil
}

// listen serves u on one more address, plain, and returns it.
func (u *upstream) listen(addr string) (string, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", err
	}
	go func() { _ = u.provider.Serve(l) }() // ends with close
	return l.Addr().String(), nil
}

func (u *upstream) close() {
	u.provider.Close()
	if u.h2 != nil {
		_ = u.h2.Close() // measured and done
	}
}

// localUpstream serves a provider on free ports, its certificate in dir.
func localUpstream(cfg provider.Config, dir string, legs ...proc.Leg) (*upstream, error) {
	listen := make(upstreamAddrs)
	for _, leg := range legs {
		listen[leg] = "127.0.0.1:0"
	}
	return startUpstream(cfg, listen, filepath.Join(dir, "upstream.pem"))
}

// limitTime is how long a limit is measured.
const limitTime = 2 * time.Second

// upstreamLimit is how many requests with body the load generator gets through
// to the provider with nothing in between.
func upstreamLimit(ctx context.Context, addr string, conns int, body []byte) (float64, error) {
	req := load.NewRequest(addr, chatPath, nil, body)
	res, err := load.Run(ctx, load.Plan{Addr: addr, Conns: conns, WarmUp: 3, Duration: limitTime, Request: func(int) *load.Request { return req }})
	if err != nil {
		return 0, err
	}
	if res.Errors > 0 {
		return 0, fmt.Errorf("%d errors, the first: %s", res.Errors, res.Error)
	}
	return res.RPS(), nil
}

// printLimit prints the limits of a provider, one that checks what it is sent
// and one that trusts it.
func printLimit(ctx context.Context, cfg provider.Config) error {
	cfg.FailEvery, cfg.Keys, cfg.Models = 0, nil, nil
	dir, err := os.MkdirTemp("", "bench-upstream-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t := report.Table{Title: "load generator straight at the provider, 20 connections, requests per second", Head: []string{"profile", "body", "trusting", "-check"}}
	for _, p := range testbody.Profiles {
		body := testbody.Body(p)
		row := []string{p.String(), report.Bytes(float64(len(body)))}
		for _, check := range []bool{false, true} {
			cfg.Check = check
			up, err := localUpstream(cfg, dir, proc.Plain)
			if err != nil {
				return err
			}
			rps, err := upstreamLimit(ctx, up.addr[proc.Plain], 20, body)
			up.close()
			if err != nil {
				return err
			}
			row = append(row, report.Count(rps))
		}
		t.Add(row...)
	}
	return t.Text(os.Stdout)
}
