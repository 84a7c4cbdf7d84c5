package similar

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// The benchmarks compare with L, the linear scan over sorted hashes with size
// pruning of scan_test.go, which runs in the same benchmark on the same
// entries; its time is reported as scan-ns, the own as cpu-ns and the factor as x. /4096 and /1M
// are the entries of the one partition that is searched. Unless the name says
// otherwise the guard is off, which leaves the whole work to the index.

// traffic is the questions a benchmark inserts and asks.
type traffic struct {
	name string
	next func(r *rand.Rand) []uint64
}

var (
	mixedTraffic    = traffic{"mixed", texts(12, 60, 20000)}
	oneSizeTraffic  = traffic{"one-size", oneSize(32, 20000)}
	templateTraffic = traffic{"template", template(36, 4, 1000)}
)

// oneSize gives texts of exactly n distinct words.
func oneSize(n, vocabulary int) func(r *rand.Rand) []uint64 {
	return func(r *rand.Rand) []uint64 {
		words := make([]uint64, 0, n)
		for len(words) < n {
			w := zipf(r, vocabulary)
			if !contains(words, w) {
				words = append(words, w)
			}
		}
		return words
	}
}

func contains(words []uint64, w uint64) bool {
	for _, v := range words {
		if v == w {
			return true
		}
	}
	return false
}

const benchThreshold = 0.95

// filled is an index of n entries, with a scan of the same if n is small.
type filled struct {
	x    *Index
	scan scanIndex
}

var fills sync.Map // of *filled by traffic and size, made once a run

func fill(tr traffic, n int) *filled {
	key := fmt.Sprint(tr.name, n)
	if f, ok := fills.Load(key); ok {
		return f.(*filled)
	}
	f := &filled{x: New(Options{})}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		q := questionOf(tr.next(r), Key{})
		f.x.Insert(Key{}, q, hashed(uint64(i)), 1)
		if n <= 4096 {
			f.scan.insert(Key{}, q, hashed(uint64(i)), 1)
		}
	}
	fills.Store(key, f)
	return f
}

// ask returns questions: hits lack one word of an entry, misses come from
// another stream of the same traffic, and far ones are of a size out of reach.
func (f *filled) ask(tr traffic, kind string, count int) []*Question {
	r := rand.New(rand.NewPCG(2, 2))
	same := rand.New(rand.NewPCG(1, 1))
	var out []*Question
	for len(out) < count {
		var q *Question
		switch kind {
		case "hit":
			q = questionOf(tr.next(same), Key{})
			if len(q.words) < 20 {
				continue
			}
			at := r.IntN(len(q.words))
			q = questionOf(append(q.words[:at:at], q.words[at+1:]...), Key{})
		case "far":
			q = questionOf(texts(400, 400, 1000000)(r), Key{})
		default:
			q = questionOf(tr.next(r), Key{})
		}
		if _, _, ok := f.x.Search(Key{}, q, benchThreshold, 0); ok == (kind == "hit") {
			out = append(out, q)
		}
	}
	return out
}

// against runs do, and L beside it where there is one. Both are timed by the
// processor time they take, cpu-ns and scan-ns, and x is the quotient.
func (f *filled) against(b *testing.B, questions []*Question, do func(i int)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b.ReportAllocs()
	begin := cpuTime()
	for i := 0; b.Loop(); i++ {
		do(i)
	}
	own := float64(cpuTime()-begin) / float64(b.N)
	b.ReportMetric(own, "cpu-ns")
	if len(f.scan.list) == 0 {
		return
	}
	begin = cpuTime()
	rounds := 0
	for ; cpuTime()-begin < 200*time.Millisecond; rounds++ {
		f.scan.search(Key{}, questions[rounds%len(questions)], benchThreshold, 0, true)
	}
	l := float64(cpuTime()-begin) / float64(rounds)
	b.ReportMetric(l, "scan-ns")
	b.ReportMetric(l/own, "x")
}

var sizes = []struct {
	name string
	n    int
}{{"4096", 4096}, {"1M", 1 << 20}}

func benchmarkSearch(b *testing.B, tr traffic, kind string) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			f := fill(tr, size.n)
			questions := f.ask(tr, kind, 1024)
			f.against(b, questions, func(i int) {
				_, _, ok := f.x.Search(Key{}, questions[i%1024], benchThreshold, 0)
				if ok != (kind == "hit") {
					b.Fatal("not a " + kind)
				}
			})
		})
	}
}

func BenchmarkSimilarMiss(b *testing.B)         { benchmarkSearch(b, mixedTraffic, "miss") }
func BenchmarkSimilarHit(b *testing.B)          { benchmarkSearch(b, mixedTraffic, "hit") }
func BenchmarkSimilarSizePruned(b *testing.B)   { benchmarkSearch(b, mixedTraffic, "far") }
func BenchmarkSimilarOneSizeMiss(b *testing.B)  { benchmarkSearch(b, oneSizeTraffic, "miss") }
func BenchmarkSimilarTemplateMiss(b *testing.B) { benchmarkSearch(b, templateTraffic, "miss") }
func BenchmarkSimilarTemplateHit(b *testing.B)  { benchmarkSearch(b, templateTraffic, "hit") }

// BenchmarkSimilarInsertEvict replaces the oldest entry. Guarded traffic is what
// the default guard makes of it: each question has a fingerprint of its own.
func BenchmarkSimilarInsertEvict(b *testing.B) {
	for _, tr := range []traffic{{"guarded", mixedTraffic.next}, mixedTraffic, templateTraffic} {
		for _, size := range sizes {
			b.Run(tr.name+"/"+size.name, func(b *testing.B) {
				x := New(Options{})
				r := rand.New(rand.NewPCG(3, 3))
				questions := make([]*Question, 8192)
				next := func() *Question {
					q := questionOf(tr.next(r), Key{})
					if tr.name == "guarded" {
						q.fingerprint = Key{r.Uint64(), r.Uint64()}
					}
					return q
				}
				for i := range questions {
					questions[i] = next()
				}
				for i := range size.n {
					x.Insert(Key{}, next(), uint64(i), 1)
				}
				var f filled
				f.against(b, nil, func(i int) {
					x.Delete(uint64(i))
					x.Insert(Key{}, questions[i%len(questions)], uint64(i+size.n), 1)
				})
				b.ReportMetric(float64(x.Bytes())/float64(size.n), "B/entry")
			})
		}
	}
}

// sampleText makes a text of n words.
func sampleText(r *rand.Rand, n int) []byte {
	var s strings.Builder
	for i := range n {
		if i > 0 {
			s.WriteByte(' ')
		}
		for v := 1 + uint64(20000*cube(r.Float64())); v > 0; v /= 20 {
			s.WriteString([]string{"ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "ta", "ve", "wi", "xo", "zu", "sha", "tre", "qui", "ol", "ur"}[v%20])
		}
	}
	s.WriteByte('?')
	return []byte(s.String())
}

func cube(f float64) float64 { return f * f * f }

// BenchmarkSimilarDecision is all that a request costs: the text to words, the
// words to a verdict.
func BenchmarkSimilarDecision(b *testing.B) {
	for _, guard := range []Guard{Off, Lexical} {
		for _, size := range sizes {
			b.Run(guard.String()+"/"+size.name, func(b *testing.B) {
				f := &filled{x: New(Options{})}
				r := rand.New(rand.NewPCG(4, 4))
				var q Question
				for i := range size.n {
					if Prepare(&q, sampleText(r, 12+r.IntN(49)), guard) {
						f.x.Insert(Key{}, &q, hashed(uint64(i)), 1)
						if size.n <= 4096 {
							q.fingerprint = Key{} // L has no guard
							f.scan.insert(Key{}, &q, hashed(uint64(i)), 1)
						}
					}
				}
				asked := make([][]byte, 1024)
				questions := make([]*Question, 1024)
				for i := range asked {
					asked[i] = sampleText(r, 36)
					questions[i] = new(Question)
					Prepare(questions[i], asked[i], Off)
					questions[i].fingerprint = Key{}
				}
				b.SetBytes(int64(len(asked[0])))
				f.against(b, questions, func(i int) {
					if Prepare(&q, asked[i%1024], guard) {
						f.x.Search(Key{}, &q, benchThreshold, 0)
					}
				})
			})
		}
	}
}

// BenchmarkSimilarGateRejects asks with too few words to take part.
func BenchmarkSimilarGateRejects(b *testing.B) {
	texts := [][]byte{
		[]byte("ok, go on"),
		[]byte("Why does the build fail on my machine?"),
		[]byte("yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes"),
	}
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			f := fill(mixedTraffic, size.n)
			questions := f.ask(mixedTraffic, "miss", 1024)
			var q Question
			f.against(b, questions, func(i int) {
				if Prepare(&q, texts[i%len(texts)], Lexical) {
					b.Fatal("passed the gate")
				}
			})
		})
	}
}
