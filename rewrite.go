package llmgateway

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// Two options change an answer on its way, both off by default: response_model
// alias and stream_usage inject. The cache and the accounting see what the
// provider sent; the change is made behind them, also when an answer comes from
// the cache: what is stored stays true when the options change.

// Values of response_model and stream_usage.
const (
	responseModelAlias  = "alias"
	responseModelOff    = "off"
	streamUsageInject   = "inject"
	streamUsageOff      = "off"
	includeUsageOptions = `{"include_usage":true}`
)

// checkChoice returns an error if value is neither "" nor one of choices.
func checkChoice(name, value string, choices ...string) error {
	if value == "" {
		return nil
	}
	for _, c := range choices {
		if c == value {
			return nil
		}
	}
	return fmt.Errorf("%s: expected %s, got %q", name, strings.Join(choices, " or "), value)
}

// checkAnswerOptions checks the options of h that change answers.
func (h *Handler) checkAnswerOptions() error {
	if err := checkChoice("stream_usage", h.StreamUsage, streamUsageInject, streamUsageOff); err != nil {
		return err
	}
	for _, m := range h.Models {
		err := checkChoice("stream_usage", m.StreamUsage, streamUsageInject, streamUsageOff)
		if err == nil {
			err = checkChoice("response_model", m.ResponseModel, responseModelAlias, responseModelOff)
		}
		if err != nil {
			return fmt.Errorf("model %s: %w", strings.Join(m.Match, " "), err)
		}
	}
	return nil
}

// answerChange is how the answer of an exchange is changed.
type answerChange struct {
	hideUsage  bool              // the usage chunk is ours, not the client's
	rewriter   *adapter.Rewriter // nil while the answer passes as it is
	rewriteBuf []byte
}

// planUsage finds out whether the usage chunk has to be asked for, and hidden
// from the client.
func (x *exchange) planUsage() {
	option := x.h.StreamUsage
	if x.entry != nil && x.entry.StreamUsage != "" {
		option = x.entry.StreamUsage
	}
	if option != streamUsageInject || x.format != adapter.Chat && x.format != adapter.Completions {
		return
	}
	x.parse()
	if x.view == nil || x.parseErr != nil || !x.view.Stream {
		return
	}
	doc, options := &x.view.Doc, jsonspan.None
	for k := doc.First(x.view.Root); k != jsonspan.None; k = doc.Next(k) {
		if !doc.Equal(k, "stream_options") {
			continue
		}
		if options != jsonspan.None {
			return // nobody can say which one counts
		}
		options = doc.Value(k)
	}
	switch doc.Kind(options) {
	case jsonspan.Null: // or not there
	case jsonspan.Object:
		seen := false
		for k := doc.First(options); k != jsonspan.None; k = doc.Next(k) {
			if doc.Equal(k, "include_usage") {
				if seen || doc.Is(doc.Value(k), jsonspan.True) {
					return
				}
				seen = true
			}
		}
	default:
		return // the provider will complain
	}
	x.hideUsage = true
}

// injectUsage asks the provider for the usage chunk.
func (x *exchange) injectUsage() {
	if !x.hideUsage || x.sent == nil {
		return
	}
	body := x.sent.bytes()
	view := requestViews.Get().(*adapter.Request)
	defer giveBack(view)
	if err := view.Doc.Parse(body); err != nil {
		return
	}
	doc := &view.Doc
	var edit jsonspan.Edit
	options := doc.Get(doc.Root(), "stream_options")
	switch {
	case options == jsonspan.None:
		at := doc.Span(doc.Get(doc.Root(), "stream")).End
		edit = jsonspan.Edit{Span: jsonspan.Span{Start: at, End: at}, New: []byte(`,"stream_options":` + includeUsageOptions)}
	case doc.Len(options) == 0: // empty or null
		edit = jsonspan.Edit{Span: doc.Span(options), New: []byte(includeUsageOptions)}
	default:
		if value := doc.Get(options, "include_usage"); value != jsonspan.None {
			edit = jsonspan.Edit{Span: doc.Span(value), New: []byte("true")}
			break
		}
		at := doc.Span(options).Start + 1
		edit = jsonspan.Edit{Span: jsonspan.Span{Start: at, End: at}, New: []byte(`"include_usage":true,`)}
	}
	x.replaceSent(jsonspan.Splice(newBuffer(len(body)+len(edit.New)), body, []jsonspan.Edit{edit}))
}

// replaceSent puts another body in the place of the one that is to be sent.
func (x *exchange) replaceSent(body []byte) {
	if x.sent != x.body {
		x.sent.release()
	}
	x.sent = newPayload(body)
}

// digests are the header fields that describe the bytes of a body.
var digests = []string{"Content-Length", "Content-Digest", "Repr-Digest", "Digest", "Content-Md5", "Etag"}

// beginRewrite is called right before the header of the answer is written.
func (x *exchange) beginRewrite(status int, header http.Header) {
	model := ""
	if x.entry != nil && x.entry.ResponseModel == responseModelAlias {
		model = x.model
	}
	if status != http.StatusOK || model == "" && !x.hideUsage {
		return
	}
	contentType := header.Get("Content-Type")
	stream := adapter.IsEventStream(contentType)
	kind, _, _ := strings.Cut(contentType, ";")
	if !stream && !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return
	}
	if coding := header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return
	}
	if !stream && model == "" {
		return
	}
	for _, name := range digests {
		delete(header, name)
	}
	x.rewriter = new(adapter.Rewriter)
	x.rewriter.Start(x.format, stream, model, x.hideUsage)
}

// rewritten is what the client gets for the piece b of the answer.
func (x *exchange) rewritten(b []byte) []byte {
	if x.rewriter == nil {
		return b
	}
	x.rewriteBuf = x.rewriter.Append(x.rewriteBuf[:0], b)
	return x.rewriteBuf
}

// endRewrite writes what was held at the end of the answer.
func (x *exchange) endRewrite() {
	if x.rewriter == nil {
		return
	}
	if rest := x.rewriter.End(nil); len(rest) > 0 {
		n, _ := x.tee.ResponseWriter.Write(rest) // the client may be gone
		x.tee.size += int64(n)
	}
}
