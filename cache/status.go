package cache

import (
	"net/http"
	"strconv"
	"time"
)

// Response headers that say what the cache did.
const (
	HeaderResult = "X-Gateway-Cache"       // HIT, HIT-SIMILAR, MISS or BYPASS
	HeaderScore  = "X-Gateway-Cache-Score" // of a similar question, up to 1
	headerStatus = "Cache-Status"          // RFC 9211
	headerAge    = "Age"                   // RFC 9111, section 5.1
)

// statusName is what the cache calls itself in Cache-Status.
const statusName = "llm-gateway"

// results are the values of X-Gateway-Cache.
var results = [...][]string{
	Bypass:      {"BYPASS"},
	Miss:        {"MISS"},
	Hit:         {"HIT"},
	HitSimilar:  {"HIT-SIMILAR"},
	Collapsed:   {"MISS"},
	Unsatisfied: {"MISS"},
	Gone:        {"MISS"},
}

// SetHeaders says in the response header h what the cache did. For a Miss it
// is called after Recorder.Header. A Cache-Status of caches behind stays, in
// front of the gateway's, as RFC 9211 orders them.
func (l *Lookup) SetHeaders(h http.Header) {
	h[HeaderResult] = results[l.Outcome]
	h[headerStatus] = append(h[headerStatus], l.status())
	if l.entry == nil {
		return
	}
	h[headerAge] = []string{seconds(l.entry.age(l.now))}
	if l.Outcome == HitSimilar {
		h[HeaderScore] = []string{strconv.FormatFloat(l.Score, 'f', 4, 64)}
	}
}

// status is the gateway's member of Cache-Status.
func (l *Lookup) status() string {
	switch l.Outcome {
	case Hit:
		return statusName + "; hit; ttl=" + seconds(l.entry.left(l.now, l.ttl))
	case HitSimilar:
		return statusName + "; hit; ttl=" + seconds(l.entry.left(l.now, l.ttl)) + "; detail=similar"
	case Collapsed:
		return statusName + "; fwd=miss; collapsed"
	case Bypass:
		return statusName + "; fwd=bypass; detail=" + l.Reason.String()
	case Miss:
		forwarded := statusName + "; fwd=miss"
		if l.asked {
			forwarded = statusName + "; fwd=request"
		}
		if rec := l.Recorder; rec.reason != None {
			// Already known not to be stored, from the answer's header.
			forwarded += "; detail=" + rec.reason.String()
		}
		return forwarded
	}
	return statusName + "; detail=only-if-cached"
}

// seconds is d in whole seconds, rounded down.
func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }
