package llmgateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// Azure's paths name the model: .../openai/deployments/{name}/chat/completions.
// There the provider reads the path and ignores the body's model, so the path
// decides about policy, access and route.

// deployment is the model that the path names as the provider will read it, ""
// if it names none. ok is false if different servers could read the path as
// different deployments, so that no name proves anything.
//
// What stands in front of /v1/ is a prefix of the gateway's own that no
// provider sees.
func deployment(u *url.URL, providers bool) (name string, ok bool) {
	path := u.Path
	if providers {
		if i := strings.Index(path, "/v1/"); i >= 0 {
			path = path[i+len("/v1"):]
		}
	}
	named := 0
	for segment := range strings.SplitSeq(path, "/") {
		if strings.EqualFold(segment, "deployments") {
			named++
		}
	}
	if named == 0 {
		return "", !ambiguous(u)
	}
	name, _ = adapter.PathModel(path)
	if name == "" {
		// Not a model request, but it names a deployment all the same.
		_, rest, _ := cutFold(path, "/deployments/")
		name, _, _ = strings.Cut(rest, "/")
	}
	return name, named == 1 && name != "" && !ambiguous(u)
}

// ambiguous reports whether u's path holds what some servers resolve and others
// do not: dot segments, empty segments, backslashes, encoded slashes.
func ambiguous(u *url.URL) bool {
	if u.RawPath != "" && strings.Contains(strings.ToLower(u.RawPath), "%2f") || strings.Contains(u.Path, "\\") {
		return true
	}
	return strings.Contains(u.Path, "//") || strings.Contains(u.Path+"/", "/./") || strings.Contains(u.Path+"/", "/../")
}

// deploymentPath is what an exchange knows of its path.
type deploymentPath struct {
	modelInPath bool // and not in the body
}

// identifyByPath takes the model from the path, if it is there.
func (x *exchange) identifyByPath() bool {
	name, _ := deployment(x.r.URL, len(x.h.Providers) > 0)
	if name == "" {
		return false
	}
	x.model, x.modelInPath = name, true
	return true
}

// provePath makes sure that the path names no model but one that k may use.
// named says that it names one, so that the body's does not count.
func (x *exchange) provePath(k *Key) (named bool, bad *gatewayError) {
	name, ok := deployment(x.r.URL, len(x.h.Providers) > 0)
	if !ok && (name != "" || strings.Contains(strings.ToLower(x.r.URL.Path), "deployments")) {
		return true, &gatewayError{http.StatusBadRequest, codeInvalidBody, "the path does not name one deployment"}
	}
	if name != "" && !k.mayUse(name) {
		return true, errModelNotAllowed(name)
	}
	return name != "", nil
}

// proveQuery makes sure that a request which names its model in the query, as
// realtime does, names one that k may use.
func (x *exchange) proveQuery(k *Key) *gatewayError {
	if x.r.URL.RawQuery == "" {
		return nil
	}
	query := x.r.URL.Query()
	for _, param := range [...]string{"model", "deployment"} {
		for _, name := range query[param] {
			if !k.mayUse(name) {
				return errModelNotAllowed(name)
			}
		}
	}
	return nil
}

// renameDeployment puts the provider's name of the model into the path.
func (x *exchange) renameDeployment(name string) {
	head, rest, ok := cutFold(x.r.URL.Path, "/deployments/")
	if !ok {
		return
	}
	_, tail, _ := strings.Cut(rest, "/")
	u := *x.r.URL
	u.Path, u.RawPath = head+name+"/"+tail, ""
	x.r.URL = &u
}

// cutFold splits s behind the last occurrence of sep, in any letter case.
func cutFold(s, sep string) (head, rest string, ok bool) {
	for i := len(s) - len(sep); i >= 0; i-- {
		if strings.EqualFold(s[i:i+len(sep)], sep) {
			return s[:i+len(sep)], s[i+len(sep):], true
		}
	}
	return "", "", false
}
