package llmgateway

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/tokens"
)

// POST /v1/messages/count_tokens goes to a provider that serves it. For the
// others the gateway answers itself: with the tokenizer of OpenAI's models
// (cl100k for GPT-4 and 3.5, o200k for all others), plus what messages, images
// and documents are reckoned at. For Claude, whose tokenizer is not public, and
// for other families that is an estimate; the answer says so.

const countTokensPath = "/v1/messages/count_tokens"

// What is not text is reckoned at, in tokens.
const (
	tokensPerMessage = 4
	tokensPerImage   = 1600
	tokensPerRequest = 3
)

// Counting is done in pieces, so that a body costs no more than countBudget: the
// pieces that are left then are estimated. Bodies with more text than
// countInline take turns in the pool, in bytes.
const (
	countPiece  = 8 << 10
	countInline = 64 << 10
	countBudget = 2 * time.Second
)

// encoding is a tokenizer that is loaded in the background, once per process.
type encoding struct {
	name   tokenizer.Encoding
	start  sync.Once
	loaded chan struct{}
	codec  atomic.Pointer[tokenizer.Codec]
}

var (
	o200k  = &encoding{name: tokenizer.O200kBase, loaded: make(chan struct{})}
	cl100k = &encoding{name: tokenizer.Cl100kBase, loaded: make(chan struct{})}
)

// countSlots bounds how many pieces of long bodies are counted at a time.
var countSlots = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// load begins to load e; it does not wait.
func (e *encoding) load() {
	e.start.Do(func() {
		go func() {
			defer close(e.loaded)
			codec, err := tokenizer.Get(e.name)
			if err != nil {
				return // then everything is estimated
			}
			_, _ = codec.Count("warm up") // the first use compiles
			e.codec.Store(&codec)
		}()
	})
}

// encodingFor is the encoding that is nearest to model's.
func encodingFor(model string) *encoding {
	if i := strings.LastIndexByte(model, '/'); i >= 0 {
		model = model[i+1:]
	}
	for _, old := range [...]string{"gpt-4-", "gpt-3.5", "gpt-35", "text-embedding-"} {
		if strings.HasPrefix(model, old) {
			return cl100k
		}
	}
	if model == "gpt-4" {
		return cl100k
	}
	return o200k
}

// provisionCounting loads the tokenizer if it will be needed.
func (h *Handler) provisionCounting() {
	for _, p := range h.Providers {
		if !p.preset.CountTokens {
			o200k.load()
			return
		}
	}
}

// countTokens answers a request for the number of tokens, or sends it to a
// provider that can. done says that the request has been answered.
func (x *exchange) countTokens() (done bool, err error) {
	if x.r.Method != http.MethodPost || len(x.h.Providers) == 0 || !strings.HasSuffix(strings.TrimSuffix(x.r.URL.Path, "/"), countTokensPath) {
		return false, nil
	}
	if done, err := x.readBody(); done {
		return true, err
	}
	if x.body == nil {
		if x.unread != nil {
			return true, x.fail(*x.unread)
		}
		return true, x.fail(errTooLarge(x.h.MaxBody))
	}
	view := requestViews.Get().(*adapter.Request)
	defer giveBack(view)
	parseErr := view.Parse(adapter.Messages, x.body.bytes())
	if view.ModelState != adapter.ModelUnique {
		return true, x.fail(gatewayError{http.StatusBadRequest, codeModelRequired, "the request must name one model"})
	}
	x.model = view.Doc.Text(view.Model)
	if x.key != nil && !x.key.mayUse(x.model) {
		return true, x.fail(*errModelNotAllowed(x.model))
	}
	providers := x.h.Providers
	upstream := x.model
	if m, label := x.h.models.find(x.model); m != nil {
		x.entry, x.label = m, label
		if len(m.providers) > 0 {
			providers = m.providers
		}
		if m.UpstreamModel != "" {
			upstream = m.UpstreamModel
		}
	} else if !x.h.models.empty() {
		return true, x.fail(gatewayError{http.StatusNotFound, codeUnknownModel, "the model is not configured here"})
	}
	var counting []*Provider
	for _, p := range providers {
		if p.preset.CountTokens {
			counting = append(counting, p)
		}
	}
	if len(counting) > 0 {
		x.sent = x.body
		if upstream != x.model {
			edit := jsonspan.Edit{Span: view.Doc.Span(view.Model), New: jsonspan.AppendQuoted(nil, []byte(upstream))}
			x.replaceSent(jsonspan.Splice(newBuffer(x.body.len()+len(edit.New)), x.body.bytes(), []jsonspan.Edit{edit}))
		}
		x.setBody()
		return true, x.forwardToProviders(counting)
	}
	if parseErr != nil {
		return true, x.fail(gatewayError{http.StatusBadRequest, codeInvalidBody, "the request body could not be read as a request of this endpoint: " + parseErr.Error()})
	}
	n, by := countRequest(x.r.Context(), view, upstream)
	body := mustJSON(map[string]int{"input_tokens": n})
	header := x.tee.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", itoa(len(body)))
	header.Set(headerWarning, "input_tokens is an estimate ("+by+")")
	x.tee.WriteHeader(http.StatusOK)
	_, err = x.tee.Write(body)
	return true, err
}

// countRequest is the number of tokens of a request, and what counted them.
func countRequest(ctx context.Context, view *adapter.Request, model string) (n int, by string) {
	d := &view.Doc
	var texts []string
	size := 0
	add := func(text string) {
		if text != "" {
			texts, size = append(texts, text), size+len(text)
		}
	}
	for _, b := range view.Blocks {
		add(d.Text(b.Node))
	}
	for _, c := range view.Calls {
		add(d.Text(c.Name))
		add(string(d.Raw(c.Arguments)))
	}
	if view.Tools != jsonspan.None {
		add(string(d.Raw(view.Tools)))
	}
	n = tokensPerRequest + tokensPerMessage*len(view.Messages) + tokensPerImage*images(d, view.List)
	e := encodingFor(model)
	e.load()
	codec := e.codec.Load()
	if codec == nil {
		for _, text := range texts {
			n += tokens.Estimate([]byte(text))
		}
		return n, "estimated by length"
	}
	return n + countTexts(ctx, *codec, texts, size), string(e.name)
}

// images is how many images and documents the messages hold.
func images(d *jsonspan.Doc, n jsonspan.Ref) int {
	count := 0
	switch d.Kind(n) {
	case jsonspan.Array:
		for e := d.First(n); e != jsonspan.None; e = d.Next(e) {
			count += images(d, e)
		}
	case jsonspan.Object:
		if t := d.Get(n, "type"); d.Is(t, jsonspan.String) && (d.Equal(t, "image") || d.Equal(t, "document")) {
			return 1
		}
		count += images(d, d.Get(n, "content"))
	}
	return count
}

// countTexts counts texts of size bytes together.
func countTexts(ctx context.Context, codec tokenizer.Codec, texts []string, size int) int {
	deadline := time.Now().Add(countBudget)
	count := func(piece string) int {
		if time.Now().Before(deadline) && ctx.Err() == nil {
			if n, err := codec.Count(piece); err == nil {
				return n
			}
		}
		return tokens.Estimate([]byte(piece))
	}
	if size <= countInline {
		n := 0
		for _, text := range texts {
			for text != "" {
				var piece string
				piece, text = cutPiece(text)
				n += count(piece)
			}
		}
		return n
	}
	pieces := make(chan string)
	var total atomic.Int64
	var workers sync.WaitGroup
	for range cap(countSlots) {
		workers.Go(func() {
			for piece := range pieces {
				countSlots <- struct{}{}
				n := count(piece)
				<-countSlots
				total.Add(int64(n))
			}
		})
	}
	for _, text := range texts {
		for text != "" {
			var piece string
			piece, text = cutPiece(text)
			pieces <- piece
		}
	}
	close(pieces)
	workers.Wait()
	return int(total.Load())
}

// cutPiece cuts at most countPiece bytes off text, in front of white space if
// there is some, so that hardly a token is cut.
func cutPiece(text string) (piece, rest string) {
	if len(text) <= countPiece {
		return text, ""
	}
	at := strings.LastIndexAny(text[:countPiece], " \n")
	if at < countPiece/2 {
		at = countPiece
		for at > countPiece-utf8.UTFMax && !utf8.RuneStart(text[at]) {
			at--
		}
	}
	return text[:at], text[at:]
}

// dialect is the wire format in whose manner errors are answered.
func (x *exchange) dialect() adapter.Format {
	if x.format == adapter.Unknown && strings.Contains(x.r.URL.Path, "/v1/messages") {
		return adapter.Messages
	}
	return x.format
}
