package squoze

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

func rows(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(format, "{i}", strconv.Itoa(i)))
	}
	return b.String()
}

func TestTable(t *testing.T) {
	// A long constant makes a table of a few rows worth while.
	constant := strings.Repeat("unused ", 30) + "variable"
	long := `"` + constant + `"`
	tests := []struct {
		name, in string
		form     jsonForm
		want     string // lines behind the intro; "" for any
	}{
		{"rows in an envelope", `{"status":"ok", "rows":[` + rows(3, `{"id":{i},"path":"internal/m_{i}/h.go","diagnostic":`+long+`}`) + `], "next":null}`, jsonTable,
			`{"status":"ok","rows":@1,"next":null}
@1: 3 rows
id|path|diagnostic=` + constant + `
0|internal/m_0/h.go
1|internal/m_1/h.go
2|internal/m_2/h.go`},
		{"absent, null and empty", `[{"why":` + long + `,"name":"a","value_of_it":null,"what":"x"},{"name":"b","value_of_it":"","what":"y","why":` + long + `},{"name":"c","what":"z","why":` + long + `},{"name":"d","value_of_it":0,"what":"null","why":` + long + `},{"name":"e","value_of_it":"0","what":"","why":` + long + `}]`, jsonTable,
			`@1: 5 rows
why=` + constant + `|name|value_of_it|what
a|null|x
b|""|y
c||z
d|0|"null"
e|"0"|""`},
		{"a late column, trailing cells left out", `[` + rows(20, `{"holder_of_the_lease":"node-{i}","state":"active","zone":"a"}`) + `,{"holder_of_the_lease":"node-20","state":"lost","zone":"a","failure":"skew|drift"},{"zone":"a","renewals":0}]`, jsonTable, ""},
		{"numbers as written", `[` + rows(9, `{"account_number":9007199254740900{i},"ratio":1.50,"scale":1E-9,"negative":-0}`) + `]`, jsonTable, ""},
		{"strings that need their quotes", `[{"the_only_column":"a|b"},{"the_only_column":"\"q\""},{"the_only_column":"[x"},{"the_only_column":"{x"},{"the_only_column":"@1: 3 rows"},{"the_only_column":" lead"},{"the_only_column":"trail "},{"the_only_column":"line\nbreak"},{"the_only_column":"true"},{"the_only_column":"-1e5"},{"the_only_column":"\u00e9"},{"the_only_column":"\ud800"},{"the_only_column":"1.2.3"},{"the_only_column":"2031-04-02"},{"the_only_column":"é"}]`, jsonTable,
			`@1: 15 rows
the_only_column
"a|b"
"\"q\""
"[x"
"{x"
"@1: 3 rows"
" lead"
"trail "
"line\nbreak"
"true"
"-1e5"
"\u00e9"
"\ud800"
1.2.3
2031-04-02
é`},
		{"nested values", `[` + rows(9, `{"name_of_entry":"n{i}", "labels_of_entry": { "app" : "web", "tier": [1, 2] }, "ports_of_entry": [ {"p": {i}} ]}`) + `]`, jsonTable, ""},
		{"odd names", `[` + rows(9, `{"a=b":{i},"a|b":"xxxxxxxxxxxxxxxxxxxxxxxx","":{i},"12":"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"," s":1,"q":"\""}`) + `]`, jsonTable, ""},
		{"all columns the same", `[` + rows(60, `{"kind":"Pod","phase":"Running"}`) + `]`, jsonTable, "@1: 60 rows\nkind=Pod|phase=Running"},
		{"two tables", `{"nodes":[` + rows(20, `{"identifier":{i},"healthy":true}`) + `],"mid":[1,{"deep":[` + rows(20, `{"identifier":{i},"healthy":false}`) + `]}]}`, jsonTable, ""},
		{"order of keys differs", `[` + rows(9, `{"first_key":{i},"second_key":2},{"second_key":3,"first_key":{i}}`) + `]`, jsonTable, ""},
		{"a key twice in a row", `[` + rows(30, `{"the_key_of_it":{i},"the_key_of_it":1}`) + `]`, jsonKept, ""},
		{"an escaped key", `[` + rows(30, `{"the\u005fkey":{i},"other_long_key":1}`) + `]`, jsonKept, ""},
		{"a number among the rows", `[` + rows(30, `{"the_key_of_it":{i}}`) + `,7]`, jsonKept, ""},
		{"an empty object among the rows", `[` + rows(30, `{"the_key_of_it":{i}}`) + `,{}]`, jsonKept, ""},
		{"two rows", `[{"id":1,"text":"` + strings.Repeat("x", 200) + `"},{"id":2,"text":"` + strings.Repeat("x", 200) + `"}]`, jsonKept, ""},
		{"too little to gain", `[` + rows(30, `{"a":"a rather long text that differs in every row {i}"}`) + `]`, jsonKept, ""},
		{"white space only", "{\n  \"a\": 1.50,\n  \"b\": [ 1, 2, { } ],\n  \"c\": \"x  y\\u0041\"\n}\n", jsonMinified, `{"a":1.50,"b":[1,2,{}],"c":"x  y\u0041"}`},
		{"a compact object", `{"a":null,"b":[],"c":{}}`, jsonKept, ""},
		{"scalars", `["a","b"]`, jsonKept, ""},
		{"no JSON", `[{"a":1},`, jsonKept, ""},
		{"a string", `"abc"`, jsonKept, ""},
		{"a key twice outside of the rows", `{"a":1,"a":2,"rows":[` + rows(30, `{"the_key_of_it":{i}}`) + `]}`, jsonTable, ""},
	}
	var tab tabler
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, form := tab.rewrite([]byte("before"), []byte(tt.in))
			out, ok := bytes.CutPrefix(got, []byte("before"))
			if !ok || form != tt.form {
				t.Fatalf("form %d, want %d: %s", form, tt.form, got)
			}
			checkTable(t, []byte(tt.in), out, form)
			want := tt.want
			if form == jsonTable {
				want = tableIntro + "\n" + want
			}
			if tt.want != "" && string(out) != want {
				t.Errorf("got\n%s\nwant\n%s", out, want)
			}
		})
	}
}

// checkTable checks that out is what it claims to be.
func checkTable(t *testing.T, in, out []byte, form jsonForm) {
	t.Helper()
	switch form {
	case jsonKept:
		if len(out) != 0 {
			t.Errorf("kept, but %q", out)
		}
	case jsonMinified:
		var want bytes.Buffer
		if err := json.Compact(&want, in); err != nil || !bytes.Equal(want.Bytes(), out) {
			t.Errorf("minified %q, want %q", out, want.Bytes())
		}
	case jsonTable:
		values, err := decodeTable(string(out))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if len(values) != 1 || !sameJSON(in, values[0]) {
			t.Errorf("rebuilt\n%s\nfrom\n%s\nwant\n%s", values, out, in)
		}
		if len(out)*100 > len(in)*(100-tableSaving) {
			t.Errorf("%d bytes of %d", len(out), len(in))
		}
	}
}

func TestTableLines(t *testing.T) {
	isError := func(line []byte) bool { return bytes.Contains(line, []byte(`"error"`)) }
	lines := func(s string) string { return strings.ReplaceAll(s, "},{", "}\n{") }
	tests := []struct {
		name, in string
		form     jsonForm
	}{
		{"events", lines(rows(40, `{"Time":"2023-04-13T15:56:10.{i}","Action":"output","Package":"example.test/a","Output":"line {i}\n"}`)) + "\n", jsonTable},
		{"an error line stays", lines(rows(40, `{"time_stamp":{i},"level":"info","message":"m{i}"}`)) + "\n" + `{"time_stamp":40, "level":"error","message":"disk full"}` + "\n" + `{"time_stamp":41,"level":"info","message":"m","extra":[{"a":1}]}`, jsonTable},
		{"carriage returns", strings.ReplaceAll(lines(rows(40, `{"time_stamp":{i},"level":"info","message":"m{i}"}`)), "\n", "\r\n"), jsonTable},
		{"only errors", lines(rows(40, `{"time_stamp":{i},"level":"error"}`)), jsonKept},
		{"two objects in a line", lines(rows(40, `{"time_stamp":{i},"level":"info"}`)) + "\n" + `{"time_stamp":1,"level":"x"},{"time_stamp":2,"level":"y"}`, jsonKept},
		{"an object over two lines", lines(rows(40, `{"time_stamp":{i},"level":"info"}`)) + "\n" + "{\"time_stamp\":[{}\n{}],\"level\":{}}", jsonKept},
		{"an object as first cell", lines(rows(40, `{"fields":{"level":"info"},"message":"m{i}","constant":"cccccccccccccccccccccccccc"}`)) + "\n" + `{"fields":{"level":"warn"},"message":"m","constant":"cccccccccccccccccccccccccc"}`, jsonKept},
		{"an empty line between", `{"a_long_key":1}` + "\n\n" + lines(rows(40, `{"a_long_key":{i}}`)), jsonKept},
	}
	var tab tabler
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkLines(t, &tab, tt.in, isError, &tt.form)
		})
	}
}

func checkLines(t *testing.T, tab *tabler, in string, keep func([]byte) bool, want *jsonForm) {
	t.Helper()
	var l output.Lines
	l.Split([]byte(in))
	var set output.Set
	set.Reset(l.Len())
	for i := range l.Len() {
		if keep(l.Line(i)) {
			set.Add(i)
		}
	}
	out, form := tab.rewriteLines(nil, &l, &set)
	if want != nil && form != *want {
		t.Fatalf("form %d, want %d: %s", form, *want, out)
	}
	if form != jsonTable {
		if len(out) != 0 {
			t.Errorf("kept, but %q", out)
		}
		return
	}
	values, err := decodeTable(string(out))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	original := strings.Split(strings.TrimSuffix(in, "\n"), "\n")
	if len(values) != len(original) {
		t.Fatalf("%d lines, want %d\n%s", len(values), len(original), out)
	}
	for i := range values {
		if !sameJSON([]byte(original[i]), values[i]) {
			t.Errorf("line %d: rebuilt %s, want %s", i, values[i], original[i])
		}
		if line := strings.TrimSpace(original[i]); keep([]byte(line)) && !strings.Contains("\n"+string(out)+"\n", "\n"+line+"\n") {
			t.Errorf("line %d is not there as it was: %s", i, line)
		}
	}
}

func TestTableOfCorpusRows(t *testing.T) {
	b, err := os.ReadFile(corpusFile(t, "tool_outputs/toon__github-repos.json"))
	if err != nil {
		t.Fatal(err)
	}
	var tab tabler
	out, form := tab.rewrite(nil, b)
	if form != jsonTable {
		t.Fatalf("form %d", form)
	}
	checkTable(t, b, out, form)
	t.Logf("%d of %d bytes", len(out), len(b))
}

// toolResult is the text of the first tool result of a chat body.
func toolResult(t testing.TB, body []byte) []byte {
	var chat struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(body, &chat); err != nil {
		t.Fatal(err)
	}
	for _, m := range chat.Messages {
		if m.Role == "tool" {
			return []byte(m.Content)
		}
	}
	t.Fatal("no tool result")
	return nil
}

func FuzzTable(f *testing.F) {
	f.Add([]byte(`{"rows":[` + rows(4, `{"id":{i},"path":"a/{i}","other_column":"constant"}`) + `],"n":null}`))
	f.Add([]byte(`[{"a_a_a_a":"|"},{"a_a_a_a":"\""},{"a_a_a_a":null,"b=":1.50},{"b=":""}]`))
	f.Add([]byte(`[[{"aaaaaaa":{"b":[{"cccc":1},{"cccc":2},{"cccc":3}]}},{"aaaaaaa":1},{"aaaaaaa":"@1"}]]`))
	f.Add([]byte("{\"aaaaaaa\":1}\n{\"aaaaaaa\":\"error\"}\n{\"aaaaaaa\":3}\n{\"aaaaaaa\":4,\"b\":{}}\r\n"))
	var tab tabler
	f.Fuzz(func(t *testing.T, in []byte) {
		out, form := tab.rewrite(nil, in)
		if len(out) > len(in) {
			t.Fatalf("grew from %d to %d", len(in), len(out))
		}
		checkTable(t, in, out, form)
		checkLines(t, &tab, string(in), func(line []byte) bool { return bytes.Contains(line, []byte("error")) }, nil)
	})
}

func BenchmarkTable(b *testing.B) {
	text := toolResult(b, testbody.Large())
	var tab tabler
	var dst []byte
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = tab.rewrite(dst[:0], text)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/byte")
}
