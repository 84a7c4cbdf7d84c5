package llmgateway

import (
	"net/http"
	"strconv"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/access"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// tokensPerByte is how many tokens a byte of a request stands for when a
// limit needs an estimate before the provider has counted.
const bytesPerToken = 4

// admit checks what the key may do: the model, then the limits.
func (x *exchange) admit() (done bool, err error) {
	k := x.key
	if k == nil {
		return false, nil
	}
	byPath := false
	if len(k.Models) > 0 {
		var bad *gatewayError
		byPath, bad = x.provePath(k)
		if bad == nil {
			bad = x.proveQuery(k)
		}
		if bad == nil && x.format == adapter.Unknown {
			if bad = x.proveModelsPath(k); bad == nil {
				bad = x.proveOther(k)
			}
		}
		if bad != nil {
			return true, x.fail(*bad)
		}
	}
	if len(k.Models) > 0 && x.format != adapter.Unknown && !byPath {
		if x.body == nil {
			// Too large to be read, or in a coding that is not known: the model
			// cannot be proven.
			if x.unread != nil {
				return true, x.fail(*x.unread)
			}
			return true, x.fail(errTooLarge(x.h.MaxBody))
		}
		if bad := x.proveModel(); bad != nil {
			return true, x.fail(*bad)
		}
		for _, model := range append(x.fallbackModels(), x.model) {
			if !k.mayUse(model) {
				return true, x.fail(*errModelNotAllowed(model))
			}
		}
	}
	estimate := 0
	if x.body != nil {
		estimate = x.body.len() / bytesPerToken
	}
	lease, decision := x.h.limiter.Admit(x.r.Context(), k.Name, k.limits, estimate)
	x.lease, x.limits = lease, decision
	if d := decision.Denied; d != nil {
		x.tee.Header().Set("Retry-After", retryAfterSeconds(d.RetryAfter))
		return true, x.fail(gatewayError{http.StatusTooManyRequests, string(d.Reason), denials[d.Limit]})
	}
	return false, nil
}

func errModelNotAllowed(model string) *gatewayError {
	return &gatewayError{http.StatusForbidden, codeModelNotAllowed, "the model " + strconv.Quote(logSafe(model)) + " is not allowed for this API key"}
}

// denials are the messages for the limits of a key.
var denials = map[string]string{
	"rpm":         "the API key's limit of requests per minute is reached",
	"tpm":         "the API key's limit of tokens per minute is reached",
	"concurrency": "the API key's limit of requests at a time is reached",
	"budget":      "the API key's budget is spent",
}

// proveModel makes sure that the whole body is one valid JSON object with
// exactly one model, a string. Where access depends on the model, nothing
// less will do: the provider might read another one than we did.
func (x *exchange) proveModel() *gatewayError {
	x.parse()
	switch {
	case x.view == nil || x.view.ModelState == adapter.ModelAbsent && x.parseErr != nil:
		return &gatewayError{http.StatusBadRequest, codeInvalidBody, "the request body could not be read as a request of this endpoint: " + x.parseErr.Error()}
	case x.view.ModelState == adapter.ModelAbsent:
		return &gatewayError{http.StatusBadRequest, codeModelRequired, "the request names no model"}
	case x.view.ModelState == adapter.ModelDuplicate:
		return &gatewayError{http.StatusBadRequest, codeInvalidBody, "the request names the model more than once"}
	case x.view.ModelState == adapter.ModelNotString:
		return &gatewayError{http.StatusBadRequest, codeInvalidBody, "the model must be a string"}
	}
	if !x.view.Doc.Equal(x.view.Model, x.model) {
		x.model = x.view.Doc.Text(x.view.Model)
	}
	return nil
}

// limitHeaders tells the client what is left, as OpenAI's clients know it.
func (x *exchange) limitHeaders(header http.Header) {
	for i, w := range [...]*access.Window{&x.limits.Requests, &x.limits.Tokens} {
		if w.Limit == 0 {
			continue
		}
		kind := [...]string{"Requests", "Tokens"}[i]
		header.Set("X-Ratelimit-Limit-"+kind, strconv.Itoa(w.Limit))
		header.Set("X-Ratelimit-Remaining-"+kind, strconv.Itoa(w.Remaining))
		header.Set("X-Ratelimit-Reset-"+kind, w.Reset.Round(time.Millisecond).String())
	}
}
