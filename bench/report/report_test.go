package report

import (
	"context"
	"encoding/xml"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	table := Table{Title: "t", Head: []string{"mode", "rps", "applied"}, Left: []int{2}}
	table.Add("öff", "1,000", "a|b\n<c>")
	table.Add("baseline", "9")
	var b strings.Builder
	if err := table.Text(&b); err != nil {
		t.Fatal(err)
	}
	want := "t\n" +
		"mode        rps  applied\n" +
		"------------------------\n" +
		"öff       1,000  a|b\n<c>\n" +
		"baseline      9\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	want = "**t**\n\n| mode | rps | applied |\n| --- | ---: | --- |\n| öff | 1,000 | a\\|b &lt;c> |\n| baseline | 9 |  |\n"
	if got := table.Markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestUpdateRewritesOnlyItsOwnSection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	write := func(name, body string) string {
		t.Helper()
		if err := Update(path, Section{Name: name, Title: "About " + name, Command: "go run ./bench " + name, Host: Host{CPU: "cpu", Go: "go1"}, Body: body}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write("stream", "old stream")
	write("matrix", "the matrix")
	first := write("stream", "new stream")
	if strings.Contains(first, "old stream") || strings.Count(first, "new stream") != 1 || !strings.HasPrefix(first, preface) {
		t.Errorf("got\n%s", first)
	}
	if strings.Index(first, "the matrix") > strings.Index(first, "new stream") {
		t.Error("the sections are out of order")
	}
	if again := write("stream", "new stream"); again != first {
		t.Errorf("the same section again changes the document:\n%s", again)
	}
	if err := Update(path, Section{Name: "nonsense"}); err == nil {
		t.Error("an unknown section was written")
	}
	for name, broken := range map[string]string{
		"no end": begin("matrix") + "\nx\n",
		"twice":  strings.Repeat(begin("matrix")+"\nx\n"+end("matrix")+"\n", 2),
	} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Update(path, Section{Name: "stream"}); err == nil {
			t.Errorf("%s: a document that would lose something was rewritten", name)
		}
	}
}

func TestFigures(t *testing.T) {
	for got, want := range map[string]string{
		Millis(0.0304): "0.030", Millis(12.34): "12.3", Millis(1234.5): "1234", Millis(math.NaN()): "-",
		Ratio(0.97): "0.970", Ratio(0): "-", Percent(0.123): "12.3 %",
		Count(1234567): "1,234,567", Count(-1234): "-1,234", Count(999): "999", Count(int64(1000)): "1,000", Count(2.6): "3",
		Bytes(1023): "1023 B", Bytes(648_637): "633.4 KiB", Bytes(3 << 30): "3.0 GiB", Bytes(-2048): "-2.0 KiB",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestHost(t *testing.T) {
	if got := cpuModel("processor\t: 0\nmodel name\t: Some CPU @ 2GHz\nmodel name\t: other\n"); got != "Some CPU @ 2GHz" {
		t.Errorf("model %q", got)
	}
	if got := memorySize("MemTotal:       25269322 kB\nMemFree: 1 kB\n"); got != "24 GiB" {
		t.Errorf("memory %q", got)
	}
	if cpuModel("") != "" || memorySize("MemTotal: x") != "" {
		t.Error("something out of nothing")
	}
	h := ThisHost(context.Background(), "../..")
	if h.Cores < 1 || h.Go == "" || h.CPU == "" || !strings.HasPrefix(h.Caddy, "v2.") {
		t.Errorf("host %+v", h)
	}
	if s := h.String(); strings.Contains(s, "\n") || !strings.Contains(s, h.Caddy) {
		t.Errorf("host %q", s)
	}
}

func TestChartIsWellFormed(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]Chart{
		"empty": {},
		"full": {
			Title: `rps & overhead <"relative">`, Series: []string{"plain, repeat", "tls & fresh"}, Rows: []string{"off", "rtk <light>", "none"},
			Panels: []Panel{
				{Title: "rps", Line: 1, Values: [][]float64{{0.98, 1.2}, {nan, math.Inf(1)}, {-0.1, 3}}},
				{Title: "overhead", Unit: " ms", Log: true, Values: [][]float64{{0.03, 12}, {0, -1}, {1e-4, nan}}},
				{Title: "nothing", Log: true, Values: [][]float64{{nan, nan}}},
				{Title: "nothing", Values: [][]float64{{nan, nan}}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			svg := c.SVG()
			d := xml.NewDecoder(strings.NewReader(svg))
			dots := 0
			for {
				tok, err := d.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%v in\n%s", err, svg)
				}
				el, ok := tok.(xml.StartElement)
				if !ok {
					continue
				}
				if el.Name.Local == "circle" || el.Name.Local == "path" || el.Name.Local == "rect" && attr(el, "height") == "6.4" {
					dots++
				}
				for _, a := range el.Attr {
					if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
						t.Errorf("%s %s is %q", el.Name.Local, a.Name.Local, a.Value)
					}
				}
			}
			// Two values in the legend, four and three in the panels.
			if want := map[string]int{"empty": 0, "full": 2 + 4 + 3}[name]; dots != want {
				t.Errorf("%d dots, want %d", dots, want)
			}
		})
	}
}

func attr(el xml.StartElement, name string) string {
	for _, a := range el.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func TestTicksCoverTheValues(t *testing.T) {
	for _, p := range []Panel{
		{Values: [][]float64{{0.2, 1.7}}}, {Values: [][]float64{{-3, 17}}}, {Values: [][]float64{{0}}}, {Line: 1, Values: [][]float64{{0.5}}},
		{Log: true, Values: [][]float64{{0.002, 40}}}, {Log: true, Values: [][]float64{{1}}}, {Log: true, Values: [][]float64{{10, 10}}},
	} {
		ticks := p.ticks()
		if len(ticks) < 2 || len(ticks) > 12 {
			t.Errorf("%v: ticks %v", p.Values, ticks)
		}
		for _, values := range p.Values {
			for _, v := range values {
				if v < ticks[0]-1e-9 || v > ticks[len(ticks)-1]+1e-9 {
					t.Errorf("%v is outside of %v", v, ticks)
				}
			}
		}
	}
}
