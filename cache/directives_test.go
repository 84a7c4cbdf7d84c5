package cache

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestParseDirectives(t *testing.T) {
	for _, tc := range []struct {
		headers []string
		want    Directives
		err     string
	}{
		{nil, Directives{}, ""},
		{[]string{"Cache-Control", "no-cache"}, Directives{Refresh: true}, ""},
		{[]string{"Cache-Control", "No-Store"}, Directives{Off: true}, ""},
		{[]string{"Cache-Control", "no-transform, max-stale=600, only-if-cached"}, Directives{OnlyIfCached: true}, ""},
		{[]string{"Cache-Control", "max-age=60"}, Directives{Age: time.Minute, Aged: true}, ""},
		{[]string{"Cache-Control", `max-age="60"`}, Directives{Age: time.Minute, Aged: true}, ""},
		{[]string{"Cache-Control", "max-age=60", "Cache-Control", "max-age=30"}, Directives{Age: 30 * time.Second, Aged: true}, ""},
		{[]string{"Cache-Control", "max-age=soon"}, Directives{Aged: true}, ""},
		{[]string{"Cache-Control", "max-age"}, Directives{Aged: true}, ""},
		{[]string{"Cache-Control", "max-age=99999999999999999999"}, Directives{Age: maxDelta * time.Second, Aged: true}, ""},
		{[]string{"Cache-Control", "min-fresh=5"}, Directives{Fresh: 5 * time.Second}, ""},
		{[]string{"Cache-Control", "min-fresh=x"}, Directives{Refresh: true}, ""},
		{[]string{"Cache-Control", `ext="a, no-store, b\", no-cache"`}, Directives{}, ""},
		{[]string{"Cache-Control", ",, , no-cache ,"}, Directives{Refresh: true}, ""},
		{[]string{"X-Gateway-Cache", "off"}, Directives{Off: true}, ""},
		{[]string{"X-Gateway-Cache", "Refresh, exact"}, Directives{Refresh: true, ExactOnly: true}, ""},
		{[]string{"X-Gateway-Cache", "similar"}, Directives{Off: true, Bad: true}, `unknown value "similar"`},
		{[]string{"X-Gateway-Cache", ""}, Directives{}, ""},
		{[]string{"X-Gateway-Cache-TTL", "90"}, Directives{TTL: 90 * time.Second}, ""},
		{[]string{"X-Gateway-Cache-TTL", "5m"}, Directives{TTL: 5 * time.Minute}, ""},
		{[]string{"X-Gateway-Cache-TTL", "5m", "X-Gateway-Cache-TTL", "60"}, Directives{TTL: time.Minute}, ""},
		{[]string{"X-Gateway-Cache-TTL", "0"}, Directives{Off: true, Bad: true}, "expected more than 0"},
		{[]string{"X-Gateway-Cache-TTL", "-5m"}, Directives{Off: true, Bad: true}, "expected more than 0"},
		{[]string{"X-Gateway-Cache-TTL", "long"}, Directives{Off: true, Bad: true}, "expected seconds or a duration"},
		{[]string{"X-Gateway-Cache-Namespace", "team a"}, Directives{Namespace: "team a"}, ""},
		{[]string{"X-Gateway-Cache-Namespace", "a", "X-Gateway-Cache-Namespace", "b"}, Directives{Off: true, Bad: true}, "more than once"},
		{[]string{"X-Gateway-Cache-Namespace", strings.Repeat("n", 257)}, Directives{Off: true, Bad: true}, "longer than"},
	} {
		h := http.Header{}
		for i := 0; i < len(tc.headers); i += 2 {
			h.Add(tc.headers[i], tc.headers[i+1])
		}
		got, err := ParseDirectives(h, true)
		if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%q: %+v, %v; expected %+v, %q", tc.headers, got, err, tc.want, tc.err)
		}
	}
}

// With overrides off the gateway's own headers say nothing, the standard ones
// still narrow.
func TestDirectivesWithoutOverrides(t *testing.T) {
	h := http.Header{HeaderControl: {"nonsense"}, HeaderTTL: {"x"}, HeaderNamespace: {"n"}, "Cache-Control": {"no-cache"}}
	if got, err := ParseDirectives(h, false); err != nil || got != (Directives{Refresh: true}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzDirectives(f *testing.F) {
	f.Add("no-cache, max-age=5", "off", "60", "n")
	f.Add(`a="\`, ",", "-", "")
	f.Fuzz(func(t *testing.T, control, own, ttl, namespace string) {
		h := http.Header{"Cache-Control": {control}, HeaderControl: {own}, HeaderTTL: {ttl}, HeaderNamespace: {namespace}}
		d, err := ParseDirectives(h, true)
		if err != nil && !d.Off {
			t.Errorf("not understood (%v), but not off", err)
		}
		if d.TTL < 0 || d.Age < 0 || d.Fresh < 0 || len(d.Namespace) > maxNamespace {
			t.Errorf("%+v", d)
		}
	})
}
