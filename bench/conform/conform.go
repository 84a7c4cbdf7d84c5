// Package conform checks whether a gateway speaks the wire formats of OpenAI
// and Anthropic as their clients expect it, and says what it saw.
package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Options say what to check.
type Options struct {
	URL            string // of the gateway, without /v1
	Key            string // credential; empty: none is sent
	Model          string // that OpenAI's endpoints know
	AnthropicModel string // that Anthropic's endpoint knows
	Client         *http.Client
	// Limit bounds an answer, in bytes.
	Limit int64
}

// Verdict is how a check ended.
type Verdict string

// Verdicts.
const (
	Pass Verdict = "pass"
	Fail Verdict = "FAIL"
	Skip Verdict = "skipped"
)

// Check is one check with what was expected and seen.
type Check struct {
	Name     string  `json:"name"`
	Spec     string  `json:"spec"`
	Observed string  `json:"observed"`
	Verdict  Verdict `json:"verdict"`
}

// check is a check to be run. It returns what it saw, and an error if that is
// not what was expected; errSkip if there is nothing to be seen.
type check struct {
	name, spec string
	run        func(ctx context.Context, o *Options) (string, error)
}

// errSkip says that a check does not apply to this gateway.
var errSkip = errors.New("skipped")

// All is every check, in order.
func all() []check {
	var out []check
	out = append(out, modelChecks...)
	out = append(out, chatChecks...)
	out = append(out, messagesChecks...)
	out = append(out, responsesChecks...)
	out = append(out, refusalChecks...)
	return append(out, savingChecks...)
}

// Run runs every check.
func Run(ctx context.Context, o Options) []Check {
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	if o.Limit == 0 {
		o.Limit = 16 << 20
	}
	var out []Check
	for _, c := range all() {
		seen, err := c.run(ctx, &o)
		r := Check{Name: c.name, Spec: c.spec, Observed: seen, Verdict: Pass}
		switch {
		case errors.Is(err, errSkip):
			r.Verdict = Skip
		case err != nil:
			r.Verdict = Fail
			r.Observed = strings.TrimPrefix(seen+"; ", "; ") + err.Error()
		}
		out = append(out, r)
	}
	return out
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request. auth is the credential, empty for none.
func (o *Options) send(ctx context.Context, method, path, auth string, body []byte, header ...string) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(o.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if auth != "" {
		if strings.HasSuffix(path, "/messages") {
			req.Header.Set("X-Api-Key", auth)
		} else {
			req.Header.Set("Authorization", "Bearer "+auth)
		}
	}
	if strings.HasSuffix(path, "/messages") {
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := o.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, o.Limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > o.Limit {
		return nil, fmt.Errorf("the answer is larger than %d bytes", o.Limit)
	}
	return &answer{resp.StatusCode, resp.Header, text}, nil
}

// post sends a body with the configured credential and wants status 200.
func (o *Options) post(ctx context.Context, path string, body any, header ...string) (*answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	a, err := o.send(ctx, http.MethodPost, path, o.Key, text, header...)
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return a, fmt.Errorf("status %d: %.200s", a.status, a.body)
	}
	return a, nil
}

// decode reads JSON and wants the content type to say so.
func (a *answer) decode(v any) error {
	if ct := a.header.Get("Content-Type"); !strings.HasPrefix(ct, "application/json") {
		return fmt.Errorf("content type %q", ct)
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		return fmt.Errorf("%w in %.200s", err, a.body)
	}
	return nil
}

// event is one event of a stream.
type event struct{ name, data string }

// events cuts a stream into its events and wants it to be framed as the
// standard says: fields, then an empty line, also after the last one.
func (a *answer) events() ([]event, error) {
	if ct := a.header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
		return nil, fmt.Errorf("content type %q", ct)
	}
	text := strings.ReplaceAll(string(a.body), "\r\n", "\n")
	if !strings.HasSuffix(text, "\n\n") {
		return nil, fmt.Errorf("the stream ends in the middle of an event: %q", text[max(len(text)-60, 0):])
	}
	var out []event
	for block := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		var e event
		var data []string
		for line := range strings.SplitSeq(block, "\n") {
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "event":
				e.name = value
			case "data":
				data = append(data, value)
			case "", "id", "retry":
			default:
				return nil, fmt.Errorf("line %q in an event", line)
			}
		}
		if data == nil && e.name == "" {
			continue // a comment
		}
		e.data = strings.Join(data, "\n")
		out = append(out, e)
	}
	if len(out) == 0 {
		return nil, errors.New("no events")
	}
	return out, nil
}
