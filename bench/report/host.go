package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// Host says where and with what something was measured.
type Host struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory,omitempty"`
	System string `json:"system"`
	Go     string `json:"go"`
	Caddy  string `json:"caddy,omitempty"`
	Commit string `json:"commit,omitempty"` // with "+" when the tree was changed
}

// ThisHost describes the machine and the tree at root. What cannot be found
// out is left empty.
func ThisHost(ctx context.Context, root string) Host {
	h := Host{
		CPU: cpuModel(readFile("/proc/cpuinfo")), Cores: runtime.NumCPU(), Memory: memorySize(readFile("/proc/meminfo")),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Caddy:  output(ctx, root, "go", "list", "-m", "-f", "{{.Version}}", "github.com/caddyserver/caddy/v2"),
		Commit: output(ctx, root, "git", "rev-parse", "--short=12", "HEAD"),
	}
	if kernel := strings.TrimSpace(readFile("/proc/sys/kernel/osrelease")); kernel != "" {
		h.System += ", Linux " + kernel
	}
	if h.CPU == "" {
		h.CPU = runtime.GOARCH
	}
	if h.Commit != "" && output(ctx, root, "git", "status", "--porcelain", "--untracked-files=no") != "" {
		h.Commit += "+"
	}
	return h
}

// String is one line.
func (h Host) String() string {
	s := fmt.Sprintf("%s, %d cores", h.CPU, h.Cores)
	if h.Memory != "" {
		s += ", " + h.Memory
	}
	s += "; " + h.System + "; " + h.Go
	if h.Caddy != "" {
		s += "; Caddy " + h.Caddy
	}
	if h.Commit != "" {
		s += "; commit " + h.Commit
	}
	return s
}

// readFile is the content of a file, empty if there is none.
func readFile(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}

// output is what a command prints, empty if it fails.
func output(ctx context.Context, dir, name string, args ...string) string {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// cpuModel reads the processor's name off /proc/cpuinfo.
func cpuModel(text string) string {
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// memorySize reads the installed memory off /proc/meminfo.
func memorySize(text string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			if err != nil {
				return ""
			}
			return fmt.Sprintf("%.0f GiB", kb/(1<<20))
		}
	}
	return ""
}
