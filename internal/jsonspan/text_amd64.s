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
