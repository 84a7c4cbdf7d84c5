package access

import (
	"net"
	"testing"
	"time"
)

// freePort finds a loopback port that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// waitFor returns addr once something listens there.
func waitFor(t *testing.T, addr string) string {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			conn.Close()
			return addr
		}
		time.Sleep(10 * time.Millisecond) // a foreign process; nothing else tells
	}
	t.Fatalf("nothing listens on %s", addr)
	return ""
}
