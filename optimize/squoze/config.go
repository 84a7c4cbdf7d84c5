package squoze

import "bytes"

// passName is the engine's name in markers, headers and reports.
const passName = "squoze"

// Config are the settings of an engine. The zero value is ready for use and
// means the defaults.
type Config struct {
	// References says which repeated text becomes a pointer. Default: runs of
	// lines and whole blocks.
	References References

	// Gates are the smallest texts that are looked at, by model family, in
	// bytes. 0 means the family's default. Pointers have their own least
	// size, 8 lines and 200 bytes, for all families alike.
	Gates [Families]int

	// MaxBody and MaxBlock are the largest body and the largest JSON string in
	// it that are looked at, in bytes. 0 means no limit.
	MaxBody, MaxBlock int64

	// MemoBytes bounds the memory of what became of texts seen before.
	// 0 means 64 MiB; below 0 nothing is remembered. It has no influence on
	// what comes out.
	MemoBytes int64

	// Originals keeps the originals of what is elided. If it is nil they are
	// not kept, and markers say so.
	Originals *Originals

	// RequireOriginals leaves a text whole when its original cannot be kept.
	RequireOriginals bool
}

// defaultMemo is the default of Config.MemoBytes.
const defaultMemo = 64 << 20

// Family is a family of models.
type Family uint8

// Families of models.
const (
	Other Family = iota
	Claude
	GPT
	DeepSeek
	Families // their number
)

// families are the names and the default gates of the families.
var families = [Families]struct {
	name string
	gate int
}{
	Other:    {"other", 2048},
	Claude:   {"claude", 4096},
	GPT:      {"gpt", 2048},
	DeepSeek: {"deepseek", 1024},
}

// String is the name of f as it stands in configurations and reports.
func (f Family) String() string {
	if f >= Families {
		f = Other
	}
	return families[f].name
}

// DefaultGate is the smallest text that is looked at, in bytes.
func (f Family) DefaultGate() int {
	if f >= Families {
		f = Other
	}
	return families[f].gate
}

// FamilyOf is the family of the model of that name, with or without the
// provider in front: claude-sonnet-4-5, openai/gpt-5, o3-mini.
func FamilyOf(model string) Family { return familyOf([]byte(model)) }

func familyOf(model []byte) Family {
	switch {
	case containsFold(model, "claude"):
		return Claude
	case containsFold(model, "deepseek"):
		return DeepSeek
	case containsFold(model, "gpt"):
		return GPT
	}
	name := model[bytes.LastIndexByte(model, '/')+1:]
	for _, prefix := range [...]string{"o1", "o3", "o4", "codex"} {
		if n := len(prefix); len(name) >= n && equalFold(name[:n], prefix) && (len(name) == n || name[n] == '-') {
			return GPT
		}
	}
	return Other
}

// containsFold reports whether word, in lower case, is in text in any case.
func containsFold(text []byte, word string) bool {
	for ; len(text) >= len(word); text = text[1:] {
		if equalFold(text[:len(word)], word) {
			return true
		}
	}
	return false
}

func equalFold(text []byte, word string) bool {
	for i, c := range text {
		if c|0x20 != word[i] && c != word[i] {
			return false
		}
	}
	return true
}
