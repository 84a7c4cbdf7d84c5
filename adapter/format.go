package adapter

import (
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// wire is everything this package knows about one wire format. Each format's
// file registers its own.
type wire struct {
	name   string // as it stands in logs and metrics
	suffix string // what the path of a request ends with
	// foreign, if there is one, reports that a path with the right suffix
	// belongs to something else.
	foreign func(path string) bool
	// parse fills the view from the root's members.
	parse func(r *Request, root *fields) fault
	// appendSystem adds text to the system prompt, nil where there is none.
	appendSystem func(r *Request, text string) ([]jsonspan.Edit, bool)
	// reply is how answers are read, nil if they are not.
	reply   *reply
	dialect Dialect
}

var wires [maxFormats]*wire

func register(f Format, w *wire) { wires[f] = w }

// String is the format's name for logs and metrics: "chat", "responses",
// "messages", "completions", "embeddings", or "unknown".
func (f Format) String() string {
	if f < maxFormats && wires[f] != nil {
		return wires[f].name
	}
	return "unknown"
}

// Detect names the wire format that requests to path speak, by how the path
// ends: /v1/chat/completions, /responses, /openai/deployments/X/embeddings
// and so on, in any letter case and with or without a slash at the end.
// Whether a body really is of that format, Parse finds out.
//
// Unknown are, among others, /responses/{id} and everything below it,
// /messages/count_tokens and /messages/batches, OpenAI's threads and stored
// completions, and the paths of Bedrock (whose signature covers the body) and
// Vertex (whose path holds the model).
func Detect(path string) Format {
	path = strings.TrimRight(path, "/")
	best := Unknown
	for f := range Format(maxFormats) {
		w := wires[f]
		if w == nil || len(path) < len(w.suffix) || !strings.EqualFold(path[len(path)-len(w.suffix):], w.suffix) {
			continue
		}
		if best != Unknown && len(wires[best].suffix) > len(w.suffix) {
			continue
		}
		if w.foreign == nil || !w.foreign(path) {
			best = f
		}
	}
	return best
}

// PathModel is the deployment that an Azure path names,
// .../deployments/{name}/chat/completions. There the path decides which model
// answers, whatever the body says.
func PathModel(path string) (name string, ok bool) {
	if Detect(path) == Unknown {
		return "", false
	}
	for rest := path; rest != ""; {
		var segment string
		segment, rest, _ = strings.Cut(rest, "/")
		if strings.EqualFold(segment, "deployments") {
			name, _, ok = strings.Cut(rest, "/")
			return name, ok && name != ""
		}
	}
	return "", false
}
