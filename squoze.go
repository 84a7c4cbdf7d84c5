package llmgateway

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/dustin/go-humanize"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/squoze"
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

// engines are the engines of all configurations in this process, so that what
// they remember and the originals they keep live on from one to the next.
var engines = caddy.NewUsagePool()

// squozeEngine is an engine and its store.
type squozeEngine struct {
	engine    *squoze.Engine
	originals *squoze.Originals
}

// Destruct implements caddy.Destructor.
func (*squozeEngine) Destruct() error { return nil }

// config is what the engine is told; s may be nil.
func (s *Squoze) config() (c squoze.Config, originals int64) {
	originals = squoze.DefaultOriginals
	if s == nil {
		return c, originals
	}
	c.References = squoze.References(max(slices.Index(squozeReferences, s.References), 0))
	for f := range squoze.Families {
		c.Gates[f] = s.Gates[f.String()]
	}
	c.MaxBody, c.MaxBlock, c.RequireOriginals = s.MaxBody, s.MaxBlock, s.RequireOriginals
	if s.Originals > 0 {
		originals = s.Originals
	}
	return c, originals
}

// engineTable are the engines that one handler uses.
type engineTable struct {
	mu       sync.Mutex
	acquired map[string]*squozeEngine
}

// engine returns the engine for s, which may be nil.
func (t *engineTable) engine(s *Squoze) (*squozeEngine, error) {
	config, originals := s.config()
	id := fmt.Sprintf("llm_gateway squoze %+v %d", config, originals)
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.acquired[id]; e != nil {
		return e, nil
	}
	v, _, err := engines.LoadOrNew(id, func() (caddy.Destructor, error) {
		config.Originals = squoze.NewOriginals(originals)
		return &squozeEngine{squoze.New(config), config.Originals}, nil
	})
	if err != nil {
		return nil, err
	}
	if t.acquired == nil {
		t.acquired = make(map[string]*squozeEngine)
	}
	e := v.(*squozeEngine)
	t.acquired[id] = e
	return e, nil
}

// close gives the engines back.
func (t *engineTable) close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.acquired {
		if _, err := engines.Delete(id); err != nil {
			return err
		}
	}
	t.acquired = nil
	return nil
}

// tenantSecret keys the names of tenants that have no key. They are shown to
// nobody, so a hash of it and the credentials is enough.
var tenantSecret = func() []byte {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails, see crypto/rand
	return secret
}()

// originalsTenant is whose originals the request's are: those of its key, else
// of its credential at its site.
func (x *exchange) originalsTenant() string {
	if x.key != nil {
		return "key " + x.key.Name
	}
	var buf [512]byte
	b := append(buf[:0], tenantSecret...)
	b = appendFields(b, x.r.Header["Authorization"])
	for _, name := range credentialHeaders {
		b = appendFields(b, x.r.Header[name])
	}
	sum := sha256.Sum256(b)
	return "site " + strings.ToLower(hostWithoutPort(x.r.Host)) + " " + hex.EncodeToString(sum[:12])
}

// appendFields appends the values of one header field so that no others give
// the same bytes.
func appendFields(b []byte, values []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(values)))
	for _, v := range values {
		b = binary.AppendUvarint(b, uint64(len(v)))
		b = append(b, v...)
	}
	return b
}

// serveOriginal answers the text that lines were elided from, byte for byte:
// originals/<ref>, with ?key= only that of this key.
func serveOriginal(w http.ResponseWriter, r *http.Request) error {
	ref := strings.TrimPrefix(r.URL.Path, adminPath+"originals/")
	key := r.URL.Query().Get("key")
	var text []byte
	found := false
	engines.Range(func(_, value any) bool {
		e, ok := value.(*squozeEngine)
		switch {
		case !ok:
		case key != "":
			text, found = e.originals.Get("key "+key, ref)
		default:
			text, found = e.originals.Find(ref)
		}
		return !found
	})
	if !found {
		return caddy.APIError{HTTPStatus: http.StatusNotFound, Err: fmt.Errorf("no original is kept under %q: it was never elided here, or had to make room", ref)}
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "no-store")
	_, err := w.Write(text)
	return err
}

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
