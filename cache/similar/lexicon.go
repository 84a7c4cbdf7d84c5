package similar

import "strings"

// class is what the guard knows of a word, a set of bits.
type class uint32

const (
	article    class = 1 << iota
	please           // please, kindly
	greeting         // opens a text and says nothing
	thanks           // closes one
	modal            // can you ...
	you              //
	meUs             // ... tell me
	explains         // verbs of a request after "can you", whatever follows
	tells            // the same before "me", "us" or "the"
	writes           // the same before "me" or "us", and after "could" and "would" before an article
	just             //
	discourse        // really, actually: weightless at the start and after "I"
	hesitation       // um
	opener           // ok, so
	wh               // question words
	negation         // not and its kin: soft punctuation beside them counts
	noArticle        // an article before it is not idle
	label            // a letter after it is a name: plan a
	function         // grammar words: "thanks" or "please" after one is not idle
	literal          // the text is about its own wording: nothing may differ from here on
	mention          // what follows may be quoted: nothing is a filler from here on
	caseful          // another word when capitalised
	acronym          // another word in capitals
	name             // a name with capitals inside, which people write in any case
	spelled          // has another spelling or a long form, see respelled
	dialect          // the text is about spelling or code: respelled does not apply
	object           // a or my after "please": then that is a verb
	frame            // may begin a phrase that only leads up to the question
	starter          // begins a question or a statement
	german           // the text is German: capitals count in every word

	filler = article | please | greeting | thanks | modal | just | discourse | hesitation | opener | frame
)

// classes is the one table of words by class. A word may stand in several
// rows.
var classes = []struct {
	class class
	words string
}{
	{article, "a an the"},
	{please, "please kindly pls plz"},
	{greeting, "hi hello hey greetings good"},
	{thanks, "thanks thank thx cheers many"},
	{modal, "can could would will"},
	{you, "you"},
	{meUs, "me us"},
	{explains, "explain describe summarize summarise suggest recommend outline clarify elaborate provide"},
	{tells, "tell list"},
	{writes, "give show help walk write draft send find make create generate get"},
	{just, "just"},
	{discourse, "really actually basically honestly"},
	{hesitation, "um uh uhm erm hmm hm"},
	{opener, "ok okay so well now right oh btw"},
	{wh, "who whom whose what when where why how which"},
	{negation, `not no never none nobody nothing neither nor nowhere without except unless hardly barely scarcely
		cannot dont doesnt didnt isnt don't doesn't didn't isn't aren't wasn't weren't can't won't wouldn't shouldn't couldn't
		haven't hasn't hadn't mustn't needn't ain't shan't mightn't oughtn't yes`},
	// After an article these make another sense than without one: a few, the
	// number, at the time, in office, out of the question, a third, once a day.
	{noArticle, `few little lot lots number bit couple majority minority fraction most least more less fewer only same other
		others former latter best worst better worse first second third fourth fifth sixth seventh eighth ninth tenth next last
		previous half quarter whole rest one two three four five six seven eight nine ten dozen hundred thousand million
		billion following above below very mean means who hague sooner
		second minute hour day night week weekend month year decade century morning afternoon evening noon midnight
		monday tuesday wednesday thursday friday saturday sunday
		time times moment while place case way matter question hand hands heart fire office order board charge control
		course detail fact force general particular practice private public principle use view work force sea bed school
		prison jail hospital church court university college class town home house table power love war peace law bench
		change good bad short long know sale demand duty call display hold loan purpose schedule track trial vacation holiday leave
		average balance bail credit debt danger doubt excess error full hindsight mind need pain pieces print progress return
		season secret sight stock style theory touch trouble tune vain foot random ease issue blue date fashion luck pocket
		reach step breath bounds character context business cash sex god man
		record air end point part future past present start beginning turn change sense fault stake risk account
		person head piece unit mile kilo pound litre liter`},
	{noArticle | function, `a an the i me my mine you your yours he him his she her hers it its we us our ours they them their theirs
		this that these those who whom whose which what when where why how
		am is are was were be been being do does did done have has had having can could will would shall should may might must
		to of in on at by for from with without into onto out off over under up down about as than like between among through
		during before after against towards toward upon within across behind beyond near per via
		and or but nor not no if then else because so while though although unless until till
		say says said saying write writes writing send sends give gives giving express expresses more most all any some every each
		both either neither many much only even also too very never always again`},
	{function, "many word words"},
	{label, `option plan vitamin grade hepatitis group team section appendix exhibit part type class category level tier
		column row table figure note key series model schedule step point blood variable letter line route platform gate
		block building hall room zone phase version annex answer choice sample side wing terminal array vector matrix set
		register drive string node vertex state print echo return call half double twice all both`},
	{literal, `translate translates translated translating translation translations translator spell spelled spelt spells
		spelling spellings misspelled punctuate punctuation grammar grammatical grammatically capitalise capitalize capitalised
		capitalized capitalisation capitalization uppercase lowercase proofread rephrase paraphrase reword typo typos anagram anagrams
		palindrome palindromes rhyme rhymes rhyming syllable syllables pronounce pronounced pronunciation character characters
		letters comma commas apostrophe apostrophes hyphen hyphens whitespace verbatim regex regexp transcribe hash encrypt
		base64 encode decode checksum`},
	{mention, `word words term terms phrase phrases say says said saying called named titled sentence sentences string strings text
		texts reply quote quotes following lyrics song title expression echo repeat slang meaning idiom polite politely politeness
		rewrite synonym synonyms antonym antonyms noun nouns verb verbs adjective adjectives adverb adverbs article articles
		wording phrasing caption headline slogan message messages print prints printed`},
	// Ordinary words that are something else with a capital: Turkey, May. Names
	// with no other sense that a text would leave open (Python, English) are
	// not here; people write them in any case.
	{caseful, `may march august will mark bill frank rich art grace hope faith joy rose lily iris daisy jasmine amber
		ruby pearl jade olive hazel polish turkey china nice mobile reading job lima chile jordan chad georgia hungary greece bath
		rust go swift basic crystal scratch scheme elixir dart
		apple amazon oracle windows word excel access outlook teams edge safari chrome opera meta alphabet shell target gap
		square stripe slack zoom discord signal notion linear unity unreal steam epic visa discover chase fidelity
		ford lincoln dodge ram jaguar mustang beetle golf polo fiat seat orange virgin sky sun times post mirror
		guardian independent economist nature science cell lancet god lord mass earth moon mercury venus mars
		saturn jack nick peter dick pat sue rob gene dale glen cliff drew miles guy ray rex roman reed rod stew wade
		ward woods young king queen prince bishop pope cook baker smith carter cooper mason miller potter taylor turner
		walker white black brown green gray grey bush hill lake forest spark hive pig storm flink beam airflow helm puppet chef
		salt vault consul nomad packer vagrant bamboo pandas react angular express flask rails spring play ember backbone
		node bun congress parliament state union labour conservative liberal democrat republican`},
	// Ordinary words that are something else in capitals: US, IT, WHO.
	{acronym, `us it who or in me al la ma pa va co de he no so to as at an hi is be by my of on up we do if am pm id oh ok ad
		sat act gre aids ram rom led lan wan pin vat tin ice ace arm bat cat dot hat hid mac map max mid pet pot rap sad set sim
		tan tip top win dos don cut div mod nan nil null cad mad bit wed sun mar dec new ten add all any are can fit fat for
		gas gem get go hot how cow rap nut one out own rip rest soap less sass care safe star stem bald nasa fee mass`},
	{name, `github gitlab bitbucket javascript typescript coffeescript iphone ipad ipod imac macbook macos ios youtube linkedin
		postgresql mysql sqlite mongodb graphql openai chatgpt deepseek paypal whatsapp wordpress powerpoint ebay nodejs
		devops facebook wifi latex kubernetes fastapi pytorch tensorflow jquery webassembly localhost oauth`},
	{dialect, `css html svg xml json yaml api sdk keyword keywords property properties attribute attributes variable variables
		function functions method methods field fields flag flags command commands syntax parameter parameters identifier
		british american english uk us usa australian canadian dialect etymology code enum constant package library module
		tag tags class classes domain url username password hashtag`},
	{frame, "i tell let"},
	{starter, "i we my our is are do does did there"},
	{german, "der das und ist nicht ich wie eine für mit von wird zum zur auf"},
	{object, "a an the my your his her its our their me him them us everyone everybody someone people"},
}

// respellings holds, by row, words that are one: the first is what the others
// count as. Differences in spelling alone, none in sense: metre and meter,
// programme and program, storey and story, cheque and check are not here.
const respellings = `
color colour
colors colours
colored coloured
favorite favourite
favorites favourites
behavior behaviour
behaviors behaviours
neighbor neighbour
neighbors neighbours
neighborhood neighbourhood
harbor harbour
harbors harbours
flavor flavour
flavors flavours
humor humour
honor honour
rumor rumour
odor odour
vapor vapour
armor armour
center centre
centers centres
theater theatre
theaters theatres
liter litre
liters litres
analyze analyse
analyzing analysing
organize organise
organizing organising
organization organisation
organizations organisations
recognize recognise
realize realise
summarize summarise
summarizing summarising
optimize optimise
optimization optimisation
optimizing optimising
minimize minimise
maximize maximise
prioritize prioritise
customize customise
visualize visualise
initialize initialise
serialize serialise
synchronize synchronise
categorize categorise
standardize standardise
apologize apologise
emphasize emphasise
memorize memorise
canceled cancelled
canceling cancelling
traveled travelled
traveling travelling
traveler traveller
labeled labelled
labeling labelling
modeled modelled
modeling modelling
catalog catalogue
defense defence
offense offence
judgment judgement
aging ageing
aluminum aluminium
gray grey
mold mould
plow plough
skeptical sceptical
jewelry jewellery
pajamas pyjamas
while whilst
among amongst
toward towards
learned learnt
email e-mail
emails e-mails
ok okay
`

// longForms spells contractions out. Those that stand for two things (I'd,
// let's, ain't) are not here.
const longForms = `
what's what is
who's who is
where's where is
how's how is
when's when is
why's why is
that's that is
it's it is
there's there is
here's here is
he's he is
she's she is
i'm i am
you're you are
we're we are
they're they are
i've i have
you've you have
we've we have
they've they have
i'll i will
you'll you will
he'll he will
she'll she will
it'll it will
we'll we will
they'll they will
don't do not
dont do not
doesn't does not
doesnt does not
didn't did not
didnt did not
isn't is not
isnt is not
aren't are not
wasn't was not
weren't were not
can't can not
cannot can not
won't will not
wouldn't would not
shouldn't should not
couldn't could not
haven't have not
hasn't has not
hadn't had not
mustn't must not
needn't need not
whats what is
`

// lexeme is a word of the lexicon.
type lexeme struct {
	word  packed
	class class
	// as is what a spelled word counts as; the second is zero if it is one
	// word.
	as [2]packed
}

const lexiconSlots = 4096

// lexiconTable holds the words above. Its slots are an open hash table of places
// in the list, each under 16 more bits of the hash: most words of a text are
// not in the lexicon, and these bits say so without a look at the list. Place 0
// is no word's.
type lexiconTable struct {
	slots [lexiconSlots]struct{ tag, at uint16 }
	seen  [1024]uint64 // a bit for each tag there is: a quick no
	list  []lexeme
}

var lexicon = buildLexicon()

func buildLexicon() *lexiconTable {
	t := &lexiconTable{list: make([]lexeme, 1)}
	for _, row := range classes {
		for _, w := range strings.Fields(row.words) {
			t.lexeme(w).class |= row.class
		}
	}
	for _, row := range strings.Split(strings.TrimSpace(respellings), "\n") {
		words := strings.Fields(row)
		for _, w := range words[1:] {
			l := t.lexeme(w)
			l.class |= spelled
			l.as[0] = mustPack(words[0])
		}
	}
	for _, row := range strings.Split(strings.TrimSpace(longForms), "\n") {
		words := strings.Fields(row)
		l := t.lexeme(words[0])
		l.class |= spelled
		l.as = [2]packed{mustPack(words[1]), mustPack(words[2])}
	}
	return t
}

func mustPack(word string) packed {
	p, ok := pack([]byte(word))
	if !ok {
		panic("similar: " + word + " is too long for the lexicon")
	}
	return p
}

// lexeme returns the lexeme of word, a new one if there is none yet.
func (t *lexiconTable) lexeme(word string) *lexeme {
	p := mustPack(word)
	if at := t.lookUp(p); at != 0 {
		return &t.list[at]
	}
	t.list = append(t.list, lexeme{word: p})
	h := lexiconHash(p)
	i := h % lexiconSlots
	for t.slots[i].at != 0 {
		i = (i + 1) % lexiconSlots
	}
	t.seen[h>>54] |= 1 << (h >> 48 & 63)
	t.slots[i].tag, t.slots[i].at = uint16(h>>48), uint16(len(t.list)-1)
	return &t.list[len(t.list)-1]
}

func lexiconHash(p packed) uint64 { return mix(p[0]^c4, p[1]^c5) }

// lookUp returns the place of a lower-cased word, 0 if it is not known.
func (t *lexiconTable) lookUp(p packed) uint16 {
	h := lexiconHash(p)
	if t.seen[h>>54]&(1<<(h>>48&63)) == 0 {
		return 0
	}
	for i := h % lexiconSlots; ; i = (i + 1) % lexiconSlots {
		s := t.slots[i]
		if s.at == 0 {
			return 0
		}
		if s.tag == uint16(h>>48) && t.list[s.at].word == p {
			return s.at
		}
	}
}
