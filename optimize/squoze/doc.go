// Package squoze is the deterministic engine for tool output: the strongest
// compression that loses nothing that matters. It works on tool results, and
// on what a user pasted inside of an explicit wrapper, and on nothing else.
//
// What it may do to a text depends on what the text is (see package output):
//
//   - terminal codes and redraws resolve to what a person would have seen;
//   - of the reports of test runners, compilers and logs every failure stays
//     with its details, and of what repeats the first and the last line;
//   - if a report is nearly all failures, those that differ only in some words
//     are listed by these words;
//   - arrays of objects become tables from which the JSON value can be rebuilt;
//   - the sections of lock files and generated files of a diff become one line
//     each;
//   - text that already stands in the request becomes a pointer to it.
//
// Content of files (source, configuration, prose) is only ever replaced by a
// pointer to the same lines earlier in the request.
//
// What becomes of a block depends on the block, the call it answers and what
// stands before it, on nothing else: not on time, load, other requests or
// memory of them.
package squoze
