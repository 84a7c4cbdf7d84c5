//go:build linux

package jsonspan

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// guarded returns a slice of n bytes whose last byte is followed, and one
// whose first is preceded, by memory that must not be touched.
func guarded(t *testing.T, n int) (atEnd, atStart []byte) {
	t.Helper()
	page := os.Getpagesize()
	inner := (n + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, inner+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	for _, guard := range [][]byte{mem[:page], mem[page+inner:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return mem[page+inner-n : page+inner : page+inner], mem[page : page+n : page+n]
}

// TestStaysInBounds works on memory that ends, or begins, where a slice does.
// A touch outside of it ends the test process.
func TestStaysInBounds(t *testing.T) {
	const most = 5 * blockSize
	srcEnd, srcStart := guarded(t, most)
	dstEnd, dstStart := guarded(t, 6*most)
	both(func() {
		for _, p := range []string{"a", `\"`, `\\`, `\n`, `a\"`, `\u00e9`, `ab\ud83d\ude00`, `\ud800`, "\xed\x9f\xbf", "\xed\xa0\x80", strings.Repeat("x", 31) + `\t`} {
			for n := range most {
				whole := strings.Repeat(p, most/len(p)+1)[:n]
				valid := strings.Repeat(p, n/len(p)) + strings.Repeat("z", n%len(p))
				for _, src := range [][]byte{srcEnd[most-n:], srcStart[:n:n]} {
					copy(src, whole)
					end, saw := scanString(src, 0)
					escaped := saw&sawEscape != 0
					if wantEnd, wantEscaped := slowString([]byte(whole), 0); end != wantEnd || escaped != wantEscaped {
						t.Fatalf("%q: %d, %v", whole, end, escaped)
					}
					copy(src, valid)
					want := slowUnquote([]byte(valid))
					for _, dst := range [][]byte{dstEnd[6*most-n:], dstStart[:n:n]} {
						if got := AppendUnquoted(dst[:0], src); !bytes.Equal(got, want) {
							t.Fatalf("%q: unquoted %q", valid, got)
						}
					}
					want = slowEscape([]byte(valid))
					for _, dst := range [][]byte{dstEnd[6*most-len(want):], dstStart[:len(want):len(want)]} {
						if got := AppendEscaped(dst[:0], src); !bytes.Equal(got, want) {
							t.Fatalf("%q: escaped %q", valid, got)
						}
					}
				}
			}
		}
	})
}
