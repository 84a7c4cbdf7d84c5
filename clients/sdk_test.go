package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Secrets. The client's must not reach the provider, the provider's must.
const (
	teamKey     = "sk-team-1f6a2c"
	limitedKey  = "sk-limited-8be401"
	anythingKey = "sk-anything-55c0de"
	openAIKey   = "sk-provider-openai-77"
	claudeKey   = "sk-provider-claude-88"
)

// sdkGateway is the configuration in front of p.
func sdkGateway(p *provider) string {
	var b strings.Builder
	fmt.Fprintf(&b, "optimize rtk standard\nkey team %s {\nmodels gpt-* claude-* text-embedding-*\n}\nkey limited %s {\nrpm 1\n}\nkey anything %s\n", teamKey, limitedKey, anythingKey)
	provider := func(name, format, secret, models string) {
		fmt.Fprintf(&b, "provider %s %s {\nformat %s\napi_key %s\n}\nmodel %s {\nprovider %[1]s\n}\n", name, p.URL, format, secret, models)
	}
	provider("openai", "openai", openAIKey, "gpt-5-mini text-embedding-3-small o9-secret gpt-breaks gpt-endless")
	provider("claude", "anthropic", claudeKey, "claude-test-1 claude-breaks claude-endless")
	// Each that fails has a provider of its own, since a failure is remembered.
	for _, name := range []string{"fails-400", "fails-404", "fails-429", "fails-500", "streams-429"} {
		provider("openai-"+name, "openai", openAIKey, "gpt-"+name)
	}
	for _, name := range []string{"fails-400", "fails-404", "fails-429", "fails-529"} {
		provider("claude-"+name, "anthropic", claudeKey, "claude-"+name)
	}
	return b.String()
}

// TestSDKs runs each SDK twice, once against the provider itself and once
// through the gateway. What the program saw must be the same to the last
// field; what the provider got must be the same but for the credential and the
// command's output, which is shorter and still tells what failed.
func TestSDKs(t *testing.T) {
	output := testRun(900)
	for _, tc := range []struct {
		script, pkg string
		// shrunk are the checks that send the command's output.
		shrunk  []string
		aborted bool
	}{
		{"openai.mjs", "openai", []string{"chat tools", "chat tools streamed", "responses", "responses streamed"}, true},
		{"anthropic.mjs", "@anthropic-ai/sdk", []string{"tools", "tools streamed", "thinking goes back"}, true},
		{"ai.mjs", "ai", []string{"chat generated", "chat streamed", "responses generated", "responses streamed", "messages generated", "messages streamed"}, false},
	} {
		t.Run(tc.pkg, func(t *testing.T) {
			requireNode(t, tc.pkg)
			p := startProvider(t, speak)
			run := func(base, key string) ([]check, []call) {
				t.Helper()
				checks := node(t, tc.script, "transparent", map[string]string{"base": base, "key": key, "output": output})
				if tc.aborted {
					select {
					case <-p.gone:
					case <-time.After(time.Minute):
						t.Error("the provider still sends to a client that went away")
					}
				}
				return checks, p.take()
			}
			wantChecks, wantCalls := run(p.URL, "sk-direct")
			gotChecks, gotCalls := run(serve(t, sdkGateway(p)), teamKey)
			if len(gotChecks) != len(wantChecks) {
				t.Fatalf("%d checks, %d without the gateway", len(gotChecks), len(wantChecks))
			}
			for i, want := range wantChecks {
				t.Run(want.Name, func(t *testing.T) {
					if want.Error != "" {
						t.Fatalf("without the gateway: %s", want.Error)
					}
					if got := gotChecks[i]; got.Name != want.Name || got.Error != "" || !bytes.Equal(got.Saw, want.Saw) {
						t.Errorf("saw %s %s\nwithout the gateway %s", got.Error, got.Saw, want.Saw)
					}
					of := func(c call) bool { return c.header.Get("X-Check") == want.Name }
					got, ref := filter(gotCalls, of), filter(wantCalls, of)
					if len(got) != len(ref) || len(ref) == 0 {
						t.Fatalf("%d requests, %d without the gateway", len(got), len(ref))
					}
					shrunk := false
					for i := range ref {
						shrunk = compareCalls(t, got[i], ref[i], output) || shrunk
					}
					if shrunk != slices.Contains(tc.shrunk, want.Name) {
						t.Errorf("a command's output was sent: %v", shrunk)
					}
				})
			}
		})
	}
}

func filter(calls []call, keep func(call) bool) []call {
	return slices.DeleteFunc(slices.Clone(calls), func(c call) bool { return !keep(c) })
}

// ofTheConnection are the headers that each hop writes itself, and those of
// credentials.
var ofTheConnection = []string{"Authorization", "X-Api-Key", "Accept-Encoding", "Connection", "Content-Length", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// compareCalls compares what arrived with what the client sends on its own,
// and reports whether a command's output was in it.
func compareCalls(t *testing.T, got, want call, output string) (shrunk bool) {
	t.Helper()
	if got.method != want.method || got.uri != want.uri {
		t.Errorf("%s %s arrived, the client sends %s %s", got.method, got.uri, want.method, want.uri)
	}
	header := func(c call) http.Header {
		h := maps.Clone(c.header)
		for _, name := range ofTheConnection {
			delete(h, name)
		}
		return h
	}
	if g, w := header(got), header(want); !reflect.DeepEqual(g, w) {
		t.Errorf("headers %v\nthe client sends %v", g, w)
	}
	checkCredential(t, got)
	return compareBodies(t, got.body, want.body, output)
}

// checkCredential makes sure that a request carries the provider's credential
// and nothing of the client's.
func checkCredential(t *testing.T, c call) {
	t.Helper()
	bearer, key := c.header.Get("Authorization"), c.header.Get("X-Api-Key")
	if strings.HasPrefix(c.uri, "/v1/messages") {
		if key != claudeKey || bearer != "" {
			t.Errorf("x-api-key %q, authorization %q", key, bearer)
		}
	} else if bearer != "Bearer "+openAIKey || key != "" {
		t.Errorf("authorization %q, x-api-key %q", bearer, key)
	}
	if whole := fmt.Sprint(c.uri, c.header, string(c.body)); strings.Contains(whole, teamKey) {
		t.Errorf("the client's credential reached the provider: %s", whole)
	}
}

// compareBodies compares bodies byte by byte outside of output.
func compareBodies(t *testing.T, got, want []byte, output string) (shrunk bool) {
	t.Helper()
	var quoted bytes.Buffer
	enc := json.NewEncoder(&quoted)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(output); err != nil {
		t.Fatal(err)
	}
	before, after, found := bytes.Cut(want, bytes.TrimSpace(quoted.Bytes()))
	if !found {
		if !bytes.Equal(got, want) {
			t.Errorf("%s arrived\nthe client sends %s", got, want)
		}
		return false
	}
	rest, ok1 := bytes.CutPrefix(got, before)
	middle, ok2 := bytes.CutSuffix(rest, after)
	if !ok1 || !ok2 || !json.Valid(middle) || middle[0] != '"' {
		t.Errorf("more than the output changed: %s", got)
		return true
	}
	if len(middle) > quoted.Len()/2 {
		t.Errorf("%d bytes were sent of an output of %d", len(middle), quoted.Len())
	}
	for _, line := range mustSurvive {
		if !bytes.Contains(middle, []byte(line)) {
			t.Errorf("%q is lost: %s", line, middle)
		}
	}
	return true
}

// TestSDKsSeeTheGateway looks at what the gateway itself answers: each SDK
// turns it into its own kind of error, and reads lists and headers. What each
// must see is in testdata/seen.json.
func TestSDKsSeeTheGateway(t *testing.T) {
	var seen map[string]map[string]json.RawMessage
	text, err := os.ReadFile("testdata/seen.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &seen); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ script, pkg string }{
		{"openai.mjs", "openai"}, {"anthropic.mjs", "@anthropic-ai/sdk"}, {"ai.mjs", "ai"},
	} {
		t.Run(tc.pkg, func(t *testing.T) {
			requireNode(t, tc.pkg)
			p := startProvider(t, speak)
			checks := node(t, tc.script, "gateway", map[string]string{
				"base": serve(t, sdkGateway(p)), "key": teamKey, "limited": limitedKey, "anything": anythingKey, "output": testRun(900),
			})
			want := seen[tc.pkg]
			if len(checks) != len(want) {
				t.Errorf("%d checks, want %d", len(checks), len(want))
			}
			for _, c := range checks {
				t.Run(c.Name, func(t *testing.T) {
					var plain bytes.Buffer
					if json.Compact(&plain, want[c.Name]) != nil {
						t.Fatalf("nothing is known of this check: saw %s %s", c.Error, c.Saw)
					}
					if c.Error != "" || string(c.Saw) != plain.String() {
						t.Errorf("saw %s %s\nwant %s", c.Error, c.Saw, plain.String())
					}
				})
			}
			// A refused request must not have reached the provider.
			for _, c := range p.take() {
				if name := c.header.Get("X-Check"); name != "too many requests" && name != "what it saved" {
					t.Errorf("%s reached the provider: %s", name, c.body)
				}
				checkCredential(t, c)
			}
		})
	}
}
