package llmgateway

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/dunglas/httpsfv"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache"
)

// Request headers. All that start with headerPrefix are the gateway's and
// never reach the upstream.
const (
	headerPrefix   = "X-Gateway-"
	headerOptimize = "X-Gateway-Optimize"
	headerSession  = "X-Gateway-Session"
)

// Response headers.
const (
	headerOverhead     = "X-Gateway-Overhead-Ms"
	headerApplied      = "X-Gateway-Applied"
	headerSavedBytes   = "X-Gateway-Saved-Bytes"
	headerSavedTokens  = "X-Gateway-Saved-Tokens"
	headerSkipped      = "X-Gateway-Skipped"
	headerAudit        = "X-Gateway-Audit"
	headerWarning      = "X-Gateway-Warning"
	headerRoute        = "X-Gateway-Route"
	headerAttempts     = "X-Gateway-Attempts"
	headerServerTiming = "Server-Timing"
)

// gatewayAnswers are the response headers that only this gateway sets; those
// of another gateway further upstream are removed.
var gatewayAnswers = []string{headerOverhead, headerApplied, headerSavedBytes, headerSavedTokens, headerSkipped, headerAudit, headerWarning, headerRoute, headerAttempts, cache.HeaderResult, cache.HeaderScore}

// overrides are what a client asks for in the gateway's own request headers.
type overrides struct {
	settings settings
	cache    cache.Directives
	session  string
}

// takeOverrides removes the gateway's own headers from header and returns
// what the client asks for. The error says what was not understood; that
// header then counts as not sent. Naming the session is not a matter of
// permission: it only keeps a conversation together.
func takeOverrides(header http.Header, allowed bool) (asked overrides, err error) {
	asked.cache, err = cache.ParseDirectives(header, allowed)
	for name, values := range header {
		if !strings.HasPrefix(name, headerPrefix) {
			continue
		}
		switch name {
		case headerOptimize:
			if allowed {
				set, problem := parseOptimize(values)
				asked.settings, err = set, errors.Join(err, problem)
			}
		case headerSession:
			asked.session = values[0]
		}
		delete(header, name)
	}
	return asked, err
}

// parseOptimize reads the value of X-Gateway-Optimize, an RFC 8941
// dictionary: `rtk=aggressive, headroom=balanced;keep=4, caveman` or `off`.
// A name alone asks for the default level.
func parseOptimize(values []string) (settings, error) {
	var s settings
	dict, err := httpsfv.UnmarshalDictionary(values)
	if err != nil {
		return s, fmt.Errorf("%s: not a dictionary (RFC 8941): %w", headerOptimize, err)
	}
	for _, name := range dict.Names() {
		member, _ := dict.Get(name)
		item, ok := member.(httpsfv.Item)
		if !ok {
			return settings{}, fmt.Errorf("%s: %s: a level expected, not a list", headerOptimize, name)
		}
		level, err := levelOf(item.Value)
		if err != nil {
			return settings{}, fmt.Errorf("%s: %s: %w", headerOptimize, name, err)
		}
		if name == levelOff {
			s.off = level != levelOff
			continue
		}
		i := optimizerNamed(name)
		if i < 0 {
			return settings{}, fmt.Errorf("%s: unknown optimizer %q, expected %s or off", headerOptimize, name, optimizerNames())
		}
		if level == "" {
			level = optimizers[i].levels[0]
		}
		if err := optimizers[i].checkLevel(level); err != nil {
			return settings{}, fmt.Errorf("%s: %w", headerOptimize, err)
		}
		set := setting{level: level}
		for _, param := range item.Params.Names() {
			value, _ := item.Params.Get(param)
			n, isInt := value.(int64)
			switch {
			case i == optHeadroom && param == "keep" && isInt && n >= 1 && n < 1<<31:
				set.keep = int(n)
			case i == optHeadroom && param == "reserve" && isInt && n >= 1 && n < 1<<31:
				set.reserve = int(n)
			default:
				return settings{}, fmt.Errorf("%s: %s: unexpected parameter %s=%v", headerOptimize, name, param, value)
			}
		}
		s.by[i] = set
	}
	if s.by[optSquoze].active() && (s.by[optRTK].active() || s.by[optHeadroom].active()) {
		return settings{}, fmt.Errorf("%s: squoze cannot be combined with rtk or headroom", headerOptimize)
	}
	return s, nil
}

// levelOf reads the bare item of a dictionary member: a token or string is a
// level, true the default level, false off.
func levelOf(value any) (string, error) {
	switch v := value.(type) {
	case bool:
		if v {
			return "", nil
		}
		return levelOff, nil
	case httpsfv.Token:
		return string(v), nil
	case string:
		return v, nil
	}
	return "", fmt.Errorf("a level expected, got %v", value)
}

// formatMillis writes d nanoseconds as milliseconds with three decimals.
func formatMillis(nanos int64) string {
	return strconv.FormatFloat(float64(nanos)/1e6, 'f', 3, 64)
}
