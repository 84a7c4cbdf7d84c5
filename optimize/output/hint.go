package output

import (
	"path"
	"strings"
)

// Hint is what a call says about its output before the output is looked at.
// It is comparable.
type Hint struct {
	Class Class // what the output is expected to be, Unknown if the call does not say
	Tool  Tool  // which program wrote it, NoTool or Make when it may be any
	// File says that the call prints the content of a file (alone or among
	// other things), or text written for people: nothing of it may be elided.
	File bool
}

// file is the hint of a call whose output is left alone.
var file = Hint{File: true}

// certain reports whether the call names the very program that wrote the
// output, so that the output needs no further proof of what it is.
func (h Hint) certain() bool {
	return h.Class != Unknown && h.Tool != NoTool && h.Tool != Make
}

// HintFor reads a call: the tool's name ("Bash", "Read", "shell"), the command
// line it ran ("" if none, see JoinArgs for argument vectors) and the path or
// URL it names ("" if none).
func HintFor(tool, command, path string) Hint {
	name := toolName(tool)
	if h, ok := toolHints[name]; ok && (command == "" || h.File && !isShellWord(command)) {
		if h.File && path != "" && isLogPath(path) {
			return Hint{Class: Log}
		}
		return h
	}
	if command != "" {
		h, _ := commandHint(command, 0)
		return h
	}
	return wordsHint(tool)
}

// toolName is the name of a tool without the server it lives on
// ("mcp__files__read_file") and without case and punctuation: readfile.
func toolName(tool string) string {
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		tool = tool[i+2:]
	}
	if i := strings.LastIndexAny(tool, ".:/"); i >= 0 {
		tool = tool[i+1:]
	}
	var b strings.Builder
	for i := 0; i < len(tool); i++ {
		if c := tool[i] | 0x20; 'a' <= c && c <= 'z' {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// isShellWord reports whether command is more than the name of an action, as
// file tools have it ("view", "str_replace").
func isShellWord(command string) bool { return strings.ContainsAny(command, " /|;&\n") }

// toolHints are the tools that agents bring along and that run no command
// line, by toolName.
var toolHints = func() map[string]Hint {
	m := make(map[string]Hint)
	for hint, names := range map[Hint]string{
		file: "read readfile readfiles readmanyfiles readtextfile readmultiplefiles readresource view viewfile viewfileoutline viewcodeitem " +
			"viewsourcecode openfile open cat fsread fsreadfile getfilecontents getfile fileread filereader notebookread strreplacebasededittool " +
			"strreplaceeditor texteditor edit editfile multiedit write writefile fswrite create createfile applypatch applydiff patch notebookedit replace " +
			"replaceinfile strreplace insert searchreplace webfetch websearch fetch fetchurl browse browser openurl task agent codebasesearch " +
			"semanticsearch skill readlints readnotebook scratchpad think",
		{Class: Listing, Tool: Files}: "ls listdir listdirectory listfiles glob globfiles findfiles findbyname filesearch directorytree filetree tree listfolder",
		{Class: Grep, Tool: Search}:   "grep grepsearch searchfiles searchfilecontent ripgrep rg textsearch searchcode searchtext findinfiles greptool",
	} {
		for _, name := range strings.Fields(names) {
			m[name] = hint
		}
	}
	return m
}()

// hintWords are words in the name of a tool, a script or a make target that
// say what it is for. The hint is weak: the output has to look like it.
var hintWords = map[string]Hint{
	"test": {Class: TestOutput}, "tests": {Class: TestOutput}, "spec": {Class: TestOutput}, "specs": {Class: TestOutput},
	"e2e": {Class: TestOutput}, "unit": {Class: TestOutput}, "integration": {Class: TestOutput}, "runtests": {Class: TestOutput},
	"check": {Class: Build}, "checks": {Class: Build}, "ci": {Class: Build}, "build": {Class: Build}, "compile": {Class: Build}, "lint": {Class: Build},
	"typecheck": {Class: Build}, "tsc": {Class: Build}, "bundle": {Class: Build}, "verify": {Class: Build}, "deploy": {Class: Build},
	"log": {Class: Log}, "logs": {Class: Log}, "install": {Class: Progress}, "setup": {Class: Progress},
}

// wordsHint judges a name by its words.
func wordsHint(name string) Hint {
	for _, word := range nameWords(name) {
		if h, ok := hintWords[word]; ok {
			return h
		}
	}
	return Hint{}
}

// nameWords splits a name at case changes and at all that is no letter or
// digit: runUnit_tests.sh has the words run, unit, tests, sh.
func nameWords(name string) []string {
	var words []string
	start := 0
	flush := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(name[start:end]))
		}
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		switch {
		case !letter:
			flush(i)
			start = i + 1
		case 'A' <= c && c <= 'Z' && i > start && 'a' <= name[i-1] && name[i-1] <= 'z':
			flush(i)
			start = i
		}
	}
	flush(len(name))
	return words
}

// isLogPath reports whether a path is that of a log by its name.
func isLogPath(name string) bool {
	name = strings.ToLower(strings.TrimRight(name, "*"))
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	switch path.Ext(base) {
	case ".log", ".out", ".err", ".trace":
		return true
	}
	if strings.Contains(base, ".log.") || strings.Contains(base, "-log.") && strings.HasSuffix(base, ".txt") {
		return true
	}
	return strings.HasPrefix(name, "/var/log/") && path.Ext(base) == "" || base == "syslog" || base == "messages"
}
