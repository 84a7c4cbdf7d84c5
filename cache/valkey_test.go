//go:build unix

package cache

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache/similar"
)

// onMini is a cache on a server of its own within the process.
func onMini(t *testing.T, o Options) (*Cache, *miniredis.Miniredis) {
	m := miniredis.RunT(t)
	o.Store = StoreConfig{Kind: KindValkey, URL: "redis://" + m.Addr()}
	if o.Secret == nil {
		o.Secret = testSecret
	}
	return mustOpen(t, o), m
}

// A server that changes, swaps, invents or replays records cannot inject an
// answer.
func TestPoisonedServer(t *testing.T) {
	other := func(t *testing.T) (*Cache, *miniredis.Miniredis) {
		return onMini(t, Options{Secret: []byte("the secret of an attacker")})
	}
	for name, poison := range map[string]func(t *testing.T, m *miniredis.Miniredis, keys []string){
		"flipped bit": func(t *testing.T, m *miniredis.Miniredis, keys []string) {
			for _, k := range keys {
				v, _ := m.Get(k)
				for i := range len(v) {
					if i%7 == 0 {
						b := []byte(v)
						b[i] ^= 1
						m.Set(k, string(b))
					}
				}
			}
		},
		"flipped bit in the seal": func(t *testing.T, m *miniredis.Miniredis, keys []string) {
			for _, k := range keys {
				v, _ := m.Get(k)
				b := []byte(v)
				b[recordHead+20] ^= 1
				m.Set(k, resealed(b))
			}
		},
		"flipped tag": func(t *testing.T, m *miniredis.Miniredis, keys []string) {
			for _, k := range keys {
				v, _ := m.Get(k)
				b := []byte(v)
				b[10] ^= 1
				m.Set(k, resealed(b))
			}
		},
		"swapped": func(t *testing.T, m *miniredis.Miniredis, keys []string) {
			a, _ := m.Get(keys[0])
			b, _ := m.Get(keys[1])
			m.Set(keys[0], b)
			m.Set(keys[1], a)
		},
		"another secret": func(t *testing.T, m *miniredis.Miniredis, keys []string) {
			c, theirs := other(t)
			s := siteOf(t, Policy{Mode: Exact}, c)
			ask, _ := numbered(0)
			s.provider = jsonAnswer(strings.Replace(chatAnswer, "Six.", "Injected.", 1))
			s.ask(chatPath, ask)
			settle(c)
			for _, k := range theirs.Keys() {
				v, _ := theirs.Get(k)
				for _, mine := range keys {
					m.Set(mine, v)
				}
			}
		},
		"plain text": func(t *testing.T, m *miniredis.Miniredis, keys []string) {
			for _, k := range keys {
				m.Set(k, strings.Replace(chatAnswer, "Six.", "Injected.", 1))
			}
		},
		"empty": func(t *testing.T, m *miniredis.Miniredis, keys []string) {
			for _, k := range keys {
				m.Set(k, "")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var told reports
			c, m := onMini(t, Options{Log: told.log})
			s := siteOf(t, Policy{Mode: Exact}, c)
			for n := range 2 {
				ask, answer := numbered(n)
				s.provider = jsonAnswer(answer)
				s.ask(chatPath, ask)
			}
			settle(c)
			poison(t, m, m.Keys())
			for n := range 2 {
				ask, answer := numbered(n)
				s.provider = jsonAnswer(answer)
				if got := s.ask(chatPath, ask); got.outcome != Miss || got.Body.String() != answer {
					t.Errorf("question %d: %v %q", n, got.outcome, got.Body)
				}
			}
			if n := c.Stats(); n.Damaged != 2 || told.count() != 1 {
				t.Errorf("%d damaged records, told %d times", n.Damaged, told.count())
			}
		})
	}
}

// An old record that a server brings back is served no longer than it was
// good for.
func TestServerReplaysOldRecord(t *testing.T) {
	now := newClock()
	c, m := onMini(t, Options{Now: now.now})
	s := siteOf(t, Policy{Mode: Exact, TTL: time.Minute}, c)
	ask, answer := numbered(0)
	s.provider = jsonAnswer(answer)
	s.ask(chatPath, ask)
	settle(c)
	key := m.Keys()[0]
	old, _ := m.Get(key)
	now.advance(2 * time.Minute)
	m.Set(key, old)
	if got := s.ask(chatPath, ask); got.outcome != Miss {
		t.Errorf("%v", got.outcome)
	}
}

// Nothing on the server can be read without the secret.
func TestServerSeesNothing(t *testing.T) {
	c, m := onMini(t, Options{})
	s := siteOf(t, Policy{Mode: Similar}, c)
	s.provider = jsonAnswer(chatAnswer)
	s.ask(chatPath, chatQuestion(question), "Authorization", "Bearer sk-secret", HeaderNamespace, "team-a")
	settle(c)
	dump := m.Dump()
	for _, clear := range []string{"Six.", "fog horn", "harbour", "gpt-5-mini", "sk-secret", "team-a"} {
		if strings.Contains(dump, clear) {
			t.Errorf("the server sees %q", clear)
		}
	}
	if len(m.Keys()) != 2 {
		t.Errorf("keys %v", m.Keys())
	}
	for _, k := range m.Keys() {
		if ttl := m.TTL(k); ttl <= 0 || ttl > DefaultTTL {
			t.Errorf("%s lives for %v", k, ttl)
		}
	}
}

// A server that refuses to store costs the answers, not the requests.
func TestServerRefuses(t *testing.T) {
	var told reports
	c, m := onMini(t, Options{Log: told.log})
	s := siteOf(t, Policy{Mode: Exact}, c)
	ask, answer := numbered(0)
	s.provider = jsonAnswer(answer)
	m.SetError("OOM command not allowed when used memory > 'maxmemory'.")
	for range 3 {
		if got := s.ask(chatPath, ask); got.outcome != Miss || got.Body.String() != answer {
			t.Errorf("%v", got.outcome)
		}
		settle(c)
	}
	m.SetError("")
	if n := c.Stats().Drops; n == 0 {
		t.Error("no drops were counted")
	}
	if told.count() == 0 {
		t.Error("nobody was told")
	}
}

// Two gateways find each other's answers and near-duplicates, those that come
// later too; what has left the server is no longer found.
func TestGatewaysShare(t *testing.T) {
	for name, url := range map[string]func(t *testing.T) (string, func()){
		"miniredis": func(t *testing.T) (string, func()) {
			m := miniredis.RunT(t)
			return "redis://" + m.Addr(), func() {
				for _, k := range m.Keys() {
					if strings.HasPrefix(k, valkeyEntry) {
						m.Del(k)
					}
				}
			}
		},
		"redis": func(t *testing.T) (string, func()) { return startRedis(t).url(), nil },
	} {
		t.Run(name, func(t *testing.T) {
			addr, loseEntries := url(t)
			var sites []*site
			for range 2 {
				c := mustOpen(t, Options{Store: StoreConfig{Kind: KindValkey, URL: addr}, Secret: testSecret})
				s := siteOf(t, Policy{Mode: Similar, Threshold: 0.9}, c)
				s.provider = func(w http.ResponseWriter, r *http.Request) {
					t.Error("the provider was called")
					jsonAnswer("{}")(w, r)
				}
				sites = append(sites, s)
			}
			for n := range 20 {
				writer, reader := sites[n%2], sites[1-n%2]
				ask, answer := numbered(n)
				before := writer.provider
				writer.provider = jsonAnswer(answer)
				writer.ask(chatPath, ask)
				writer.provider = before
				settle(writer.cache)
				if got := reader.ask(chatPath, ask); got.outcome != Hit || got.Body.String() != answer {
					t.Errorf("answer %d: %v", n, got.outcome)
				}
				like := strings.Replace(ask, "please ", "", 1)
				if got := reader.ask(chatPath, like); got.outcome != HitSimilar || got.Body.String() != answer {
					t.Errorf("an answer like %d: %v", n, got.outcome)
				}
			}
			if loseEntries == nil {
				return
			}
			loseEntries()
			for _, s := range sites {
				ask, answer := numbered(3)
				s.provider = jsonAnswer(answer)
				if got := s.ask(chatPath, strings.Replace(ask, "please ", "", 1), HeaderControl, "refresh"); got.outcome != Miss {
					t.Errorf("%v", got.outcome)
				}
			}
		})
	}
}

// While the server is down, stopped or started again under load, no request
// fails or waits; when it is back, it is used again.
func TestServerGoesAndComes(t *testing.T) {
	server := startRedis(t)
	var told reports
	c := mustOpen(t, Options{Store: StoreConfig{Kind: KindValkey, URL: server.url()}, Secret: testSecret, Log: told.log})
	c.store.(*valkey).timeout = valkeyTimeout
	var stop atomic.Bool
	var served, slowest atomic.Int64
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			s := siteOf(t, Policy{Mode: Similar, Threshold: 0.9}, c)
			for n := worker; !stop.Load(); n++ {
				ask, answer := numbered(n % 50)
				s.provider = jsonAnswer(answer)
				start := time.Now()
				got := s.ask(chatPath, ask)
				if took := int64(time.Since(start)); took > slowest.Load() {
					slowest.Store(took)
				}
				if got.Body.String() != answer || got.broken {
					t.Errorf("%v %q", got.outcome, got.Body)
					return
				}
				served.Add(1)
			}
		})
	}
	hits := func() int64 { n := c.Stats(); return n.HitsExact + n.HitsSimilar }
	await := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !done(); {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %+v, told %v", what, c.Stats(), told.lines)
			}
			time.Sleep(time.Millisecond) // between polls, nothing is concluded from it
		}
	}
	await("hits at first", func() bool { return hits() > 100 })

	server.stop()
	await("no server", func() bool { return c.Stats().Unreachable > 0 })
	before := served.Load()
	await("requests without a server", func() bool { return served.Load() > before+200 })
	server.start()
	h := hits()
	await("hits after a restart", func() bool { return hits() > h+100 })

	// A server that hangs is worse than one that is gone.
	u := c.Stats().Unreachable
	server.cmd.Process.Signal(syscall.SIGSTOP)
	await("server hangs", func() bool { return c.Stats().Unreachable > u })
	before = served.Load()
	await("requests while it hangs", func() bool { return served.Load() > before+200 })
	server.cmd.Process.Signal(syscall.SIGCONT)
	h = hits()
	await("hits after it hung", func() bool { return hits() > h+100 })
	stop.Store(true)
	wg.Wait()
	t.Logf("the slowest request took %v", time.Duration(slowest.Load()))
	if n := told.count(); n == 0 || n > 3 {
		t.Errorf("told %d times: %v", n, told.lines)
	}
}

// A server that is not there when the gateway starts is no error and is used
// as soon as it comes.
func TestServerComesLater(t *testing.T) {
	server := startRedis(t)
	server.stop()
	var told reports
	c := mustOpen(t, Options{Store: StoreConfig{Kind: KindValkey, URL: server.url()}, Secret: testSecret, Log: told.log})
	if told.count() != 1 {
		t.Errorf("told %v", told.lines)
	}
	s := siteOf(t, Policy{Mode: Exact}, c)
	ask, answer := numbered(0)
	s.provider = jsonAnswer(answer)
	if got := s.ask(chatPath, ask); got.outcome != Miss || got.Body.String() != answer {
		t.Errorf("%v", got.outcome)
	}
	server.start()
	for deadline := time.Now().Add(30 * time.Second); s.ask(chatPath, ask).outcome != Hit; {
		if time.Now().After(deadline) {
			t.Fatalf("no hit: %+v", c.Stats())
		}
		time.Sleep(time.Millisecond) // between polls, nothing is concluded from it
	}
}

// A server that accepts connections and says nothing holds up the start no
// longer than a dial may take.
func TestServerSaysNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	c := mustOpen(t, Options{Store: StoreConfig{Kind: KindValkey, URL: "redis://" + l.Addr().String()}, Secret: testSecret})
	s := siteOf(t, Policy{Mode: Exact}, c)
	s.provider = jsonAnswer(chatAnswer)
	ask, _ := numbered(0)
	if got := s.ask(chatPath, ask); got.outcome != Miss || got.Body.String() != chatAnswer {
		t.Errorf("%v", got.outcome)
	}
}

func TestValkeyConfig(t *testing.T) {
	for _, url := range []string{"", "http://x", "redis://x/notanumber", "localhost:6379"} {
		if _, err := (StoreConfig{Kind: KindValkey, URL: url}).Resolve(); err == nil {
			t.Errorf("%q was accepted", url)
		}
	}
	for _, url := range []string{"redis://localhost", "valkey://u:p@localhost:6380/2", "rediss://localhost", "valkeys://localhost", "unix:///run/redis.sock"} {
		if _, err := (StoreConfig{Kind: KindValkey, URL: url}).Resolve(); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := Open(Options{Store: StoreConfig{Kind: KindValkey, URL: "redis://localhost"}}); err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("without a secret: %v", err)
	}
	if _, err := Open(Options{Store: StoreConfig{Kind: KindValkey, URL: "redis://localhost"}, Secret: []byte("short")}); err == nil {
		t.Error("a short secret was accepted")
	}
	id := Options{Store: StoreConfig{Kind: KindValkey, URL: "redis://u:topsecret@localhost"}, Secret: testSecret}.Identity()
	if strings.Contains(id, "topsecret") || strings.Contains(id, string(testSecret)) {
		t.Errorf("the identity shows a secret: %s", id)
	}
}

// The copies of partitions stay within their bound, and a partition that left
// is none the worse for it.
func TestMirrorsBound(t *testing.T) {
	m := newMirrors()
	text := func(n int) []byte {
		return []byte(fmt.Sprintf("which of the %d berths along the western pier would be long enough for vessel number%d tonight", n, n))
	}
	var q similar.Question
	const partitions, each = 500, 400
	for p := range partitions {
		var added []newcomer
		for n := range each {
			var c newcomer
			if !similar.Prepare(&c.question, text(n), similar.Off) {
				t.Fatal("not a question")
			}
			c.name = name{byte(p), byte(p >> 8), byte(n), byte(n >> 8)}
			c.expires = 1000
			added = append(added, c)
		}
		m.add(&[32]byte{byte(p), byte(p >> 8), 1}, added, float64(p+1), 1)
		if m.residents.bytes > maxMirrored {
			t.Fatalf("%d bytes", m.residents.bytes)
		}
	}
	found := 0
	for p := range partitions {
		part := [32]byte{byte(p), byte(p >> 8), 1}
		similar.Prepare(&q, text(7), similar.Off)
		n, _, score, ok := m.search(&part, &q, 1, 1)
		if !ok {
			if m.seen(&part) != 0 && m.partitions[part] == nil {
				t.Errorf("partition %d has left, but counts as seen", p)
			}
			continue
		}
		found++
		if want := (name{byte(p), byte(p >> 8), 7}); n != want || score != 1 {
			t.Errorf("partition %d: %v %v", p, n, score)
		}
	}
	if found == 0 || found == partitions || found != len(m.partitions) {
		t.Errorf("%d of %d partitions are found, %d are there", found, partitions, len(m.partitions))
	}
	if want := len(m.partitions) * each; m.index.Len() != want {
		t.Errorf("%d questions in the index, expected %d", m.index.Len(), want)
	}
	// What has expired goes when there is much of it.
	part := [32]byte{1, 2, 3}
	for round := range int64(50) {
		var added []newcomer
		for n := range 100 {
			var c newcomer
			similar.Prepare(&c.question, text(n), similar.Off)
			c.name = name{byte(round), byte(n), 9}
			c.expires = round*10 + 11
			added = append(added, c)
		}
		m.add(&part, added, float64(round+1), round*10+1)
	}
	if n := len(m.partitions[part].value.questions); n > 600 {
		t.Errorf("%d questions of which 100 are good", n)
	}
}
