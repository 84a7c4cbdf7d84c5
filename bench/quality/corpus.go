package quality

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// Case is one conversation with what must hold for what becomes of it.
type Case struct {
	Name   string
	Format adapter.Format
	Model  string
	// Turns are the bodies of a conversation that grows; most cases have one.
	Turns [][]byte

	// Needles must all be found in the last turn's texts, in their order
	// unless AnyOrder says that a table or a folded list may hold them.
	Needles  []string
	AnyOrder bool
	// Must are further pieces of the last turn that no engine can do without
	// under the contracts: the values of a table, package versions that changed, a
	// file that stands in no other place. See Bound.
	Must []string
	// Untouched says that no byte may change.
	Untouched bool
	// Below says that it is below the size from which squoze looks at anything
	// for this model; what others do with it is their affair.
	Below bool
	// Fires says that a deterministic engine is expected to save something.
	Fires bool
	// Reference says that the case is of a class that a published corpus has.
	Reference bool
	// Exact says that whatever is elided is a whole number of lines, stated
	// exactly by the marker in its place.
	Exact bool
	// Words are what a person typed around a paste: it must stand there
	// exactly.
	Words []string
}

// Path is the path that the case's requests are sent to.
func (c *Case) Path() string { return formats[c.Format] }

// Models of the three families with gates of their own.
const (
	claude   = "claude-sonnet-4-5"
	gpt      = "gpt-5"
	deepseek = "deepseek-chat"
)

// expect is what a case expects.
type expect struct{ untouched, below, fires, exact, anyOrder bool }

var (
	untouched = expect{untouched: true}
	below     = expect{below: true, exact: true}
	fires     = expect{fires: true, exact: true}
	rewrites  = expect{fires: true} // lines are rewritten, not only elided
	reorders  = expect{fires: true, anyOrder: true}
	may       = expect{} // may fire or not
)

// one is a case of a single call.
func one(name, model string, s step, needles []string, e expect) Case {
	format := adapter.Chat
	if model == claude {
		format = adapter.Messages
	} else if model == gpt {
		format = adapter.Responses
	}
	return Case{
		Name: name, Format: format, Model: model, Turns: [][]byte{body(format, model, []step{s})},
		Needles: needles, Untouched: e.untouched, Fires: e.fires, Below: e.below, Exact: e.exact, AnyOrder: e.anyOrder,
	}
}

// generated is a case whose needles are the generator's.
func generated(name, model, command string, g *gen, e expect) Case {
	c := one(name, model, shell(command, g.text()), g.needles, e)
	c.Must = g.musts
	return c
}

// Corpus is all cases: first those of the classes that a published corpus
// has, rebuilt from their description, then our own.
func Corpus() []Case {
	cases := referenceCases()
	for i := range cases {
		cases[i].Reference = true
	}
	return append(cases, ownCases()...)
}

func referenceCases() []Case {
	api := apiList(9, 800)
	lock, _ := lockDiff(10, 300)
	fence, run, before, after := fenced(11)
	first, second := reread(13)
	session := []step{
		read("planner/plan.go", first),
		shell("go vet ./planner", "ok"),
		read("planner/plan.go", second),
		shell("go test ./planner", "ok  \texample.test/shop/planner\t0.112s"),
	}
	list := one("JSON list of 800 rows", gpt, step{user: "List them.", tool: "list_orders", args: map[string]int{"limit": 800}, result: api.text()}, api.needles, reorders)
	list.Must = api.musts
	var turns [][]byte
	for n := range session {
		turns = append(turns, body(adapter.Messages, claude, session[:n+1]))
	}
	return []Case{
		generated("go test, 3000 lines, 2 failures", claude, "go test -v ./...", goTest(1, 3000, 2), fires),
		generated("pytest, 400 pass, 1 traceback", claude, "pytest -v", pytest(2, 400), fires),
		generated("kubernetes log, 2 critical lines", claude, "kubectl logs deploy/api -n shop", kubeLogs(3, 1200), fires),
		generated("pnpm progress on a terminal", claude, "pnpm install", pnpm(4), rewrites),
		generated("small log, 3 KB, claude", claude, "tail worker.log", smallLog(5, 3000), below),
		generated("small log, 6 KB, claude", claude, "tail worker.log", smallLog(5, 6000), fires),
		generated("small log, 1.5 KB, deepseek", deepseek, "tail worker.log", smallLog(6, 1500), fires),
		one("source full of FAILED and PASSED", claude, read("verdict/verdict.go", source(7)), nil, untouched),
		one("file of test helpers", gpt, read("shop/helpers_test.go", helper(8)), nil, untouched),
		one("prose about ERROR and FATAL", claude, step{user: "Read it.", tool: "fetch", args: map[string]string{"url": "https://wiki.example.test/incident"}, result: incident(8)}, nil, untouched),
		list,
		generated("diff with a lock file", claude, "git diff", lock, rewrites),
		{Name: "test run in the user's own message", Format: adapter.Messages, Model: claude, Turns: [][]byte{body(adapter.Messages, claude, []step{{user: fence}})},
			Needles: run.needles, Fires: true, Words: []string{before, after}},
		generated("200 different failures", claude, "go test ./routes", manyFailures(12, 200), reorders),
		{Name: "session of 4 turns, a file read twice", Format: adapter.Messages, Model: claude, Turns: turns, Needles: []string{"total < 0"}, Must: []string{first}, Fires: true},
	}
}

func ownCases() []Case {
	cases := []Case{
		generated("jest", claude, "npx jest", jest(20), fires),
		generated("vitest", gpt, "npx vitest run", vitest(21), fires),
		generated("cargo test", claude, "cargo test", cargoTest(22), fires),
		generated("PHPUnit", deepseek, "vendor/bin/phpunit", phpunit(23), fires),
		generated("JUnit by Maven", claude, "mvn test", junit(24), fires),
		generated("cargo build", claude, "cargo build", cargoBuild(25), fires),
		generated("tsc", gpt, "npx tsc --listEmittedFiles", tsc(26), fires),
		generated("gcc and the linker", claude, "make", gcc(27), fires),
		generated("Maven", deepseek, "mvn -B verify", maven(28), fires),
		generated("npm", claude, "npm install --verbose", npmInstall(29), fires),
		generated("pip", claude, "pip install -r requirements.txt", pipInstall(30), fires),
		generated("a script's errors", gpt, "./deploy.sh", shellErrors(31), fires),
		generated("terraform plan", claude, "terraform plan", terraform(32), fires),
		generated("docker build", claude, "docker build --progress=plain .", docker(33), fires),
		generated("kubectl describe", claude, "kubectl describe pod ledger-7d9f8c6b5-x2x9z", kubeDescribe(34), may),
		generated("kubectl get", gpt, "kubectl get pods -A", kubeGet(35), may),
		generated("git log", claude, "git log", gitLog(36), may),
		generated("git diff --stat", claude, "git diff --stat", diffStat(37), may),
		generated("grep -n", claude, "grep -rn ERROR src", grepN(38), may),
		generated("ls -la", gpt, "ls -la", lsLong(39), may),
		generated("find", claude, "find . -name '*.go'", findPaths(40), may),
		generated("log as JSON lines", claude, "kubectl logs deploy/checkout", ndjson(41), rewrites),
		generated("CSV", gpt, "psql --csv -c 'table orders'", csv(42), may),
		generated("mixed line ends", claude, "go test ./...", mixedEndings(43), fires),
		generated("log in Chinese, Japanese and Korean", claude, "journalctl -u shop", cjkLog(44), fires),
		one("configuration", claude, read("shop.yaml", config(45)), nil, untouched),
	}
	for i, s := range stacks {
		cases = append(cases, generated("stack trace, "+s.name, claude, "journalctl -u worker", trace(uint64(50+i), 400, s.lines, s.keep), fires))
	}
	return cases
}
