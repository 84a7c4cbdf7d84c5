package stats

import (
	"math"
	"testing"
	"time"
)

func TestCoarsen(t *testing.T) {
	c := &clock{time.Date(2031, 4, 2, 6, 0, 30, 0, time.UTC)}
	r := New(c.now)
	for i := range 20 { // 06:00 to 06:19, each minute slower than the last
		for range 5 {
			r.Observe(Sample{Time: c.t, Status: 200, OverheadMS: float64(i + 1), InputTokens: 2})
		}
		c.t = c.t.Add(time.Minute)
	}
	fine := r.Summarize(24*time.Hour, Filter{})
	s := fine.Coarsen(100)
	if s.StepSeconds != 900 || len(s.Points) != 2 {
		t.Fatalf("%d points of %d s", len(s.Points), s.StepSeconds)
	}
	for i, want := range []struct {
		minute   int
		requests int64
		p50      float64
	}{{0, 75, 8}, {15, 25, 18}} {
		p := s.Points[i]
		if p.Start.Minute() != want.minute || p.Requests != want.requests || p.InputTokens != 2*want.requests {
			t.Errorf("point %d: %+v", i, p)
		}
		if math.Abs(p.OverheadMS.P50-want.p50) > 0.15*want.p50 {
			t.Errorf("point %d: median %v, want about %v", i, p.OverheadMS.P50, want.p50)
		}
	}
	if len(fine.Points) != 20 || fine.Points[0].Requests != 5 || s.Total.Requests != 100 {
		t.Errorf("the summary itself changed: %d points, total %+v", len(fine.Points), s.Total)
	}
	if s := r.Summarize(time.Hour, Filter{}).Coarsen(100); s.StepSeconds != 60 || len(s.Points) != 20 {
		t.Errorf("an hour: %d points of %d s", len(s.Points), s.StepSeconds)
	}
	if s := r.Summarize(30*24*time.Hour, Filter{}).Coarsen(120); s.StepSeconds != 6*3600 || len(s.Points) != 1 || s.Points[0].Requests != 100 {
		t.Errorf("a month: %d points of %d s", len(s.Points), s.StepSeconds)
	}
}
