package optimize_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/caveman"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/headroom"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/rtk"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/squoze"
)

// send does what a gateway does with a body: it asks what is known, and else
// runs the passes.
func send(t testing.TB, r *optimize.Repeats, passes []optimize.Pass, tenant string, body []byte) (out []byte, res optimize.Result, known bool) {
	t.Helper()
	key := r.Key(passes, adapter.Chat, tenant, body)
	res, edits, known, again := r.Find(key, body)
	if known {
		return jsonspan.Splice(nil, body, edits), res, true
	}
	req := new(adapter.Request)
	if err := req.Parse(adapter.Chat, body); err != nil {
		t.Fatal(err)
	}
	if again {
		res, edits = r.EditsAgain(key, req, passes)
		return jsonspan.Splice(nil, body, edits), res, false
	}
	if res = optimize.Run(req, passes, nil); res.Body == nil {
		return body, res, false
	}
	return res.Body, res, false
}

// repeatable are lists of real passes.
func repeatable(t testing.TB) map[string][]optimize.Pass {
	r, err := rtk.New("standard", rtk.NewMemo(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	c, _ := caveman.New("full")
	h, _ := headroom.New("aggressive", 0, 0)
	s := squoze.New(squoze.Config{Originals: squoze.NewOriginals(64 << 20)}).Pass("tenant")
	return map[string][]optimize.Pass{"rtk": {r}, "caveman": {c}, "headroom": {h}, "all": {r, h, c}, "squoze": {s}, "squoze and caveman": {s, c}}
}

// What is remembered of a body is what the passes make of it again, from the
// third time on, and nothing is known of a body that differs in one byte.
func TestRepeats(t *testing.T) {
	bodies := map[string][]byte{
		"small": testbody.Body(testbody.ProfileSmall), "large": testbody.Body(testbody.ProfileLarge), "huge": testbody.Body(testbody.ProfileHuge),
		"tests": []byte(chatOf("go test ./...", strings.Repeat("ok  \texample.test/a\t0.01s\n", 400)+"--- FAIL: TestA (0.01s)\n    a_test.go:1: got 1\nFAIL")),
	}
	for name, passes := range repeatable(t) {
		for kind, body := range bodies {
			t.Run(name+"/"+kind, func(t *testing.T) {
				r := optimize.NewRepeats(16 << 20)
				want, first, _ := send(t, r, passes, "", body)
				for i := range 4 {
					again := bytes.Clone(body) // other memory
					got, res, known := send(t, r, passes, "", again)
					if !bytes.Equal(got, want) || !bytes.Equal(again, body) {
						t.Fatalf("time %d: another body", i+2)
					}
					if known != (i > 0) {
						t.Errorf("time %d: known is %v", i+2, known)
					}
					first.Body, res.Body = nil, nil
					if a, b := fmt.Sprintf("%+v", plainReports(first)), fmt.Sprintf("%+v", plainReports(res)); a != b {
						t.Errorf("time %d: reported %s, the first time %s", i+2, b, a)
					}
				}
				differ := 0
				for _, at := range []int{len(body) / 4, len(body) / 3, len(body) / 2, len(body) - len(body)/3, len(body) - len(body)/5} {
					other := bytes.Clone(body)
					for ; at < len(other) && (other[at] < 'a' || other[at] > 'y' || other[at-1] == '\\'); at++ {
					}
					if at == len(other) {
						continue
					}
					other[at]++
					if new(adapter.Request).Parse(adapter.Chat, other) != nil {
						continue // not in a text
					}
					want, _, _ := send(t, optimize.NewRepeats(0), passes, "", other)
					got, _, known := send(t, r, passes, "", other)
					differ++
					if known || !bytes.Equal(got, want) {
						t.Errorf("byte %d differs: known %v, as it should be %v", at, known, bytes.Equal(got, want))
					}
				}
				if differ == 0 {
					t.Error("no other body was tried")
				}
				if _, _, known := send(t, r, passes, "another", body); known {
					t.Error("known for another tenant")
				}
				if other := append([]optimize.Pass(nil), passes...); true {
					if _, _, known := send(t, r, other, "", body); known {
						t.Error("known for another list of passes")
					}
				}
			})
		}
	}
}

// plainReports is res without what cannot be compared.
func plainReports(res optimize.Result) optimize.Result {
	res.Passes = append([]optimize.Report(nil), res.Passes...)
	for i := range res.Passes {
		res.Passes[i].Renew = nil
	}
	return res
}

// chatOf is a chat request with the output of a command.
func chatOf(command, output string) string {
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"shell","arguments":%q}}]},{"role":"tool","tool_call_id":"c","content":%q}]}`,
		fmt.Sprintf(`{"command":%q}`, command), output)
}

// Two bodies that agree in all the bytes that are looked at first are still two.
func TestRepeatsCompareInFull(t *testing.T) {
	passes := repeatable(t)["caveman"]
	r := optimize.NewRepeats(16 << 20)
	body := []byte(chatOf("x", strings.Repeat("a", 100_000)))
	for range 3 {
		send(t, r, passes, "", body)
	}
	hidden := 0
	for at := 1000; at < 90_000; at += 997 {
		other := bytes.Clone(body)
		other[at] = 'b'
		if r.Key(passes, adapter.Chat, "", other) != r.Key(passes, adapter.Chat, "", body) {
			continue
		}
		hidden++
		if got, _, known := send(t, r, passes, "", other); known || !bytes.Contains(got, []byte("aba")) {
			t.Fatalf("byte %d: taken for the other body", at)
		}
	}
	if hidden < 50 {
		t.Errorf("only %d bodies with the same key were tried", hidden)
	}
}

func TestRepeatsAreBounded(t *testing.T) {
	const limit = 1 << 20
	passes := repeatable(t)["caveman"]
	r := optimize.NewRepeats(limit)
	for i := range 100 {
		body := []byte(chatOf("x", strings.Repeat(fmt.Sprint(i, " "), 10_000)))
		for range 3 {
			send(t, r, passes, "", body)
		}
		if n, size := r.Usage(); size > limit || n == 0 {
			t.Fatalf("%d bodies in %d bytes of %d", n, size, limit)
		}
	}
	if n, _ := r.Usage(); n < 5 {
		t.Errorf("only %d bodies of 30 KiB in 1 MiB", n)
	}
	tooLarge := []byte(chatOf("x", strings.Repeat("a", limit/2)))
	for range 4 {
		if _, _, known := send(t, r, passes, "", tooLarge); known {
			t.Error("a body of half the limit is held")
		}
	}
}

// A body that comes again keeps the originals of what was elided from it; where
// they had to make room it is worked on again, which brings them back.
func TestRepeatsKeepOriginals(t *testing.T) {
	originals := squoze.NewOriginals(256 << 10)
	passes := []optimize.Pass{squoze.New(squoze.Config{Originals: originals}).Pass("tenant")}
	r := optimize.NewRepeats(16 << 20)
	output := "--- FAIL: TestA (0.01s)\n    a_test.go:1: got 1\n" + strings.Repeat("ok  \texample.test/a\t0.01s\n", 1000) + "FAIL"
	body := []byte(chatOf("go test ./...", output))
	for range 3 {
		send(t, r, passes, "", body)
	}
	if n, _ := originals.Usage(); n != 1 {
		t.Fatalf("%d originals after the body came three times, want 1", n)
	}
	for i := range 30 { // others push it out
		originals.Keep("tenant", fmt.Sprint("other", i), bytes.Repeat([]byte("x"), 20_000))
	}
	want, _, known := send(t, r, passes, "", body)
	if known {
		t.Error("answered from what is known, but the original is gone")
	}
	entries, _ := originals.Usage()
	again, _, known := send(t, r, passes, "", body)
	if now, _ := originals.Usage(); !known || now != entries || !bytes.Equal(again, want) {
		t.Errorf("known %v, %d originals, before %d", known, now, entries)
	}
}

func TestRepeatsConcurrently(t *testing.T) {
	passes := repeatable(t)["all"]
	r := optimize.NewRepeats(1 << 20)
	var bodies, wants [][]byte
	for i := range 8 {
		body := []byte(chatOf("go test ./...", strings.Repeat(fmt.Sprintf("ok  \texample.test/a%d\t0.01s\n", i), 2000)))
		want, _, _ := send(t, optimize.NewRepeats(0), passes, "", body)
		bodies, wants = append(bodies, body), append(wants, want)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 60 {
				n := (i*7 + g) % len(bodies)
				if got, _, _ := send(t, r, passes, "", bodies[n]); !reflect.DeepEqual(got, wants[n]) {
					t.Errorf("body %d became another", n)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Like finds the body that was remembered, by its length and beginning, for as
// long as it is held; and Find knows that very piece of memory.
func TestRepeatsLike(t *testing.T) {
	c, _ := caveman.New("full")
	passes := []optimize.Pass{c}
	r := optimize.NewRepeats(1 << 20)
	body := testbody.Body(testbody.ProfileLarge)
	if r.Like(len(body), body[:10]) != nil {
		t.Error("an empty store knows a body")
	}
	for range 2 {
		send(t, r, passes, "", body)
	}
	known := r.Like(len(body), body[:4000])
	if !bytes.Equal(known, body) {
		t.Fatalf("%d bytes of %d", len(known), len(body))
	}
	if _, _, found := send(t, r, passes, "", known); !found {
		t.Error("not found")
	}
	if r.Like(len(body)+1, body[:10]) != nil || r.Like(len(body), []byte("other")) != nil || r.Like(len(body), append(bytes.Clone(body), '!')) != nil {
		t.Error("a body of another length or beginning is taken for it")
	}
	for i := range uint64(16) { // push it out
		other := testbody.Fresh(testbody.ProfileLarge, i)
		for range 2 {
			send(t, r, passes, "", other)
		}
	}
	if entries, size := r.Usage(); size > 1<<20 || entries == 0 {
		t.Errorf("%d entries of %d bytes", entries, size)
	}
	if bytes.Equal(r.Like(len(body), body[:4000]), body) {
		t.Error("a body that is not held is found")
	}
}
