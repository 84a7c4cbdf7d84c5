package heap

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		name           string
		live, headroom int64
		want           int
	}{
		{"little alive", 8 << 20, 32 << 20, 400},
		{"as much as the headroom", 32 << 20, 32 << 20, 100},
		{"more than the headroom", 1 << 30, 32 << 20, 100},
		{"nothing alive", 0, 32 << 20, mostPercent},
		{"no overflow", math.MaxInt64, math.MaxInt64 / 100, 100},
	} {
		if got := percent(tt.live, tt.headroom); got != tt.want {
			t.Errorf("%s: percent(%d, %d) = %d, want %d", tt.name, tt.live, tt.headroom, got, tt.want)
		}
	}
}

// garbageCollectorPercent is what the runtime has.
func garbageCollectorPercent() int {
	p := debug.SetGCPercent(100)
	debug.SetGCPercent(p)
	return p
}

// unsetenv takes name out of the environment for one test.
func unsetenv(t *testing.T, name string) {
	t.Helper()
	t.Setenv(name, "") // puts it back
	if err := os.Unsetenv(name); err != nil {
		t.Fatal(err)
	}
}

func TestReserve(t *testing.T) {
	unsetenv(t, "GOGC")
	if got := garbageCollectorPercent(); got != 100 {
		t.Fatalf("the runtime starts with %d %%", got)
	}
	runtime.GC()
	small, large := Reserve(1<<20), Reserve(1<<30)
	if got := garbageCollectorPercent(); got != mostPercent {
		t.Errorf("with a headroom of 1 GiB: %d %%, want %d", got, mostPercent)
	}
	large()
	large() // twice is once
	if got := garbageCollectorPercent(); got == mostPercent {
		t.Errorf("the large headroom was given back: still %d %%", got)
	}
	small()
	if got := garbageCollectorPercent(); got != 100 {
		t.Errorf("all were given back: %d %%, want 100", got)
	}
}

// What comes alive later makes the percentage smaller at the next collection.
func TestFollowsTheHeap(t *testing.T) {
	unsetenv(t, "GOGC")
	runtime.GC()
	release := Reserve(64 << 20)
	defer release()
	before := Percent()
	keep := make([]byte, 64<<20)
	for i := 0; Percent() >= before || Percent() > 110; i++ {
		if i == 1000 {
			t.Fatalf("%d %% with 64 MiB more alive, %d %% before", Percent(), before)
		}
		runtime.GC() // the sentinel's turn comes some time after it
		runtime.Gosched()
	}
	runtime.KeepAlive(keep)
}

func TestGOGCIsTheUsersWord(t *testing.T) {
	t.Setenv("GOGC", "100")
	defer Reserve(1 << 30)()
	if got := garbageCollectorPercent(); got != 100 {
		t.Errorf("GOGC=100 and %d %%", got)
	}
}
