package llmgateway

import (
	"bufio"
	"compress/flate"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// errEncoding says that a Content-Encoding is not one that can be decoded.
var errEncoding = errors.New("content encoding not supported")

// decodeBody undoes the content codings in encoding (the value of
// Content-Encoding, the last coding applied last) under the same limit as
// any body. The error is errEncoding for a coding that is not known,
// errBodyTooLarge for one that swells past the limit, or what is wrong with
// the data.
func decodeBody(src []byte, encoding string, limit int64) ([]byte, error) {
	codings := strings.Split(encoding, ",")
	// More than a few codings in a row serve nobody but an attacker.
	if len(codings) > 3 {
		return nil, errEncoding
	}
	body, owned := src, false
	for i := len(codings) - 1; i >= 0; i-- {
		coding := strings.ToLower(strings.TrimSpace(codings[i]))
		if coding == "identity" || coding == "" {
			continue
		}
		out, err := decodeOne(body, coding, limit)
		if owned {
			freeBuffer(body)
		}
		if err != nil {
			freeBuffer(out)
			return nil, err
		}
		body, owned = out, true
	}
	if !owned {
		return append(newBuffer(len(src)), src...), nil
	}
	return body, nil
}

// maxWindow bounds the memory of a zstd decoder beside its output; RFC 9659
// allows 8 MiB in HTTP, and stronger levels than that are seen.
const maxWindow = 32 << 20

func decodeOne(src []byte, coding string, limit int64) ([]byte, error) {
	in := &byteReader{b: src}
	var r io.Reader
	switch coding {
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		r = z
	case "deflate":
		// RFC 9110 means the zlib format, but raw deflate is seen as well.
		br := bufio.NewReader(in)
		head, _ := br.Peek(2)
		if len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			z, err := zlib.NewReader(br)
			if err != nil {
				return nil, fmt.Errorf("deflate: %w", err)
			}
			r = z
		} else {
			r = flate.NewReader(br)
		}
	case "br":
		r = brotli.NewReader(in)
	case "zstd":
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		defer z.Close()
		r = z
	default:
		return nil, fmt.Errorf("%w: %q", errEncoding, coding)
	}
	out, _, err := readBody(r, -1, limit, nil)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = errBodyTooLarge
	}
	if err != nil && err != errBodyTooLarge {
		return nil, fmt.Errorf("%s: %w", coding, err)
	}
	return out, err
}

// byteReader is a bytes.Reader without the methods that let a decoder keep
// the source.
type byteReader struct{ b []byte }

func (r *byteReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.b)
	r.b = r.b[n:]
	return n, nil
}

func (r *byteReader) ReadByte() (byte, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c, nil
}
