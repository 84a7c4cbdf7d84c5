package llmgateway

import (
	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/toolschema"
)

// schemaBodies are the bodies that were made of the one to be sent for
// providers which take tool schemas in another form, by mode; nil if none was
// made or none is needed.
type schemaBodies struct {
	schemas [len(toolschema.Names)]*payload
	checked [len(toolschema.Names)]bool
}

// bodyFor is the body that p gets.
func (x *exchange) bodyFor(p *Provider) *payload {
	mode := p.toolSchema
	if mode == toolschema.Off || x.sent == nil {
		return x.sent
	}
	if !x.checked[mode] {
		x.checked[mode] = true
		x.schemas[mode] = x.adaptSchemas(mode)
	}
	if made := x.schemas[mode]; made != nil {
		return made
	}
	return x.sent
}

// adaptSchemas makes the body for mode, nil if the one to be sent will do. A
// body that cannot be read goes as it is.
func (x *exchange) adaptSchemas(mode toolschema.Mode) *payload {
	body := x.sent.bytes()
	view := requestViews.Get().(*adapter.Request)
	defer giveBack(view)
	if view.Doc.Parse(body) != nil {
		return nil
	}
	edits := toolschema.Edits(nil, &view.Doc, x.format, mode)
	if len(edits) == 0 {
		return nil
	}
	jsonspan.SortEdits(edits)
	for i := 1; i < len(edits); i++ {
		if edits[i].Start < edits[i-1].End {
			return nil // duplicate keys: nobody can say which one counts
		}
	}
	return newPayload(jsonspan.Splice(newBuffer(jsonspan.SplicedLen(body, edits)), body, edits))
}

// releaseSchemas lets go of the bodies that were made.
func (x *exchange) releaseSchemas() {
	for i, made := range x.schemas {
		if made != nil {
			made.release()
			x.schemas[i] = nil
		}
	}
}
