// Package load is a load generator: a fixed number of connections, each of
// which sends its next request as soon as it has the last answer, with
// requests that were built beforehand. It measures what a client sees.
package load

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

// Header is one field of a request.
type Header struct{ Name, Value string }

// Request is a request in the form in which it is sent. One that changes from
// sending to sending belongs to one connection.
type Request struct {
	raw   []byte
	sites []site
}

// site is where a request gets letters that no earlier one had.
type site struct{ at, n int }

// serial numbers all changing requests of this process.
var serial atomic.Uint64

// NewRequest builds a POST of a JSON body, or a GET when body is nil.
func NewRequest(host, path string, header []Header, body []byte) *Request {
	var b strings.Builder
	if body == nil {
		fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: %s\r\n", path, host)
	} else {
		fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %s\r\n", path, host, strconv.Itoa(len(body)))
	}
	for _, h := range header {
		fmt.Fprintf(&b, "%s: %s\r\n", h.Name, h.Value)
	}
	b.WriteString("\r\n")
	return &Request{raw: append([]byte(b.String()), body...)}
}

// Changing makes every sending of a request differ from every other in each of
// its texts that variants tells apart. They are bodies of one length that
// differ where lower-case letters may be put, the first is the one that is
// sent. Whatever remembers a text by its content has never seen this one.
func Changing(host, path string, header []Header, variants ...[]byte) *Request {
	body := append([]byte(nil), variants[0]...)
	r := NewRequest(host, path, header, body)
	offset := len(r.raw) - len(body)
	for _, s := range sites(variants) {
		r.sites = append(r.sites, site{at: s.at + offset, n: s.n})
	}
	return r
}

// serialLetters is the length of a serial number: 26^6 requests.
const serialLetters = 6

// sites finds in each JSON string the first run of at least serialLetters
// bytes in which the variants differ.
func sites(variants [][]byte) []site {
	first := variants[0]
	differ := make([]bool, len(first))
	for _, v := range variants[1:] {
		if len(v) != len(first) {
			panic("load: the variants of a body differ in length")
		}
		for i := range v {
			if v[i] != first[i] {
				differ[i] = true
			}
		}
	}
	var out []site
	inString, done := false, false
	run := 0
	for i := 0; i < len(first); i++ {
		if differ[i] && inString && !done {
			if run++; run == serialLetters {
				out = append(out, site{at: i - run + 1, n: run})
				done = true
			}
			continue
		}
		run = 0
		switch {
		case first[i] == '\\' && inString:
			i++
		case first[i] == '"':
			inString, done = !inString, false
		}
	}
	return out
}

// next is the request in the form for the next sending.
func (r *Request) next() []byte {
	if len(r.sites) == 0 {
		return r.raw
	}
	var letters [serialLetters]byte
	n := serial.Add(1)
	for i := range letters {
		letters[i] = 'a' + byte(n%26)
		n /= 26
	}
	for _, s := range r.sites {
		copy(r.raw[s.at:s.at+s.n], letters[:])
	}
	return r.raw
}

// Sites is the number of texts that change from sending to sending.
func (r *Request) Sites() int { return len(r.sites) }
