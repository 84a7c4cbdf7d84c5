//go:build !race

package headroom_test

const raceEnabled = false
