//go:build !purego

#include "textflag.h"

DATA textBytes<>+0x00(SB)/4, $0xed1f5c22 // quote, backslash, last control, first of a surrogate
GLOBL textBytes<>(SB), RODATA|NOPTR, $4

// Both functions copy 32 bytes ahead and then correct what must differ. After
// each escape the rest of the block is copied once more, one byte closer or
// farther; the mask of what is left to do needs no second look at the text, so
// the copies do not wait for each other.

// func unquoteAVX2(dst, src []byte, short *[256]byte) (nsrc, ndst int)
//
// SI source, BX offset there; DI destination, CX offset there; BX >= CX
// DX last offset of a block: with the block, up to 65 bytes are touched
// AX backslashes from BX on, R9 table
TEXT ·unquoteAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), DX
	MOVQ short+48(FP), R9
	SUBQ $65, DX
	XORQ BX, BX
	XORQ CX, CX
	VPBROADCASTB textBytes<>+1(SB), Y14

block:
	CMPQ BX, DX
	JGT  done
	VMOVDQU   (SI)(BX*1), Y0
	VMOVDQU   Y0, (DI)(CX*1)
	VPCMPEQB  Y0, Y14, Y1
	VPMOVMSKB Y1, AX
	TESTL     AX, AX
	JNZ       escape
	ADDQ $32, BX
	ADDQ $32, CX
	JMP  block

escape:
	TZCNTQ  AX, R8
	SHRXQ   R8, AX, AX
	ADDQ    R8, BX
	ADDQ    R8, CX
	MOVBLZX 1(SI)(BX*1), R10
	MOVBLZX (R9)(R10*1), R10
	TESTL   R10, R10
	JZ      done
	MOVB    R10, (DI)(CX*1)
	ADDQ    $2, BX
	INCQ    CX
	SHRQ    $2, AX
	JZ      block
	VMOVDQU (SI)(BX*1), Y0
	VMOVDQU Y0, (DI)(CX*1)
	JMP     escape

done:
	MOVQ BX, nsrc+56(FP)
	MOVQ CX, ndst+64(FP)
	VZEROUPPER
	RET

// func escapeAVX2(dst, src []byte, short *[256]byte) (nsrc, ndst int)
//
// SI source, BX offset there; DI destination, CX offset there
// DX last offset of a block: with the block, up to 64 bytes are touched
// R11 last offset in the destination at which a block fits, all escaped
// AX what needs a look from BX on, R9 table
TEXT ·escapeAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), R11
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), DX
	MOVQ short+48(FP), R9
	SUBQ $64, DX
	SUBQ $96, R11
	XORQ BX, BX
	XORQ CX, CX
	VPBROADCASTB textBytes<>+0(SB), Y15
	VPBROADCASTB textBytes<>+1(SB), Y14
	VPBROADCASTB textBytes<>+2(SB), Y13
	VPBROADCASTB textBytes<>+3(SB), Y12

block:
	CMPQ BX, DX
	JGT  done
	CMPQ CX, R11
	JGT  done
	VMOVDQU   (SI)(BX*1), Y0
	VMOVDQU   Y0, (DI)(CX*1)
	VPCMPEQB  Y0, Y15, Y1
	VPCMPEQB  Y0, Y14, Y2
	VPMINUB   Y0, Y13, Y3
	VPCMPEQB  Y0, Y3, Y3
	VPCMPEQB  Y0, Y12, Y4
	VPOR      Y1, Y2, Y1
	VPOR      Y3, Y4, Y3
	VPOR      Y1, Y3, Y1
	VPMOVMSKB Y1, AX
	TESTL     AX, AX
	JNZ       look
	ADDQ $32, BX
	ADDQ $32, CX
	JMP  block

look:
	TZCNTQ  AX, R8
	SHRXQ   R8, AX, AX
	ADDQ    R8, BX
	ADDQ    R8, CX
	MOVBLZX (SI)(BX*1), R10
	MOVBLZX (R9)(R10*1), R12
	TESTL   R12, R12
	JZ      long
	SHLL    $8, R12
	ORL     $0x5c, R12
	MOVW    R12, (DI)(CX*1)
	INCQ    BX
	ADDQ    $2, CX
	SHRQ    $1, AX
	JZ      block
	VMOVDQU (SI)(BX*1), Y0
	VMOVDQU Y0, (DI)(CX*1)
	JMP     look

long:
	// The first byte of a surrogate, or of Hangul, where the next is below a0.
	CMPL    R10, $0xed
	JNE     done
	MOVBLZX 1(SI)(BX*1), R10
	CMPL    R10, $0xa0
	JGE     done
	INCQ    BX
	INCQ    CX
	SHRQ    $1, AX
	JNZ     look
	JMP     block

done:
	MOVQ BX, nsrc+56(FP)
	MOVQ CX, ndst+64(FP)
	VZEROUPPER
	RET

// What the byte behind a backslash stands for, 0 if that takes more bytes.
DATA shortEscapes<>+0x00(SB)/8, $0x0000000000000000
DATA shortEscapes<>+0x08(SB)/8, $0x0000000000000000
DATA shortEscapes<>+0x10(SB)/8, $0x0000000000000000
DATA shortEscapes<>+0x18(SB)/8, $0x0000000000000000
DATA shortEscapes<>+0x20(SB)/8, $0x0000000000220000
DATA shortEscapes<>+0x28(SB)/8, $0x2f00000000000000
DATA shortEscapes<>+0x30(SB)/8, $0x0000000000000000
DATA shortEscapes<>+0x38(SB)/8, $0x0000000000000000
DATA shortEscapes<>+0x40(SB)/8, $0x0000000000000000
DATA shortEscapes<>+0x48(SB)/8, $0x0000000000000000
DATA shortEscapes<>+0x50(SB)/8, $0x0000000000000000
DATA shortEscapes<>+0x58(SB)/8, $0x0000005c00000000
DATA shortEscapes<>+0x60(SB)/8, $0x000c000000080000
DATA shortEscapes<>+0x68(SB)/8, $0x000a000000000000
DATA shortEscapes<>+0x70(SB)/8, $0x00000009000d0000
DATA shortEscapes<>+0x78(SB)/8, $0x0000000000000000
GLOBL shortEscapes<>(SB), RODATA|NOPTR, $128

DATA slashOf<>+0x00(SB)/1, $0x5c
GLOBL slashOf<>(SB), RODATA|NOPTR, $1

// func unquoteAVX512(dst, src []byte) (nsrc, ndst int)
//
// SI source, BX offset there, DX its length; DI destination, CX offset there
// R8 bytes of the block, R9 backslashes, R10 the escaping ones of them,
// R11 the bytes that they escape
//
// A block ends before a backslash whose escape would reach into the next, so
// that none depends on the one before. What escapes is left out by VPCOMPRESSB.
TEXT ·unquoteAVX512(SB), NOSPLIT, $0-64
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), DX
	XORQ BX, BX
	XORQ CX, CX
	VPBROADCASTB slashOf<>(SB), Z14
	VMOVDQU64 shortEscapes<>+0(SB), Z12
	VMOVDQU64 shortEscapes<>+64(SB), Z13
	MOVQ $0xaaaaaaaaaaaaaaaa, R15

wide:
	MOVQ DX, R8
	SUBQ BX, R8
	CMPQ R8, $64
	JLT  narrow
	VMOVDQU8 (SI)(BX*1), Z0
	VPCMPEQB Z0, Z14, K1
	KMOVQ    K1, R9
	TESTQ    R9, R9
	JNZ      escapes
	VMOVDQU8 Z0, (DI)(CX*1)
	ADDQ $64, BX
	ADDQ $64, CX
	JMP  wide

escapes:
	// See escapedBytes.
	LEAQ (R9)(R9*1), R10
	ORQ  R15, R10
	SUBQ R9, R10
	XORQ R15, R10           // the escaping backslashes and what they escape
	MOVQ R9, R11
	XORQ R10, R11           // what they escape
	ANDQ R9, R10            // the escaping ones
	MOVQ $64, R8
	MOVQ $-1, AX            // AX: what is of the block
	TESTQ R10, R10
	JGE  whole
	MOVQ $63, R8            // the last byte escapes one of the next block
	SHRQ $1, AX

whole:
	VMOVDQA64 Z0, Z2
	VPERMI2B  Z13, Z12, Z2
	VPTESTNMB Z2, Z2, K2
	KMOVQ     K2, R12
	ANDQ      R11, R12
	ANDQ      AX, R12
	JNZ       long

store:
	KMOVQ     R11, K3
	VMOVDQU8  Z2, K3, Z0
	ANDNQ     AX, R10, AX   // what stays
	KMOVQ     AX, K4
	VPCOMPRESSB Z0, K4, Z3
	VMOVDQU8  Z3, (DI)(CX*1)
	POPCNTQ   AX, AX
	ADDQ      R8, BX
	ADDQ      AX, CX
	JMP       wide

long:
	// End before the backslash of the first escape that is not short.
	TZCNTQ R12, R8
	DECQ   R8
	MOVQ   $-1, AX
	BZHIQ  R8, AX, AX
	KMOVQ     R11, K3
	VMOVDQU8  Z2, K3, Z0
	ANDNQ     AX, R10, AX
	KMOVQ     AX, K4
	VPCOMPRESSB Z0, K4, Z3
	POPCNTQ   AX, AX
	MOVQ      $-1, R9
	BZHIQ     AX, R9, R9
	KMOVQ     R9, K5
	VMOVDQU8  Z3, K5, (DI)(CX*1)
	ADDQ      R8, BX
	ADDQ      AX, CX
	JMP       done

narrow:
	TESTQ R8, R8
	JLE   done
	MOVQ  $-1, AX
	BZHIQ R8, AX, AX
	KMOVQ AX, K7
	VMOVDQU8.Z (SI)(BX*1), K7, Z0
	VPCMPEQB Z0, Z14, K1
	KMOVQ    K1, R9
	LEAQ (R9)(R9*1), R10
	ORQ  R15, R10
	SUBQ R9, R10
	XORQ R15, R10
	MOVQ R9, R11
	XORQ R10, R11
	ANDQ R9, R10
	VMOVDQA64 Z0, Z2
	VPERMI2B  Z13, Z12, Z2
	VPTESTNMB Z2, Z2, K2
	KMOVQ     K2, R12
	ANDQ      R11, R12
	JNZ       long
	KMOVQ     R11, K3
	VMOVDQU8  Z2, K3, Z0
	ANDNQ     AX, R10, R9
	KMOVQ     R9, K4
	VPCOMPRESSB Z0, K4, Z3
	POPCNTQ   R9, R9
	MOVQ      $-1, AX
	BZHIQ     R9, AX, AX
	KMOVQ     AX, K5
	VMOVDQU8  Z3, K5, (DI)(CX*1)
	ADDQ      R8, BX
	ADDQ      R9, CX

done:
	MOVQ BX, nsrc+48(FP)
	MOVQ CX, ndst+56(FP)
	VZEROUPPER
	RET
