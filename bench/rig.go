package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/load"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/report"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

const chatPath = "/v1/chat/completions"

// common are the flags of every verb that starts servers or writes results.
type common struct {
	verb    string
	flags   *flag.FlagSet
	binary  *string
	out     *string
	publish *bool
}

// addCommon adds them to a flag set.
func addCommon(f *flag.FlagSet) common {
	return common{
		verb: f.Name(), flags: f,
		binary:  f.String("binary", "", "measure this binary instead of building ./cmd/caddy"),
		out:     f.String("out", "", "folder for the results as JSON, Markdown and SVG"),
		publish: f.Bool("publish", false, "put the results into bench/RESULTS.md and bench/results"),
	}
}

// command is the command line with all flags that were given and matter to
// the figures.
func (c common) command() string {
	s := "go run ./bench " + c.verb
	c.flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "binary", "out", "publish", "pprof", "record":
		default:
			s += " -" + f.Name
			if b, ok := f.Value.(interface{ IsBoolFlag() bool }); !ok || !b.IsBoolFlag() {
				s += " " + f.Value.String()
			} else if f.Value.String() != "true" {
				s += "=" + f.Value.String()
			}
		}
	})
	return s
}

// rig is what measurements take place in: a folder, a binary, a provider and
// the servers in front of it.
type rig struct {
	root, dir, binary string
	up                *upstream
	servers           []*server
}

// server is a running proxy with an address for each leg.
type server struct {
	*proc.Process
	addr upstreamAddrs
}

// newRig prepares a rig. Whoever gets one closes it.
func newRig(ctx context.Context, c common, cfg provider.Config, legs ...proc.Leg) (*rig, error) {
	root, err := proc.Root()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	r := &rig{root: root, dir: dir, binary: *c.binary}
	if r.binary == "" {
		fmt.Fprintln(os.Stderr, "building ./cmd/caddy ...")
		if r.binary, err = proc.Build(ctx, dir); err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	if r.up, err = localUpstream(cfg, dir, legs...); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// close ends everything.
func (r *rig) close() error {
	var errs []error
	for _, s := range r.servers {
		errs = append(errs, s.Stop())
	}
	if r.up != nil {
		r.up.close()
	}
	return errors.Join(append(errs, os.RemoveAll(r.dir))...)
}

// serverOptions are what the logging measurements vary.
type serverOptions struct {
	log   []string
	debug bool
}

// start starts a server in mode m that listens for each leg of the upstream.
// Its name must be new.
func (r *rig) start(ctx context.Context, name string, m mode, opts serverOptions) (*server, error) {
	legs := []proc.Leg{proc.Plain, proc.TLS, proc.HTTP2}
	addrs, err := proc.FreeAddrs(1 + len(legs))
	if err != nil {
		return nil, err
	}
	s := &server{addr: make(upstreamAddrs)}
	cfg := proc.Config{Admin: addrs[len(legs)], Debug: opts.debug}
	for i, leg := range legs {
		up, ok := r.up.addr[leg]
		if !ok {
			continue
		}
		s.addr[leg] = addrs[i]
		cfg.Sites = append(cfg.Sites, proc.Site{Addr: addrs[i], Leg: leg, Upstream: up, CA: r.up.ca, Gateway: m.gateway, Answer: m.answer, Log: opts.log})
	}
	if s.Process, err = proc.Start(ctx, r.binary, r.dir, name, cfg); err != nil {
		return nil, err
	}
	r.servers = append(r.servers, s)
	return s, nil
}

// stop ends one server.
func (r *rig) stop(s *server) error {
	for i := range r.servers {
		if r.servers[i] == s {
			r.servers = append(r.servers[:i], r.servers[i+1:]...)
			break
		}
	}
	return s.Stop()
}

// requests builds the requests of the connections of one cell. Bodies that
// change are built once and used by cell after cell; their texts still never
// come twice.
type requests struct {
	header  []load.Header
	repeats map[testbody.Profile][]byte
	fresh   map[testbody.Profile][][][]byte // by connection: variants
}

func newRequests(header ...load.Header) *requests {
	return &requests{header: header, repeats: make(map[testbody.Profile][]byte), fresh: make(map[testbody.Profile][][][]byte)}
}

// freshVariants is how many bodies show where a body of changing texts may
// change: with one, a letter would be missed when two agree by chance.
const freshVariants = 6

// of returns what builds the request of each of so many connections.
func (q *requests) of(host string, p testbody.Profile, bodies string, conns int) func(conn int) *load.Request {
	if bodies == repeat {
		body, ok := q.repeats[p]
		if !ok {
			body = testbody.Body(p)
			q.repeats[p] = body
		}
		req := load.NewRequest(host, chatPath, q.header, body)
		return func(int) *load.Request { return req }
	}
	var shared [][]byte // where bodies differ is the same for all connections
	for conn := len(q.fresh[p]); conn < conns; conn++ {
		own := [][]byte{testbody.Fresh(p, uint64(1000+conn))}
		if shared == nil {
			for i := range uint64(freshVariants) {
				shared = append(shared, testbody.Fresh(p, i))
			}
		}
		q.fresh[p] = append(q.fresh[p], append(own, shared...))
	}
	return func(conn int) *load.Request {
		variants := q.fresh[p][conn]
		return load.Changing(host, chatPath, q.header, variants...)
	}
}

// host describes this machine for a report.
func (r *rig) host(ctx context.Context) report.Host { return report.ThisHost(ctx, r.root) }
