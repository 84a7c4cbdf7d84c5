package output

import "testing"

func TestHintFor(t *testing.T) {
	unknown := Hint{}
	weakTest, weakBuild, weakLog := Hint{Class: TestOutput}, Hint{Class: Build}, Hint{Class: Log}
	goTest := Hint{Class: TestOutput, Tool: GoTest}
	for _, c := range []struct {
		tool, command, path string
		want                Hint
	}{
		// Tools without a command line.
		{"Read", "", "a/b.go", file},
		{"Read", "", "/tmp/build.log", weakLog},
		{"mcp__filesystem__read_file", "", "x.py", file},
		{"str_replace_based_edit_tool", "view", "x.py", file},
		{"functions.read_file", "", "", file},
		{"Grep", "", "src", Hint{Class: Grep, Tool: Search}},
		{"list_dir", "", ".", Hint{Class: Listing, Tool: Files}},
		{"WebFetch", "", "https://example.test", file},
		{"Task", "", "", file},
		{"build", "", "", weakBuild},
		{"run_tests", "", "", weakTest},
		{"runUnitTests", "", "", weakTest},
		{"get_pod_logs", "", "", weakLog},
		{"scan", "", "", unknown},
		{"latest_release", "", "", unknown},
		{"", "", "", unknown},
		{"Bash", "", "", unknown},

		// Test runners, however they are called.
		{"Bash", "go test ./...", "", goTest},
		{"shell", "cd x && FOO=1 go test ./... 2>&1 | tail -50", "", goTest},
		{"shell", `bash -lc "cd /srv/app && go test -run 'TestA|TestB' ./..."`, "", goTest},
		{"shell", "bash -lc cd x && go test ./...", "", goTest},
		{"shell", "sudo -u app env GOFLAGS=-mod=mod timeout -k 5 120s /usr/local/go/bin/go test -v ./pkg | tee out.txt", "", goTest},
		{"exec", "set -e; export A=b\ngo test ./... || true; echo done", "", goTest},
		{"Bash", "pytest -q", "", Hint{Class: TestOutput, Tool: Pytest}},
		{"Bash", "python -m pytest tests -x", "", Hint{Class: TestOutput, Tool: Pytest}},
		{"Bash", "python3.12 -W ignore -m pytest", "", Hint{Class: TestOutput, Tool: Pytest}},
		{"Bash", "uv run --with pytest pytest -q", "", Hint{Class: TestOutput, Tool: Pytest}},
		{"Bash", "poetry run pytest", "", Hint{Class: TestOutput, Tool: Pytest}},
		{"Bash", ".venv/bin/pytest", "", Hint{Class: TestOutput, Tool: Pytest}},
		{"Bash", "python manage.py test shop", "", Hint{Class: TestOutput, Tool: Pytest}},
		{"Bash", "cargo test --all -- --nocapture", "", Hint{Class: TestOutput, Tool: Cargo}},
		{"Bash", "npx jest --verbose", "", Hint{Class: TestOutput, Tool: JSTest}},
		{"Bash", "npx --yes jest@29", "", Hint{Class: TestOutput, Tool: JSTest}},
		{"Bash", "yarn jest", "", Hint{Class: TestOutput, Tool: JSTest}},
		{"Bash", "pnpm exec vitest run", "", Hint{Class: TestOutput, Tool: JSTest}},
		{"Bash", "npx playwright test --reporter=list", "", Hint{Class: TestOutput, Tool: JSTest}},
		{"Bash", "node --test test/", "", Hint{Class: TestOutput, Tool: JSTest}},
		{"Bash", "php vendor/bin/phpunit", "", Hint{Class: TestOutput, Tool: PHPUnit}},
		{"Bash", "bundle exec rspec", "", Hint{Class: TestOutput, Tool: RubyTest}},
		{"Bash", "docker compose exec -T web pytest -q", "", Hint{Class: TestOutput, Tool: Pytest}},
		{"Bash", "kubectl exec web-0 -- pytest", "", Hint{Class: TestOutput, Tool: Pytest}},
		{"Bash", "npm test", "", Hint{Class: TestOutput, Tool: Make}},
		{"Bash", "npm run test:unit -- --watch=false", "", Hint{Class: TestOutput, Tool: Make}},
		{"Bash", "pnpm --filter web test", "", Hint{Class: TestOutput, Tool: Make}},
		{"Bash", "make -C sub test", "", Hint{Class: TestOutput, Tool: Make}},
		{"Bash", "./run_tests.sh -v", "", weakTest},
		{"Bash", "bash scripts/run-tests.sh", "", weakTest},

		// Builds.
		{"Bash", "go build ./... && go vet ./...", "", Hint{Class: Build, Tool: GoBuild}},
		{"Bash", "go vet ./... && go test ./...", "", weakTest},
		{"Bash", "npx tsc -b --verbose", "", Hint{Class: Build, Tool: TypeScript}},
		{"Bash", "make -j8 all", "", Hint{Class: Build, Tool: Make}},
		{"Bash", "x86_64-linux-gnu-gcc -Wall a.c", "", Hint{Class: Build, Tool: CC}},
		{"Bash", "clang++-17 a.cc", "", Hint{Class: Build, Tool: CC}},
		{"Bash", "npx eslint . --ext .ts", "", Hint{Class: Build, Tool: Lint}},
		{"Bash", "npm run lint", "", Hint{Class: Build, Tool: Make}},
		{"Bash", "./gradlew :app:test", "", Hint{Class: Build, Tool: JVM}},
		{"Bash", "docker build -t x .", "", Hint{Class: Build, Tool: Docker}},
		{"Bash", "terraform -chdir=infra plan", "", Hint{Class: Build, Tool: Terraform}},

		// Package managers and logs.
		{"Bash", "npm ci", "", install2()},
		{"Bash", "pip install -r requirements.txt", "", install2()},
		{"Bash", "python -m pip install x", "", install2()},
		{"Bash", "sudo apt-get install -y jq", "", install2()},
		{"Bash", "npm ci && npm test", "", weakTest},
		{"Bash", "kubectl logs deploy/web --tail=500", "", weakLog},
		{"Bash", "docker logs -f web 2>&1 | tail -n 200", "", weakLog},
		{"Bash", "tail -n 500 /var/log/app/web.log", "", weakLog},
		{"Bash", "type service.log", "", weakLog},
		{"Bash", "journalctl -u web", "", weakLog},
		{"Bash", "curl -s https://ci.example.test/job/7/console.log", "", weakLog},

		// Git.
		{"Bash", "git diff", "", Hint{Class: Diff, Tool: Git}},
		{"Bash", "git --no-pager -C sub diff main -- deploy/limits.yaml", "", Hint{Class: Diff, Tool: Git}},
		{"Bash", "git diff --stat release..HEAD", "", Hint{Class: DiffStat, Tool: Git}},
		{"Bash", "git diff --stat -p", "", Hint{Class: Diff, Tool: Git}},
		{"Bash", "git diff --check", "", file},
		{"Bash", "git show HEAD", "", Hint{Class: Diff, Tool: Git}},
		{"Bash", "git show --stat HEAD", "", Hint{Class: GitLog, Tool: Git}},
		{"Bash", "git show HEAD:src/a.go", "", file},
		{"Bash", "git log --oneline -50", "", Hint{Class: GitLog, Tool: Git}},
		{"Bash", "git log -p -3", "", Hint{Class: Diff, Tool: Git}},
		{"Bash", "git status", "", Hint{Class: GitStatus, Tool: Git}},
		{"Bash", "git blame a.go", "", file},
		{"Bash", "git add -A && git status", "", Hint{Class: GitStatus, Tool: Git}},
		{"Bash", "git status && git diff", "", file},

		// Listings and searches.
		{"Bash", "ls -la data", "", Hint{Class: Listing, Tool: Files}},
		{"Bash", "find . -name '*.go' | head -100", "", Hint{Class: Listing, Tool: Files}},
		{"Bash", `find . -name '*.go' -exec cat {} \;`, "", file},
		{"Bash", "find . -name '*.go' | xargs cat", "", file},
		{"Bash", "kubectl get pods -A", "", Hint{Class: Listing, Tool: Kubectl}},
		{"Bash", "kubectl get deploy web -o yaml", "", file},
		{"Bash", "grep -rn openSession src", "", Hint{Class: Grep, Tool: Search}},
		{"Bash", "rg -n 'a|b' src", "", Hint{Class: Grep, Tool: Search}},
		{"Bash", "cat a.go | grep -n func", "", Hint{Class: Grep, Tool: Search}},
		{"Bash", "git grep -n foo", "", Hint{Class: Grep, Tool: Search}},
		{"Bash", "grep -n -A 20 foo a.go", "", file},
		{"Bash", "grep -nC3 foo a.go", "", file},
		{"Bash", "rg --context=4 foo", "", file},
		{"Bash", `grep -n "" a.go`, "", file},
		{"Bash", "grep -v '^#' /etc/hosts", "", file},

		// Files, whatever they hold.
		{"Bash", "cat a.go", "", file},
		{"Bash", "cat test_output.txt", "", file},
		{"Bash", "cat a.go b.log", "", file},
		{"Bash", "sed -n '1,200p' internal/x.go", "", file},
		{"Bash", "head -n 100 README.md", "", file},
		{"Bash", "nl -ba x.py | sed -n '10,40p'", "", file},
		{"Bash", "cat a.go && go test ./...", "", file},
		{"Bash", "go test ./... ; cat a.go", "", file},
		{"Bash", "for f in *.go; do cat $f; done", "", file},
		{"Bash", "if [ -f a.go ]; then cat a.go; fi", "", file},
		{"Bash", "env | sort && cat x", "", file},
		{"Bash", "docker exec web cat /etc/app.conf", "", file},
		{"Bash", "kubectl describe pod web-0", "", file},
		{"Bash", "helm template .", "", file},
		{"Bash", "echo 'unterminated", "", file},
		{"Bash", "cat > a.sh <<'EOF'\ngo test ./...\nEOF\ncat a.sh", "", file},

		// Nothing is known.
		{"Bash", "./ci-thing.sh", "", weakBuild},
		{"Bash", "./frob", "", unknown},
		{"Bash", "base64 assets/logo.png", "", unknown},
		{"Bash", "python - <<'EOF'\nprint(1)\nEOF", "", unknown},
		{"Bash", "cat > a.sh <<'EOF'\ncat x\nEOF\n./a.sh", "", unknown},
		{"Bash", "go test ./... > out.txt 2>&1", "", unknown},
		{"Bash", "go run ./cmd/x", "", unknown},
		{"Bash", "curl -s https://x.example.test/v2", "", Hint{Tool: Fetch}},
		{"Bash", "registryctl show api", "", unknown},
		{"Bash", "jq . a.json", "", Hint{Class: JSON}},
	} {
		if got := HintFor(c.tool, c.command, c.path); got != c.want {
			t.Errorf("%s %q %q: got %v, want %v", c.tool, c.command, c.path, got, c.want)
		}
	}
}

func install2() Hint { return Hint{Class: Progress, Tool: Packages} }

func TestJoinArgs(t *testing.T) {
	for _, args := range [][]string{
		{"bash", "-lc", "npx tsc -b --verbose"},
		{"a b", "it's", "", `"x" $y`, "*.go", "#c", "\\", "a\nb"},
	} {
		list, ok := splitCommand(JoinArgs(args))
		if !ok || len(list) != 1 || len(list[0].words) != len(args) {
			t.Fatalf("%q: %v", args, list)
		}
		for i, w := range list[0].words {
			if w != args[i] {
				t.Errorf("%q: word %d is %q", args, i, w)
			}
		}
	}
}

func FuzzHintFor(f *testing.F) {
	for _, s := range []string{"cd x && go test ./... 2>&1 | tail -50", "bash -lc 'a \"b\" `c` $(d)'", "cat <<EOF > x\na\nEOF\nls", "a>b<c&>d|&e", "'", "\\"} {
		f.Add("Bash", s, "")
	}
	f.Fuzz(func(t *testing.T, tool, command, path string) {
		first := HintFor(tool, command, path)
		if again := HintFor(tool, command, path); again != first {
			t.Errorf("the same call, two hints: %v, %v", first, again)
		}
		args := []string{tool, command, path}
		if list, ok := splitCommand(JoinArgs(args)); ok && len(command)+len(path)+len(tool) < 1000 && tool != "" && !keywords[tool] && tool != "for" && tool != "case" && tool != "select" && tool != "function" {
			if len(list) != 1 || len(list[0].words) != 3 || list[0].words[1] != command {
				t.Errorf("%q: %v", args, list)
			}
		}
	})
}
