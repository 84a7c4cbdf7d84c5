package squoze

import (
	"bytes"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

func TestRegions(t *testing.T) {
	tests := []struct {
		in    string
		want  []string
		class output.Class
	}{
		{"see <tool_output>\na\nb\n</tool_output> there", []string{"a\nb"}, output.Unknown},
		{"<bash-stdout>x</bash-stdout><bash-stderr exit=\"1\">y</bash-stderr>", []string{"x", "y"}, output.Unknown},
		{"<command_output></command_output><system-output>\n</system-output>", nil, output.Unknown},
		{"<tool_outputs>a</tool_outputs> <tool_output\n>b</tool_output>", nil, output.Unknown},
		{"<tool_output>never closed", nil, output.Unknown},
		{"</tool_output> <tool_output> late", nil, output.Unknown},
		{"before\n```log\na\nb\n```\nafter", []string{"a\nb"}, output.Log},
		{"```Diff and more\n-a\n+b\n```", []string{"-a\n+b"}, output.Diff},
		{"~~~~console\n```\n~~~\n~~~~ \n", []string{"```\n~~~"}, output.Unknown},
		{"  ```terminal\nx\n   ````\n", []string{"x"}, output.Unknown},
		{"    ```log\nx\n```", nil, output.Unknown},
		{"text ```log\nx\n```\n", nil, output.Unknown},
		{"```go\n```log\nx\n```\n", nil, output.Unknown},
		{"```go\n<tool_output>\nx\n</tool_output>\n```\n", nil, output.Unknown},
		{"```log\nnever closed <tool_output>x</tool_output>", nil, output.Unknown},
		{"```log```\nx\n```log\ny\n```", []string{"y"}, output.Log},
		{"```log\n```", nil, output.Unknown},
		{"a < b ` c ~ d", nil, output.Unknown},
	}
	for _, tt := range tests {
		var got []string
		for _, r := range appendRegions(nil, []byte(tt.in)) {
			got = append(got, tt.in[r.from:r.to])
			if r.class != tt.class {
				t.Errorf("%q: class %v", tt.in, r.class)
			}
		}
		if strings.Join(got, "|") != strings.Join(tt.want, "|") {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzRawOffsets(f *testing.F) {
	f.Add([]byte("a\\n\\u00e9b\\ud83d\\ude00\\ud800x\\\\\\\"\\/é"), uint16(7))
	f.Add([]byte("\\u000b\\ud83d\\ude00\\ud8e0"), uint16(6))
	f.Fuzz(func(t *testing.T, raw []byte, n uint16) {
		var d jsonspan.Doc
		if d.Parse(append(append([]byte{'"'}, raw...), '"')) != nil {
			return
		}
		text := jsonspan.AppendUnquoted(nil, raw)
		if int(n) > len(text) {
			return
		}
		at := []int{int(n)}
		rawOffsets(raw, at)
		// An offset within a character that is an escape moves behind it.
		if head := jsonspan.AppendUnquoted(nil, raw[:at[0]]); !bytes.HasPrefix(text, head) || len(head) < int(n) || len(head) > int(n)+3 {
			t.Fatalf("%q at %d: %q", raw, n, head)
		}
		if decodedLen(raw) != len(text) {
			t.Fatalf("%q: decodedLen %d, want %d", raw, decodedLen(raw), len(text))
		}
	})
}
