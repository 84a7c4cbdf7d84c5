package replay

import (
	"fmt"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/cases"
)

// compare looks for lines of files that were read and are nowhere in what is
// sent, and counts the bytes of tool results. It does not ask the optimizers
// what a file is: it reads the calls itself.
func (r *Result) compare(format adapter.Format, turn Turn, sent []byte) error {
	var was, is adapter.Request
	if err := was.Parse(format, turn.Body); err != nil {
		return err
	}
	if err := is.Parse(format, sent); err != nil {
		return err
	}
	for _, b := range is.Blocks {
		if b.Kind == adapter.ToolResult {
			r.SentTool += len(is.Doc.Text(b.Node))
		}
	}
	there := make(map[string]bool)
	for _, text := range cases.Texts(sent) {
		for line := range strings.SplitSeq(text, "\n") {
			there[line] = true
		}
	}
	for i, b := range was.Blocks {
		if b.Kind != adapter.ToolResult {
			continue
		}
		text := was.Doc.Text(b.Node)
		r.ToolBytes += len(text)
		if b.IsError || !readsFile(was.Args(b.Call)) {
			continue
		}
		for n, line := range strings.Split(text, "\n") {
			if strings.TrimSpace(line) == "" {
				continue
			}
			r.SourceLines++
			if there[line] {
				continue
			}
			r.Lost++
			if len(r.LostLines) < 5 {
				r.LostLines = append(r.LostLines, fmt.Sprintf("%s, text %d, line %d", turn.Name, i, n+1))
			}
		}
	}
	return nil
}

// readTools are tools that return a file as it is.
var readTools = map[string]bool{
	"read": true, "read_file": true, "readfile": true, "view": true, "view_file": true, "open_file": true, "cat": true,
	"str_replace_based_edit_tool": true, "str_replace_editor": true,
}

// printers are commands that print files.
var printers = map[string]bool{"cat": true, "head": true, "tail": true, "nl": true, "bat": true, "less": true, "more": true}

// readsFile reports whether a call returns the content of a file and nothing
// else.
func readsFile(args adapter.CallArgs) bool {
	if readTools[strings.ToLower(args.Tool())] {
		return true
	}
	command, ok := args.String("command", "cmd")
	if !ok {
		list, _ := args.Strings("command")
		if len(list) == 3 && strings.HasSuffix(list[0], "sh") {
			command = list[2]
		}
	}
	command = strings.TrimSpace(command)
	if command == "" || strings.ContainsAny(command, "|&;<>$`\n") {
		return false
	}
	words := strings.Fields(command)
	return printers[words[0]] || words[0] == "sed" && len(words) > 2 && words[1] == "-n"
}
