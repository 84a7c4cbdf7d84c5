package memo

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"unsafe"
)

func TestFacts(t *testing.T) {
	f := NewFacts(1 << 16)
	if n := unsafe.Sizeof(bucket{}); n != 128 {
		t.Errorf("a bucket takes %d bytes", n)
	}
	a, b := []byte("one text"), []byte("another text")
	if _, ok := f.Get(f.Key(1, a)); ok {
		t.Error("an empty table knows something")
	}
	f.Put(f.Key(1, a), 10)
	f.Put(f.Key(2, a), 20)
	f.Put(f.Key(1, b), 0)
	f.Put(f.Key(1, a), 11)
	for _, tc := range []struct {
		salt uint64
		raw  []byte
		want uint64
		ok   bool
	}{{1, a, 11, true}, {2, a, 20, true}, {1, b, 0, true}, {2, b, 0, false}, {3, a, 0, false}, {1, a[:7], 0, false}, {0, nil, 0, false}} {
		if got, ok := f.Get(f.Key(tc.salt, tc.raw)); got != tc.want || ok != tc.ok {
			t.Errorf("%d %q: %d %v", tc.salt, tc.raw, got, ok)
		}
	}
	if f.Key(1, a).Salted(5) == f.Key(1, a).Salted(6) || f.Key(1, a) == NewFacts(1).Key(1, a) {
		t.Error("keys that should differ are equal")
	}
	long := make([]byte, 60_000)
	f.Put(f.Key(7, long), 1)
	for _, i := range []int{0, 1, 777, len(long) - 1} {
		other := make([]byte, len(long))
		other[i] = 1
		if _, ok := f.Get(f.Key(7, other)); ok {
			t.Errorf("found with byte %d changed", i)
		}
	}
	if n := testing.AllocsPerRun(100, func() { k := f.Key(7, long); f.Get(k); f.Put(k, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if _, ok := f.Get(Key{}); ok {
		t.Error("an empty place was taken for a fact")
	}
}

// TestFactsKeepWhatIsUsed fills one bucket over and over: what is asked for
// between stays, the rest goes, and never is a wrong number returned.
func TestFactsKeepWhatIsUsed(t *testing.T) {
	f := NewFacts(1) // one bucket
	used := f.Key(0, []byte("used"))
	f.Put(used, 1<<60)
	known := 0
	for i := range uint64(1000) {
		k := f.Key(1, binary.LittleEndian.AppendUint64(nil, i))
		f.Put(k, i)
		if v, ok := f.Get(k); !ok || v != i {
			t.Fatalf("%d: %d %v", i, v, ok)
		}
		if v, ok := f.Get(used); !ok || v != 1<<60 {
			t.Fatalf("after %d: %d %v", i, v, ok)
		}
	}
	for i := range uint64(1000) {
		if v, ok := f.Get(f.Key(1, binary.LittleEndian.AppendUint64(nil, i))); ok {
			known++
			if v != i {
				t.Errorf("%d: %d", i, v)
			}
		}
	}
	if want := len(bucket{}.places) - 1; known != want {
		t.Errorf("%d others are known, want %d", known, want)
	}
}

func TestFactsConcurrently(t *testing.T) {
	f := NewFacts(1 << 14)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20_000 {
				n := uint64(i*7+g) % 5000
				k := f.Key(0, fmt.Appendf(nil, "text %d", n))
				if v, ok := f.Get(k); ok && v != n {
					t.Errorf("%d: %d", n, v)
				}
				f.Put(k, n)
			}
		})
	}
	wg.Wait()
}

// BenchmarkFresh: every text is new, as from a client that never says the same
// twice.
func BenchmarkFresh(b *testing.B) {
	raw := make([]byte, 64)
	b.Run("memo", func(b *testing.B) {
		m := New[int](8 << 20)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			binary.LittleEndian.PutUint64(raw, uint64(i))
			if _, ok := m.Get(1, raw); !ok {
				m.Put(1, raw, i, 8)
			}
		}
	})
	b.Run("facts", func(b *testing.B) {
		f := NewFacts(8 << 20)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			binary.LittleEndian.PutUint64(raw, uint64(i))
			k := f.Key(1, raw)
			if _, ok := f.Get(k); !ok {
				f.Put(k, uint64(i))
			}
		}
	})
}
