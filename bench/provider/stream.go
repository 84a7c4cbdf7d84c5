package provider

import "strconv"

// appendStream writes the answer as an event stream. A delta is a frame of its
// own; what a provider sends without a wait in between shares one.
func (p *Provider) appendStream(a *ask) {
	switch a.endpoint {
	case endpointChat, endpointCompletions:
		p.streamChunks(a)
	case endpointResponses:
		p.streamResponse(a)
	case endpointMessages:
		p.streamMessage(a)
	}
}

// cutText calls each with the bounds of every delta's text.
func (p *Provider) cutText(a *ask, each func(from, to int)) {
	size, n := p.size(a), p.deltas(a)
	for i := range n {
		each(size*i/n, size*(i+1)/n)
	}
}

// streamChunks streams a chat completion or a text completion.
func (p *Provider) streamChunks(a *ask) {
	chat := a.endpoint == endpointChat
	b := a.answer.buf
	open := func() {
		if chat {
			b = append(b, `data: {"id":"chatcmpl-`...)
			b = appendID(b, a.id)
			b = append(b, `","object":"chat.completion.chunk","created":`...)
		} else {
			b = append(b, `data: {"id":"cmpl-`...)
			b = appendID(b, a.id)
			b = append(b, `","object":"text_completion","created":`...)
		}
		b = strconv.AppendInt(b, p.started, 10)
		b = append(b, `,"model":"`...)
		b = append(b, a.model...)
		b = append(b, `","system_fingerprint":"fp_standin","choices":[`...)
	}
	shut := func() {
		if a.includeUsage {
			b = append(b, `,"usage":null`...)
		}
		b = append(b, "}\n\n"...)
	}
	end := func() {
		a.answer.buf = b
		a.answer.frame()
	}
	if chat {
		open()
		b = append(b, `{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]`...)
		shut()
		end()
	}
	p.cutText(a, func(from, to int) {
		open()
		if chat {
			b = append(b, `{"index":0,"delta":{"content":"`...)
			b = text(b, from, to)
			b = append(b, `"},"logprobs":null,"finish_reason":null}]`...)
		} else {
			b = append(b, `{"index":0,"text":"`...)
			b = text(b, from, to)
			b = append(b, `","logprobs":null,"finish_reason":null}]`...)
		}
		shut()
		end()
	})
	open()
	if chat {
		b = append(b, `{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]`...)
	} else {
		b = append(b, `{"index":0,"text":"","logprobs":null,"finish_reason":"stop"}]`...)
	}
	shut()
	if a.includeUsage {
		open()
		b = append(b, `],"usage":`...)
		b = appendChatUsage(b, a.tokens, p.outputTokens(a))
		b = append(b, "}\n\n"...)
	}
	b = append(b, "data: [DONE]\n\n"...)
	end()
}

// streamMessage streams an Anthropic message.
func (p *Provider) streamMessage(a *ask) {
	b := a.answer.buf
	end := func() {
		a.answer.buf = b
		a.answer.frame()
	}
	b = append(b, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_"...)
	b = appendID(b, a.id)
	b = append(b, `","type":"message","role":"assistant","model":"`...)
	b = append(b, a.model...)
	b = append(b, `","content":[],"stop_reason":null,"stop_sequence":null,"usage":`...)
	b = appendMessagesUsage(b, a.tokens, 1)
	b = append(b, "}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"...)
	end()
	p.cutText(a, func(from, to int) {
		b = append(b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\""...)
		b = text(b, from, to)
		b = append(b, "\"}}\n\n"...)
		end()
	})
	b = append(b, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":"...)
	b = appendInt(b, p.outputTokens(a))
	b = append(b, "}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
	end()
}

// streamResponse streams an OpenAI response.
func (p *Provider) streamResponse(a *ask) {
	b := a.answer.buf
	sequence := 0
	end := func() {
		a.answer.buf = b
		a.answer.frame()
	}
	open := func(event string) {
		b = append(b, "event: "...)
		b = append(b, event...)
		b = append(b, "\ndata: {\"type\":\""...)
		b = append(b, event...)
		b = append(b, `","sequence_number":`...)
		b = appendInt(b, sequence)
		sequence++
	}
	shut := func() { b = append(b, "}\n\n"...) }
	whole := func(event, status string) {
		open(event)
		b = append(b, `,"response":`...)
		b = p.appendResponse(b, a, status)
		shut()
	}
	item := func(event, status string) {
		open(event)
		b = append(b, `,"output_index":0,"item":`...)
		b = p.appendOutputItem(b, a, status)
		shut()
	}
	place := func() {
		b = append(b, `,"item_id":"msg_`...)
		b = appendID(b, a.id)
		b = append(b, `","output_index":0,"content_index":0`...)
	}
	part := func(event string, size int) {
		open(event)
		place()
		b = append(b, `,"part":`...)
		b = appendOutputPart(b, size)
		shut()
	}

	whole("response.created", "in_progress")
	whole("response.in_progress", "in_progress")
	item("response.output_item.added", "in_progress")
	part("response.content_part.added", 0)
	end()
	p.cutText(a, func(from, to int) {
		open("response.output_text.delta")
		place()
		b = append(b, `,"logprobs":[],"delta":"`...)
		b = text(b, from, to)
		b = append(b, '"')
		shut()
		end()
	})
	size := p.size(a)
	open("response.output_text.done")
	place()
	b = append(b, `,"logprobs":[],"text":"`...)
	b = text(b, 0, size)
	b = append(b, '"')
	shut()
	part("response.content_part.done", size)
	item("response.output_item.done", "completed")
	whole("response.completed", "completed")
	end()
}
