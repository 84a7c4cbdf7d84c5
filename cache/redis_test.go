package cache

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// redisServer is a real server, in a process of its own.
type redisServer struct {
	t      testing.TB
	addr   string
	folder string
	cmd    *exec.Cmd
}

// startRedis starts redis-server or valkey-server. Where there is none the
// test is skipped, but not in CI.
func startRedis(t testing.TB) *redisServer {
	t.Helper()
	s := &redisServer{t: t, addr: freeAddr(t), folder: t.TempDir()}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func freeAddr(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *redisServer) url() string { return "redis://" + s.addr }

// start starts the server and waits until it answers.
func (s *redisServer) start() {
	s.t.Helper()
	program, err := exec.LookPath("redis-server")
	if errors.Is(err, exec.ErrNotFound) {
		program, err = exec.LookPath("valkey-server")
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			s.t.Fatal(err)
		}
		s.t.Skip("neither redis-server nor valkey-server is there")
	}
	_, port, _ := net.SplitHostPort(s.addr)
	s.cmd = exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.folder, "--logfile", filepath.Join(s.folder, "log"))
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		if ping(s.addr) == nil {
			return
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
			s.t.Fatalf("%s does not answer: %s", program, log)
		}
		time.Sleep(10 * time.Millisecond) // between polls, nothing is concluded from it
	}
}

// ping asks the server at addr whether it is there.
func ping(addr string) error {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "+PONG") {
		err = errors.New(line)
	}
	return err
}

// stop kills the server.
func (s *redisServer) stop() {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Kill()
	s.cmd.Wait()
	s.cmd = nil
}
