//go:build !purego

#include "textflag.h"

// Two tables of 16 bytes, looked up by the low and the high half of a byte, say
// what may follow a backslash: the AND of both is not zero for a legal byte,
// and has its high bit set for u alone.
//
// rows (high half): 2 bit 0, 5 bit 1, 6 bit 2, 7 bit 3 (and 7 for u)
// columns (low half): " 22, \ 5c, / 2f, b 62, f 66, n 6e, r 72, t 74, u 75
DATA escapeLow<>+0x00(SB)/8, $0x00048808000d0000
DATA escapeLow<>+0x08(SB)/8, $0x0104000200000000
GLOBL escapeLow<>(SB), RODATA|NOPTR, $16

DATA escapeHigh<>+0x00(SB)/8, $0x8804020000010000
DATA escapeHigh<>+0x08(SB)/8, $0x0000000000000000
GLOBL escapeHigh<>(SB), RODATA|NOPTR, $16

// The same for hexadecimal digits: row 3 bit 0, rows 4 and 6 bit 1.
DATA hexLow<>+0x00(SB)/8, $0x0103030303030301
DATA hexLow<>+0x08(SB)/8, $0x0000000000000101
GLOBL hexLow<>(SB), RODATA|NOPTR, $16

DATA hexHigh<>+0x00(SB)/8, $0x0002000201000000
DATA hexHigh<>+0x08(SB)/8, $0x0000000000000000
GLOBL hexHigh<>(SB), RODATA|NOPTR, $16

DATA quoteByte<>+0x00(SB)/1, $0x22
GLOBL quoteByte<>(SB), RODATA|NOPTR, $1
DATA slashByte<>+0x00(SB)/1, $0x5c
GLOBL slashByte<>(SB), RODATA|NOPTR, $1
DATA lastControl<>+0x00(SB)/1, $0x1f
GLOBL lastControl<>(SB), RODATA|NOPTR, $1
DATA lowHalf<>+0x00(SB)/1, $0x0f
GLOBL lowHalf<>(SB), RODATA|NOPTR, $1

// MASK sets out to the 64 sign bits of the bytes of a and b.
#define MASK(a, b, out, tmp) \
	VPMOVMSKB a, out      \
	VPMOVMSKB b, tmp      \
	SHLQ      $32, tmp    \
	ORQ       tmp, out

// func scanBlocksAVX2(src []byte) (at, flags int)
//
// SI text, BX offset of the block, DX last offset at which a block fits
// R8  1 if the block's first byte is escaped, by the block before
// R9  a bit for each of the block's first bytes that must be a hexadecimal
//     digit, because of a \u before it
// R10 every backslash so far
// AX quotes, CX backslashes, DI what may not be there, R11-R13, R15 scratch
TEXT ·scanBlocksAVX2(SB), NOSPLIT, $0-40
	MOVQ src_base+0(FP), SI
	MOVQ src_len+8(FP), DX
	SUBQ $64, DX
	XORQ BX, BX
	XORQ R8, R8
	XORQ R9, R9
	XORQ R10, R10
	VPBROADCASTB quoteByte<>(SB), Y15
	VPBROADCASTB slashByte<>(SB), Y14
	VPBROADCASTB lastControl<>(SB), Y13
	VPBROADCASTB lowHalf<>(SB), Y12
	VBROADCASTI128 escapeLow<>(SB), Y11
	VBROADCASTI128 escapeHigh<>(SB), Y10
	VPXOR Y9, Y9, Y9
	VPXOR Y8, Y8, Y8        // all bytes so far, together

block:
	CMPQ BX, DX
	JGT  out
	VMOVDQU (SI)(BX*1), Y0
	VMOVDQU 32(SI)(BX*1), Y1
	VPOR    Y0, Y8, Y8
	VPOR    Y1, Y8, Y8

	VPCMPEQB Y0, Y14, Y2
	VPCMPEQB Y1, Y14, Y3
	MASK(Y2, Y3, CX, R11)
	VPCMPEQB Y0, Y15, Y4
	VPCMPEQB Y1, Y15, Y5
	MASK(Y4, Y5, AX, R12)
	VPMINUB  Y0, Y13, Y6
	VPMINUB  Y1, Y13, Y7
	VPCMPEQB Y0, Y6, Y6
	VPCMPEQB Y1, Y7, Y7
	MASK(Y6, Y7, DI, R13)

	MOVQ CX, R11
	ORQ  R8, R11
	ORQ  R9, R11
	JZ   judge

	// Which bytes are escaped: see escapedBytes.
	MOVQ  $0xaaaaaaaaaaaaaaaa, R15
	ANDNQ CX, R8, R11       // backslashes that are not escaped by the block before
	LEAQ  (R11)(R11*1), R12
	ORQ   R15, R12
	SUBQ  R11, R12
	XORQ  R15, R12          // the escaping backslashes and what they escape
	MOVQ  CX, R11
	ORQ   R8, R11
	XORQ  R12, R11          // R11: the escaped bytes
	ANDQ  CX, R12
	SHRQ  $63, R12
	MOVQ  R12, R8

	ANDNQ AX, R11, AX       // escaped quotes end nothing

	VPSRLW  $4, Y0, Y2
	VPSRLW  $4, Y1, Y3
	VPAND   Y12, Y2, Y2
	VPAND   Y12, Y3, Y3
	VPSHUFB Y2, Y10, Y2
	VPSHUFB Y3, Y10, Y3
	VPSHUFB Y0, Y11, Y4
	VPSHUFB Y1, Y11, Y5
	VPAND   Y2, Y4, Y2
	VPAND   Y3, Y5, Y3
	MASK(Y2, Y3, R12, R13)
	VPCMPEQB Y2, Y9, Y2
	VPCMPEQB Y3, Y9, Y3
	MASK(Y2, Y3, R13, R15)
	ANDQ R11, R13
	ORQ  R13, DI            // escaped, but not a legal escape
	ANDQ R11, R12           // R12: each u of a \u
	MOVQ R12, R13
	ORQ  R9, R13
	JNZ  hex

judge:
	TESTQ AX, AX
	JNZ   quote
	TESTQ DI, DI
	JNZ   invalid
	ORQ   CX, R10
	ADDQ  $64, BX
	JMP   block

hex:
	// Four digits after each u, those of the next block in R9.
	VBROADCASTI128 hexLow<>(SB), Y6
	VBROADCASTI128 hexHigh<>(SB), Y7
	VPSRLW  $4, Y0, Y2
	VPSRLW  $4, Y1, Y3
	VPAND   Y12, Y2, Y2
	VPAND   Y12, Y3, Y3
	VPSHUFB Y2, Y7, Y2
	VPSHUFB Y3, Y7, Y3
	VPSHUFB Y0, Y6, Y4
	VPSHUFB Y1, Y6, Y5
	VPAND   Y2, Y4, Y2
	VPAND   Y3, Y5, Y3
	VPCMPEQB Y2, Y9, Y2
	VPCMPEQB Y3, Y9, Y3
	MASK(Y2, Y3, R13, R15)  // no digit
	LEAQ (R12)(R12*1), R11
	ORQ  R11, R9
	LEAQ (R12*4), R11
	ORQ  R11, R9
	LEAQ (R12*8), R11
	ORQ  R11, R9
	MOVQ R12, R11
	SHLQ $4, R11
	ORQ  R11, R9
	ANDQ R9, R13
	ORQ  R13, DI
	// Only the last four bits of R12 reach into the next block, and no two of
	// them are set: spread the one to all below and take four.
	SHRQ $60, R12
	MOVQ R12, R9
	SHRQ $1, R12
	ORQ  R12, R9
	SHRQ $1, R12
	ORQ  R12, R9
	SHRQ $1, R12
	ORQ  R12, R9
	JMP  judge

quote:
	BLSMSKQ AX, R11         // everything up to the quote
	TESTQ   R11, DI
	JNZ     invalid
	ANDQ    R11, CX
	ORQ     CX, R10
	TZCNTQ  AX, AX
	ADDQ    BX, AX
	XORQ    CX, CX
	TESTQ   R10, R10
	SETNE   CX
	VPMOVMSKB Y8, R11
	XORQ    R12, R12
	TESTL   R11, R11
	SETNE   R12
	LEAQ    (CX)(R12*4), CX // beyond ASCII, perhaps
	MOVQ    AX, at+24(FP)
	MOVQ    CX, flags+32(FP)
	VZEROUPPER
	RET

invalid:
	MOVQ $-1, at+24(FP)
	MOVQ $0, flags+32(FP)
	VZEROUPPER
	RET

out:
	XORQ    CX, CX
	TESTQ   R10, R10
	SETNE   CX
	ORQ     $2, CX
	VPMOVMSKB Y8, R11
	XORQ    R12, R12
	TESTL   R11, R11
	SETNE   R12
	LEAQ    (CX)(R12*4), CX // beyond ASCII, perhaps
	SUBQ    R8, BX          // a pending backslash
	POPCNTQ R9, R9
	TESTQ   R9, R9
	JZ      done
	SUBQ    $6, BX          // a pending \u, of which 6 minus the missing digits are here
	ADDQ    R9, BX

done:
	MOVQ BX, at+24(FP)
	MOVQ CX, flags+32(FP)
	VZEROUPPER
	RET

// The escapes that a look at the low half of a byte tells: what it stands for is
// legal behind a backslash. The quote and the backslash have masks of their own;
// \b shares its low half with \r and \u needs digits, so both are looked at with
// escapeLow and escapeHigh.
//
// columns: 2 r, 4 t, 6 f, e n, f /
DATA commonEscape<>+0x00(SB)/8, $0x0066007400720001
DATA commonEscape<>+0x08(SB)/8, $0x2f6e000000000000
GLOBL commonEscape<>(SB), RODATA|NOPTR, $16

// func scanBlocksAVX512(src []byte) (at, flags int)
//
// The same as scanBlocksAVX2, with a register for a whole block and masks
// where they are needed. SI, BX, DX, R8-R13, AX and CX are what they are there.
// Bytes that may not be there are only looked for where the text ends: Z9 and
// Z8 are the OR and the minimum of all bytes of the blocks before it.
TEXT ·scanBlocksAVX512(SB), NOSPLIT, $0-40
	MOVQ src_base+0(FP), SI
	MOVQ src_len+8(FP), DX
	SUBQ $64, DX
	XORQ BX, BX
	XORQ R8, R8
	XORQ R9, R9
	XORQ R10, R10
	MOVQ $0xaaaaaaaaaaaaaaaa, R15
	VPBROADCASTB quoteByte<>(SB), Z15
	VPBROADCASTB slashByte<>(SB), Z14
	VPBROADCASTB lastControl<>(SB), Z13
	VBROADCASTI32X4 commonEscape<>(SB), Z12
	VPXORQ Z9, Z9, Z9
	VPTERNLOGQ $0xff, Z8, Z8, Z8
	CMPQ BX, DX
	JGT  out

block:
	VMOVDQU8 (SI)(BX*1), Z0
	VPCMPEQB Z0, Z14, K1
	VPCMPEQB Z0, Z15, K2
	VPSHUFB  Z0, Z12, Z2    // 0 for a byte beyond ASCII
	VPCMPEQB Z0, Z2, K3
	KMOVQ    K1, CX         // backslashes
	KMOVQ    K2, AX         // quotes
	KMOVQ    K3, DI         // common escapes

	// Which bytes are escaped: see escapedBytes.
	ANDNQ CX, R8, R11
	LEAQ  (R11)(R11*1), R12
	ORQ   R15, R12
	SUBQ  R11, R12
	XORQ  R15, R12
	MOVQ  CX, R11
	ORQ   R8, R11
	XORQ  R12, R11          // R11: the escaped bytes
	XORL  R8, R8
	TESTQ CX, CX
	JLT   atEnd             // by a branch, so that no block waits for the one before

escaped:
	ORQ   CX, DI
	ORQ   AX, DI
	ANDNQ R11, DI, DI       // escaped, but no common escape
	ANDNQ AX, R11, AX       // escaped quotes end nothing
	ORQ   R9, DI
	JNZ   rare

judge:
	TESTQ AX, AX
	JNZ   quote
	VPORQ   Z0, Z9, Z9
	VPMINUB Z0, Z8, Z8
	ORQ  CX, R10
	ADDQ $64, BX
	CMPQ BX, DX
	JLE  block
	JMP  out

atEnd:
	MOVQ R12, R8
	SHRQ $63, R8
	JMP  escaped

rare:
	// DI: what may not be there.
	MOVQ $0x0f0f0f0f0f0f0f0f, DI
	VPBROADCASTQ DI, Z5
	VBROADCASTI32X4 escapeLow<>(SB), Z3
	VBROADCASTI32X4 escapeHigh<>(SB), Z4
	VPSRLW    $4, Z0, Z2
	VPANDQ    Z5, Z2, Z2    // high halves
	VPSHUFB   Z2, Z4, Z4
	VPSHUFB   Z0, Z3, Z3
	VPANDQ    Z4, Z3, Z3
	VPMOVB2M  Z3, K4
	VPTESTNMB Z3, Z3, K5
	KMOVQ     K4, R12
	KMOVQ     K5, DI
	ANDQ R11, DI            // escaped, but not a legal escape
	ANDQ R11, R12           // R12: each u of a \u

	// Four digits after each u, those of the next block in R9.
	VBROADCASTI32X4 hexLow<>(SB), Z6
	VBROADCASTI32X4 hexHigh<>(SB), Z7
	VPSHUFB   Z2, Z7, Z2
	VPSHUFB   Z0, Z6, Z4
	VPTESTNMB Z2, Z4, K5
	KMOVQ     K5, R13       // no digit
	LEAQ (R12)(R12*1), R11
	ORQ  R11, R9
	LEAQ (R12*4), R11
	ORQ  R11, R9
	LEAQ (R12*8), R11
	ORQ  R11, R9
	MOVQ R12, R11
	SHLQ $4, R11
	ORQ  R11, R9
	ANDQ R9, R13
	ORQ  R13, DI
	SHRQ $60, R12
	MOVQ R12, R9
	SHRQ $1, R12
	ORQ  R12, R9
	SHRQ $1, R12
	ORQ  R12, R9
	SHRQ $1, R12
	ORQ  R12, R9
	TESTQ DI, DI
	JZ    judge
	TESTQ AX, AX
	JZ    invalid
	BLSMSKQ AX, R11         // everything up to the quote
	TESTQ   R11, DI
	JNZ     invalid

quote:
	VPCMPUB $2, Z13, Z0, K3
	KMOVQ   K3, DI          // control bytes
	BLSMSKQ AX, R11
	TESTQ   R11, DI
	JNZ     invalid
	VPCMPUB $2, Z13, Z8, K3
	KMOVQ   K3, DI
	TESTQ   DI, DI
	JNZ     invalid
	VPORQ   Z0, Z9, Z9
	ANDQ    R11, CX
	ORQ     CX, R10
	TZCNTQ  AX, AX
	ADDQ    BX, AX
	XORQ    CX, CX
	TESTQ   R10, R10
	SETNE   CX
	VPMOVB2M Z9, K1
	KMOVQ   K1, R11
	XORQ    R12, R12
	TESTQ   R11, R11
	SETNE   R12
	LEAQ    (CX)(R12*4), CX // beyond ASCII, perhaps
	MOVQ    AX, at+24(FP)
	MOVQ    CX, flags+32(FP)
	VZEROUPPER
	RET

invalid:
	MOVQ $-1, at+24(FP)
	MOVQ $0, flags+32(FP)
	VZEROUPPER
	RET

out:
	VPCMPUB $2, Z13, Z8, K3
	KMOVQ   K3, DI
	TESTQ   DI, DI
	JNZ     invalid
	XORQ    CX, CX
	TESTQ   R10, R10
	SETNE   CX
	ORQ     $2, CX
	VPMOVB2M Z9, K1
	KMOVQ   K1, R11
	XORQ    R12, R12
	TESTQ   R11, R11
	SETNE   R12
	LEAQ    (CX)(R12*4), CX // beyond ASCII, perhaps
	SUBQ    R8, BX
	POPCNTQ R9, R9
	TESTQ   R9, R9
	JZ      done
	SUBQ    $6, BX
	ADDQ    R9, BX

done:
	MOVQ BX, at+24(FP)
	MOVQ CX, flags+32(FP)
	VZEROUPPER
	RET

DATA spaceByte<>+0x00(SB)/1, $0x20
GLOBL spaceByte<>(SB), RODATA|NOPTR, $1

// func spaceMasksAVX2(src *byte, n int, out *[spaceBatch]spaceMasks)
//
// SI text, CX blocks left, DI out
TEXT ·spaceMasksAVX2(SB), NOSPLIT, $0-24
	MOVQ src+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ out+16(FP), DI
	VPBROADCASTB quoteByte<>(SB), Y15
	VPBROADCASTB slashByte<>(SB), Y14
	VPBROADCASTB spaceByte<>(SB), Y13

masks:
	TESTQ CX, CX
	JLE   masked
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VPCMPEQB Y0, Y15, Y2
	VPCMPEQB Y1, Y15, Y3
	MASK(Y2, Y3, AX, BX)
	MOVQ AX, (DI)
	VPCMPEQB Y0, Y14, Y2
	VPCMPEQB Y1, Y14, Y3
	MASK(Y2, Y3, AX, BX)
	MOVQ AX, 8(DI)
	VPMINUB  Y0, Y13, Y2
	VPMINUB  Y1, Y13, Y3
	VPCMPEQB Y0, Y2, Y2
	VPCMPEQB Y1, Y3, Y3
	MASK(Y2, Y3, AX, BX)
	MOVQ AX, 16(DI)
	ADDQ $64, SI
	ADDQ $24, DI
	DECQ CX
	JMP  masks

masked:
	VZEROUPPER
	RET

// func compactBlocksAVX2(src *byte, n int, inside, carry uint64) (in, out uint64, ok bool)
//
// SI text, CX blocks left, R8 all ones inside of a quoted text, R9 1 if the
// block before ended with a backslash, X12 all ones
TEXT ·compactBlocksAVX2(SB), NOSPLIT, $0-49
	MOVQ src+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ inside+16(FP), R8
	MOVQ carry+24(FP), R9
	VPBROADCASTB quoteByte<>(SB), Y15
	VPBROADCASTB slashByte<>(SB), Y14
	VPBROADCASTB spaceByte<>(SB), Y13
	VPCMPEQB X12, X12, X12

compact:
	TESTQ CX, CX
	JLE   compacted
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VPCMPEQB Y0, Y15, Y2
	VPCMPEQB Y1, Y15, Y3
	MASK(Y2, Y3, AX, BX)    // AX: quotes
	VPCMPEQB Y0, Y14, Y2
	VPCMPEQB Y1, Y14, Y3
	MASK(Y2, Y3, DX, BX)    // DX: backslashes
	LEAQ (R9)(DX*2), BX     // what they escape
	CMPQ BX, AX
	JNE  spaced             // something else than every quote
	SHRQ $63, DX
	MOVQ DX, R9

	VMOVQ AX, X2
	VPCLMULQDQ $0, X12, X2, X2
	VMOVQ X2, AX            // the parity of the quotes up to each byte
	XORQ R8, AX             // AX: within a quoted text
	VPMINUB  Y0, Y13, Y2
	VPMINUB  Y1, Y13, Y3
	VPCMPEQB Y0, Y2, Y2
	VPCMPEQB Y1, Y3, Y3
	MASK(Y2, Y3, DX, BX)    // DX: white space
	ANDNQ DX, AX, DX
	TESTQ DX, DX
	JNZ   spaced
	SARQ $63, AX
	MOVQ AX, R8
	ADDQ $64, SI
	DECQ CX
	JMP  compact

compacted:
	MOVQ R8, in+32(FP)
	MOVQ R9, out+40(FP)
	MOVB $1, ok+48(FP)
	VZEROUPPER
	RET

spaced:
	MOVQ R8, in+32(FP)
	MOVQ R9, out+40(FP)
	MOVB $0, ok+48(FP)
	VZEROUPPER
	RET

// func compactBlocksAVX512(src *byte, n int, inside, carry uint64) (in, out uint64, ok bool)
//
// The same as compactBlocksAVX2, with the same registers.
TEXT ·compactBlocksAVX512(SB), NOSPLIT, $0-49
	MOVQ src+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ inside+16(FP), R8
	MOVQ carry+24(FP), R9
	VPBROADCASTB quoteByte<>(SB), Z15
	VPBROADCASTB slashByte<>(SB), Z14
	VPBROADCASTB spaceByte<>(SB), Z13
	VPCMPEQB X12, X12, X12
	TESTQ CX, CX
	JLE   compacted

compact:
	VMOVDQU8 (SI), Z0
	VPCMPEQB Z0, Z15, K1
	VPCMPEQB Z0, Z14, K2
	VPCMPUB  $2, Z13, Z0, K3
	KMOVQ    K1, AX         // quotes
	KMOVQ    K2, DX         // backslashes
	KMOVQ    K3, DI         // white space
	VMOVQ AX, X2
	VPCLMULQDQ $0, X12, X2, X2
	LEAQ (R9)(DX*2), BX
	CMPQ BX, AX
	JNE  spaced
	SHRQ $63, DX
	MOVQ DX, R9
	VMOVQ X2, AX
	XORQ  R8, AX
	ANDNQ DI, AX, DI
	JNZ   spaced
	SARQ $63, AX
	MOVQ AX, R8
	ADDQ $64, SI
	DECQ CX
	JNZ  compact

compacted:
	MOVQ R8, in+32(FP)
	MOVQ R9, out+40(FP)
	MOVB $1, ok+48(FP)
	VZEROUPPER
	RET

spaced:
	MOVQ R8, in+32(FP)
	MOVQ R9, out+40(FP)
	MOVB $0, ok+48(FP)
	VZEROUPPER
	RET

// func compactRunAVX512(src *byte, n int) (run int, inside, carry, slashes uint64, flags int)
//
// Like compactBlocksAVX512, with R10 every backslash, Z9 the OR and Z8 the
// minimum of all bytes of the blocks that it has passed.
TEXT ·compactRunAVX512(SB), NOSPLIT, $0-56
	MOVQ src+0(FP), SI
	MOVQ n+8(FP), CX
	XORQ R8, R8
	XORQ R9, R9
	XORQ R10, R10
	VPBROADCASTB quoteByte<>(SB), Z15
	VPBROADCASTB slashByte<>(SB), Z14
	VPBROADCASTB spaceByte<>(SB), Z13
	VPCMPEQB X12, X12, X12
	VPXORQ Z9, Z9, Z9
	VPTERNLOGQ $0xff, Z8, Z8, Z8
	TESTQ CX, CX
	JLE   ran

run:
	VMOVDQU8 (SI), Z0
	VPCMPEQB Z0, Z15, K1
	VPCMPEQB Z0, Z14, K2
	VPCMPUB  $2, Z13, Z0, K3
	KMOVQ    K1, AX         // quotes
	KMOVQ    K2, DX         // backslashes
	KMOVQ    K3, DI         // white space
	VMOVQ AX, X2
	VPCLMULQDQ $0, X12, X2, X2
	LEAQ (R9)(DX*2), BX
	CMPQ BX, AX
	JNE  ran
	VMOVQ X2, AX
	XORQ  R8, AX
	ANDNQ DI, AX, DI
	JNZ   ran
	VPORQ   Z0, Z9, Z9
	VPMINUB Z0, Z8, Z8
	ORQ  DX, R10
	SHRQ $63, DX
	MOVQ DX, R9
	SARQ $63, AX
	MOVQ AX, R8
	ADDQ $64, SI
	DECQ CX
	JNZ  run

ran:
	MOVQ n+8(FP), AX
	SUBQ CX, AX
	MOVQ AX, run+16(FP)
	MOVQ R8, inside+24(FP)
	MOVQ R9, carry+32(FP)
	MOVQ R10, slashes+40(FP)
	VPMOVB2M Z9, K1
	KMOVQ    K1, AX
	XORQ     BX, BX
	TESTQ    AX, AX
	SETNE    BX
	VPBROADCASTB lastControl<>(SB), Z13
	VPCMPUB  $2, Z13, Z8, K3
	KMOVQ    K3, AX
	XORQ     CX, CX
	TESTQ    AX, AX
	SETNE    CX
	LEAQ     (CX)(BX*4), BX // 1: a control byte, 4: beyond ASCII
	MOVQ     BX, flags+48(FP)
	VZEROUPPER
	RET
