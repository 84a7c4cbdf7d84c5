package cache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// Options say how a cache works.
type Options struct {
	// Store says where answers are kept.
	Store StoreConfig
	// Secret keys the hashes under which tenants and requests are known, and
	// seals what leaves the process; at least MinSecret bytes. Gateways that
	// share a store have the same. Without one, a store in memory makes its
	// own, a store on disk keeps its own beside the file, and Valkey is refused.
	Secret []byte
	// MaxInFlight bounds the bytes of answers that are being recorded at once.
	// 0: DefaultMaxInFlight.
	MaxInFlight int64
	// Now is the clock. nil: time.Now.
	Now func() time.Time
	// Log is told, at most once a minute for one kind of thing, what operators
	// should know: a store that cannot be reached, records that were dropped.
	// nil: nothing is told.
	Log func(message string, err error)
}

// Identity names the cache these options open. Configurations with the same
// identity share one cache, which so lives on from one to the next. It shows
// no secret and no password.
func (o Options) Identity() string {
	h := sha256.New()
	for _, field := range []string{o.Store.Kind, o.Store.Name, o.Store.Path, o.Store.URL, string(o.Secret)} {
		h.Write(appendField(nil, field))
	}
	fmt.Fprint(h, o.Store.Size, o.Store.Compress, o.MaxInFlight)
	return "llm_gateway cache " + hex.EncodeToString(h.Sum(nil))
}

// DefaultMaxInFlight is how many bytes of answers are recorded at once.
const DefaultMaxInFlight = 256 << 20

// Cache answers requests from stored answers, lets equal requests under way
// share one answer, and stores what has been proven complete. It may be used
// by many at once, by several handlers, and across configurations.
type Cache struct {
	store   store
	ring    *keyring
	seeds   seeds
	flights flights
	counts  counters
	purges  atomic.Uint64
	now     func() time.Time
	lookups sync.Pool // of *Lookup
}

// Open opens a cache. It is closed with Close.
func Open(o Options) (*Cache, error) {
	c := &Cache{seeds: newSeeds(), now: o.Now}
	c.lookups.New = func() any { return &Lookup{cache: c} }
	c.flights.byHash = make(map[formHash]*flight)
	if c.flights.max = o.MaxInFlight; c.flights.max == 0 {
		c.flights.max = DefaultMaxInFlight
	}
	if c.now == nil {
		c.now = time.Now
	}
	var err error
	if o.Store, err = o.Store.Resolve(); err != nil {
		return nil, err
	}
	secret := o.Secret
	if len(secret) == 0 {
		if secret, err = o.Store.ownSecret(); err != nil {
			return nil, err
		}
	}
	if c.ring, err = newKeyring(secret); err != nil {
		return nil, err
	}
	c.store, err = o.Store.open(&environment{
		ring: c.ring, seeds: &c.seeds, counts: &c.counts, now: c.nanos, log: newReporter(o.Log, c.nanos),
	})
	return c, err
}

// Close gives back what the store holds. Requests that are still under way
// get their answers, but nothing is stored any more. It may be called again.
func (c *Cache) Close() error { return c.store.Close() }

// Destruct is Close, for a caddy.UsagePool.
func (c *Cache) Destruct() error { return c.Close() }

func (c *Cache) nanos() int64 { return c.now().UnixNano() }

// KeyTenant is the tenant of whoever shows the virtual key called name.
func (c *Cache) KeyTenant(name string) Tenant { return c.ring.tenantOf(tenantIsKey, name) }

// CredentialTenant is the tenant of whoever shows the credentials of a request
// that is passed on as it is, in a header or in the raw query. All who show
// none are one tenant.
func (c *Cache) CredentialTenant(h http.Header, query string) Tenant {
	var shown [len(adapter.Carriers) + 1]string
	for i, carrier := range adapter.Carriers {
		if carrier.Header == "" {
			continue
		}
		if values := h[carrier.Header]; len(values) == 1 {
			shown[i] = values[0]
		} else if len(values) > 1 {
			var joined []byte
			for _, v := range values {
				joined = appendField(joined, v)
			}
			shown[i] = string(joined)
		}
	}
	shown[len(shown)-1] = adapter.QueryCredentials(query)
	return c.ring.tenantOf(tenantIsCredential, shown[:]...)
}

// errTooWide says that a purge names nothing.
var errTooWide = errors.New("purge: a model, a namespace or a tenant expected, or all")

// Purge says which entries are to go. Every field that is set narrows it.
type Purge struct {
	All       bool    // without any other field
	Model     string  // by the name clients use, or the provider's
	Namespace *string // "" are the requests without one
	Tenant    *Tenant // whose request it was that the answer was stored for
}

// Purge removes what p selects and returns how many entries that were. Answers
// that are under way meanwhile are not stored, so that none comes back.
func (c *Cache) Purge(ctx context.Context, p Purge) (int, error) {
	var sel selector
	pick := func(kind, value string) *tag {
		t := c.ring.tagOf(kind, value)
		return &t
	}
	if p.Model != "" {
		sel.model = pick(tagModel, p.Model)
	}
	if p.Namespace != nil {
		sel.namespace = pick(tagNamespace, *p.Namespace)
	}
	if p.Tenant != nil {
		sel.tenant = pick(tagTenant, string(p.Tenant[:]))
	}
	if p.All != (sel == selector{}) {
		return 0, errTooWide
	}
	c.purges.Add(1)
	return c.store.Purge(ctx, sel)
}

// newSecret is a secret nobody knows.
func newSecret() []byte {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	return secret
}
