// Package provider is a stand-in for an LLM provider. It answers OpenAI chat
// completions, text completions, responses and embeddings and Anthropic
// messages in their true shapes, as JSON or as an event stream, and it costs so
// little that what stands in front of it can be measured.
//
// A request may ask for another behaviour than the configured one by headers,
// which pass any proxy: Bench-Delay-Ms, Bench-Gap-Ms, Bench-Frames,
// Bench-Answer-Bytes, Bench-Status (answer with that error), Bench-Cut (drop the connection
// after that many frames, or bytes of a JSON body), Bench-Id (a number; equal
// ids get equal answers) and Bench-Check (1: check the body as a provider would).
package provider

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config says how a Provider behaves. The zero value answers everything at
// once and trusts what it is sent.
type Config struct {
	FirstByte   time.Duration // wait between a complete request and the first byte of the answer
	Gap         time.Duration // wait between two deltas of a stream
	Frames      int           // deltas in a stream; 0: 8
	AnswerBytes int           // length of the answer's text; 0: 160
	Dimensions  int           // of an embedding that asks for none; 0: 8

	// Check parses every body and refuses what a provider refuses. Without it
	// only the model and the stream flag are looked for, at the body's ends,
	// so that a large body costs no more than its transfer.
	Check bool
	// CountTokens counts the tokens of a request body, for the usage. Default:
	// one for every 4 bytes.
	CountTokens func(body []byte) int

	Keys       []string // accepted credentials; none: any
	Models     []string // known models; none: any
	FailEvery  int      // every n-th model request gets FailStatus; 0: none
	FailStatus int      // 0: 500

	// Hold is called when a model request has been read completely, before it
	// is answered.
	Hold func()
	// Sent is called before a frame of a stream is written, with the Bench-Id
	// of the request.
	Sent func(id uint64, frame int)
}

// Stats are running totals since the start.
type Stats struct {
	Requests  int64 // model requests read completely
	BodyBytes int64 // bytes of their bodies
	Refused   int64 // answered with an error
}

// Provider is a stand-in provider. It serves through Serve (plain HTTP/1.1 on
// raw connections) or as an http.Handler.
type Provider struct {
	cfg     Config
	started int64 // Unix seconds, the time of creation of every answer

	ids, requests, bodyBytes, refused atomic.Int64

	done      chan struct{} // closed by Close
	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	conns     map[net.Conn]struct{}
	wg        sync.WaitGroup
}

// New returns a Provider.
func New(cfg Config) *Provider {
	if cfg.Frames <= 0 {
		cfg.Frames = 8
	}
	if cfg.AnswerBytes <= 0 {
		cfg.AnswerBytes = 160
	}
	if cfg.Dimensions <= 0 {
		cfg.Dimensions = 8
	}
	if cfg.FailStatus == 0 {
		cfg.FailStatus = 500
	}
	return &Provider{cfg: cfg, started: time.Now().Unix(), conns: make(map[net.Conn]struct{}), done: make(chan struct{})}
}

// Stats returns the totals so far.
func (p *Provider) Stats() Stats {
	return Stats{Requests: p.requests.Load(), BodyBytes: p.bodyBytes.Load(), Refused: p.refused.Load()}
}

// decide turns a request that was read completely into its answer.
func (p *Provider) decide(a *ask) {
	a.answer.reset()
	if a.endpoint == endpointNone {
		p.refuse(a, &problem{status: 404, kind: kindNotFound, code: "unknown_url", message: "Unknown request URL: " + a.path})
		return
	}
	if problem := p.admit(a); problem != nil {
		p.refuse(a, problem)
		return
	}
	if a.endpoint == endpointModels {
		p.appendModels(a)
		return
	}
	n := p.requests.Add(1)
	p.bodyBytes.Add(a.bytes)
	if p.cfg.Hold != nil {
		p.cfg.Hold()
	}
	problem := a.understand(p.cfg.Check || a.check)
	if problem == nil {
		problem = p.knows(a)
	}
	if status := a.status; problem == nil && status >= 400 {
		problem = injected(status)
	}
	if problem == nil && p.cfg.FailEvery > 0 && n%int64(p.cfg.FailEvery) == 0 {
		problem = injected(p.cfg.FailStatus)
	}
	if problem != nil {
		p.refuse(a, problem)
		return
	}
	a.tokens = int((a.bytes + 3) / 4)
	if p.cfg.CountTokens != nil {
		a.tokens = p.cfg.CountTokens(a.body)
	}
	if !a.hasID {
		a.id = uint64(p.ids.Add(1))
	}
	p.render(a)
}

// admit checks method and credential.
func (p *Provider) admit(a *ask) *problem {
	if want := a.endpoint.method(); a.method != want {
		return &problem{status: 405, kind: kindInvalid, code: "method_not_allowed", message: "Method not allowed, use " + want}
	}
	if len(p.cfg.Keys) > 0 && !slices.Contains(p.cfg.Keys, a.key) {
		return &problem{status: 401, kind: kindAuthentication, code: "invalid_api_key", message: "Incorrect API key provided."}
	}
	return nil
}

// knows checks the model.
func (p *Provider) knows(a *ask) *problem {
	if len(p.cfg.Models) > 0 && !slices.Contains(p.cfg.Models, string(a.model)) {
		return &problem{status: 404, kind: kindNotFound, code: "model_not_found", message: "The model does not exist or you do not have access to it."}
	}
	return nil
}

// delay is how long the answer to a waits for its first byte, gap how long
// between two deltas.
func (p *Provider) delay(a *ask) time.Duration { return either(a.delay, p.cfg.FirstByte) }
func (p *Provider) gap(a *ask) time.Duration   { return either(a.gap, p.cfg.Gap) }

// either is asked, or if that is negative, configured.
func either(asked, configured time.Duration) time.Duration {
	if asked >= 0 {
		return asked
	}
	return configured
}
