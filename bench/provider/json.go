package provider

import "strconv"

// appendJSON writes the whole answer as one JSON object.
func (p *Provider) appendJSON(a *ask) {
	b := a.answer.buf
	size, in, out := p.size(a), a.tokens, p.outputTokens(a)
	switch a.endpoint {
	case endpointChat:
		b = append(b, `{"id":"chatcmpl-`...)
		b = appendID(b, a.id)
		b = append(b, `","object":"chat.completion","created":`...)
		b = strconv.AppendInt(b, p.started, 10)
		b = append(b, `,"model":"`...)
		b = append(b, a.model...)
		b = append(b, `","choices":[{"index":0,"message":{"role":"assistant","content":"`...)
		b = text(b, 0, size)
		b = append(b, `","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":`...)
		b = appendChatUsage(b, in, out)
		b = append(b, `,"service_tier":"default","system_fingerprint":"fp_standin"}`...)
	case endpointCompletions:
		b = append(b, `{"id":"cmpl-`...)
		b = appendID(b, a.id)
		b = append(b, `","object":"text_completion","created":`...)
		b = strconv.AppendInt(b, p.started, 10)
		b = append(b, `,"model":"`...)
		b = append(b, a.model...)
		b = append(b, `","choices":[{"index":0,"text":"`...)
		b = text(b, 0, size)
		b = append(b, `","logprobs":null,"finish_reason":"stop"}],"usage":`...)
		b = appendChatUsage(b, in, out)
		b = append(b, '}')
	case endpointResponses:
		b = p.appendResponse(b, a, "completed")
	case endpointMessages:
		b = append(b, `{"id":"msg_`...)
		b = appendID(b, a.id)
		b = append(b, `","type":"message","role":"assistant","model":"`...)
		b = append(b, a.model...)
		b = append(b, `","content":[{"type":"text","text":"`...)
		b = text(b, 0, size)
		b = append(b, `"}],"stop_reason":"end_turn","stop_sequence":null,"usage":`...)
		b = appendMessagesUsage(b, in, out)
		b = append(b, '}')
	}
	a.answer.buf = b
	a.answer.frame()
}

func appendChatUsage(b []byte, in, out int) []byte {
	b = append(b, `{"prompt_tokens":`...)
	b = appendInt(b, in)
	b = append(b, `,"completion_tokens":`...)
	b = appendInt(b, out)
	b = append(b, `,"total_tokens":`...)
	b = appendInt(b, in+out)
	return append(b, `,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`...)
}

func appendMessagesUsage(b []byte, in, out int) []byte {
	b = append(b, `{"input_tokens":`...)
	b = appendInt(b, in)
	b = append(b, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":`...)
	b = appendInt(b, out)
	return append(b, `,"service_tier":"standard"}`...)
}

// appendResponse appends a response object with that status: while it is
// "in_progress" without output and usage.
func (p *Provider) appendResponse(b []byte, a *ask, status string) []byte {
	b = append(b, `{"id":"resp_`...)
	b = appendID(b, a.id)
	b = append(b, `","object":"response","created_at":`...)
	b = strconv.AppendInt(b, p.started, 10)
	b = append(b, `,"status":"`...)
	b = append(b, status...)
	b = append(b, `","background":false,"error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,"model":"`...)
	b = append(b, a.model...)
	b = append(b, `","output":[`...)
	if status == "completed" {
		b = p.appendOutputItem(b, a, status)
	}
	b = append(b, `],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":`...)
	if status != "completed" {
		b = append(b, `null`...)
	} else {
		in, out := a.tokens, p.outputTokens(a)
		b = append(b, `{"input_tokens":`...)
		b = appendInt(b, in)
		b = append(b, `,"input_tokens_details":{"cached_tokens":0},"output_tokens":`...)
		b = appendInt(b, out)
		b = append(b, `,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":`...)
		b = appendInt(b, in+out)
		b = append(b, '}')
	}
	return append(b, `,"user":null,"metadata":{}}`...)
}

// appendOutputItem appends the message of a response, empty while it is
// "in_progress".
func (p *Provider) appendOutputItem(b []byte, a *ask, status string) []byte {
	b = append(b, `{"id":"msg_`...)
	b = appendID(b, a.id)
	b = append(b, `","type":"message","status":"`...)
	b = append(b, status...)
	b = append(b, `","role":"assistant","content":[`...)
	if status == "completed" {
		b = appendOutputPart(b, p.size(a))
	}
	return append(b, `]}`...)
}

// appendOutputPart appends a text part that holds the first size bytes.
func appendOutputPart(b []byte, size int) []byte {
	b = append(b, `{"type":"output_text","annotations":[],"logprobs":[],"text":"`...)
	b = text(b, 0, size)
	return append(b, `"}`...)
}
