package llmgateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/dustin/go-humanize"
)

// Squoze configures the deterministic engine for tool output.
type Squoze struct {
	// Off switches the engine off where a lower level switched it on.
	Off bool `json:"off,omitempty"`

	// References says what may be replaced by a pointer to the same text
	// earlier in the request: `runs` of lines and whole blocks, whole `blocks`
	// only, or `off`. Default: `runs`.
	References string `json:"references,omitempty"`

	// Gates are the smallest blocks that are looked at, in bytes, by model
	// family: `claude`, `gpt`, `deepseek` and `other`.
	// Default: 4096, 2048, 1024 and 2048.
	Gates map[string]int `json:"gates,omitempty"`

	// MaxBody and MaxBlock are the largest body and the largest block that
	// are looked at, in bytes. Default: no limit.
	MaxBody  int64 `json:"max_body,omitempty"`
	MaxBlock int64 `json:"max_block,omitempty"`

	// Originals bounds the store of elided originals, in bytes.
	// Default: 67108864 (64 MiB).
	Originals int64 `json:"originals,omitempty"`

	// RequireOriginals leaves a block whole when its original does not fit
	// into the store.
	RequireOriginals bool `json:"require_originals,omitempty"`
}

var (
	squozeReferences = []string{"runs", "blocks", "off"}
	squozeFamilies   = []string{"claude", "gpt", "deepseek", "other"}
)

// check validates s.
func (s *Squoze) check() error {
	if s.References != "" && !slices.Contains(squozeReferences, s.References) {
		return fmt.Errorf("references: expected %s, got %q", strings.Join(squozeReferences, ", "), s.References)
	}
	for family, bytes := range s.Gates {
		if !slices.Contains(squozeFamilies, family) {
			return fmt.Errorf("gates: unknown model family %q, expected %s", family, strings.Join(squozeFamilies, ", "))
		}
		if bytes < 0 {
			return fmt.Errorf("gates: %s must not be negative", family)
		}
	}
	if s.MaxBody < 0 || s.MaxBlock < 0 || s.Originals < 0 {
		return fmt.Errorf("max_body, max_block and originals must not be negative")
	}
	return nil
}

// squozeDirectives are the subdirectives of optimize squoze:
//
//	optimize squoze {
//		references runs|blocks|off
//		gate claude|gpt|deepseek|other <size>
//		max_body <size>
//		max_block <size>
//		originals <size>
//		require_originals on|off
//	}
func squozeDirectives(s *Squoze) directives {
	return directives{
		"references": once(func(d *caddyfile.Dispenser) error {
			arg, err := oneArg(d, strings.Join(squozeReferences, ", "))
			if err != nil {
				return err
			}
			if !slices.Contains(squozeReferences, arg) {
				return d.Errf("references: expected %s, got %q", strings.Join(squozeReferences, ", "), arg)
			}
			s.References = arg
			return nil
		}),
		"gate": func(d *caddyfile.Dispenser) error {
			args := d.RemainingArgs()
			if len(args) != 2 || !slices.Contains(squozeFamilies, args[0]) {
				return d.Errf("gate: expected a model family (%s) and a size", strings.Join(squozeFamilies, ", "))
			}
			if _, ok := s.Gates[args[0]]; ok {
				return d.Errf("gate %s is already specified", args[0])
			}
			size, err := humanize.ParseBytes(args[1])
			if err != nil || size > 1<<31-1 {
				return d.Errf("gate %s: expected a size such as 4KiB, got %q", args[0], args[1])
			}
			if s.Gates == nil {
				s.Gates = make(map[string]int)
			}
			s.Gates[args[0]] = int(size)
			return nil
		},
		"max_body":  once(func(d *caddyfile.Dispenser) error { return parseSize(d, &s.MaxBody) }),
		"max_block": once(func(d *caddyfile.Dispenser) error { return parseSize(d, &s.MaxBlock) }),
		"originals": once(func(d *caddyfile.Dispenser) error { return parseSize(d, &s.Originals) }),
		"require_originals": once(func(d *caddyfile.Dispenser) error {
			var on *bool
			if err := parseOnOff(d, &on); err != nil {
				return err
			}
			s.RequireOriginals = *on
			return nil
		}),
	}
}
