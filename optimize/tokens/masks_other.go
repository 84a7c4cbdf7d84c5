//go:build !amd64 || purego

package tokens

var useAVX2 = false

// classify finds the masks of the blocks of text, at most a batch of them.
func classify(out *[batch]masks, text []byte) {
	for i := range len(text) / blockSize {
		classifyPlain(&out[i], (*[blockSize]byte)(text[i*blockSize:]))
	}
}
