package memo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

func key(i int) []byte { return fmt.Appendf(nil, "block %d", i) }

func TestGetReturnsWhatWasPut(t *testing.T) {
	m := New[string](1 << 20)
	if v, ok := m.Get(1, []byte("a")); ok || v != "" {
		t.Fatalf("empty memo answers %q, %v", v, ok)
	}
	m.Put(1, []byte("a"), "one", 3)
	m.Put(2, []byte("a"), "two", 3)
	m.Put(1, []byte("b"), "three", 5)
	m.Put(1, nil, "empty", 5)
	m.Put(1, []byte("b"), "four", 4) // replaces
	for _, c := range []struct {
		salt uint64
		raw  string
		want string
		ok   bool
	}{
		{1, "a", "one", true}, {2, "a", "two", true}, {1, "b", "four", true}, {1, "", "empty", true},
		{2, "b", "", false}, {3, "a", "", false}, {1, "c", "", false}, {1, "aa", "", false}, {2, "", "", false},
	} {
		if v, ok := m.Get(c.salt, []byte(c.raw)); v != c.want || ok != c.ok {
			t.Errorf("Get(%d, %q) = %q, %v, want %q, %v", c.salt, c.raw, v, ok, c.want, c.ok)
		}
	}
	if n := m.Len(); n != 4 {
		t.Errorf("%d entries, want 4", n)
	}
	if n, want := m.Bytes(), int64(4*overhead+len("aab")+3+3+4+5); n != want {
		t.Errorf("%d bytes, want %d", n, want)
	}
}

// TestAt puts and gets with keys made elsewhere.
func TestAt(t *testing.T) {
	m, f := New[int](1<<20), NewFacts(1)
	raw := []byte("a text")
	k := f.Key(7, raw)
	m.PutAt(k, 7, raw, 1, 0)
	if v, ok := m.GetAt(k, 7, raw); !ok || v != 1 {
		t.Errorf("%d %v", v, ok)
	}
	for _, other := range []struct {
		salt uint64
		raw  string
	}{{8, "a text"}, {7, "b text"}} { // as after a collision
		if _, ok := m.GetAt(k, other.salt, []byte(other.raw)); ok {
			t.Errorf("%d %q was taken for another", other.salt, other.raw)
		}
	}
}

func TestPutCopiesItsKey(t *testing.T) {
	m := New[int](1 << 20)
	raw := []byte("first text")
	m.Put(0, raw, 7, 8)
	copy(raw, "other text")
	if _, ok := m.Get(0, raw); ok {
		t.Error("a key the caller changed afterwards is found")
	}
	if v, ok := m.Get(0, []byte("first text")); !ok || v != 7 {
		t.Errorf("Get = %d, %v, want 7, true", v, ok)
	}
}

// TestEqualHashIsNoAnswer puts an entry where another text's hash leads, as a
// collision of 64 bits would.
func TestEqualHashIsNoAnswer(t *testing.T) {
	m := New[int](1 << 20)
	stored, asked := []byte("stored"), []byte("asked!")
	for _, e := range []*entry[int]{
		{salt: 5, raw: stored, value: 1},
		{salt: 6, raw: asked, value: 2},
	} {
		e.hash = m.hash(5, asked)
		e.cost = overhead
		m.shard(e.hash).put(e)
		if v, ok := m.Get(5, asked); ok {
			t.Errorf("entry of salt %d, %q answers %d for salt 5, %q", e.salt, e.raw, v, asked)
		}
	}
	m.Put(5, asked, 3, 8)
	if v, ok := m.Get(5, asked); !ok || v != 3 {
		t.Errorf("Get = %d, %v, want 3, true", v, ok)
	}
	if n := m.Len(); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}

func TestBounds(t *testing.T) {
	for _, limit := range []int64{-1, 0, 1, overhead, 4 << 10, 100 << 10, 1 << 20, 40 << 20} {
		m := New[[]byte](limit)
		r := rand.New(rand.NewPCG(1, uint64(limit)))
		raw := make([]byte, 64<<10)
		for i := range 4000 {
			n := r.IntN(1 << r.IntN(17))
			binary.LittleEndian.PutUint64(raw, uint64(i))
			m.Put(uint64(i%3), raw[:min(max(n, 8), len(raw))], nil, r.IntN(1000))
			if got := m.Bytes(); got > max(limit, 0) {
				t.Fatalf("limit %d: holds %d bytes after %d puts", limit, got, i+1)
			}
		}
		check(t, m)
		if limit >= 4<<10 && m.Len() == 0 {
			t.Errorf("limit %d: holds nothing", limit)
		}
	}
}

func TestTooLargeIsNotKept(t *testing.T) {
	m := New[int](100_000)
	m.Put(0, key(1), 1, 8)
	m.Put(0, make([]byte, 50_000), 2, 8)
	m.Put(0, key(2), 2, 50_000)
	if _, ok := m.Get(0, key(1)); !ok || m.Len() != 1 {
		t.Errorf("%d entries, first kept: %v; want 1, true", m.Len(), ok)
	}
}

// TestScanDoesNotDriveOutTheWorkingSet sends keys that come back among many
// that never do. The working set is half of what fits.
func TestScanDoesNotDriveOutTheWorkingSet(t *testing.T) {
	const fit, working = 4000, 2000
	for _, c := range []struct {
		name         string
		between      int // new keys after each key of the working set
		after        int // new keys after each round
		warm, rounds int
	}{
		{"interleaved", 3, 0, 5, 20},
		{"bursts", 0, 10 * fit, 2, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := New[int](fit * (overhead + 32))
			raw := make([]byte, 24)
			use := func(i int) bool {
				binary.LittleEndian.PutUint64(raw, uint64(i))
				_, ok := m.Get(0, raw)
				if !ok {
					m.Put(0, raw, i, 8)
				}
				return ok
			}
			once, hits, asked := working, 0, 0
			scan := func(n int) {
				for range n {
					if use(once) {
						t.Fatal("a key that is new is found")
					}
					once++
				}
			}
			for round := range c.rounds {
				for i := range working {
					hit := use(i)
					if round >= c.warm {
						asked++
						if hit {
							hits++
						}
					}
					scan(c.between)
				}
				if round >= c.warm-1 {
					scan(c.after)
				}
			}
			if rate := float64(hits) / float64(asked); rate < 0.95 {
				t.Errorf("hit rate of the working set %.3f, want at least 0.95", rate)
			}
			check(t, m)
		})
	}
}

// TestGrowingConversations has more conversations than fit take turns, each
// turn sending all earlier blocks again; the recent ones must be found.
func TestGrowingConversations(t *testing.T) {
	const turns = 30
	m := New[int](200 * (overhead + 1024))
	raw := make([]byte, 1000)
	hits, asked := 0, 0
	for conversation := range 50 {
		for turn := range turns {
			for block := range turn + 1 {
				binary.LittleEndian.PutUint64(raw, uint64(conversation*turns+block))
				_, ok := m.Get(0, raw)
				if !ok {
					m.Put(0, raw, block, 24)
				}
				if block < turn {
					asked++
					if ok {
						hits++
					}
				}
			}
		}
	}
	if rate := float64(hits) / float64(asked); rate < 0.97 {
		t.Errorf("hit rate %.3f, want at least 0.97", rate)
	}
	check(t, m)
}

func TestGetDoesNotAllocate(t *testing.T) {
	m := New[[]byte](1 << 20)
	raw, other := bytes.Repeat([]byte("x"), 5000), bytes.Repeat([]byte("y"), 5000)
	m.Put(9, raw, raw, 0)
	if n := testing.AllocsPerRun(100, func() {
		if _, ok := m.Get(9, raw); !ok {
			t.Fatal("not found")
		}
		if _, ok := m.Get(9, other); ok {
			t.Fatal("found")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestConcurrent(t *testing.T) {
	m := New[string](200 << 10)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(g)))
			for range 20_000 {
				i, salt := r.IntN(r.IntN(1000)+1), uint64(r.IntN(2))
				want := strings.Repeat(fmt.Sprint(i, salt), 10)
				v, ok := m.Get(salt, key(i))
				if ok && v != want {
					t.Errorf("salt %d, key %d: %q", salt, i, v)
					return
				}
				if !ok {
					m.Put(salt, key(i), want, len(want))
				}
			}
		})
	}
	wg.Wait()
	check(t, m)
}

// check compares every shard's books with what it holds.
func check[V any](t *testing.T, m *Memo[V]) {
	t.Helper()
	for i := range m.shards {
		s := &m.shards[i]
		n := 0
		for _, q := range []*queue[V]{&s.small, &s.main} {
			var bytes int64
			var older *entry[V]
			for e := q.oldest; e != nil; older, e = e, e.newer {
				if e.in != q || e.older != older || s.entries[e.hash] != e {
					t.Fatal("an entry is linked wrongly")
				}
				bytes += e.cost
				n++
			}
			if q.newest != older || bytes != q.bytes {
				t.Fatalf("queue counts %d bytes, holds %d", q.bytes, bytes)
			}
		}
		if n != len(s.entries) || s.small.bytes+s.main.bytes > s.budget {
			t.Fatalf("%d entries queued, %d found; %d bytes of %d", n, len(s.entries), s.small.bytes+s.main.bytes, s.budget)
		}
		if len(s.ghosts.set) > ghostsPerEntry*len(s.entries) || len(s.ghosts.order) > 2*ghostsPerEntry*len(s.entries)+1 {
			t.Fatalf("%d ghosts, %d places, for %d entries", len(s.ghosts.set), len(s.ghosts.order), n)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	for _, size := range []int{100, 8 << 10, 100 << 10} {
		m := New[int](64 << 20)
		raw := make([]byte, size)
		for i := range 16 {
			raw[0] = byte(i)
			m.Put(1, raw, i, 8)
		}
		b.Run(fmt.Sprintf("hit/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				raw[0] = byte(i & 15)
				if _, ok := m.Get(1, raw); !ok {
					b.Fatal("not found")
				}
			}
		})
		b.Run(fmt.Sprintf("miss/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			raw[0] = 99
			for b.Loop() {
				if _, ok := m.Get(1, raw); ok {
					b.Fatal("found")
				}
			}
		})
	}
}

func BenchmarkGetParallel(b *testing.B) {
	m := New[int](64 << 20)
	for i := range 1000 {
		m.Put(1, key(i), i, 8)
	}
	keys := make([][]byte, 1000)
	for i := range keys {
		keys[i] = key(i)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			m.Get(1, keys[i%len(keys)])
		}
	})
}

func BenchmarkPut(b *testing.B) {
	m := New[int](16 << 20)
	raw := make([]byte, 4<<10)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		binary.LittleEndian.PutUint64(raw, uint64(i))
		m.Put(1, raw, i, 8)
	}
}
