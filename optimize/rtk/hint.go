package rtk

import (
	"sync"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// maxHintKey bounds the calls whose hints are remembered: the arguments of a
// call that writes a file are as long as the file.
const maxHintKey = 4 << 10

// hint reads the call that a block answers.
func (p *Pass) hint(req *adapter.Request, call int) output.Hint {
	if p.memo == nil || call < 0 {
		return hintOf(req.Args(call))
	}
	c := &req.Calls[call]
	name, args := req.Doc.Raw(c.Name), req.Doc.Raw(c.Arguments)
	if len(name)+len(c.Type)+len(args) > maxHintKey {
		return hintOf(req.Args(call))
	}
	k := hintKeys.Get().(*[]byte)
	defer hintKeys.Put(k)
	// A raw JSON string or object cannot hold a zero byte.
	*k = append(append(append((*k)[:0], c.Type...), 0), name...)
	*k = append(append(*k, 0), args...)
	if known, ok := p.memo.Get(hintSalt, *k); ok {
		return known.hint
	}
	h := hintOf(req.Args(call))
	p.memo.Put(hintSalt, *k, Change{hint: h}, 0)
	return h
}

var hintKeys = sync.Pool{New: func() any { return new([]byte) }}

// hintSalt is none that saltOf returns.
const hintSalt = 1 << 32

func hintOf(args adapter.CallArgs) output.Hint {
	tool := args.Tool()
	var command string
	for _, key := range commandKeys {
		if s, ok := args.String(key); ok {
			command = s
			break
		}
		if list, ok := args.Strings(key); ok {
			command = output.JoinArgs(list)
			break
		}
	}
	if rest, ok := args.Strings("args"); ok && command != "" {
		command += " " + output.JoinArgs(rest) // {"command":"go","args":["test"]}
	}
	path, _ := args.String("file_path", "path", "filePath", "filename", "file", "absolute_path", "target_file", "relative_workspace_path", "url", "uri")
	return output.HintFor(tool, command, path)
}

// commandKeys are the arguments in which tools take a command line or an
// argument vector.
var commandKeys = [...]string{"command", "cmd", "commands", "script", "commandLine", "command_line", "CommandLine", "bash_command", "shell_command", "argv", "input"}
