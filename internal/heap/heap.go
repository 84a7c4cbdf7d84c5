// Package heap keeps the garbage collector from running more often than it has
// to. By default it runs whenever the heap has grown by as much as is alive in
// it. A gateway keeps little alive and makes much garbage, so that it would
// collect dozens of times a second. With a headroom the heap grows by that many
// bytes, if what is alive is less, before the next collection.
//
// The headroom is bounded memory bought once, not a share of the load: a process
// that keeps more alive than its headroom is not touched. A memory limit
// (GOMEMLIMIT) holds as before. Where GOGC is set the user has decided, and
// nothing is done.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
)

const (
	plainPercent = 100  // Go's own
	mostPercent  = 2000 // with next to nothing alive
)

var state struct {
	sync.Mutex
	wanted  []int64 // headrooms in use, in bytes
	percent int     // what is set now
	watched bool    // a sentinel waits for the next collection
}

// Reserve asks for a headroom of so many bytes. The largest that anyone asks
// for counts. The caller calls release when it needs it no more.
func Reserve(bytes int64) (release func()) {
	if _, set := os.LookupEnv("GOGC"); set || bytes <= 0 {
		return func() {}
	}
	state.Lock()
	defer state.Unlock()
	state.wanted = append(state.wanted, bytes)
	adjust()
	watch()
	return sync.OnceFunc(func() {
		state.Lock()
		defer state.Unlock()
		i := slices.Index(state.wanted, bytes)
		state.wanted = slices.Delete(state.wanted, i, i+1)
		adjust()
	})
}

// Percent is how far the heap grows now, in percent of what is alive.
func Percent() int {
	state.Lock()
	defer state.Unlock()
	return max(state.percent, plainPercent)
}

// watch adjusts again after every collection.
func watch() {
	if state.watched {
		return
	}
	state.watched = true
	// An object that nobody refers to is found by the next collection. It must
	// hold a pointer, else it would share its memory with others.
	runtime.SetFinalizer(&sentinel{new(byte)}, func(*sentinel) {
		state.Lock()
		defer state.Unlock()
		state.watched = false
		adjust()
		if len(state.wanted) > 0 {
			watch()
		}
	})
}

type sentinel struct{ _ *byte }

// adjust sets the percentage that gives what is alive the headroom. Setting it
// stops the world for a moment, so small changes are left alone.
func adjust() {
	want := plainPercent
	if len(state.wanted) > 0 {
		want = percent(live(), slices.Max(state.wanted))
	}
	is := max(state.percent, plainPercent)
	if diff := max(want-is, is-want); want == is || want != plainPercent && diff < is/8 {
		return
	}
	debug.SetGCPercent(want)
	state.percent = want
}

// percent is the growth by headroom in percent of what is alive.
func percent(live, headroom int64) int {
	return int(min(max(headroom*100/max(live, 1), plainPercent), mostPercent))
}

// live is what was alive at the last collection, in bytes.
func live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
