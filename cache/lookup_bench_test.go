package cache

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// sizes are how many entries a store holds, as in the benchmarks.
var sizes = []struct {
	name string
	n    int
}{{"4096", 4096}, {"1M", 1_000_000}}

// filled is a cache in memory with n small entries and the answers to the
// questions of 4 KB that it returns.
func filled(b *testing.B, n int) (*Cache, []*adapter.Request) {
	b.Helper()
	c := mustOpen(b, Options{Store: StoreConfig{Size: 8 << 30}})
	now := c.nanos()
	e := &entry{ContentType: "application/json", Body: []byte(chatAnswer), created: now, expires: now + int64(time.Hour)}
	const asked = 16
	for i := range n - asked {
		k := &requestKey{form: fmt.Appendf(nil, "entry number %d", i), ring: c.ring}
		k.hash = c.seeds.sum(k.form)
		c.store.Put(&item{key: k, entry: e}, now)
	}
	p, err := Policy{Mode: Exact}.Resolve()
	if err != nil {
		b.Fatal(err)
	}
	var views []*adapter.Request
	for i := range asked {
		v := viewOf(b, chatPath, chatBody(4096, fmt.Sprintf("question %d", i)))
		r := &Request{View: v, Header: http.Header{}, Path: chatPath, Site: "site", Model: "gpt-5-mini"}
		var kb keyBuilder
		k, reason := kb.build(r, &p, "", &c.seeds, c.ring)
		if reason != None {
			b.Fatal(reason)
		}
		c.store.Put(&item{key: k.own(r, ""), entry: e}, now)
		views = append(views, v)
	}
	return c, views
}

// BenchmarkExactHit is the whole lookup of a 4 KB body that was scanned
// before: canonical form, hash, comparison and the decision.
func BenchmarkExactHit(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			c, views := filled(b, size.n)
			p, err := Policy{Mode: Exact}.Resolve()
			if err != nil {
				b.Fatal(err)
			}
			ctx, h := context.Background(), http.Header{}
			r := Request{Header: h, Path: chatPath, Site: "site", Model: "gpt-5-mini"}
			b.ReportAllocs()
			b.ResetTimer()
			i := 0
			lookup := func() {
				r.View = views[i%len(views)]
				i++
				l := c.Lookup(ctx, &r, &p, Directives{})
				if l.Outcome != Hit {
					b.Fatal(l.Outcome)
				}
				l.Close()
			}
			for b.Loop() {
				lookup()
			}
			quiet(b, lookup)
		})
	}
}

// BenchmarkTenant is what a lookup costs on top when the tenant is whoever
// shows a credential.
func BenchmarkTenant(b *testing.B) {
	c := mustOpen(b, Options{})
	h := http.Header{"Authorization": {"Bearer sk-proj-0123456789abcdefghijklmnopqrstuvwxyz0123456789"}}
	b.ReportAllocs()
	for b.Loop() {
		c.CredentialTenant(h, "")
	}
	quiet(b, func() { c.CredentialTenant(h, "") })
}

// BenchmarkHash4K is the floor of a lookup: the two hashes of 4 KB.
func BenchmarkHash4K(b *testing.B) {
	s := newSeeds()
	text := make([]byte, 4096)
	for b.Loop() {
		s.sum(text)
	}
	quiet(b, func() { s.sum(text) })
}

// BenchmarkInsertEvict stores in a memory store that is full.
func BenchmarkInsertEvict(b *testing.B) {
	c := mustOpen(b, Options{Store: StoreConfig{Size: 64 << 20}})
	now := c.nanos()
	e := &entry{ContentType: "application/json", Body: []byte(chatAnswer), created: now, expires: now + int64(time.Hour)}
	var forms [][]byte
	for i := range 1 << 17 {
		forms = append(forms, fmt.Appendf(nil, "entry number %d", i))
	}
	i := 0
	put := func() {
		k := &requestKey{form: forms[i%len(forms)], ring: c.ring}
		k.hash = c.seeds.sum(k.form)
		c.store.Put(&item{key: k, entry: e}, now)
		i++
	}
	for c.Stats().Evictions == 0 {
		put()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		put()
	}
	quiet(b, put)
}

// BenchmarkLookupSimilar is the whole lookup of a request of 4 KB that finds
// the answer to a similar question, and of one that finds none.
func BenchmarkLookupSimilar(b *testing.B) {
	p, err := Policy{Mode: Similar, Threshold: 0.9}.Resolve()
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name, ask string
		want      Outcome
	}{
		{"hit", questionLike, HitSimilar},
		{"miss", "which of the seven guest berths along the western pier would be long enough for the vessel tonight", Unsatisfied},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := newSite(b, p, Options{})
			s.provider = jsonAnswer(chatAnswer)
			s.ask(chatPath, chatBody(4096, question))
			v := viewOf(b, chatPath, chatBody(4096+len(bench.ask)-len(question), bench.ask))
			r := &Request{
				View: v, Header: http.Header{}, Path: chatPath, Site: "test", Model: "gpt-5-mini",
				Tenant: s.cache.CredentialTenant(nil, ""),
			}
			ctx := context.Background()
			lookup := func() {
				l := s.cache.Lookup(ctx, r, &p, Directives{OnlyIfCached: true})
				if l.Outcome != bench.want {
					b.Fatal(l.Outcome)
				}
				l.Close()
			}
			b.ReportAllocs()
			for b.Loop() {
				lookup()
			}
			quiet(b, lookup)
		})
	}
}
