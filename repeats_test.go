package llmgateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A client that sends the same request again gets the same bytes sent upstream
// and the same report, and one that differs in a single byte its own.
func TestSameRequestAgain(t *testing.T) {
	for _, mode := range []string{"optimize rtk standard", "optimize caveman full", "optimize squoze", "optimize rtk standard\noptimize headroom aggressive\noptimize caveman full"} {
		t.Run(mode, func(t *testing.T) {
			rec := record(t, nil)
			base := serve(t, "llm_gateway {\n"+mode+"\n}\nreverse_proxy "+rec.URL)
			report := func(h http.Header) string {
				return fmt.Sprint(h["X-Gateway-Applied"], h["X-Gateway-Saved-Bytes"], h["X-Gateway-Saved-Tokens"], h["X-Gateway-Skipped"])
			}
			body := chatWithToolResult(unique("go test ./..."), goTestRun(1500))
			other := strings.Replace(body, "got 4107", "got 4108", 1)
			var sent, said [2]string
			for i := range 6 {
				for n, b := range []string{body, other} {
					res, _ := post(t, base+"/v1/chat/completions", b)
					taken := rec.take()
					if len(taken) != 1 || taken[0].length != int64(len(taken[0].body)) {
						t.Fatalf("time %d of body %d: %d requests upstream", i+1, n, len(taken))
					}
					got := string(taken[0].body)
					if i == 0 {
						sent[n], said[n] = got, report(res.Header)
						continue
					}
					if got != sent[n] {
						t.Fatalf("time %d of body %d: another body went upstream", i+1, n)
					}
					if now := report(res.Header); now != said[n] {
						t.Errorf("time %d of body %d: reported %s, the first time %s", i+1, n, now, said[n])
					}
				}
			}
			if !strings.Contains(sent[0], "got 4107, want 4170") || !strings.Contains(sent[1], "got 4108, want 4170") {
				t.Error("the failure is not what was sent")
			}
			if sent[0] == body {
				t.Error("nothing was optimized")
			}
		})
	}
}
