package drawing

import (
	"encoding/json"
	"maps"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	core "github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/market/internal/cell"
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
	t, err := cell.ParseTime(s)
	if err != nil {
		return footnote.Invalidf("%.40q is not a time. Write it as 2026-11-20T14:00:00Z.", s)
	}
	*m = moment(t.Unix())
	return nil
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

	Anchor       *point `json:"anchor"`
	Anchor1      *point `json:"anchor1"`
	Anchor2      *point `json:"anchor2"`
	Center       *point `json:"center"`
	Edge         *point `json:"edge"`
	Timestamp    moment `json:"timestamp"`
	EndTimestamp moment `json:"endTimestamp"`

	fields map[string]json.RawMessage // fields of a drawing, and those above except for the version
}

func read(data json.RawMessage) (in input, err error) {
	if err = decode(data, &in); err == nil {
		err = decode(data, &in.fields)
	}
	maps.DeleteFunc(in.fields, func(name string, v json.RawMessage) bool { return string(v) == "null" })
	if kind, given := in.fields["type"]; given {
		in.fields["extend"] = kind
	}
	delete(in.fields, "type")
	delete(in.fields, "version")
	return in, err
}

func decode(data json.RawMessage, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil || footnote.CodeOf(err) == footnote.InvalidRequest {
		return err
	}
	return &footnote.Error{
		Code:    footnote.InvalidRequest,
		Message: "The input does not fit the tool: numbers are finite, and times are times.",
		Err:     err,
	}
}

// applyTo copies the given fields to a drawing. It moves times to the start of their bars.
func (in *input) applyTo(d *core.Drawing, snap func(timeframe string, unix int64) (int64, error)) error {
	if err := decode(reply.JSON(in.fields), d); err != nil {
		return err
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
			return footnote.Invalidf("The second anchor is set, but the first is missing.")
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
