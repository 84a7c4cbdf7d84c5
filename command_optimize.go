package llmgateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/squoze"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/tokens"
)

func init() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "llm-optimize",
		Usage: "[--mode <dictionary>] [--format chat|responses|messages] [--diff] [--json] [--output <file>] [<file>]",
		Short: "Shows what llm_gateway's optimizers would make of a request body",
		Long: `
Reads a request body from a file, or from standard input, and prints what the
optimizers would make of it, block by block. Nothing is sent anywhere.

--mode is written as in the header X-Gateway-Optimize: squoze, or
"rtk=standard, headroom=balanced;keep=4, caveman=lite". The wire format is
guessed from the body unless --format names it. --diff shows the lines that
went and came; --output writes the new body ("-" for standard output).

Exit status: 0, also when nothing would change; 1 if the body cannot be read.

Examples:

	caddy llm-optimize --mode squoze body.json
	caddy llm-optimize --mode rtk=aggressive --diff < body.json
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.Args = cobra.MaximumNArgs(1)
			o := optimizeCommand{}
			f := cmd.Flags()
			f.StringVar(&o.mode, "mode", "squoze", "Optimizers, as in X-Gateway-Optimize")
			f.StringVar(&o.format, "format", "", "Wire format: chat, responses or messages")
			f.BoolVar(&o.diff, "diff", false, "Show the lines that went and came")
			f.BoolVar(&o.json, "json", false, "Print JSON")
			f.StringVar(&o.output, "output", "", "Write the new body to this file, - for standard output")
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				in := cmd.InOrStdin()
				if len(args) == 1 {
					file, err := os.Open(args[0])
					if err != nil {
						return err
					}
					defer file.Close()
					in = file
				}
				body, err := io.ReadAll(in)
				if err != nil {
					return err
				}
				return o.run(cmd.OutOrStdout(), body)
			}
		},
	})
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "llm-original",
		Usage: "<ref> [--key <name>] [--address <interface>]",
		Short: "Prints the text that llm_gateway elided lines from",
		Long: `
A marker such as [... squoze: 1,240 lines elided ... · ref krqmzxwvtspn ...]
names the original by its reference. The running Caddy keeps originals for a
while; this prints one byte for byte. With --key only that key's.

Exit status: 0, or 1 if the original is not kept.

Examples:

	caddy llm-original krqmzxwvtspn
	caddy llm-original --key alice krqmzxwvtspn
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.Args = cobra.ExactArgs(1)
			f := cmd.Flags()
			key := f.String("key", "", "Only what this key's requests held")
			address := f.String("address", "", "Address of the admin endpoint, if it is not the default")
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				q := map[string][]string{}
				if *key != "" {
					q["key"] = []string{*key}
				}
				text, err := askAdmin(*address, "GET", "originals/"+args[0], q)
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(text)
				return err
			}
		},
	})
}

// optimizeCommand are the flags of llm-optimize.
type optimizeCommand struct {
	mode, format, output string
	diff, json           bool
}

// blockChange is one changed text, before and after.
type blockChange struct {
	Block        int    `json:"block"`
	Message      int    `json:"message"`
	Kind         string `json:"kind"`
	Tool         string `json:"tool,omitempty"`
	Class        string `json:"class,omitempty"`
	BytesBefore  int    `json:"bytes_before"`
	BytesAfter   int    `json:"bytes_after"`
	TokensBefore int    `json:"tokens_before"`
	TokensAfter  int    `json:"tokens_after"`
	Note         string `json:"note,omitempty"`
	before       string
	after        string
}

// optimizeReport is what llm-optimize prints as JSON.
type optimizeReport struct {
	Format       string            `json:"format"`
	Mode         string            `json:"mode"`
	BytesBefore  int               `json:"bytes_before"`
	BytesAfter   int               `json:"bytes_after"`
	TokensSaved  int               `json:"tokens_saved"`
	Passes       []optimize.Report `json:"passes"`
	Blocks       []blockChange     `json:"blocks"`
	StepsSavings map[string]int    `json:"squoze_steps,omitempty"` // bytes saved by step
}

var blockKinds = map[adapter.BlockKind]string{
	adapter.SystemText: "system", adapter.UserText: "user", adapter.AssistantText: "assistant",
	adapter.Reasoning: "reasoning", adapter.ToolResult: "tool result", adapter.ToolArguments: "tool arguments",
}

// run prints what the optimizers make of body.
func (o *optimizeCommand) run(out io.Writer, body []byte) error {
	s, err := parseOptimize([]string{o.mode})
	if err != nil {
		return fmt.Errorf("--mode: %w", err)
	}
	var view adapter.Request
	if err := parseAs(&view, o.format, body); err != nil {
		return err
	}
	h := &Handler{logger: caddy.Log(), passes: new(passTable), engines: new(engineTable)}
	if h.logger == nil {
		h.logger = zap.NewNop()
	}
	defer h.engines.close()
	res := optimize.Run(&view, h.passesFor(s), nil)
	if res.Panic != nil {
		return fmt.Errorf("%s: %v", res.Panic.Pass, res.Panic.Value)
	}
	report := optimizeReport{Format: view.Format.String(), Mode: o.mode, BytesBefore: len(body), BytesAfter: len(body), TokensSaved: res.SavedTokens, Passes: res.Passes}
	if res.Body != nil {
		report.BytesAfter = len(res.Body)
		if report.Blocks, err = compareBlocks(&view, res.Body); err != nil {
			return err
		}
	}
	if s.by[optSquoze].active() {
		e, err := h.engines.engine(nil)
		if err != nil {
			return err
		}
		_, explained := e.engine.Explain(view.Format, body)
		report.StepsSavings = make(map[string]int)
		for _, step := range squoze.Steps() {
			if n := explained.Saved[step]; n > 0 {
				report.StepsSavings[step.String()] = n
			}
		}
		for _, t := range explained.Texts {
			for i := range report.Blocks {
				if report.Blocks[i].Block == t.Block {
					report.Blocks[i].Class = t.Class.String()
				}
			}
		}
	}
	if o.output != "" {
		return o.write(out, body, res.Body)
	}
	if o.json {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "\t")
		return enc.Encode(report)
	}
	return o.print(out, &report)
}

// write writes the new body.
func (o *optimizeCommand) write(out io.Writer, body, changed []byte) error {
	if changed == nil {
		changed = body
	}
	if o.output == "-" {
		_, err := out.Write(changed)
		return err
	}
	return os.WriteFile(o.output, changed, 0o600)
}

// parseAs parses body in the named format, or in the one that it has.
func parseAs(view *adapter.Request, format string, body []byte) error {
	candidates := []adapter.Format{adapter.Messages, adapter.Chat, adapter.Responses}
	if format != "" {
		candidates = nil
		for _, f := range []adapter.Format{adapter.Chat, adapter.Responses, adapter.Messages} {
			if f.String() == format {
				candidates = []adapter.Format{f}
			}
		}
		if candidates == nil {
			return fmt.Errorf("--format: expected chat, responses or messages, got %q", format)
		}
	} else if !looksAnthropic(body) {
		candidates = []adapter.Format{adapter.Chat, adapter.Responses}
	}
	var errs []error
	for _, f := range candidates {
		err := view.Parse(f, body)
		if err == nil && view.List != jsonspan.None {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", f, cmpErr(err)))
	}
	return errors.Join(errs...)
}

// cmpErr says what is missing when a body parses but holds no conversation.
func cmpErr(err error) error {
	if err == nil {
		return errors.New("no conversation in it")
	}
	return err
}

// looksAnthropic tells Messages from Chat, which both have messages: by what
// only one of them has.
func looksAnthropic(body []byte) bool {
	var doc jsonspan.Doc
	if doc.Parse(body) != nil {
		return false
	}
	root := doc.Root()
	if doc.Get(root, "system") != jsonspan.None {
		return true
	}
	return bytes.Contains(body, []byte(`"tool_use_id"`)) || doc.Get(root, "max_tokens") != jsonspan.None && bytes.Contains(body, []byte(`"input_schema"`))
}

// compareBlocks lists the texts that differ between the request and its new
// body. Where messages were dropped the texts cannot be matched by place; then
// only those that are left are compared.
func compareBlocks(view *adapter.Request, body []byte) ([]blockChange, error) {
	var after adapter.Request
	if err := after.Parse(view.Format, body); err != nil {
		return nil, fmt.Errorf("the new body: %w", err)
	}
	out := []blockChange{}
	// caveman may have put a system prompt in front of all others.
	added := len(after.Blocks) - len(view.Blocks)
	if added == 1 && after.Blocks[0].Kind != adapter.SystemText {
		added = -1
	}
	same := added == 0 || added == 1
	for i, b := range view.Blocks {
		raw := view.Doc.Raw(b.Node)
		c := blockChange{Block: i, Message: b.Message, Kind: blockKinds[b.Kind], BytesBefore: len(raw), TokensBefore: tokens.EstimateRaw(raw), before: view.Doc.Text(b.Node)}
		if b.Call >= 0 {
			c.Tool = view.Args(b.Call).Tool()
		}
		if !same {
			if bytes.Contains(body, raw) {
				continue
			}
			c.Note = "changed or dropped"
			out = append(out, c)
			continue
		}
		node := after.Blocks[i+added].Node
		if now := after.Doc.Raw(node); !bytes.Equal(now, raw) {
			c.BytesAfter, c.TokensAfter, c.after = len(now), tokens.EstimateRaw(now), after.Doc.Text(node)
			out = append(out, c)
		}
	}
	return out, nil
}

// print prints the report for people.
func (o *optimizeCommand) print(out io.Writer, r *optimizeReport) error {
	saved := r.BytesBefore - r.BytesAfter
	fmt.Fprintf(out, "%s, %s: %s -> %s bytes (%.1f %% saved), about %s tokens saved\n",
		r.Format, r.Mode, humanize.Comma(int64(r.BytesBefore)), humanize.Comma(int64(r.BytesAfter)), 100*float64(saved)/float64(max(r.BytesBefore, 1)), humanize.Comma(int64(r.TokensSaved)))
	for _, p := range r.Passes {
		for _, note := range p.Notes {
			fmt.Fprintf(out, "%s: %s\n", p.Name, note)
		}
	}
	if len(r.Blocks) == 0 {
		_, err := fmt.Fprintln(out, "no text changes")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "\nmessage\tkind\ttool\tclass\tbytes\ttokens\t")
	for _, b := range r.Blocks {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s -> %s\t%s -> %s\t%s\n", b.Message, b.Kind, b.Tool, b.Class,
			humanize.Comma(int64(b.BytesBefore)), humanize.Comma(int64(b.BytesAfter)), humanize.Comma(int64(b.TokensBefore)), humanize.Comma(int64(b.TokensAfter)), b.Note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !o.diff {
		return nil
	}
	for _, b := range r.Blocks {
		if b.Note != "" {
			continue
		}
		fmt.Fprintf(out, "\n--- message %d, %s %s\n", b.Message, b.Kind, b.Tool)
		for _, line := range lineDiff(b.before, b.after) {
			fmt.Fprintln(out, line)
		}
	}
	return nil
}

// lineDiff lists what went (-) and what came (+). Kept lines are in order in
// both, so one walk finds them; of a run that went only the ends are shown.
func lineDiff(before, after string) []string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	position := make(map[string][]int)
	for i, line := range a {
		position[line] = append(position[line], i)
	}
	var out []string
	gone := func(lines []string) {
		for i, line := range lines {
			if len(lines) > 12 && i == 5 {
				out = append(out, fmt.Sprintf("  (%d more lines went)", len(lines)-10))
			}
			if len(lines) > 12 && i >= 5 && i < len(lines)-5 {
				continue
			}
			out = append(out, "- "+line)
		}
	}
	at := 0
	var came []string
	for _, line := range b {
		next := -1
		for _, i := range position[line] {
			if i >= at {
				next = i
				break
			}
		}
		if next < 0 {
			came = append(came, "+ "+line)
			continue
		}
		gone(a[at:next])
		out = append(out, came...)
		came = nil
		at = next + 1
	}
	gone(a[at:])
	return append(out, came...)
}
