package cache

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Request headers by which a client narrows what the cache may do. None of
// them can widen it: not the mode, not the TTL, not whose answers are reused.
const (
	HeaderControl   = "X-Gateway-Cache"           // off, refresh, exact
	HeaderTTL       = "X-Gateway-Cache-Ttl"       // seconds, or a duration such as 5m; in canonical spelling
	HeaderNamespace = "X-Gateway-Cache-Namespace" // any text; only answers of the same namespace are reused
)

// maxNamespace is the longest namespace, in bytes.
const maxNamespace = 256

// Directives is what a client asks of the cache. The zero value asks for
// nothing.
type Directives struct {
	Off          bool // neither look up nor store
	Bad          bool // Off because something was not understood
	Refresh      bool // do not look up, but store
	ExactOnly    bool // no similar answers
	OnlyIfCached bool // a stored answer or 504

	// Age is the age from which a stored answer is too old, if Aged.
	Age  time.Duration
	Aged bool
	// Fresh is how long a stored answer must still be good for.
	Fresh time.Duration
	// TTL, if not 0, is how long the answer may be reused.
	TTL time.Duration

	Namespace string
}

// ParseDirectives reads the request's Cache-Control (RFC 9111, section 5.2.1)
// and, if overrides is true, its X-Gateway-Cache headers. An error names what
// was not understood; as it may have been meant to keep this request out of
// the cache, the directives then say Off.
func ParseDirectives(h http.Header, overrides bool) (Directives, error) {
	var d Directives
	for _, line := range h["Cache-Control"] {
		d.control(line)
	}
	if !overrides {
		return d, nil
	}
	if err := d.gateway(h); err != nil {
		d.Off, d.Bad = true, true
		return d, err
	}
	return d, nil
}

// control reads one Cache-Control line. Extensions and max-stale, which would
// widen, mean nothing here.
func (d *Directives) control(line string) {
	for line != "" {
		var item string
		item, line = cutItem(line)
		name, value, _ := strings.Cut(item, "=")
		switch name = strings.TrimSpace(name); {
		case strings.EqualFold(name, "no-store"):
			d.Off = true
		case strings.EqualFold(name, "no-cache"):
			d.Refresh = true
		case strings.EqualFold(name, "only-if-cached"):
			d.OnlyIfCached = true
		case strings.EqualFold(name, "max-age"):
			age, ok := deltaSeconds(value)
			if !ok {
				age = 0 // no number: nothing is young enough
			}
			if !d.Aged || age < d.Age {
				d.Age, d.Aged = age, true
			}
		case strings.EqualFold(name, "min-fresh"):
			fresh, ok := deltaSeconds(value)
			if !ok {
				d.Refresh = true
			}
			d.Fresh = max(d.Fresh, fresh)
		}
	}
}

// cutItem splits line at the first comma that is not within quotes.
func cutItem(line string) (item, rest string) {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '"':
			quoted = !quoted
		case '\\':
			if quoted {
				i++
			}
		case ',':
			if !quoted {
				return line[:i], line[i+1:]
			}
		}
	}
	return line, ""
}

// maxDelta is the largest number of seconds, as RFC 9111 suggests for what
// overflows.
const maxDelta = 1<<31 - 1

// deltaSeconds reads a number of seconds, with or without quotes.
func deltaSeconds(value string) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		value = value[1 : len(value)-1]
	}
	if value == "" {
		return 0, false
	}
	var n int64
	for i := 0; i < len(value); i++ {
		if value[i] < '0' || value[i] > '9' {
			return 0, false
		}
		n = min(n*10+int64(value[i]-'0'), maxDelta)
	}
	return time.Duration(n) * time.Second, true
}

// gateway reads the gateway's own headers.
func (d *Directives) gateway(h http.Header) error {
	for _, line := range h[HeaderControl] {
		for line != "" {
			var item string
			item, line = cutItem(line)
			switch item = strings.TrimSpace(item); {
			case strings.EqualFold(item, "off"):
				d.Off = true
			case strings.EqualFold(item, "refresh"):
				d.Refresh = true
			case strings.EqualFold(item, "exact"):
				d.ExactOnly = true
			default:
				return fmt.Errorf("%s: unknown value %q, expected off, refresh or exact", HeaderControl, item)
			}
		}
	}
	for _, value := range h[HeaderTTL] {
		ttl, err := parseTTL(value)
		if err != nil {
			return fmt.Errorf("%s: %w", HeaderTTL, err)
		}
		if d.TTL == 0 || ttl < d.TTL {
			d.TTL = ttl
		}
	}
	if values := h[HeaderNamespace]; len(values) > 0 {
		if len(values) > 1 {
			return fmt.Errorf("%s: given more than once", HeaderNamespace)
		}
		if len(values[0]) > maxNamespace {
			return fmt.Errorf("%s: longer than %d bytes", HeaderNamespace, maxNamespace)
		}
		d.Namespace = values[0]
	}
	return nil
}

// parseTTL reads a positive number of seconds or a positive duration.
func parseTTL(value string) (time.Duration, error) {
	value = strings.TrimSpace(value)
	var ttl time.Duration
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		ttl = time.Duration(n) * time.Second
	} else if ttl, err = time.ParseDuration(value); err != nil {
		return 0, fmt.Errorf("expected seconds or a duration, got %q", value)
	}
	if ttl <= 0 {
		return 0, errors.New("expected more than 0")
	}
	return ttl, nil
}
