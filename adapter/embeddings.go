package adapter

// OpenAI embeddings: input is a string, an array of strings or token numbers,
// or with some servers an array of objects for text and images.

func init() {
	register(Embeddings, &wire{name: "embeddings", suffix: "/embeddings", parse: parseEmbeddings, reply: embeddingsReply, dialect: openAI})
}

func parseEmbeddings(r *Request, root *fields) fault {
	return plainTexts(r, root.given(&r.Doc, fieldInput))
}

// embeddingsReply is how embeddings are answered.
var embeddingsReply = &reply{
	json: watching(errorSights, chatUsage("usage"), map[string]sight{
		"id":      seeID,
		"model":   seeModel,
		"object":  seeType,
		"message": seeErrorMessage,
		"data[]":  seeMedia,
	}),
	event: new(watch), // there is no stream
	commit: func(m *Meter) {
		if string(m.kind.bytes()) == "error" {
			m.answer.Failed = true
		}
		m.terminated = !m.stream && m.answer.Output
	},
	choiceless: true,
}
