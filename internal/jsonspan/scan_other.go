//go:build !amd64 || purego

package jsonspan

var useAVX2, useAVX512 = false, false

func scanBlocks(src []byte) (at, flags int) { return scanBlocksGo(src) }

func unquoteBlocks(dst, src []byte) (nsrc, ndst int) { return 0, 0 }

func escapeBlocks(dst, src []byte) (nsrc, ndst int) { return 0, 0 }

func compactBlocks(src []byte, inside, carry uint64) (in, out uint64, ok bool) {
	return compactBlocksGo(src, inside, carry)
}

func compactRun(src []byte) (run int, inside, carry, slashes uint64, flags int) { return }

func spaceMasksOf(src []byte, n int, out *[spaceBatch]spaceMasks) { spaceMasksGo(src, n, out) }
