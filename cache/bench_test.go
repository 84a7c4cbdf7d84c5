package cache

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// cpuTime reports the processor time per operation of the calling goroutine
// beside the wall clock, which says little on a busy machine. It is called at
// the start of a benchmark and the result at its end.
func cpuTime(b *testing.B) func() {
	runtime.LockOSThread()
	start := threadTime()
	return func() {
		b.ReportMetric(float64(threadTime()-start)/float64(b.N), "cpu-ns/op")
		runtime.UnlockOSThread()
	}
}

func threadTime() time.Duration {
	const thisThread = 1 // RUSAGE_THREAD of Linux
	var u syscall.Rusage
	if syscall.Getrusage(thisThread, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
