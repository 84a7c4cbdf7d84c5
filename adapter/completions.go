package adapter

import "github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"

// OpenAI text completions: prompt is a string, an array of strings or an array
// of token numbers.

func init() {
	register(Completions, &wire{name: "completions", suffix: "/completions", parse: parseCompletions, reply: completionsReply, dialect: openAI})
}

func parseCompletions(r *Request, root *fields) fault {
	if root.get(fieldGuided) != jsonspan.None {
		r.Schema = true
	}
	if format := root.given(&r.Doc, fieldResponseFormat); format != jsonspan.None {
		demanded, fault := structured(&r.Doc, format)
		if fault != 0 {
			return fault
		}
		r.Schema = r.Schema || demanded
	}
	return plainTexts(r, root.given(&r.Doc, fieldPrompt))
}

// plainTexts adds the texts of a prompt or input that is a string or an array
// of strings; arrays of token numbers hold none.
func plainTexts(r *Request, node jsonspan.Ref) fault {
	d := &r.Doc
	switch d.Kind(node) {
	case jsonspan.Null: // absent, too: the provider's default
	case jsonspan.String:
		r.add(UserText, -1, node, false)
	case jsonspan.Array:
		for e := d.First(node); e != jsonspan.None; e = d.Next(e) {
			switch d.Kind(e) {
			case jsonspan.String:
				r.add(UserText, -1, e, false)
			case jsonspan.Number, jsonspan.Array, jsonspan.Object:
			default:
				return ForeignShape
			}
		}
	default:
		return ForeignShape
	}
	return 0
}

// completionsReply is how text completions answer.
var completionsReply = func() *reply {
	root := watching(completionSights, errorSights, map[string]sight{"choices[].text": seeText}, chatUsage("usage"))
	return &reply{json: root, event: root, commit: commitCompletion, marked: true}
}()

// completionSights is what the answers of text and chat completions share.
var completionSights = map[string]sight{
	"id":                      seeID,
	"model":                   seeModel,
	"object":                  seeType,
	"message":                 seeErrorMessage, // vLLM: beside object "error"
	"choices":                 seeChoices,
	"choices[]":               seeChoice,
	"choices[].index":         seeIndex,
	"choices[].finish_reason": seeFinish,
	"choices[].error":         seeError, // OpenRouter
}

// chatUsage is what is watched of a usage object at path.
//
// Sources: the API references of OpenAI, DeepSeek (prompt_cache_hit_tokens),
// Moonshot (cached_tokens), OpenRouter (cache_write_tokens) and LiteLLM
// (Anthropic's names beside OpenAI's).
func chatUsage(path string) map[string]sight {
	return below(path, map[string]sight{
		"":                                     seeUsage,
		".prompt_tokens":                       seeCounter + sight(countInput),
		".completion_tokens":                   seeCounter + sight(countOutput),
		".total_tokens":                        seeCounter + sight(countTotal),
		".prompt_cache_hit_tokens":             seeCounter + sight(countRead),
		".cached_tokens":                       seeCounter + sight(countRead),
		".cache_read_input_tokens":             seeCounter + sight(countRead),
		".cache_creation_input_tokens":         seeCounter + sight(countWrite),
		".prompt_tokens_details.cached_tokens": seeCounter + sight(countRead),
		".prompt_tokens_details.cache_write_tokens":   seeCounter + sight(countWrite),
		".completion_tokens_details.reasoning_tokens": seeCounter + sight(countReasoning),
	})
}

// commitCompletion ends a body or a chunk. A stream ends with its mark.
func commitCompletion(m *Meter) {
	if string(m.kind.bytes()) == "error" {
		m.answer.Failed = true
	}
	m.terminated = m.terminated || !m.stream
}
