package llmgateway

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

func TestBufferClasses(t *testing.T) {
	classes := map[int]int{} // class -> size
	for n := 1; n <= maxPooled; n++ {
		class, size := bufferClass(n)
		if size < n || n > minPooled && size-n > size/5 {
			t.Fatalf("%d bytes in a buffer of %d", n, size)
		}
		if known, ok := classes[class]; ok && known != size || class >= len(bufferPools) {
			t.Fatalf("%d bytes: class %d holds %d and %d bytes", n, class, known, size)
		}
		classes[class] = size
	}
	for class, size := range classes {
		if again, same := bufferClass(size); again != class || same != size {
			t.Errorf("a buffer of %d bytes goes from class %d to class %d of %d", size, class, again, same)
		}
	}
	if len(classes) != len(bufferPools) {
		t.Errorf("%d classes, %d pools", len(classes), len(bufferPools))
	}
}

// A body with edits reads as if it had been put together, in pieces of any
// size, and holds on to what it is made of for as long as it is read.
func TestEditedPayload(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		base := make([]byte, 5000)
		for i := range base {
			base[i] = byte('a' + rnd.IntN(26))
		}
		var edits []jsonspan.Edit
		for at := rnd.IntN(3); at < len(base) && len(edits) < 20; at += rnd.IntN(700) {
			end := min(at+rnd.IntN(300), len(base))
			edits = append(edits, jsonspan.Edit{Span: jsonspan.Span{Start: at, End: end}, New: bytes.Repeat([]byte{'N'}, rnd.IntN(3)*rnd.IntN(100))})
			at = end
		}
		want := jsonspan.Splice(nil, base, edits)
		client := newPayload(append(newBuffer(len(base)), base...))
		sent := editedPayload(client, edits, newBuffer(10))
		if sent.len() != len(want) {
			t.Fatalf("seed %d: %d bytes announced, want %d", seed, sent.len(), len(want))
		}
		r := sent.open()
		sent.release()
		client.release()
		var got []byte
		for {
			piece := make([]byte, 1+rnd.IntN(900))
			n, err := r.Read(piece)
			got = append(got, piece[:n]...)
			if err == io.EOF {
				break
			}
			if err != nil || n == 0 {
				t.Fatalf("seed %d: read %d bytes, %v", seed, n, err)
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d: read %d bytes that differ from the %d wanted", seed, len(got), len(want))
		}
		if client.held == nil {
			t.Fatalf("seed %d: the client's bytes were given back while they were read", seed)
		}
		if seed%2 == 0 && !bytes.Equal(r.p.bytes(), want) {
			t.Fatalf("seed %d: put together it is another body", seed)
		}
		r.Close()
		r.Close()
		if client.held != nil || sent.held != nil || sent.base != nil {
			t.Fatalf("seed %d: bytes are held by nobody", seed)
		}
		if _, err := r.Read(make([]byte, 1)); err != errBodyClosed {
			t.Fatalf("seed %d: read after Close: %v", seed, err)
		}
	}
}
