package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

func (o *Options) message(more object) object {
	body := object{"model": o.AnthropicModel, "max_tokens": 64, "messages": []object{{"role": "user", "content": "Name one river."}}}
	for k, v := range more {
		body[k] = v
	}
	return body
}

var stopReasons = []string{"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"}

var messagesChecks = []check{
	{
		"messages", `POST /v1/messages: type "message", role assistant, typed content, stop_reason, usage with input_tokens and output_tokens`,
		func(ctx context.Context, o *Options) (string, error) {
			a, err := o.post(ctx, "/v1/messages", o.message(nil))
			if err != nil {
				return "", err
			}
			var m struct {
				ID, Type, Role, Model string
				Content               []struct{ Type string }
				StopReason            string `json:"stop_reason"`
				Usage                 *usage
			}
			if err := a.decode(&m); err != nil {
				return "", err
			}
			seen := fmt.Sprintf("type %q, role %q, %d blocks, stop_reason %q", m.Type, m.Role, len(m.Content), m.StopReason)
			if m.ID == "" || m.Type != "message" || m.Role != "assistant" || m.Model == "" || len(m.Content) == 0 || m.Content[0].Type == "" || !slices.Contains(stopReasons, m.StopReason) {
				return seen, errors.New("a field is missing or wrong")
			}
			if m.Usage == nil || m.Usage.Input == nil || m.Usage.Output == nil || *m.Usage.Input <= 0 || *m.Usage.Output <= 0 {
				return seen, errors.New("usage is incomplete")
			}
			return fmt.Sprintf("%s, usage %d and %d", seen, *m.Usage.Input, *m.Usage.Output), nil
		},
	},
	{
		"messages stream", "events named as their type: message_start, then blocks that start, grow and stop, message_delta with stop_reason and usage, message_stop",
		func(ctx context.Context, o *Options) (string, error) {
			a, err := o.post(ctx, "/v1/messages", o.message(object{"stream": true}))
			if err != nil {
				return "", err
			}
			events, err := a.events()
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%d events", len(events)), checkMessageEvents(events)
		},
	},
}

// checkMessageEvents checks the order of a message's events.
func checkMessageEvents(events []event) error {
	var state struct {
		started, stopReason, usage, stopped bool
		open                                map[int]bool
	}
	state.open = make(map[int]bool)
	for i, e := range events {
		var v struct {
			Type    string
			Index   int
			Message *struct{ Usage *usage }
			Delta   struct {
				StopReason string `json:"stop_reason"`
			}
			Usage *usage
		}
		if err := json.Unmarshal([]byte(e.data), &v); err != nil {
			return fmt.Errorf("%w in %.200s", err, e.data)
		}
		if e.name != v.Type {
			return fmt.Errorf("event %d is named %q and of type %q", i, e.name, v.Type)
		}
		if (v.Type == "message_start") != (i == 0) || state.stopped {
			return fmt.Errorf("event %d is %s", i, v.Type)
		}
		switch v.Type {
		case "message_start":
			if v.Message == nil || v.Message.Usage == nil || v.Message.Usage.Input == nil {
				return errors.New("message_start has no usage")
			}
		case "content_block_start":
			state.open[v.Index] = true
		case "content_block_delta":
			if !state.open[v.Index] {
				return fmt.Errorf("event %d: a delta of block %d, which is not open", i, v.Index)
			}
		case "content_block_stop":
			if !state.open[v.Index] {
				return fmt.Errorf("event %d: the end of block %d, which is not open", i, v.Index)
			}
			delete(state.open, v.Index)
		case "message_delta":
			state.stopReason = slices.Contains(stopReasons, v.Delta.StopReason)
			state.usage = v.Usage != nil && v.Usage.Output != nil
		case "message_stop":
			state.stopped = true
		}
	}
	switch {
	case !state.stopped:
		return errors.New("no message_stop")
	case len(state.open) > 0:
		return errors.New("a block is not stopped")
	case !state.stopReason || !state.usage:
		return errors.New("no message_delta with stop_reason and usage")
	}
	return nil
}
