package cache

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// kinds open a cache of each kind of store. again opens another one on what
// the first one wrote, nil if nobody can.
var kinds = []struct {
	name string
	open func(t *testing.T, o Options) (c *Cache, again func() *Cache)
}{
	{"memory", func(t *testing.T, o Options) (*Cache, func() *Cache) { return mustOpen(t, o), nil }},
	{"disk", func(t *testing.T, o Options) (*Cache, func() *Cache) {
		o.Store = StoreConfig{Kind: KindDisk, Path: filepath.Join(t.TempDir(), "c", "cache.db"), Compress: true}
		c := mustOpen(t, o)
		return c, func() *Cache {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			return mustOpen(t, o)
		}
	}},
	{"miniredis", func(t *testing.T, o Options) (*Cache, func() *Cache) {
		return openShared(t, o, "redis://"+miniredis.RunT(t).Addr())
	}},
	{"redis", func(t *testing.T, o Options) (*Cache, func() *Cache) {
		return openShared(t, o, startRedis(t).url())
	}},
}

func openShared(t *testing.T, o Options, url string) (*Cache, func() *Cache) {
	o.Store = StoreConfig{Kind: KindValkey, URL: url, Compress: true}
	o.Secret = testSecret
	return mustOpen(t, o), func() *Cache { return mustOpen(t, o) }
}

func mustOpen(t testing.TB, o Options) *Cache {
	t.Helper()
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := c.store.(*valkey); ok {
		v.timeout = time.Minute // so that a busy machine changes nothing
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// settle waits until what was stored is where it is to stay.
func settle(c *Cache) {
	switch s := c.store.(type) {
	case *disk:
		<-s.loaded
		s.flush()
	case *valkey:
		s.flush()
	}
}

// eachStore runs f on each kind of store.
func eachStore(t *testing.T, f func(t *testing.T, open func(Options) (*Cache, func() *Cache))) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			f(t, func(o Options) (*Cache, func() *Cache) { return kind.open(t, o) })
		})
	}
}

// Questions that are similar to each other.
const (
	question     = "please tell the crew on the western pier in one short checklist for the evening shift how to switch on the fog horn before guests arrive, who signs the paper form afterwards, and where spare fuses are stored in the blue cabinet beside the stairs"
	questionLike = "tell the crew on the western pier in one short checklist for the evening shift how to switch on the fog horn before guests arrive, who signs the paper form afterwards, and where spare fuses are stored in the blue cabinet beside the stairs"
)

const chatPath = "/v1/chat/completions"

// What is stored is found by the same and by a similar request, here and by
// whoever shares the store, until it expires.
func TestStoreKeeps(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(Options) (*Cache, func() *Cache)) {
		now := newClock()
		now.nanos.Store(time.Now().UnixNano()) // a server has its own clock
		c, again := open(Options{Now: now.now})
		s := siteOf(t, Policy{Mode: Similar, Threshold: 0.9}, c)
		s.provider = jsonAnswer(chatAnswer)
		check := func(what string, s *site, question string, want Outcome) {
			t.Helper()
			got := s.ask(chatPath, chatQuestion(question))
			if got.outcome != want || got.Body.String() != chatAnswer {
				t.Errorf("%s: %v, expected %v; %q", what, got.outcome, want, got.Body)
			}
			if want == HitSimilar && (got.score < 0.9 || got.score > 1) {
				t.Errorf("%s: score %v", what, got.score)
			}
		}
		check("the first request", s, question, Miss)
		check("the same at once", s, question, Hit)
		settle(c)
		check("the same", s, question, Hit)
		check("a similar one", s, questionLike, HitSimilar)
		if got := s.ask(chatPath, chatQuestion(questionLike), HeaderControl, "exact"); got.outcome != Miss {
			t.Errorf("a similar one, exact only: %v", got.outcome)
		}
		settle(c)
		check("it then has its own answer", s, questionLike, Hit)
		if again != nil {
			other := siteOf(t, s.policy, again())
			other.provider = s.provider
			settle(other.cache)
			check("another process", other, question, Hit)
			check("another process, a similar one", other, strings.Replace(question, "please ", "Please, ", 1), HitSimilar)
			s = other
		}
		now.advance(time.Hour)
		check("after its time", s, question, Miss)
	})
}

// No byte stored for one tenant reaches another, in no mode and by no store.
func TestTenantsApart(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(Options) (*Cache, func() *Cache)) {
		c, again := open(Options{})
		sites := []*site{siteOf(t, Policy{Mode: Exact}, c), siteOf(t, Policy{Mode: Similar, Threshold: 0.5}, c)}
		ask := func(s *site, tenant, question string) *reply {
			s.provider = jsonAnswer(strings.Replace(chatAnswer, "Six.", "For "+tenant, 1))
			return s.ask(chatPath, chatQuestion(question), "Authorization", "Bearer "+tenant)
		}
		stream := func(s *site, tenant, question string) *reply {
			s.provider = streamAnswer(strings.Replace(strings.Join(chatStream, ""), "Six moor", "For "+tenant, 1))
			return s.ask(chatPath, strings.Replace(chatQuestion(question), "{", `{"stream":true,`, 1), "X-Api-Key", tenant)
		}
		for round := range 3 {
			for _, tenant := range []string{"alpha", "bravo", "charlie"} {
				for _, s := range sites {
					for _, q := range []string{question, questionLike} {
						for _, f := range []func(*site, string, string) *reply{ask, stream} {
							got := f(s, tenant, q)
							if body := got.Body.String(); strings.Count(body, "For ") != 1 || !strings.Contains(body, "For "+tenant) {
								t.Fatalf("round %d: %s got %q", round, tenant, body)
							}
							if round > 0 && got.outcome != Hit && got.outcome != HitSimilar {
								t.Errorf("round %d: %s: %v", round, tenant, got.outcome)
							}
						}
					}
				}
			}
			settle(c)
			if again != nil && round == 1 {
				c = again()
				settle(c)
				for _, s := range sites {
					s.cache = c
				}
			}
		}
	})
}

// A purge removes what it names, at once and for good, and nothing else.
func TestPurge(t *testing.T) {
	type asked struct{ model, namespace, tenant string }
	var all []asked
	for _, m := range []string{"m1", "m2"} {
		for _, n := range []string{"", "n1"} {
			for _, k := range []string{"k1", "k2"} {
				all = append(all, asked{m, n, k})
			}
		}
	}
	eachStore(t, func(t *testing.T, open func(Options) (*Cache, func() *Cache)) {
		c, again := open(Options{})
		s := siteOf(t, Policy{Mode: Similar, Threshold: 0.9}, c)
		s.provider = jsonAnswer(chatAnswer)
		ask := func(s *site, a asked) Outcome {
			headers := []string{"Authorization", a.tenant}
			if a.namespace != "" {
				headers = append(headers, HeaderNamespace, a.namespace)
			}
			return s.ask(chatPath, strings.Replace(chatQuestion(question), "gpt-5-mini", a.model, 1), append(headers, "Cache-Control", "only-if-cached")...).outcome
		}
		fill := func() {
			for _, a := range all {
				headers := []string{"Authorization", a.tenant}
				if a.namespace != "" {
					headers = append(headers, HeaderNamespace, a.namespace)
				}
				s.ask(chatPath, strings.Replace(chatQuestion(question), "gpt-5-mini", a.model, 1), headers...)
			}
		}
		tenant := c.CredentialTenant(map[string][]string{"Authorization": {"k1"}}, "")
		none, n1 := "", "n1"
		for _, tc := range []struct {
			purge Purge
			goes  func(asked) bool
		}{
			{Purge{All: true}, func(asked) bool { return true }},
			{Purge{Model: "m1"}, func(a asked) bool { return a.model == "m1" }},
			{Purge{Namespace: &n1}, func(a asked) bool { return a.namespace == "n1" }},
			{Purge{Namespace: &none}, func(a asked) bool { return a.namespace == "" }},
			{Purge{Tenant: &tenant}, func(a asked) bool { return a.tenant == "k1" }},
			{Purge{Model: "m2", Namespace: &n1, Tenant: &tenant}, func(a asked) bool { return a == asked{"m2", "n1", "k1"} }},
			{Purge{Model: "m3"}, func(asked) bool { return false }},
		} {
			fill()
			n, err := c.Purge(t.Context(), tc.purge)
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for _, a := range all {
				got := ask(s, a)
				if tc.goes(a) {
					want++
					if got != Unsatisfied {
						t.Errorf("%+v: %+v is still there: %v", tc.purge, a, got)
					}
				} else if got != Hit {
					t.Errorf("%+v: %+v is gone", tc.purge, a)
				}
			}
			if n != want {
				t.Errorf("%+v: removed %d, expected %d", tc.purge, n, want)
			}
		}
		for _, bad := range []Purge{{}, {All: true, Model: "m1"}} {
			if _, err := c.Purge(t.Context(), bad); err == nil {
				t.Errorf("%+v was accepted", bad)
			}
		}
		if _, err := c.Purge(t.Context(), Purge{All: true}); err != nil {
			t.Fatal(err)
		}
		if again != nil {
			c = again()
			settle(c)
			other := siteOf(t, s.policy, c)
			for _, a := range all {
				if got := ask(other, a); got != Unsatisfied {
					t.Errorf("%+v came back", a)
				}
			}
		}
	})
}

// Closing twice is fine, and a store that is closed finds and keeps nothing,
// but serves whoever is still there.
func TestClosed(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(Options) (*Cache, func() *Cache)) {
		c, _ := open(Options{})
		s := siteOf(t, Policy{Mode: Similar, Threshold: 0.9}, c)
		s.provider = jsonAnswer(chatAnswer)
		s.ask(chatPath, chatQuestion(question))
		for range 2 {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			for _, q := range []string{question, questionLike} {
				if got := s.ask(chatPath, chatQuestion(q)); got.outcome != Miss || got.Body.String() != chatAnswer {
					t.Errorf("%v %q", got.outcome, got.Body)
				}
			}
		}
		c.Stats()
	})
}

// Many at once ask, store, refresh and purge; every answer is the one to the
// question that was asked.
func TestStoreUnderLoad(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(Options) (*Cache, func() *Cache)) {
		o := Options{Store: StoreConfig{Size: 1 << 20}}
		c, _ := open(o)
		var wg sync.WaitGroup
		for worker := range 8 {
			wg.Go(func() {
				s := siteOf(t, Policy{Mode: Similar, Threshold: 0.9}, c)
				for i := range 80 {
					n := (i*7 + worker) % 40
					want := strings.Replace(chatAnswer, "Six.", fmt.Sprintf("Answer %d.%s", n, strings.Repeat(" ", 4<<10)), 1)
					s.provider = jsonAnswer(want)
					var headers []string
					switch i % 40 {
					case 10:
						headers = []string{HeaderControl, "refresh"}
					case 20:
						if _, err := c.Purge(context.Background(), Purge{All: true}); err != nil {
							t.Error(err)
						}
					}
					ask := chatQuestion(fmt.Sprintf("invoice number %d: %s", n, question))
					if got := s.ask(chatPath, ask, headers...); got.Body.String() != want || got.broken {
						t.Errorf("question %d was answered with %.80q", n, got.Body)
						return
					}
				}
			})
		}
		wg.Wait()
		if s, ok := c.store.(*memory); ok {
			if _, bytes := s.Size(); bytes > 1<<20 {
				t.Errorf("%d bytes", bytes)
			}
			if n := s.index.Len(); n > len(s.shards[0].items) {
				t.Errorf("%d questions for %d entries", n, len(s.shards[0].items))
			}
		}
	})
}
