package adapter

// Usage are the tokens of one request as the provider counts them.
type Usage struct {
	// Known says that the provider reported usage. If it is false the rest is
	// zero.
	Known bool
	// Input is all of the input, whatever it cost: what was read from the
	// provider's prompt cache and what was written to it is part of it.
	Input        int64
	CacheRead    int64
	CacheWrite5m int64 // Anthropic's five-minute cache, and writes of others
	CacheWrite1h int64 // Anthropic's one-hour cache
	// Output is all of the output, reasoning included.
	Output    int64
	Reasoning int64
}

// counter is a number in a usage object.
type counter uint8

const (
	countInput  counter = iota
	countOutput         // what the provider calls output or completion
	countTotal
	countRead
	countWrite
	countWrite5m
	countWrite1h
	countReasoning
	numCounters
)

type counters struct {
	value [numCounters]int64
	known [numCounters]bool
}

// merge takes the usage object that has just ended into account.
func (m *Meter) merge() {
	if !m.reply.cumulative {
		if m.usage.known[countInput] || m.usage.known[countOutput] || m.usage.known[countTotal] {
			m.counted = m.usage
		}
		return
	}
	for c, known := range m.usage.known {
		if known {
			m.counted.known[c] = true
			m.counted.value[c] = max(m.counted.value[c], m.usage.value[c])
		}
	}
}

// count fills in the usage of the answer.
func (m *Meter) count() {
	v, known := &m.counted.value, &m.counted.known
	if !known[countInput] && !known[countOutput] && !known[countTotal] {
		return
	}
	u := &m.answer.Usage
	*u = Usage{
		Known:        true,
		Input:        v[countInput],
		CacheRead:    v[countRead],
		CacheWrite5m: v[countWrite],
		Output:       v[countOutput],
		Reasoning:    v[countReasoning],
	}
	if known[countWrite5m] || known[countWrite1h] {
		u.CacheWrite5m, u.CacheWrite1h = v[countWrite5m], v[countWrite1h]
	}
	if m.reply.cumulative {
		// Anthropic counts cached input apart.
		u.Input += u.CacheRead + u.CacheWrite5m + u.CacheWrite1h
	} else if rest := v[countTotal] - u.Input; known[countTotal] && rest > u.Output {
		// Some providers leave reasoning out of the completion (xAI, Gemini),
		// but not out of the total and the bill.
		u.Output = rest
	}
}

// whole is the value of a number that is not negative and has no fraction.
func whole(text []byte) (int64, bool) {
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}
