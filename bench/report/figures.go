package report

import (
	"fmt"
	"math"
	"strconv"
)

// Millis writes milliseconds with three significant digits, but no finer than
// microseconds.
func Millis(ms float64) string {
	switch a := math.Abs(ms); {
	case math.IsNaN(ms) || math.IsInf(ms, 0):
		return "-"
	case a < 10:
		return strconv.FormatFloat(ms, 'f', 3, 64)
	case a < 100:
		return strconv.FormatFloat(ms, 'f', 1, 64)
	}
	return strconv.FormatFloat(ms, 'f', 0, 64)
}

// Ratio writes a ratio with three decimals, "-" where there is none.
func Ratio(r float64) string {
	if math.IsNaN(r) || math.IsInf(r, 0) || r == 0 {
		return "-"
	}
	return strconv.FormatFloat(r, 'f', 3, 64)
}

// Percent writes a share as a percentage.
func Percent(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "-"
	}
	return strconv.FormatFloat(100*share, 'f', 1, 64) + " %"
}

// Count writes n with commas between groups of three digits.
func Count[T int | int64 | float64](n T) string {
	v := int64(math.Round(float64(n)))
	s := strconv.FormatInt(v, 10)
	start := 0
	if v < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Bytes writes a size in the largest binary unit that fits.
func Bytes(n float64) string {
	const units = "KMGT"
	if math.Abs(n) < 1024 {
		return fmt.Sprintf("%.0f B", n)
	}
	i := -1
	for math.Abs(n) >= 1024 && i < len(units)-1 {
		n /= 1024
		i++
	}
	return fmt.Sprintf("%.1f %ciB", n, units[i])
}
