package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/typed"
)

// filterOf returns the filter for a column that a call names.
func (at target) filterOf(column string) (filter, error) {
	var names []string
	for _, f := range at.filters {
		if f.column.Name == column {
			return f, nil
		}
		names = append(names, f.column.Name)
	}
	column, _ = reply.Clip(column, 80)
	if len(names) == 0 {
		return filter{}, tool.Refusef("%s has no filters.", at.Name)
	}
	return filter{}, tool.Refusef("%s has no filter %q. There are: %s.", at.Name, strings.ToValidUTF8(column, "�"),
		strings.Join(names, ", "))
}

// isGiven reports whether a value is present.
func isGiven(raw json.RawMessage) bool { return len(raw) > 0 }

// condition returns a filter of a column as SQL. Its error continues a sentence that begins with the filter's name.
func (f filter) condition(w *writer, column string, in filterInput) (string, error) {
	ways := btoi(isGiven(in.Equals)) + btoi(in.In != nil) + btoi(isGiven(in.From) || isGiven(in.To))
	if ways != 1 {
		return "", errors.New("needs one of: equals, in, or from and to")
	}
	if f.Type == typed.Text {
		column = w.text(column)
	}
	if isGiven(in.From) || isGiven(in.To) {
		return f.between(w, column, in)
	}
	raws := in.In
	if isGiven(in.Equals) {
		raws = []json.RawMessage{in.Equals}
	}
	if len(raws) == 0 || len(raws) > maxValues {
		return "", fmt.Errorf("takes 1 to %d values", maxValues)
	}
	var each []string
	for _, raw := range raws {
		v, err := f.value(raw)
		if err != nil {
			return "", err
		}
		if f.Type == typed.Date {
			each = append(each, f.days(w, column, v.(string), v.(string)))
		} else {
			each = append(each, w.bind(f.column.Name, v))
		}
	}
	if f.Type == typed.Date {
		return "(" + strings.Join(each, " OR ") + ")", nil
	}
	return column + " IN (" + strings.Join(each, ", ") + ")", nil
}

// value parses a value of the filter's type.
func (f filter) value(raw json.RawMessage) (any, error) {
	v, err := typed.Value(f.Type, f.Values, raw)
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return nil, errors.New("must have a value, not null")
	}
	if s, ok := v.(string); ok && f.Type == typed.Date && (s < "0001-01-02" || s > "9998-12-31") {
		return nil, errors.New("must be a date of the years 1 to 9998")
	}
	return v, nil
}

// between returns the condition for a range that includes both ends.
func (f filter) between(w *writer, column string, in filterInput) (string, error) {
	if !slices.Contains([]string{typed.Integer, typed.Number, typed.Date}, f.Type) {
		return "", fmt.Errorf("has the type %s, which has no range: use equals or in", f.Type)
	}
	var conds []string
	var ends [2]string
	for i, raw := range []json.RawMessage{in.From, in.To} {
		if !isGiven(raw) {
			continue
		}
		v, err := f.value(raw)
		if err != nil {
			return "", err
		}
		if f.Type == typed.Date {
			ends[i] = v.(string)
			continue
		}
		conds = append(conds, column+[]string{" >= ", " <= "}[i]+w.bind(f.column.Name, v))
	}
	if f.Type == typed.Date {
		return f.days(w, column, ends[0], ends[1]), nil
	}
	return strings.Join(conds, " AND "), nil
}

// days returns the condition that a date or timestamp is between two days, both included. Either day may be empty.
func (f filter) days(w *writer, column, from, to string) string {
	mark := func(day string) string {
		return w.dialect.DayArgument.Of(w.bind(f.column.Name, day))
	}
	var conds []string
	if from != "" {
		conds = append(conds, column+" >= "+mark(from))
	}
	if to != "" {
		day, err := time.Parse(time.DateOnly, to)
		if err != nil {
			panic(err) // value has already parsed it
		}
		conds = append(conds, column+" < "+mark(day.AddDate(0, 0, 1).Format(time.DateOnly)))
	}
	return "(" + strings.Join(conds, " AND ") + ")"
}

// example returns the filter as a call could write it.
func (f filter) example() filterInput {
	switch f.Type {
	case typed.Integer, typed.Number:
		return filterInput{Column: f.column.Name, From: json.RawMessage("1")}
	case typed.Boolean:
		return filterInput{Column: f.column.Name, Equals: json.RawMessage("true")}
	case typed.Date:
		return filterInput{Column: f.column.Name, Equals: json.RawMessage(`"2026-11-21"`)}
	}
	value := "x"
	if len(f.Values) > 0 {
		value = f.Values[0]
	}
	return filterInput{Column: f.column.Name, Equals: reply.JSON(value)}
}
