package adapter

import "github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"

// OpenAI text completions: prompt is a string, an array of strings or an array
// of token numbers.

func init() {
	register(Completions, &wire{name: "completions", suffix: "/completions", parse: parseCompletions, dialect: openAI})
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
