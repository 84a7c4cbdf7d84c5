package similar

import (
	"syscall"
	"time"
)

// cpuTime is what this thread has computed so far, the waits for a core left
// out: on a busy machine the two differ.
func cpuTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if syscall.Getrusage(thread, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
