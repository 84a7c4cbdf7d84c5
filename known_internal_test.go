package llmgateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

// pieces reads a body in pieces of random sizes, and ends as told.
type pieces struct {
	rest []byte
	r    *rand.Rand
	most int
	end  error // with the last piece if early, else behind it
	with bool
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, p.end
	}
	n := copy(b, p.rest[:min(1+p.r.IntN(p.most), len(p.rest))])
	p.rest = p.rest[n:]
	if len(p.rest) == 0 && p.with {
		return n, p.end
	}
	return n, nil
}

// TestReadKnownBody: a body that is compared with a known one while it comes is
// that one or what came, wherever they differ and however it comes.
func TestReadKnownBody(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const size = 3*comparePiece + 123
	known := make([]byte, size)
	for i := range known {
		known[i] = byte('a' + random.IntN(26))
	}
	keep := bytes.Clone(known)
	like := func(n int, head []byte) []byte {
		if n == len(known) && bytes.HasPrefix(known, head) {
			return known
		}
		return nil
	}
	broken := errors.New("the client is gone")
	for _, most := range []int{1 << 10, 4 << 10, comparePiece, 1 << 20} {
		for _, at := range []int{-1, 0, 1, 4<<10 - 1, comparePiece - 1, comparePiece, comparePiece + 1, size / 2, size - 1} {
			for _, with := range []bool{false, true} {
				t.Run(fmt.Sprint(most, "/", at, "/", with), func(t *testing.T) {
					sent := bytes.Clone(keep)
					if at >= 0 {
						sent[at] = '#'
					}
					got, lent, err := readBody(&pieces{sent, random, most, io.EOF, with}, size, 1<<20, like)
					if err != nil || !bytes.Equal(got, sent) {
						t.Fatalf("%d of %d bytes, %v", len(got), len(sent), err)
					}
					if lent != (at < 0 && most < size) && most < size {
						t.Errorf("lent is %v", lent)
					}
					if !lent {
						freeBuffer(got)
					}
					// An error loses nothing and is no body.
					for _, cut := range []int{1, len(sent) / 3, len(sent) - 1} {
						got, lent, err := readBody(&pieces{sent[:cut], random, most, broken, with}, size, 1<<20, like)
						if err != broken || got != nil || lent {
							t.Errorf("cut at %d: %d bytes, lent %v, %v", cut, len(got), lent, err)
						}
					}
				})
			}
		}
	}
	// More than announced, which no server lets through, is no known body.
	got, lent, err := readBody(iotest.HalfReader(bytes.NewReader(append(bytes.Clone(keep), '!'))), size, 1<<20, like)
	if err != nil || lent || string(got) != string(keep)+"!" {
		t.Errorf("%d bytes, lent %v, %v", len(got), lent, err)
	}
	// A limit holds.
	if _, lent, err := readBody(bytes.NewReader(keep), size, size-1, like); err != errBodyTooLarge || lent {
		t.Errorf("over the limit: lent %v, %v", lent, err)
	}
	if !bytes.Equal(known, keep) {
		t.Error("the known body was changed")
	}
}

// A lent body is not given to the pool.
func TestLentPayload(t *testing.T) {
	known := bytes.Repeat([]byte("k"), minPooled)
	p := lentPayload(known)
	r := p.open()
	got, err := io.ReadAll(r)
	r.Close()
	p.release()
	if err != nil || !bytes.Equal(got, known) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	for range 100 {
		if b := newBuffer(minPooled); &b[:1][0] == &known[0] {
			t.Fatal("the bytes were given to the pool")
		}
	}
}
