package tokens

// Weights, in 1/unit tokens. They were fitted (least squares on the relative
// error, none below zero, large errors weighing more) to o200k_base over some
// two thousand pieces of 0.5 to 12 KiB: source code in twenty languages,
// configuration, documentation, JSON indented, compact and as an escaped
// string, logs, prose and translations in sixty languages, identifiers, hashes,
// base64 and numbers made up at random. The corpus that the tests compare with
// was not among them. What has about the same weight shares one, because every
// weight costs a count of bits per block.
const (
	unit = 1024

	// A token of its own: a number; a word not after a space or a punctuation
	// character, one of which would go with it; punctuation; several spaces; a
	// newline not after punctuation, which takes it in; a tab inside a line.
	weightToken = 1115
	// A word in small letters after a space. The same again for a number after
	// a space, which does not go with it.
	weightWord = 964
	// A word after several punctuation characters, a capital after a small
	// letter, punctuation at the beginning of a line, a consonant after three
	// others.
	weightMost = 790
	// A capitalised word after a space, a tab at the beginning of a line, a
	// third punctuation character other than quotes, brackets and stops.
	weightHalf = 537
	// A capital far into letters and digits without a break (base64), the
	// fourth digit of a number.
	weightBlob = 308
	// A second punctuation character, each digit from the fourth on.
	weightThird = 285
	// A word after one punctuation character, each further tab.
	weightFifth = 229
	// A capital after a capital, each letter from the eleventh on, each
	// punctuation character from the tenth equal one on.
	weightTenth = 125
	// Each letter but the first of a word.
	weightLetter = 25
)

// scriptWeights has the weight of a character of each script, after ASCII and
// after another character beyond ASCII.
var scriptWeights = [scripts][2]uint16{
	latin1Signs:     {1992, 307},
	latin1Letters:   {1049, 307},
	latinOther:      {1386, 307},
	combining:       {330, 307},
	greek:           {0, 505},
	cyrillic:        {1057, 143},
	armenian:        {315, 367},
	hebrew:          {0, 532},
	arabic:          {605, 284},
	devanagari:      {0, 504},
	indic:           {72, 457},
	thai:            {1550, 369},
	georgian:        {709, 397},
	latinAdditional: {102, 102},
	greekExtended:   {2048, 1163},
	dashes:          {2253, 307},
	boxes:           {1248, 867},
	symbols:         {614, 614},
	cjkSigns:        {1470, 1024},
	hiragana:        {1250, 871},
	katakana:        {2253, 272},
	cjk:             {2119, 742},
	hangul:          {1485, 307},
	forms:           {512, 1536},
	emoji:           {1110, 2048},
}
