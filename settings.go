package llmgateway

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// Optimize says which optimizers run. A level that says nothing about an
// optimizer inherits from the one below: request header > key > model > site.
// Squoze stands alone: together with rtk or headroom at one level it is an
// error, and on a higher level it takes their place (and they its).
type Optimize struct {
	// Off switches off every optimizer of the levels below.
	Off bool `json:"off,omitempty"`

	// RTK shortens the output of tools: `light`, `standard`, `aggressive`,
	// `auto` or `off`.
	RTK string `json:"rtk,omitempty"`

	// Caveman asks the model for terse answers: `lite`, `full`, `auto` or `off`.
	Caveman string `json:"caveman,omitempty"`

	// Headroom clears and drops the oldest part of a long conversation.
	Headroom *Headroom `json:"headroom,omitempty"`

	// Reasoning shortens old reasoning text in the history, where the format
	// allows it: `low`, `high`, `auto` or `off`.
	Reasoning string `json:"reasoning,omitempty"`

	// Squoze is the deterministic engine for tool output. It replaces rtk and
	// headroom.
	Squoze *Squoze `json:"squoze,omitempty"`

	// Audit are names of optimizers that only report what they would save;
	// they change nothing.
	Audit []string `json:"audit,omitempty"`
}

// Headroom says how much of a long conversation is kept.
type Headroom struct {
	// Level is `conservative`, `balanced`, `aggressive`, `auto` or `off`.
	// Default: `auto`.
	Level string `json:"level,omitempty"`

	// Keep is how many of the newest messages always stay. Default: by level.
	Keep int `json:"keep,omitempty"`

	// Reserve is the size, in estimated tokens, from which the conversation
	// is cut. Default: by level.
	Reserve int `json:"reserve,omitempty"`
}

// optimizer is one row of the table of optimizers.
type optimizer struct {
	name   string
	levels []string // the first is the default
	params []string // integer parameters
}

// The optimizers, in the order in which X-Gateway-Applied names them.
const (
	optSquoze = iota
	optRTK
	optReasoning
	optHeadroom
	optCaveman
	optCount
)

// optimizers is the one table of names, levels and parameters that the
// Caddyfile, the JSON config, the request header and the documentation share.
var optimizers = [optCount]optimizer{
	optSquoze:    {name: "squoze", levels: []string{"on"}},
	optRTK:       {name: "rtk", levels: []string{"auto", "light", "standard", "aggressive"}},
	optReasoning: {name: "reasoning", levels: []string{"auto", "low", "high"}},
	optHeadroom:  {name: "headroom", levels: []string{"auto", "conservative", "balanced", "aggressive"}, params: []string{"keep", "reserve"}},
	optCaveman:   {name: "caveman", levels: []string{"auto", "lite", "full"}},
}

const levelOff = "off"

// optimizerNamed is the index of the optimizer called name, or -1.
func optimizerNamed(name string) int {
	return slices.IndexFunc(optimizers[:], func(o optimizer) bool { return o.name == name })
}

// optimizerNames lists the optimizers for an error message.
func optimizerNames() string {
	var names []string
	for _, o := range optimizers {
		names = append(names, o.name)
	}
	return strings.Join(names, ", ")
}

// checkLevel returns an error that says what was expected if level is none of o.
func (o optimizer) checkLevel(level string) error {
	if level == levelOff || slices.Contains(o.levels, level) {
		return nil
	}
	return fmt.Errorf("unknown level %q for %s, expected %s or off", level, o.name, strings.Join(o.levels, ", "))
}

// setting is what one level says about one optimizer. The zero value says
// nothing.
type setting struct {
	level         string // "" says nothing, levelOff switches off
	audit         bool   // computed and reported, not applied
	keep, reserve int    // headroom only, 0: by level
	squoze        *Squoze
}

// active reports whether the optimizer is to run.
func (s setting) active() bool { return s.level != "" && s.level != levelOff }

// settings is what one level, or after merging a whole cascade, says.
type settings struct {
	off bool
	by  [optCount]setting
}

// over lays upper over lower.
func (upper settings) over(lower settings) settings {
	out := lower
	if upper.off {
		out = settings{}
	}
	if upper.by[optSquoze].active() {
		out.by[optRTK], out.by[optHeadroom] = setting{}, setting{}
	}
	if upper.by[optRTK].active() || upper.by[optHeadroom].active() {
		out.by[optSquoze] = setting{}
	}
	for i, s := range upper.by {
		if s.level != "" {
			out.by[i] = s
		}
	}
	return out
}

// split takes the optimizers that only audit out of s.
func (s settings) split() (apply, audit settings) {
	apply = s
	for i, set := range s.by {
		if set.active() && set.audit {
			set.audit = false
			audit.by[i], apply.by[i] = set, setting{}
		}
	}
	return apply, audit
}

// any reports whether some optimizer is to run.
func (s *settings) any() bool {
	for i := range s.by {
		if s.by[i].active() {
			return true
		}
	}
	return false
}

// settings resolves placeholders and checks levels.
func (o *Optimize) settings(repl *caddy.Replacer) (settings, error) {
	var s settings
	if o == nil {
		return s, nil
	}
	s.off = o.Off
	level := func(i int, value string) error {
		if value == "" {
			return nil
		}
		value = repl.ReplaceAll(value, "")
		if value == "" {
			value = optimizers[i].levels[0]
		}
		if err := optimizers[i].checkLevel(value); err != nil {
			return err
		}
		s.by[i].level = value
		return nil
	}
	for _, err := range []error{level(optRTK, o.RTK), level(optReasoning, o.Reasoning), level(optCaveman, o.Caveman)} {
		if err != nil {
			return s, err
		}
	}
	if o.Headroom != nil {
		value := o.Headroom.Level
		if value == "" {
			value = optimizers[optHeadroom].levels[0]
		}
		if err := level(optHeadroom, value); err != nil {
			return s, err
		}
		if o.Headroom.Keep < 0 || o.Headroom.Reserve < 0 {
			return s, fmt.Errorf("headroom: keep and reserve must not be negative")
		}
		s.by[optHeadroom].keep, s.by[optHeadroom].reserve = o.Headroom.Keep, o.Headroom.Reserve
	}
	if o.Squoze != nil {
		s.by[optSquoze] = setting{level: "on", squoze: o.Squoze}
		if o.Squoze.Off {
			s.by[optSquoze].level = levelOff
		} else if err := o.Squoze.check(); err != nil {
			return s, fmt.Errorf("squoze: %w", err)
		}
	}
	for _, name := range o.Audit {
		i := optimizerNamed(name)
		if i < 0 || !s.by[i].active() {
			return s, fmt.Errorf("audit: %q is not an optimizer that this level switches on", name)
		}
		s.by[i].audit = true
	}
	if s.by[optSquoze].active() {
		for _, i := range []int{optRTK, optHeadroom} {
			if s.by[i].active() {
				return s, fmt.Errorf("squoze cannot be combined with %s at the same level", optimizers[i].name)
			}
		}
	}
	return s, nil
}

// parsePositive reads a whole number of at least 1.
func parsePositive(name, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s: expected a whole number of at least 1, got %q", name, value)
	}
	return n, nil
}
