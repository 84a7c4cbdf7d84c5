package similar

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// words of everyday use, a few of every kind, for the tests below.
const everyday = `not no never only also even still again almost very more less most least all any some every none both either
	who what when where why how which he she it they we you my your his her our their is was will would can could should must may
	to from in out on off up down over under before after since until with without for against by about into onto
	and or but if because although unless than then there here now later today tomorrow yesterday
	big small old new good bad hot cold fast slow early late high low left right first last same other
	man woman dog cat house water day year time work money people city country school server file photo album
	go come take give make find keep move copy delete share check lose send read write start stop open close
	red blue green black white one two three ten hundred monday june english french london paris 5 12 2024 c++ x y`

// TestGuardOnlyFillersDiffer puts every word of the lexicon and many others
// into every gap of some questions, and takes out and swaps their own words.
// Whatever still meets must differ in fillers alone.
func TestGuardOnlyFillersDiffer(t *testing.T) {
	bases := []string{
		base,
		"please tell the crew on the western pier in one short checklist for the evening shift how to switch on the fog horn before guests arrive",
		"Hi, could you please explain the main steps of baking a dark rye bread at home, including the sourdough starter? Thanks!",
	}
	vocabulary := strings.Fields(everyday)
	for _, row := range classes {
		vocabulary = append(vocabulary, strings.Fields(row.words)...)
	}
	slices.Sort(vocabulary)
	vocabulary = slices.Compact(vocabulary)
	idle := func(w string) bool {
		p, ok := pack([]byte(strings.ToLower(strings.Trim(w, ",.?!"))))
		if !ok {
			return false
		}
		l := lexicon.lookUp(p)
		return lexicon.list[l].class&filler != 0
	}
	prepare := func(words []string, guard Guard) Key {
		var q Question
		if !Prepare(&q, []byte(strings.Join(words, " ")), guard) {
			t.Fatal("too few words")
		}
		return q.fingerprint
	}
	for _, guard := range []Guard{Lexical, Strict} {
		for _, b := range bases {
			words := strings.Fields(b)
			same := prepare(words, guard)
			step := 3
			if guard == Strict { // its fillers are some of the other's
				step = 13
			}
			for i := range words {
				for k := i % step; k < len(vocabulary); k += step {
					v := vocabulary[k]
					if prepare(slices.Insert(slices.Clone(words), i, v), guard) == same && !idle(v) {
						t.Errorf("%v: %q put in before word %d of %q", guard, v, i, b)
					}
					changed := slices.Clone(words)
					changed[i] = v
					if prepare(changed, guard) == same && !strings.EqualFold(strings.Trim(words[i], ",.?!"), v) && !(idle(v) && idle(words[i])) {
						t.Errorf("%v: %q for %q in %q", guard, v, words[i], b)
					}
				}
				// "could you" goes as a whole; you alone is a word.
				if less := slices.Delete(slices.Clone(words), i, i+1); prepare(less, guard) == same && !idle(words[i]) {
					t.Errorf("%v: %q taken out of %q", guard, words[i], b)
				}
				for j := range i {
					swapped := slices.Clone(words)
					swapped[i], swapped[j] = swapped[j], swapped[i]
					if prepare(swapped, guard) == same && words[i] != words[j] && !idle(words[i]) && !idle(words[j]) {
						t.Errorf("%v: %q and %q swapped in %q", guard, words[i], words[j], b)
					}
				}
			}
		}
	}
}

// TestGate holds texts at the edges of what takes part.
func TestGate(t *testing.T) {
	long := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "w%d ", i+100)
		}
		return b.String()
	}
	tests := []struct {
		name string
		text string
		want bool
	}{
		{"empty", "", false},
		{"seven words", "one two three four five six seven", false},
		{"eight words", "one two three four five six seven eight", true},
		{"eight words with short ones", "one two three four five six seven is to be or", false},
		{"seven words again and again", strings.Repeat("one two three four five six seven ", 5), false},
		{"case does not make a word", "one two three four five six seven SEVEN", false},
		{"characters, not bytes", "éé öö üü ää ññ çç øø åå", false},
		{"eight words of letters beyond ASCII", "один два три четыре пять шесть семь восемь", true},
		{"words in code count", "`one two` (three) four/five \"six\" seven_eight nine-ten", true},
		{"apostrophes join", "don't can't won't isn't aren't wasn't hadn't", false},
		{"invalid UTF-8", "one two three four five six seven eight \xff", false},
		{"as many words as there may be", long(MaxWords), true},
		{"one word more", long(MaxWords + 1), false},
		{"as long as may be", "one two three four five six seven eight " + strings.Repeat(" ", MaxText-40), true},
		{"a byte longer", "one two three four five six seven eight " + strings.Repeat(" ", MaxText-39), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, guard := range []Guard{Lexical, Strict, Off} {
				var q Question
				if got := Prepare(&q, []byte(tt.text), guard); got != tt.want {
					t.Errorf("%v: got %v, want %v", guard, got, tt.want)
				}
			}
		})
	}
}

// TestJaccard counts words as a person would.
func TestJaccard(t *testing.T) {
	tests := []struct {
		a, b string
		want float64
	}{
		{"one two three four five six seven eight", "eight seven six five four three two one", 1},
		{"one two three four five six seven eight", "One, two; THREE four (five) `six` \"seven\" eight!", 1},
		{"one two three four five six seven eight", "one two three four five six seven eight nine", 8.0 / 9},
		{"one two three four five six seven eight I", "one two three four five six seven eight 8", 8.0 / 10},
		{"one two three four five six seven eight don’t", "one two three four five six seven eight don't", 1},
		{"one two three four five six seven eight well-known", "one two three four five six seven eight well known", 1},
		{"one two three four five six seven eight Ärger", "one two three four five six seven eight ärger", 1},
		{"one two three four five six seven eight internationalization", "one two three four five six seven eight INTERNATIONALIZATION!", 1},
	}
	for _, tt := range tests {
		var a, b Question
		if !Prepare(&a, []byte(tt.a), Off) || !Prepare(&b, []byte(tt.b), Off) {
			t.Fatalf("too few words: %q, %q", tt.a, tt.b)
		}
		if got, meet := Jaccard(&a, &b); got != tt.want || !meet {
			t.Errorf("%q, %q: got %v %v, want %v", tt.a, tt.b, got, meet, tt.want)
		}
	}
}

// TestSecret keeps questions of different secrets apart and those of one
// together.
func TestSecret(t *testing.T) {
	text := []byte(base)
	var a, b, c, none Question
	Secret{1, 2}.Prepare(&a, text, Lexical)
	Secret{1, 2}.Prepare(&b, text, Lexical)
	Secret{1, 3}.Prepare(&c, text, Lexical)
	Prepare(&none, text, Lexical)
	if s, meet := Jaccard(&a, &b); s != 1 || !meet {
		t.Errorf("the same secret: %v %v", s, meet)
	}
	for _, q := range []*Question{&c, &none} {
		if _, meet := Jaccard(&a, q); meet {
			t.Error("questions of different secrets meet")
		}
		for _, w := range q.words {
			if _, found := slices.BinarySearch(a.words, w); found {
				t.Error("a word has the same hash under different secrets")
			}
		}
	}
}

// TestGuardsDoNotMix: what one guard stored is nothing to another.
func TestGuardsDoNotMix(t *testing.T) {
	var q [3]Question
	for g := range q {
		Prepare(&q[g], []byte(base), Guard(g))
	}
	for g := range q {
		for h := range g {
			if _, meet := Jaccard(&q[g], &q[h]); meet {
				t.Errorf("%v and %v meet", Guard(g), Guard(h))
			}
		}
	}
}

func TestParseGuard(t *testing.T) {
	for _, g := range []Guard{Lexical, Strict, Off} {
		if got, err := ParseGuard(g.String()); got != g || err != nil {
			t.Errorf("%v: got %v, %v", g, got, err)
		}
	}
	if _, err := ParseGuard("loose"); err == nil {
		t.Error("no error for an unknown guard")
	}
	if Guard(0) != Lexical {
		t.Error("the default is not lexical")
	}
}

// TestQuestionBinary reads back what was written and refuses all else.
func TestQuestionBinary(t *testing.T) {
	var q, back Question
	Prepare(&q, []byte(base), Lexical)
	b := q.AppendBinary(nil)
	if len(b) != 18+8*q.Words() {
		t.Errorf("%d bytes for %d words", len(b), q.Words())
	}
	if err := back.UnmarshalBinary(b); err != nil || back.parity != q.parity || back.Fingerprint() != q.Fingerprint() || !slices.Equal(back.words, q.words) {
		t.Errorf("read back something else: %v", err)
	}
	swapped := slices.Clone(b)
	copy(swapped[18:26], b[26:34])
	copy(swapped[26:34], b[18:26])
	otherVersion := slices.Clone(b)
	otherVersion[0]++
	for name, bad := range map[string][]byte{
		"empty":         nil,
		"cut":           b[:len(b)-1],
		"one word":      b[:26],
		"out of order":  swapped,
		"twice a word":  append(slices.Clone(b), b[len(b)-8:]...),
		"other version": otherVersion,
		"too long":      append(slices.Clone(b), make([]byte, 8*MaxWords)...),
	} {
		if err := back.UnmarshalBinary(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestLookUpAllocatesNothing covers all that a request waits for.
func TestLookUpAllocatesNothing(t *testing.T) {
	x := New(Options{})
	r := rand.New(rand.NewPCG(1, 1))
	var q Question
	for i := range 3000 {
		if Prepare(&q, sampleText(r, 30), Off) {
			x.Insert(Key{}, &q, uint64(i), 1)
		}
	}
	text := []byte(base + " It's `code`, (more) \"quoted\" and Ärger…")
	for _, guard := range []Guard{Lexical, Strict, Off} {
		Prepare(&q, text, guard)
		if n := testing.AllocsPerRun(100, func() {
			Prepare(&q, text, guard)
			x.Search(Key{}, &q, 0.95, 0)
			x.Search(Key{}, &q, 0.5, 0)
		}); n != 0 {
			t.Errorf("%v: %v allocations", guard, n)
		}
	}
}

// FuzzPrepare feeds any bytes. What Prepare accepts is well formed, the same
// whatever dst held before, blind to white space around the text, and read back
// from its binary form.
func FuzzPrepare(f *testing.F) {
	f.Add([]byte(base), []byte(" \n"))
	f.Add([]byte("one ‘two’ 'three' “four” ``five`` six! seven… — eight\n  nine:\n\tten"), []byte("x"))
	f.Add([]byte(strings.Repeat("“'‘`\"« ", 50)+"one two three four five six seven eight"), []byte("\t"))
	f.Add([]byte("one two three four five six seven eight ```` nine"), []byte("\x00"))
	f.Add([]byte("could you please just um, ok so thanks a lot hello please the a n't -- - . .. 5! a! x"), []byte(""))
	var used Question
	f.Fuzz(func(t *testing.T, text, before []byte) {
		for _, guard := range []Guard{Lexical, Strict, Off} {
			var fresh Question
			Prepare(&used, before, guard)
			ok := Prepare(&fresh, text, guard)
			if again := Prepare(&used, text, guard); again != ok {
				t.Fatalf("%v: accepted %v, then %v", guard, ok, again)
			}
			if !ok {
				continue
			}
			if used.fingerprint != fresh.fingerprint || !slices.Equal(used.words, fresh.words) || used.parity != fresh.parity {
				t.Fatalf("%v: a used question comes out different", guard)
			}
			if !slices.IsSorted(fresh.words) || len(slices.Compact(slices.Clone(fresh.words))) != len(fresh.words) || len(fresh.words) < MinWords {
				t.Fatalf("%v: words %x", guard, fresh.words)
			}
			padded := append(append([]byte(" \n\t "), text...), "\n\n "...)
			if len(padded) <= MaxText {
				if !Prepare(&used, padded, guard) || used.fingerprint != fresh.fingerprint {
					t.Fatalf("%v: white space around makes a difference: %q", guard, text)
				}
			}
			if err := used.UnmarshalBinary(fresh.AppendBinary(nil)); err != nil || !slices.Equal(used.words, fresh.words) {
				t.Fatalf("%v: not read back: %v", guard, err)
			}
			if guard != Off && bytes.Contains(text, []byte("dog bites man")) {
				other := bytes.Replace(text, []byte("dog bites man"), []byte("man bites dog"), 1)
				if Prepare(&used, other, guard) && used.fingerprint == fresh.fingerprint {
					t.Fatalf("%v: man bites dog", guard)
				}
			}
		}
	})
}
