package adapter

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// Parse never panics, what it accepts is valid JSON with sound spans, every
// edit leaves valid JSON, and a pooled view is the same as a new one.
func FuzzRequest(f *testing.F) {
	for _, c := range parseCases {
		f.Add(uint8(c.format), []byte(c.body), uint16(5))
	}
	f.Add(uint8(Chat), []byte(`{"model":"a","Model":"b","messages":[{"role":"system","content":[]}]}`), uint16(1))
	var pooled Request
	f.Fuzz(func(t *testing.T, format uint8, body []byte, mask uint16) {
		var r Request
		fm := Format(format % 8)
		err := r.Parse(fm, body)
		errPooled := pooled.Parse(fm, body)
		if err != errPooled {
			t.Fatalf("%v, from the pool %v", err, errPooled)
		}
		if name, ok := PeekModel(body); r.Root != jsonspan.None {
			value := r.Doc.Get(r.Root, "model")
			if r.Doc.Is(value, jsonspan.String) != ok || ok && name != r.Doc.Text(value) {
				t.Fatalf("peeked %q, %v", name, ok)
			}
		}
		if err != nil {
			if len(r.Messages)+len(r.Blocks)+len(r.Calls)+len(r.Results) > 0 {
				t.Fatal("a view in spite of ", err)
			}
			return
		}
		if !json.Valid(body) {
			t.Fatal("accepted what is not valid")
		}
		checkView(t, &r)
		if dump(&r) != dump(&pooled) || roles(&r) != roles(&pooled) {
			t.Fatal("from the pool it is something else")
		}
		for i := range r.Calls {
			a := r.Args(i)
			_ = a.Tool()
			_, _ = a.String("command", "path")
			_, _ = a.Strings("command")
			_ = a.Text()
		}
		check := func(edits []jsonspan.Edit) {
			jsonspan.SortEdits(edits)
			if out := jsonspan.Splice(nil, body, edits); !json.Valid(out) {
				t.Fatalf("edited to %q", out)
			}
		}
		if edits, ok := r.AppendSystem("a\"\n"); ok {
			check(edits)
		}
		if e, ok := r.SetModel("m\\"); ok {
			check([]jsonspan.Edit{e})
		}
		drop := make([]bool, len(r.Messages))
		for i := range drop {
			drop[i] = mask>>(i%16)&1 != 0
		}
		if edits, ok := r.DropMessages(drop, int(mask)%(len(drop)+1), "gone"); ok {
			check(edits)
		}
		var all []jsonspan.Edit
		for i := range r.Blocks {
			all = append(all, r.ReplaceText(i, []byte{byte(mask), '"'}))
		}
		check(all)
	})
}

// However a body is cut in pieces, a meter finds the same; a JSON body is
// without fault exactly when it is a valid object.
func FuzzMeter(f *testing.F) {
	for _, c := range meterCases {
		f.Add(uint8(c.format), c.stream, []byte(c.body), uint32(0x9e3779b9))
	}
	f.Add(uint8(1), true, []byte(data(`{"status":"completed","response":{"status":"completed"},"type":"response.completed","delta":"a"}`, `{"status":"completed","response":{"status":"completed"},"type":"response.completed","delta":"b"}`)), uint32(1))
	f.Fuzz(func(t *testing.T, format uint8, stream bool, body []byte, seed uint32) {
		fm := Format(format%5 + 1)
		var whole, parts Meter
		whole.Start(fm, stream)
		whole.Write(body)
		want := *whole.End()
		parts.Start(fm, stream)
		for rest := body; len(rest) > 0; {
			seed = seed*1664525 + 1013904223
			n := min(len(rest), int(seed>>24)%7+1)
			if seed&0x10000 != 0 {
				n = min(len(rest), int(seed>>20))
			}
			parts.Write(rest[:n])
			rest = rest[n:]
		}
		if got := *parts.End(); !reflect.DeepEqual(got, want) {
			t.Fatalf("in pieces %+v\nas a whole %+v", got, want)
		}
		if !stream {
			object := bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{"))
			var d jsonspan.Doc
			valid := object && json.Valid(body) && d.Parse(body) == nil // not too deep
			if valid != (want.Fault == FaultNone || want.Fault == FaultChoices) {
				t.Fatalf("valid is %v, fault %q", valid, want.Fault)
			}
		}
		if want.Complete && (want.Failed || want.Fault != FaultNone) {
			t.Fatalf("complete in spite of %+v", want)
		}
	})
}

// collected is an eventSink that keeps everything.
type collected struct {
	data string
	list [][2]string
}

func (c *collected) eventData(p []byte) { c.data += string(p) }
func (c *collected) eventEnd(name []byte) {
	c.list = append(c.list, [2]string{string(name), c.data})
	c.data = ""
}

// plainEvents reads a whole stream the slow way.
func plainEvents(stream string) (list [][2]string) {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	lines = lines[:len(lines)-1] // the last has no end
	var name string
	var data []string
	for _, line := range lines {
		if line == "" {
			if data != nil {
				list = append(list, [2]string{name[:min(len(name), 48)], strings.Join(data, "\n")})
			}
			name, data = "", nil
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data = append(data, value)
		case "event":
			name = value
		}
	}
	return list
}

func FuzzEvents(f *testing.F) {
	for _, c := range meterCases {
		if c.stream {
			f.Add([]byte(c.body), uint8(3))
		}
	}
	f.Add([]byte("data\ndata:\n\nevent:  x\nevent\ndata: \n\n:\n\ndatax: 1\n\n \n"), uint8(1))
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		if bytes.HasPrefix(stream, []byte("\ufeff\n")) || bytes.HasPrefix(stream, []byte("\ufeff\r")) || bytes.HasPrefix(stream, []byte("\ufeff:")) {
			return // the mark in front of nothing
		}
		want := plainEvents(string(stream))
		var l lineFeed
		var got collected
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), int(step)+1)
			l.write(rest[:n], &got)
			rest = rest[n:]
		}
		if !reflect.DeepEqual(got.list, want) {
			t.Fatalf("got %q, want %q", got.list, want)
		}
		// The pieces for a replay hold the same events, and nothing is lost.
		var pieces int
		var joined []byte
		for rest := stream; len(rest) > 0; {
			var event []byte
			event, rest = NextEvent(rest)
			if n := len(plainEvents(string(event))); n > 1 {
				t.Fatalf("%d events in one: %q", n, event)
			} else {
				pieces += n
			}
			joined = append(joined, event...)
		}
		if !bytes.Equal(joined, stream) {
			t.Fatalf("joined to %q", joined)
		}
		if pieces != len(want) {
			t.Fatalf("%d events in pieces, want %d", pieces, len(want))
		}
	})
}
