package jsonspan

import (
	"encoding/json"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `[]`, `{"a":[1,2,{"b":null}],"c":"x\ny"}`, `[`, `[1,]`, `{"a":1,}`, `[,]`, `"\ud800"`, ` 1 `, `-`, `[}`, `{]`, `[[]]`, `[[],{}]`, `{"a":{}}`, `{"a"}`, `{,}`, `[]]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Doc
		err := d.Parse(b)
		if err != ErrDepth && (err == nil) != json.Valid(b) {
			t.Fatalf("%q: %v", b, err)
		}
	})
}
