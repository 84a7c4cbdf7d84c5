package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// object is a JSON object that is sent.
type object map[string]any

var modelChecks = []check{{
	"models", `GET /v1/models: {"object":"list","data":[{"id","object":"model"}, ...]}`,
	func(ctx context.Context, o *Options) (string, error) {
		a, err := o.send(ctx, http.MethodGet, "/v1/models", o.Key, nil)
		if err != nil {
			return "", err
		}
		if a.status != http.StatusOK {
			return "", fmt.Errorf("status %d: %.200s", a.status, a.body)
		}
		var list struct {
			Object string
			Data   []struct{ ID, Object string }
		}
		if err := a.decode(&list); err != nil {
			return "", err
		}
		seen := fmt.Sprintf("object %q, %d models", list.Object, len(list.Data))
		if list.Object != "list" || len(list.Data) == 0 {
			return seen, errors.New("no list of models")
		}
		for _, m := range list.Data {
			if m.ID == "" || m.Object != "model" {
				return seen, fmt.Errorf("a model with id %q and object %q", m.ID, m.Object)
			}
		}
		return seen, nil
	},
}}

// usage is a count of tokens, by either provider's names.
type usage struct {
	Prompt     *int `json:"prompt_tokens"`
	Completion *int `json:"completion_tokens"`
	Input      *int `json:"input_tokens"`
	Output     *int `json:"output_tokens"`
	Total      *int `json:"total_tokens"`
}

// addsUp wants all three counts, and that the third is the sum of the others.
func addsUp(in, out, total *int) (string, error) {
	if in == nil || out == nil || total == nil {
		return "", errors.New("usage is incomplete")
	}
	seen := fmt.Sprintf("usage %d + %d = %d", *in, *out, *total)
	if *in+*out != *total || *in <= 0 || *out <= 0 {
		return seen, errors.New("usage does not add up")
	}
	return seen, nil
}

func (o *Options) chat(more object) object {
	body := object{"model": o.Model, "messages": []object{{"role": "user", "content": "Name one river."}}, "max_tokens": 64}
	for k, v := range more {
		body[k] = v
	}
	return body
}

// chunk is a chat completion, whole or in pieces.
type chunk struct {
	ID      string
	Object  string
	Created int64
	Model   string
	Choices []struct {
		Message      *struct{ Role, Content string }
		Delta        *struct{ Content string }
		FinishReason *string `json:"finish_reason"`
	}
	Usage *usage
}

var finishReasons = []string{"stop", "length", "tool_calls", "content_filter"}

var chatChecks = []check{
	{
		"chat", `POST /v1/chat/completions: object "chat.completion", id, created, model, choices[0].message of the assistant, finish_reason`,
		func(ctx context.Context, o *Options) (string, error) {
			a, err := o.post(ctx, "/v1/chat/completions", o.chat(nil))
			if err != nil {
				return "", err
			}
			var c chunk
			if err := a.decode(&c); err != nil {
				return "", err
			}
			seen := fmt.Sprintf("object %q, id %q, %d choices", c.Object, c.ID, len(c.Choices))
			if c.Object != "chat.completion" || c.ID == "" || c.Created == 0 || c.Model == "" || len(c.Choices) != 1 {
				return seen, errors.New("a field is missing or wrong")
			}
			ch := c.Choices[0]
			if ch.Message == nil || ch.Message.Role != "assistant" || ch.FinishReason == nil || !slices.Contains(finishReasons, *ch.FinishReason) {
				return seen, errors.New("the choice has no message of the assistant or no finish_reason")
			}
			return seen + ", finish_reason " + *ch.FinishReason, nil
		},
	},
	{
		"chat usage", "prompt_tokens + completion_tokens = total_tokens, none of them 0",
		func(ctx context.Context, o *Options) (string, error) {
			a, err := o.post(ctx, "/v1/chat/completions", o.chat(nil))
			if err != nil {
				return "", err
			}
			var c chunk
			if err := a.decode(&c); err != nil {
				return "", err
			}
			if c.Usage == nil {
				return "", errors.New("no usage")
			}
			return addsUp(c.Usage.Prompt, c.Usage.Completion, c.Usage.Total)
		},
	},
	{
		"chat stream", `text/event-stream; every event a chunk with object "chat.completion.chunk" and one id; the last choice carries finish_reason; then data: [DONE]`,
		func(ctx context.Context, o *Options) (string, error) {
			a, err := o.post(ctx, "/v1/chat/completions", o.chat(object{"stream": true}))
			if err != nil {
				return "", err
			}
			chunks, err := a.chunks()
			seen := fmt.Sprintf("%d chunks", len(chunks))
			if err != nil {
				return seen, err
			}
			return seen + ", [DONE]", checkChunks(chunks)
		},
	},
	{
		"chat stream usage", "with stream_options.include_usage a chunk without choices carries a usage that adds up",
		func(ctx context.Context, o *Options) (string, error) {
			a, err := o.post(ctx, "/v1/chat/completions", o.chat(object{"stream": true, "stream_options": object{"include_usage": true}}))
			if err != nil {
				return "", err
			}
			chunks, err := a.chunks()
			if err != nil {
				return "", err
			}
			last := chunks[len(chunks)-1]
			if last.Usage == nil || len(last.Choices) != 0 {
				return "", errors.New("the last chunk carries no usage, or choices")
			}
			return addsUp(last.Usage.Prompt, last.Usage.Completion, last.Usage.Total)
		},
	},
}

// chunks reads a stream that ends with [DONE].
func (a *answer) chunks() ([]chunk, error) {
	events, err := a.events()
	if err != nil {
		return nil, err
	}
	var out []chunk
	for i, e := range events {
		if e.data == "[DONE]" {
			if i != len(events)-1 {
				return out, errors.New("events after [DONE]")
			}
			if len(out) == 0 {
				return nil, errors.New("no chunks")
			}
			return out, nil
		}
		var c chunk
		if err := json.Unmarshal([]byte(e.data), &c); err != nil {
			return out, fmt.Errorf("%w in %.200s", err, e.data)
		}
		out = append(out, c)
	}
	return out, errors.New("no [DONE]")
}

// checkChunks checks what all chunks of a stream have in common, and its end.
func checkChunks(chunks []chunk) error {
	finished := false
	for i, c := range chunks {
		if c.Object != "chat.completion.chunk" || c.ID == "" || c.ID != chunks[0].ID {
			return fmt.Errorf("chunk %d has object %q and id %q", i, c.Object, c.ID)
		}
		for _, ch := range c.Choices {
			if finished {
				return fmt.Errorf("chunk %d has a choice after the finish_reason", i)
			}
			if ch.FinishReason != nil {
				finished = slices.Contains(finishReasons, *ch.FinishReason)
			}
		}
	}
	if !finished {
		return errors.New("no finish_reason")
	}
	return nil
}

func (o *Options) response(more object) object {
	body := object{"model": o.Model, "input": "Name one river.", "max_output_tokens": 64}
	for k, v := range more {
		body[k] = v
	}
	return body
}

// response is an OpenAI response.
type response struct {
	ID, Object, Status string
	Output             []struct {
		Type    string
		Content []struct{ Type string }
	}
	Usage *usage
}

func (r *response) check() (string, error) {
	seen := fmt.Sprintf("object %q, status %q, %d items", r.Object, r.Status, len(r.Output))
	if r.Object != "response" || r.ID == "" || r.Status != "completed" && r.Status != "incomplete" || len(r.Output) == 0 {
		return seen, errors.New("a field is missing or wrong")
	}
	if r.Usage == nil {
		return seen, errors.New("no usage")
	}
	sum, err := addsUp(r.Usage.Input, r.Usage.Output, r.Usage.Total)
	return seen + ", " + sum, err
}

var responsesChecks = []check{
	{
		"responses", `POST /v1/responses: object "response", status, output, usage that adds up`,
		func(ctx context.Context, o *Options) (string, error) {
			a, err := o.post(ctx, "/v1/responses", o.response(nil))
			if err != nil {
				return "", err
			}
			var r response
			if err := a.decode(&r); err != nil {
				return "", err
			}
			return r.check()
		},
	},
	{
		"responses stream", "events named as their type, sequence_number counts up from 0, response.created first, response.completed with the whole response last",
		func(ctx context.Context, o *Options) (string, error) {
			a, err := o.post(ctx, "/v1/responses", o.response(object{"stream": true}))
			if err != nil {
				return "", err
			}
			events, err := a.events()
			if err != nil {
				return "", err
			}
			seen := fmt.Sprintf("%d events", len(events))
			for i, e := range events {
				var v struct {
					Type     string
					Sequence *int `json:"sequence_number"`
					Response *response
				}
				if err := json.Unmarshal([]byte(e.data), &v); err != nil {
					return seen, fmt.Errorf("%w in %.200s", err, e.data)
				}
				if v.Type == "" || e.name != "" && e.name != v.Type || v.Sequence == nil || *v.Sequence != i {
					return seen, fmt.Errorf("event %d is named %q, of type %q, with a wrong number", i, e.name, v.Type)
				}
				if i == 0 && v.Type != "response.created" {
					return seen, fmt.Errorf("the first event is %s", v.Type)
				}
				if i < len(events)-1 {
					continue
				}
				if v.Type != "response.completed" && v.Type != "response.incomplete" || v.Response == nil {
					return seen, fmt.Errorf("the last event is %s", v.Type)
				}
				sum, err := v.Response.check()
				return seen + ", " + sum, err
			}
			return seen, nil
		},
	},
}

// refusalChecks are about what a gateway says no to.
var refusalChecks = []check{
	{
		"unknown key", "401 with an OpenAI error object: error.message, error.type, error.code",
		func(ctx context.Context, o *Options) (string, error) {
			if o.Key == "" {
				return "no -key: the gateway asks for none", errSkip
			}
			body, err := json.Marshal(o.chat(nil))
			if err != nil {
				return "", err
			}
			a, err := o.send(ctx, http.MethodPost, "/v1/chat/completions", "sk-unknown-0000", body)
			return a.refused(err, http.StatusUnauthorized, false)
		},
	},
	{
		"unknown key, Anthropic", `401 with an Anthropic error object: "type":"error", error.type "authentication_error", error.message`,
		func(ctx context.Context, o *Options) (string, error) {
			if o.Key == "" {
				return "no -key: the gateway asks for none", errSkip
			}
			body, err := json.Marshal(o.message(nil))
			if err != nil {
				return "", err
			}
			a, err := o.send(ctx, http.MethodPost, "/v1/messages", "sk-unknown-0000", body)
			return a.refused(err, http.StatusUnauthorized, true)
		},
	},
	{
		"unknown model", "404 with an OpenAI error object",
		func(ctx context.Context, o *Options) (string, error) {
			body, err := json.Marshal(o.chat(object{"model": "no-such-model-0000"}))
			if err != nil {
				return "", err
			}
			a, err := o.send(ctx, http.MethodPost, "/v1/chat/completions", o.Key, body)
			return a.refused(err, http.StatusNotFound, false)
		},
	},
	{
		"unknown model, Anthropic", `404 with an Anthropic error object, error.type "not_found_error"`,
		func(ctx context.Context, o *Options) (string, error) {
			body, err := json.Marshal(o.message(object{"model": "no-such-model-0000"}))
			if err != nil {
				return "", err
			}
			a, err := o.send(ctx, http.MethodPost, "/v1/messages", o.Key, body)
			return a.refused(err, http.StatusNotFound, true)
		},
	},
	{
		"invalid body", "400 with an OpenAI error object",
		func(ctx context.Context, o *Options) (string, error) {
			body := []byte(fmt.Sprintf(`{"model":%q,"messages":[`, o.Model))
			a, err := o.send(ctx, http.MethodPost, "/v1/chat/completions", o.Key, body)
			return a.refused(err, http.StatusBadRequest, false)
		},
	},
}

// anthropicTypes are the types of Anthropic's error objects by status.
var anthropicTypes = map[int]string{
	http.StatusBadRequest: "invalid_request_error", http.StatusUnauthorized: "authentication_error", http.StatusNotFound: "not_found_error",
}

// refused wants an answer to be an error object with that status.
func (a *answer) refused(err error, status int, anthropic bool) (string, error) {
	if err != nil {
		return "", err
	}
	seen := fmt.Sprintf("status %d, %s", a.status, strings.TrimSpace(string(a.body[:min(len(a.body), 160)])))
	if a.status != status {
		return seen, fmt.Errorf("status %d is expected", status)
	}
	var v struct {
		Type  string
		Error *struct {
			Type, Message string
			Code          any
		}
	}
	if err := a.decode(&v); err != nil {
		return seen, err
	}
	switch {
	case v.Error == nil || v.Error.Message == "" || v.Error.Type == "":
		return seen, errors.New("no error object with a message and a type")
	case anthropic && (v.Type != "error" || v.Error.Type != anthropicTypes[status]):
		return seen, fmt.Errorf("the type for this in the Anthropic API is %s", anthropicTypes[status])
	}
	return seen, nil
}
