package adapter

import (
	"bytes"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// PeekModel is the value of the first "model" of a JSON object, decoded, found
// without reading further than that. ok is false if there is none, it is no
// string, or the body is no object.
//
// It is for choosing settings only. It does not check that the body is valid
// nor that there is no other model: what access depends on must come from
// Parse.
func PeekModel(body []byte) (name string, ok bool) {
	i := afterSpace(body, 0)
	if i >= len(body) || body[i] != '{' {
		return "", false
	}
	for {
		i = afterSpace(body, i+1) // behind the brace or a comma
		key, next := peekString(body, i)
		if next < 0 {
			return "", false
		}
		i = afterSpace(body, next)
		if i >= len(body) || body[i] != ':' {
			return "", false
		}
		i = afterSpace(body, i+1)
		if isModelKey(key) {
			value, next := peekString(body, i)
			switch {
			case next < 0:
				return "", false
			case bytes.IndexByte(value, '\\') < 0:
				return string(value), true
			case !validEscapes(value):
				return "", false
			}
			return string(jsonspan.AppendUnquoted(nil, value)), true
		}
		if i = afterSpace(body, afterValue(body, i)); i >= len(body) || body[i] != ',' {
			return "", false
		}
	}
}

func isModelKey(key []byte) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key) == "model"
	}
	return len(key) <= 6*len("model") && validEscapes(key) && string(jsonspan.AppendUnquoted(nil, key)) == "model"
}

// validEscapes reports whether the encoded text can be decoded.
func validEscapes(raw []byte) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return true
	}
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	var d jsonspan.Doc
	return d.Parse(quoted) == nil
}

func afterSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// peekString is the encoded text of the string at i and what stands behind it,
// -1 if there is no string.
func peekString(b []byte, i int) (text []byte, next int) {
	if i >= len(b) || b[i] != '"' {
		return nil, -1
	}
	from := i + 1
	for i = from; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return nil, -1
		}
		i += n
		// The quote ends the string unless an odd number of backslashes
		// stands before it.
		slashes := 0
		for i-1-slashes >= from && b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return b[from:i], i + 1
		}
	}
	return nil, -1
}

// afterValue is the offset behind the value at i, len(b) if it does not end.
func afterValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			_, next := peekString(b, i)
			if next < 0 {
				return len(b)
			}
			i = next
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}
