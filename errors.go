package llmgateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/dustin/go-humanize"
	"go.uber.org/zap"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// gatewayError is an answer of the gateway itself. It reaches the client as
// an error object of the client's own wire format.
type gatewayError struct {
	status  int
	code    string // stable, for programs
	message string // for people
}

// Codes of the errors that the gateway itself answers.
const (
	codeNotCached       = "not_cached"
	codeUnknownKey      = "unknown_key"
	codeModelRequired   = "model_required"
	codeModelNotAllowed = "model_not_allowed"
	codeUnknownModel    = "unknown_model"
	codeUnknownEndpoint = "unknown_endpoint"

	codeInvalidBody  = "invalid_body"
	codeBodyTooLarge = "body_too_large"
	codeBodyTimeout  = "body_read_timeout"
	codeUnreachable  = "upstream_unreachable"
	codeUnavailable  = "upstream_unavailable"
	codeTimeout      = "upstream_timeout"
	codeInternal     = "internal_error"
)

func errTooLarge(limit int64) gatewayError {
	return gatewayError{http.StatusRequestEntityTooLarge, codeBodyTooLarge,
		"the request body is larger than " + humanize.IBytes(uint64(limit)) + " (max_body)"}
}

// fail answers with e. Nothing may have been written before.
func (x *exchange) fail(e gatewayError) error {
	body := adapter.DialectOf(x.dialect()).Error(e.status, e.code, e.message)
	header := x.tee.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	x.tee.WriteHeader(e.status)
	_, err := x.tee.Write(body)
	return err
}

// failRead answers when the client's body could not be read.
func (x *exchange) failRead(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return x.fail(errTooLarge(tooLarge.Limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return x.fail(gatewayError{http.StatusRequestTimeout, codeBodyTimeout, "the request body did not arrive in time"})
	case x.r.Context().Err() != nil:
		// The client is gone; the status is for the log.
		x.tee.WriteHeader(statusClientClosed)
		return nil
	}
	return x.fail(gatewayError{http.StatusBadRequest, codeInvalidBody, "the request body could not be read: " + err.Error()})
}

// statusClientClosed is what Caddy logs when the client went away.
const statusClientClosed = 499

// failUpstream answers when the handlers behind the gateway returned an
// error. The log has the whole error, the client its kind.
func (x *exchange) failUpstream(err error) error {
	status := http.StatusInternalServerError
	var handlerErr caddyhttp.HandlerError
	if errors.As(err, &handlerErr) && handlerErr.StatusCode != 0 {
		status = handlerErr.StatusCode
	}
	if c := x.h.logger.Check(levelOfStatus(status), "the next handler failed"); c != nil {
		c.Write(zap.Int("status", status), zap.String("endpoint", x.format.String()), zap.String("model", logSafe(x.model)), zap.Error(err))
	}
	code, message := codeInternal, http.StatusText(status)
	switch status {
	case http.StatusBadGateway:
		code, message = codeUnreachable, "the provider could not be reached: "+reasonOf(err)
	case http.StatusServiceUnavailable:
		code, message = codeUnavailable, "no provider is available"
	case http.StatusGatewayTimeout:
		code, message = codeTimeout, "the provider did not answer in time"
	default:
		if status < 500 {
			code = strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "_")
		}
	}
	return x.fail(gatewayError{status, code, message})
}

// reasonOf names the kind of a network error without addresses.
// reverse_proxy wraps a dial error in a type that cannot be unwrapped, so the
// text has to tell.
func reasonOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return "timeout"
	}
	text := err.Error()
	for _, known := range networkErrors {
		if strings.Contains(text, known.text) {
			return known.reason
		}
	}
	return "the connection broke before an answer came"
}

var networkErrors = []struct{ text, reason string }{
	{"connection refused", "connection refused"},
	{"no such host", "its name could not be resolved"},
	{"i/o timeout", "timeout"},
	{"timeout awaiting response headers", "timeout"},
	{"TLS handshake timeout", "TLS handshake failed"},
	{"tls: ", "TLS handshake failed"},
	{"x509: ", "its TLS certificate was not accepted"},
	{"network is unreachable", "connection failed"},
	{"no route to host", "connection failed"},
	{"dial tcp", "connection failed"},
}

func itoa(n int) string { return strconv.Itoa(n) }

// headerSafe makes s fit for a header value: printable ASCII, 400 bytes at most.
func headerSafe(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e {
			return '?'
		}
		return r
	}, s)
	if len(s) > 400 {
		s = s[:400]
	}
	return s
}

// logSafe bounds what a client can put into a log field.
func logSafe(s string) string {
	if len(s) > 200 {
		return fmt.Sprintf("%.200q...", s)
	}
	return s
}
