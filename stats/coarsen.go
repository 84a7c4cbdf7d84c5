package stats

import "time"

// coarseSteps are the steps of time that a chart can name in round figures.
var coarseSteps = []time.Duration{
	2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// Coarsen returns s with at most n points, by merging neighbours into longer
// steps that begin at round times in UTC. Sums and percentiles are as exact as
// those of the points. s itself is not changed; it is returned as it is when
// its steps are few enough or longer than any step known here would allow.
func (s Summary) Coarsen(n int) Summary {
	span := s.To.Sub(s.From)
	step := time.Duration(s.StepSeconds) * time.Second
	if step <= 0 || span <= time.Duration(n)*step {
		return s
	}
	for _, wider := range coarseSteps {
		if wider <= step || wider%step != 0 {
			continue
		}
		if span <= time.Duration(n)*wider {
			s.Points = mergePoints(s.Points, wider)
			s.StepSeconds = int(wider / time.Second)
			break
		}
	}
	return s
}

// mergePoints merges the points, which are sorted by time, of each step.
func mergePoints(points []Point, step time.Duration) []Point {
	var out []Point
	var sum Totals
	for i, p := range points {
		start := p.Start.Truncate(step)
		sum.merge(&p.Totals)
		if i+1 < len(points) && points[i+1].Start.Truncate(step).Equal(start) {
			continue
		}
		out = append(out, Point{start, row("", &sum)})
		sum = Totals{}
	}
	return out
}
