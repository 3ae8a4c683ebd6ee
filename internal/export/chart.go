package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote/internal/currency"
)

// Dimensions of a drawing, in its own units.
const (
	chartWidth  = 720.0
	chartHeight = 250.0
	chartLeft   = 72.0
	chartBottom = 30.0
	chartTop    = 12.0
	barHeight   = 24.0
	barNames    = 190.0
	barFigures  = 90.0
	maxBars     = 20
	maxLabels   = 7
)

// chart holds the fields of a checked chart that the page uses.
type chart struct {
	Result string   `json:"result"`
	Type   string   `json:"type"`
	X      string   `json:"x"`
	Y      []string `json:"y"`
	Series string   `json:"series"`
	Title  string   `json:"title"`
	// Unit is that of the figures, from the company's context.
	Unit string `json:"-"`
}

// percentNames matches names of percent columns; the app uses the same rule.
var percentNames = regexp.MustCompile(`(?i)(^|_|\s)(percent|pct|percentage)$`)

// unit returns the unit to print after each figure of the chart.
func (c chart) unit() string {
	_, money := currency.Of(c.Unit)
	switch {
	case c.Unit == "%" || c.Unit == "" && percentNames.MatchString(c.Y[0]):
		return "%"
	case c.Unit != "" && !money:
		return " " + template.HTMLEscapeString(short(c.Unit, 20))
	}
	return ""
}

// point is one data point; without a figure it is a gap.
type point struct {
	name   string
	figure float64
	ok     bool
}

// draw returns an SVG of a result whose rows are all on the page: bars, or a line. It returns nothing for
// charts that such a picture would misrepresent: several series, bars below zero, points.
func (d *document) draw(raw json.RawMessage) template.HTML {
	var c chart
	if len(raw) == 0 || json.Unmarshal(raw, &c) != nil || len(c.Y) != 1 || c.Series != "" {
		return ""
	}
	result := d.shown(c.Result)
	if result == nil || result.Left > 0 || result.Truncated {
		return ""
	}
	if y := slices.Index(result.Columns, c.Y[0]); y >= 0 {
		c.Unit = result.Units[y]
	}
	points, negative := result.points(c)
	switch {
	case len(points) < 2:
		return ""
	case c.Type == "line" || c.Type == "area":
		return line(c, points)
	case (c.Type == "bar" || c.Type == "pie") && len(points) <= maxBars && !negative:
		return bars(c, points)
	}
	return ""
}

func (r *shownResult) points(c chart) (points []point, negative bool) {
	x, y := slices.Index(r.Columns, c.X), slices.Index(r.Columns, c.Y[0])
	if x < 0 || y < 0 {
		return nil, false
	}
	months := monthColumns(r.raw, len(r.Columns))
	for _, row := range r.raw {
		p := point{name: text(at(row, x))}
		if t, err := time.Parse("2006-01", p.name); err == nil && months[x] {
			p.name = t.Format("Jan 2006")
		}
		if v := at(row, y); v != nil {
			f, err := strconv.ParseFloat(text(v), 64)
			p.figure, p.ok = f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
		}
		negative = negative || p.ok && p.figure < 0
		points = append(points, p)
	}
	if !slices.ContainsFunc(points, func(p point) bool { return p.ok && p.figure != 0 }) {
		return nil, false
	}
	return points, negative
}

// open begins a drawing, with its title.
func open(b *strings.Builder, c chart, height float64) {
	title := template.HTMLEscapeString(short(cmp.Or(c.Title, c.Y[0]+" by "+c.X), pageCell))
	fmt.Fprintf(b, `<figure tabindex="0"><figcaption>%s</figcaption><svg viewBox="0 0 %g %g" role="img" `+
		`aria-label="%s" font-size="12">`,
		title, chartWidth, height, title)
}

func bars(c chart, points []point) template.HTML {
	unit, decimals := c.unit(), 2
	if unit != "" {
		decimals = 1 // the app formats percents like this
	}
	largest := 0.0
	for _, p := range points {
		largest = max(largest, p.figure)
	}
	var b strings.Builder
	open(&b, c, barHeight*float64(len(points)))
	for i, p := range points {
		top := barHeight * float64(i)
		width := (chartWidth - barNames - barFigures) * p.figure / largest
		fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="end">%s</text>`, barNames-8, top+16,
			template.HTMLEscapeString(short(p.name, 26)))
		fmt.Fprintf(&b, `<rect class="bar" x="%g" y="%g" width="%.1f" height="%g" rx="2"/>`, barNames, top+4, width,
			barHeight-8)
		if p.ok {
			fmt.Fprintf(&b, `<text x="%.1f" y="%g">%s%s</text>`, barNames+width+6, top+16, c.amount(p.figure, decimals),
				unit)
		}
	}
	b.WriteString("</svg></figure>")
	return template.HTML(b.String()) //nolint:gosec // names are escaped, the rest are numbers
}

func line(c chart, points []point) template.HTML {
	low, high := 0.0, 0.0
	for _, p := range points {
		low, high = min(low, p.figure), max(high, p.figure)
	}
	step := niceStep((high - low) / 5)
	low, high = math.Floor(low/step)*step, math.Ceil(high/step)*step
	ground := chartHeight - chartBottom
	px := func(i int) float64 { return chartLeft + (chartWidth-chartLeft-16)*float64(i)/float64(len(points)-1) }
	py := func(v float64) float64 { return ground - (ground-chartTop)*(v-low)/(high-low) }
	unit := c.unit()
	var b strings.Builder
	open(&b, c, chartHeight)
	for k := 0; k <= int(math.Round((high-low)/step)); k++ {
		v := low + step*float64(k)
		fmt.Fprintf(&b, `<path class="grid" stroke="#8884" d="M%g %.1fH%g"/><text x="%g" y="%.1f" `+
			`text-anchor="end">%s%s</text>`, chartLeft, py(v), chartWidth-16, chartLeft-8, py(v)+4, c.amount(v, 6),
			unit)
	}
	every := (len(points) + maxLabels - 1) / maxLabels
	for i, p := range points {
		if i%every != 0 {
			continue
		}
		anchor := "middle"
		if i == len(points)-1 {
			anchor = "end" // keep the label inside the picture
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="%s">%s</text>`, px(i), chartHeight-8, anchor,
			template.HTMLEscapeString(short(p.name, 12)))
	}
	path, sign := "", "M"
	for i, p := range points {
		if !p.ok {
			sign = "M" // a gap
			continue
		}
		path += fmt.Sprintf("%s%.1f %.1f", sign, px(i), py(p.figure))
		sign = "L"
	}
	fmt.Fprintf(&b, `<path class="line" fill="none" stroke="currentColor" d="%s"/>`, path)
	for i, p := range points {
		if p.ok && len(points) <= 60 {
			fmt.Fprintf(&b, `<circle class="bar" cx="%.1f" cy="%.1f" r="2.5"/>`, px(i), py(p.figure))
		}
	}
	b.WriteString("</svg></figure>")
	return template.HTML(b.String()) //nolint:gosec // names are escaped, the rest are numbers
}

// niceStep rounds a step up to the next of 1, 2, 5, 10, …
func niceStep(want float64) float64 {
	ten := math.Pow(10, math.Floor(math.Log10(want)))
	for _, m := range []float64{1, 2, 5} {
		if m*ten >= want {
			return m * ten
		}
	}
	return 10 * ten
}

// amount formats a figure of the chart, with its currency.
func (c chart) amount(v float64, decimals int) string {
	code := currency.InName(c.Y[0])
	if c.Unit != "" {
		code = c.Unit
	}
	return currency.Sign(grouped(v, decimals), code)
}

// grouped formats a number with commas and at most the given decimals.
func grouped(v float64, decimals int) string {
	ten := math.Pow(10, float64(decimals))
	s := strconv.FormatFloat(math.Round(math.Abs(v)*ten)/ten, 'f', -1, 64)
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	if v < 0 {
		return "−" + whole
	}
	return whole
}

// short cuts a text to n characters.
func short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
