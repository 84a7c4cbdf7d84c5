package tokens

// characters has the weight of a character beyond ASCII by the low six bits of
// its first and second byte: [0] where it follows ASCII, [1] where it follows
// another.
var characters = func() (t [2][1 << 12]uint16) {
	for lead := 0xC0; lead < 0x100; lead++ {
		for second := 0x80; second < 0xC0; second++ {
			w := scriptWeights[scriptOf(byte(lead), byte(second))]
			at := lead&63<<6 | second&63
			t[0][at], t[1][at] = w[0], w[1]
		}
	}
	return t
}()

// script is a group of characters that tokenizers treat alike.
type script uint8

const (
	latin1Signs script = iota // U+0080
	latin1Letters
	latinOther
	combining // and phonetic
	greek
	cyrillic
	armenian
	hebrew
	arabic // and Syriac, Thaana, N'Ko
	devanagari
	indic // of the other scripts of South Asia
	thai  // and Lao
	georgian
	latinAdditional // Vietnamese
	greekExtended   // and the other scripts from U+1000
	dashes          // dashes, quotation marks, other general punctuation
	boxes           // box drawing
	symbols
	cjkSigns
	hiragana
	katakana
	cjk
	hangul
	forms // private use, compatibility and full-width forms
	emoji
	scripts // their number
)

// scriptOf is the script of the characters whose first bytes in UTF-8 are lead
// and second.
func scriptOf(lead, second byte) script {
	switch {
	case lead <= 0xC2:
		return latin1Signs
	case lead == 0xC3:
		return latin1Letters
	case lead <= 0xCB:
		return latinOther
	case lead <= 0xCD:
		return combining
	case lead <= 0xCF:
		return greek
	case lead <= 0xD3:
		return cyrillic
	case lead <= 0xD5:
		return armenian
	case lead <= 0xD7:
		return hebrew
	case lead <= 0xDF:
		return arabic
	case lead == 0xE0:
		switch {
		case second <= 0xA5:
			return devanagari
		case 0xB8 <= second && second <= 0xBB:
			return thai
		}
		return indic
	case lead == 0xE1:
		switch {
		case 0x82 <= second && second <= 0x83:
			return georgian
		case 0xB8 <= second && second <= 0xBB:
			return latinAdditional
		}
		return greekExtended
	case lead == 0xE2:
		switch {
		case second <= 0x81:
			return dashes
		case 0x94 <= second && second <= 0x97:
			return boxes
		}
		return symbols
	case lead == 0xE3:
		switch {
		case second == 0x80:
			return cjkSigns
		case second == 0x81:
			return hiragana
		case second <= 0x83:
			return katakana
		}
		return cjk
	case lead <= 0xE9:
		return cjk
	case lead <= 0xED:
		return hangul
	case lead == 0xEE || lead == 0xEF:
		return forms
	}
	return emoji
}
