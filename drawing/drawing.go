// Package drawing is what people and assistants draw on a chart: the kinds of
// drawings, what makes one right, and the document they form. A document is a fold
// over the events of its log; this package computes which events a change is, and
// never writes any. It knows no store, no HTTP and no market.
package drawing

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
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

// Types are all of them.
var Types = []string{
	HorizontalLine, HorizontalRay, VerticalLine, Fibonacci, Trendline, Rectangle, Circle, Text, LongPosition, ShortPosition, Marker,
}

// The states of a position, in the order in which it goes through them.
const (
	Signal  = "signal"
	Pending = "pending"
	Open    = "open"
	Closed  = "closed"
)

// Statuses are the states of a position, in their order.
var Statuses = []string{Signal, Pending, Open, Closed}

// The values of other fields.
var (
	Extends     = []string{"none", "ray", "arrow", "extended"}
	LineStyles  = []string{"solid", "dashed", "dotted"}
	MarkerTypes = []string{"arrow_up", "arrow_down", "circle", "square", "diamond", "flag"}
	Importances = []string{"low", "medium", "high"}
)

// Timeframes are the periods of a bar that a chart shows, the shortest first.
var Timeframes = []string{"1m", "5m", "15m", "30m", "1h", "4h", "1D", "1W", "1M"}

// FibonacciLevels are those of a retracement that names none.
var FibonacciLevels = []float64{0, 0.236, 0.382, 0.5, 0.618, 0.786, 1}

// Bar is how long a bar of a timeframe lasts, at most; 0 when there is no such one.
func Bar(timeframe string) time.Duration {
	if i := slices.Index(Timeframes, timeframe); i >= 0 {
		return []time.Duration{
			time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 4 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 31 * 24 * time.Hour,
		}[i]
	}
	return 0
}

// Anchor is a place on the chart.
type Anchor struct {
	Time  int64   `json:"time"` // unix seconds
	Price float64 `json:"price"`
}

// Drawing is one drawing. Fields that its type does not have are left out.
type Drawing struct {
	ID         string     `json:"id"`
	Type       string     `json:"type"`
	Symbol     string     `json:"symbol"`
	Timeframe  string     `json:"timeframe"` // on which it was drawn
	Anchors    []Anchor   `json:"anchors"`
	Price      *float64   `json:"price,omitempty"`  // of a horizontal line
	Extend     string     `json:"extend,omitempty"` // of a trendline
	Levels     []float64  `json:"levels,omitempty"` // of a Fibonacci, as shares of its height
	Text       string     `json:"text,omitempty"`
	Label      string     `json:"label,omitempty"`
	Color      string     `json:"color,omitempty"`
	LineStyle  string     `json:"lineStyle,omitempty"`
	LineWidth  float64    `json:"lineWidth,omitempty"`
	FillColor  string     `json:"fillColor,omitempty"`
	MarkerType string     `json:"markerType,omitempty"`
	Size       float64    `json:"size,omitempty"`
	Entry      *float64   `json:"entry,omitempty"` // these three of a position
	TakeProfit *float64   `json:"takeProfit,omitempty"`
	StopLoss   *float64   `json:"stopLoss,omitempty"`
	RiskReward float64    `json:"riskReward,omitempty"` // computed
	Status     string     `json:"status,omitempty"`
	Notes      string     `json:"notes,omitempty"` // why it matters
	Tags       []string   `json:"tags,omitempty"`
	Importance string     `json:"importance,omitempty"`
	Visibility Visibility `json:"visibility,omitempty"` // nil: on all timeframes
	Locked     bool       `json:"locked,omitempty"`
	Hidden     bool       `json:"hidden,omitempty"`

	// The document says these; whatever a client sends in their place does not count.
	Version int64 `json:"version,omitempty"` // of the document when it last changed
	Created Stamp `json:"created,omitzero"`
	Changed Stamp `json:"changed,omitzero"`
}

// Stamp is who did something, and when.
type Stamp struct {
	By string    `json:"by"` // Agent or Human
	At time.Time `json:"at"`
}

// Who changes a document.
const (
	Agent = "agent"
	Human = "human"
)

// Visibility are the timeframes on which a drawing is shown; nil: all. In JSON it is
// "all" or a list.
type Visibility []string

// UnmarshalJSON reads "all" or a list of timeframes.
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

// IsLevel reports whether d is a price that stands for itself.
func (d *Drawing) IsLevel() bool { return d.Type == HorizontalLine || d.Type == HorizontalRay }

// level is the price of a drawing that IsLevel.
func (d *Drawing) level() float64 {
	if d.Price != nil {
		return *d.Price
	}
	if len(d.Anchors) > 0 {
		return d.Anchors[0].Price
	}
	return 0
}

// Stale is the error of a change that was made against an older version of a drawing:
// its code is Conflict.
type Stale struct {
	// Present is the drawing as it is now; nil when it is gone.
	Present *Drawing
	err     *footnote.Error
}

func (e *Stale) Error() string { return e.err.Error() }

func (e *Stale) Unwrap() error { return e.err }

func stale(present *Drawing, base int64) error {
	return &Stale{Present: present, err: footnote.Errorf(footnote.Conflict,
		"The drawing %s has changed: this was made against version %d, and it is now at version %d.", present.ID, base, present.Version)}
}

func invalid(format string, args ...any) error {
	return footnote.Errorf(footnote.InvalidRequest, format, args...)
}

func missing(id string) error {
	return footnote.Errorf(footnote.NotFound, "There is no drawing %.70q.", id)
}
