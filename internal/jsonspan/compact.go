package jsonspan

// Compact appends the valid JSON text raw to dst without the white space
// between its tokens. Everything else stays as it is written: the order of
// keys, duplicate keys, number literals, escapes. What is already compact is
// copied in one piece.
func Compact(dst, raw []byte) []byte {
	from := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end, _ := scanString(raw, i+1)
			if end < 0 { // not valid: leave the rest alone
				return append(dst, raw[from:]...)
			}
			i = end
		case c <= ' ' && isSpace(c):
			dst = append(dst, raw[from:i]...)
			i = skipSpace(raw, i+1)
			from = i
		default:
			i++
		}
	}
	return append(dst, raw[from:]...)
}
