package output

import (
	"path"
	"strings"
)

// maxWrapped bounds how many commands may stand inside one another.
const maxWrapped = 8

// commandHint judges a command line: what all its commands print together.
// prints is false when none of them writes anything to speak of.
func commandHint(command string, depth int) (total Hint, prints bool) {
	list, ok := splitCommand(command)
	if !ok || depth > maxWrapped {
		return file, true
	}
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n-1].piped {
			n++
		}
		h, ok := pipelineHint(list[:n], depth)
		list = list[n:]
		switch {
		case !ok:
		case !prints:
			total, prints = h, true
		default:
			total = merged(total, h)
		}
	}
	return total, prints
}

// merged is the hint of two outputs one after the other.
func merged(a, b Hint) Hint {
	switch {
	case a == b:
		return a
	case a.File || b.File:
		return file
	case a.Class.Failing() && b.Class.Failing():
		if b.Class == TestOutput {
			a.Class = TestOutput
		}
		return Hint{Class: a.Class}
	case a.Class.Failing() && b.Class == Unknown && b.Tool == NoTool:
		return Hint{Class: a.Class}
	case b.Class.Failing() && a.Class == Unknown && a.Tool == NoTool:
		return Hint{Class: b.Class}
	}
	return file // two kinds of output in one text: neither rule fits
}

// pipelineHint judges a pipeline by what its first command writes and what the
// others make of it.
func pipelineHint(list []simple, depth int) (h Hint, prints bool) {
	h, prints = wordsOf(list[0].words, depth)
	for _, c := range list[1:] {
		p, args := lookup(c.words)
		switch p.kind {
		case reads:
		case filters:
			if h.File && len(c.words) > 1 && !grepPrintsFile(args, true) {
				h = Hint{Class: Grep, Tool: Search}
			}
		default:
			h, prints = wordsOf(c.words, depth)
		}
	}
	return h, prints && !list[len(list)-1].quiet
}

// lookup finds the program that words run; args are its arguments.
func lookup(words []string) (p program, args []string) {
	for len(words) > 0 && isAssignment(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return nothing, nil
	}
	p, _ = programNamed(words[0])
	return p, words[1:]
}

// programNamed looks a program up by the word that runs it.
func programNamed(word string) (program, bool) {
	name := baseName(word)
	if p, ok := programs[name]; ok {
		return p, true
	}
	// python3.12, clang-17, x86_64-linux-gnu-gcc
	if p, ok := programs[strings.TrimRight(strings.TrimRight(name, "0123456789."), "-")]; ok && name != "" {
		return p, true
	}
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if p, ok := programs[name[i+1:]]; ok && p.class == Build {
			return p, true
		}
	}
	return program{}, false
}

func baseName(word string) string {
	name := path.Base(strings.ReplaceAll(word, `\`, "/"))
	for _, ext := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ext)
	}
	if i := strings.LastIndexByte(name, '@'); i > 0 { // npx jest@29
		name = name[:i]
	}
	return name
}

func isAssignment(word string) bool {
	i := strings.IndexByte(word, '=')
	if i <= 0 {
		return false
	}
	for j := 0; j < i; j++ {
		if c := word[j]; c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9' || j == 0) {
			return false
		}
	}
	return true
}

func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' }

// plain are the arguments that are no flags.
func plain(args []string) []string {
	var list []string
	for _, a := range args {
		if !isFlag(a) {
			list = append(list, a)
		}
	}
	return list
}

// wordsOf judges one simple command. prints is false when it writes nothing
// to speak of.
func wordsOf(words []string, depth int) (h Hint, prints bool) {
	p, args := lookup(words)
	for sub := p.sub; sub != nil; sub = p.sub {
		name := ""
		for i, a := range args {
			if isFlag(a) || isAssignment(a) {
				continue
			}
			// A word behind a flag may be its value: git -C dir status.
			if _, known := sub[a]; !known && i > 0 && isFlag(args[i-1]) && len(args[i-1]) <= 2 {
				continue
			}
			name, args = a, args[i+1:]
			break
		}
		tool := p.tool
		next, ok := sub[name]
		if !ok {
			next = sub[""]
		}
		if next.kind == scripts && name != "" && name != "run" && name != "run-script" {
			args = append([]string{name}, args...)
		}
		if tool == Git {
			return gitHint(name, args, next)
		}
		p = next
	}
	switch p.kind {
	case silent:
		return Hint{}, false
	case reads:
		return readHint(words, args)
	case filters:
		if grepPrintsFile(args, false) {
			return file, true
		}
	case wraps:
		return wrappedHint(args, depth)
	case shell:
		return shellHint(args, depth)
	case scripts:
		return scriptHint(args, depth)
	case hides:
		return hiddenHint(words, args, depth)
	}
	if p.class == Unknown && p.tool == NoTool && len(words) > 0 {
		return wordsHint(baseName(firstWord(words))), true
	}
	if p.class == Listing {
		if i := indexOf(args, "-exec", "-execdir", "-x", "--exec"); i >= 0 {
			if h, ok := wordsOf(args[i+1:], depth+1); ok {
				return h, true
			}
		}
		if p.tool == Kubectl && indexOf(args, "-oyaml", "-ojson", "yaml", "json", "-o=yaml", "-o=json", "--output=yaml", "--output=json") >= 0 {
			return file, true
		}
	}
	if p.tool == Fetch {
		for _, a := range args {
			if strings.Contains(a, "://") && isLogPath(a) {
				return Hint{Class: Log}, true
			}
			if a == "-o" || a == "-O" || a == "--output" {
				return Hint{}, false
			}
		}
	}
	return Hint{Class: p.class, Tool: p.tool}, true
}

func firstWord(words []string) string {
	for _, w := range words {
		if !isAssignment(w) {
			return w
		}
	}
	return ""
}

func indexOf(args []string, any ...string) int {
	for i, a := range args {
		for _, want := range any {
			if a == want {
				return i
			}
		}
	}
	return -1
}

// readHint judges a command that prints files: a log by its name, else a file.
func readHint(words, args []string) (Hint, bool) {
	switch baseName(firstWord(words)) {
	case "sed", "perl":
		for _, a := range args {
			if a == "-i" || strings.HasPrefix(a, "-i.") || a == "-pi" || a == "--in-place" {
				return Hint{}, false
			}
		}
	}
	logs := 0
	for _, a := range plain(args) {
		switch {
		case isLogPath(a):
			logs++
		case strings.ContainsAny(a, "./") && !strings.ContainsAny(a, "'{};$, "):
			return file, true // some other file
		}
	}
	if logs > 0 {
		return Hint{Class: Log}, true
	}
	return file, true
}

// grepPrintsFile reports whether a search prints whole files or stretches of
// them rather than single hits: with context, inverted, or with a pattern that
// fits every line.
func grepPrintsFile(args []string, filtering bool) bool {
	pattern, found := "", false
	for _, a := range args {
		if !isFlag(a) {
			if !found {
				pattern, found = a, true
			}
			continue
		}
		if strings.HasPrefix(a, "--") {
			if name, _, _ := strings.Cut(a[2:], "="); name == "context" || name == "after-context" || name == "before-context" ||
				name == "invert-match" || name == "passthru" || name == "multiline" {
				return true
			}
			continue
		}
		for _, c := range a[1:] {
			if '0' <= c && c <= '9' || c == 'A' || c == 'B' || c == 'C' || c == 'v' {
				return true
			}
			if c == 'e' || c == 'm' || c == 'g' || c == 't' || c == 'f' {
				break // the rest is a value
			}
		}
	}
	switch pattern {
	case "", ".", "^", "$", ".*", "^.*$":
		return found || filtering
	}
	return false
}

// wrappedHint judges the command that a wrapper runs. Flags of the wrapper and
// their values are passed over: a word that is no known program and stands
// behind a flag, or is a number, is a value.
func wrappedHint(args []string, depth int) (Hint, bool) {
	if depth > maxWrapped {
		return file, true
	}
	for i, a := range args {
		if isFlag(a) || isAssignment(a) {
			continue
		}
		if _, known := programNamed(a); !known && (i > 0 && isFlag(args[i-1]) && args[i-1] != "--" || a == "" || isDigits(a[:1])) {
			continue
		}
		return wordsOf(args[i:], depth+1)
	}
	return Hint{}, len(args) > 0
}

// shellHint judges sh -c '...' and sh script. All words behind -c are taken
// together, for the vectors that were joined without quotes.
func shellHint(args []string, depth int) (Hint, bool) {
	for i, a := range args {
		switch {
		case a == "-Command" || a == "-c" || strings.EqualFold(a, "/c") || isFlag(a) && a[1] != '-' && strings.HasSuffix(a, "c"):
			return commandHint(strings.Join(args[i+1:], " "), depth+1)
		case !isFlag(a):
			return wordsHint(baseName(a)), true
		}
	}
	return Hint{}, false // a here-document or an interactive shell
}

// scriptHint judges what a task runner runs, by the names of its targets.
func scriptHint(args []string, depth int) (Hint, bool) {
	for _, a := range plain(args) {
		if isAssignment(a) {
			continue
		}
		if p, ok := programNamed(a); ok && p.kind != silent && p.kind != scripts && depth < maxWrapped {
			if h, prints := wordsOf(append([]string{a}, args[indexOf(args, a)+1:]...), depth+1); prints && h.certain() {
				return h, true
			}
		}
		switch words := nameWords(a); {
		case len(words) == 0:
		case words[0] == "dev" || words[0] == "start" || words[0] == "serve":
			return Hint{Class: Log}, true
		default:
			if h := wordsHint(a); h.Class != Unknown {
				h.Tool = Make
				return h, true
			}
		}
	}
	return Hint{Class: Build, Tool: Make}, true
}

// hiddenHint judges programs that run others in a way of their own.
func hiddenHint(words, args []string, depth int) (Hint, bool) {
	if depth > maxWrapped {
		return file, true
	}
	name := strings.TrimRight(baseName(firstWord(words)), "0123456789.")
	switch name {
	case "python", "py":
		if i := indexOf(args, "-m"); i >= 0 && i+1 < len(args) {
			if _, known := programNamed(args[i+1]); known {
				return wordsOf(args[i+1:], depth+1)
			}
			return Hint{}, true
		}
		if rest := plain(args); len(rest) > 1 && baseName(rest[0]) == "manage.py" && rest[1] == "test" {
			return Hint{Class: TestOutput, Tool: Pytest}, true
		}
	case "node":
		if indexOf(args, "--test") >= 0 {
			return Hint{Class: TestOutput, Tool: JSTest}, true
		}
	case "docker", "podman", "nerdctl", "kubectl", "oc":
		rest := plain(args)
		if i := indexOf(args, "--"); i >= 0 {
			rest = append([]string{""}, args[i+1:]...)
		}
		for i := 1; i < len(rest); i++ {
			if _, known := programNamed(rest[i]); known {
				return wordsOf(rest[i:], depth+1)
			}
		}
		return Hint{}, true
	case "gh", "glab":
		return hubHint(args), true
	}
	// An interpreter runs a script: php vendor/bin/phpunit, ruby test/a_test.rb.
	if rest := plain(args); len(rest) > 0 && indexOf(args, "-c", "-e", "-r") < 0 {
		if p, known := programNamed(rest[0]); known && p.class.Failing() {
			return wordsOf(rest, depth+1)
		}
		if name == "php" && rest[0] == "artisan" && len(rest) > 1 && rest[1] == "test" {
			return Hint{Class: TestOutput, Tool: PHPUnit}, true
		}
		return wordsHint(baseName(rest[0])), true
	}
	return Hint{}, true
}

// hubHint judges gh and glab.
func hubHint(args []string) Hint {
	rest := plain(args)
	if len(rest) < 2 {
		return Hint{}
	}
	switch verb := rest[1]; {
	case rest[0] == "api":
		return Hint{Class: JSON}
	case verb == "diff":
		return Hint{Class: Diff, Tool: Git}
	case verb == "list" || verb == "checks" || verb == "status":
		return Hint{Class: Listing, Tool: Files}
	case rest[0] == "run" && indexOf(args, "--log", "--log-failed") >= 0:
		return Hint{Class: Log}
	}
	return file
}
