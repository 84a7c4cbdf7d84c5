package optimize_test

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/caveman"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/headroom"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/reasoning"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/rtk"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/squoze"
)

// passesOf builds the passes that a header value like
// "rtk=auto, headroom=balanced;keep=4;reserve=1000" asks for. ok is false if
// one of them does not exist.
func passesOf(t testing.TB, header string) (passes []optimize.Pass, ok bool) {
	t.Helper()
	asked := map[string]string{}
	for _, member := range strings.Split(header, ",") {
		name, level, _ := strings.Cut(strings.TrimSpace(member), "=")
		asked[name] = level
	}
	for _, name := range []string{"squoze", "rtk", "reasoning", "headroom", "caveman"} {
		level, wanted := asked[name]
		if !wanted {
			continue
		}
		delete(asked, name)
		level, rest, _ := strings.Cut(level, ";")
		params := map[string]int{}
		for _, param := range strings.Split(rest, ";") {
			if key, value, found := strings.Cut(param, "="); found {
				n, err := strconv.Atoi(value)
				if err != nil {
					t.Fatalf("%s: %v", header, err)
				}
				params[key] = n
			}
		}
		build := builders[name]
		if build == nil {
			return nil, false
		}
		p := build(level, params)
		if p == nil {
			t.Fatalf("%s: no level %q of %s", header, level, name)
		}
		passes = append(passes, p)
	}
	if len(asked) > 0 {
		t.Fatalf("%s: unknown optimizers %v", header, asked)
	}
	return passes, true
}

// builders make the passes by name; nil if there is no such level.
var builders = map[string]func(level string, params map[string]int) optimize.Pass{
	"squoze": func(level string, _ map[string]int) optimize.Pass {
		if level == "" || level == "on" {
			return squozeEngine().Pass("")
		}
		return nil
	},
	"rtk": func(level string, _ map[string]int) optimize.Pass {
		if p, err := rtk.New(level, rtkMemo()); err == nil {
			return p
		}
		return nil
	},
	"reasoning": func(level string, _ map[string]int) optimize.Pass {
		if p, ok := reasoning.New(level); ok {
			return p
		}
		return nil
	},
	"headroom": func(level string, params map[string]int) optimize.Pass {
		if p, ok := headroom.New(level, params["keep"], params["reserve"]); ok {
			return p
		}
		return nil
	},
	"caveman": func(level string, _ map[string]int) optimize.Pass {
		if p, ok := caveman.New(level); ok {
			return p
		}
		return nil
	},
}

// What the passes remember, shared by all tests; forgetful switches it off.
var (
	forgetful    = os.Getenv(childEnv) != ""
	rtkMemo      = sync.OnceValue(func() *rtk.Memo { return memoUnless(forgetful) })
	squozeEngine = sync.OnceValue(func() *squoze.Engine {
		if forgetful {
			return squoze.New(squoze.Config{MemoBytes: -1})
		}
		return squoze.New(squoze.Config{})
	})
)

func memoUnless(forgetful bool) *rtk.Memo {
	if forgetful {
		return nil
	}
	return rtk.NewMemo(64 << 20)
}

// run sends a body through the passes; it comes back as it is if nothing
// applies. An error says that a pass was at fault.
func run(t testing.TB, f adapter.Format, body []byte, passes []optimize.Pass) ([]byte, optimize.Result) {
	t.Helper()
	var req adapter.Request
	if req.Parse(f, body) != nil {
		return body, optimize.Result{}
	}
	res := optimize.Run(&req, passes, nil)
	if res.Panic != nil {
		t.Fatalf("fault of %s: %v\n%s", res.Panic.Pass, res.Panic.Value, res.Panic.Stack)
	}
	if res.Body == nil {
		return body, res
	}
	return res.Body, res
}

// TestCases checks the behaviour cases without a server.
func TestCases(t *testing.T) {
	list, err := cases.Load("../testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, c := range list {
		if c.Area != "optimize" {
			continue
		}
		passes, ok := passesOf(t, c.Optimize)
		if !ok {
			continue
		}
		checked++
		t.Run(c.Name, func(t *testing.T) {
			f := adapter.Detect(c.Path)
			for _, err := range c.Check(func() cases.Optimizer {
				return func(body []byte) []byte {
					after, _ := run(t, f, body, passes)
					return after
				}
			}) {
				t.Error(err)
			}
		})
	}
	if checked == 0 {
		t.Fatal("no case was checked")
	}
}
