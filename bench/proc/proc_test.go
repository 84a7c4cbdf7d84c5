package proc

import (
	"context"
	_ "expvar" // serves /debug/vars
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof" // serves /debug/pprof
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The test binary plays the server: it takes the same arguments as Caddy,
// finds the admin address in the configuration and answers there.
func TestMain(m *testing.M) {
	switch os.Getenv("PROC_TEST_SERVER") {
	case "":
		os.Exit(m.Run())
	case "refuse":
		fmt.Fprintln(os.Stderr, "Error: adapting config: unknown subdirective")
		os.Exit(1)
	case "serve":
		if err := play(os.Args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func play(args []string) error {
	config, err := os.ReadFile(args[3])
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(config), "admin ")
	addr, _, _ := strings.Cut(rest, "\n")
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}

	go func() { _ = http.Serve(l, nil) }() // until the process ends
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	secret, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	c, err := net.Dial("tcp", args[7])
	if err != nil {
		return err
	}
	if _, err := c.Write(secret); err != nil {
		return err
	}
	if err := c.Close(); err != nil {
		return err
	}
	<-interrupted
	return nil
}

func start(t *testing.T, kind string) (*Process, error) {
	t.Setenv("PROC_TEST_SERVER", kind)
	addrs, err := FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	return Start(context.Background(), os.Args[0], t.TempDir(), "fake", Config{Admin: addrs[0]})
}

func TestProcess(t *testing.T) {
	p, err := start(t, "serve")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	before, err := p.Usage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Memory(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	after, err := p.Usage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if after.Allocated <= before.Allocated || after.Mallocs <= before.Mallocs || m.Heap <= 0 {
		t.Errorf("usage %+v, then %+v, memory %+v", before, after, m)
	}
	if runtime.GOOS == "linux" && (after.CPU < 0 || m.RSS <= 0 || m.Peak < m.RSS) {
		t.Errorf("CPU %v, memory %+v", after.CPU, m)
	}
	if _, err := p.get(ctx, "/nowhere"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a missing endpoint: %v", err)
	}
	if err := p.Alive(); err != nil {
		t.Error(err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if err := p.Alive(); err == nil {
		t.Error("a stopped server is alive")
	}
	if err := p.Stop(); err != nil {
		t.Errorf("stopped twice: %v", err)
	}
}

func TestStartShowsTheServersError(t *testing.T) {
	_, err := start(t, "refuse")
	if err == nil || !strings.Contains(err.Error(), "unknown subdirective") {
		t.Errorf("got %v", err)
	}
}

func TestStartGivesUp(t *testing.T) {
	t.Setenv("PROC_TEST_SERVER", "serve")
	addrs, err := FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p, err := Start(ctx, os.Args[0], t.TempDir(), "fake", Config{Admin: addrs[0]})
	if err == nil {
		// It was faster than the cancellation.
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestCaddyfile(t *testing.T) {
	got := Config{
		Admin: "127.0.0.1:2", Storage: "/tmp/x y", Debug: true,
		Sites: []Site{
			{Addr: "127.0.0.1:3", Leg: Plain, Upstream: "127.0.0.1:4"},
			{Addr: "127.0.0.1:5", Leg: TLS, Upstream: "127.0.0.1:6", CA: "/tmp/ca.pem", Gateway: []string{"optimize rtk light"}, Log: []string{"output file /tmp/log"}},
			{Addr: "127.0.0.1:7", Leg: HTTP2, Upstream: "127.0.0.1:8", CA: "/tmp/ca.pem", Gateway: []string{}},
			{Addr: "127.0.0.1:9", Leg: Plain, Upstream: "127.0.0.1:4", Answer: "xxx"},
		},
	}.Caddyfile()
	path := filepath.Join("testdata", "config.caddyfile")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("got\n%s\nwant\n%s\n%v", got, want, err)
	}
}

func TestParseProc(t *testing.T) {
	stat := "4242 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 150 25 0 0 20 0 8 0 12 13"
	if got := parseStat(stat); got != 1750*time.Millisecond {
		t.Errorf("CPU time %v", got)
	}
	for _, bad := range []string{"", "1 (x) S 1", "1 x", "1 (a) S 1 2 3 4 5 6 7 8 9 10 x 25 0"} {
		if got := parseStat(bad); got >= 0 {
			t.Errorf("%q: %v", bad, got)
		}
	}
	rss, peak := parseStatus("Name:\tcaddy\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\n")
	if rss != 1<<20 || peak != 2<<20 {
		t.Errorf("rss %d, peak %d", rss, peak)
	}
	if rss, peak = parseStatus("Name: x\n"); rss != -1 || peak != -1 {
		t.Errorf("nothing known: rss %d, peak %d", rss, peak)
	}
	if runtime.GOOS != "linux" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no /proc here")
		}
		t.Skip("no /proc here")
	}
	if CPUTime(os.Getpid()) < 0 {
		t.Error("no CPU time of this process")
	}
	if rss, peak := memoryOf(os.Getpid()); rss <= 0 || peak < rss {
		t.Errorf("this process: rss %d, peak %d", rss, peak)
	}
}
