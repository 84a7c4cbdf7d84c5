package jsonspan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

// implementations runs f with the vector code, where there is any, and without.
func implementations(b *testing.B, f func(b *testing.B)) {
	had, wide := useAVX2, useAVX512
	defer func() { useAVX2, useAVX512 = had, wide }()
	if wide {
		b.Run("avx512", f)
	}
	useAVX512 = false
	if had {
		b.Run("avx2", f)
	}
	useAVX2 = false
	b.Run("plain", f)
}

func perByte(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/byte")
}

func BenchmarkParse(b *testing.B) {
	for _, p := range testbody.Profiles {
		src := testbody.Body(p)
		b.Run(p.String(), func(b *testing.B) {
			implementations(b, func(b *testing.B) {
				var d Doc
				if err := d.Parse(src); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := d.Parse(src); err != nil {
						b.Fatal(err)
					}
				}
				perByte(b, len(src))
			})
			b.Run("IndexByte", func(b *testing.B) {
				for b.Loop() {
					for rest := src; ; {
						i := bytes.IndexByte(rest, '"')
						if i < 0 {
							break
						}
						rest = rest[i+1:]
					}
				}
				perByte(b, len(src))
			})
			b.Run("encoding/json.Valid", func(b *testing.B) {
				for b.Loop() {
					json.Valid(src)
				}
				perByte(b, len(src))
			})
		})
	}
}

// BenchmarkNaive is what an edit costs without spans: every level decoded into
// a map of raw messages and encoded again.
func BenchmarkNaive(b *testing.B) {
	for _, p := range testbody.Profiles {
		src := testbody.Body(p)
		b.Run(p.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := reencode(src); err != nil {
					b.Fatal(err)
				}
			}
			perByte(b, len(src))
		})
	}
}

func reencode(raw json.RawMessage) (json.RawMessage, error) {
	switch raw[0] {
	case '{':
		var object map[string]json.RawMessage
		if err := json.Unmarshal(raw, &object); err != nil {
			return nil, err
		}
		for k, v := range object {
			var err error
			if object[k], err = reencode(v); err != nil {
				return nil, err
			}
		}
		return json.Marshal(object)
	case '[':
		var array []json.RawMessage
		if err := json.Unmarshal(raw, &array); err != nil {
			return nil, err
		}
		for i, v := range array {
			var err error
			if array[i], err = reencode(v); err != nil {
				return nil, err
			}
		}
		return json.Marshal(array)
	}
	return raw, nil
}

func BenchmarkFindTop(b *testing.B) {
	src := testbody.Large()
	for _, key := range []string{"model", "max_tokens"} { // the first and the last
		b.Run(key, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, ok := FindTop(src, key); !ok {
					b.Fatal("not found")
				}
			}
		})
	}
}

// texts are what tool results hold, decoded.
func texts(b *testing.B) map[string][]byte {
	var d Doc
	if err := d.Parse(testbody.Fresh(testbody.ProfileLarge, 1)); err != nil {
		b.Fatal(err)
	}
	return map[string][]byte{
		"json":     AppendUnquoted(nil, longest(&d)),
		"lines":    bytes.Repeat([]byte("2024-05-01 12:00:00 INFO handler: request served in 12 ms\n"), 200),
		"plain":    bytes.Repeat([]byte("no escape is needed in this text. "), 350),
		"cyrillic": bytes.Repeat([]byte("Ошибка при чтении файла.\n"), 250),
		"hangul":   bytes.Repeat([]byte("파일을 읽는 중 오류가 발생했습니다.\n"), 200),
	}
}

var textNames = []string{"json", "lines", "plain", "cyrillic", "hangul"}

func BenchmarkAppendUnquoted(b *testing.B) {
	for _, name := range append(textNames, "ascii-only") {
		text := texts(b)[name]
		raw := AppendEscaped(nil, text)
		if name == "ascii-only" { // as clients write that escape all but ASCII
			raw = bytes.Repeat([]byte(`\u041e\u0448\u0438\u0431\u043a\u0430 `), 250)
		}
		b.Run(name, func(b *testing.B) {
			implementations(b, func(b *testing.B) {
				dst := make([]byte, 0, len(raw))
				b.ReportAllocs()
				for b.Loop() {
					AppendUnquoted(dst, raw)
				}
				perByte(b, len(raw))
			})
		})
	}
}

func BenchmarkAppendEscaped(b *testing.B) {
	for _, name := range textNames {
		text := texts(b)[name]
		b.Run(name, func(b *testing.B) {
			implementations(b, func(b *testing.B) {
				dst := make([]byte, 0, 2*len(text))
				b.ReportAllocs()
				for b.Loop() {
					AppendEscaped(dst, text)
				}
				perByte(b, len(text))
			})
		})
	}
}

func BenchmarkCopy(b *testing.B) {
	src := texts(b)["plain"]
	dst := make([]byte, len(src))
	for b.Loop() {
		copy(dst, src)
	}
	perByte(b, len(src))
}

func BenchmarkCompact(b *testing.B) {
	src := texts(b)["json"]
	var indented bytes.Buffer
	if err := json.Indent(&indented, src, "", "  "); err != nil {
		b.Fatal(err)
	}
	for name, src := range map[string][]byte{"compact": src, "indented": indented.Bytes()} {
		b.Run(name, func(b *testing.B) {
			dst := make([]byte, 0, len(src))
			b.ReportAllocs()
			for b.Loop() {
				Compact(dst, src)
			}
			perByte(b, len(src))
		})
	}
}

// BenchmarkText looks at texts that fit into the first cache: the scan for the
// closing quote, and the glance whether it is compact JSON.
func BenchmarkText(b *testing.B) {
	rows := AppendQuoted(nil, []byte("["+strings.Repeat(`{"id":2,"name":"gamma delta","state":"closed","n":98765},`, 300)+"1]"))[1:]
	lines := AppendQuoted(nil, []byte(strings.Repeat("func main() { return fmt.Println(x) }\n\tif err != nil {\n\t\treturn err\n\t}\n// a longer comment line that goes on for a while and so on\n", 120)))[1:]
	prose := AppendQuoted(nil, []byte(strings.Repeat("some plain words of a sentence, ", 500)))[1:]
	for _, c := range []struct {
		name    string
		encoded []byte
	}{{"rows", rows}, {"lines", lines}, {"prose", prose}} {
		b.Run("scan/"+c.name, func(b *testing.B) {
			implementations(b, func(b *testing.B) {
				for b.Loop() {
					if end, _ := scanString(c.encoded, 0); end != len(c.encoded) {
						b.Fatal(end)
					}
				}
				perByte(b, len(c.encoded))
			})
		})
	}
	b.Run("compact", func(b *testing.B) {
		implementations(b, func(b *testing.B) {
			for b.Loop() {
				if !CompactText(rows[:len(rows)-1]) {
					b.Fatal("not compact")
				}
			}
			perByte(b, len(rows))
		})
	})
}

// BenchmarkParseText scans what tool results hold, a body of short strings.
func BenchmarkParseText(b *testing.B) {
	src := texts(b)["json"]
	implementations(b, func(b *testing.B) {
		var d Doc
		for b.Loop() {
			if err := d.Parse(src); err != nil {
				b.Fatal(err)
			}
		}
		perByte(b, len(src))
	})
}
