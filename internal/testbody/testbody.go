// Package testbody builds the request bodies that tests and benchmarks of this
// repository measure with: chat completions of three sizes, and variants of
// them in which no text repeats.
//
// The sizes are those of a reference gateway's published measurements: 0.1 KiB,
// 99 213 and 648 637 bytes. Known of the larger two are the sequence of the
// messages, the rows of the tool results and both sizes. From the sizes
// follows that, with compact JSON and turns counted from 0, a turn takes 353
// bytes beside its tool result and names its number four times, and that
// everything outside of the turns takes 197 bytes. The wording that fills
// those bytes is assumed.
package testbody

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Profile is a size of body.
type Profile uint8

// Profiles.
const (
	ProfileSmall Profile = iota // one question, no tools
	ProfileLarge                // 8 turns
	ProfileHuge                 // 60 turns
)

// SmallSize, LargeSize and HugeSize are the exact lengths of the bodies.
const (
	SmallSize = 102
	LargeSize = 99_213
	HugeSize  = 648_637
)

// Profiles lists all profiles by ascending size.
var Profiles = []Profile{ProfileSmall, ProfileLarge, ProfileHuge}

func (p Profile) String() string {
	switch p {
	case ProfileSmall:
		return "small"
	case ProfileLarge:
		return "large"
	case ProfileHuge:
		return "huge"
	}
	return "Profile(" + strconv.Itoa(int(p)) + ")"
}

// Small is a question of 102 bytes that no optimizer has work with.
func Small() []byte { return build(ProfileSmall, stock{}) }

// Large is a conversation of 8 turns whose tool results have 84 rows each.
// All tool results are equal.
func Large() []byte { return build(ProfileLarge, stock{}) }

// Huge is a conversation of 60 turns whose tool results have 73 rows each.
// All tool results are equal.
func Huge() []byte { return build(ProfileHuge, stock{}) }

// Body is Small, Large or Huge.
func Body(p Profile) []byte { return build(p, stock{}) }

// Fresh is a body of the shape and size of Body(p) in which every text and
// every tool result differs from every other of the same body and from those
// of any other seed. The same seed gives the same bytes.
func Fresh(p Profile, seed uint64) []byte {
	return build(p, fresh{rand.New(rand.NewPCG(seed, uint64(p)))})
}

// words chooses what stands in a text. All choices of one kind have the same
// length, so the choice does not change the size.
type words interface {
	nonce() string    // 12 letters
	thing() string    // 8 letters
	place() string    // 5 letters
	module() string   // 6 letters
	file() string     // 7 letters
	property() string // 6 letters
}

// stock are the words that are the same everywhere.
type stock struct{}

func (stock) nonce() string    { return "unrestricted" }
func (stock) thing() string    { return "variable" }
func (stock) place() string    { return "retry" }
func (stock) module() string   { return "module" }
func (stock) file() string     { return "handler" }
func (stock) property() string { return "unused" }

type fresh struct{ *rand.Rand }

func (f fresh) nonce() string { return f.letters(12) }
func (f fresh) thing() string {
	return pick(f, "variable", "constant", "function", "argument", "receiver", "operator", "property", "iterator")
}
func (f fresh) place() string {
	return pick(f, "retry", "parse", "write", "close", "flush", "merge", "fetch", "visit", "split", "drain")
}

// module is new for every row: enough letters that no two rows are alike.
func (f fresh) module() string { return f.letters(6) }
func (f fresh) file() string {
	return pick(f, "handler", "decoder", "manager", "watcher", "request", "session", "scanner", "builder")
}
func (f fresh) property() string {
	return pick(f, "unused", "hidden", "shared", "global", "unsafe", "frozen", "static", "cached")
}

func (f fresh) letters(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(f.IntN(26))
	}
	return string(b)
}

func pick(f fresh, choice ...string) string { return choice[f.IntN(len(choice))] }

func build(p Profile, w words) []byte {
	const maxTokens = `],"max_tokens":64}`
	b := []byte(`{"model":"gpt-4o","messages":[`)
	if p == ProfileSmall {
		b = fmt.Appendf(b, `{"role":"user","content":"Say '%s' please."}`, w.nonce())
		return append(b, maxTokens...)
	}
	turns, rows := 8, 84 // ceil(8000/96) rows
	if p == ProfileHuge {
		turns, rows = 60, 73 // ceil(7000/96) rows
	}
	b = fmt.Appendf(b, `{"role":"system","content":"You review %s code in a single tree and are brief."}`, w.nonce())
	for turn := range turns {
		b = fmt.Appendf(b, `,{"role":"user","content":"Step %d: now run the %s diagnostics for the next package and summarise what they found."}`, turn, w.nonce())
		b = fmt.Appendf(b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":`+
			`{"name":"run_diagnostics","arguments":"{\"step\":%d,\"scope\":\"%s\"}"}}]}`, turn, turn, w.nonce())
		b = fmt.Appendf(b, `,{"role":"tool","tool_call_id":"call_%d","content":`, turn)
		b = appendString(b, result(rows, w))
		b = append(b, '}')
	}
	b = fmt.Appendf(b, `,{"role":"user","content":"Name the 3 worst %s."}`, w.nonce())
	return append(b, maxTokens...)
}

// result is the JSON text that a tool returns.
func result(rows int, w words) []byte {
	b := []byte(`{"status":"ok","rows":[`)
	for i := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"id":%d,"path":"internal/%s_%d/%s.go","diagnostic":"%s %s shadows package-level identifier in the %s branch"}`,
			i, w.module(), i, w.file(), w.property(), w.thing(), w.place())
	}
	return append(b, "]}"...)
}

// appendString appends text as a JSON string.
func appendString(b, text []byte) []byte {
	s, err := json.Marshal(string(text))
	if err != nil {
		panic(err) // a string always encodes
	}
	return append(b, s...)
}
