package adapter

import (
	"net/http"
	"net/url"
	"strings"
)

// Carrier is one way in which a credential travels with a request: in a
// header, behind a scheme if there is one, or in a parameter of the query.
type Carrier struct {
	Header string // canonical, "" for a parameter
	Scheme string // "Bearer" or ""
	Param  string // "" for a header
}

// Carriers are all the ways in which clients of the wire formats send a
// credential, in the order in which they are looked at: OpenAI's, Anthropic's,
// Azure's, Google's header and Google's parameter, and the parameters of
// clients that can set no header (Azure's realtime api-key, RFC 6750's
// access_token, and api_key).
var Carriers = [...]Carrier{
	{Header: "Authorization", Scheme: "Bearer"},
	{Header: "X-Api-Key"},
	{Header: "Api-Key"},
	{Header: "X-Goog-Api-Key"},
	{Param: "key"},
	{Param: "api-key"},
	{Param: "api_key"},
	{Param: "access_token"},
}

// Credentials appends the credentials of a request to dst, in the order of
// Carriers. Some clients send more than one.
func Credentials(dst []string, h http.Header, rawQuery string) []string {
	for _, c := range Carriers {
		if c.Param != "" {
			dst = appendParams(dst, rawQuery, c.Param)
			continue
		}
		for _, value := range h[c.Header] {
			if c.Scheme != "" {
				scheme, rest, found := strings.Cut(value, " ")
				if !found || !strings.EqualFold(scheme, c.Scheme) {
					continue
				}
				value = rest
			}
			if value = strings.TrimSpace(value); value != "" {
				dst = append(dst, value)
			}
		}
	}
	return dst
}

// RemoveCredentials takes the headers of Carriers out of h, whatever scheme
// they use.
func RemoveCredentials(h http.Header) {
	for _, c := range Carriers {
		if c.Header != "" {
			delete(h, c.Header)
		}
	}
}

// RemoveQueryCredentials takes the parameters of Carriers out of a raw query.
// Letter case does not matter. What is left keeps its order and spelling.
func RemoveQueryCredentials(rawQuery string) string {
	if rawQuery == "" {
		return ""
	}
	var kept []string
	found := false
	for pair := range strings.SplitSeq(rawQuery, "&") {
		if name, _ := param(pair); isCarrier(name) {
			found = true
			continue
		}
		kept = append(kept, pair)
	}
	if !found {
		return rawQuery
	}
	return strings.Join(kept, "&")
}

// QueryCredentials is what RemoveQueryCredentials removes.
func QueryCredentials(rawQuery string) string {
	if !HasQueryCredentials(rawQuery) {
		return ""
	}
	var found []string
	for pair := range strings.SplitSeq(rawQuery, "&") {
		if name, _ := param(pair); isCarrier(name) {
			found = append(found, pair)
		}
	}
	return strings.Join(found, "&")
}

// HasQueryCredentials reports whether a raw query holds a parameter of Carriers,
// in any letter case.
func HasQueryCredentials(rawQuery string) bool {
	for rawQuery != "" {
		var pair string
		pair, rawQuery, _ = strings.Cut(rawQuery, "&")
		if name, _ := param(pair); isCarrier(name) {
			return true
		}
	}
	return false
}

// MaskQueryCredentials puts mask in the place of the values of the parameters
// of Carriers. The rest keeps its order and spelling.
func MaskQueryCredentials(rawQuery, mask string) string {
	if !HasQueryCredentials(rawQuery) {
		return rawQuery
	}
	pairs := strings.Split(rawQuery, "&")
	for i, pair := range pairs {
		if name, _ := param(pair); isCarrier(name) {
			spelled, _, _ := strings.Cut(pair, "=")
			pairs[i] = spelled + "=" + mask
		}
	}
	return strings.Join(pairs, "&")
}

func isCarrier(name string) bool {
	for _, c := range Carriers {
		if c.Param != "" && strings.EqualFold(c.Param, name) {
			return true
		}
	}
	return false
}

func appendParams(dst []string, rawQuery, name string) []string {
	if !strings.Contains(rawQuery, "=") {
		return dst
	}
	for pair := range strings.SplitSeq(rawQuery, "&") {
		if n, value := param(pair); n == name && value != "" {
			dst = append(dst, value)
		}
	}
	return dst
}

// param is the decoded name and value of one pair of a query.
func param(pair string) (name, value string) {
	name, value, _ = strings.Cut(pair, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	if plain, err := url.QueryUnescape(value); err == nil {
		value = plain
	}
	return name, value
}
