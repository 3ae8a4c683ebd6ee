package drawing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/market"
)

// Limits on a drawing and on a document.
const (
	MaxDrawings     = 10_000
	MaxBytes        = 32 << 20 // approximate memory of all drawings
	MaxReason       = 1_000    // in characters, like the following
	maxNotes        = 4_000
	maxText         = 1_000
	maxLabel        = 200
	maxTag          = 50
	maxTags         = 20
	maxLevels       = 30
	maxDrawingBytes = 64 << 10 // of a drawing's JSON
	maxPrice        = 1e12
)

// FutureBars is how many bars of its timeframe a drawing may extend beyond the newest bar: trendlines are extended
// and positions end where there are no bars yet.
const FutureBars = 500

var (
	idForm    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	colorForm = regexp.MustCompile(`^(#[0-9a-fA-F]{3,8}|[a-zA-Z]{3,30}|rgba?\([0-9., %]{1,40}\))$`)
)

// CheckSymbol returns an error if the name of a symbol is invalid.
func CheckSymbol(symbol string) error {
	if (market.Symbol{Symbol: symbol}).Check() != nil {
		return invalid("A symbol must be 1 to 32 capital letters, digits, dots, - and _, such as EURUSD.")
	}
	return nil
}

// CheckTimeframe returns an error if a chart does not offer a timeframe.
func CheckTimeframe(timeframe string) error { return oneOf("The timeframe", timeframe, Timeframes) }

func oneOf(what, value string, all []string) error {
	if !slices.Contains(all, value) {
		return invalid("%s must be one of %s.", what, strings.Join(all, ", "))
	}
	return nil
}

// firstError runs checks until one fails.
func firstError(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// Parse decodes a drawing: a JSON object without unknown keys. It does not check missing fields, or fields set by the
// document; Check does.
func Parse(data []byte) (Drawing, error) {
	var d Drawing
	if len(data) > maxDrawingBytes {
		return d, invalid("A drawing can have at most %d bytes.", maxDrawingBytes)
	}
	if err := strictjson.Closed(data, &d); err != nil {
		return d, err
	}
	d.Version, d.Created, d.Changed, d.Placed = 0, Stamp{}, Stamp{}, time.Time{}
	return d, nil
}

// Check returns an error if a drawing is invalid by itself. It fills in fields that follow from others: the risk and
// reward of a position, the levels of a Fibonacci.
func (d *Drawing) Check() error {
	if !slices.Contains(Types, d.Type) {
		return invalid("There is no drawing of type %.40q; the types are %s.", d.Type, strings.Join(Types, ", "))
	}
	if d.ID != "" && !idForm.MatchString(d.ID) {
		return invalid("The id of a drawing must be 1 to 64 letters, digits, - and _.")
	}
	return firstError(
		func() error { return CheckSymbol(d.Symbol) }, func() error { return CheckTimeframe(d.Timeframe) },
		d.words, d.style, d.anchors, d.checkTypeFields, d.position)
}

// words checks the texts.
func (d *Drawing) words() error {
	for _, f := range []struct {
		name, text string
		max        int
	}{{"text", d.Text, maxText}, {"label", d.Label, maxLabel}, {"notes", d.Notes, maxNotes}} {
		if n := utf8.RuneCountInString(f.text); n > f.max || !utf8.ValidString(f.text) {
			return invalid("%s has %d characters; at most %d are allowed.", f.name, n, f.max)
		}
	}
	if len(d.Tags) > maxTags {
		return invalid("A drawing can have at most %d tags.", maxTags)
	}
	for _, t := range d.Tags {
		if n := utf8.RuneCountInString(t); n == 0 || n > maxTag || !utf8.ValidString(t) {
			return invalid("A tag must have 1 to %d characters.", maxTag)
		}
	}
	return nil
}

// style checks the appearance and the visibility.
func (d *Drawing) style() error {
	for _, f := range []struct{ name, value string }{{"color", d.Color}, {"fillColor", d.FillColor}} {
		if f.value != "" && !colorForm.MatchString(f.value) {
			return invalid("%s must be a color such as #2962ff.", f.name)
		}
	}
	for _, f := range []struct {
		name, value string
		all         []string
	}{
		{"lineStyle", d.LineStyle, LineStyles}, {"importance", d.Importance, Importances},
		{"extend", d.Extend, Extends}, {"markerType", d.MarkerType, MarkerTypes}, {"status", d.Status, Statuses},
	} {
		if f.value == "" {
			continue
		}
		if err := oneOf(f.name, f.value, f.all); err != nil {
			return err
		}
	}
	for _, tf := range d.Visibility {
		if !slices.Contains(Timeframes, tf) {
			return invalid(`visibility is "all" or a list of timeframes: %s.`, strings.Join(Timeframes, ", "))
		}
	}
	if len(d.Visibility) > len(Timeframes) {
		return invalid("visibility names a timeframe twice.")
	}
	if d.LineWidth != 0 && !within(d.LineWidth, 0.5, 20) {
		return invalid("lineWidth must be from 0.5 to 20.")
	}
	if d.Size != 0 && !within(d.Size, 0.1, 100) {
		return invalid("size must be from 0.1 to 100.")
	}
	return nil
}

func within(v, lowest, highest float64) bool { return v >= lowest && v <= highest } // false for NaN

// anchorsOf returns the number of anchors of a type.
func anchorsOf(kind string) int {
	switch kind {
	case HorizontalLine:
		return 0
	case HorizontalRay, VerticalLine, Text, Marker:
		return 1
	default:
		return 2
	}
}

// lastTime is the largest time: the end of the year 9999.
const lastTime = 253402300799

func (d *Drawing) anchors() error {
	if d.IsPosition() && d.Entry != nil {
		for i := range d.Anchors {
			d.Anchors[i].Price = *d.Entry // anchors of a position only hold times
		}
	}
	if n := anchorsOf(d.Type); len(d.Anchors) != n {
		return invalid("A %s has %d anchors, not %d.", d.Type, n, len(d.Anchors))
	}
	if d.Anchors == nil {
		d.Anchors = []Anchor{}
	}
	for i, a := range d.Anchors {
		if a.Time <= 0 || a.Time > lastTime {
			return invalid("The time of anchor %d is invalid. Use unix seconds.", i+1)
		}
		if d.Type == VerticalLine && a.Price == 0 {
			continue // it has no price
		}
		if err := checkPrice(fmt.Sprintf("The price of anchor %d", i+1), a.Price); err != nil {
			return err
		}
	}
	return nil
}

func checkPrice(what string, p float64) error {
	if !(p > 0 && p <= maxPrice) { // NaN is neither
		return invalid("%s must be a number above 0 and at most %g.", what, float64(maxPrice))
	}
	return nil
}

// checkTypeFields checks the fields that only some types have.
func (d *Drawing) checkTypeFields() error {
	if (d.Price != nil) != (d.Type == HorizontalLine) {
		return invalid("A horizontal_line, and nothing else, has a price of its own.")
	}
	if d.Extend != "" && d.Type != Trendline || len(d.Levels) > 0 && d.Type != Fibonacci ||
		d.MarkerType != "" && d.Type != Marker {
		return invalid("extend belongs to a trendline, levels to a fibonacci, markerType to a marker; this is a %s.",
			d.Type)
	}
	switch {
	case d.Type == HorizontalLine:
		return checkPrice("The price", *d.Price)
	case d.Type == Text && strings.TrimSpace(d.Text) == "":
		return invalid("A text drawing needs a non-empty text.")
	case d.Type == Marker:
		d.MarkerType = cmp.Or(d.MarkerType, "circle")
	case len(d.Anchors) == 2 && d.Anchors[0] == d.Anchors[1]:
		return invalid("The two anchors must be different points.")
	case d.Type == Fibonacci:
		return d.fibonacci()
	}
	return nil
}

func (d *Drawing) fibonacci() error {
	if len(d.Levels) == 0 {
		d.Levels = slices.Clone(FibonacciLevels)
	}
	if len(d.Levels) > maxLevels {
		return invalid("A fibonacci can have at most %d levels.", maxLevels)
	}
	for _, l := range d.Levels {
		if !within(l, -10, 10) {
			return invalid("A level of a fibonacci is a share of its height, from -10 to 10, such as 0.618.")
		}
	}
	if d.Anchors[0].Price == d.Anchors[1].Price {
		return invalid("The anchors of a fibonacci have different prices.")
	}
	return nil
}

// position checks that the stop and the target of a position are on the right sides of its entry, and computes its
// risk and reward.
func (d *Drawing) position() error {
	d.RiskReward = 0
	if !d.IsPosition() {
		if d.Entry != nil || d.TakeProfit != nil || d.StopLoss != nil || d.Status != "" {
			return invalid("entry, takeProfit, stopLoss and status belong to positions; this is a %s.", d.Type)
		}
		return nil
	}
	if d.Entry == nil || d.TakeProfit == nil || d.StopLoss == nil {
		return invalid("A position has an entry, a takeProfit and a stopLoss.")
	}
	entry, target, stop := *d.Entry, *d.TakeProfit, *d.StopLoss
	for name, p := range map[string]float64{"entry": entry, "takeProfit": target, "stopLoss": stop} {
		if err := checkPrice("The "+name, p); err != nil {
			return err
		}
	}
	if d.Type == LongPosition && !(stop < entry && entry < target) {
		return invalid("A long position has its stopLoss below its entry and its takeProfit above: %s, %s, %s are "+
			"not so.", Number(stop), Number(entry), Number(target))
	}
	if d.Type == ShortPosition && !(target < entry && entry < stop) {
		return invalid("A short position has its takeProfit below its entry and its stopLoss above: %s, %s, %s are "+
			"not so.", Number(target), Number(entry), Number(stop))
	}
	d.Status = cmp.Or(d.Status, Signal)
	if d.Anchors[1].Time < d.Anchors[0].Time {
		d.Anchors[0], d.Anchors[1] = d.Anchors[1], d.Anchors[0]
	}
	d.RiskReward = riskReward(entry, target, stop)
	return nil
}

// riskReward returns the reward of a position divided by its risk, rounded to two places.
func riskReward(entry, target, stop float64) float64 {
	r := math.Round(math.Abs(target-entry)/math.Abs(entry-stop)*100) / 100
	if math.IsNaN(r) || math.IsInf(r, 0) {
		return 0
	}
	return r
}

// checkReplace returns an error if one drawing may not replace another. The type cannot change. A position advances
// through signal, pending, open, closed. It may skip states, but goes back only when an earlier state of the chart is
// restored.
func checkReplace(from, to *Drawing, back bool) error {
	if from.Type != to.Type {
		return invalid("A %s cannot become a %s. Remove it, and draw a new one.", from.Type, to.Type)
	}
	if !from.IsPosition() || back {
		return nil
	}
	if slices.Index(Statuses, to.Status) < slices.Index(Statuses, from.Status) {
		return invalid("A position's status can only advance (%s); this one is %s and cannot return to %s. Use undo "+
			"instead.",
			strings.Join(Statuses, " → "), from.Status, to.Status)
	}
	return nil
}

// Data describes the prices available for a symbol.
type Data struct {
	First, Last int64   // starts of the first and the last bar, in Unix seconds
	Low, High   float64 // of all prices; 0 when unknown
	Digits      int     // decimal places of a price
}

// Within returns an error for an anchor outside the data: before the first bar, more than FutureBars bars after the
// last one, or far from every price. A marker must be on an existing bar.
func (d *Drawing) Within(data Data) error {
	if data.Last == 0 {
		return nil
	}
	bar := int64(Bar(d.Timeframe) / time.Second)
	end := data.Last + FutureBars*bar
	if d.Type == Marker {
		end = data.Last + bar
	}
	for i, a := range d.Anchors {
		switch {
		case a.Time < data.First-bar:
			return invalid("Anchor %d is at %s, before the first bar of %s (%s).", i+1, clock(a.Time), d.Symbol,
				clock(data.First))
		case a.Time > end:
			return invalid("Anchor %d is at %s, too far behind the last bar of %s (%s).", i+1, clock(a.Time), d.Symbol,
				clock(data.Last))
		}
	}
	if data.High <= 0 {
		return nil
	}
	lowest, highest := data.Low/2, data.High*2
	for _, p := range d.prices() {
		if p < lowest || p > highest {
			return invalid("The price %s is far from every price of %s: they are from %s to %s.", Number(p), d.Symbol,
				Number(data.Low), Number(data.High))
		}
	}
	return nil
}

// prices returns the prices in a drawing.
func (d *Drawing) prices() (all []float64) {
	for _, p := range []*float64{d.Price, d.Entry, d.TakeProfit, d.StopLoss} {
		if p != nil {
			all = append(all, *p)
		}
	}
	for _, a := range d.Anchors {
		if d.Type != VerticalLine {
			all = append(all, a.Price)
		}
	}
	return all
}

// content returns the JSON of a checked drawing without the fields set by the document.
func (d Drawing) content() json.RawMessage {
	d.Version, d.Created, d.Changed, d.Placed = 0, Stamp{}, Stamp{}, time.Time{}
	return reply.JSON(d)
}
