package jsonspan

import "strings"

// Cut is where to cut raw, encoded text, after at most n bytes (at least 12) so
// that no escape is split, nor two escapes that are one character.
func Cut(raw []byte, n int) int {
	if len(raw) <= n {
		return len(raw)
	}
	// What reaches over n begins in the last eleven bytes before it.
	last := raw[n-11 : n+1]
	long := false
	for i := range 11 {
		long = long || last[i] == '\\' && last[i+1] == 'u'
	}
	if !long { // every escape takes two bytes
		at := n
		for at > 0 && raw[at-1] == '\\' {
			at--
		}
		return n - (n-at)&1
	}
	// A run of backslashes begins with one that is not escaped.
	at := n - 11
	for at > 0 && raw[at-1] == '\\' {
		at--
	}
	for at < n {
		size := 1
		if raw[at] == '\\' {
			size = 2
			if raw[at+1] == 'u' {
				size = 6
				if len(raw)-at >= 12 && halfEscape(raw[at:], "89ab") && halfEscape(raw[at+6:], "cdef") {
					size = 12
				}
			}
		}
		if at+size > n {
			break
		}
		at += size
	}
	return at
}

// halfEscape reports whether raw begins with the escape of a surrogate whose
// second digit is one of these.
func halfEscape(raw []byte, second string) bool {
	return raw[0] == '\\' && raw[1] == 'u' && raw[2]|0x20 == 'd' && strings.IndexByte(second, raw[3]|0x20) >= 0
}
