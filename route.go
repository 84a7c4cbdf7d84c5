package llmgateway

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// routeTo returns the providers for the request's model, in the order in
// which they are tried. done says that the request has been answered.
func (x *exchange) routeTo() (providers []*Provider, done bool, err error) {
	switch {
	case len(x.h.Providers) == 0:
		return nil, false, nil // the next handler is the upstream
	case x.entry != nil && len(x.entry.providers) > 0:
		providers = x.entry.providers
	case x.entry == nil && !x.h.models.empty():
		if x.model == "" {
			return nil, true, x.fail(gatewayError{http.StatusBadRequest, codeModelRequired, "the request names no model"})
		}
		return nil, true, x.fail(gatewayError{http.StatusNotFound, codeUnknownModel, "the model " + strconv.Quote(logSafe(x.model)) + " is not configured here"})
	default:
		providers = x.h.Providers
	}
	var serving []*Provider
	for _, p := range providers {
		if p.preset.Serves(x.format) {
			serving = append(serving, p)
		}
	}
	if len(serving) == 0 {
		return nil, true, x.fail(gatewayError{http.StatusNotFound, codeUnknownEndpoint, "no provider of this model serves " + x.r.URL.Path})
	}
	return serving, false, nil
}

// routeOther finds the provider for what is no model request: files, audio,
// images, realtime. The first segment of the path may name it, else the model
// in the query, else it is the first one.
func (x *exchange) routeOther() []*Provider {
	if len(x.h.Providers) == 0 {
		return nil
	}
	segment, rest, ok := strings.Cut(strings.TrimPrefix(x.r.URL.Path, "/"), "/")
	if ok {
		for _, p := range x.h.Providers {
			if p.Name == segment && strings.HasPrefix(rest, "v1/") {
				x.r.URL.Path, x.r.URL.RawPath = "/"+rest, ""
				return []*Provider{p}
			}
		}
	}
	if model := x.r.URL.Query().Get("model"); model != "" {
		x.model = model
		if m, label := x.h.models.find(model); m != nil && len(m.providers) > 0 {
			x.entry, x.label = m, label
			return m.providers
		}
	}
	return x.h.Providers[:1]
}

// session names the conversation, so that it stays on one credential, whose
// account holds its prompt cache: what the client says, else tenant, system
// prompt and first user message, which stay while a conversation grows.
func (x *exchange) session() string {
	if s := x.sessionHeader; s != "" {
		return "header\x00" + s
	}
	x.parse()
	if x.view == nil || x.parseErr != nil {
		return ""
	}
	doc, root := &x.view.Doc, x.view.Root
	if s := doc.Text(doc.Get(root, "prompt_cache_key")); s != "" {
		return "key\x00" + s
	}
	if s := doc.Text(doc.Get(doc.Get(root, "metadata"), "user_id")); s != "" {
		return "user\x00" + s
	}
	sum := sha256.New()
	if x.key != nil {
		sum.Write([]byte(x.key.Name))
	}
	sum.Write([]byte{0})
	for _, b := range x.view.Blocks {
		if b.Kind == adapter.SystemText {
			sum.Write(doc.Raw(b.Node))
		}
		if b.Kind == adapter.UserText {
			sum.Write([]byte{0})
			sum.Write(doc.Raw(b.Node))
			break
		}
	}
	return "text\x00" + hex.EncodeToString(sum.Sum(nil))
}

// parse makes the view of the client's body, once.
func (x *exchange) parse() {
	if x.view != nil || x.body == nil {
		return
	}
	x.view = requestViews.Get().(*adapter.Request)
	x.parseErr = x.view.Parse(x.format, x.body.bytes())
}

// renameModel puts the provider's name of the model into the body that is to
// be sent.
func (x *exchange) renameModel() {
	if x.entry == nil || x.entry.UpstreamModel == "" {
		return
	}
	if x.modelInPath {
		x.renameDeployment(x.entry.UpstreamModel)
		return
	}
	if x.sent == nil {
		return
	}
	x.parse()
	name := x.entry.UpstreamModel
	if x.view.ModelState != adapter.ModelUnique || name == x.model {
		return
	}
	body := x.sent.bytes()
	span, ok := modelSpan(body)
	if !ok {
		return
	}
	quoted := jsonspan.AppendQuoted(nil, []byte(name))
	renamed := jsonspan.Splice(newBuffer(len(body)+len(quoted)), body, []jsonspan.Edit{{Span: span, New: quoted}})
	x.replaceSent(renamed)
}

// modelSpan finds the value of the top-level key model in body.
func modelSpan(body []byte) (jsonspan.Span, bool) {
	view := requestViews.Get().(*adapter.Request)
	defer giveBack(view)
	if err := view.Doc.Parse(body); err != nil {
		return jsonspan.Span{}, false
	}
	node := view.Doc.Get(view.Doc.Root(), "model")
	if !view.Doc.Is(node, jsonspan.String) {
		return jsonspan.Span{}, false
	}
	return view.Doc.Span(node), true
}
