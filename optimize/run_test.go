package optimize_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/caveman"
)

// pass is a pass made for a test.
type pass struct {
	name, level string
	apply       func(d *optimize.Draft) optimize.Outcome
}

func (p pass) Name() string                             { return p.name }
func (p pass) Level() string                            { return p.level }
func (p pass) Apply(d *optimize.Draft) optimize.Outcome { return p.apply(d) }

// set puts text, encoded, in the place of block i.
func set(i int, text string) func(*optimize.Draft) optimize.Outcome {
	return func(d *optimize.Draft) optimize.Outcome {
		d.New[i] = []byte(text)
		return optimize.Outcome{Blocks: len(d.New), Changed: 1}
	}
}

// drop drops messages.
func drop(messages ...int) func(*optimize.Draft) optimize.Outcome {
	return func(d *optimize.Draft) optimize.Outcome {
		for _, i := range messages {
			d.Drop[i] = true
		}
		return optimize.Outcome{Changed: len(messages)}
	}
}

// insert adds text at a byte of the body.
func insert(at, added int, text string) func(*optimize.Draft) optimize.Outcome {
	return func(d *optimize.Draft) optimize.Outcome {
		d.Insert = append(d.Insert, jsonspan.Edit{Span: jsonspan.Span{Start: at, End: at}, New: []byte(text)})
		return optimize.Outcome{Changed: 1, Added: added}
	}
}

const three = `{ "messages":[ {"role":"user","content":"one <&> \u00e9 1"} , {"role":"assistant","content":"two two two"}, {"role":"user","content":"three, three"} ],"n":1.0}`

func view(t testing.TB, body string) *adapter.Request {
	t.Helper()
	req := new(adapter.Request)
	if err := req.Parse(adapter.Chat, []byte(body)); err != nil {
		t.Fatal(err)
	}
	return req
}

func TestRunAppliesAllPassesInOneSplice(t *testing.T) {
	for _, c := range []struct {
		name   string
		passes []func(*optimize.Draft) optimize.Outcome
		want   string
	}{
		{"one text", []func(*optimize.Draft) optimize.Outcome{set(1, `"2"`)},
			`{ "messages":[ {"role":"user","content":"one <&> \u00e9 1"} , {"role":"assistant","content":"2"}, {"role":"user","content":"three, three"} ],"n":1.0}`},
		{"the later text wins", []func(*optimize.Draft) optimize.Outcome{set(1, `"two two"`), set(1, `"2"`), set(0, `"1"`)},
			`{ "messages":[ {"role":"user","content":"1"} , {"role":"assistant","content":"2"}, {"role":"user","content":"three, three"} ],"n":1.0}`},
		{"the first message goes", []func(*optimize.Draft) optimize.Outcome{drop(0)},
			`{ "messages":[ {"role":"assistant","content":"two two two"}, {"role":"user","content":"three, three"} ],"n":1.0}`},
		{"the middle one goes", []func(*optimize.Draft) optimize.Outcome{drop(1)},
			`{ "messages":[ {"role":"user","content":"one <&> \u00e9 1"} , {"role":"user","content":"three, three"} ],"n":1.0}`},
		{"the last one goes", []func(*optimize.Draft) optimize.Outcome{drop(2)},
			`{ "messages":[ {"role":"user","content":"one <&> \u00e9 1"} , {"role":"assistant","content":"two two two"} ],"n":1.0}`},
		{"the first two go", []func(*optimize.Draft) optimize.Outcome{drop(0, 1)},
			`{ "messages":[ {"role":"user","content":"three, three"} ],"n":1.0}`},
		{"the last two go", []func(*optimize.Draft) optimize.Outcome{drop(2), drop(1)},
			`{ "messages":[ {"role":"user","content":"one <&> \u00e9 1"} ],"n":1.0}`},
		{"first and last go", []func(*optimize.Draft) optimize.Outcome{drop(0, 2)},
			`{ "messages":[ {"role":"assistant","content":"two two two"} ],"n":1.0}`},
		{"a changed text goes with its message", []func(*optimize.Draft) optimize.Outcome{set(1, `"2"`), drop(1)},
			`{ "messages":[ {"role":"user","content":"one <&> \u00e9 1"} , {"role":"user","content":"three, three"} ],"n":1.0}`},
		{"something in the place of a message", []func(*optimize.Draft) optimize.Outcome{drop(1), insert(strings.Index(three, `{"role":"assistant"`), 2, `7,`)},
			`{ "messages":[ {"role":"user","content":"one <&> \u00e9 1"} , 7,{"role":"user","content":"three, three"} ],"n":1.0}`},
		{"nothing", []func(*optimize.Draft) optimize.Outcome{func(*optimize.Draft) optimize.Outcome { return optimize.Outcome{Blocks: 9} }}, ""},
	} {
		var passes []optimize.Pass
		for i, f := range c.passes {
			passes = append(passes, pass{fmt.Sprint("pass", i), "on", f})
		}
		res := optimize.Run(view(t, three), passes, []byte("already here "))
		if res.Panic != nil {
			t.Errorf("%s: fault %v", c.name, res.Panic.Value)
			continue
		}
		if c.want == "" {
			if res.Body != nil || res.SavedBytes != 0 || res.Passes != nil {
				t.Errorf("%s: %+v", c.name, res)
			}
			continue
		}
		if got, ok := strings.CutPrefix(string(res.Body), "already here "); got != c.want || !ok {
			t.Errorf("%s:\n got %s\nwant %s", c.name, res.Body, c.want)
		}
		sum := 0
		for i, p := range res.Passes {
			sum += p.SavedBytes
			if p.Name != fmt.Sprint("pass", i) || p.Level != "on" {
				t.Errorf("%s: report %+v", c.name, p)
			}
		}
		if saved := len(three) - len(c.want); res.SavedBytes != saved || sum != saved {
			t.Errorf("%s: %d bytes saved, reported %d, by passes %d", c.name, saved, res.SavedBytes, sum)
		}
	}
}

// TestFaultyPass: whatever a pass does wrong, the request goes out as it came,
// even if other passes did well.
func TestFaultyPass(t *testing.T) {
	boom := errors.New("boom")
	for name, f := range map[string]func(*optimize.Draft) optimize.Outcome{
		"panic":             func(*optimize.Draft) optimize.Outcome { panic(boom) },
		"index":             func(d *optimize.Draft) optimize.Outcome { d.New[99] = nil; return optimize.Outcome{} },
		"no string":         set(1, `2`),
		"no quotes":         set(1, `two`),
		"open string":       set(1, `"two`),
		"bad escape":        set(1, `"\q"`),
		"control byte":      set(1, "\"a\nb\""),
		"two strings":       set(1, `"a","b"`),
		"space around":      set(1, ` "a" `),
		"emptied":           set(1, `""`),
		"bad UTF-8":         set(1, "\"a\xff\""),
		"larger":            set(1, `"two two two two"`),
		"inserts":           insert(13, 0, `{"role":"user","content":"x"},`),
		"inserts more":      insert(13, 5, `{"role":"user","content":"x"},`),
		"everything goes":   drop(0, 1, 2),
		"edits a dropped":   func(d *optimize.Draft) optimize.Outcome { drop(1)(d); return insert(80, 99, "x")(d) },
		"edits out of body": insert(len(three)+1, 99, "x"),
		"New too short":     func(d *optimize.Draft) optimize.Outcome { d.New = d.New[:1]; return optimize.Outcome{Changed: 1} },
		"Drop too short":    func(d *optimize.Draft) optimize.Outcome { d.Drop = nil; return optimize.Outcome{Changed: 1} },
	} {
		good := pass{"good", "on", set(0, `"1"`)}
		for _, passes := range [][]optimize.Pass{
			{pass{"bad", "", f}}, {good, pass{"bad", "", f}}, {pass{"bad", "", f}, good},
		} {
			req := view(t, three)
			res := optimize.Run(req, passes, nil)
			if res.Panic == nil || res.Panic.Pass != "bad" || res.Panic.Value == nil {
				t.Errorf("%s: no fault: %+v, body %s", name, res, res.Body)
				continue
			}
			if name == "panic" && (res.Panic.Value != boom || !strings.Contains(string(res.Panic.Stack), "TestFaultyPass")) {
				t.Errorf("panic: %v\n%s", res.Panic.Value, res.Panic.Stack)
			}
			if res.Body != nil || res.SavedBytes != 0 || res.SavedTokens != 0 || res.Passes != nil {
				t.Errorf("%s: something was reported beside the fault: %+v", name, res)
			}
			if string(req.Doc.Source()) != three {
				t.Errorf("%s: the request itself was changed", name)
			}
			// The pooled draft is clean again.
			if res := optimize.Run(req, []optimize.Pass{good}, nil); res.Panic != nil || res.SavedBytes != len(`one <&> \u00e9 1`)-1 {
				t.Errorf("%s: the next request suffers: %+v", name, res)
			}
		}
	}
}

func TestReportsWhatWasDone(t *testing.T) {
	passes := []optimize.Pass{
		pass{"quiet", "on", func(*optimize.Draft) optimize.Outcome { return optimize.Outcome{Blocks: 3} }},
		pass{"noted", "auto", func(*optimize.Draft) optimize.Outcome {
			return optimize.Outcome{Level: "light", Notes: []string{"why not"}}
		}},
		pass{"told", "auto", func(d *optimize.Draft) optimize.Outcome {
			d.New[1] = []byte(`"2"`)
			return optimize.Outcome{Level: "full", Saved: 1_000_000, SavedTokens: 7, Blocks: 3, Changed: 1}
		}},
		pass{"counted", "on", set(2, `"3"`)},
		pass{"grown", "on", insert(len(three)-1, 30, `,"system":"x"`)},
	}
	res := optimize.Run(view(t, three), passes, nil)
	if res.Panic != nil {
		t.Fatal(res.Panic.Value)
	}
	want := []optimize.Report{
		{Name: "noted", Level: "light", Notes: []string{"why not"}},
		{Name: "told", Level: "full", Blocks: 3, Changed: 1, SavedBytes: len("two two two") - 1, SavedTokens: 7},
		{Name: "counted", Level: "on", Blocks: 3, Changed: 1, SavedBytes: len("three, three") - 1, SavedTokens: 2},
		{Name: "grown", Level: "on", Changed: 1, SavedBytes: -len(`,"system":"x"`), SavedTokens: -4},
	}
	if len(res.Passes) != len(want) {
		t.Fatalf("%+v", res.Passes)
	}
	bytes, tokens := 0, 0
	for i, p := range res.Passes {
		w := want[i]
		if (w.SavedTokens > 0) != (p.SavedTokens > 0) || (w.SavedTokens < 0) != (p.SavedTokens < 0) || p.Name == "told" && p.SavedTokens != 7 {
			t.Errorf("%d tokens reported, about %d expected", p.SavedTokens, w.SavedTokens)
		}
		bytes, tokens = bytes+p.SavedBytes, tokens+p.SavedTokens
		w.SavedTokens = p.SavedTokens
		if fmt.Sprintf("%+v", p) != fmt.Sprintf("%+v", w) {
			t.Errorf("report %+v, want %+v", p, w)
		}
	}
	if res.SavedBytes != bytes || res.SavedTokens != tokens || bytes != len(three)-len(res.Body) {
		t.Errorf("sums %d, %d; the body shrank by %d: %+v", bytes, tokens, len(three)-len(res.Body), res)
	}
}

// TestRawIsWhatPassesBeforeMade: a pass sees the texts as they will be sent.
func TestRawIsWhatPassesBeforeMade(t *testing.T) {
	var seen []string
	look := pass{"look", "", func(d *optimize.Draft) optimize.Outcome {
		for i := range d.New {
			seen = append(seen, string(d.Raw(i)))
		}
		return optimize.Outcome{}
	}}
	optimize.Run(view(t, three), []optimize.Pass{pass{"first", "", set(1, `"2"`)}, look}, nil)
	if got, want := strings.Join(seen, " "), `"one <&> \u00e9 1" "2" "three, three"`; got != want {
		t.Errorf("saw %s, want %s", got, want)
	}
}

func TestRequestsWithoutTexts(t *testing.T) {
	called := false
	p := pass{"p", "", func(*optimize.Draft) optimize.Outcome { called = true; return optimize.Outcome{} }}
	for _, body := range []string{`{"messages":[]}`, `{"messages":null}`, `[]`, `{`, ``} {
		var req adapter.Request
		_ = req.Parse(adapter.Chat, []byte(body)) // an error leaves an empty view
		if res := optimize.Run(&req, []optimize.Pass{p}, nil); res.Body != nil || res.Panic != nil || called {
			t.Errorf("%s: %+v, called: %v", body, res, called)
		}
	}
}

// TestUntouchedAllocatesNothing: a request that no optimizer changes leaves
// nothing behind for the garbage collector.
func TestUntouchedAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	body := []byte(strings.Replace(three, `[`, `[{"role":"system","content":"`+caveman.Directive(caveman.Lite)+`"},`, 1))
	for _, f := range []struct {
		format adapter.Format
		body   []byte
	}{
		{adapter.Chat, body},
		{adapter.Chat, testbody.Small()},
		{adapter.Embeddings, []byte(`{"model":"m","input":["a","b"]}`)},
	} {
		for _, header := range []string{"rtk=aggressive", "squoze=on", "reasoning=low", "headroom=auto", "caveman=full", "rtk=auto, reasoning=auto, headroom=auto, caveman=auto"} {
			if strings.Contains(header, "caveman") && string(f.body) == string(testbody.Small()) {
				continue // it has no directive yet
			}
			passes, _ := passesOf(t, header)
			req := new(adapter.Request)
			if n := testing.AllocsPerRun(100, func() {
				if err := req.Parse(f.format, f.body); err != nil {
					t.Fatal(err)
				}
				if res := optimize.Run(req, passes, nil); res.Body != nil || res.Panic != nil {
					t.Fatalf("%s changes %s", header, f.body)
				}
			}); n != 0 {
				t.Errorf("%s, %v: %v allocations", header, f.format, n)
			}
		}
	}
}

// Bytes that are no text, wherever they stand, keep a body as it is.
func TestInvalidUTF8IsLeftAlone(t *testing.T) {
	changes := []optimize.Pass{pass{"a", "x", set(0, `"1"`)}}
	for _, c := range []struct {
		name, body string
		want       bool // whether it is left alone
	}{
		{"in the text that changes", strings.Replace(three, "one", "on\xff", 1), true},
		{"in another text", strings.Replace(three, "three, three", "three \xc3", 1), true},
		{"in a key", strings.Replace(three, `"n"`, "\"n\xe2\x82\"", 1), true},
		{"a surrogate in UTF-8", strings.Replace(three, "one", "one \xed\xa0\x80", 1), true},
		{"valid, beyond ASCII", strings.Replace(three, "one", "één 一 🎉", 1), false},
		{"a lone surrogate, escaped", strings.Replace(three, "one", `\ud800`, 1), false},
	} {
		res := optimize.Run(view(t, c.body), changes, nil)
		if res.Panic != nil {
			t.Fatal(res.Panic.Value)
		}
		if left := res.Body == nil; left != c.want || left != (res.Skipped == optimize.SkippedUTF8) || left && (len(res.Passes) > 0 || res.SavedBytes != 0) {
			t.Errorf("%s: %+v", c.name, res)
		}
		// Where nothing would change there is nothing to say.
		if res := optimize.Run(view(t, c.body), []optimize.Pass{pass{"a", "x", func(*optimize.Draft) optimize.Outcome { return optimize.Outcome{Blocks: 1} }}}, nil); res.Skipped != "" || res.Body != nil {
			t.Errorf("%s, unchanged: %+v", c.name, res)
		}
	}
}
