package llmgateway

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
)

// TestAdminSocket asks an admin endpoint on a Unix socket, where Caddy refuses
// every Origin.
func TestAdminSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "admin.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" {
			http.Error(w, `{"error":"client is not allowed to access from origin"}`, http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, r.URL.RequestURI()) // a failure shows in what is read
	})}
	go func() { _ = server.Serve(listener) }() // ends with Close
	t.Cleanup(func() { _ = server.Close() })
	for _, address := range []string{"unix/" + path, "unix/" + path + "|0660"} {
		got, err := askAdmin(address, http.MethodGet, "stats", map[string][]string{"range": {"1h"}})
		if err != nil || string(got) != "/llm_gateway/stats?range=1h" {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
}
