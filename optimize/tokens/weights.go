package tokens

// Weights, in 1/unit tokens. They were fitted (least squares on the relative
// error, none below zero, large errors weighing more) to o200k_base over some
// two thousand pieces of 0.5 to 12 KiB: source code in twenty languages,
// configuration, documentation, JSON indented, compact and as an escaped
// string, logs, prose and translations in sixty languages, identifiers, hashes,
// base64 and numbers made up at random, and real requests and tool outputs.
// The weights of numbers are not fitted: there the tokenizer's rule is known.
const (
	unit = 1024

	wordLower   = 956  // a word in small letters, after a space that goes with it
	wordUpper   = 587  // a word with a capital, likewise
	wordPunct   = 253  // after one punctuation character, which may go with it
	wordPuncts  = 690  // after several
	wordDigit   = 1158 // after a digit
	wordOther   = 1229 // at the beginning of a line, after a tab
	wordCamel   = 766  // a capital after a small letter
	letterNext  = 25   // each further letter of a word
	letterLate  = 83   // and from the eleventh on
	capitalNext = 111  // each capital after a capital
	capitalBlob = 349  // each capital far into letters and digits: base64
	consonants  = 802  // each consonant after three others

	numberSpace = 1946 // a number after a space, which does not go with it
	numberOther = 1024 // any other number
	digitLate   = 341  // each digit from the fourth on
	numberLong  = 341  // the fourth digit

	punctNewline = 793  // punctuation at the beginning of a line
	punctOther   = 1116 // any other
	lightSecond  = 302  // a second punctuation character, light: quotes, brackets, full stops, commas, colons
	heavySecond  = 322  // a second one, other
	lightLater   = 42   // a later one, light
	heavyLater   = 510  // a later one, other
	repeatLate   = 128  // each character from the tenth equal one on

	spaces       = 1096 // several spaces
	newlineOther = 1223 // a newline not after punctuation, which takes it in, or another
	tabNewline   = 535  // a tab at the beginning of a line
	tabOther     = 1313 // any other
	tabNext      = 185  // each further tab
)

// scriptWeights has the weight of a character of each script, after ASCII and
// after another character beyond ASCII.
var scriptWeights = [scripts][2]uint16{
	latin1Signs:     {2022, 0},
	latin1Letters:   {1103, 0},
	latinOther:      {1483, 0},
	combining:       {328, 307},
	greek:           {0, 506},
	cyrillic:        {1036, 147},
	armenian:        {314, 361},
	hebrew:          {0, 532},
	arabic:          {696, 258},
	devanagari:      {0, 504},
	indic:           {0, 477},
	thai:            {1492, 371},
	georgian:        {751, 395},
	latinAdditional: {0, 0},
	greekExtended:   {2048, 1202},
	dashes:          {2253, 0},
	boxes:           {1296, 772},
	symbols:         {614, 614},
	cjkSigns:        {1912, 1024},
	hiragana:        {1043, 850},
	katakana:        {2253, 325},
	cjk:             {2149, 741},
	hangul:          {2104, 0},
	forms:           {512, 1536},
	emoji:           {1196, 2048},
}
