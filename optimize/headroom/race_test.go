//go:build race

package headroom_test

const raceEnabled = true
