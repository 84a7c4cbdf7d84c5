package cache

import (
	"slices"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// cacheable says why no answer to the request may be looked up or stored,
// None if one may. What is not known to be without effect outside of the
// answer keeps a request out.
func cacheable(v *adapter.Request, p *Policy) Reason {
	if v.Format == adapter.Unknown {
		return NoFormat
	}
	d := &v.Doc
	if !d.Is(v.Root, jsonspan.Object) {
		return NoObject
	}
	zero := v.Format == adapter.Embeddings
	for k := d.First(v.Root); k != jsonspan.None; k = d.Next(k) {
		name := d.Inner(k)
		if d.Escaped(k) {
			name = d.AppendText(nil, k)
		}
		value := d.Value(k)
		if string(name) == "temperature" {
			zero = isZero(d.Raw(value))
		} else if reason := effect(v, name, value); reason != None {
			return reason
		}
	}
	if p.DeterministicOnly && !zero {
		return NotDeterministic
	}
	if p.Scope != PerKey && storesUnasked(v) {
		return Stores
	}
	return None
}

// effect says why the field called name keeps a request out of the cache.
//
// Sources: OpenAI's references of chat completions and responses (store,
// background, conversation, previous_response_id, prompt, item_reference,
// tools, web_search_options, audio), Anthropic's of messages (container,
// mcp_servers, tools), xAI's (search_parameters), OpenRouter's (plugins).
func effect(v *adapter.Request, name []byte, value jsonspan.Ref) Reason {
	d := &v.Doc
	if d.Kind(value) == jsonspan.Null {
		return None
	}
	switch string(name) {
	case "previous_response_id", "conversation", "container":
		return Stateful
	case "prompt":
		// Text for completions; for responses a template the provider keeps.
		if d.Is(value, jsonspan.Object) {
			return Stateful
		}
	case "store":
		if !d.Is(value, jsonspan.False) {
			return Stores
		}
	case "background":
		if !d.Is(value, jsonspan.False) {
			return Background
		}
	case "audio":
		// The answer names audio that the provider deletes after a while.
		return Stateful
	case "web_search_options", "search_parameters", "plugins", "mcp_servers":
		return ServerTools
	case "tools":
		for tool := d.First(value); tool != jsonspan.None; tool = d.Next(tool) {
			if !clientRuns(v.Format, d, tool) {
				return ServerTools
			}
		}
	case "input":
		if v.Format != adapter.Responses {
			break
		}
		for item := d.First(value); item != jsonspan.None; item = d.Next(item) {
			if d.Equal(d.Get(item, "type"), "item_reference") {
				return Stateful
			}
		}
	}
	return None
}

// storesUnasked reports whether the provider keeps the answer although the
// request does not say so: store is true by default for responses. The
// answer's id then leads to what one account has stored, which is harmless to
// repeat to the same tenant and useless to every other.
func storesUnasked(v *adapter.Request) bool {
	return v.Format == adapter.Responses && v.Doc.Kind(v.Doc.Get(v.Root, "store")) == jsonspan.Null
}

// clientTools are the types of tools that the client runs, by format. A type
// that ends in _ stands for all its dated versions. Every other tool is taken
// for one that the provider runs.
var clientTools = map[adapter.Format][]string{
	adapter.Chat:      {"function", "custom"},
	adapter.Responses: {"function", "custom", "local_shell", "apply_patch"},
	adapter.Messages:  {"custom", "bash_", "text_editor_", "computer_", "memory_"},
}

// clientRuns reports whether the client runs tool.
func clientRuns(f adapter.Format, d *jsonspan.Doc, tool jsonspan.Ref) bool {
	if !d.Is(tool, jsonspan.Object) {
		return false
	}
	kind := d.Get(tool, "type")
	if d.Kind(kind) == jsonspan.Null {
		return f == adapter.Messages // the default there is a tool of the client
	}
	text := d.Inner(kind)
	return slices.ContainsFunc(clientTools[f], func(known string) bool {
		if strings.HasSuffix(known, "_") {
			return strings.HasPrefix(string(text), known)
		}
		return string(text) == known
	})
}

// offersTools reports whether the answer may call a tool of the client.
func offersTools(v *adapter.Request) bool {
	d := &v.Doc
	return d.First(d.Get(v.Root, "tools")) != jsonspan.None || d.First(d.Get(v.Root, "functions")) != jsonspan.None
}

// isZero reports whether the JSON value raw is the number zero.
func isZero(raw []byte) bool {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return false
	}
	for _, c := range raw {
		switch {
		case c == 'e' || c == 'E':
			return true
		case '1' <= c && c <= '9':
			return false
		}
	}
	return true
}
