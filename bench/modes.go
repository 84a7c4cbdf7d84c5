package main

import (
	"path"
	"slices"
	"strings"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

// mode is one row of the matrix: a server with that configuration.
type mode struct {
	name    string
	gateway []string // lines of llm_gateway; nil: no gateway
	// answer is what Caddy answers by itself in place of all that.
	answer string
	// gated says that the mode looks at nothing as small as the small profile.
	gated bool
}

// modes are all rows: plain Caddy, the gateway with everything off, and the
// optimizers.
var modes = []mode{
	{name: result.Baseline},
	{name: result.Off, gateway: []string{"optimize off"}},
	{name: "rtk-light", gateway: []string{"optimize rtk light"}, gated: true},
	{name: "rtk-standard", gateway: []string{"optimize rtk standard"}, gated: true},
	{name: "rtk-aggressive", gateway: []string{"optimize rtk aggressive"}, gated: true},
	{name: "rtk-auto", gateway: []string{"optimize rtk auto"}, gated: true},
	{name: "caveman-lite", gateway: []string{"optimize caveman lite"}},
	{name: "caveman-full", gateway: []string{"optimize caveman full"}},
	{name: "caveman-auto", gateway: []string{"optimize caveman auto"}},
	{name: "headroom-conservative", gateway: []string{"optimize headroom conservative"}, gated: true},
	{name: "headroom-balanced", gateway: []string{"optimize headroom balanced"}, gated: true},
	{name: "headroom-aggressive", gateway: []string{"optimize headroom aggressive"}, gated: true},
	{name: "headroom-auto", gateway: []string{"optimize headroom auto"}, gated: true},
	{name: "all", gateway: []string{"optimize rtk standard", "optimize caveman full", "optimize headroom balanced"}},
	{name: "squoze", gateway: []string{"optimize squoze"}, gated: true},
}

// working reports whether a mode is one of the optimizers'.
func (m mode) working() bool { return m.name != result.Baseline && m.name != result.Off }

func modeNamed(name string) (mode, bool) {
	i := slices.IndexFunc(modes, func(m mode) bool { return m.name == name })
	if i < 0 {
		return mode{}, false
	}
	return modes[i], true
}

// pickModes are the modes that a comma-separated list of names and patterns
// ("off,rtk-*") selects, in their order. The baseline is always among them.
func pickModes(list string) ([]mode, error) {
	picked := map[string]bool{result.Baseline: true}
	for pattern := range strings.SplitSeq(list, ",") {
		found := false
		for _, m := range modes {
			if ok, err := path.Match(strings.TrimSpace(pattern), m.name); err != nil {
				return nil, usagef("modes: %q: %v", pattern, err)
			} else if ok {
				picked[m.name], found = true, true
			}
		}
		if !found {
			return nil, usagef("modes: no mode matches %q", pattern)
		}
	}
	return slices.DeleteFunc(slices.Clone(modes), func(m mode) bool { return !picked[m.name] }), nil
}

// Bodies: what the requests of a cell have in common.
const (
	repeat = "repeat" // all are the same
	fresh  = "fresh"  // each text of each differs from all before
)

// pickProfiles, pickBodies and pickLegs read comma-separated lists.
func pickProfiles(list string) ([]testbody.Profile, error) {
	return pick("profiles", list, testbody.Profiles, testbody.Profile.String)
}

func pickBodies(list string) ([]string, error) {
	return pick("bodies", list, []string{repeat, fresh}, func(s string) string { return s })
}

func pickLegs(list string) ([]proc.Leg, error) {
	return pick("legs", list, []proc.Leg{proc.Plain, proc.TLS, proc.HTTP2}, func(l proc.Leg) string { return string(l) })
}

// pick are the elements of all that list names, in their order.
func pick[T any](what, list string, all []T, name func(T) string) ([]T, error) {
	wanted := strings.Split(list, ",")
	var names []string
	var out []T
	for _, one := range all {
		names = append(names, name(one))
		if slices.Contains(wanted, name(one)) {
			out = append(out, one)
		}
	}
	for _, w := range wanted {
		if !slices.Contains(names, w) {
			return nil, usagef("%s: %q is none of %s", what, w, strings.Join(names, ", "))
		}
	}
	return out, nil
}
