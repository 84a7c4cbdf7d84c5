package report

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// Chart is a dot plot: panels side by side, each with the same rows, and in
// each row one dot per series.
type Chart struct {
	Title  string
	Series []string // at most len(colours)
	Rows   []string
	Panels []Panel
}

// Panel is one panel of a chart.
type Panel struct {
	Title  string
	Unit   string // shown after the numbers of the axis
	Log    bool   // logarithmic axis
	Line   float64
	Values [][]float64 // by row, then by series; NaN: no dot
}

// colours tell the series apart, also without colour vision; so do the shapes.
var colours = []string{"#0b5fa5", "#d1670a", "#3f8f3a", "#9a3b8c", "#5b5b5b", "#b02a30"}

// Measures of a chart, in pixels.
const (
	rowHeight   = 20
	panelWidth  = 230
	panelGap    = 44
	labelWidth  = 170
	headHeight  = 64
	axisHeight  = 26
	legendStep  = 16
	chartMargin = 14
)

// SVG is the chart as an SVG document.
func (c Chart) SVG() string {
	legend := legendStep*len(c.Series) + 8
	width := labelWidth + len(c.Panels)*(panelWidth+panelGap) + chartMargin
	height := headHeight + rowHeight*len(c.Rows) + axisHeight + legend + chartMargin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<title>%s</title>`+"\n", text(c.Title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	label(&b, chartMargin, 24, "start", "#111111", 15, c.Title)
	for i, row := range c.Rows {
		y := headHeight + rowHeight*i
		if i%2 == 0 {
			fmt.Fprintf(&b, `<rect x="0" y="%d" width="%d" height="%d" fill="#f4f4f4"/>`+"\n", y, width, rowHeight)
		}
		label(&b, labelWidth-10, float64(y)+14, "end", "#111111", 12, row)
	}
	for i, p := range c.Panels {
		p.draw(&b, float64(labelWidth+i*(panelWidth+panelGap)), len(c.Rows))
	}
	for i, name := range c.Series {
		y := float64(headHeight + rowHeight*len(c.Rows) + axisHeight + 8 + legendStep*i)
		dot(&b, labelWidth+6, y+4, i, name)
		label(&b, labelWidth+18, y+8, "start", "#111111", 12, name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// draw draws a panel whose left edge is at x.
func (p Panel) draw(b *strings.Builder, x float64, rows int) {
	top, bottom := float64(headHeight), float64(headHeight+rowHeight*rows)
	label(b, x, top-10, "start", "#111111", 12, p.Title)
	ticks := p.ticks()
	low, high := ticks[0], ticks[len(ticks)-1]
	at := func(v float64) float64 {
		v = min(max(v, low), high)
		if p.Log {
			return x + panelWidth*(math.Log(v)-math.Log(low))/(math.Log(high)-math.Log(low))
		}
		return x + panelWidth*(v-low)/(high-low)
	}
	for _, tick := range ticks {
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#d0d0d0"/>`+"\n", at(tick), top, at(tick), bottom)
		label(b, at(tick), bottom+14, "middle", "#444444", 10, fmt.Sprintf("%.3g%s", tick, p.Unit))
	}
	if p.Line != 0 {
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#111111" stroke-width="1.5"/>`+"\n", at(p.Line), top, at(p.Line), bottom)
	}
	for row, values := range p.Values {
		for series, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) || p.Log && v <= 0 {
				continue
			}
			// Series are apart by a pixel or two, so that equal values show.
			y := top + rowHeight*(float64(row)+0.5) + 2.2*(float64(series)-float64(len(values)-1)/2)
			dot(b, at(v), y, series, fmt.Sprintf("%.4g%s", v, p.Unit))
		}
	}
}

// ticks are the numbers on the axis, the first and last are its ends.
func (p Panel) ticks() []float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, values := range p.Values {
		for _, v := range values {
			if !math.IsNaN(v) && !math.IsInf(v, 0) && (!p.Log || v > 0) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if low > high {
		low, high = 1, 1
	}
	if p.Line != 0 {
		low, high = min(low, p.Line), max(high, p.Line)
	}
	var ticks []float64
	if p.Log {
		for e := math.Floor(math.Log10(low)); ; e++ {
			ticks = append(ticks, math.Pow(10, e))
			if len(ticks) > 1 && math.Pow(10, e) >= high {
				return ticks
			}
		}
	}
	low = min(low, 0)
	step := niceStep((high - low) / 4)
	for v := math.Floor(low/step) * step; ; v += step {
		ticks = append(ticks, v)
		if len(ticks) > 1 && v >= high-step*1e-9 {
			return ticks
		}
	}
}

// niceStep is the smallest of 1, 2 and 5 times a power of ten that is at
// least v.
func niceStep(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5, 10} {
		if f*power >= v*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// dot draws the mark of a series.
func dot(b *strings.Builder, x, y float64, series int, title string) {
	colour := colours[series%len(colours)]
	switch series % 4 {
	case 0:
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.6" fill="%s"><title>%s</title></circle>`+"\n", x, y, colour, text(title))
	case 1:
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="6.4" height="6.4" fill="%s"><title>%s</title></rect>`+"\n", x-3.2, y-3.2, colour, text(title))
	case 2:
		fmt.Fprintf(b, `<path d="M%.1f %.1fl4.2 4.2l-4.2 4.2l-4.2 -4.2z" fill="%s"><title>%s</title></path>`+"\n", x, y-4.2, colour, text(title))
	default:
		fmt.Fprintf(b, `<path d="M%.1f %.1fl4.2 7.2h-8.4z" fill="%s"><title>%s</title></path>`+"\n", x, y-4, colour, text(title))
	}
}

// label writes a text.
func label(b *strings.Builder, x, y float64, anchor, colour string, size int, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s" font-size="%d">%s</text>`+"\n", x, y, anchor, colour, size, text(s))
}

// text escapes a text for XML.
func text(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // writing to memory does not fail
	return b.String()
}
