package output

import "strings"

// program says what a program writes. The zero value is a program nothing is
// known of.
type program struct {
	class Class
	tool  Tool
	kind  programKind
	// sub are subcommands; the first word that is not a flag is looked up.
	// "" is what holds for all others.
	sub map[string]program
}

// programKind is how a program takes part in a command line.
type programKind uint8

const (
	runs    programKind = iota // writes output of its own
	silent                     // writes nothing to speak of
	reads                      // prints the files it is given; as a filter, passes text on
	filters                    // prints some lines of its input; alone, of the files it is given
	wraps                      // runs the command that follows it
	shell                      // runs a command line: sh -c
	scripts                    // runs a named script: npm run x, make x
	hides                      // its output is not to be judged by what stands here
)

func is(c Class, t Tool) program { return program{class: c, tool: t} }

var (
	nothing  = program{kind: silent}
	hidden   = program{kind: hides}
	document = program{kind: reads}
	install  = is(Progress, Packages)
	linter   = is(Build, Lint)
	jsTest   = is(TestOutput, JSTest)
	logs     = is(Log, NoTool)
	entries  = is(Listing, Files)
	compiler = is(Build, CC)
	builder  = is(Build, Make)
	jvm      = is(Build, JVM)
)

// programs is the one table of what is known about programs, by base name
// without extension.
var programs = table(
	// Languages and their test runners.
	row("go", program{sub: map[string]program{
		"test": is(TestOutput, GoTest), "build": is(Build, GoBuild), "vet": is(Build, GoBuild), "install": is(Build, GoBuild),
		"generate": is(Build, GoBuild), "get": install, "list": entries,
		"mod": {sub: map[string]program{"graph": entries, "why": document, "edit": document, "": install}}, "work": install,
		"doc": document, "env": document, "fmt": entries, "version": nothing, "clean": nothing,
	}}),
	row("gotestsum richgo", is(TestOutput, GoTest)),
	row("pytest py.test nose2 unittest", is(TestOutput, Pytest)),
	row("tox nox behave robot", is(TestOutput, NoTool)),
	row("cargo", program{sub: map[string]program{
		"test": is(TestOutput, Cargo), "nextest": is(TestOutput, Cargo), "t": is(TestOutput, Cargo),
		"build": is(Build, Cargo), "b": is(Build, Cargo), "check": is(Build, Cargo), "c": is(Build, Cargo), "clippy": is(Build, Cargo),
		"bench": is(Build, Cargo), "audit": linter, "deny": linter, "doc": is(Build, Cargo), "fix": is(Build, Cargo), "install": is(Build, Cargo), "rustc": is(Build, Cargo),
		"fetch": install, "update": install, "add": install, "tree": entries, "metadata": is(JSON, NoTool),
	}}),
	row("rustc", is(Build, Cargo)),
	row("jest vitest mocha ava tap jasmine karma cypress wdio web-test-runner newman testcafe", jsTest),
	row("playwright", program{sub: map[string]program{"test": jsTest, "install": install}}),
	row("react-scripts ng vue-cli-service", program{sub: map[string]program{"test": jsTest, "build": builder, "lint": linter}}),
	row("phpunit pest paratest codecept", is(TestOutput, PHPUnit)),
	row("rspec minitest cucumber", is(TestOutput, RubyTest)),
	row("rails rake", program{sub: map[string]program{
		"test": is(TestOutput, RubyTest), "spec": is(TestOutput, RubyTest), "routes": entries,
	}}),
	row("mix", program{sub: map[string]program{"test": is(TestOutput, ExUnit), "compile": builder, "deps.get": install}}),
	row("mvn mvnw gradle gradlew sbt ant lein mill", jvm),
	row("dotnet", program{sub: map[string]program{
		"test": is(TestOutput, Dotnet), "build": is(Build, Dotnet), "publish": is(Build, Dotnet), "restore": install, "format": linter,
	}}),
	row("swift flutter dart zig stack cabal dune", program{sub: map[string]program{
		"test": is(TestOutput, NoTool), "build": builder, "analyze": linter, "pub": install,
	}}),
	row("ctest", is(TestOutput, CC)),
	row("node", program{kind: hides}),
	row("deno", program{sub: map[string]program{"test": jsTest, "check": is(Build, TypeScript), "lint": linter, "install": install}}),

	// Compilers and builders.
	row("tsc vue-tsc", is(Build, TypeScript)),
	row("gcc g++ cc c++ clang clang++ clang-cl cl ld ar javac kotlinc scalac ghc swiftc nvcc emcc gfortran msbuild xcodebuild", compiler),
	row("make gmake just task invoke grunt gulp nx turbo lerna moon bazel bazelisk buck buck2 pants", program{kind: scripts}),
	row("ninja cmake meson scons configure autoreconf webpack rollup esbuild tsup parcel ncc swc", builder),
	row("vite next nuxt astro remix svelte-kit", program{sub: map[string]program{"build": builder, "lint": linter, "": logs}}),

	// Linters and type checkers.
	row("eslint stylelint biome oxlint xo standard tslint jshint golangci-lint staticcheck revive golint mypy pyright pyre "+
		"flake8 pylint bandit pydocstyle rubocop brakeman reek phpstan psalm phpcs phpmd shellcheck hadolint yamllint "+
		"markdownlint markdownlint-cli2 ktlint detekt checkstyle clang-tidy cppcheck cpplint swiftlint semgrep actionlint tflint "+
		"sqlfluff svelte-check vulture codespell haml-lint scalastyle credo dialyzer", linter),
	row("ruff", program{sub: map[string]program{"check": linter, "format": entries, "": linter}}),

	// Package managers.
	row("npm pnpm yarn bun", program{sub: map[string]program{
		"install": install, "i": install, "ci": install, "add": install, "update": install, "up": install, "upgrade": install,
		"remove": install, "uninstall": install, "audit": linter, "outdated": entries, "dedupe": install, "prune": install, "link": install,
		"test": {kind: scripts}, "t": is(TestOutput, Make), "tst": is(TestOutput, Make), "run": {kind: scripts}, "run-script": {kind: scripts}, "start": {kind: scripts},
		"exec": {kind: wraps}, "dlx": {kind: wraps}, "x": {kind: wraps},
		"ls": entries, "list": entries, "why": entries, "view": document, "info": document, "config": document,
		"build": {kind: scripts}, "lint": {kind: scripts}, "": {kind: scripts},
	}}),
	row("pip pip3", program{sub: map[string]program{
		"install": install, "download": install, "uninstall": install, "wheel": install, "list": entries, "freeze": entries, "show": document,
	}}),
	row("uv poetry pipenv pdm hatch rye", program{sub: map[string]program{
		"run": {kind: wraps}, "sync": install, "install": install, "add": install, "lock": install, "update": install, "remove": install,
		"pip": install, "build": builder, "tree": entries, "tool": install, "venv": install,
	}}),
	row("conda mamba gem composer apt apt-get apk dnf yum brew pacman zypper nix-env snap choco winget", program{sub: map[string]program{
		"install": install, "update": install, "upgrade": install, "require": install, "remove": install, "add": install, "create": install, "env": install,
		"dump-autoload": install, "test": {kind: scripts}, "run-script": {kind: scripts}, "list": entries, "search": entries, "info": document, "show": document, "exec": {kind: wraps}, "run": {kind: wraps},
	}}),
	row("bundle", program{sub: map[string]program{"exec": {kind: wraps}, "install": install, "update": install, "": install}}),

	// Containers and infrastructure.
	row("docker podman nerdctl", program{sub: map[string]program{
		"build": is(Build, Docker), "buildx": is(Build, Docker), "pull": is(Progress, Docker), "push": is(Progress, Docker),
		"logs": logs, "compose": {sub: map[string]program{
			"logs": logs, "up": logs, "build": is(Build, Docker), "pull": is(Progress, Docker), "down": is(Progress, Docker), "ps": entries,
			"exec": hidden, "run": hidden, "config": document,
		}},
		"ps": entries, "images": entries, "image": entries, "container": entries, "volume": entries, "network": entries, "stats": entries,
		"inspect": document, "exec": hidden, "run": hidden,
	}}),
	row("docker-compose", program{sub: map[string]program{
		"logs": logs, "up": logs, "build": is(Build, Docker), "pull": is(Progress, Docker), "down": is(Progress, Docker), "ps": entries, "config": document,
	}}),
	row("kubectl oc k3s", program{sub: map[string]program{
		"logs": logs, "get": is(Listing, Kubectl), "top": is(Listing, Kubectl), "events": is(Listing, Kubectl), "api-resources": is(Listing, Kubectl),
		"describe": document, "explain": document, "apply": is(Progress, Kubectl), "delete": is(Progress, Kubectl), "rollout": is(Progress, Kubectl),
		"exec": hidden, "config": document,
	}}),
	row("helm", program{sub: map[string]program{
		"list": is(Listing, Kubectl), "ls": is(Listing, Kubectl), "install": is(Progress, Kubectl), "upgrade": is(Progress, Kubectl), "lint": linter,
		"template": document, "get": document, "show": document, "status": document,
	}}),
	row("terraform tofu terragrunt", program{sub: map[string]program{
		"apply": is(Build, Terraform), "plan": is(Build, Terraform), "destroy": is(Build, Terraform), "init": is(Build, Terraform),
		"validate": is(Build, Terraform), "refresh": is(Build, Terraform), "import": is(Build, Terraform),
		"show": document, "output": document, "state": document, "fmt": entries,
	}}),
	row("ansible-playbook ansible", is(Build, Ansible)),
	row("journalctl dmesg stern logcat kubetail multitail", logs),
	row("pm2 heroku fly flyctl vercel netlify", program{sub: map[string]program{"logs": logs, "logcat": logs}}),
	row("adb", program{sub: map[string]program{"logcat": logs, "shell": hidden}}),

	// Git; diff, show, log, stash and branch are read in gitHint.
	row("git", program{tool: Git, sub: map[string]program{
		"status": is(GitStatus, Git), "reflog": is(GitLog, Git), "shortlog": is(GitLog, Git), "grep": {kind: filters, tool: Search, class: Grep},
		"ls-files": is(Listing, Git), "ls-tree": is(Listing, Git), "branch": is(Listing, Git), "tag": is(Listing, Git), "remote": is(Listing, Git),
		"worktree": is(Listing, Git), "ls-remote": is(Listing, Git),
		"blame": document, "annotate": document, "cat-file": document, "config": document, "help": document,
		"clone": is(Progress, Git), "fetch": is(Progress, Git), "pull": is(Progress, Git), "push": is(Progress, Git), "submodule": is(Progress, Git),
		"lfs": is(Progress, Git), "gc": is(Progress, Git), "merge": is(Progress, Git), "rebase": is(Progress, Git), "cherry-pick": is(Progress, Git),
		"revert": is(Progress, Git), "am": is(Progress, Git), "apply": is(Progress, Git), "commit": is(Progress, Git), "checkout": is(Progress, Git),
		"switch": is(Progress, Git), "reset": is(Progress, Git), "restore": is(Progress, Git), "clean": is(Progress, Git), "bisect": is(Progress, Git),
		"add": nothing, "rm": nothing, "mv": nothing, "init": nothing, "rev-parse": nothing,
	}}),
	row("gh glab", hidden),
	row("diff colordiff", is(Diff, NoTool)),

	// Files, searches and documents.
	row("ls dir exa eza lsd tree find fd fdfind du df locate mdfind stat wc Get-ChildItem gci", entries),
	row("ps lsof netstat ss top who last mount lsblk", entries),
	row("grep egrep fgrep rg ag ack ugrep zgrep pcregrep findstr sls Select-String", program{kind: filters, class: Grep, tool: Search}),
	row("cat bat batcat less more head tail nl tac type zcat Get-Content gc strings pygmentize glow expand fold fmt pr view", document),
	row("sed awk gawk mawk perl cut tr column sort uniq paste rev ts unbuffer ansi2txt", program{kind: reads}),
	row("tee", program{kind: reads}),
	row("jq gojq jaq", is(JSON, NoTool)),
	row("yq xmllint xq pandoc man info printenv", document),
	row("curl wget http https xh lynx w3m aria2c", is(Unknown, Fetch)),
	row("base64 xxd hexdump od openssl gpg", hidden),
	row("ffmpeg rsync scp tar unzip zip 7z", is(Progress, NoTool)),

	// Words that write nothing of their own.
	row("cd pushd popd export set unset source . alias ulimit umask trap read exit return shift local declare typeset readonly true false : "+
		"test [ [[ mkdir rmdir rm cp mv ln touch chmod chown kill pkill killall sleep wait echo printf pwd date clear tput hash Set-Location Write-Host", nothing),

	// Wrappers.
	row("sudo doas env nice nohup timeout gtimeout stdbuf command exec xvfb-run npx bunx pnpx corepack cross-env dotenv direnv mise asdf "+
		"ionice chronic setsid xargs watch nyc c8 coverage builtin winpty caffeinate rtk parallel faketime flock", program{kind: wraps}),
	row("sh bash zsh dash ash ksh fish powershell pwsh cmd", program{kind: shell}),
	row("python python3 python2 py ruby php java lua Rscript", program{kind: hides}),
)

type rows struct {
	names string
	program
}

func row(names string, p program) rows { return rows{names, p} }

func table(all ...rows) map[string]program {
	m := make(map[string]program)
	for _, r := range all {
		for _, name := range strings.Fields(r.names) {
			if _, twice := m[name]; twice {
				panic("output: program listed twice: " + name)
			}
			m[name] = r.program
		}
	}
	return m
}
