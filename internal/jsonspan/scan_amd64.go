//go:build !purego

package jsonspan

import "golang.org/x/sys/cpu"

// useAVX2 chooses the vector code. Tests switch it off to try both.
var useAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT && cpu.X86.HasPCLMULQDQ

// useAVX512 chooses, with useAVX2, the code for wider vectors. Processors that also have VBMI do
// not run slower because of them.
var useAVX512 = useAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI

func scanBlocks(src []byte) (at, flags int) {
	switch {
	case !useAVX2:
		return scanBlocksGo(src)
	case useAVX512:
		return scanBlocksAVX512(src)
	}
	return scanBlocksAVX2(src)
}

//go:noescape
func scanBlocksAVX512(src []byte) (at, flags int)

//go:noescape
func scanBlocksAVX2(src []byte) (at, flags int)

// unquoteBlocks decodes src into dst, which is at least as long, up to an escape
// that is not short or, at the latest, to where unquoteBlock bytes are left. It
// returns how far it came in both.
func unquoteBlocks(dst, src []byte) (nsrc, ndst int) {
	switch {
	case useAVX512:
		return unquoteAVX512(dst, src)
	case useAVX2 && len(src) > unquoteBlock:
		return unquoteAVX2(dst, src, &shortEscape)
	}
	return 0, 0
}

//go:noescape
func unquoteAVX512(dst, src []byte) (nsrc, ndst int)

//go:noescape
func unquoteAVX2(dst, src []byte, short *[256]byte) (nsrc, ndst int)

// escapeBlocks escapes src into dst up to a control byte that has no short
// escape or the first byte of a surrogate, or to where src has less than
// blockSize bytes left or dst less than 96. It returns how far it came in both.
func escapeBlocks(dst, src []byte) (nsrc, ndst int) {
	if useAVX2 {
		return escapeAVX2(dst, src, &shortEscapeOf)
	}
	return 0, 0
}

//go:noescape
func escapeAVX2(dst, src []byte, short *[256]byte) (nsrc, ndst int)

// spaceMasksOf sets out to the masks of the n blocks at the beginning of src.
func spaceMasksOf(src []byte, n int, out *[spaceBatch]spaceMasks) {
	if useAVX2 {
		_ = src[n*blockSize-1]
		spaceMasksAVX2(&src[0], n, out)
		return
	}
	spaceMasksGo(src, n, out)
}

// compactBlocks reads the whole blocks of src, see compactBlocksGo.
func compactBlocks(src []byte, inside, carry uint64) (in, out uint64, ok bool) {
	switch {
	case !useAVX2 || len(src) == 0:
		return compactBlocksGo(src, inside, carry)
	case useAVX512:
		return compactBlocksAVX512(&src[0], len(src)/blockSize, inside, carry)
	}
	return compactBlocksAVX2(&src[0], len(src)/blockSize, inside, carry)
}

// compactRun reads the whole blocks of src, of which there is one at least, up to
// the first that is not part of compact text, as compactBlocks does. It returns
// how many those are, the state behind them, all their backslashes, and as flags
// sawHigh and sawControl. It is there where useAVX512 is true.
func compactRun(src []byte) (run int, inside, carry, slashes uint64, flags int) {
	return compactRunAVX512(&src[0], len(src)/blockSize)
}

//go:noescape
func compactRunAVX512(src *byte, n int) (run int, inside, carry, slashes uint64, flags int)

//go:noescape
func compactBlocksAVX512(src *byte, n int, inside, carry uint64) (in, out uint64, ok bool)

//go:noescape
func compactBlocksAVX2(src *byte, n int, inside, carry uint64) (in, out uint64, ok bool)

//go:noescape
func spaceMasksAVX2(src *byte, n int, out *[spaceBatch]spaceMasks)
