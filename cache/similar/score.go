package similar

// ratio is the Jaccard similarity of two sets of n and m words, common of them
// shared.
func ratio(common, n, m int) float64 {
	if common == 0 {
		return 0
	}
	return float64(common) / float64(n+m-common)
}
