package squoze

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// jsonRows is a list of n rows, each from format with its number, and what
// stands around them.
func jsonRows(n int, before, format, after string) string {
	var rows []string
	for i := range n {
		rows = append(rows, strings.ReplaceAll(strings.ReplaceAll(format, "{i}", fmt.Sprint(i)), "{w}", strings.Repeat(string(rune('a'+i*7%26)), 3+i%5)))
	}
	return before + "[" + strings.Join(rows, ",") + "]" + after
}

// A sample of the rows says the same as the whole text.
func TestPromises(t *testing.T) {
	long := strings.Repeat("a sentence that is told in no other row {w} ", 2)
	poor := `{"id":{i},"text":"` + long + `{i}"}`
	rich := `{"identifier":{i},"customer":"{w}","currency":"eur","livemode":false,"description":null}`
	for name, tc := range map[string]struct {
		in   string
		want bool
	}{
		"long texts":                       {jsonRows(100, "", poor, ""), false},
		"long texts in an envelope":        {jsonRows(100, `{"object":"list","data":`, poor, `,"has_more":true}`), false},
		"texts with quotes and brackets":   {jsonRows(100, "", `{"id":{i},"text":"\"},{\"id\":`+long+`[{\\"}`, ""), false},
		"short rows":                       {jsonRows(100, "", rich, ""), true},
		"a short text":                     {jsonRows(20, "", poor, ""), true},
		"white space":                      {jsonRows(100, "", `{"id": {i},"text":"`+long+`"}`, ""), true},
		"over several lines":               {jsonRows(100, "", poor+"\n", ""), true},
		"nested values":                    {jsonRows(100, "", `{"id":{i},"text":{"a":"`+long+`"}}`, ""), true},
		"other keys in the middle":         {strings.Replace(jsonRows(100, "", poor, ""), `{"id":52,"text"`, `{"id":52,"other"`, 1), true},
		"rows of another kind behind them": {`{"a":` + jsonRows(60, "", poor, "") + `,"b":` + jsonRows(200, "", rich, "") + `}`, true},
		"rows of another kind before them": {`{"b":` + jsonRows(200, "", rich, "") + `,"a":` + jsonRows(60, "", poor, "") + `}`, true},
		"no rows":                          {"[" + strings.Repeat("1,", 4000) + "1]", true},
		"objects of objects":               {`{"a":` + strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2001), true},
		"a log":                            {strings.Repeat("[12:00:01] counted 3 shelves ", 300), true},
		"cut off":                          {jsonRows(100, "", poor, "")[:4500], false},
	} {
		if got := promises([]byte(tc.in)); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
		if !tc.want {
			var tab tabler
			if out, form := tab.rewrite(nil, []byte(tc.in)); form != jsonKept {
				t.Errorf("%s: %d of %d bytes were to be had", name, len(out), len(tc.in))
			}
		}
	}
}

// TestPromisesEncoded: a glance at an encoded text says no only where the whole
// text has nothing to give, and says so for rows with long texts.
func TestPromisesEncoded(t *testing.T) {
	long := strings.Repeat("a sentence that is told in no other row {w} ", 2)
	poor := `{"id":{i},"text":"` + long + `{i}"}`
	rich := `{"identifier":{i},"customer":"{w}","currency":"eur","livemode":false,"description":null}`
	for name, tc := range map[string]struct {
		in   string
		want bool // a glance is not enough
	}{
		"long texts":                       {jsonRows(100, "", poor, ""), false},
		"long texts in an envelope":        {jsonRows(100, `{"object":"list","data":`, poor, `,"has_more":true}`), false},
		"texts with quotes and brackets":   {jsonRows(100, "", `{"id":{i},"text":"\"},{\"id\":`+long+`[{\\"}`, ""), true},
		"short rows":                       {jsonRows(100, "", rich, ""), true},
		"other keys in the middle":         {strings.Replace(jsonRows(100, "", poor, ""), `{"id":52,"text"`, `{"id":52,"other"`, 1), true},
		"rows of another kind behind them": {`{"a":` + jsonRows(60, "", poor, "") + `,"b":` + jsonRows(200, "", rich, "") + `}`, true},
		"rows of another kind before them": {`{"b":` + jsonRows(200, "", rich, "") + `,"a":` + jsonRows(60, "", poor, "") + `}`, true},
		"no rows":                          {"[" + strings.Repeat("1,", 4000) + "1]", true},
		"white space at the end":           {jsonRows(100, "", poor, "") + " ", true},
	} {
		for pad := range 70 {
			in := []byte(strings.Replace(tc.in, "{w}", strings.Repeat("w", pad), 1))
			raw := jsonspan.AppendQuoted(nil, in)
			inner := raw[1 : len(raw)-1]
			got := true
			if jsonspan.CompactText(inner) {
				got = promisesEncoded(inner)
			}
			if got != tc.want {
				t.Errorf("%s: %v", name, got)
			}
			var tab tabler
			if out, form := tab.rewrite(nil, in); !got && form != jsonKept {
				t.Errorf("%s: %d of %d bytes were to be had", name, len(out), len(in))
			}
		}
	}
}

// TestRowSample: encoded rows are as long, and as alike, as what they encode.
func TestRowSample(t *testing.T) {
	text := []byte(jsonRows(9, "", `{"id":{i},"name":"{w}","open":true,"note":"","none":null,"of":"x"}`, ""))
	raw := jsonspan.AppendQuoted(nil, text)
	encoded := rowSample{encoded: true}
	var plain rowSample
	if plain.read(text, 1, 6) < 0 || encoded.read(raw[1:], 1, 6) < 0 {
		t.Fatal("not read")
	}
	if plain.total != encoded.total || plain.columns != encoded.columns || plain.sizes != encoded.sizes || plain.differs != encoded.differs {
		t.Errorf("%d bytes, %d columns of %v\n%d bytes, %d columns of %v", plain.total, plain.columns, plain.sizes, encoded.total, encoded.columns, encoded.sizes)
	}
	for cut := range raw {
		s := rowSample{encoded: true}
		s.read(raw[1:max(cut, 1)], 1, 6) // must not panic
	}
}

func FuzzPromises(f *testing.F) {
	f.Add(`[{"a":1,"b":"x"},`, 400)
	f.Add(`{"a":"\\\"},{\"a\":1`, 300)
	f.Add(`[{"a":`, 900)
	f.Fuzz(func(t *testing.T, in string, n int) {
		if len(in) == 0 || n < 0 || n > 1000 || len(in)*n > 1<<20 {
			return
		}
		text := []byte(strings.Repeat(in, n+1))
		if promises(text) != promises([]byte(string(text))) {
			t.Fatal("it depends on something else")
		}
		promisesEncoded(text) // must not panic
	})
}
