package output

import "github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"

var (
	// commandKeys are the arguments in which tools take a command line or an
	// argument vector; pathKeys those in which they take a file or a URL.
	commandKeys = [...]string{"command", "cmd", "commands", "script", "commandLine", "command_line", "CommandLine", "bash_command", "shell_command", "argv", "input"}
	pathKeys    = [...]string{"file_path", "path", "filePath", "filename", "file", "absolute_path", "target_file", "relative_workspace_path", "url", "uri"}
)

// HintOf is HintFor for a call of a request.
func HintOf(args adapter.CallArgs) Hint {
	var command string
	for _, key := range commandKeys {
		if s, ok := args.String(key); ok {
			command = s
			break
		}
		if list, ok := args.Strings(key); ok {
			command = JoinArgs(list)
			break
		}
	}
	if rest, ok := args.Strings("args"); ok && command != "" {
		command += " " + JoinArgs(rest) // {"command":"go","args":["test"]}
	}
	path, _ := args.String(pathKeys[:]...)
	return HintFor(args.Tool(), command, path)
}
