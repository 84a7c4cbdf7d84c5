package output

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

var (
	// commandKeys are the arguments in which tools take a command line or an
	// argument vector; pathKeys those in which they take a file or a URL.
	commandKeys = [...]string{"command", "cmd", "commands", "script", "commandLine", "command_line", "CommandLine", "bash_command", "shell_command", "argv", "input"}
	pathKeys    = [...]string{"file_path", "path", "filePath", "filename", "file", "absolute_path", "target_file", "relative_workspace_path", "url", "uri"}
)

// argKeys are all keys that HintOf looks at: those of commands, those of paths,
// and the one of a command's arguments.
var argKeys = append(append(append([]string(nil), commandKeys[:]...), pathKeys[:]...), "args")

// HintOf is HintFor for a call of a request.
func HintOf(args adapter.CallArgs) Hint {
	var refs [len(commandKeys) + len(pathKeys) + 1]jsonspan.Ref
	values := args.Look(argKeys, refs[:])
	var command, path string
	for i := range commandKeys {
		if s, ok := values.String(i); ok {
			command = s
			break
		}
		if list, ok := values.Strings(i); ok {
			command = JoinArgs(list)
			break
		}
	}
	if command != "" {
		if rest, ok := values.Strings(len(argKeys) - 1); ok {
			command += " " + JoinArgs(rest) // {"command":"go","args":["test"]}
		}
	}
	for i := range pathKeys {
		if s, ok := values.String(len(commandKeys) + i); ok {
			path = s
			break
		}
	}
	return HintFor(args.Tool(), command, path)
}

// maxPlain is how long arguments may be for NameNothing to read them.
const maxPlain = 512

// NameNothing reports whether the arguments of a call, as they stand encoded in
// a request, name no command and no file, so that HintOf depends on the tool's
// name alone. When in doubt it is false.
func NameNothing(raw []byte) bool {
	if len(raw) > maxPlain || bytes.Contains(raw, unicodeEscape) {
		return false
	}
	for _, key := range hintKeys {
		if bytes.Contains(raw, key) {
			return false
		}
	}
	return true
}

var unicodeEscape = []byte(`\u`)

// hintKeys are the keys that HintOf looks for, without those that hold another.
var hintKeys = func() (list [][]byte) {
	all := append(append([]string(nil), commandKeys[:]...), pathKeys[:]...)
	for i, key := range all {
		holds := false
		for j, other := range all {
			holds = holds || i != j && bytes.Contains([]byte(key), []byte(other)) && (key != other || j < i)
		}
		if !holds {
			list = append(list, []byte(key))
		}
	}
	return list
}()
