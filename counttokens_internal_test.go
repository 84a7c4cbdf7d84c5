package llmgateway

import (
	"context"
	"strings"
	"testing"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// WaitForTokenizers loads the tokenizers and waits until they are there.
func WaitForTokenizers() {
	o200k.load()
	cl100k.load()
	<-o200k.loaded
	<-cl100k.loaded
}

func TestEncodingFor(t *testing.T) {
	for model, want := range map[string]*encoding{
		"gpt-4": cl100k, "gpt-4-turbo": cl100k, "openai/gpt-3.5-turbo": cl100k, "gpt-4o": o200k, "gpt-4.1": o200k,
		"gpt-5": o200k, "claude-sonnet-4-5": o200k, "deepseek-chat": o200k, "": o200k,
	} {
		if got := encodingFor(model); got != want {
			t.Errorf("%s: %s", model, got.name)
		}
	}
}

// TestCountTexts compares counting in pieces with counting at once.
func TestCountTexts(t *testing.T) {
	WaitForTokenizers()
	codec := *o200k.codec.Load()
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, 42 times.\n", 4000)
	want, err := codec.Count(text)
	if err != nil {
		t.Fatal(err)
	}
	got := countTexts(context.Background(), codec, []string{text}, len(text))
	if diff := got - want; diff < -want/200 || diff > want/200 {
		t.Errorf("in pieces %d, at once %d", got, want)
	}
	if got := countTexts(context.Background(), codec, []string{text[:1000]}, 1000); got < want/300 {
		t.Errorf("short: %d", got)
	}
	hard := strings.Repeat("ä", 3*countPiece)
	pieces := 0
	for rest := hard; rest != ""; pieces++ {
		var piece string
		if piece, rest = cutPiece(rest); piece == "" || strings.Trim(piece, "ä") != "" {
			t.Fatalf("cut in a character: %q", piece)
		}
	}
	if pieces < 6 {
		t.Errorf("%d pieces", pieces)
	}
}

// TestCountBeforeLoaded: as long as the tokenizer is being loaded, which it is in
// the background, nobody waits for it. The answer is an estimate, and says so.
func TestCountBeforeLoaded(t *testing.T) {
	WaitForTokenizers()
	var view adapter.Request
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 200)
	if err := view.Parse(adapter.Messages, []byte(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"`+text+`"}]}`)); err != nil {
		t.Fatal(err)
	}
	exact, by := countRequest(context.Background(), &view, "m")
	if by != string(o200k.name) {
		t.Fatalf("counted by %q", by)
	}
	codec := o200k.codec.Swap(nil) // as before it was loaded
	defer o200k.codec.Store(codec)
	got, by := countRequest(context.Background(), &view, "m")
	if by != "estimated by length" || got < exact*3/4 || got > exact*5/4 {
		t.Errorf("%d by %q, the tokenizer says %d", got, by, exact)
	}
}
