package optimize_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
)

// benchProfiles are the bodies of the issue: 96.9 and 633.4 KiB.
var benchProfiles = []testbody.Profile{testbody.ProfileLarge, testbody.ProfileHuge}

// perByte reports what a body cost in nanoseconds per byte.
func perByte(b *testing.B, bytes int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(bytes), "ns/byte")
}

// work is the whole way of a body, view and splice included.
func work(b *testing.B, req *adapter.Request, body []byte, passes []optimize.Pass, dst []byte) optimize.Result {
	if err := req.Parse(adapter.Chat, body); err != nil {
		b.Fatal(err)
	}
	res := optimize.Run(req, passes, dst)
	if res.Panic != nil {
		b.Fatal(res.Panic.Value)
	}
	return res
}

// BenchmarkUntouched: nothing applies, so nothing is allocated.
// Budget: 1 ns/byte, 0 allocs. The naive way beside it decodes into maps of raw
// messages and encodes them again.
func BenchmarkUntouched(b *testing.B) {
	for _, profile := range benchProfiles {
		body := testbody.Body(profile)
		// The system prompt has its directive, no text is reasoning, and the
		// conversation is shorter than its reserve.
		for _, header := range []string{"reasoning=auto", "headroom=conservative;reserve=10000000", "headroom=conservative;reserve=400000", "rtk=light, reasoning=auto, headroom=conservative;reserve=400000"} {
			passes, _ := passesOf(b, header)
			b.Run(fmt.Sprint(profile, "/", modeName(header)), func(b *testing.B) {
				req := new(adapter.Request)
				if work(b, req, body, passes, nil).Body != nil {
					b.Skip("it does apply")
				}
				b.ReportAllocs()
				for b.Loop() {
					work(b, req, body, passes, nil)
				}
				perByte(b, len(body))
			})
		}
		b.Run(fmt.Sprint(profile, "/naive"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				naive(b, body)
			}
			perByte(b, len(body))
		})
	}
}

func naive(b *testing.B, body []byte) []byte {
	var root map[string]json.RawMessage
	if err := json.Unmarshal(body, &root); err != nil {
		b.Fatal(err)
	}
	var messages []map[string]json.RawMessage
	if err := json.Unmarshal(root["messages"], &messages); err != nil {
		b.Fatal(err)
	}
	list, err := json.Marshal(messages)
	if err != nil {
		b.Fatal(err)
	}
	root["messages"] = list
	out, err := json.Marshal(root)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// working are modes in which every body of the benchmarks is changed.
var working = []string{
	"rtk=auto", "caveman=full", "headroom=aggressive;reserve=12000", "squoze=on",
	"rtk=auto, reasoning=auto, headroom=aggressive;reserve=12000, caveman=auto",
}

// BenchmarkFirstSight: no text of the body was seen before. Budget: 6 ns/byte.
func BenchmarkFirstSight(b *testing.B) {
	for _, profile := range benchProfiles {
		for _, header := range working {
			passes, _ := passesOf(b, header)
			b.Run(fmt.Sprint(profile, "/", modeName(header)), func(b *testing.B) {
				req := new(adapter.Request)
				bodies := make([][]byte, 24)
				dst := make([]byte, 0, testbody.HugeSize+4096)
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					if n%len(bodies) == 0 {
						b.StopTimer()
						for i := range bodies {
							freshBodies++
							bodies[i] = testbody.Fresh(profile, freshBodies)
						}
						b.StartTimer()
					}
					work(b, req, bodies[n%len(bodies)], passes, dst)
					n++
				}
				perByte(b, len(bodies[0]))
			})
		}
	}
}

// freshBodies numbers the bodies of all runs, as what passes remember lives on.
var freshBodies uint64

// BenchmarkSeenBefore: the same body again. Budget: 1.5 ns/byte.
func BenchmarkSeenBefore(b *testing.B) {
	for _, profile := range benchProfiles {
		body := testbody.Fresh(profile, 1<<40)
		for _, header := range working {
			passes, _ := passesOf(b, header)
			b.Run(fmt.Sprint(profile, "/", modeName(header)), func(b *testing.B) {
				req := new(adapter.Request)
				dst := make([]byte, 0, len(body)+4096)
				for range 3 { // an entry has to be asked for to stay
					work(b, req, body, passes, dst)
				}
				b.ReportAllocs()
				for b.Loop() {
					work(b, req, body, passes, dst)
				}
				perByte(b, len(body))
			})
		}
	}
}
