package similar

// ratio is the Jaccard similarity of two sets of n and m words, common of them
// shared. Every score and every bound comes from this one expression, so that
// no bound can disagree with a score by a rounding.
func ratio(common, n, m int) float64 {
	if common == 0 {
		return 0
	}
	return float64(common) / float64(n+m-common)
}

// commonFor returns the least number of common words that gives sets of n and m
// words a ratio of at least t; it is more than min(n, m) if nothing does.
func commonFor(t float64, n, m int) int {
	c := int(t * float64(n+m) / (1 + t)) // exact but for rounding
	for c > 0 && ratio(c-1, n, m) >= t {
		c--
	}
	for c <= min(n, m) && ratio(c, n, m) < t {
		c++
	}
	return c
}

// commonAbove is commonFor with a ratio of more than t.
func commonAbove(t float64, n, m int) int {
	c := commonFor(t, n, m)
	for c <= min(n, m) && ratio(c, n, m) <= t {
		c++
	}
	return c
}

// sizesFor returns the least and the greatest size that a set can have to reach
// t with a set of n words.
func sizesFor(t float64, n int) (low, high int) {
	low = max(1, int(t*float64(n)))
	for low > 1 && ratio(low-1, n, low-1) >= t {
		low--
	}
	for low < n && ratio(low, n, low) < t {
		low++
	}
	high = MaxWords
	if t > 0 {
		high = min(MaxWords, int(float64(n)/t)+1)
	}
	for high > n && ratio(n, n, high) < t {
		high--
	}
	return low, high
}

// minFloor is the lowest floor that signatures are built for. Below it the
// parts of a question shrink to a word or two and stop telling it from others.
const minFloor = 0.8

// maxParts is the greatest number of parts of one question.
const maxParts = MaxWords/4 + 2

// partsFor returns, for each size m, into how many parts the signatures of a
// question of m words split it. A set that reaches the floor t with it has at
// most m/t words and shares at least t*(n+m)/(1+t) of them, so that the two
// differ in at most m*(1-t)/t words; one part more than that leaves one part
// which no difference falls in.
func partsFor(floor float64) *[MaxWords + 1]uint16 {
	var parts [MaxWords + 1]uint16
	for m := range parts {
		parts[m] = uint16(float64(m)*(1-floor)/floor+1e-6) + 1
	}
	return &parts
}
