package llmgateway

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// proveOther makes sure that the body of what is no model request (images,
// audio, files, batches, ...) names no model that the key may not use. It is
// called for keys with an allow-list only; for all others such bodies stream
// on unread.
func (x *exchange) proveOther(k *Key) *gatewayError {
	r := x.r
	if r.Body == nil || r.Body == http.NoBody || r.Header.Get("Upgrade") != "" {
		return nil
	}
	raw, _, err := readBody(r.Body, r.ContentLength, x.h.MaxBody, nil)
	if errors.Is(err, errBodyTooLarge) {
		tooLarge := errTooLarge(x.h.MaxBody)
		return &tooLarge
	}
	if err != nil {
		return &gatewayError{http.StatusBadRequest, codeInvalidBody, "the request body could not be read"}
	}
	plain := raw
	if encoding := strings.Join(r.Header.Values("Content-Encoding"), ","); encoding != "" {
		if plain, err = decodeBody(raw, encoding, x.h.MaxBody); err != nil {
			return &gatewayError{http.StatusBadRequest, codeInvalidBody, "the request body could not be decoded: " + err.Error()}
		}
	}
	models, err := modelsNamed(r.Header.Get("Content-Type"), plain)
	if err != nil {
		return &gatewayError{http.StatusBadRequest, codeInvalidBody, "the models that the request body names could not be read: " + err.Error()}
	}
	for _, model := range models {
		if !k.mayUse(model) {
			return errModelNotAllowed(model)
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	r.ContentLength, r.TransferEncoding = int64(len(raw)), nil
	r.Header.Set("Content-Length", strconv.Itoa(len(raw)))
	return nil
}

var errModelNotString = errors.New("the model is not a string")

// modelsNamed lists every model that a body of this type names. A body that
// looks like JSON is taken for it, whatever its type says.
func modelsNamed(contentType string, body []byte) ([]string, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case len(trimmed) > 0 && trimmed[0] == '{' || strings.HasSuffix(kind, "json"):
		return modelsInJSON(body)
	case kind == "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		return form["model"], err
	case strings.HasPrefix(kind, "multipart/") || strings.HasPrefix(strings.ToLower(contentType), "multipart/"):
		if err != nil {
			return nil, err
		}
		return modelsInForm(body, params["boundary"])
	}
	return nil, nil
}

// modelsInJSON lists the values of the root's members called model, in any
// letter case.
func modelsInJSON(body []byte) ([]string, error) {
	var doc jsonspan.Doc
	if err := doc.Parse(body); err != nil {
		return nil, err
	}
	var models []string
	for k := doc.First(doc.Root()); doc.Is(doc.Root(), jsonspan.Object) && k != jsonspan.None; k = doc.Next(k) {
		if !strings.EqualFold(doc.Text(k), "model") {
			continue
		}
		if !doc.Is(doc.Value(k), jsonspan.String) {
			return nil, errModelNotString
		}
		models = append(models, doc.Text(doc.Value(k)))
	}
	return models, nil
}

// modelsInForm lists the values of the form's fields called model.
func modelsInForm(body []byte, boundary string) ([]string, error) {
	var models []string
	form := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := form.NextRawPart()
		if err == io.EOF {
			return models, nil
		}
		if err != nil {
			return nil, err
		}
		if !strings.EqualFold(part.FormName(), "model") {
			continue
		}
		value, err := io.ReadAll(io.LimitReader(part, 1<<10))
		if err != nil {
			return nil, err
		}
		models = append(models, string(value))
	}
}

// proveModelsPath makes sure that a path which names a model, as
// /v1/models/{model} and /v1beta/models/{model}:{action} do, names one that k
// may use.
func (x *exchange) proveModelsPath(k *Key) *gatewayError {
	_, rest, ok := strings.Cut(strings.ToLower(x.r.URL.Path), "/models/")
	if !ok {
		return nil
	}
	path := x.r.URL.Path
	name, _, _ := strings.Cut(path[len(path)-len(rest):], ":")
	if name = strings.TrimSuffix(name, "/"); name != "" && !k.mayUse(name) {
		return errModelNotAllowed(name)
	}
	return nil
}

// fallbackModels are further models that the request names for the provider to
// choose from, as OpenRouter's list models. The body has been parsed.
func (x *exchange) fallbackModels() []string {
	doc := &x.view.Doc
	var out []string
	for k := doc.First(x.view.Root); k != jsonspan.None; k = doc.Next(k) {
		// One letter of it has another form, of two bytes.
		if n := len(doc.Inner(k)); !doc.Escaped(k) && n != len("models") && n != len("models")+1 ||
			!strings.EqualFold(doc.Text(k), "models") {
			continue
		}
		list := doc.Value(k)
		if !doc.Is(list, jsonspan.Array) {
			out = append(out, doc.Text(list))
			continue
		}
		for m := doc.First(list); m != jsonspan.None; m = doc.Next(m) {
			out = append(out, doc.Text(m))
		}
	}
	return out
}
