// Package drawing defines the drawings of people and assistants on a chart: the types of drawings, their
// validity, and the document they form. A document is a fold over the events of its log; this package computes
// the events of a change, but never writes them. It is independent of stores and HTTP.
package drawing

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
)

// The types of drawings.
const (
	HorizontalLine = "horizontal_line"
	HorizontalRay  = "horizontal_ray"
	VerticalLine   = "vertical_line"
	Fibonacci      = "fibonacci"
	Trendline      = "trendline"
	Rectangle      = "rectangle"
	Circle         = "circle"
	Text           = "text"
	LongPosition   = "long_position"
	ShortPosition  = "short_position"
	Marker         = "marker"
)

// Types lists all types.
var Types = []string{
	HorizontalLine, HorizontalRay, VerticalLine, Fibonacci, Trendline, Rectangle, Circle, Text, LongPosition,
	ShortPosition, Marker,
}

// The states of a position in order.
const (
	Signal  = "signal"
	Pending = "pending"
	Open    = "open"
	Closed  = "closed"
)

// Statuses lists the states of a position in order.
var Statuses = []string{Signal, Pending, Open, Closed}

// The values of other fields.
var (
	Extends     = []string{"none", "ray", "arrow", "extended"}
	LineStyles  = []string{"solid", "dashed", "dotted"}
	MarkerTypes = []string{"arrow_up", "arrow_down", "circle", "square", "diamond", "flag"}
	Importances = []string{"low", "medium", "high"}
)

// Timeframes lists the bar lengths that a chart offers, shortest first.
var Timeframes = market.TimeframeNames()

// FibonacciLevels are the default levels of a retracement.
var FibonacciLevels = []float64{0, 0.236, 0.382, 0.5, 0.618, 0.786, 1}

// Bar returns the longest duration of a bar of a timeframe; 0 for an unknown timeframe.
func Bar(timeframe string) time.Duration { return market.Timeframe(timeframe).Length() }

// Anchor is a point on the chart.
type Anchor struct {
	Time  int64   `json:"time"` // unix seconds
	Price float64 `json:"price"`
}

// Drawing is one drawing. It omits fields that its type does not have.
type Drawing struct {
	ID         string     `json:"id"`
	Type       string     `json:"type"`
	Symbol     string     `json:"symbol"`
	Timeframe  string     `json:"timeframe"` // of the chart when it was drawn
	Anchors    []Anchor   `json:"anchors"`
	Price      *float64   `json:"price,omitempty"`  // of a horizontal line
	Extend     string     `json:"extend,omitempty"` // of a trendline
	Levels     []float64  `json:"levels,omitempty"` // of a Fibonacci, as fractions of its height
	Text       string     `json:"text,omitempty"`
	Label      string     `json:"label,omitempty"`
	Color      string     `json:"color,omitempty"`
	LineStyle  string     `json:"lineStyle,omitempty"`
	LineWidth  float64    `json:"lineWidth,omitempty"`
	FillColor  string     `json:"fillColor,omitempty"`
	MarkerType string     `json:"markerType,omitempty"`
	Size       float64    `json:"size,omitempty"`
	Entry      *float64   `json:"entry,omitempty"` // these three belong to a position
	TakeProfit *float64   `json:"takeProfit,omitempty"`
	StopLoss   *float64   `json:"stopLoss,omitempty"`
	RiskReward float64    `json:"riskReward,omitempty"` // computed
	Status     string     `json:"status,omitempty"`
	Notes      string     `json:"notes,omitempty"` // why the drawing matters
	Tags       []string   `json:"tags,omitempty"`
	Importance string     `json:"importance,omitempty"`
	Visibility Visibility `json:"visibility,omitempty"` // nil: on all timeframes
	Locked     bool       `json:"locked,omitempty"`
	Hidden     bool       `json:"hidden,omitempty"`

	// The document sets these fields; values from a client are ignored.
	Version int64 `json:"version,omitempty"` // of the document when it last changed
	Created Stamp `json:"created,omitzero"`
	Changed Stamp `json:"changed,omitzero"`
	// Placed is when it got its prices and times. It is zero in old changes that were read from the log again.
	Placed time.Time `json:"placed,omitzero"`
}

// Stamp records the author and the time of an action.
type Stamp struct {
	By string    `json:"by"` // Agent or Human
	At time.Time `json:"at"`
}

// The authors of changes.
const (
	Agent = "agent"
	Human = "human"
)

// Visibility lists the timeframes on which a drawing is shown; nil: all. In JSON it is "all" or a list.
type Visibility []string

// UnmarshalJSON decodes "all" or a list of timeframes.
func (v *Visibility) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		if *v = nil; word != "all" && word != "" {
			*v = Visibility{word}
		}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if *v = list; len(list) == 0 || slices.Contains(list, "all") {
		*v = nil
	}
	return nil
}

// IsPosition reports whether d is a long or short position.
func (d *Drawing) IsPosition() bool { return d.Type == LongPosition || d.Type == ShortPosition }

// IsLevel reports whether d marks a single price.
func (d *Drawing) IsLevel() bool { return d.Type == HorizontalLine || d.Type == HorizontalRay }

// Level returns the price of a drawing for which IsLevel is true.
func (d *Drawing) Level() float64 {
	if d.Price != nil {
		return *d.Price
	}
	if len(d.Anchors) > 0 {
		return d.Anchors[0].Price
	}
	return 0
}

// samePlace reports whether two drawings have the same prices and times.
func (d *Drawing) samePlace(o *Drawing) bool {
	return slices.Equal(d.Anchors, o.Anchors) && slices.Equal(d.prices(), o.prices())
}

// Stale is the error of a change based on an older version of a drawing. Its code is Conflict.
type Stale struct {
	// Present is the current drawing; nil if it was removed.
	Present *Drawing
	err     *footnote.Error
}

func (e *Stale) Error() string { return e.err.Error() }

func (e *Stale) Unwrap() error { return e.err }

func stale(present *Drawing, base int64) error {
	return &Stale{Present: present, err: footnote.Errorf(footnote.Conflict,
		"The drawing %s has changed: this was made against version %d, and it is now at version %d.", present.ID, base,
		present.Version)}
}

func invalid(format string, args ...any) error {
	return footnote.Invalidf(format, args...)
}

func missing(id string) error {
	return footnote.Errorf(footnote.NotFound, "There is no drawing %.70q.", id)
}
