package optimize_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
)

// modes are all optimizers, level by level, and what may be combined. The small
// reserves are there because few conversations reach the usual ones.
var modes = []string{
	"rtk=light", "rtk=standard", "rtk=aggressive", "rtk=auto",
	"caveman=lite", "caveman=full", "caveman=auto",
	"headroom=conservative", "headroom=balanced", "headroom=aggressive", "headroom=auto",
	"headroom=conservative;reserve=9000", "headroom=balanced;keep=4;reserve=4000", "headroom=aggressive;keep=1;reserve=1", "headroom=auto;reserve=6000",
	"reasoning=low", "reasoning=high", "reasoning=auto",
	"rtk=standard, headroom=balanced;reserve=5000",
	"rtk=aggressive, reasoning=low, headroom=aggressive;keep=3;reserve=2000, caveman=full",
	"rtk=auto, reasoning=auto, headroom=auto;reserve=8000, caveman=auto",
	"rtk=auto, reasoning=auto, headroom=auto, caveman=auto",
	"squoze=on", "squoze=on, reasoning=low", "squoze=on, caveman=lite",
}

// TestPromises sends every request of the corpus, and every turn of its
// conversations, through every mode and checks what the package promises.
func TestPromises(t *testing.T) {
	c := needCorpus(t)
	for _, header := range modes {
		t.Run(modeName(header), func(t *testing.T) {
			if raceEnabled && !strings.Contains(header, ",") {
				t.Skip("under the race detector, which is slow, only what is combined")
			}
			passes, ok := passesOf(t, header)
			if !ok {
				t.Fatalf("no passes for %s", header)
			}
			plain := passes
			if strings.Contains(header, "caveman") {
				plain = passes[:len(passes)-1]
			}
			k := &keeper{header: header}
			sent, changed := 0, 0
			send := func(s sample) []byte {
				sent++
				after, res := run(t, s.format, s.body, passes)
				again, _ := run(t, s.format, after, passes)
				if !bytes.Equal(again, after) {
					t.Errorf("%s: applied again, it changes at byte %d", s.name, differAt(again, after))
				}
				if !bytes.Equal(after, s.body) {
					changed++
				}
				if saved := len(s.body) - len(after); saved != res.SavedBytes {
					t.Errorf("%s: %d bytes saved, reported %d", s.name, saved, res.SavedBytes)
				}
				middle := after
				if len(plain) < len(passes) {
					middle, _ = run(t, s.format, s.body, plain)
					k.directive(s, middle, after)
				}
				k.check(s, middle)
				return after
			}
			for _, s := range c.singles {
				send(s)
			}
			for _, talk := range c.sessions {
				epochs := 0
				var last []byte
				for i, s := range talk {
					after := send(s)
					if i > 0 && !samePrefix(t, last, after) {
						epochs++
					}
					last = after
				}
				allowed := 0
				if strings.Contains(header, "headroom") {
					allowed = len(talk) - 1 // how many exactly, headroom's own test checks
				}
				if epochs > allowed {
					t.Errorf("%s: the prefix changed %d times", talk[0].name, epochs)
				}
			}
			for _, err := range k.errs {
				t.Error(err)
			}
			// No conversation of the corpus is long enough for headroom's own
			// reserves, or holds enough old reasoning.
			if changed == 0 && header != "headroom="+passLevel(passes) && header != "reasoning="+passLevel(passes) {
				t.Error("no request was changed")
			}
			t.Logf("%d of %d requests changed", changed, sent)
		})
	}
}

func passLevel(passes []optimize.Pass) string { return passes[0].(optimize.Leveled).Level() }

// samePrefix reports whether the messages of the turn before begin those of
// this one, and whether the prompts before them are the same. Cache marks,
// which clients move from turn to turn, do not count.
func samePrefix(t testing.TB, before, after []byte) bool {
	was, is := readBody(t, before), readBody(t, after)
	for _, key := range []string{"system", "instructions", "tools"} {
		if !bytes.Equal(was.top[key], is.top[key]) && !sameBut(was.top[key], is.top[key]) {
			return false
		}
	}
	if len(was.list) > len(is.list) {
		return false
	}
	for i, raw := range was.list {
		if !bytes.Equal(raw, is.list[i]) && !sameBut(raw, is.list[i]) {
			return false
		}
	}
	return true
}

// parts are a body's members and its messages, decoded by encoding/json.
type parts struct {
	top  map[string]json.RawMessage
	list []json.RawMessage
}

func readBody(t testing.TB, body []byte) (p parts) {
	t.Helper()
	if err := json.Unmarshal(body, &p.top); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"messages", "input"} {
		if raw := p.top[key]; len(raw) > 0 && raw[0] == '[' {
			if err := json.Unmarshal(raw, &p.list); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p
}

// sameBut reports whether two values are the same but for cache marks.
func sameBut(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(unmark(x), unmark(y))
}

func unmark(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cache_control")
		for key := range v {
			v[key] = unmark(v[key])
		}
	case []any:
		for i := range v {
			v[i] = unmark(v[i])
		}
	}
	return v
}

func differAt(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// childEnv tells a copy of the test binary to write the digests of all outcomes
// to the file that it names.
const childEnv = "OPTIMIZE_DIGESTS"

// TestSameBytesInTwoProcesses compares all outcomes with those of another
// process, whose hash seeds differ and which remembers nothing.
func TestSameBytesInTwoProcesses(t *testing.T) {
	c := needCorpus(t)
	digests := func(each func(line string)) {
		for _, header := range modes {
			passes, ok := passesOf(t, header)
			if !ok {
				continue
			}
			send := func(s sample) {
				after, _ := run(t, s.format, s.body, passes)
				sum := sha256.Sum256(after)
				each(header + " " + s.name + " " + hex.EncodeToString(sum[:]))
			}
			for _, s := range c.singles {
				send(s)
			}
			for _, talk := range c.sessions {
				for _, s := range talk {
					send(s)
				}
			}
		}
	}
	if file := os.Getenv(childEnv); file != "" {
		out, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriter(out)
		digests(func(line string) { fmt.Fprintln(w, line) })
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	file := filepath.Join(t.TempDir(), "digests")
	child := exec.Command(os.Args[0], "-test.run=^TestSameBytesInTwoProcesses$")
	child.Env = append(os.Environ(), childEnv+"="+file)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	theirs := strings.Split(strings.TrimSpace(string(text)), "\n")
	n := 0
	digests(func(line string) {
		if n >= len(theirs) || theirs[n] != line {
			t.Errorf("another process made something else of it: %.200s", line)
		}
		n++
	})
	if n != len(theirs) || n == 0 {
		t.Errorf("%d outcomes here, %d there", n, len(theirs))
	}
}

// endpointOf is the path that requests of a format are sent to.
func endpointOf(f adapter.Format) string { return endpoints[f] }
