package proc

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Process is a running server. Its methods may be called by one goroutine at
// a time.
type Process struct {
	Name    string
	Config  Config
	dir     string
	cmd     *exec.Cmd
	stderr  string // file
	exited  chan struct{}
	waitErr error // valid once exited is closed
}

// startTimeout is how long a server may take until it listens.
const startTimeout = 30 * time.Second

// Start starts binary with a configuration and returns when it is loaded. The
// server keeps its files in a folder of its own below dir.
func Start(ctx context.Context, binary, dir, name string, cfg Config) (*Process, error) {
	own := filepath.Join(dir, name)
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, err
	}
	cfg.Storage = filepath.Join(own, "storage")
	file := filepath.Join(own, "Caddyfile")
	if err := os.WriteFile(file, []byte(cfg.Caddyfile()), 0o600); err != nil {
		return nil, err
	}
	ready, err := listenReady()
	if err != nil {
		return nil, err
	}
	defer ready.l.Close()
	p := &Process{Name: name, Config: cfg, dir: own, stderr: filepath.Join(own, "stderr.log"), exited: make(chan struct{})}
	logFile, err := os.Create(p.stderr)
	if err != nil {
		return nil, err
	}
	defer logFile.Close()
	p.cmd = exec.Command(binary, "run", "--config", file, "--adapter", "caddyfile", "--pingback", ready.l.Addr().String())
	p.cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+own, "XDG_CONFIG_HOME="+own)
	p.cmd.Stdin = bytes.NewReader(ready.secret)
	p.cmd.Stdout, p.cmd.Stderr = logFile, logFile
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.waitErr = p.cmd.Wait()
		close(p.exited)
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case <-ready.confirmed:
		return p, nil
	case <-p.exited:
		return nil, fmt.Errorf("%s ended at once (%v):\n%s", name, p.waitErr, p.LogTail())
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("%s did not start: %w", name, ctx.Err()), p.Stop())
	}
}

// ready waits for a server to send back the secret it got on its standard
// input, which Caddy does once its configuration is loaded.
type ready struct {
	l         net.Listener
	secret    []byte
	confirmed chan struct{}
}

func listenReady() (*ready, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &ready{l: l, secret: make([]byte, 32), confirmed: make(chan struct{})}
	_, _ = rand.Read(r.secret) // never fails
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			got, err := io.ReadAll(io.LimitReader(c, int64(len(r.secret))))
			_ = c.Close() // read
			if err == nil && bytes.Equal(got, r.secret) {
				close(r.confirmed)
				return
			}
		}
	}()
	return r, nil
}

// Stop asks the server to end and waits for it.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = p.cmd.Process.Kill() // no signals on this system
	}
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("%s cannot be ended: %w", p.Name, err)
		}
		<-p.exited
	}
	return nil
}

// Alive returns an error if the server has ended.
func (p *Process) Alive() error {
	select {
	case <-p.exited:
		return fmt.Errorf("%s has ended (%v):\n%s", p.Name, p.waitErr, p.LogTail())
	default:
		return nil
	}
}

// Dir is the folder that the server keeps its files in.
func (p *Process) Dir() string { return p.dir }

// LogTail is the end of what the server wrote to its standard error.
func (p *Process) LogTail() string {
	const most = 4096
	text, err := os.ReadFile(p.stderr)
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return strings.TrimSpace(string(text))
}

// FreeAddrs finds n addresses on loopback that nobody listens on.
func FreeAddrs(n int) ([]string, error) {
	var addrs []string
	var open []net.Listener
	defer func() {
		for _, l := range open {
			_ = l.Close() // only its port was wanted
		}
	}()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		open = append(open, l)
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// Stderr is the file that holds what the server writes to its standard error.
func (p *Process) Stderr() string { return p.stderr }
