// Package cases loads the behaviour cases of testdata/cases and checks what an
// optimizer made of them. Their README.md is the specification; the names here
// are the names there. It is for tests.
package cases

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Case is one file. Of Expect and Steps only the one of its area is set.
type Case struct {
	Name    string            `json:"name"`
	Area    string            `json:"area"` // "optimize" or "cache"
	Why     string            `json:"why"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`

	// Optimize is the value of X-Gateway-Optimize.
	Optimize string `json:"optimize"`
	// Expect is what must hold for an optimize case.
	Expect *Expect `json:"expect"`

	// CacheConfig and Steps make a cache case.
	CacheConfig *CacheConfig `json:"cache_config"`
	Steps       []Step       `json:"steps"`

	RequestRaw *string         `json:"request_raw"`
	RequestGen *generator      `json:"request_gen"`
	Turns      []string        `json:"turns"`
	Vars       map[string]Text `json:"vars"`
}

type generator struct {
	Template string          `json:"template"`
	Vars     map[string]Text `json:"vars"`
}

// Expect lists the expectations of an optimize case; absent ones are zero.
type Expect struct {
	Untouched    bool       `json:"untouched"`
	Changed      bool       `json:"changed"`
	ShrinksTo    *float64   `json:"shrinks_to"`
	GrowsAtMost  *int       `json:"grows_at_most"`
	Keeps        stringList `json:"keeps"`
	Drops        stringList `json:"drops"`
	KeepsVars    []string   `json:"keeps_vars"`
	RawKeeps     stringList `json:"raw_keeps"`
	RawDrops     stringList `json:"raw_drops"`
	SameAt       []string   `json:"same_at"`
	NonemptyAt   []string   `json:"nonempty_at"`
	Together     [][]string `json:"together"`
	Marked       []string   `json:"marked"`
	MarkerCount  intList    `json:"marker_count"`
	FirstRole    oneOrMore  `json:"first_role"`
	ValidJSON    bool       `json:"valid_json"`
	PairsIntact  bool       `json:"pairs_intact"`
	Idempotent   bool       `json:"idempotent"`
	PrefixStable bool       `json:"prefix_stable"`
}

// CacheConfig is the cache of a cache case.
type CacheConfig struct {
	Mode      string  `json:"mode"`
	Threshold float64 `json:"threshold"`
}

// Step is one request of a cache case.
type Step struct {
	RequestRaw string            `json:"request_raw"`
	Headers    map[string]string `json:"headers"`
	Upstream   *Upstream         `json:"upstream"`
	Expect     StepExpect        `json:"expect"`
}

// Upstream is what the upstream of a step answers.
type Upstream struct {
	Status        int               `json:"status"`
	Headers       map[string]string `json:"headers"`
	Body          *string           `json:"body"`
	SSE           []string          `json:"sse"`
	CutAfterBytes *int              `json:"cut_after_bytes"`
}

// StepExpect lists the expectations of a step; absent ones are zero.
type StepExpect struct {
	Cache          oneOrMore `json:"cache"`
	UpstreamCalled *bool     `json:"upstream_called"`
	Status         int       `json:"status"`
	BodyEqualsStep int       `json:"body_equals_step"`
}

// Load reads all cases of a folder, in the order of their names. A field that
// it does not know is an error, lest an expectation goes unchecked.
func Load(dir string) ([]*Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no cases in %s", dir)
	}
	sort.Strings(files)
	var list []*Case
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		c, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if want := strings.TrimSuffix(filepath.Base(file), ".json"); c.Name != want {
			return nil, fmt.Errorf("%s: it calls itself %q", file, c.Name)
		}
		list = append(list, c)
	}
	return list, nil
}

// Parse reads one case.
func Parse(text []byte) (*Case, error) {
	var c Case
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return nil, err
	}
	bodies := 0
	for _, given := range []bool{c.RequestRaw != nil, c.RequestGen != nil, c.Turns != nil} {
		if given {
			bodies++
		}
	}
	switch c.Area {
	case "optimize":
		if bodies != 1 || c.Expect == nil || c.Steps != nil {
			return nil, fmt.Errorf("an optimize case has one request and expectations")
		}
	case "cache":
		if bodies != 0 || c.Expect != nil || len(c.Steps) == 0 || c.CacheConfig == nil {
			return nil, fmt.Errorf("a cache case has a cache_config and steps")
		}
	default:
		return nil, fmt.Errorf("unknown area %q", c.Area)
	}
	return &c, nil
}

// Uses reports whether the case asks for the optimizer named mode.
func (c *Case) Uses(mode string) bool {
	for _, part := range strings.Split(c.Optimize, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(part), "=")
		if name == mode {
			return true
		}
	}
	return false
}

// stringList is a list of strings in which {"repeat": n, "text": ...} stands
// for n of them.
type stringList []string

func (l *stringList) UnmarshalJSON(text []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	for _, r := range raw {
		var s string
		if json.Unmarshal(r, &s) == nil {
			*l = append(*l, s)
			continue
		}
		var e Entry
		if err := strict(r, &e); err != nil {
			return err
		}
		*l = e.appendTo(*l)
	}
	return nil
}

// oneOrMore is a string or a list of strings.
type oneOrMore []string

func (l *oneOrMore) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) == nil {
		*l = oneOrMore{s}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(l))
}

// intList is a number or a list of numbers.
type intList []int

func (l *intList) UnmarshalJSON(text []byte) error {
	var n int
	if json.Unmarshal(text, &n) == nil {
		*l = intList{n}
		return nil
	}
	return json.Unmarshal(text, (*[]int)(l))
}

func strict(text []byte, into any) error {
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}
