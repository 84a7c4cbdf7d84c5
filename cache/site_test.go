package cache

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/adapter"
)

// clock is a clock that stands still unless it is moved.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.nanos.Store(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.nanos.Load()) }
func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

// reports collects what a cache logs.
type reports struct {
	mu    sync.Mutex
	lines []string
}

func (r *reports) log(message string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, message+": "+err.Error())
}

func (r *reports) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.lines)
}

// site serves requests through a cache the way the gateway's handler does, in
// front of a provider that the test scripts.
type site struct {
	cache    *Cache
	policy   Policy
	provider func(w http.ResponseWriter, r *http.Request)
	calls    atomic.Int64 // of the provider
}

// testSecret is the secret of caches that share a store.
var testSecret = []byte("a secret for tests only")

// newSite opens a cache in memory and serves it under p.
func newSite(t testing.TB, p Policy, o Options) *site {
	t.Helper()
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return siteOf(t, p, c)
}

// siteOf serves c under p.
func siteOf(t testing.TB, p Policy, c *Cache) *site {
	t.Helper()
	p, err := p.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return &site{cache: c, policy: p}
}

// reply is what a client got.
type reply struct {
	*httptest.ResponseRecorder
	pieces  []string // the body as it was flushed
	broken  bool     // the connection was broken off
	outcome Outcome
	reason  Reason // why the answer was not stored or the cache passed by
	score   float64
}

func (r *reply) result() string { return r.Header().Get(HeaderResult) }

// client is a ResponseWriter that notes what is flushed together.
type client struct {
	*httptest.ResponseRecorder
	written int
	pieces  []string
	fail    atomic.Bool   // writing fails, as it does when the client has gone
	stall   chan struct{} // if not nil, writing blocks until it is closed
	panics  bool          // writing panics
}

func (c *client) Write(p []byte) (int, error) {
	if c.stall != nil {
		<-c.stall
	}
	if c.panics {
		panic("a fault")
	}
	if c.fail.Load() {
		return 0, errors.New("write: broken pipe")
	}
	return c.ResponseRecorder.Write(p)
}

func (c *client) FlushError() error {
	if c.fail.Load() {
		return errors.New("flush: broken pipe")
	}
	body := c.Body.String()
	if len(body) > c.written {
		c.pieces = append(c.pieces, body[c.written:])
		c.written = len(body)
	}
	return nil
}

// ask sends a request through the site.
func (s *site) ask(path, body string, headers ...string) *reply {
	return s.askAs(context.Background(), &client{ResponseRecorder: httptest.NewRecorder()}, path, body, headers...)
}

func (s *site) askAs(ctx context.Context, w *client, path, body string, headers ...string) (out *reply) {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	out = &reply{ResponseRecorder: w.ResponseRecorder}
	defer func() {
		out.pieces = w.pieces
		if p := recover(); p == http.ErrAbortHandler {
			out.broken = true
		} else if p != nil {
			panic(p)
		}
	}()
	s.serve(out, w, r, body)
	return out
}

// serve is the handler in small.
func (s *site) serve(out *reply, w *client, r *http.Request, body string) {
	var view adapter.Request
	if err := view.Parse(adapter.Detect(r.URL.Path), []byte(body)); err != nil {
		panic(err)
	}
	d, _ := ParseDirectives(r.Header, true)
	l := s.cache.Lookup(r.Context(), &Request{
		View: &view, Header: r.Header, Path: r.URL.Path, Query: r.URL.RawQuery,
		Tenant: s.cache.CredentialTenant(r.Header, r.URL.RawQuery),
		Site:   "test", Model: view.Doc.Text(view.Model),
	}, &s.policy, d)
	defer l.Close()
	out.outcome, out.reason, out.score = l.Outcome, l.Reason, l.Score
	switch {
	case l.Answered():
		l.SetAnswer(w.Header())
		w.WriteHeader(http.StatusOK)
		if l.WriteAnswer(r.Context(), w, w.FlushError) != nil {
			panic(http.ErrAbortHandler)
		}
		return
	case l.Outcome == Unsatisfied:
		l.SetHeaders(w.Header())
		w.WriteHeader(http.StatusGatewayTimeout)
		return
	case l.Outcome == Gone:
		return
	}
	s.calls.Add(1)
	t := &tee{client: w, lookup: l, format: view.Format}
	if l.Recorder != nil {
		r = r.WithContext(l.Recorder.Context())
	}
	s.provider(t, r)
	if t.status == 0 {
		t.WriteHeader(http.StatusOK)
	}
	if l.Recorder != nil {
		out.reason = l.Recorder.Commit(t.meter.End())
		if l.Recorder.Drain() != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// tee is between the provider and the client.
type tee struct {
	*client
	lookup *Lookup
	format adapter.Format
	meter  adapter.Meter
	status int
}

func (t *tee) WriteHeader(status int) {
	if t.status != 0 || status < 200 {
		return
	}
	t.status = status
	t.meter.Start(t.format, adapter.IsEventStream(t.Header().Get("Content-Type")))
	if rec := t.lookup.Recorder; rec != nil {
		rec.Header(status, t.Header())
		rec.Feed(t.client, t.client.FlushError)
	}
	t.lookup.SetHeaders(t.Header())
	t.client.WriteHeader(status)
}

func (t *tee) Write(p []byte) (int, error) {
	if t.status == 0 {
		t.WriteHeader(http.StatusOK)
	}
	t.meter.Write(p)
	rec := t.lookup.Recorder
	if rec != nil {
		if t.meter.Over() {
			rec.Whole()
		}
		if fed, err := rec.Write(p); err != nil {
			return 0, err
		} else if fed {
			return len(p), nil
		}
	}
	n, err := t.client.Write(p)
	if err != nil && rec != nil && rec.Followed() {
		return len(p), nil
	}
	return n, err
}

func (t *tee) FlushError() error {
	if rec := t.lookup.Recorder; rec != nil {
		if fed, err := rec.Flush(); fed {
			return err
		}
	}
	err := t.client.FlushError()
	if err != nil && t.lookup.Recorder != nil && t.lookup.Recorder.Followed() {
		return nil
	}
	return err
}

// Flush makes the tee an http.Flusher, for providers that are handlers.
func (t *tee) Flush() { _ = t.FlushError() }

// jsonAnswer is a provider that answers body.
func jsonAnswer(body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(body))
	}
}

// streamAnswer is a provider that answers events, each with a flush.
func streamAnswer(events ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, e := range events {
			w.Write([]byte(e))
			w.(http.Flusher).Flush()
		}
	}
}

// Bodies of answers, whole and fit to be stored.
const (
	chatAnswer = `{"id":"chatcmpl-1","object":"chat.completion","created":1900000000,"model":"gpt-5-mini","choices":[{"index":0,"message":{"role":"assistant","content":"Six."},"finish_reason":"stop"}],"usage":{"prompt_tokens":31,"completion_tokens":9,"total_tokens":40}}`

	messagesAnswer = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Six."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":31,"output_tokens":9}}`

	responsesAnswer = `{"id":"resp_1","object":"response","status":"completed","model":"gpt-5-mini","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Six.","annotations":[]}]}],"usage":{"input_tokens":31,"output_tokens":9,"total_tokens":40}}`

	embeddingsAnswer = `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,0.2]}],"model":"embed-small","usage":{"prompt_tokens":2,"total_tokens":2}}`
)

// Streams of the same answers.
var (
	chatStream = []string{
		`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1900000000,"model":"gpt-5-mini","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n",
		`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1900000000,"model":"gpt-5-mini","choices":[{"index":0,"delta":{"content":"Six moor"},"finish_reason":null}]}` + "\n\n",
		`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1900000000,"model":"gpt-5-mini","choices":[{"index":0,"delta":{"content":"ings fit."},"finish_reason":null}]}` + "\n\n",
		`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1900000000,"model":"gpt-5-mini","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n",
		"data: [DONE]\n\n",
	}
	messagesStream = []string{
		"event: message_start\ndata: " + `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":31,"output_tokens":1}}}` + "\n\n",
		"event: content_block_start\ndata: " + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n",
		"event: ping\ndata: " + `{"type":"ping"}` + "\n\n",
		"event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Six."}}` + "\n\n",
		"event: content_block_stop\ndata: " + `{"type":"content_block_stop","index":0}` + "\n\n",
		"event: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}` + "\n\n",
		"event: message_stop\ndata: " + `{"type":"message_stop"}` + "\n\n",
	}
	responsesStream = []string{
		"event: response.created\ndata: " + `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-5-mini","output":[]}}` + "\n\n",
		"event: response.output_text.delta\ndata: " + `{"type":"response.output_text.delta","sequence_number":1,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Six."}` + "\n\n",
		"event: response.completed\ndata: " + `{"type":"response.completed","sequence_number":2,"response":` + responsesAnswer + `}` + "\n\n",
	}
)

// dialect is one wire format as tests use it.
type dialect struct {
	name, path, ask, askStream string
	answer                     string
	stream                     []string
}

// dialects are the formats that have a stream.
var dialects = []dialect{
	{
		"chat", "/v1/chat/completions",
		`{"model":"gpt-5-mini","messages":[{"role":"user","content":"How many moorings fit between pier 3 and pier 4?"}]}`,
		`{"model":"gpt-5-mini","messages":[{"role":"user","content":"How many moorings fit between pier 3 and pier 4?"}],"stream":true}`,
		chatAnswer, chatStream,
	},
	{
		"messages", "/v1/messages",
		`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"How many moorings fit between pier 3 and pier 4?"}]}`,
		`{"model":"claude-sonnet-4-5","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"How many moorings fit between pier 3 and pier 4?"}]}`,
		messagesAnswer, messagesStream,
	},
	{
		"responses", "/v1/responses",
		`{"model":"gpt-5-mini","store":false,"input":"How many moorings fit between pier 3 and pier 4?"}`,
		`{"model":"gpt-5-mini","store":false,"stream":true,"input":"How many moorings fit between pier 3 and pier 4?"}`,
		responsesAnswer, responsesStream,
	},
}
