package drawing

import (
	"encoding/json"
	"time"

	"github.com/footnotehq/footnote"
	core "github.com/footnotehq/footnote/market/drawing"
)

// moment is a time in a call: RFC 3339 or unix seconds. Documents store unix seconds.
type moment int64

// UnmarshalJSON decodes either form.
func (m *moment) UnmarshalJSON(data []byte) error {
	var n int64
	if json.Unmarshal(data, &n) == nil {
		*m = moment(n)
		return nil
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	for _, form := range []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02",
	} {
		if t, err := time.Parse(form, s); err == nil {
			*m = moment(t.Unix())
			return nil
		}
	}
	return footnote.Errorf(footnote.InvalidRequest, "%.40q is not a time. Write it as 2026-11-20T14:00:00Z.", s)
}

type point struct {
	Timestamp moment  `json:"timestamp"`
	Price     float64 `json:"price"`
}

// input holds the arguments of all tools. The schema of each tool lists those it accepts.
type input struct {
	DrawingID string `json:"drawingId"`
	Reason    string `json:"reason"`
	Version   int64  `json:"version"`

	Price        *float64 `json:"price"`
	Anchor       *point   `json:"anchor"`
	Anchor1      *point   `json:"anchor1"`
	Anchor2      *point   `json:"anchor2"`
	Center       *point   `json:"center"`
	Edge         *point   `json:"edge"`
	Timestamp    moment   `json:"timestamp"`
	EndTimestamp moment   `json:"endTimestamp"`

	Type       *string          `json:"type"`
	Levels     []float64        `json:"levels"`
	Text       *string          `json:"text"`
	Label      *string          `json:"label"`
	Color      *string          `json:"color"`
	LineStyle  *string          `json:"lineStyle"`
	FillColor  *string          `json:"fillColor"`
	MarkerType *string          `json:"markerType"`
	Size       *float64         `json:"size"`
	Entry      *float64         `json:"entry"`
	TakeProfit *float64         `json:"takeProfit"`
	StopLoss   *float64         `json:"stopLoss"`
	Status     *string          `json:"status"`
	Notes      *string          `json:"notes"`
	Tags       []string         `json:"tags"`
	Importance *string          `json:"importance"`
	Visibility *core.Visibility `json:"visibility"`
	Hidden     *bool            `json:"hidden"`
}

func read(data json.RawMessage) (in input, err error) {
	if err := json.Unmarshal(data, &in); err != nil {
		if footnote.CodeOf(err) == footnote.InvalidRequest {
			return in, err
		}
		return in, &footnote.Error{
			Code:    footnote.InvalidRequest,
			Message: "The input does not fit the tool: numbers are finite, and times are times.",
			Err:     err,
		}
	}
	return in, nil
}

// notes returns the reason for a new drawing.
func (in *input) notes() string {
	if in.Notes == nil {
		return ""
	}
	r := []rune(*in.Notes)
	return string(r[:min(len(r), core.MaxReason)])
}

// applyTo copies the given fields to a drawing. It moves times to the start of their bars.
func (in *input) applyTo(d *core.Drawing, snap func(timeframe string, unix int64) (int64, error)) error {
	set := func(to *string, v *string) {
		if v != nil {
			*to = *v
		}
	}
	set(&d.Extend, in.Type)
	set(&d.Text, in.Text)
	set(&d.Label, in.Label)
	set(&d.Color, in.Color)
	set(&d.LineStyle, in.LineStyle)
	set(&d.FillColor, in.FillColor)
	set(&d.MarkerType, in.MarkerType)
	set(&d.Status, in.Status)
	set(&d.Notes, in.Notes)
	set(&d.Importance, in.Importance)
	for to, v := range map[**float64]*float64{
		&d.Price: in.Price, &d.Entry: in.Entry, &d.TakeProfit: in.TakeProfit, &d.StopLoss: in.StopLoss,
	} {
		if v != nil {
			*to = v
		}
	}
	if in.Levels != nil {
		d.Levels = in.Levels
	}
	if in.Tags != nil {
		d.Tags = in.Tags
	}
	if in.Visibility != nil {
		d.Visibility = *in.Visibility
	}
	if in.Size != nil {
		d.Size = *in.Size
	}
	if in.Hidden != nil {
		d.Hidden = *in.Hidden
	}
	return in.anchors(d, snap)
}

// placed reports whether the input names a time.
func (in *input) placed() bool {
	return in.Anchor != nil || in.Anchor1 != nil || in.Anchor2 != nil || in.Center != nil || in.Edge != nil ||
		in.Timestamp != 0 || in.EndTimestamp != 0
}

// anchors copies the given places to a drawing. Each kind of drawing has its own names for them.
func (in *input) anchors(d *core.Drawing, snap func(timeframe string, unix int64) (int64, error)) error {
	at := map[int]point{}
	for i, list := range [][]*point{{in.Anchor, in.Anchor1, in.Center}, {in.Anchor2, in.Edge}} {
		for _, p := range list {
			if p != nil {
				at[i] = *p
			}
		}
	}
	for i, m := range []moment{in.Timestamp, in.EndTimestamp} {
		if m == 0 || d.IsPosition() && i < len(d.Anchors) && d.Anchors[i].Time == int64(m) {
			continue
		}
		p := point{Timestamp: m}
		if i < len(d.Anchors) {
			p.Price = d.Anchors[i].Price
		}
		at[i] = p
	}
	for i := range 2 {
		p, given := at[i]
		if !given {
			continue
		}
		if i > len(d.Anchors) {
			return footnote.Errorf(footnote.InvalidRequest, "The second anchor is set, but the first is missing.")
		}
		if i == len(d.Anchors) {
			d.Anchors = append(d.Anchors, core.Anchor{})
		}
		d.Anchors[i] = core.Anchor{Time: int64(p.Timestamp), Price: p.Price}
	}
	for i := range d.Anchors {
		if _, given := at[i]; !given && d.Version != 0 {
			continue // it has not moved
		}
		unix, err := snap(d.Timeframe, d.Anchors[i].Time)
		if err != nil {
			return err
		}
		d.Anchors[i].Time = unix
	}
	return nil
}
