package testbody

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

var sizes = map[Profile]struct{ size, messages, rows int }{
	ProfileSmall: {SmallSize, 1, 0},
	ProfileLarge: {LargeSize, 2 + 3*8, 84},
	ProfileHuge:  {HugeSize, 2 + 3*60, 73},
}

type body struct {
	Model    string
	Messages []struct {
		Role       string
		Content    string
		ToolCallID string `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string
			Function struct{ Arguments string }
		} `json:"tool_calls"`
	}
	MaxTokens int `json:"max_tokens"`
}

func parse(t *testing.T, raw []byte) body {
	t.Helper()
	var b body
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBodies(t *testing.T) {
	for _, p := range Profiles {
		want := sizes[p]
		for name, raw := range map[string][]byte{"stock": Body(p), "fresh": Fresh(p, 1), "other": Fresh(p, 1<<40)} {
			t.Run(fmt.Sprint(p, "/", name), func(t *testing.T) {
				if len(raw) != want.size {
					t.Errorf("%d bytes, want %d", len(raw), want.size)
				}
				b := parse(t, raw)
				if len(b.Messages) != want.messages || b.MaxTokens != 64 || b.Model == "" {
					t.Fatalf("%d messages, max_tokens %d, model %q", len(b.Messages), b.MaxTokens, b.Model)
				}
				for i, m := range b.Messages {
					if m.Role == "tool" {
						call := b.Messages[i-1].ToolCalls[0]
						if call.ID != m.ToolCallID || !json.Valid([]byte(call.Function.Arguments)) {
							t.Errorf("message %d answers %q, call before it is %+v", i, m.ToolCallID, call)
						}
						checkResult(t, m.Content, want.rows, name == "stock")
					}
				}
			})
		}
	}
}

func checkResult(t *testing.T, content string, rows int, stock bool) {
	t.Helper()
	var r struct {
		Status string
		Rows   []struct {
			ID               int
			Path, Diagnostic string
		}
	}
	if err := json.Unmarshal([]byte(content), &r); err != nil {
		t.Fatal(err)
	}
	if r.Status != "ok" || len(r.Rows) != rows {
		t.Fatalf("status %q, %d rows, want %d", r.Status, len(r.Rows), rows)
	}
	for i, row := range r.Rows {
		if row.ID != i {
			t.Fatalf("row %d has id %d", i, row.ID)
		}
		if stock && (row.Path != fmt.Sprintf("internal/module_%d/handler.go", i) ||
			row.Diagnostic != "unused variable shadows package-level identifier in the retry branch") {
			t.Fatalf("row %d: %+v", i, row)
		}
	}
}

func TestFreshRepeatsNothing(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Profiles {
		for seed := range uint64(4) {
			raw := Fresh(p, seed)
			if !bytes.Equal(raw, Fresh(p, seed)) {
				t.Errorf("%v: two bodies of seed %d differ", p, seed)
			}
			for _, m := range parse(t, raw).Messages {
				texts := []string{m.Content}
				for _, c := range m.ToolCalls {
					texts = []string{c.Function.Arguments}
				}
				for _, text := range texts {
					if seen[text] {
						t.Errorf("%v, seed %d: repeats %.80q", p, seed, text)
					}
					seen[text] = true
				}
				if m.Role == "tool" {
					for _, row := range strings.SplitAfter(m.Content, "}") {
						if len(row) > 10 && seen[row] {
							t.Errorf("%v, seed %d: repeats the row %q", p, seed, row)
						}
						seen[row] = true
					}
				}
			}
		}
	}
}
