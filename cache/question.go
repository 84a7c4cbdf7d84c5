package cache

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
)

// lastQuestion is the string of the request that a similar one may differ in:
// the last text of the last message, if that is the user's and holds nothing
// but text. It is None if there is no such string.
func lastQuestion(v *adapter.Request) jsonspan.Ref {
	d := &v.Doc
	switch v.Format {
	case adapter.Chat, adapter.Messages:
		return questionIn(v, "messages", "text")
	case adapter.Responses:
		if input := d.Get(v.Root, "input"); d.Is(input, jsonspan.String) {
			return input
		}
		return questionIn(v, "input", "input_text")
	}
	return jsonspan.None
}

// questionIn looks in the array called list, whose text parts are of type
// textType.
func questionIn(v *adapter.Request, list, textType string) jsonspan.Ref {
	d := &v.Doc
	last := jsonspan.None
	array := d.Get(v.Root, list)
	if !d.Is(array, jsonspan.Array) {
		return jsonspan.None
	}
	for m := d.First(array); m != jsonspan.None; m = d.Next(m) {
		last = m
	}
	if !d.Equal(d.Get(last, "role"), "user") {
		return jsonspan.None
	}
	if kind := d.Get(last, "type"); kind != jsonspan.None && !d.Equal(kind, "message") {
		return jsonspan.None
	}
	content := d.Get(last, "content")
	if d.Is(content, jsonspan.String) {
		return content
	}
	if !d.Is(content, jsonspan.Array) {
		return jsonspan.None
	}
	question := jsonspan.None
	for part := d.First(content); part != jsonspan.None; part = d.Next(part) {
		if !d.Equal(d.Get(part, "type"), textType) {
			return jsonspan.None
		}
		question = d.Get(part, "text")
		if !d.Is(question, jsonspan.String) {
			return jsonspan.None
		}
	}
	return question
}
