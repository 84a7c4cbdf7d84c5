//go:build !purego

package tokens

import "golang.org/x/sys/cpu"

// useAVX2 chooses the vector code. Tests switch it off to try both.
var useAVX2 = cpu.X86.HasAVX2

// classify finds the masks of the blocks of text, at most a batch of them.
func classify(out *[batch]masks, text []byte) {
	if useAVX2 {
		classifyAVX2(out, text)
		return
	}
	for i := range len(text) / blockSize {
		classifyPlain(&out[i], (*[blockSize]byte)(text[i*blockSize:]))
	}
}

//go:noescape
func classifyAVX2(out *[batch]masks, text []byte)
