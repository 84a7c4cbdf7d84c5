package similar

import "bytes"

// fillers tells, token by token, which words of a text are fillers where they
// stand. The rule for each is as narrow as its use: "please" before a verb is
// one, "to please" is not; "the" before a plain noun is one, "the few" is not.
type fillers struct {
	*scanner
	tokens []token
	guard  Guard
	// asked is the last word of a "could you" that was dropped, far below zero
	// if none was.
	asked int
	// greeted tells that a greeting was dropped.
	greeted bool
	// start and edge tell that a sentence, and the text, has had nothing but
	// fillers so far.
	start, edge bool
}

// at returns how many tokens from i on are fillers.
func (f *fillers) at(i int) int {
	t := &f.tokens[i]
	c := t.class
	if c&article != 0 && f.article(i) || c&please != 0 && f.please(i) || c&just != 0 && f.just(i) {
		return 1
	}
	if c&greeting != 0 && f.edge {
		if n := f.greeting(i); n > 0 {
			f.greeted = true
			return n
		}
	}
	if c&thanks != 0 {
		if n := f.thanks(i); n > 0 {
			return n
		}
	}
	if c&modal != 0 && f.start && f.is(i+1, "you") && f.request(i+2, f.is(i, "could") || f.is(i, "would")) {
		f.asked = i + 1
		return 2
	}
	if f.guard != Lexical {
		return 0
	}
	if c&frame != 0 && f.start {
		if n := f.frame(i); n > 0 {
			return n
		}
	}
	if c&discourse != 0 && f.discourse(i) || c&hesitation != 0 && f.hesitation(i) || c&opener != 0 && f.opener(i) {
		return 1
	}
	return 0
}

// is tells whether token i is the word w, in any case.
func (f *fillers) is(i int, w string) bool {
	if i < 0 || i >= len(f.tokens) {
		return false
	}
	t := &f.tokens[i]
	return t.form&word != 0 && bytes.EqualFold(f.text[t.start:t.end], []byte(w))
}

// isOne tells whether token i is one of words.
func (f *fillers) isOne(i int, words ...string) bool {
	for _, w := range words {
		if f.is(i, w) {
			return true
		}
	}
	return false
}

// class returns the class of token i, none if there is no such token.
func (f *fillers) class(i int) class {
	if i < 0 || i >= len(f.tokens) {
		return 0
	}
	return f.tokens[i].class
}

// article tells whether the article at i stands before a plain noun or its
// adjectives, and nothing makes it more than an article.
func (f *fillers) article(i int) bool {
	t := &f.tokens[i]
	if t.form&softAfter != 0 || i+1 >= len(f.tokens) {
		return false
	}
	if t.form&(capital|upper|mixed) != 0 && t.form&sentence == 0 && f.lower {
		return false // plan A, The Hague
	}
	next := &f.tokens[i+1]
	if next.form&word == 0 || next.form&single != 0 || next.class&noArticle != 0 {
		return false
	}
	return f.class(i-1)&(label|negation|article) == 0
}

// please tells whether the "please" at i asks and does not delight.
func (f *fillers) please(i int) bool {
	t := &f.tokens[i]
	if i > 0 && f.asked == i-1 {
		return true
	}
	ends := i+1 == len(f.tokens) || f.tokens[i+1].form&sentence != 0
	if f.start {
		return ends || t.form&softAfter != 0 || f.class(i+1)&object == 0
	}
	if t.form&softBefore != 0 { // not: charm, please and persuade
		return ends || t.form&softAfter == 0 && f.class(i+1)&object == 0 && !f.isOne(i+1, "and", "or")
	}
	if f.is(i, "kindly") {
		return false
	}
	if f.class(i-1)&meUs != 0 && f.class(i-2)&(tells|writes) != 0 {
		return true
	}
	return ends && f.tokens[i-1].form&word != 0 && f.class(i-1)&function == 0
}

// just tells whether the "just" at i makes light of the asking. Before what is
// asked for it means only.
func (f *fillers) just(i int) bool {
	if i > 0 && (f.asked == i-1 || f.asked == i-2) {
		return true
	}
	if f.is(i-1, "i") {
		return f.isOne(i+1, "want", "wanted", "need", "needed", "wonder", "wondered")
	}
	return f.start && f.class(i+1)&(tells|writes) != 0 && f.class(i+2)&meUs != 0
}

// begins tells whether a question or request begins at i.
func (f *fillers) begins(i int) bool {
	return f.class(i)&(modal|wh|please|explains|tells|writes|frame|starter) != 0
}

// greeting returns the length of the greeting at i. "Hello world" is none.
func (f *fillers) greeting(i int) int {
	n := 1
	if f.is(i, "good") {
		if f.tokens[i].form&softAfter != 0 || !f.isOne(i+1, "morning", "afternoon", "evening", "day") {
			return 0
		}
		n = 2
	}
	if f.tokens[i+n-1].form&softAfter == 0 && f.isOne(i+n, "there", "everyone", "everybody", "all", "team", "folks", "again") {
		n++
	}
	if i+n >= len(f.tokens) {
		return 0
	}
	if f.tokens[i+n].form&sentence != 0 && !f.isOne(i+n, "world", "kitty", "dolly", "magazine") || f.begins(i+n) {
		return n
	}
	return 0
}

// thanks returns the length of the thanks at i, which open or close the text.
func (f *fillers) thanks(i int) int {
	n := 0
	switch {
	case f.is(i, "many"):
		if !f.is(i+1, "thanks") {
			return 0
		}
		n = 2
	case f.is(i, "thank"):
		if !f.is(i+1, "you") {
			return 0
		}
		n = 2
	default:
		n = 1
	}
	switch {
	case f.is(i+n, "a") && f.is(i+n+1, "lot"),
		f.is(i+n, "so") && f.is(i+n+1, "much"),
		f.is(i+n, "very") && f.is(i+n+1, "much"),
		f.is(i+n, "in") && f.is(i+n+1, "advance"):
		n += 2
	case f.isOne(i+n, "again"):
		n++
	}
	last := &f.tokens[i+n-1]
	if i+n == len(f.tokens) {
		alone := f.tokens[i].form&(softBefore|sentence) != 0
		if i > 0 && (alone || f.tokens[i-1].form&word != 0 && f.class(i-1)&(function|negation) == 0) {
			return n
		}
		return 0
	}
	if f.edge && last.form&softAfter != 0 && f.tokens[i+n].form&sentence != 0 {
		return n
	}
	return 0
}

// request tells whether a request stands at i: a verb that asks for an answer
// and not, after "can you", whether something can be done.
func (f *fillers) request(i int, polite bool) bool {
	for range 2 {
		if f.class(i)&(please|just) != 0 {
			i++
		}
	}
	c, next := f.class(i), f.class(i+1)
	switch {
	case c&explains != 0:
		return true
	case c&tells != 0:
		return next&meUs != 0 || f.is(i+1, "the")
	case c&writes != 0:
		return next&meUs != 0 || polite && next&article != 0
	}
	return false
}

// frames are phrases that lead up to a question or, if ask is set, to a
// request.
var frames = []struct {
	words []string
	ask   bool
}{
	{[]string{"tell", "me"}, false},
	{[]string{"let", "me", "know"}, false},
	{[]string{"i", "want", "to", "know"}, false},
	{[]string{"i", "would", "like", "to", "know"}, false},
	{[]string{"i", "was", "wondering"}, false},
	{[]string{"i", "am", "wondering"}, false},
	{[]string{"i", "want", "you", "to"}, true},
	{[]string{"i", "need", "you", "to"}, true},
	{[]string{"i", "would", "like", "you", "to"}, true},
}

// frame returns the length of the frame at i.
func (f *fillers) frame(i int) int {
next:
	for _, p := range frames {
		for j, w := range p.words {
			if !f.is(i+j, w) || f.tokens[i+j].form&softAfter != 0 {
				continue next
			}
		}
		n := len(p.words)
		if p.ask && f.request(i+n, true) {
			f.asked = i + n - 1
			return n
		}
		if !p.ask && f.class(i+n)&wh != 0 {
			return n
		}
	}
	return 0
}

// discourse tells whether the adverb at i carries no weight.
func (f *fillers) discourse(i int) bool {
	if i+1 >= len(f.tokens) || f.class(i+1)&negation != 0 {
		return false
	}
	if f.isOne(i-1, "i", "we") {
		return true
	}
	return f.start && (f.tokens[i].form&softAfter != 0 || f.begins(i+1))
}

// hesitation tells whether the "um" at i is one, and neither a micrometre nor
// the beginning of an Arabic name.
func (f *fillers) hesitation(i int) bool {
	form := f.tokens[i].form
	return form&softAfter != 0 && (f.start || form&softBefore != 0 && f.tokens[i-1].form&digit == 0)
}

// opener tells whether the "ok" or "so" at i only opens the text. Some want a
// comma: "right how far".
func (f *fillers) opener(i int) bool {
	if !f.edge || !f.begins(i+1) && f.class(i+1)&opener == 0 {
		return false
	}
	return f.tokens[i].form&softAfter != 0 || !f.isOne(i, "well", "now", "right")
}
