package stats

import (
	"encoding/json"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
)

type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func TestSummarize(t *testing.T) {
	c := &clock{time.Date(2031, 4, 2, 6, 0, 30, 0, time.UTC)}
	r := New(c.now)
	for i := range 100 {
		r.Observe(Sample{Time: c.t, Model: []string{"a", "b"}[i%2], Provider: "p", Key: "k", Status: 200, Cache: "MISS", InputTokens: 10, OutputTokens: 1, CostUSD: 0.5, OverheadMS: float64(i+1) / 10, TTFTMS: 100})
	}
	c.t = c.t.Add(time.Minute)
	r.Observe(Sample{Time: c.t, Model: "a", Provider: "q", Status: 500, Cache: "HIT", SavedTokens: 7})
	s := r.Summarize(time.Hour, Filter{})
	if s.Total.Requests != 101 || s.Total.Errors != 1 || s.Total.Hits != 1 || s.Total.Misses != 100 || s.Total.InputTokens != 1000 || s.Total.CostUSD != 50 || s.Total.SavedTokens != 7 {
		t.Errorf("total %+v", s.Total)
	}
	if len(s.Points) != 2 || s.Points[0].Requests != 100 || s.Points[1].Requests != 1 {
		t.Errorf("points %+v", s.Points)
	}
	if len(s.Models) != 2 || s.Models[0].Name != "a" || s.Models[0].Requests != 51 || s.Providers[0].Name != "p" || len(s.Keys) != 2 {
		t.Errorf("%+v %+v %+v", s.Models, s.Providers, s.Keys)
	}
	for _, tc := range []struct{ got, want float64 }{{s.Points[0].OverheadMS.P50, 5}, {s.Points[0].OverheadMS.P95, 9.5}, {s.Points[0].TTFTMS.P99, 100}} {
		if math.Abs(tc.got-tc.want) > 0.15*tc.want {
			t.Errorf("percentile %v, want about %v", tc.got, tc.want)
		}
	}
	if s := r.Summarize(time.Hour, Filter{Model: "a", Key: "k"}); s.Total.Requests != 50 || len(s.Models) != 1 {
		t.Errorf("filtered: %+v", s.Total)
	}
	if s := r.Summarize(time.Hour, Filter{NoKey: true}); s.Total.Requests != 1 || len(s.Keys) != 1 || s.Keys[0].Name != "" {
		t.Errorf("without a key: %+v", s.Total)
	}
	if got := r.Recent(10, Filter{NoKey: true}); len(got) != 1 || got[0].Provider != "q" {
		t.Errorf("without a key: %+v", got)
	}
	// A day later the minutes are gone, the hours are not.
	c.t = c.t.Add(25 * time.Hour)
	if s := r.Summarize(24*time.Hour, Filter{}); s.Total.Requests != 0 || len(s.Points) != 0 {
		t.Errorf("after a day: %+v", s.Total)
	}
	if s := r.Summarize(30*24*time.Hour, Filter{}); s.Total.Requests != 101 || s.StepSeconds != 3600 {
		t.Errorf("by hour: %+v", s.Total)
	}
	c.t = c.t.Add(31 * 24 * time.Hour)
	if s := r.Summarize(30*24*time.Hour, Filter{}); s.Total.Requests != 0 {
		t.Errorf("after a month: %+v", s.Total)
	}
}

func TestRecent(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	r := New(c.now)
	for i := range 450 {
		r.Observe(Sample{Time: c.t, Status: i, Model: []string{"a", "b"}[i%2]})
	}
	if got := r.Recent(3, Filter{}); len(got) != 3 || got[0].Status != 449 || got[2].Status != 447 {
		t.Errorf("%+v", got)
	}
	if got := r.Recent(1000, Filter{Model: "b"}); len(got) != maxRecent/2 || got[0].Status != 449 {
		t.Errorf("%d", len(got))
	}
	text, err := json.Marshal(r.Summarize(time.Hour, Filter{}))
	if err != nil || !strings.Contains(string(text), `"requests":450`) {
		t.Errorf("%s %v", text, err)
	}
}

func TestBounded(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	r := New(c.now)
	for i := range 5000 {
		r.Observe(Sample{Time: c.t, Model: string(rune('a' + i))})
	}
	if n := len(r.minutes.at(c.t).groups); n > maxGroups+1 {
		t.Errorf("%d groups", n)
	}
	if s := r.Summarize(time.Hour, Filter{}); s.Total.Requests != 5000 {
		t.Errorf("%d requests", s.Total.Requests)
	}
}

func TestConcurrent(t *testing.T) {
	r := New(time.Now)
	changed := r.Changed()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				r.Observe(Sample{Time: time.Now(), OverheadMS: 1})
				r.Recent(5, Filter{})
			}
			r.Summarize(time.Hour, Filter{})
		})
	}
	wg.Wait()
	<-changed
	if s := r.Summarize(time.Hour, Filter{}); s.Total.Requests != 1600 {
		t.Errorf("%d requests", s.Total.Requests)
	}
}

func BenchmarkObserve(b *testing.B) {
	r := New(time.Now)
	s := Sample{Time: time.Now(), Model: "m", Provider: "p", Key: "k", OverheadMS: 0.1, TTFTMS: 200}
	b.ReportAllocs()
	for b.Loop() {
		r.Observe(s)
	}
}
