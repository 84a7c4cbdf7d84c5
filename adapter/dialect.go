package adapter

import (
	"net/http"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// Dialect is the manner in which an API talks about errors.
type Dialect uint8

// Dialects. What is not known is answered as OpenAI would, which most clients
// understand.
const (
	openAI Dialect = iota
	anthropic
)

// DialectOf is the dialect of the clients that speak f.
func DialectOf(f Format) Dialect {
	if f < maxFormats && wires[f] != nil {
		return wires[f].dialect
	}
	return openAI
}

// ErrorContentType is the Content-Type of what Error returns.
const ErrorContentType = "application/json"

// errorTypes are the error types of the two dialects by HTTP status. The last
// row is for every status that is not listed, the one before for the other
// 4xx.
//
// Sources: OpenAI's error codes guide, Anthropic's errors page.
var errorTypes = []struct {
	status            int
	openAI, anthropic string
}{
	{http.StatusBadRequest, "invalid_request_error", "invalid_request_error"},
	{http.StatusUnauthorized, "authentication_error", "authentication_error"},
	{http.StatusPaymentRequired, "insufficient_quota", "billing_error"},
	{http.StatusForbidden, "permission_error", "permission_error"},
	{http.StatusNotFound, "invalid_request_error", "not_found_error"},
	{http.StatusRequestEntityTooLarge, "invalid_request_error", "request_too_large"},
	{http.StatusTooManyRequests, "rate_limit_error", "rate_limit_error"},
	{http.StatusServiceUnavailable, "server_error", "overloaded_error"},
	{http.StatusGatewayTimeout, "server_error", "timeout_error"},
	{529, "server_error", "overloaded_error"},
	{499, "invalid_request_error", "invalid_request_error"},
	{0, "server_error", "api_error"},
}

// errorType is the type of an error with the status.
func (d Dialect) errorType(status int) string {
	row := errorTypes[len(errorTypes)-1]
	if status >= 400 && status < 500 {
		row = errorTypes[len(errorTypes)-2]
	}
	for _, r := range errorTypes {
		if r.status == status {
			row = r
			break
		}
	}
	if d == anthropic {
		return row.anthropic
	}
	return row.openAI
}

// Error is the body of an error answer. code is stable and for programs,
// message is for people; status only chooses the error's type.
//
//	OpenAI:    {"error":{"message":...,"type":...,"param":null,"code":...}}
//	Anthropic: {"type":"error","error":{"type":...,"message":...,"code":...}}
//
// The code is an addition to Anthropic's shape, whose clients ignore members
// they do not know.
func (d Dialect) Error(status int, code, message string) []byte {
	kind := d.errorType(status)
	b := make([]byte, 0, 128+len(message)+len(code))
	if d == anthropic {
		b = append(b, `{"type":"error","error":{"type":`...)
		b = jsonspan.AppendQuoted(b, []byte(kind))
		b = append(b, `,"message":`...)
		b = jsonspan.AppendQuoted(b, []byte(message))
	} else {
		b = append(b, `{"error":{"message":`...)
		b = jsonspan.AppendQuoted(b, []byte(message))
		b = append(b, `,"type":`...)
		b = jsonspan.AppendQuoted(b, []byte(kind))
		b = append(b, `,"param":null`...)
	}
	b = append(b, `,"code":`...)
	b = jsonspan.AppendQuoted(b, []byte(code))
	return append(b, `}}`...)
}
