package cases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// pairs checks that tool calls and results, and reasoning items and what
// follows them, still belong together.
func (k *checker) pairs() {
	before, after := parse(k.before), parse(k.after)
	if before == nil || after == nil {
		k.fail("pairs_intact: a body is not valid JSON")
		return
	}
	var err error
	switch {
	case strings.HasSuffix(k.c.Path, "/chat/completions"):
		err = chatPairs(after)
	case strings.HasSuffix(k.c.Path, "/messages"):
		err = messagesPairs(after)
	case strings.HasSuffix(k.c.Path, "/responses"):
		if err = responsesPairs(after); err == nil {
			err = reasoningPairs(before, after)
		}
	}
	if err != nil {
		k.fail("pairs_intact: %w", err)
	}
}

// PairsIntact says what is wrong with the tool calls of the body after, which
// was sent to path and was before; nil if nothing is.
func PairsIntact(path string, before, after []byte) error {
	k := &checker{c: &Case{Path: path}, before: before, after: after}
	k.pairs()
	if len(k.errs) > 0 {
		return k.errs[0]
	}
	return nil
}

func chatPairs(b *body) error {
	list := b.elements(b.at("messages"))
	for i := 0; i < len(list); i++ {
		if b.string(list[i], "role") == "tool" {
			return fmt.Errorf("message %d is a tool message without its call", i)
		}
		var calls, results []string
		for _, call := range b.elements(b.doc.Get(list[i], "tool_calls")) {
			calls = append(calls, b.string(call, "id"))
		}
		if len(calls) == 0 {
			continue
		}
		at := i
		for i+1 < len(list) && b.string(list[i+1], "role") == "tool" {
			i++
			results = append(results, b.string(list[i], "tool_call_id"))
		}
		if !sameStrings(calls, results) {
			return fmt.Errorf("message %d calls %q, the tool messages after it answer %q", at, calls, results)
		}
	}
	return nil
}

func messagesPairs(b *body) error {
	ids := func(msg jsonspan.Ref, kind, field string) []string {
		var all []string
		for _, part := range b.elements(b.doc.Get(msg, "content")) {
			if b.string(part, "type") == kind {
				all = append(all, b.string(part, field))
			}
		}
		return all
	}
	var open []string
	list := b.elements(b.at("messages"))
	for i, msg := range list {
		results := ids(msg, "tool_result", "tool_use_id")
		if !sameStrings(open, results) {
			return fmt.Errorf("message %d answers %q, the one before it calls %q", i, results, open)
		}
		open = ids(msg, "tool_use", "id")
	}
	if len(open) > 0 {
		return fmt.Errorf("nothing answers %q", open)
	}
	return nil
}

func responsesPairs(b *body) error {
	calls := map[string]int{}
	for i, item := range b.elements(b.at("input")) {
		id := b.string(item, "call_id")
		switch b.string(item, "type") {
		case "function_call":
			calls[id]++
		case "function_call_output":
			if calls[id] == 0 {
				return fmt.Errorf("item %d answers %q, which nothing before it calls", i, id)
			}
			calls[id]--
		}
	}
	for id, n := range calls {
		if n > 0 {
			return fmt.Errorf("nothing answers %q", id)
		}
	}
	return nil
}

// reasoningPairs checks that each reasoning item is still followed by what
// followed it, and that neither stands alone.
func reasoningPairs(before, after *body) error {
	names := func(b *body) (all []string, reasoning []bool) {
		for _, item := range b.elements(b.at("input")) {
			kind := b.string(item, "type")
			name := kind + " " + b.string(item, "id") + " " + b.string(item, "call_id")
			if b.string(item, "id") == "" && b.string(item, "call_id") == "" {
				name = string(b.doc.Raw(item))
			}
			all = append(all, name)
			reasoning = append(reasoning, kind == "reasoning")
		}
		return all, reasoning
	}
	was, reasoning := names(before)
	is, _ := names(after)
	for i := 0; i+1 < len(was); i++ {
		if !reasoning[i] {
			continue
		}
		item, follower := slices.Index(is, was[i]), slices.Index(is, was[i+1])
		if item < 0 && follower < 0 {
			continue
		}
		if item < 0 || follower != item+1 {
			return fmt.Errorf("reasoning item %d and what follows it stand at %d and %d", i, item, follower)
		}
	}
	return nil
}

// sameStrings reports whether a and b hold the same strings, in any order.
func sameStrings(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
