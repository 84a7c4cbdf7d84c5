package conform

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// noisyLines is how long the tool result is that a gateway must shorten.
const noisyLines = 900

// noisy is the output of a test run of noisyLines lines, two of which matter.
func noisy() string {
	var b strings.Builder
	for i := range noisyLines - 3 {
		if i == noisyLines/2 {
			b.WriteString("--- FAIL: TestLedgerClose (0.01s)\n    ledger_test.go:88: closing balance: got 4107, want 4170\n")
		}
		fmt.Fprintf(&b, "ok  \texample.test/shop/pkg%04d\t0.%03ds\n", i, i*37%1000)
	}
	b.WriteString("FAIL")
	return b.String()
}

const noisyCommand = `{"command":"go test ./..."}`

// savingChecks are about the gateway's own headers.
var savingChecks = []check{
	saving("chat", "/v1/chat/completions", func(o *Options) object {
		return object{"model": o.Model, "max_tokens": 64, "messages": []object{
			{"role": "user", "content": "Run the tests."},
			{"role": "assistant", "content": nil, "tool_calls": []object{{"id": "call_1", "type": "function", "function": object{"name": "shell", "arguments": noisyCommand}}}},
			{"role": "tool", "tool_call_id": "call_1", "content": noisy()},
		}}
	}),
	saving("messages", "/v1/messages", func(o *Options) object {
		return object{"model": o.AnthropicModel, "max_tokens": 64, "messages": []object{
			{"role": "user", "content": "Run the tests."},
			{"role": "assistant", "content": []object{{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": object{"command": "go test ./..."}}}},
			{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": "toolu_1", "content": noisy()}}},
		}}
	}),
	saving("responses", "/v1/responses", func(o *Options) object {
		return object{"model": o.Model, "max_output_tokens": 64, "input": []object{
			{"role": "user", "content": "Run the tests."},
			{"type": "function_call", "call_id": "call_1", "name": "shell", "arguments": noisyCommand},
			{"type": "function_call_output", "call_id": "call_1", "output": noisy()},
		}}
	}),
	{
		"overhead", "X-Gateway-Overhead-Ms is a decimal number of milliseconds",
		func(ctx context.Context, o *Options) (string, error) {
			a, err := o.post(ctx, "/v1/chat/completions", o.chat(nil))
			if err != nil {
				return "", err
			}
			value := a.header.Get("X-Gateway-Overhead-Ms")
			if ms, err := strconv.ParseFloat(value, 64); err != nil || ms < 0 || ms > 1000 {
				return strconv.Quote(value), errors.New("no plausible number")
			}
			return value, nil
		},
	},
}

// saving is the check that an optimizer that was asked for shortens a noisy
// tool result and says so.
func saving(name, path string, body func(o *Options) object) check {
	return check{
		"saving, " + name, fmt.Sprintf("a tool result of %d lines with X-Gateway-Optimize: rtk=standard: X-Gateway-Applied names rtk, X-Gateway-Saved-Bytes is more than 10000", noisyLines),
		func(ctx context.Context, o *Options) (string, error) {
			a, err := o.post(ctx, path, body(o), "X-Gateway-Optimize", "rtk=standard")
			if err != nil {
				return "", err
			}
			applied, saved := a.header.Get("X-Gateway-Applied"), a.header.Get("X-Gateway-Saved-Bytes")
			seen := fmt.Sprintf("applied %q, saved bytes %q", applied, saved)
			if !strings.HasPrefix(applied, "rtk") {
				return seen, errors.New("rtk was not applied")
			}
			if n, err := strconv.Atoi(saved); err != nil || n <= 10_000 {
				return seen, errors.New("too little was saved")
			}
			return seen, nil
		},
	}
}
