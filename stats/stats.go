// Package stats keeps what operators want to see of the requests of the last
// month: totals by minute and hour, split by model, provider and key,
// percentiles, and the last requests. All of it is in memory and bounded. It
// never sees texts or credentials.
package stats

import (
	"slices"
	"sync"
	"time"
)

// Sample is one finished request.
type Sample struct {
	Time     time.Time `json:"time"`
	Endpoint string    `json:"endpoint"`
	Model    string    `json:"model"`    // configured name or pattern, else "other"
	Provider string    `json:"provider"` // "" with the next handler as upstream
	Key      string    `json:"key"`      // "" without a key
	Status   int       `json:"status"`
	Stream   bool      `json:"stream"`

	Cache      string  `json:"cache,omitempty"` // HIT, HIT-SIMILAR, MISS, BYPASS or ""
	Route      string  `json:"route,omitempty"` // provider/credential
	Attempts   int     `json:"attempts,omitempty"`
	OverheadMS float64 `json:"overhead_ms"`
	TTFTMS     float64 `json:"ttft_ms,omitempty"` // 0 if nothing was answered
	DurationMS float64 `json:"duration_ms"`

	InputTokens      int64   `json:"input_tokens"`
	OutputTokens     int64   `json:"output_tokens"`
	CacheReadTokens  int64   `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens int64   `json:"cache_write_tokens,omitempty"`
	ReasoningTokens  int64   `json:"reasoning_tokens,omitempty"`
	Estimated        bool    `json:"estimated,omitempty"` // the provider reported no usage
	SavedTokens      int64   `json:"saved_tokens"`
	SavedBytes       int64   `json:"saved_bytes"`
	CostUSD          float64 `json:"cost_usd"`
	SavedUSD         float64 `json:"saved_usd"`                 // by optimizers and cache
	CacheSavedUSD    float64 `json:"cache_saved_usd,omitempty"` // by the cache alone

	Applied []Applied `json:"applied,omitempty"`
	Skipped string    `json:"skipped,omitempty"` // why optimizers did nothing

	// What optimizers that only audit would have saved.
	AuditSavedTokens int64 `json:"audit_saved_tokens,omitempty"`
	AuditSavedBytes  int64 `json:"audit_saved_bytes,omitempty"`
}

// Applied is what one optimizer did.
type Applied struct {
	Name       string `json:"name"`
	Level      string `json:"level"`
	SavedBytes int64  `json:"saved_bytes"`
}

// Totals are sums over requests.
type Totals struct {
	Requests         int64   `json:"requests"`
	Errors           int64   `json:"errors"` // status 400 and above
	Hits             int64   `json:"cache_hits"`
	HitsSimilar      int64   `json:"cache_hits_similar"`
	Misses           int64   `json:"cache_misses"`
	InputTokens      int64   `json:"input_tokens"`
	OutputTokens     int64   `json:"output_tokens"`
	CacheReadTokens  int64   `json:"cache_read_tokens"`
	CacheWriteTokens int64   `json:"cache_write_tokens"`
	ReasoningTokens  int64   `json:"reasoning_tokens"`
	SavedTokens      int64   `json:"saved_tokens"`
	SavedBytes       int64   `json:"saved_bytes"`
	CostUSD          float64 `json:"cost_usd"`
	SavedUSD         float64 `json:"saved_usd"`
	CacheSavedUSD    float64 `json:"cache_saved_usd"` // of that, by the cache
	AuditSavedTokens int64   `json:"audit_saved_tokens"`
	AuditSavedBytes  int64   `json:"audit_saved_bytes"`

	overhead, ttft histogram
}

// Group is what totals are split by.
type Group struct{ Model, Provider, Key string }

// Filter selects groups; "" selects all.
type Filter struct {
	Model, Provider, Key string
	NoKey                bool // requests without a key, instead of Key
}

func (f Filter) matches(g Group) bool {
	return (f.Model == "" || f.Model == g.Model) && (f.Provider == "" || f.Provider == g.Provider) && (f.Key == "" || f.Key == g.Key) && !(f.NoKey && g.Key != "")
}

// Bounds of what is kept.
const (
	minutes   = 24 * 60
	hours     = 30 * 24
	maxGroups = 256 // per bucket; what comes later counts as "other"
	maxRecent = 200
)

// bucket are the totals of one minute or hour.
type bucket struct {
	start  time.Time
	groups map[Group]*Totals
}

// Recorder takes in samples. It is safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex
	now     func() time.Time
	minutes ring
	hours   ring
	recent  [maxRecent]Sample
	count   int64 // samples so far
	changed chan struct{}
	since   time.Time
}

// New returns an empty recorder. now is the clock.
func New(now func() time.Time) *Recorder {
	return &Recorder{
		now:     now,
		minutes: ring{step: time.Minute, buckets: make([]bucket, minutes)},
		hours:   ring{step: time.Hour, buckets: make([]bucket, hours)},
		since:   now(),
	}
}

// ring keeps the buckets of one resolution; a bucket's place is its time.
type ring struct {
	step    time.Duration
	buckets []bucket
}

func (r *ring) at(t time.Time) *bucket {
	start := t.Truncate(r.step)
	b := &r.buckets[int(start.Unix()/int64(r.step/time.Second))%len(r.buckets)]
	if !b.start.Equal(start) {
		*b = bucket{start: start, groups: make(map[Group]*Totals)}
	}
	return b
}

// Observe takes in s.
func (r *Recorder) Observe(s Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := Group{s.Model, s.Provider, s.Key}
	for _, ring := range []*ring{&r.minutes, &r.hours} {
		b := ring.at(s.Time)
		t := b.groups[g]
		if t == nil {
			if len(b.groups) >= maxGroups {
				g = Group{"other", "other", "other"}
				t = b.groups[g]
			}
			if t == nil {
				t = new(Totals)
				b.groups[g] = t
			}
		}
		t.add(&s)
	}
	r.recent[r.count%maxRecent] = s
	r.count++
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Changed is closed when the next sample arrives.
func (r *Recorder) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

func (t *Totals) add(s *Sample) {
	t.Requests++
	if s.Status >= 400 {
		t.Errors++
	}
	switch s.Cache {
	case "HIT":
		t.Hits++
	case "HIT-SIMILAR":
		t.HitsSimilar++
	case "MISS":
		t.Misses++
	}
	t.InputTokens += s.InputTokens
	t.OutputTokens += s.OutputTokens
	t.CacheReadTokens += s.CacheReadTokens
	t.CacheWriteTokens += s.CacheWriteTokens
	t.ReasoningTokens += s.ReasoningTokens
	t.SavedTokens += s.SavedTokens
	t.SavedBytes += s.SavedBytes
	t.CostUSD += s.CostUSD
	t.SavedUSD += s.SavedUSD
	t.CacheSavedUSD += s.CacheSavedUSD
	t.AuditSavedTokens += s.AuditSavedTokens
	t.AuditSavedBytes += s.AuditSavedBytes
	t.overhead.add(s.OverheadMS)
	if s.TTFTMS > 0 {
		t.ttft.add(s.TTFTMS)
	}
}

// merge adds o to t.
func (t *Totals) merge(o *Totals) {
	t.Requests += o.Requests
	t.Errors += o.Errors
	t.Hits += o.Hits
	t.HitsSimilar += o.HitsSimilar
	t.Misses += o.Misses
	t.InputTokens += o.InputTokens
	t.OutputTokens += o.OutputTokens
	t.CacheReadTokens += o.CacheReadTokens
	t.CacheWriteTokens += o.CacheWriteTokens
	t.ReasoningTokens += o.ReasoningTokens
	t.SavedTokens += o.SavedTokens
	t.SavedBytes += o.SavedBytes
	t.CostUSD += o.CostUSD
	t.SavedUSD += o.SavedUSD
	t.CacheSavedUSD += o.CacheSavedUSD
	t.AuditSavedTokens += o.AuditSavedTokens
	t.AuditSavedBytes += o.AuditSavedBytes
	t.overhead.merge(&o.overhead)
	t.ttft.merge(&o.ttft)
}

// Percentiles of a duration, in milliseconds; 0 without samples.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Row are the totals of one name of a group, or of all.
type Row struct {
	Name string `json:"name,omitempty"`
	Totals
	OverheadMS Percentiles `json:"overhead_ms"`
	TTFTMS     Percentiles `json:"ttft_ms"`
}

// Point are the totals of one step of time.
type Point struct {
	Start time.Time `json:"start"`
	Row
}

// Summary is what happened in a span of time.
type Summary struct {
	Since       time.Time `json:"since"` // when counting began
	From        time.Time `json:"from"`
	To          time.Time `json:"to"`
	StepSeconds int       `json:"step_seconds"`
	Total       Row       `json:"total"`
	Points      []Point   `json:"points"` // steps with requests only
	Models      []Row     `json:"models"`
	Providers   []Row     `json:"providers"`
	Keys        []Row     `json:"keys"`
}

// Summarize sums up the last span: by minute up to 24 hours, by hour beyond,
// up to 30 days.
func (r *Recorder) Summarize(span time.Duration, f Filter) Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	source := &r.minutes
	if span > minutes*time.Minute {
		source = &r.hours
	}
	s := Summary{Since: r.since, From: now.Add(-span), To: now, StepSeconds: int(source.step / time.Second)}
	var total Totals
	by := [3]map[string]*Totals{{}, {}, {}}
	for i := range source.buckets {
		b := &source.buckets[i]
		if b.groups == nil || b.start.Add(source.step).Before(s.From) || b.start.After(now) {
			continue
		}
		var point Totals
		for g, t := range b.groups {
			if !f.matches(g) {
				continue
			}
			point.merge(t)
			for dim, name := range [3]string{g.Model, g.Provider, g.Key} {
				if by[dim][name] == nil {
					by[dim][name] = new(Totals)
				}
				by[dim][name].merge(t)
			}
		}
		if point.Requests > 0 {
			s.Points = append(s.Points, Point{b.start, row("", &point)})
			total.merge(&point)
		}
	}
	slices.SortFunc(s.Points, func(a, b Point) int { return a.Start.Compare(b.Start) })
	s.Total = row("", &total)
	for dim, list := range []*[]Row{&s.Models, &s.Providers, &s.Keys} {
		*list = rows(by[dim])
	}
	return s
}

func row(name string, t *Totals) Row {
	return Row{Name: name, Totals: *t, OverheadMS: t.overhead.percentiles(), TTFTMS: t.ttft.percentiles()}
}

// rows are sorted by requests, then name.
func rows(m map[string]*Totals) []Row {
	out := make([]Row, 0, len(m))
	for name, t := range m {
		out = append(out, row(name, t))
	}
	slices.SortFunc(out, func(a, b Row) int {
		if a.Requests != b.Requests {
			return int(b.Requests - a.Requests)
		}
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

// Recent are up to n of the last requests, the newest first.
func (r *Recorder) Recent(n int, f Filter) []Sample {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []Sample{}
	for i := r.count - 1; i >= 0 && i >= r.count-maxRecent && len(out) < n; i-- {
		s := r.recent[i%maxRecent]
		if f.matches(Group{s.Model, s.Provider, s.Key}) {
			out = append(out, s)
		}
	}
	return out
}
