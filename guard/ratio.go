package guard

import "math"

// Statistical constants, see the package documentation.
const (
	minConversations = 20
	criticalZ        = 3.3  // one-sided 0.05 % of a normal distribution
	minExcess        = 0.01 // of the control's price
	lookGrowth       = 1.1
	fadeAt           = 200 // conversations in the smaller arm: halve both
)

// totals are the sums over the requests of one conversation, in tokens.
type totals struct {
	input, read, saved, cost float64
}

// ratio estimates sum(y)/sum(x) over conversations and its variance.
type ratio struct {
	x, y, xx, xy, yy float64
}

// replace takes out what a conversation counted for and puts in its new sums.
func (r *ratio) replace(oldX, oldY, x, y float64) {
	r.x += x - oldX
	r.y += y - oldY
	r.xx += x*x - oldX*oldX
	r.xy += x*y - oldX*oldY
	r.yy += y*y - oldY*oldY
}

func (r *ratio) halve() {
	r.x, r.y, r.xx, r.xy, r.yy = r.x/2, r.y/2, r.xx/2, r.xy/2, r.yy/2
}

func (r *ratio) value() float64 {
	if r.x <= 0 {
		return 0
	}
	return r.y / r.x
}

// variance is that of value for n conversations.
func (r *ratio) variance(n int) float64 {
	if n < 2 || r.x <= 0 {
		return math.Inf(1)
	}
	v := r.value()
	residual := max(r.yy-2*v*r.xy+v*v*r.xx, 0)
	return float64(n) / float64(n-1) * residual / (r.x * r.x)
}

// effective is the number of equally large conversations that would tell as
// much.
func (r *ratio) effective() float64 {
	if r.xx <= 0 {
		return 0
	}
	return r.x * r.x / r.xx
}

// arm are the figures of the conversations with one treatment.
type arm struct {
	conversations int
	requests      int
	share         ratio   // tokens read from the cache per token of input
	price         ratio   // price of the input per original token
	saved         float64 // tokens
}

// count adds a request of c.
func (a *arm) count(c *conversation, s Sample) {
	old := c.total
	t := &c.total
	t.input += float64(s.Input)
	t.read += float64(s.CacheRead)
	t.saved += float64(s.Saved)
	t.cost += s.Cost
	if !c.counted {
		c.counted = true
		a.conversations++
	}
	a.requests++
	a.saved += float64(s.Saved)
	a.share.replace(old.input, old.read, t.input, t.read)
	a.price.replace(old.input+old.saved, old.cost, t.input+t.saved, t.cost)
}

func (a *arm) halve() {
	a.conversations /= 2
	a.requests /= 2
	a.saved /= 2
	a.share.halve()
	a.price.halve()
}

// enough reports whether the arm may be judged.
func (a *arm) enough() bool {
	return a.conversations >= minConversations && a.share.effective() >= minConversations/2
}

// verdict is what a comparison of two arms says.
type verdict uint8

const (
	unclear verdict = iota
	harmful         // the mode costs more than it saves
	fine            // the price did not rise
)

// compare judges the optimized arm against the control. Both have enough
// conversations.
func compare(control, optimized *arm) verdict {
	excess := optimized.price.value() - control.price.value()
	if excess <= 0 {
		return fine
	}
	lost := control.share.value() - optimized.share.value()
	df := min(control.share.effective(), optimized.share.effective()) - 1
	// The first terms of Student's quantile in powers of 1/df (Cornish and
	// Fisher).
	critical := criticalZ * (1 + (criticalZ*criticalZ+1)/(4*df))
	above := func(d float64, a, b *ratio) bool {
		return d > critical*math.Sqrt(a.variance(control.conversations)+b.variance(optimized.conversations))
	}
	if excess > minExcess*control.price.value() &&
		above(excess, &control.price, &optimized.price) && above(lost, &control.share, &optimized.share) {
		return harmful
	}
	return unclear
}
