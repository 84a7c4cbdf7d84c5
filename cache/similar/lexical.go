package similar

import "bytes"

// fingerprint hashes what the guard demands to be equal: the text's words in
// their order without those that are fillers where they stand.
func (s *scanner) fingerprint(guard Guard) Key {
	if s.lines > 0 && s.codeish >= 2 || s.indented >= 2 {
		return s.literal(guard, 0, 0) // code without a fence: white space may count
	}
	f := fillers{scanner: s, tokens: s.q.tokens, guard: guard, asked: -9, edge: true, start: true}
	c := chain{uint64(guard), format}
	free := true // fillers are fillers
	for i := 0; i < len(f.tokens); {
		t := &f.tokens[i]
		if t.class == 0 && t.form&^softAfter == word { // a plain word
			c.add(t.hash)
			f.start, f.edge = false, false
			i++
			continue
		}
		if t.form&sentence != 0 {
			f.start = true
		}
		if t.class&literal != 0 {
			if f.edge && !f.greeted { // "please translate" and "Translate" are the same
				return s.literal(guard, t.hash, int(t.end))
			}
			return s.literal(guard, 0, 0)
		}
		if free && t.class&filler != 0 {
			if n := f.at(i); n > 0 {
				i += n
				continue
			}
		}
		s.emit(&c, guard, i)
		f.start, f.edge = false, false
		if t.class&mention != 0 || t.form&colon != 0 {
			free = false
		}
		i++
	}
	return Key(c)
}

// literal is the fingerprint of a text in which, after a first word, every byte
// from one on counts.
func (s *scanner) literal(guard Guard, first uint64, from int) Key {
	c := chain{uint64(guard), format ^ c0}
	c.add(first)
	rest := bytes.TrimSpace(s.text[from:])
	c.add(uint64(len(rest)))
	for ; len(rest) > 16; rest = rest[16:] {
		c.add(s.secret.hashBytes(rest[:16]))
	}
	c.add(s.secret.hashBytes(rest))
	return Key(c)
}

// What stands for punctuation and line ends where they count.
const (
	besideNegation = c5      // soft punctuation: "no, stop" is not "no stop"
	betweenValues  = c5 ^ c0 // soft punctuation between numbers or symbols
	rowOfValues    = c5 ^ c1 // a line end between them
)

// emit adds token i to the fingerprint.
func (s *scanner) emit(c *chain, guard Guard, i int) {
	t := &s.q.tokens[i]
	if t.form&dash != 0 && !s.operand(i-1) && !s.operand(i+1) {
		return // between words it is a comma
	}
	if t.form&(softBefore|line) != 0 && s.operand(i) && s.operand(i-1) {
		if t.form&softBefore != 0 {
			c.add(betweenValues)
		}
		if t.form&line != 0 {
			c.add(rowOfValues)
		}
	}
	if t.class&negation != 0 && t.form&softBefore != 0 && i > 0 {
		c.add(besideNegation)
	}
	h := s.cased(i)
	if h == t.hash && t.class&spelled != 0 && guard == Lexical && s.classes&dialect == 0 {
		as := &lexicon.list[t.lexeme].as
		h = s.secret.hash(as[0])
		if second := as[1]; second != (packed{}) {
			c.add(h)
			h = s.secret.hash(second)
		}
	}
	c.add(h)
	if t.class&negation != 0 && t.form&softAfter != 0 && i < len(s.q.tokens)-1 {
		c.add(besideNegation)
	}
}

// operand tells whether token i is a number, a symbol or a letter: punctuation
// beside it may be a sign and not a pause.
func (s *scanner) operand(i int) bool {
	if i < 0 || i >= len(s.q.tokens) {
		return false
	}
	f := s.q.tokens[i].form
	return f&word == 0 || f&single != 0
}

// cased returns the hash of token i, with its capitals where they tell one word
// from another. In a text without lower case they tell nothing.
func (s *scanner) cased(i int) uint64 {
	t := &s.q.tokens[i]
	if t.form&(upper|capital|mixed) == 0 || !s.lower || t.form&word == 0 {
		return t.hash
	}
	exact := false
	switch {
	case t.form&mixed != 0:
		exact = t.class&name == 0
	case t.form&single != 0: // vitamin C, but not I, nor A where a sentence begins
		switch s.text[t.start] {
		case 'I':
		case 'A':
			exact = t.form&sentence == 0
		default:
			exact = true
		}
	case t.form&upper != 0:
		exact = t.class&(acronym|caseful) != 0
	case (t.class|s.classes&german)&(caseful|german) != 0:
		exact = t.form&sentence == 0
	}
	// mW and MW, Mb and MB.
	if !exact && i > 0 && s.q.tokens[i-1].form&digit != 0 && t.end-t.start <= 4 {
		exact = true
	}
	if exact {
		return mix(s.secret.hashBytes(s.text[t.start:t.end])^c3, c2)
	}
	return t.hash
}
