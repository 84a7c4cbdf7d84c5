package cache

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// pool is a set of residents as a store keeps it.
type pool struct {
	residents[int]
	at      map[int]*resident[int]
	evicted int
	expired int
	most    int // residents there ever were
}

func newPool(capacity int64) *pool {
	p := &pool{at: make(map[int]*resident[int])}
	p.residents = newResidents(capacity, func(r *resident[int], expired bool) {
		delete(p.at, r.value)
		if expired {
			p.expired++
		} else {
			p.evicted++
		}
	})
	return p
}

func (p *pool) put(n int, size, expires, now int64) {
	if old := p.at[n]; old != nil {
		p.remove(old)
	}
	r := &resident[int]{value: n, id: uint64(n) * 0x9E3779B97F4A7C15, size: size, expires: expires}
	p.add(r, now)
	p.at[n] = r
	p.most = max(p.most, len(p.at))
}

func (p *pool) get(n int) bool {
	r := p.at[n]
	if r != nil {
		r.asked.up()
	}
	return r != nil
}

// check compares the books with what is there.
func (p *pool) check(t *testing.T) {
	t.Helper()
	var count int
	var bytes int64
	p.each(func(r *resident[int]) bool {
		count++
		bytes += r.size
		if p.at[r.value] != r {
			t.Fatalf("%d is among the residents but not in the store", r.value)
		}
		return true
	})
	if count != len(p.at) || count != p.count() || bytes != p.bytes || bytes != p.small.bytes+p.main.bytes {
		t.Fatalf("%d residents of %d bytes, %d in the store, counted %d and %d", count, bytes, len(p.at), p.count(), p.bytes)
	}
	if bytes > p.capacity {
		t.Fatalf("%d bytes where %d fit", bytes, p.capacity)
	}
	if limit := max(p.most, minGhosts); len(p.ghosts.ids) > limit || len(p.ghosts.ring) > 2*limit+2 {
		t.Fatalf("%d ghosts in a ring of %d for up to %d residents", len(p.ghosts.ids), len(p.ghosts.ring), p.most)
	}
}

// The bound is kept to the byte, whatever comes and goes.
func TestResidentsBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := newPool(1 << 20)
	now := int64(0)
	for i := range 100_000 {
		now++
		switch n := r.IntN(3000); r.IntN(4) {
		case 0, 1:
			p.get(n)
		case 2:
			p.put(n, 1+r.Int64N(4<<10), now+r.Int64N(20_000), now)
		case 3:
			if x := p.at[n]; x != nil && r.IntN(10) == 0 {
				p.remove(x)
				delete(p.at, n)
			}
		}
		if i%1000 == 0 {
			p.check(t)
		}
	}
	p.check(t)
	if p.evicted == 0 || p.expired == 0 {
		t.Errorf("%d evicted, %d expired", p.evicted, p.expired)
	}
	// Every size that fits does.
	p.put(5000, 1<<19, now+1, now)
	p.check(t)
	if !p.fits(1<<19) || p.fits(1<<19+1) {
		t.Error("fits")
	}
}

// A scan of items that are never asked for again does not drive out what is
// in use.
func TestResidentsResistScan(t *testing.T) {
	p := newPool(1000)
	for n := range 500 {
		p.put(n, 1, 1<<60, 0)
		p.get(n)
	}
	for n := range 100_000 {
		p.put(1000+n, 1, 1<<60, 0)
	}
	kept := 0
	for n := range 500 {
		if p.get(n) {
			kept++
		}
	}
	if kept < 450 {
		t.Errorf("%d of 500 items in use are left after a scan", kept)
	}
	p.check(t)
}

// Expired items leave without being asked for, as others come.
func TestResidentsSweep(t *testing.T) {
	p := newPool(1 << 20)
	for n := range 1000 {
		p.put(n, 1, 10, 0)
	}
	for n := range 1000 {
		p.put(1000+n, 1, 100, 20)
	}
	if p.expired != 1000 || p.count() != 1000 {
		t.Errorf("%d expired, %d left", p.expired, p.count())
	}
	p.check(t)
}

// BenchmarkHitRatio reports the share of hits on a mix of requests whose
// frequency follows Zipf's law and scans of requests that never come again,
// with room for one in ten of what is asked.
func BenchmarkHitRatio(b *testing.B) {
	for _, scan := range []int{0, 1, 3} {
		b.Run(fmt.Sprintf("scan=%d", scan), func(b *testing.B) {
			hits, asked := 0, 0
			for b.Loop() {
				r := rand.New(rand.NewPCG(1, 2))
				zipf := rand.NewZipf(r, 1.01, 1, 50_000)
				p := newPool(5000)
				next := 1 << 20
				for range 500_000 {
					n := int(zipf.Uint64())
					asked++
					if p.get(n) {
						hits++
					} else {
						p.put(n, 1, 1<<60, 0)
					}
					for range scan {
						next++
						p.put(next, 1, 1<<60, 0)
					}
				}
			}
			b.ReportMetric(float64(hits)/float64(asked)*100, "%hits")
		})
	}
}
