//go:build !purego

#include "textflag.h"

// Two tables of 16 bytes, looked up by the low and the high half of a byte. The
// AND of both has one of the bits 0 to 2 for light punctuation and one of the
// bits 6 and 7 for vowels.
DATA classLow<>+0x00(SB)/8, $0x0100c00000018000
DATA classLow<>+0x08(SB)/8, $0x800104010602c101
GLOBL classLow<>(SB), RODATA|NOPTR, $16

DATA classHigh<>+0x00(SB)/8, $0x4480448002010000
DATA classHigh<>+0x08(SB)/8, $0x0000000000000000
GLOBL classHigh<>(SB), RODATA|NOPTR, $16

// The bytes: fold and space, first letter, letters less one, first digit, last
// digit, newline, carriage return, tab, low half, bits of light punctuation.
DATA classByte<>+0x00(SB)/1, $0x20
DATA classByte<>+0x01(SB)/1, $0x61
DATA classByte<>+0x02(SB)/1, $0x19
DATA classByte<>+0x03(SB)/1, $0x30
DATA classByte<>+0x04(SB)/1, $0x09
DATA classByte<>+0x05(SB)/1, $0x0a
DATA classByte<>+0x06(SB)/1, $0x0d
DATA classByte<>+0x07(SB)/1, $0x09
DATA classByte<>+0x08(SB)/1, $0x0f
DATA classByte<>+0x09(SB)/1, $0x07
GLOBL classByte<>(SB), RODATA|NOPTR, $10

// HALF stores the masks of the 32 bytes in Y0, but for equal, at off.
#define HALF(off) \
	VPOR      Y0, Y15, Y1     \
	VPSUBB    Y14, Y1, Y1     \
	VPMINUB   Y1, Y13, Y2     \
	VPCMPEQB  Y1, Y2, Y1      \
	VPMOVMSKB Y1, AX          \
	VPSLLW    $2, Y0, Y2      \
	VPMOVMSKB Y2, CX          \
	ANDL      AX, CX          \
	XORL      CX, AX          \
	MOVL      CX, (0+off)(DI) \
	MOVL      AX, (8+off)(DI) \
	VPSUBB    Y12, Y0, Y1     \
	VPMINUB   Y1, Y11, Y2     \
	VPCMPEQB  Y1, Y2, Y1      \
	VPMOVMSKB Y1, AX          \
	MOVL      AX, (16+off)(DI) \
	VPCMPEQB  Y0, Y15, Y1     \
	VPMOVMSKB Y1, AX          \
	MOVL      AX, (24+off)(DI) \
	VPCMPEQB  Y0, Y10, Y1     \
	VPCMPEQB  Y0, Y9, Y2      \
	VPOR      Y1, Y2, Y1      \
	VPMOVMSKB Y1, AX          \
	MOVL      AX, (32+off)(DI) \
	VPCMPEQB  Y0, Y8, Y1      \
	VPMOVMSKB Y1, AX          \
	MOVL      AX, (40+off)(DI) \
	VPSRLW    $4, Y0, Y1      \
	VPAND     Y1, Y5, Y1      \
	VPSHUFB   Y1, Y6, Y1      \
	VPSHUFB   Y0, Y7, Y2      \
	VPAND     Y1, Y2, Y1      \
	VPMOVMSKB Y1, AX          \
	VPSLLW    $1, Y1, Y2      \
	VPMOVMSKB Y2, CX          \
	ORL       CX, AX          \
	MOVL      AX, (56+off)(DI) \
	VPAND     Y1, Y4, Y1      \
	VPXOR     Y2, Y2, Y2      \
	VPCMPEQB  Y1, Y2, Y1      \
	VPMOVMSKB Y1, AX          \
	NOTL      AX              \
	MOVL      AX, (48+off)(DI) \
	VPMOVMSKB Y0, AX          \
	MOVL      AX, (64+off)(DI) \
	VPSLLW    $1, Y0, Y1      \
	VPMOVMSKB Y1, CX          \
	ANDL      CX, AX          \
	MOVL      AX, (72+off)(DI)

// func classifyAVX2(out *[batch]masks, text []byte)
TEXT ·classifyAVX2(SB), NOSPLIT, $0-32
	MOVQ out+0(FP), DI
	MOVQ text_base+8(FP), SI
	MOVQ text_len+16(FP), DX
	SHRQ $6, DX
	JZ   done
	VPBROADCASTB classByte<>+0(SB), Y15
	VPBROADCASTB classByte<>+1(SB), Y14
	VPBROADCASTB classByte<>+2(SB), Y13
	VPBROADCASTB classByte<>+3(SB), Y12
	VPBROADCASTB classByte<>+4(SB), Y11
	VPBROADCASTB classByte<>+5(SB), Y10
	VPBROADCASTB classByte<>+6(SB), Y9
	VPBROADCASTB classByte<>+7(SB), Y8
	VBROADCASTI128 classLow<>(SB), Y7
	VBROADCASTI128 classHigh<>(SB), Y6
	VPBROADCASTB classByte<>+8(SB), Y5
	VPBROADCASTB classByte<>+9(SB), Y4

block:
	VMOVDQU (SI), Y0
	HALF(0)
	// The byte before the first is not in this block.
	VPERM2I128 $0x08, Y0, Y0, Y1
	VPALIGNR   $15, Y1, Y0, Y1
	VPCMPEQB   Y0, Y1, Y1
	VPMOVMSKB  Y1, AX
	ANDL       $~1, AX
	MOVL       AX, 80(DI)

	VMOVDQU 32(SI), Y0
	HALF(4)
	VPCMPEQB  31(SI), Y0, Y1
	VPMOVMSKB Y1, AX
	MOVL      AX, 84(DI)

	ADDQ $64, SI
	ADDQ $88, DI
	DECQ DX
	JNZ  block

done:
	VZEROUPPER
	RET
