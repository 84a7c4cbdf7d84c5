// Package similar finds, among the questions that a cache has answered, the one
// that asks the same thing in slightly other words.
//
// Prepare turns a text into a Question: its set of words and a fingerprint. An
// Index keeps questions by partition, which stands for everything else that
// must be equal, and Search returns the one of the highest Jaccard similarity
// of the word sets, if that reaches a threshold. Answers are exact: the same
// presence, score and entry as a comparison with every question would give.
//
// # Words
//
// The word set holds lower-cased runs of letters, digits and low lines, with
// single apostrophes inside. It decides the score and the gate (MinWords); it
// knows nothing of order, and so "5 USD to EUR" and "5 EUR to USD" are one set.
// That is what the guard is for.
//
// # The guard
//
// One other word nearly always makes another question, whichever word it is,
// and no list of numbers, negations, antonyms, names and units is ever
// complete. So the guard does not list what matters. Two questions may meet
// only if they are the same sequence of tokens once what demonstrably does not
// matter is set aside; the fingerprint is the hash of that sequence, and
// questions of different fingerprints are never compared. Everything that is
// not named below counts, in its place and its order.
//
// Set aside under Strict and Lexical:
//
//   - white space, unless the text holds indented lines or code without a
//     fence: then the whole text counts, byte for byte;
//   - the marks , . ; : ! ? … and dashes after or between plain words, but not
//     beside a negation ("no, stop"), between numbers, symbols or single letters
//     ("1, 2 3"), or where they belong to a path, a pattern or a factorial;
//   - case in plain words, but not in single letters, camel case, units after a
//     number (MB, Mb), words that are another word with a capital (Turkey, May,
//     US) in the middle of a sentence, and German; in a text all in capitals
//     case tells nothing;
//   - a, an and the before a plain word, where neither that word nor the one
//     before makes it more than an article ("the few", "in office", "plan a",
//     "not a");
//   - please, kindly, "could you" before a request, a greeting that opens the
//     text, thanks that open or close it, and "just" beside these.
//
// Lexical, the default, goes a little further, so that it still bridges what
// people vary without thinking:
//
//   - "tell me" and its like before a question word, "I want you to" before a
//     request;
//   - "um", "so" and "ok" before the question, "really" and "actually" at its
//     start and after "I";
//   - British and American spelling of words that have no other sense (colour,
//     color, but not metre, meter), unless the text is about spelling or code;
//   - don't and do not, it's and it is.
//
// Synonyms are never set aside: show and list, fast and quick ask for different
// answers often enough. Nor is the order of words.
//
// Fillers are fillers only where they stand as such. After words that announce
// a quotation (say, word, reply) or a colon none is dropped, and in a text about
// its own wording (translate, spell, punctuation) every byte from there on
// counts. Quoted and code spans count byte for byte anywhere.
//
// What remains is a choice: "a president of France" meets "the president of
// France", and an all lower-case text is read as one with its capitals would
// be. Off switches the guard off; then questions of opposite meaning meet.
//
// # The index
//
// A partition of a few entries is a list. Behind the guard nearly all are, since
// the fingerprint is part of it: a look-up is one probe of a hash table.
//
// A larger partition is indexed by signature. If two sets of n and m words reach
// a threshold t, they differ in at most m(1-t)/t words, whatever n is. A set of m
// words is therefore split, by the words' hashes, into one part more than that,
// at the index's floor; each part's sum, with the partition, is a key. Any match
// shares at least one part, and among any d+1 parts if it differs in d words,
// so a search at a higher threshold needs fewer of them and picks the ones with
// the fewest entries. (Arasu, Ganti, Kaushik: Efficient exact set-similarity
// joins, VLDB 2006.) What shares a part is ruled out by its size and by a 64-bit
// parity, whose bits differ in at most as many places as the sets in words; what
// is left is intersected. Signatures that template traffic shares lead to a
// prefix filter, see crowd.
//
// Readers share a lock with the other readers of their shard; a writer holds it
// for about a microsecond. Hash tables grow a segment at a time. There is
// nothing to tune but Options.
//
// # Memory
//
// An entry takes 64 bytes, 8 for each word, about 25 in the directory of ids and
// 10 to 15 for each key: one in a small partition, 1+m(1-f)/f at floor f in a
// large one. Measured on 300 000 entries of 35 words: 400 bytes behind the
// lexical guard, 450 in one large partition at a floor of 0.9; template traffic
// of 40 words takes about 1 KB. Index.Bytes counts it. An empty index of 64
// shards takes 300 KB.
package similar
