package tokens

// Weights, in 1/unit tokens. They were fitted (least squares on the relative
// error, none below zero, large errors weighing more) to o200k_base over some
// two thousand pieces of 0.5 to 12 KiB: source code in twenty languages,
// configuration, documentation, JSON indented, compact and as an escaped
// string, logs, translations into sixty languages, identifiers, hashes, base64
// and numbers made up at random, and real requests and tool outputs. numberX
// and digitX are not fitted: there the tokenizer's rule is known.
const (
	unit = 1024

	wordLower  = 596  // a word in small letters, after a space that goes with it
	wordUpper  = 1188 // a word with a capital, likewise
	wordPunct  = 94   // after one punctuation character, which may go with it
	wordPuncts = 442  // after several
	wordDigit  = 1178 // after a digit
	wordOther  = 1229 // at the beginning of a line, after a tab
	wordCamel  = 604  // a capital after a small letter
	letterNext = 88   // each further letter of a word
	letterLate = 288  // and from the eleventh on
	consonants = 555  // each consonant after three others
	blobCamel  = 1292 // a capital after a small letter, far into letters and digits: base64

	numberSpace = 1965 // a number after a space, which does not go with it
	numberOther = 1024 // any other number
	digitLate   = 341  // each digit from the fourth on
	numberLong  = 341  // the fourth digit

	punctNewline = 311  // punctuation at the beginning of a line
	punctOther   = 1163 // any other
	heavySecond  = 177  // a second punctuation character, other than light
	heavyLater   = 1315 // a later one
	lightLater   = 105  // a later light one (quotes, brackets, full stops, commas, colons)
	repeatLate   = 254  // each character from the tenth equal one on

	spaces       = 953  // several spaces
	newlineOther = 1229 // a newline not after punctuation, which takes it in, or another
	tabFirst     = 1218 // a tab, but at the beginning of a line
	tabNext      = 519  // each further tab
)

// scriptWeights has the weight of a character of each script, after ASCII and
// after another character beyond ASCII.
var scriptWeights = [scripts][2]uint16{
	latin1Signs:     {1938, 0},
	latin1Letters:   {1445, 0},
	latinOther:      {2235, 0},
	combining:       {188, 102},
	greek:           {0, 531},
	cyrillic:        {716, 236},
	armenian:        {145, 418},
	hebrew:          {1261, 335},
	arabic:          {640, 511},
	devanagari:      {0, 560},
	indic:           {775, 544},
	thai:            {1563, 414},
	georgian:        {627, 354},
	latinAdditional: {512, 512},
	greekExtended:   {2048, 751},
	dashes:          {2617, 0},
	boxes:           {862, 217},
	symbols:         {800, 614},
	cjkSigns:        {1441, 1024},
	hiragana:        {0, 745},
	katakana:        {283, 852},
	cjk:             {389, 863},
	hangul:          {1448, 425},
	forms:           {512, 1536},
	emoji:           {1759, 2048},
}
