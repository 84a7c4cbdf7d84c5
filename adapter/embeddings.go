package adapter

// OpenAI embeddings: input is a string, an array of strings or token numbers,
// or with some servers an array of objects for text and images.

func init() {
	register(Embeddings, &wire{name: "embeddings", suffix: "/embeddings", parse: parseEmbeddings, dialect: openAI})
}

func parseEmbeddings(r *Request, root *fields) fault {
	return plainTexts(r, root.given(&r.Doc, fieldInput))
}
