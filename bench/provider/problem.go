package provider

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// problem is why a request is refused.
type problem struct {
	status        int
	kind          errorKind
	code, message string
}

// errorKind is the type of an error object.
type errorKind uint8

const (
	kindInvalid errorKind = iota
	kindAuthentication
	kindPermission
	kindNotFound
	kindTooLarge
	kindRateLimit
	kindServer
	kindOverloaded
)

// errorTypes names the kinds as the two providers do.
var errorTypes = [...]struct{ openai, anthropic string }{
	kindInvalid:        {"invalid_request_error", "invalid_request_error"},
	kindAuthentication: {"invalid_request_error", "authentication_error"},
	kindPermission:     {"invalid_request_error", "permission_error"},
	kindNotFound:       {"invalid_request_error", "not_found_error"},
	kindTooLarge:       {"invalid_request_error", "request_too_large"},
	kindRateLimit:      {"rate_limit_error", "rate_limit_error"},
	kindServer:         {"server_error", "api_error"},
	kindOverloaded:     {"server_error", "overloaded_error"},
}

// statusKinds says which kind of error a status is; other ones are the
// server's from 500 on and the request's below.
var statusKinds = map[int]errorKind{
	401: kindAuthentication, 403: kindPermission, 404: kindNotFound, 413: kindTooLarge,
	429: kindRateLimit, 503: kindOverloaded, 529: kindOverloaded,
}

// invalid is a 400.
func invalid(format string, args ...any) *problem {
	return &problem{status: 400, kind: kindInvalid, code: "invalid_request", message: fmt.Sprintf(format, args...)}
}

// injected is an error that was asked for.
func injected(status int) *problem {
	kind, ok := statusKinds[status]
	if !ok && status >= 500 {
		kind = kindServer
	}
	return &problem{status: status, kind: kind, code: "injected", message: "This error was asked for."}
}

// refuse answers with p in the dialect of the endpoint.
func (pr *Provider) refuse(a *ask, p *problem) {
	pr.refused.Add(1)
	a.answer.reset()
	a.answer.status = p.status
	if p.status == 429 || p.status == 503 || p.status == 529 {
		a.answer.extra = "Retry-After: 1\r\n"
	}
	message, err := json.Marshal(p.message)
	if err != nil {
		message = []byte(`""`) // a string always encodes
	}
	b := a.answer.buf
	if a.endpoint.anthropic() {
		b = append(b, `{"type":"error","error":{"type":"`...)
		b = append(b, errorTypes[p.kind].anthropic...)
		b = append(b, `","message":`...)
		b = append(b, message...)
		b = append(b, `},"request_id":"req_`...)
		b = appendID(b, uint64(pr.ids.Add(1)))
		b = append(b, `"}`...)
	} else {
		b = append(b, `{"error":{"message":`...)
		b = append(b, message...)
		b = append(b, `,"type":"`...)
		b = append(b, errorTypes[p.kind].openai...)
		b = append(b, `","param":null,"code":`...)
		b = strconv.AppendQuote(b, p.code)
		b = append(b, `}}`...)
	}
	a.answer.buf = b
	a.answer.frame()
}
