package cache

import (
	"fmt"
	"strings"
)

// chatBody is a chat request of about size bytes: a system prompt, turns of a
// conversation and the question.
func chatBody(size int, question string) string {
	var b strings.Builder
	b.WriteString(`{"model":"gpt-5-mini","temperature":0,"max_tokens":256,"messages":[{"role":"system","content":"Answer as a harbour office."}`)
	for i := 0; b.Len() < size-400-len(question); i++ {
		fmt.Fprintf(&b, `,{"role":"user","content":"Question %d: which of the berths along the western pier is long enough for a ketch of fourteen metres, and who has to sign the form when it arrives late in the evening?"}`, i)
		fmt.Fprintf(&b, `,{"role":"assistant","content":"Answer %d: berth W3 – ask the harbour master.\nThe form is in the blue cabinet."}`, i)
	}
	fmt.Fprintf(&b, `,{"role":"user","content":"%s"}],"stream":false}`, question)
	return b.String()
}

// chatQuestion is a chat request that asks question.
func chatQuestion(question string) string {
	return `{"model":"gpt-5-mini","messages":[{"role":"system","content":"Answer as a harbour office."},{"role":"user","content":"` + question + `"}]}`
}
