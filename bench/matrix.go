package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/load"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/proc"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/provider"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/bench/result"
	"github.com/caddy-llm-gateway/caddy-llm-gateway/internal/testbody"
)

// matrix is a run of the matrix: every mode, each a warm process of its own,
// measured in every combination, round after round.
type matrix struct {
	modes    []mode
	profiles []testbody.Profile
	bodies   []string
	legs     []proc.Leg
	settings result.Settings
	cell     time.Duration
	pprof    string // folder, "" for none

	rig     *rig
	servers map[string]*server // by mode
	req     *requests
	run     *result.Run
	checked map[result.Key]bool
}

// runMatrix is the verb.
func runMatrix(ctx context.Context, args []string) error {
	f := newFlags("matrix")
	c := addCommon(f)
	modeList := f.String("modes", "*", "modes, comma-separated, with * and ?; the baseline is always measured")
	profileList := f.String("profiles", "small,large,huge", "profiles of the body")
	bodyList := f.String("bodies", "repeat,fresh", "whether the texts of requests repeat")
	legList := f.String("legs", "plain,tls", "how the upstream is reached: plain, tls (HTTP/1.1), h2")
	conns := f.Int("conc", 20, "concurrent connections")
	cell := f.Duration("cell", 6*time.Second, "length of one measurement")
	warmUp := f.Int("warmup", 3, "unmeasured requests of each connection before a measurement")
	rounds := f.Int("rounds", 3, "measurements of each cell")
	answer := f.Int("answer", 160, "length of the answer's text in bytes")
	profileDir := f.String("pprof", "", "folder for a CPU profile of the server in each cell, taken after its last round")
	record := f.String("record", "", "also write the run to this file, as the recording that compare compares with")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	m := &matrix{cell: *cell, pprof: *profileDir, settings: result.Settings{Conns: *conns, CellSecs: cell.Seconds(), Rounds: *rounds, WarmUp: *warmUp, AnswerSize: *answer}}
	var errs [4]error
	m.modes, errs[0] = pickModes(*modeList)
	m.profiles, errs[1] = pickProfiles(*profileList)
	m.bodies, errs[2] = pickBodies(*bodyList)
	m.legs, errs[3] = pickLegs(*legList)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if *conns < 1 || *rounds < 1 || *cell <= 0 || *warmUp < 0 {
		return usagef("conc, rounds and cell must be positive")
	}
	rig, err := newRig(ctx, c, provider.Config{AnswerBytes: *answer}, m.legs...)
	if err != nil {
		return err
	}
	m.rig = rig
	err = m.start(ctx)
	if err == nil {
		err = m.measure(ctx)
	}
	if err := errors.Join(err, rig.close()); err != nil {
		return err
	}
	if *record != "" {
		if err := writeJSON(*record, m.run); err != nil {
			return err
		}
	}
	if err := m.publish(c); err != nil {
		return err
	}
	return m.failures()
}

// failures is an error if requests failed: figures of a cell with errors are
// worth nothing.
func (m *matrix) failures() error {
	var failed error
	for _, c := range m.run.Cells {
		if c.Median.Errors > 0 {
			fmt.Fprintf(os.Stderr, "%s: %.0f errors, the first: %s\n", c.Key, c.Median.Errors, c.Median.Error)
			failed = errVerdict
		}
	}
	return failed
}

// start starts the servers and finds out what the machine can do without them.
func (m *matrix) start(ctx context.Context) error {
	m.run = &result.Run{Host: m.rig.host(ctx), Started: time.Now().UTC().Truncate(time.Second), Settings: m.settings, Limits: make(map[string]float64)}
	m.servers = make(map[string]*server)
	m.checked = make(map[result.Key]bool)
	if m.req == nil {
		m.req = newRequests()
	}
	if m.pprof != "" {
		if err := os.MkdirAll(m.pprof, 0o755); err != nil {
			return err
		}
	}
	for _, mode := range m.modes {
		s, err := m.rig.start(ctx, mode.name, mode, serverOptions{})
		if err != nil {
			return err
		}
		m.servers[mode.name] = s
	}
	if addr := m.rig.up.addr[proc.Plain]; addr != "" {
		for _, p := range m.profiles {
			limit, err := upstreamLimit(ctx, addr, m.settings.Conns, testbody.Body(p))
			if err != nil {
				return fmt.Errorf("upstream limit: %w", err)
			}
			m.run.Limits[p.String()] = limit
		}
	}
	return nil
}

// measure runs all rounds.
func (m *matrix) measure(ctx context.Context) error {
	total := m.settings.Rounds * len(m.legs) * len(m.bodies) * len(m.profiles) * len(m.modes)
	progress := newProgress(total)
	defer progress.end()
	for round := range m.settings.Rounds {
		for _, leg := range m.legs {
			for _, bodies := range m.bodies {
				for _, p := range m.profiles {
					// The modes of a group follow each other directly, in
					// another order each round, so that whatever the host is
					// up to meets all of them.
					for _, i := range rand.Perm(len(m.modes)) {
						k := result.Key{Leg: string(leg), Bodies: bodies, Profile: p.String(), Mode: m.modes[i].name}
						s, err := m.sample(ctx, k, leg, p)
						if err != nil {
							return fmt.Errorf("%s: %w", k, err)
						}
						m.run.Add(k, s)
						if round == m.settings.Rounds-1 {
							if err := m.profile(ctx, k, leg, p); err != nil {
								return fmt.Errorf("%s: %w", k, err)
							}
						}
						progress.step(fmt.Sprintf("%-5s %-6s %-5s %-21s %8.0f rps", k.Leg, k.Bodies, k.Profile, k.Mode, s.RPS))
					}
				}
			}
		}
	}
	m.run.Summarize()
	return nil
}

// sample measures one cell once.
func (m *matrix) sample(ctx context.Context, k result.Key, leg proc.Leg, p testbody.Profile) (result.Sample, error) {
	s := m.servers[k.Mode]
	if err := s.Alive(); err != nil {
		return result.Sample{}, err
	}
	request := m.req.of(s.addr[leg], p, k.Bodies, m.settings.Conns)
	if err := m.check(ctx, k, s.addr[leg], p); err != nil {
		return result.Sample{}, err
	}
	var before proc.Usage
	var seen provider.Stats
	var beforeErr error
	res, err := load.Run(ctx, load.Plan{
		Addr: s.addr[leg], Conns: m.settings.Conns, WarmUp: m.settings.WarmUp, Duration: m.cell, Request: request,
		Started: func() {
			before, beforeErr = s.Usage(ctx)
			seen = m.rig.up.provider.Stats()
		},
	})
	if err != nil {
		return result.Sample{}, err
	}
	after, err := s.Usage(ctx)
	if err := errors.Join(beforeErr, err); err != nil {
		return result.Sample{}, err
	}
	now := m.rig.up.provider.Stats()
	now.Requests -= seen.Requests
	now.BodyBytes -= seen.BodyBytes
	return sampleOf(res, before, after, now), nil
}

// sampleOf puts together what was seen of one measurement.
func sampleOf(res *load.Result, before, after proc.Usage, up provider.Stats) result.Sample {
	s := result.Sample{
		Requests: float64(res.Requests), Errors: float64(res.Errors), Error: res.Error, RPS: res.RPS(),
		Latency: result.QuantilesOf(&res.Latency), TTFB: result.QuantilesOf(&res.TTFB), Overhead: result.QuantilesOf(&res.Overhead),
	}
	per := func(total float64) float64 {
		if res.Total == 0 {
			return 0
		}
		return total / float64(res.Total)
	}
	if up.Requests > 0 {
		s.UpstreamBytes = float64(up.BodyBytes) / float64(up.Requests)
	}
	s.Hits, s.Forwarded = per(float64(res.Hits)), per(float64(up.Requests))
	s.SavedBytes, s.SavedTokens = per(float64(res.SavedBytes)), per(float64(res.SavedTokens))
	var most int64
	for applied, n := range res.Applied {
		if n > most || n == most && applied < s.Applied {
			s.Applied, most = applied, n
		}
	}
	s.Alloc = per(float64(after.Allocated-before.Allocated) / 1024)
	s.Mallocs = per(float64(after.Mallocs - before.Mallocs))
	if before.CPU >= 0 && after.CPU > before.CPU {
		cpu := after.CPU - before.CPU
		s.CPU = per(float64(cpu) / float64(time.Millisecond))
	}
	return s
}

// check sends one request that the upstream reads like a real provider, the
// first time that a cell is measured: a mode that sends what a provider
// refuses has no speed.
func (m *matrix) check(ctx context.Context, k result.Key, addr string, p testbody.Profile) error {
	if m.checked[k] {
		return nil
	}
	q := newRequests(load.Header{Name: "Bench-Check", Value: "1"})
	conn, err := load.Dial(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	var answer []byte
	x, err := conn.Do(q.of(addr, p, k.Bodies, 1)(0), nil, func(piece []byte) error { answer = append(answer, piece...); return nil })
	if err != nil {
		return err
	}
	if x.Status != 200 {
		return fmt.Errorf("a provider would refuse what arrives: status %d: %.300s", x.Status, answer)
	}
	m.checked[k] = true
	return nil
}

// maxProfile is the longest that a profile is taken for, in seconds.
const maxProfile = 3

// profile takes a CPU profile of a cell, after its last round so that it does
// not disturb the figures: of every cell if profiles are wanted, else where
// the garbage collector has a target.
func (m *matrix) profile(ctx context.Context, k result.Key, leg proc.Leg, p testbody.Profile) error {
	if m.pprof == "" && p != testbody.ProfileLarge {
		return nil
	}
	s := m.servers[k.Mode]
	seconds := min(max(int(m.cell.Seconds()), 1), maxProfile)
	var text []byte
	profiled := make(chan error, 1)
	_, err := load.Run(ctx, load.Plan{
		Addr: s.addr[leg], Conns: m.settings.Conns, WarmUp: 1, Request: m.req.of(s.addr[leg], p, k.Bodies, m.settings.Conns),
		Duration: time.Duration(seconds)*time.Second + 200*time.Millisecond,
		Started: func() {
			go func() {
				var err error
				text, err = s.Profile(ctx, seconds)
				profiled <- err
			}()
		},
	})
	if err != nil {
		return err
	}
	if err := <-profiled; err != nil {
		return fmt.Errorf("CPU profile: %w", err)
	}
	share, err := proc.GCShare(text)
	if err != nil {
		return err
	}
	m.run.Find(k).GCShare = &share
	if m.pprof == "" {
		return nil
	}
	name := fmt.Sprintf("%s-%s-%s-%s.pprof", k.Leg, k.Bodies, k.Profile, k.Mode)
	return os.WriteFile(filepath.Join(m.pprof, name), text, 0o644)
}
