//go:build !amd64 || purego

package jsonspan

var useAVX2 = false

func scanBlocks(src []byte) (at, flags int) { return scanBlocksGo(src) }

func unquoteBlocks(dst, src []byte) (nsrc, ndst int) { return 0, 0 }

func escapeBlocks(dst, src []byte) (nsrc, ndst int) { return 0, 0 }

func spaceMasksOf(src []byte, n int, out *[spaceBatch]spaceMasks) { spaceMasksGo(src, n, out) }
