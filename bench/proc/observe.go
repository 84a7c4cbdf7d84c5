package proc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a server has used since its start. Differences of two are
// what a measurement used. What the system does not tell is negative.
type Usage struct {
	CPU       time.Duration // user and system, of all threads
	Allocated int64         // bytes, running total
	Mallocs   int64         // objects, running total
}

// client asks admin endpoints.
var client = &http.Client{Transport: &http.Transport{DisableCompression: true}}

// get reads an admin endpoint.
func (p *Process) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Config.Admin+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", path, resp.Status, body)
	}
	return body, err
}

// memstats is the part of Go's memory statistics that is used here.
type memstats struct {
	TotalAlloc int64
	Mallocs    int64
	HeapAlloc  int64
	HeapInuse  int64
	StackInuse int64
}

func (p *Process) memstats(ctx context.Context) (memstats, error) {
	var vars struct{ Memstats memstats }
	text, err := p.get(ctx, "/debug/vars")
	if err != nil {
		return vars.Memstats, err
	}
	return vars.Memstats, json.Unmarshal(text, &vars)
}

// Usage reads what p has used so far.
func (p *Process) Usage(ctx context.Context) (Usage, error) {
	m, err := p.memstats(ctx)
	if err != nil {
		return Usage{}, err
	}
	return Usage{
		CPU:       CPUTime(p.cmd.Process.Pid),
		Allocated: m.TotalAlloc,
		Mallocs:   m.Mallocs,
	}, nil
}

// Memory is what a server holds, in bytes.
type Memory struct {
	Heap  int64 // live objects
	Stack int64
	RSS   int64 // negative if not known
	Peak  int64 // the largest RSS since ResetPeak, negative if not known
}

// Memory reads what p holds. With collect it collects garbage first, so that
// Heap is what is in use.
func (p *Process) Memory(ctx context.Context, collect bool) (Memory, error) {
	if collect {
		// Twice: the first leaves what pools hold for one more cycle.
		for range 2 {
			if _, err := p.get(ctx, "/debug/pprof/heap?gc=1"); err != nil {
				return Memory{}, err
			}
		}
	}
	m, err := p.memstats(ctx)
	if err != nil {
		return Memory{}, err
	}
	rss, peak := memoryOf(p.cmd.Process.Pid)
	return Memory{Heap: m.HeapAlloc, Stack: m.StackInuse, RSS: rss, Peak: peak}, nil
}

// ResetPeak makes the current RSS the peak, where the system can do that.
func (p *Process) ResetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0) // else the peak is since the start
}

// Profile takes a CPU profile of that many seconds.
func (p *Process) Profile(ctx context.Context, seconds int) ([]byte, error) {
	return p.get(ctx, "/debug/pprof/profile?seconds="+strconv.Itoa(seconds))
}

// CPUTime is the processor time that a process has used, negative where the
// system does not tell.
func CPUTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return -1
	}
	return parseStat(string(text))
}

// parseStat reads user and system time off /proc/PID/stat. Fields are counted
// from the closing parenthesis of the command name, which may hold anything.
func parseStat(text string) time.Duration {
	i := strings.LastIndexByte(text, ')')
	if i < 0 {
		return -1
	}
	fields := strings.Fields(text[i+1:])
	if len(fields) < 13 {
		return -1
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		return -1
	}
	return time.Duration(user+system) * tick
}

// memoryOf reads the resident size of a process and its peak, in bytes.
func memoryOf(pid int) (rss, peak int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return -1, -1
	}
	return parseStatus(string(text))
}

// parseStatus reads VmRSS and VmHWM off /proc/PID/status.
func parseStatus(text string) (rss, peak int64) {
	rss, peak = -1, -1
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			rss = n << 10
		case "VmHWM":
			peak = n << 10
		}
	}
	return rss, peak
}
