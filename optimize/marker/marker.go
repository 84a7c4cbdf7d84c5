// Package marker writes the one line that every pass leaves where it took
// lines, items or messages away:
//
//	[... rtk: 1,240 lines elided, all passing · ref kpqzvwxnmlor ...]
//
// The count is exact and the only number in the line, so that a reader (and a
// check) can take it at its word. The reference names the text as it was.
package marker

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

// RefLen is the length of a reference in bytes.
const RefLen = 12

const (
	open     = "[... "
	closing  = " ...]"
	elided   = " elided"
	refIntro = " · ref "
)

// Append appends a marker, without a line end, to dst. pass is the optimizer's
// name, count how many went, noun what went in the plural ("lines", "items";
// for a count of one the final s is dropped), detail why or of what kind (no
// digits, no line ends; "" for none), ref the reference to the original ("" for
// none).
func Append(dst []byte, pass string, count int, noun, detail, ref string) []byte {
	dst = append(dst, open...)
	dst = append(dst, pass...)
	dst = append(dst, ": "...)
	dst = AppendCount(dst, count)
	dst = append(dst, ' ')
	if n := len(noun); count == 1 && n > 1 && noun[n-1] == 's' {
		noun = noun[:n-1]
	}
	dst = append(dst, noun...)
	dst = append(dst, elided...)
	if detail != "" {
		dst = append(dst, ", "...)
		dst = append(dst, detail...)
	}
	if ref != "" {
		dst = append(dst, refIntro...)
		dst = append(dst, ref...)
	}
	return append(dst, closing...)
}

// MaxLen is an upper bound on the bytes that Append adds.
func MaxLen(pass, noun, detail, ref string) int {
	return len(open) + len(pass) + len(": ") + len("9,223,372,036,854,775,807 ") + len(noun) + len(elided) +
		len(", ") + len(detail) + len(refIntro) + len(ref) + len(closing)
}

// AppendCount appends n in decimal, with commas between groups of three digits.
func AppendCount(dst []byte, n int) []byte {
	if n < 0 {
		dst, n = append(dst, '-'), -n
	}
	var digits [20]byte
	i := len(digits)
	for {
		i--
		digits[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			break
		}
	}
	for j, d := range digits[i:] {
		if j > 0 && (len(digits)-i-j)%3 == 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, d)
	}
	return dst
}

// Ref is the reference to a text: 48 bits of its SHA-256, as twelve letters
// from k to z. There is no digit in it, so that it cannot be taken for a count.
func Ref(text []byte) string { return RefOf(Sum(text)) }

// Sum is the reference to a text as a number: the first 48 bits of its SHA-256.
func Sum(text []byte) uint64 {
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:]) >> 16
}

// RefOf writes down the reference with the number sum.
func RefOf(sum uint64) string {
	var ref [RefLen]byte
	for i := range ref {
		ref[i] = 'k' + byte(sum>>(4*(RefLen-1-i))&15)
	}
	return string(ref[:])
}

// Is reports whether a line has the shape of a marker, whoever wrote it and
// however it is indented. Such a line in the input is an ordinary line that is
// always kept; what it says is never relied upon.
func Is(line []byte) bool {
	// Most lines are settled by their first byte.
	if len(line) == 0 || line[0] != '[' && line[0] != ' ' && line[0] != '\t' {
		return false
	}
	line = bytes.TrimSpace(line)
	if len(line) < len(open)+len(closing) || string(line[:len(open)]) != open ||
		string(line[len(line)-len(closing):]) != closing {
		return false
	}
	line = line[len(open) : len(line)-len(closing)]
	name := bytes.Index(line, []byte(": "))
	if name <= 0 {
		return false
	}
	for _, c := range line[:name] {
		if (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	line = line[name+2:]
	return len(line) > 0 && '0' <= line[0] && line[0] <= '9' && bytes.Contains(line, []byte(elided))
}
