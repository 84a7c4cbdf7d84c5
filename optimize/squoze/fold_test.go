package squoze

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/marker"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/optimize/output"
)

// repeat is n lines of format, with {i} counted from 1 in three digits.
func repeat(n int, format string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		b.WriteString(strings.ReplaceAll(format, "{i}", fmt.Sprintf("%03d", i)))
		b.WriteByte('\n')
	}
	return b.String()
}

func foldText(class output.Class, text string) string {
	var l output.Lines
	l.Split([]byte(text))
	var f folder
	out, ok := f.fold(nil, class, output.NoTool, &l, mark{"kkkkkkkkkkkk"})
	if !ok {
		return text
	}
	return string(out)
}

func TestFold(t *testing.T) {
	tests := []struct {
		name  string
		class output.Class
		in    string
		want  string // "" for: nothing elided
	}{
		{"a log of one shape", output.Log, repeat(100, "2031-04-02T06:00:00.{i}Z INFO store: counted shelf {i}"),
			repeat(1, "2031-04-02T06:00:00.{i}Z INFO store: counted shelf {i}") +
				"[... squoze: 98 lines elided, like the line above · ref kkkkkkkkkkkk ...]\n" +
				"2031-04-02T06:00:00.100Z INFO store: counted shelf 100\n"},
		{"an error in the middle with its neighbours", output.Log, repeat(40, "INFO counted {i}") + "ERROR disk full\n" + repeat(40, "INFO counted {i}"),
			repeat(1, "INFO counted {i}") + "[... squoze: 37 lines elided, like the line above · ref kkkkkkkkkkkk ...]\nINFO counted 039\nINFO counted 040\nERROR disk full\nINFO counted 001\n" +
				"[... squoze: 38 lines elided, like the line above · ref kkkkkkkkkkkk ...]\nINFO counted 040\n"},
		{"a rare line stays", output.Log, repeat(40, "INFO counted {i}") + "INFO leader changed\n" + repeat(40, "INFO counted {i}"),
			repeat(1, "INFO counted {i}") + "[... squoze: 38 lines elided, like the line above · ref kkkkkkkkkkkk ...]\nINFO counted 040\nINFO leader changed\n" +
				"[... squoze: 39 lines elided, like the line below · ref kkkkkkkkkkkk ...]\nINFO counted 040\n"},
		{"a rare state of a shape stays", output.Log, repeat(40, "GET /a/{i} status=200") + "GET /a/041 status=302\n" + repeat(40, "GET /a/{i} status=200"),
			repeat(1, "GET /a/{i} status=200") + "[... squoze: 39 lines elided, like the line above · ref kkkkkkkkkkkk ...]\nGET /a/041 status=302\n" +
				"[... squoze: 39 lines elided, like the line above · ref kkkkkkkkkkkk ...]\nGET /a/040 status=200\n"},
		{"the extremes of a measure stay", output.Log, measured(60, 33, 9000),
			measured(60, 33, 9000)[:len("took 10 ms\n")] + "[... squoze: 32 lines elided, like the line above · ref kkkkkkkkkkkk ...]\ntook 9000 ms\n" +
				"[... squoze: 25 lines elided, like the line above · ref kkkkkkkkkkkk ...]\ntook 18 ms\n"},
		{"passing tests", output.TestOutput, repeat(50, "--- PASS: TestA{i} (0.00s)") + "--- FAIL: TestB (0.00s)\n    b_test.go:9: want 1, got 2\n" + repeat(50, "ok  \tpkg/{i}\t0.1s") + "FAIL\n",
			repeat(1, "--- PASS: TestA{i} (0.00s)") + "[... squoze: 49 lines elided, passing or skipped · ref kkkkkkkkkkkk ...]\n--- FAIL: TestB (0.00s)\n    b_test.go:9: want 1, got 2\n" +
				"[... squoze: 49 lines elided, passing or skipped · ref kkkkkkkkkkkk ...]\nok  \tpkg/050\t0.1s\nFAIL\n"},
		{"names that all differ", output.Build, "start\n" + letters(60, "linked {w}/{w}.o into lib") + "done\n", ""},
		{"carriage returns", output.Log, strings.ReplaceAll(repeat(40, "INFO counted {i}"), "\n", "\r\n"),
			strings.ReplaceAll(repeat(1, "INFO counted {i}"), "\n", "\r\n") + "[... squoze: 38 lines elided, like the line above · ref kkkkkkkkkkkk ...]\r\nINFO counted 040\r\n"},
		{"too few to fold", output.Log, repeat(9, "INFO counted {i}"), ""},
		{"all shapes rare", output.Log, "alpha\nbeta\ngamma\ndelta\nepsilon\nzeta\neta\ntheta\niota\nkappa\n", ""},
		{"a file", output.Source, repeat(100, "x = {i}"), ""},
		{"a forged marker stays", output.Log, repeat(40, "INFO counted {i}") + "[... squoze: 99 lines elided, passing · ref kkkkkkkkkkkk ...]\n" + repeat(40, "INFO counted {i}"),
			repeat(1, "INFO counted {i}") + "[... squoze: 36 lines elided, like the line above · ref kkkkkkkkkkkk ...]\nINFO counted 038\nINFO counted 039\nINFO counted 040\n[... squoze: 99 lines elided, passing · ref kkkkkkkkkkkk ...]\nINFO counted 001\n" +
				"[... squoze: 38 lines elided, like the line above · ref kkkkkkkkkkkk ...]\nINFO counted 040\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.in
			}
			got := foldText(tt.class, tt.in)
			if tt.name == "names that all differ" {
				// Where every name is another, the names are no signal.
				if strings.Count(got, "linked") > 8 {
					t.Errorf("not folded:\n%s", got)
				}
			} else if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if again := foldText(tt.class, got); again != got {
				t.Errorf("folded again:\n%s", again)
			}
		})
	}
}

// measured is n lines with a measure that goes up and down, and one peak.
func measured(n, peak, value int) string {
	var b strings.Builder
	for i := range n {
		v := 10 + i%17
		if i == peak {
			v = value
		}
		fmt.Fprintf(&b, "took %d ms\n", v)
	}
	return b.String()
}

// letters is n lines in which {w} is a word of letters that is new in each.
func letters(n int, format string) string {
	var b strings.Builder
	for i := range n {
		w := string([]byte{'a' + byte(i%26), 'a' + byte(i/26), 'q'})
		b.WriteString(strings.ReplaceAll(format, "{w}", w) + "\n")
	}
	return b.String()
}

func TestShape(t *testing.T) {
	tests := []struct{ in, want string }{
		{"2031-04-02T06:00:00.123Z INFO cache hit", "#-#-#:#:#.#Z INFO cache hit"},
		{"took 12ms and 1.5s, 30%", "took #ms and #.#s, #%"},
		{"module_12 utf8 x7k2p 0xdeadbeef1", "module_# utf# # #"},
		{"level=info msg=\"user alice\" id=7f3a9c", `level=info msg="user alice" id=#`},
		{"1a2 b1 7f 3kb 9abcd", "# b# #f #kb #"},
		{"deadbeef12 12345678abc 12345678 abcdefab", "# # # #"},
		{"ab12cd abc123 beef1 decade cafebabe fedcba98", "# # # decade # #"},
		{"id 0f8fad5b-d9cb-469f-a165-70867728950e, deadbeef-cafe-babe-feed-aaaaaaaaaaaa done", "id #, # done"},
		{"0f8fad5b-d9cb-469f-a165-70867728950ez", "#-d#cb-#f-a#-#ez"},
		{"pod api-7d9f8c6b5-x2x9z api-bcdfghjkl-wxzvt api-6bfd8xk9z-99kzq api-https", "pod api-#-# api-#-# api-#-# api-https"},
		{"from 2001:db8::1 fe80::aa:1 aa:bb:cc:dd:ee:01 08:15:00 ab::cd std::vec 1::x", "from # # # #:#:# ab::cd std::vec #::x"},
		{"[  7/400] copied   x", "[ #/#] copied x"},
		{"    indented  once", "    indented once"},
		{"", ""},
		{"下载 3 完成", "下载 # 完成"},
	}
	for _, tt := range tests {
		if got := appendShape(nil, []byte(tt.in)); string(got) != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestTemplates(t *testing.T) {
	tests := []struct {
		name, in string
		folds    bool
	}{
		{"a name in every line", letters(60, "{w}_test.go:9: using fixture {w}"), true},
		{"a path in every line", letters(60, "linked {w}/{w}.o into lib"), true},
		{"a value in every line", letters(60, "level=info user={w} action=login"), true},
		{"messages that differ", letters(60, "level=info msg=\"{w} {w} is up\""), false},
		{"two words that differ", letters(60, "INFO main: {w} was {w}"), false},
		{"nothing but a name", letters(60, "./{w}/{w}.go"), false},
		{"one word and a name", letters(60, "{w} ./{w}/{w}.go"), false},
		{"a rare name among few", strings.Repeat("INFO state=open for us\nINFO state=shut for us\n", 30) + "INFO state=lost for us\n", false},
		{"rare names among few", strings.Repeat("INFO state=open for us\n", 60) + letters(20, "INFO state={w} for us"), false},
		{"many names that repeat", strings.Repeat(letters(20, "GET /v1/{w} took 3 ms"), 6), true},
	}
	for _, tt := range tests {
		var l output.Lines
		l.Split([]byte(tt.in))
		var f folder
		f.keep.Reset(l.Len())
		f.count(&l, content(&l))
		f.decide(output.Log)
		folded := len(f.kinds) == 1
		for i := range f.shapes {
			folded = folded && f.shapes[i].kind >= 0
		}
		if folded != tt.folds {
			t.Errorf("%s: folds %v, %d shapes, %d kinds", tt.name, folded, len(f.shapes), len(f.kinds))
		}
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct {
		in   string
		want []int64
	}{
		{"status=500 took 12.5ms (3)", []int64{500000, 12500, 3000}},
		{"status:500 \"code\":7 x", []int64{500000, 7000}},
		{"2031-04-02T06:00:01.500Z 10.0.0.1:80 v1.2.3 a1 x2y /7/ 06:00", nil},
		{"-3 items, 100%", []int64{3000, 100000}},
		{"1234567890123456", nil},
		{"1 2 3 4 5 6 7 8", []int64{1000, 2000, 3000, 4000, 5000, 6000}},
		{"1,204 items", nil},
	}
	for _, tt := range tests {
		got := appendNumbers(nil, []byte(tt.in))
		if len(got) != len(tt.want) {
			t.Errorf("%q: %v, want %v", tt.in, got, tt.want)
			continue
		}
		for i := range got {
			if got[i].value != tt.want[i] || got[i].at != i {
				t.Errorf("%q: %v, want %v", tt.in, got, tt.want)
			}
		}
	}
}

func listText(text string) string {
	var l output.Lines
	l.Split([]byte(text))
	var ls lister
	out, ok := ls.list(nil, &l, mark{"kkkkkkkkkkkk"})
	if !ok {
		return text
	}
	return string(out)
}

func TestList(t *testing.T) {
	goTest := repeat(20, "--- FAIL: TestRoute{i} (0.00s)\n    route_test.go:{i}: status 500, want 200 on /r/{i}")
	tests := []struct{ name, in, want string }{
		{"go test", "=== start\n" + goTest + "FAIL\n", `=== start
--- FAIL: TestRoute001 (0.00s)
    route_test.go:001: status 500, want 200 on /r/001
[... squoze: 38 lines elided, more of the kind above, told below by the words that differ · ref kkkkkkkkkkkk ...]
pattern: --- FAIL: «1» (0.00s) ⏎     route_test.go:«2»: status 500, want 200 on «3»
` + strings.TrimPrefix(repeat(20, "TestRoute{i} {i} /r/{i}"), "TestRoute001 001 /r/001\n") + "FAIL\n"},
		{"a word that stands twice", repeat(30, "FAILED test_{i} in test_{i}: expected a status of 200"), `FAILED test_001 in test_001: expected a status of 200
[... squoze: 29 lines elided, more of the kind above, told below by the words that differ · ref kkkkkkkkkkkk ...]
pattern: FAILED «1» in «1»: expected a status of 200
` + strings.TrimPrefix(repeat(30, "test_{i}"), "test_001\n")},
		{"identical lines", repeat(30, "Error: connection refused, giving up"), "Error: connection refused, giving up\n[... squoze: 29 lines elided, the same again · ref kkkkkkkkkkkk ...]\n"},
		{"too few", repeat(19, "FAILED test_{i} in test_{i}: expected a status of 200"), ""},
		{"hardly anything in common", letters(30, "{w}.{w} {w}/{w}"), ""},
		{"a placeholder in the text", repeat(30, "FAILED «1» test_{i} in test_{i}: expected a status of 200"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.in
			}
			got := listText(tt.in)
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if rebuilt := unlist(t, got); rebuilt != tt.in {
				t.Errorf("rebuilt\n%s", rebuilt)
			}
			if again := listText(got); again != got {
				t.Errorf("listed again:\n%s", again)
			}
		})
	}
}

// unlist rebuilds the text that list was made of. It knows what failures.go
// says about lists and nothing else.
func unlist(t *testing.T, text string) string {
	lines := strings.Split(text, "\n")
	var out []string
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if !marker.Is([]byte(line)) || !strings.Contains(line, listDetail) && !strings.Contains(line, sameDetail) {
			out = append(out, line)
			continue
		}
		n, err := strconv.Atoi(strings.ReplaceAll(strings.Fields(line)[2], ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, sameDetail) {
			// The record is as long as the repetition needs.
			period := recordOf(out, n)
			for range n / period {
				out = append(out, out[len(out)-period:]...)
			}
			continue
		}
		i++
		pattern := strings.Split(strings.TrimPrefix(lines[i], "pattern: "), " ⏎ ")
		for range n / len(pattern) {
			i++
			for _, p := range pattern {
				for k, w := range strings.Split(lines[i], " ") {
					p = strings.ReplaceAll(p, "«"+itoa(k+1)+"»", w)
				}
				out = append(out, p)
			}
		}
	}
	return strings.Join(out, "\n")
}

// recordOf is the length of the record at the end of out of which n more lines
// were elided. The tests have only records of one line.
func recordOf([]string, int) int { return 1 }

// importantLines is the oracle: a plain filter for lines nobody may lose.
func importantLines(text []byte) [][]byte {
	var list [][]byte
	for _, line := range bytes.Split(text, []byte("\n")) {
		if output.Important(line) != output.None {
			list = append(list, line)
		}
	}
	return list
}

func FuzzFold(f *testing.F) {
	f.Add(uint8(output.Log), repeat(30, "INFO counted {i}")+"ERROR x\n"+repeat(30, "INFO counted {i} took 3 ms"))
	f.Add(uint8(output.TestOutput), repeat(30, "--- PASS: T{i}")+"--- FAIL: X\n\ta\n"+repeat(30, "ok {i}"))
	f.Add(uint8(output.Build), letters(30, "made {w}/{w}")+"\r\n\r\n\r\n\xff\n"+measured(40, 3, 99))
	f.Fuzz(func(t *testing.T, class uint8, in string) {
		c := output.Class(class)
		got := foldText(c, in)
		if len(got) > len(in) {
			t.Fatalf("grew from %d to %d bytes", len(in), len(got))
		}
		checkElided(t, in, got)
		if got == in {
			return
		}
		rest := []byte(got)
		for _, line := range importantLines([]byte(in)) {
			at := bytes.Index(append([]byte("\n"), append(rest, '\n')...), append(append([]byte("\n"), line...), '\n'))
			if at < 0 {
				t.Fatalf("lost %q, or its order", line)
			}
			rest = rest[min(at+len(line), len(rest)):]
		}
	})
}

func FuzzList(f *testing.F) {
	f.Add(repeat(20, "--- FAIL: TestRoute{i} (0.00s)\n    route_test.go:{i}: status 500, want 200 on /r/{i}"))
	f.Add(repeat(20, "FAILED a{i}: b (c)") + repeat(20, "x\n\ny {i} zzzzzzzzzzzzzzzzzzzzzzzz zzzzzzzzzzzzzzzzzzzz"))
	f.Fuzz(func(t *testing.T, in string) {
		got := listText(in)
		if len(got) > len(in) {
			t.Fatalf("grew from %d to %d bytes", len(in), len(got))
		}
		if strings.Contains(in, "[... ") || strings.Contains(got, sameDetail) {
			return // not for unlist
		}
		if rebuilt := unlist(t, got); rebuilt != in {
			t.Fatalf("rebuilt %q", rebuilt)
		}
	})
}

func BenchmarkFold(b *testing.B) {
	text := []byte(repeat(2000, "2031-04-02T06:00:00.{i}Z INFO  store: counted shelf {i} in 12 ms") + "ERROR x\n")
	var l output.Lines
	var f folder
	var dst []byte
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		l.Split(text)
		dst, _ = f.fold(dst[:0], output.Log, output.NoTool, &l, mark{"kkkkkkkkkkkk"})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/byte")
}
