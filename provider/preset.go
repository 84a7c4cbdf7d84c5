// Package provider knows the providers: where they are, how a credential
// travels to them, which wire formats they serve, and which of several
// credentials a request should use. It knows nothing of servers.
package provider

import (
	"net/url"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// Preset is what is known of a kind of provider.
type Preset struct {
	// Name is what the configuration calls it.
	Name string
	// BaseURL is used when the configuration names none; "" if there is no
	// public one.
	BaseURL string
	// Hosts are host names, or suffixes starting with a dot, by which the
	// preset is guessed from a URL. A host with a port matches exactly.
	Hosts []string
	// Header carries the credential, Scheme stands before it.
	Header, Scheme string
	// Formats are the wire formats that it serves.
	Formats []adapter.Format
	// Version is the path segment that precedes every endpoint when the base
	// URL has no path: "/v1" for nearly all.
	Version string
	// MessagesBase is the path under which Anthropic's format is served when
	// it is not under Version, "" otherwise.
	MessagesBase string
	// Family is the model family whose tokenizer is closest.
	CountTokens bool // serves POST /v1/messages/count_tokens itself
}

var openAIFormats = []adapter.Format{adapter.Chat, adapter.Responses, adapter.Completions, adapter.Embeddings}
var chatFormats = []adapter.Format{adapter.Chat, adapter.Completions, adapter.Embeddings}

// presets is the one table of kinds of providers.
var presets = []Preset{
	{Name: "openai", BaseURL: "https://api.openai.com", Hosts: []string{"api.openai.com"}, Header: "Authorization", Scheme: "Bearer ", Formats: openAIFormats, Version: "/v1"},
	{Name: "azure-openai", Hosts: []string{".openai.azure.com", ".services.ai.azure.com"}, Header: "Api-Key", Formats: openAIFormats, Version: "/openai/v1"},
	{Name: "anthropic", BaseURL: "https://api.anthropic.com", Hosts: []string{"api.anthropic.com"}, Header: "X-Api-Key", Formats: []adapter.Format{adapter.Messages}, Version: "/v1", CountTokens: true},
	{Name: "deepseek", BaseURL: "https://api.deepseek.com", Hosts: []string{"api.deepseek.com"}, Header: "Authorization", Scheme: "Bearer ", Formats: []adapter.Format{adapter.Chat, adapter.Completions, adapter.Messages}, Version: "/v1", MessagesBase: "/anthropic/v1"},
	{Name: "gemini", BaseURL: "https://generativelanguage.googleapis.com", Hosts: []string{"generativelanguage.googleapis.com"}, Header: "Authorization", Scheme: "Bearer ", Formats: chatFormats, Version: "/v1beta/openai"},
	{Name: "mistral", BaseURL: "https://api.mistral.ai", Hosts: []string{"api.mistral.ai"}, Header: "Authorization", Scheme: "Bearer ", Formats: chatFormats, Version: "/v1"},
	{Name: "groq", BaseURL: "https://api.groq.com", Hosts: []string{"api.groq.com"}, Header: "Authorization", Scheme: "Bearer ", Formats: openAIFormats, Version: "/openai/v1"},
	{Name: "openrouter", BaseURL: "https://openrouter.ai", Hosts: []string{"openrouter.ai"}, Header: "Authorization", Scheme: "Bearer ", Formats: []adapter.Format{adapter.Chat, adapter.Responses, adapter.Completions, adapter.Messages, adapter.Embeddings}, Version: "/api/v1"},
	{Name: "together", BaseURL: "https://api.together.xyz", Hosts: []string{"api.together.xyz", "api.together.ai"}, Header: "Authorization", Scheme: "Bearer ", Formats: chatFormats, Version: "/v1"},
	{Name: "fireworks", BaseURL: "https://api.fireworks.ai", Hosts: []string{"api.fireworks.ai"}, Header: "Authorization", Scheme: "Bearer ", Formats: openAIFormats, Version: "/inference/v1"},
	{Name: "xai", BaseURL: "https://api.x.ai", Hosts: []string{"api.x.ai"}, Header: "Authorization", Scheme: "Bearer ", Formats: []adapter.Format{adapter.Chat, adapter.Responses, adapter.Completions, adapter.Messages}, Version: "/v1"},
	{Name: "ollama", BaseURL: "http://127.0.0.1:11434", Hosts: []string{"localhost:11434", "127.0.0.1:11434", "ollama:11434"}, Header: "Authorization", Scheme: "Bearer ", Formats: []adapter.Format{adapter.Chat, adapter.Responses, adapter.Completions, adapter.Messages, adapter.Embeddings}, Version: "/v1"},
	{Name: "vllm", BaseURL: "http://127.0.0.1:8000", Hosts: []string{"localhost:8000", "127.0.0.1:8000", "vllm:8000"}, Header: "Authorization", Scheme: "Bearer ", Formats: []adapter.Format{adapter.Chat, adapter.Responses, adapter.Completions, adapter.Messages, adapter.Embeddings}, Version: "/v1"},
	{Name: "llama.cpp", BaseURL: "http://127.0.0.1:8080", Hosts: []string{"localhost:8080", "127.0.0.1:8080"}, Header: "Authorization", Scheme: "Bearer ", Formats: []adapter.Format{adapter.Chat, adapter.Responses, adapter.Completions, adapter.Messages, adapter.Embeddings}, Version: "/v1"},
	{Name: "lmstudio", BaseURL: "http://127.0.0.1:1234", Hosts: []string{"localhost:1234", "127.0.0.1:1234"}, Header: "Authorization", Scheme: "Bearer ", Formats: openAIFormats, Version: "/v1"},
}

// PresetNamed returns the preset called name, nil if there is none.
func PresetNamed(name string) *Preset {
	for i := range presets {
		if presets[i].Name == name {
			return &presets[i]
		}
	}
	return nil
}

// PresetNames lists the presets in the order of the table.
func PresetNames() []string {
	names := make([]string, len(presets))
	for i := range presets {
		names[i] = presets[i].Name
	}
	return names
}

// Guess returns the preset for base, openai's wire formats and credential
// being the fallback for any other host.
func Guess(base *url.URL) *Preset {
	host, hostPort := strings.ToLower(base.Hostname()), strings.ToLower(base.Host)
	for i := range presets {
		for _, known := range presets[i].Hosts {
			if known == host || known == hostPort || known[0] == '.' && strings.HasSuffix(host, known) {
				return &presets[i]
			}
		}
	}
	if strings.HasSuffix(strings.TrimSuffix(base.Path, "/"), "/anthropic") {
		return PresetNamed("anthropic")
	}
	return PresetNamed("openai")
}

// Serves reports whether the provider speaks f. What is not a model request
// is taken to be served.
func (p *Preset) Serves(f adapter.Format) bool {
	if f == adapter.Unknown {
		return true
	}
	for _, served := range p.Formats {
		if served == f {
			return true
		}
	}
	return false
}

// Path is the path at the provider with the given base URL for a request that
// came to path. What precedes the version in path (a prefix under which the
// gateway is mounted) is dropped; the version is that of the base URL, or the
// preset's if the base URL has no path.
func (p *Preset) Path(base *url.URL, path string, f adapter.Format) string {
	rest := path
	if i := strings.Index(path, "/v1/"); i >= 0 {
		rest = path[i+len("/v1"):]
	} else if strings.HasSuffix(path, "/v1") {
		rest = ""
	} else if i := strings.Index(path, "/openai/deployments/"); i >= 0 {
		return strings.TrimSuffix(base.Path, "/") + path[i:] // Azure's older paths name the model
	}
	root := strings.TrimSuffix(base.Path, "/")
	if f == adapter.Messages && p.MessagesBase != "" && (root == "" || root == p.Version) {
		return p.MessagesBase + rest
	}
	switch {
	case root == "":
		root = p.Version
	case f == adapter.Messages && !strings.HasSuffix(root, "/v1"):
		// Anthropic's own convention: the base URL is without the version.
		root += "/v1"
	}
	return root + rest
}
