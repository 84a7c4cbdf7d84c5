package squoze

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func encodedBlock(text string, call int) *block {
	b := &block{text: []byte(strings.ReplaceAll(text, "\n", `\n`)), lines: new(encodedLines), call: call, parts: 1}
	b.lines.split(b.text)
	b.sum = sumOf(b.text)
	return b
}

// numbered is lines from to to-1 of an endless text.
func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "\tline number %d of a source file, long enough to count\n", i)
	}
	return b.String()
}

func TestLookup(t *testing.T) {
	short := strings.Repeat("}\n", 30)
	tests := []struct {
		name    string
		earlier []string
		text    string
		want    []run
	}{
		{"a file again", []string{numbered(0, 50)}, numbered(0, 50), []run{{from: 0, to: 51, source: 0, at: 0}}},
		{"with one line changed", []string{numbered(0, 50)}, numbered(0, 20) + "changed\n" + numbered(21, 50), []run{{from: 0, to: 20, source: 0, at: 0}, {from: 21, to: 51, source: 0, at: 21}}},
		{"a piece of it", []string{numbered(0, 50)}, "head\n" + numbered(13, 21) + "tail\n", []run{{from: 1, to: 9, source: 0, at: 13}}},
		{"eight lines at any place", []string{numbered(0, 50)}, "head\n" + numbered(16, 24) + "tail\n", []run{{from: 1, to: 9, source: 0, at: 16}}},
		{"seven lines", []string{numbered(0, 50)}, "head\n" + numbered(13, 20) + "tail\n", nil},
		{"from two blocks", []string{numbered(0, 20), numbered(100, 120)}, numbered(105, 118) + numbered(2, 12) + "x", []run{{from: 0, to: 13, source: 1, at: 5}, {from: 13, to: 23, source: 0, at: 2}}},
		{"too few bytes", []string{short}, "x\n" + short, nil},
		{"blanks have no tokens", []string{strings.Repeat(strings.Repeat(" ", 60)+"\n", 20)}, "x\n" + strings.Repeat(strings.Repeat(" ", 60)+"\n", 20), nil},
		{"within itself", nil, numbered(0, 20) + numbered(0, 20), nil},
		{"not over a marker", []string{numbered(0, 6) + "[... squoze: 9 lines elided, x ...]\n" + numbered(6, 12)}, numbered(0, 6) + "[... squoze: 9 lines elided, x ...]\n" + numbered(6, 12), nil},
		{"behind a marker", []string{"[... squoze: 9 lines elided, x ...]\n" + numbered(6, 16)}, "[... squoze: 9 lines elided, x ...]\n" + numbered(6, 16) + "x", []run{{from: 1, to: 11, source: 0, at: 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r references
			r.reset()
			for i, text := range tt.earlier {
				r.add(*encodedBlock(text, i), ReferenceRuns)
			}
			got := r.lookup(encodedBlock(tt.text, 9))
			for i := range got {
				if got[i].tokens <= 0 {
					t.Errorf("run %d saves nothing", i)
				}
				got[i].tokens = 0
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestWhole(t *testing.T) {
	var r references
	r.reset()
	first := encodedBlock(numbered(0, 5), 0)
	r.add(*first, ReferenceBlocks)
	r.add(*encodedBlock("[... squoze: 9 lines elided, x ...]\n"+numbered(0, 5), 1), ReferenceBlocks)
	for text, want := range map[string]int{
		numbered(0, 5): 0,
		numbered(0, 6): -1,
		"[... squoze: 9 lines elided, x ...]\n" + numbered(0, 5): -1,
	} {
		if got := r.whole(encodedBlock(text, 9)); got != want {
			t.Errorf("%.20q: %d, want %d", text, got, want)
		}
	}
	// An equal hash proves nothing.
	forged := encodedBlock(numbered(7, 12), 9)
	forged.sum = first.sum
	if got := r.whole(forged); got != -1 {
		t.Errorf("another text with the same hash: %d", got)
	}
}

// Versions of a text that differ only where the sum does not look are told
// apart, up to a bound.
func TestWholeVersions(t *testing.T) {
	base := []byte(strings.Repeat("words of a long text ", 3000))
	var r references
	r.reset()
	var versions []*block
	for i := 700; i < len(base)-700 && len(versions) < wholeTries; i++ {
		text := bytes.Clone(base)
		text[i] = '#'
		if sumOf(text) != sumOf(base) {
			continue
		}
		versions = append(versions, encodedBlock(string(text), len(versions)))
	}
	if len(versions) < wholeTries {
		t.Fatalf("only %d versions with the same sum", len(versions))
	}
	for i, v := range versions {
		if got := r.whole(v); got != -1 {
			t.Errorf("version %d is taken for block %d", i, got)
		}
		r.add(*v, ReferenceBlocks)
	}
	for i, v := range versions {
		if got := r.whole(v); got != i {
			t.Errorf("version %d is block %d", i, got)
		}
	}
}

func TestLookupVerifies(t *testing.T) {
	var r references
	r.reset()
	r.add(*encodedBlock(numbered(0, 30), 0), ReferenceRuns)
	forged := encodedBlock(numbered(100, 130), 1)
	copy(forged.lines.hashes, r.blocks[0].lines.hashes)
	if got := r.lookup(forged); len(got) > 0 {
		t.Errorf("lines with equal hashes and other bytes: %v", got)
	}
}

// TestLookupFindsAll compares with a search of every line against every line:
// what is left between the runs must hold no run that is long enough.
func TestLookupFindsAll(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var r references
		r.reset()
		seen := make(map[string]bool) // windows of runLines lines of earlier blocks
		for i := range 4 {
			var text strings.Builder
			for range 1 + rnd.IntN(6) {
				at := rnd.IntN(200)
				text.WriteString(numbered(at, at+1+rnd.IntN(25)))
			}
			b := encodedBlock(text.String(), i)
			lines := bytes.Split(b.text, newline)
			covered := make([]bool, len(lines))
			for _, x := range r.lookup(b) {
				for k := x.from; k < x.to; k++ {
					covered[k] = true
				}
			}
			for k := 0; k+runLines <= len(lines); k++ {
				free := true
				for _, c := range covered[k : k+runLines] {
					free = free && !c
				}
				// The first place of a window counts, and there the run may be
				// shorter: a window is only missed if it is in one place.
				if free && seen[string(bytes.Join(lines[k:k+runLines], newline))] {
					t.Fatalf("block %d: the lines from %d on stand in an earlier block", i, k)
				}
			}
			r.add(*b, ReferenceRuns)
			for k := 0; k+runLines <= len(lines); k++ {
				seen[string(bytes.Join(lines[k:k+runLines], newline))] = true
			}
		}
	}
}

func TestEncodedLines(t *testing.T) {
	for _, text := range []string{``, `a`, `a\nb`, `a\\n\nb\\\n`, `\n\n`, `\\\\n`, `x\\\\\nn`} {
		var l encodedLines
		l.split([]byte(text))
		// A line end is a \n whose backslash is not itself escaped.
		want := strings.Split(strings.NewReplacer(`\\`, "\x00\x00", `\n`, "\n").Replace(text), "\n")
		if l.len() != len(want) {
			t.Errorf("%q: %d lines, want %d", text, l.len(), len(want))
			continue
		}
		for i := range want {
			if got := strings.ReplaceAll(text[l.start(i):l.ends[i]], `\\`, "\x00\x00"); got != want[i] {
				t.Errorf("%q: line %d is %q, want %q", text, i, got, want[i])
			}
		}
	}
}

func TestOddLineEnds(t *testing.T) {
	for text, want := range map[string]bool{`a\nb`: false, `a\u000ab`: true, `a\u000Ab`: true, `\u000db \u000`: false, ``: false, `\u0009\u000a`: true} {
		if got := oddLineEnds([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
