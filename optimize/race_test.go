//go:build race

package optimize_test

const raceEnabled = true
