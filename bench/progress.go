package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress shows how far a run is: on a terminal in one line that is written
// over, else in a line each.
type progress struct {
	w           io.Writer
	over        bool
	total, done int
	start       time.Time
	width       int
}

func newProgress(total int) *progress {
	info, err := os.Stderr.Stat()
	return &progress{w: os.Stderr, over: err == nil && info.Mode()&os.ModeCharDevice != 0, total: total, start: time.Now()}
}

// step says that one more is done, and what it was.
func (p *progress) step(what string) {
	p.done++
	left := time.Duration(0)
	if p.done > 0 {
		left = time.Since(p.start) / time.Duration(p.done) * time.Duration(p.total-p.done)
	}
	line := fmt.Sprintf("[%*d/%d] %s  %s left", len(fmt.Sprint(p.total)), p.done, p.total, what, left.Round(time.Second))
	if !p.over {
		fmt.Fprintln(p.w, line)
		return
	}
	pad := max(p.width-len(line), 0)
	p.width = len(line)
	fmt.Fprintf(p.w, "\r%s%*s", line, pad, "")
}

// end leaves the line.
func (p *progress) end() {
	if p.over && p.done > 0 {
		fmt.Fprintln(p.w)
	}
}
