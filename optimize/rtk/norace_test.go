//go:build !race

package rtk

const raceEnabled = false
