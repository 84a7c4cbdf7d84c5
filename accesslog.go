package llmgateway

import (
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// Caddy's access log hides Authorization and cookies, but not the headers and
// the query parameters of adapter.Carriers, in which LLM clients send their credentials. It
// copies the request before any handler runs, so a handler cannot hide them
// there. For a request that carries one of them the gateway therefore tells
// Caddy to skip its entry and writes the same entry, through the same loggers
// and with the same fields, with the credential replaced.

// credentialHeaders are request headers that Caddy's logs do not hide.
var credentialHeaders = func() (names []string) {
	for _, c := range adapter.Carriers {
		if c.Header != "" && c.Header != "Authorization" {
			names = append(names, c.Header)
		}
	}
	return names
}()

const redacted = "REDACTED"

// redactedLog is an access log entry that the gateway writes in Caddy's place.
type redactedLog struct {
	server *caddyhttp.Server
	logger *zap.Logger
	req    *http.Request // redacted copy of the original request
	start  time.Time
}

// takeOverAccessLog returns nil unless r carries a credential that Caddy
// would log; then Caddy skips its own entry and the caller must write one.
func takeOverAccessLog(h *Handler, r *http.Request) *redactedLog {
	if !carriesCredential(r) {
		return nil
	}
	l := new(redactedLog)
	server, ok := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !ok || server.Logs == nil || server.Logs.ShouldLogCredentials || !logsHost(server.Logs, r.Host) {
		return l
	}
	if skip, ok := caddyhttp.GetVar(r.Context(), caddyhttp.LogSkipVar).(bool); ok && skip {
		return l
	}
	caddyhttp.SetVar(r.Context(), caddyhttp.LogSkipVar, true)
	l.server, l.logger, l.start = server, h.accessLogger, time.Now()
	l.req = redactRequest(r)
	return l
}

// carriesCredential reports whether r holds a credential that Caddy's logs
// would show.
func carriesCredential(r *http.Request) bool {
	for _, name := range credentialHeaders {
		if len(r.Header[name]) > 0 {
			return true
		}
	}
	return adapter.HasQueryCredentials(r.URL.RawQuery)
}

// redactRequest returns a copy of r, as it came in, without credentials.
func redactRequest(r *http.Request) *http.Request {
	c := r.Clone(r.Context())
	if orig, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok {
		c.Method, c.RequestURI, c.RemoteAddr = orig.Method, orig.RequestURI, orig.RemoteAddr
	}
	for _, name := range credentialHeaders {
		if len(c.Header[name]) > 0 {
			c.Header[name] = []string{redacted}
		}
	}
	c.RequestURI = redactURI(c.RequestURI)
	return c
}

// redactURI replaces the values of credential parameters in uri and leaves the
// rest as it stands.
func redactURI(uri string) string {
	path, query, ok := strings.Cut(uri, "?")
	if !ok {
		return uri
	}
	return path + "?" + adapter.MaskQueryCredentials(query, redacted)
}

// logsHost tells whether logs has access logging on for host, by the rules of
// caddyhttp.Server.
func logsHost(logs *caddyhttp.ServerLogConfig, host string) bool {
	host = hostWithoutPort(host)
	for name := range logs.LoggerNames {
		if certmagic.MatchWildcard(host, name) {
			return true
		}
	}
	for _, skip := range logs.SkipHosts {
		if certmagic.MatchWildcard(host, skip) {
			return false
		}
	}
	return !logs.SkipUnmappedHosts
}

func hostWithoutPort(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return host
}

// loggerNames are the names under which the entry for r is logged, "" being
// the access logger itself.
func loggerNames(logs *caddyhttp.ServerLogConfig, r *http.Request) []string {
	if names, ok := caddyhttp.GetVar(r.Context(), caddyhttp.AccessLoggerNameVarKey).([]any); ok {
		var out []string
		for _, name := range names {
			if s, ok := name.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	host := strings.ToLower(hostWithoutPort(r.Host))
	if names, ok := logs.LoggerNames[host]; ok {
		return names
	}
	labels := strings.Split(host, ".")
	for i := range labels {
		if labels[i] == "" {
			continue
		}
		labels[i] = "*"
		if names, ok := logs.LoggerNames[strings.Join(labels, ".")]; ok {
			return names
		}
	}
	return []string{logs.DefaultLoggerName}
}

// write writes the entry. It does nothing when Caddy writes its own.
func (l *redactedLog) write(x *exchange) {
	if l == nil || l.logger == nil {
		return
	}
	ctx := l.req.Context()
	level := zapcore.InfoLevel
	if x.tee.status >= 500 {
		level = zapcore.ErrorLevel
	}
	if name, ok := caddyhttp.GetVar(ctx, caddyhttp.LogLevelVar).(string); ok {
		if chosen, err := zapcore.ParseLevel(name); err == nil && chosen >= zapcore.DebugLevel && chosen <= zapcore.ErrorLevel {
			level = chosen
		}
	}
	var fields []zap.Field
	for _, name := range loggerNames(l.server.Logs, l.req) {
		logger := l.logger
		if name != "" {
			logger = logger.Named(name)
		}
		c := logger.Check(level, "handled request")
		if c == nil {
			continue
		}
		if fields == nil {
			fields = l.fields(x)
		}
		c.Write(fields...)
	}
}

// fields are those of Caddy's own entry, in its order.
func (l *redactedLog) fields(x *exchange) []zap.Field {
	userID := ""
	if repl, ok := l.req.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		userID, _ = repl.GetString("http.auth.user.id")
	}
	fields := []zap.Field{
		zap.Object("request", caddyhttp.LoggableHTTPRequest{Request: l.req}),
		zap.Int64("bytes_read", x.bytesRead),
		zap.String("user_id", userID),
		zap.Duration("duration", time.Since(l.start)),
		zap.Int64("size", x.tee.size),
		zap.Int("status", x.tee.status),
		zap.Object("resp_headers", caddyhttp.LoggableHTTPHeader{Header: x.w.Header()}),
	}
	if x.format != 0 {
		fields = append(fields, zap.Object("llm_gateway", x))
	}
	return fields
}
