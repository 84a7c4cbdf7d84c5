package similar

import (
	"strings"
	"testing"
)

// around puts a phrase into a question long enough that what the phrase differs
// in hardly lowers the similarity: forty other words.
func around(phrase string) string {
	return "Our small harbour office prepares an evening course and wants to explain to new colleagues, using one worked example and plain " +
		"everyday language, " + phrase + ", then mention three common mistakes beginners make here, how experienced people " +
		"avoid them, and which public source gives further details about this whole subject"
}

// apart holds questions that have different answers. Each row is one pair or,
// around the same text, a phrase pair.
var apart = []struct {
	kind  string
	pairs string // one a line, parted by |
}{
	{"negation", `
		which of these boats need a licence | which of these boats do not need a licence
		why the engine starts in winter | why the engine never starts in winter
		what happens with a deposit | what happens without a deposit
		which guests have paid | which guests haven't paid
		whether it is safe to dive here | whether it is not safe to dive here
		when members can vote | when members can't vote
		when members can vote | when members cannot vote
		who may enter with a pass | nobody may enter with a pass
		refunds except for groups | refunds for groups
		we refund unless the guest cancels | we refund if the guest cancels
		all of the crew is paid | none of the crew is paid
		why it should restart | why it shouldn't restart
		do stop the pump | don't stop the pump
		no, stop the pump | no stop the pump
		don't, stop it | don't stop it
		is either of them open | is neither of them open
		they hardly pay taxes | they pay taxes
		legal advice | illegal advice
		the possible answer | the impossible answer
		responsible owners | irresponsible owners
		the nonlinear case | the linear case
		useful tools | useless tools`},
	{"number", `
		invoice 4411 is due | invoice 4412 is due
		rope of 12 metres | rope of 1.2 metres
		rope of 12 metres | rope of 12 feet
		a draught of 1,5 m | a draught of 15 m
		a draught of -5 m | a draught of 5 m
		a change of + 5 | a change of - 5
		at 10:30 on deck | at 10:03 on deck
		about 5% of it | about 5 of it
		about $5 of it | about €5 of it
		5 USD to EUR | 5 EUR to USD
		from 10 to 20 | from 20 to 10
		version 2.1 of it | version 2.10 of it
		two of the ships | three of the ships
		a dozen of them | a hundred of them
		the first mate | the second mate
		twice every day | thrice every day
		5 MB of it | 5 Mb of it
		12 mW of it | 12 MW of it
		5! as a number | 5 as a number
		2^10 of them | 210 of them
		x > 5 always | x < 5 always
		the year 1998 | the year 1989
		page 0x1f there | page 0x1e there
		0.5 of it | .5 of it | 5 of it
		1e3 of them | 1e4 of them
		half of them | twice of them
		a third of the users | the third of the users
		pick 3, 4 or 5 | pick 3.4 or 5
		1990-1995 in short | 1990 1995 in short
		the last 7 days | the last 30 days
		the pairs 1, 2 3, 4 there | the pairs 1 2, 3 4 there
		the rows 1 2 \n 3 4 there | the rows 1 \n 2 3 4 there
		room 101a here | room 101b here`},
	{"identifier", `
		ticket AB-1204 there | ticket AB-1240 there
		the host db1.example.org | the host db2.example.org
		https://example.org/a there | https://example.org/b there
		see /etc/hosts there | see /etc/host there
		mail ann@example.org first | mail amy@example.org first
		call getUser there | call setUser there
		call getUser there | call getuser there
		run make_all there | run make-all there
		the flag -v there | the flag -V there
		the flag --force there | the flag force there
		.NET there | NET there
		C there | C++ there
		C there | C# there
		F# there | F there
		R there | r there
		vitamin A there | vitamin B there
		vitamin c there | vitamin C there
		option a there | option there
		plan a is cheaper | plan the is cheaper
		n! there | n there
		(n-1)! there | (n-1) there
		cp src/. there | cp src/ there
		ls ../.. there | ls ../. there
		git add . there | git add there
		cp a b there | cp b a there
		#general there | #random there
		10.0.0.1 there | 10.0.0.2 there
		😀 there | 😡 there`},
	{"quoted", `
		the sign "no entry" there | the sign "do not enter" there
		the sign "Exit" there | the sign "exit" there
		the command ` + "`ls -l` | the command `ls -a`" + `
		the sign 'please wait' there | the sign 'wait' there
		the sign "the pier" there | the sign "a pier" there
		the sign "pier" there | the sign pier there
		the sign “open” there | the sign “shut” there
		the code ` + "`a  b` | the code `a b`" + ``},
	{"antonym", `
		how to enable the alarm | how to disable the alarm
		how to switch on the horn | how to switch off the horn
		lights before sunset | lights after sunset
		how to increase pressure | how to decrease pressure
		how to add a user | how to remove a user
		how to start the engine | how to stop the engine
		how to open the valve | how to close the valve
		how to lock the gate | how to unlock the gate
		how to mount the disk | how to unmount the disk
		how to install it | how to uninstall it
		how to connect it | how to disconnect it
		how to encrypt it | how to decrypt it
		how to compress it | how to decompress it
		how to upload it | how to download it
		how to push it | how to pull it
		how to send mail | how to receive mail
		how to buy shares | how to sell shares
		how to lend money | how to borrow money
		how to gain weight | how to lose weight
		how to import goods | how to export goods
		how to accept an offer | how to reject an offer
		how to allow a port | how to block a port
		how to follow someone | how to unfollow someone
		how to fill the tank | how to empty the tank
		how to raise the sail | how to lower the sail
		how to read the file | how to write the file
		how to save it | how to delete it
		how to win this game | how to lose this game
		ascending order | descending order
		the left bank | the right bank
		the north pier | the south pier
		the inner harbour | the outer harbour
		the front wheel | the rear wheel
		a hot drink | a cold drink
		a wet road | a dry road
		a true claim | a false claim
		a positive result | a negative result
		a public road | a private road
		an old boat | a new boat
		a cheap flat | an expensive flat
		a fast route | a slow route
		a strong rope | a weak rope
		a heavy anchor | a light anchor
		a safe way | a dangerous way
		an easy knot | a hard knot
		a mandatory fee | an optional fee
		arrivals today | departures today
		profit this year | loss this year
		the advantages | the disadvantages
		the pros of it | the cons of it
		the cause of it | the effect of it
		the input of it | the output of it
		supply of fish | demand of fish
		the sender of it | the recipient of it
		an upgrade of it | a downgrade of it
		success of it | failure of it
		the minimum | the maximum
		min of them | max of them
		the top of it | the bottom of it
		the start of it | the end of it`},
	{"degree", `
		more than ten boats | less than ten boats
		at least ten boats | at most ten boats
		the largest boat | the smallest boat
		a larger boat | a large boat
		a very large boat | a large boat
		the best of them | the worst of them
		all boats | some boats
		any boat | every boat
		only members | members
		even members | members
		many of them | few of them
		a few members | few members
		a little hope | little hope
		a number of errors | the number of errors
		exactly ten boats | about ten boats
		always open | sometimes open
		often open | rarely open
		both of them | one of them
		half a tank | a tank
		too much fuel | much fuel
		almost full | full
		nearly certain | certain`},
	{"question word", `
		who built the pier | when was built the pier
		when they built it | where they built it
		why they built it | how they built it
		how much it costs | how long it costs
		what it does | why it does
		which one it is | whose one it is
		how often it runs | how fast it runs
		how many it takes | how much it takes`},
	{"modal and tense", `
		whether we must pay | whether we may pay
		whether we should pay | whether we could pay
		whether we will pay | whether we would pay
		who is the captain | who was the captain
		who was the captain | who will be the captain
		it has been closed | it had been closed
		he pays rent | he paid rent
		what changed there | what changes there
		they are moving | they were moving`},
	{"direction and place", `
		trains to Kiel | trains from Kiel
		water into the tank | water out of the tank
		put it under the deck | put it on the deck
		walk up the hill | walk down the hill
		sail with the wind | sail against the wind
		paid by the guest | paid to the guest
		paid for the guest | paid by the guest
		above the line | below the line
		inside the shed | outside the shed
		over the bridge | under the bridge
		forward to it | backward to it
		since May | until May
		within a week | after a week
		in prison | in the prison
		in office | in the office
		out of question | out of the question
		at times | at the times
		made by hand | made by a hand
		what is time | what is the time
		once a day | once the day
		on Monday | on a Monday`},
	{"person", `
		he may enter | she may enter
		his boat | her boat
		my boat | your boat
		they pay us | we pay them
		the boat hit it | it hit the boat
		I owe you | you owe me
		her sister | her brother
		his mother | his father
		a boy of ten | a girl of ten
		the landlord | the tenant
		the employer | the employee
		the buyer | the seller
		the teacher | the student
		the doctor | the patient`},
	{"order", `
		a dog bites a man | a man bites a dog
		tea is better than coffee | coffee is better than tea
		convert miles to knots | convert knots to miles
		load billing before archive | load archive before billing
		Anna called Ben | Ben called Anna
		the difference a minus b | the difference b minus a
		from Rome to Paris | from Paris to Rome
		rise then fall | fall then rise
		not all boats | all boats not
		divide six by two | divide two by six`},
	{"name", `
		flights to London | flights to Lisbon
		flights to london | flights to lisbon
		the capital of Niger | the capital of Nigeria
		the capital of Austria | the capital of Australia
		the king of Sweden | the king of Norway
		learn Spanish fast | learn Portuguese fast
		use Java there | use JavaScript there
		use python there | use ruby there
		use Postgres there | use SQLite there
		use Linux there | use Windows there
		open on Monday | open on Tuesday
		open in June | open in July
		open in january | open in february
		a red flag | a green flag
		a blue boat | a black boat
		the Polish crew | the polish crew
		cook turkey there | cook Turkey there
		help us there | help US there
		who did it | WHO did it
		it works there | IT works there
		in May there | in may there
		pay Bill there | pay bill there
		Mr Miller there | Mr Muller there
		Müller there | Muller there
		the Baltic Sea | the North Sea
		Apple there | apple there
		euros there | dollars there
		a cat there | a dog there`},
	{"near synonym that is none", `
		the latitude there | the longitude there
		a row there | a column there
		debit it there | credit it there
		gross pay there | net pay there
		a virus there | a bacterium there
		affect it there | effect it there
		principal there | principle there
		weather there | whether there
		an import there | an input there
		the mean there | the median there
		a list there | a tuple there
		a class there | an object there
		a thread there | a process there
		http there | https there
		tcp there | udp there
		a stack there | a queue there
		parent there | child there
		a client there | a server there
		asia there | africa there
		mass there | weight there
		speed there | acceleration there
		celsius there | fahrenheit there
		kilometres there | miles there
		breakfast there | lunch there
		gram there | kilogram there
		mitosis there | meiosis there
		emigrate there | immigrate there
		inhale there | exhale there
		summer there | winter there
		sunrise there | sunset there
		horizontal there | vertical there
		rare earth there | earth there
		serial there | parallel there
		synchronous there | asynchronous there
		mutable there | immutable there
		encode there | decode there
		stalagmites there | stalactites there
		a metre there | a meter there
		the storey there | the story there
		cheque it there | check it there`},
	{"number of things", `
		the error there | the errors there
		a child there | children there
		name the brother there | name the brothers there
		one answer there | one answers there
		a new there | a news there
		the good there | the goods there`},
	{"typing error that is a word", `
		the form there | the from there
		the dairy there | the diary there
		the desert there | the dessert there
		a causal link | a casual link
		trail there | trial there
		quite there | quiet there
		lose there | loose there
		now open there | not open there
		then there | than there
		a martial court | a marital court
		untied there | united there
		the pubic hair | the public hair`},
	{"filler that is none", `
		how to please a guest | how to a guest
		what it takes to please | what it takes to
		do as you please there | do as you there
		people who give thanks | people who give
		show only names | show just names
		list just names | list names
		a thank you note | a note
		how one says please there | how one says there
		how one says thanks there | how one says there
		how one says hello there | how one says thanks there
		the word a there | the word the there
		the word really there | the word there
		is not a problem there | is not the problem there
		take place there | take the place there
		in case it rains | in the case it rains
		a second there | the second there
		the Who there | who there
		not really open there | not open there
		is basically free there | is free there
		a can there | can there
		a will there | will there
		the kindly man | the man
		very well there | very there
		okay there | there
		so there | there
		thanks to rain | rain
		would you swim there | swim there
		can you swim there | swim there
		the sign reads: please wait | the sign reads: wait
		how to charm, please and keep guests | how to charm and keep guests
		how performers charm, please, delight an audience | how performers charm, delight an audience
		how performers please, entertain and delight | how performers entertain and delight
		a just cause there | a cause there
		vote for change | vote for a change
		houses for sale | houses for the sale
		half the users | half users
		all the boats sink | all boats sink
		the letter reads: a pier | the letter reads: the pier`},
	{"text as material", `
		translate good day, Sir | translate good day Sir
		translate please wait | translate wait
		spell Kiel there | spell kiel there
		fix the punctuation of eat, grandma | fix the punctuation of eat grandma
		count the commas in a, b | count the commas in a b`},
	{"spelling where it counts", `
		the css keyword colour | the css keyword color
		british usage of analyse | british usage of analyze`},
	{"script", `
		слово мир там | слово дом там
		wie Sie das und dies sehen | wie sie das und dies sehen
		wir wissen nicht wo Essen ist | wir wissen nicht wo essen ist
		το νερό εκεί | το νησί εκεί
		das Öl dort | das Ol dort
		el año aquí | el ano aquí
		東京 there | 京都 there
		kaffee schön | kaffee schon`},
}

// wholly holds pairs of whole questions with different answers.
var wholly = [][2]string{
	{ // a negation put in at a similarity of 0.90
		"tell me whether members may enter western pier after sunset",
		"tell me whether members may not enter western pier after sunset"},
	{
		"Please convert exactly 5 USD to EUR using today's official central bank reference rate",
		"Please convert exactly 5 EUR to USD using today's official central bank reference rate"},
	{
		"Summarise payment status, open balance, agreed discount and due date for invoice 4411 of customer Hansen, and list every reminder we have sent so far",
		"Summarise payment status, open balance, agreed discount and due date for invoice 4412 of customer Hansen, and list every reminder we have sent so far"},
	{
		"Write a short guide that shows new operators how to enable automatic nightly backups on the harbour server, with one screenshot each",
		"Write a short guide that shows new operators how to disable automatic nightly backups on the harbour server, with one screenshot each"},
	{
		"hello how are you doing this fine morning on the pier old friend, in spanish translation please",
		"how are you doing this fine morning on the pier old friend, in spanish translation please"},
	{
		"hello how are you doing this fine morning on the pier old friend, in spanish translation please",
		"hello how are you doing this fine morning on the pier old friend, in spanish translation"},
	{
		"Good Morning, Vietnam plot, cast and filming locations, told without spoilers for students who prepare an exam about American cinema history",
		"Vietnam plot, cast and filming locations, told without spoilers for students who prepare an exam about American cinema history"},
	{
		"Well, pump and filter maintenance for small summer houses near salty coastal groundwater explained simply",
		"Pump and filter maintenance for small summer houses near salty coastal groundwater explained simply"},
	{
		"Is this configuration valid and what does each line mean:\nservices:\n  web:\n    image: nginx\n  cache:\n    image: valkey",
		"Is this configuration valid and what does each line mean:\nservices:\n  web:\n    image: nginx\n    cache:\n      image: valkey"},
	{
		"Um Qasr port capacity, opening hours, customs contacts and usual berth prices for small sailing yachts",
		"Qasr port capacity, opening hours, customs contacts and usual berth prices for small sailing yachts"},
	{
		"Really Useful Boxes compared with other plastic storage boxes regarding price, strength and available lid colours",
		"Useful Boxes compared with other plastic storage boxes regarding price, strength and available lid colours"},
	{
		"My just neighbour wants a divorce, and who keeps our house, garden, old dog and shared savings afterwards?",
		"My neighbour wants a divorce, and who keeps our house, garden, old dog and shared savings afterwards?"},
	{
		"Hello world program written using modern Rust with comments that explain every single line",
		"World program written using modern Rust with comments that explain every single line"},
	{
		"What does this print?\nfor i in range(3):\n    print(i)\n    print(\"done\")\nand which beginner mistakes hide there",
		"What does this print?\nfor i in range(3):\n    print(i)\nprint(\"done\")\nand which beginner mistakes hide there"},
	{
		"How does one say thanks in Japanese when leaving a small family restaurant late, and which gesture do people in rural towns expect besides",
		"How does one say please in Japanese when leaving a small family restaurant late, and which gesture do people in rural towns expect besides"},
	{
		"Turkey exports grain: which harbours, companies and railway lines matter most and why exactly",
		"turkey exports grain: which harbours, companies and railway lines matter most and why not exactly"},
	{
		"Which harbours along this coast have fuel, fresh water and shops within walking distance thanks to tourism?",
		"Which harbours along this coast have fuel, fresh water and shops within walking distance to tourism?"},
}

// meet tells whether b finds a.
func meet(t *testing.T, a, b string, guard Guard, threshold float64) bool {
	t.Helper()
	var qa, qb Question
	if !Prepare(&qa, []byte(a), guard) || !Prepare(&qb, []byte(b), guard) {
		t.Fatalf("too few words: %q, %q", a, b)
	}
	x := New(Options{Shards: 1})
	x.Insert(Key{1, 2}, &qa, 7, 100)
	id, score, ok := x.Search(Key{1, 2}, &qb, threshold, 10)
	if s, both := Jaccard(&qa, &qb); ok && (id != 7 || !both || s != score) {
		t.Errorf("Search and Jaccard disagree on %q, %q", a, b)
	}
	return ok
}

// TestGuardKeepsApart asks pairs of questions whose answers differ. Without the
// guard each pair meets, or it would prove nothing.
func TestGuardKeepsApart(t *testing.T) {
	count := 0
	check := func(t *testing.T, a, b string) {
		t.Helper()
		count++
		if !meet(t, a, b, Off, 0.9) {
			t.Errorf("not near enough to tempt: %q, %q", a, b)
		}
		for _, g := range []Guard{Lexical, Strict} {
			if meet(t, a, b, g, 0.5) || meet(t, b, a, g, 0.5) {
				t.Errorf("%v lets meet: %q, %q", g, a, b)
			}
		}
	}
	for _, row := range apart {
		t.Run(row.kind, func(t *testing.T) {
			for _, line := range strings.Split(strings.TrimSpace(row.pairs), "\n") {
				phrases := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\n`, "\n"), " | ")
				if len(phrases) < 2 {
					t.Fatalf("no pair: %q", line)
				}
				for i := range phrases {
					for j := range i {
						check(t, around(phrases[i]), around(phrases[j]))
					}
				}
			}
		})
	}
	t.Run("whole questions", func(t *testing.T) {
		for _, p := range wholly {
			check(t, p[0], p[1])
		}
	})
	t.Logf("%d pairs", count)
}

// base is the question that the paraphrases are of: 44 distinct words.
const base = "How do I move the stored photos of our club from an old laptop to a new server, keep the dates and captions of each " +
	"picture, check afterwards that nothing was lost on the way, and share the finished album with members who live abroad?"

// paraphrases ask the same as their original. They meet under Lexical at the
// threshold, and under Strict unless lexicalOnly is set.
var paraphrases = []struct {
	name        string
	a, b        string
	threshold   float64
	lexicalOnly bool
}{
	{"the same", base, base, 1, false},
	{"no question mark", base, strings.TrimSuffix(base, "?"), 1, false},
	{"full stop for a question mark", base, strings.TrimSuffix(base, "?") + ".", 1, false},
	{"two question marks", base, base + "?", 1, false},
	{"exclamation", base, strings.TrimSuffix(base, "?") + "?!", 1, false},
	{"dots", base, strings.TrimSuffix(base, "?") + "...", 1, false},
	{"ellipsis", base, strings.TrimSuffix(base, "?") + "…", 1, false},
	{"no commas", base, strings.ReplaceAll(base, ",", ""), 1, false},
	{"semicolons", base, strings.ReplaceAll(base, ",", ";"), 1, false},
	{"one comma less", base, strings.Replace(base, "picture,", "picture", 1), 1, false},
	{"one comma more", base, strings.Replace(base, "server, keep", "server, keep,", 1), 1, false},
	{"a dash for a comma", base, strings.Replace(base, "server, keep", "server - keep", 1), 1, false},
	{"a long dash for a comma", base, strings.Replace(base, "server, keep", "server—keep", 1), 1, false},
	{"a long dash between spaces", base, strings.Replace(base, "server, keep", "server — keep", 1), 1, false},
	{"two sentences", base, strings.Replace(base, "way, and", "way. And", 1), 1, false},
	{"a space before the mark", base, strings.TrimSuffix(base, "?") + " ?", 1, false},
	{"lower case", base, strings.ToLower(base), 1, false},
	{"upper case", base, strings.ToUpper(base), 1, false},
	{"upper and lower case", strings.ToLower(base), strings.ToUpper(base), 1, false},
	{"lower case at the start", base, "how" + base[3:], 1, false},
	{"shouting in between", base, strings.Replace(base, "nothing was lost", "NOTHING was LOST", 1), 1, false},
	{"two spaces", base, strings.ReplaceAll(base, " ", "  "), 1, false},
	{"lines", base, strings.ReplaceAll(base, ", ", ",\n"), 1, false},
	{"lines of Windows", base, strings.ReplaceAll(base, ", ", ",\r\n"), 1, false},
	{"tabs", base, strings.ReplaceAll(base, ", ", ",\t"), 1, false},
	{"paragraphs", base, strings.Replace(base, ", check", ",\n\ncheck", 1), 1, false},
	{"white space around", base, "\n  " + base + " \n\n", 1, false},
	{"no-break spaces", base, strings.ReplaceAll(base, "of our", "of\u00a0our"), 1, false},
	{"please before", base, "Please, how" + base[3:], 0.95, false},
	{"please after", base, strings.TrimSuffix(base, "?") + ", please?", 0.95, false},
	{"please after without comma", base, strings.TrimSuffix(base, "?") + " please", 0.95, false},
	{"pls", base, "pls how" + base[3:], 0.95, false},
	{"please moved", "Please, how" + base[3:], strings.TrimSuffix(base, "?") + ", please?", 1, false},
	{"thanks after", base, base + " Thanks!", 0.95, false},
	{"thank you after", base, base + " Thank you.", 0.95, false},
	{"thanks in advance", base, base + " Thanks in advance!", 0.93, false},
	{"thank you very much", base, base + " Thank you very much.", 0.9, false},
	{"thanks without a mark", base, strings.TrimSuffix(base, "?") + " thanks", 0.95, false},
	{"thanks before", base, "Thanks! " + base, 0.95, false},
	{"hi", base, "Hi, how" + base[3:], 0.95, false},
	{"hello", base, "Hello! " + base, 0.95, false},
	{"hello there", base, "Hello there, how" + base[3:], 0.95, false},
	{"hey without a mark", base, "hey how" + base[3:], 0.95, false},
	{"good morning", base, "Good morning! " + base, 0.95, false},
	{"hi and thanks", base, "Hi! " + base + " Thanks", 0.95, false},
	{"an article for another", base, strings.Replace(base, "an old laptop", "the old laptop", 1), 0.95, false},
	{"an article less", base, strings.Replace(base, "the stored photos", "stored photos", 1), 1, false},
	{"an article more", base, strings.Replace(base, "nothing was", "the nothing was", 1), 1, false},
	{"articles less", base, strings.NewReplacer("the stored", "stored", "the dates", "dates", "the finished", "finished").Replace(base), 1, false},
	{"a for the", base, strings.Replace(base, "the finished album", "a finished album", 1), 1, false},
	{"curly quotes", base + ` And what does "safe" mean`, base + ` And what does “safe” mean`, 1, false},
	{"could you", "Explain how" + base[8:], "Could you explain how" + base[8:], 0.95, false},
	{"could you please", "Explain how" + base[8:], "Could you please explain how" + base[8:], 0.9, false},
	{"can you", "Explain how" + base[8:], "Can you explain how" + base[8:], 0.95, false},
	{"would you kindly", "Explain how" + base[8:], "Would you kindly explain how" + base[8:], 0.9, false},
	{"can you just", "Explain how" + base[8:], "Can you just explain how" + base[8:], 0.9, false},
	{"please explain", "Explain how" + base[8:], "Please explain how" + base[8:], 0.95, false},
	{"kindly explain", "Explain how" + base[8:], "Kindly explain how" + base[8:], 0.95, false},
	{"could you tell the", "tell the crew how" + base[8:], "Could you tell the crew how" + base[8:], 0.95, false},
	{"tell me", base, "Tell me how" + base[3:], 0.95, true},
	{"please tell me", base, "Please tell me how" + base[3:], 0.9, true},
	{"let me know", base, "Let me know how" + base[3:], 0.9, true},
	{"I would like to know", base, "I would like to know how" + base[3:], 0.9, true},
	{"I want you to", "Explain how" + base[8:], "I want you to explain how" + base[8:], 0.9, true},
	{"so", base, "So, how" + base[3:], 0.95, true},
	{"ok so", base, "ok, so how" + base[3:], 0.95, true},
	{"um", base, "Um, how" + base[3:], 0.95, true},
	{"actually", base, "Actually, how" + base[3:], 0.95, true},
	{"I really want", "I want to move" + base[13:], "I really want to move" + base[13:], 0.95, true},
	{"I just want", "I want to move" + base[13:], "I just want to move" + base[13:], 0.95, false},
	{"contraction", base + " What is best?", base + " What's best?", 0.9, true},
	{"negated contraction", base + " I do not know.", base + " I don't know.", 0.9, true},
	{"curly apostrophe", base + " I don't know.", base + " I don’t know.", 1, false},
	{"cannot", base + " I cannot wait.", base + " I can not wait.", 0.9, true},
	{"no apostrophe", base + " I don't know.", base + " I dont know.", 0.9, true},
	{"British spelling", base + " Keep the colours.", base + " Keep the colors.", 0.95, true},
	{"British z", base + " Also organise them.", base + " Also organize them.", 0.95, true},
	{"e-mail", base + " Send one email.", base + " Send one e-mail.", 0.9, true},
	{"a number", base + " There are 12 albums.", "Please, how" + base[3:] + " There are 12 albums", 0.95, false},
	{"a name", base + " We live in Kiel.", strings.ToLower(base) + " we live in kiel", 1, false},
	{"known capitals", base + " We use GitHub.", base + " We use github", 1, false},
	{"code stays", base + " We ran `rsync -a`.", "Hi, how" + base[3:] + " We ran `rsync -a`", 0.95, false},
	{"Cyrillic", "Как мне перенести старые фотографии нашего клуба на новый сервер без потери подписей?",
		"как мне перенести старые фотографии нашего клуба на новый сервер, без потери подписей", 1, false},
	{"translation", "Translate this sentence into German for our harbour guests tomorrow: the pier is closed today.",
		"Please translate this sentence into German for our harbour guests tomorrow: the pier is closed today.", 0.9, false},
}

// TestGuardLetsParaphrasesMeet is the other half: what asks the same is found,
// from either side.
func TestGuardLetsParaphrasesMeet(t *testing.T) {
	for _, p := range paraphrases {
		t.Run(p.name, func(t *testing.T) {
			if !meet(t, p.a, p.b, Lexical, p.threshold) || !meet(t, p.b, p.a, Lexical, p.threshold) {
				t.Errorf("lexical keeps apart at %v: %q", p.threshold, p.b)
			}
			if got := meet(t, p.a, p.b, Strict, p.threshold); got == p.lexicalOnly {
				t.Errorf("strict: got %v for %q", got, p.b)
			}
		})
	}
}
