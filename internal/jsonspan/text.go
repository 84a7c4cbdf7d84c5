package jsonspan

import "unicode/utf8"

// AppendUnquoted appends the decoded form of raw, the valid encoded text
// between a string's quotes, to dst. A lone surrogate escape becomes its
// three-byte form (as in WTF-8), which AppendQuoted turns back into the
// escape; bytes that are not UTF-8 stay as they are.
func AppendUnquoted(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		c := raw[i]
		if c != '\\' {
			j := i + 1
			for j < len(raw) && raw[j] != '\\' {
				j++
			}
			dst = append(dst, raw[i:j]...)
			i = j
			continue
		}
		switch e := raw[i+1]; e {
		case 'n':
			dst, i = append(dst, '\n'), i+2
		case 't':
			dst, i = append(dst, '\t'), i+2
		case 'r':
			dst, i = append(dst, '\r'), i+2
		case 'b':
			dst, i = append(dst, '\b'), i+2
		case 'f':
			dst, i = append(dst, '\f'), i+2
		case 'u':
			r := hex4(raw[i+2:])
			i += 6
			if r>>10 == 0xD800>>10 && i+6 <= len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
				if lo := hex4(raw[i+2:]); lo>>10 == 0xDC00>>10 {
					r = 0x10000 + (r&0x3FF)<<10 + lo&0x3FF
					i += 6
				}
			}
			if r>>11 == 0xD800>>11 {
				dst = append(dst, 0xED, 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
			} else {
				dst = utf8.AppendRune(dst, r)
			}
		default: // quote, backslash, slash
			dst, i = append(dst, e), i+2
		}
	}
	return dst
}

func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		r <<= 4
		switch {
		case c <= '9':
			r |= rune(c - '0')
		default:
			r |= rune(c|0x20-'a') + 10
		}
	}
	return r
}

const hexDigits = "0123456789abcdef"

// AppendQuoted appends text as a JSON string, quotes included. Only what JSON
// demands is escaped: the quote, the backslash and bytes below 0x20; and a
// surrogate in its three-byte form becomes its \u escape.
func AppendQuoted(dst, text []byte) []byte {
	return append(AppendEscaped(append(dst, '"'), text), '"')
}

// AppendEscaped is AppendQuoted without the quotes.
func AppendEscaped(dst, text []byte) []byte {
	from := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= 0x20 && c != '"' && c != '\\' && c != 0xED {
			continue
		}
		var esc byte
		switch c {
		case '"', '\\':
			esc = c
		case '\n':
			esc = 'n'
		case '\r':
			esc = 'r'
		case '\t':
			esc = 't'
		case '\b':
			esc = 'b'
		case '\f':
			esc = 'f'
		case 0xED:
			if i+2 >= len(text) || text[i+1] < 0xA0 || text[i+1] > 0xBF || text[i+2]&0xC0 != 0x80 {
				continue
			}
			r := 0xD000 | int(text[i+1]&0x3F)<<6 | int(text[i+2]&0x3F)
			dst = append(dst, text[from:i]...)
			dst = append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
			i += 2
			from = i + 1
			continue
		}
		dst = append(dst, text[from:i]...)
		if esc != 0 {
			dst = append(dst, '\\', esc)
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		from = i + 1
	}
	return append(dst, text[from:]...)
}
