// Package typed parses the values in a call, by their declared types, into values that a source can bind. They
// become arguments of a statement and never part of its text.
package typed

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote/internal/reply"
)

// The types.
const (
	Text    = "text"
	Integer = "integer"
	Number  = "number"
	Boolean = "boolean"
	Date    = "date" // 2006-01-02
)

// All lists the types in the order in which messages name them.
var All = []string{Text, Integer, Number, Boolean, Date}

// MaxText limits the bytes of a text that is bound.
const MaxText = 1000

// Value parses a value of a type; null becomes nil. If values is not empty, it lists the accepted texts. The error
// continues a sentence that begins with a name: "must be a number".
func Value(typ string, values []string, raw json.RawMessage) (any, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	switch typ {
	case Integer:
		return integer(raw)
	case Number:
		var f float64
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, errors.New("must be a number")
		}
		return f, nil
	case Boolean:
		var b bool
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, errors.New("must be true or false")
		}
		return b, nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, errors.New("must be text")
	}
	if typ == Date {
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return nil, errors.New("must be a date such as 2026-11-21")
		}
	}
	switch {
	case len(s) > MaxText || strings.ContainsRune(s, 0):
		return nil, fmt.Errorf("must have at most %d bytes, none of them NUL", MaxText)
	case len(values) > 0 && !slices.Contains(values, s):
		return nil, fmt.Errorf("must be one of %s", strings.Join(values, ", "))
	}
	return s, nil
}

// integer parses an integer; 5.0 counts as one, too.
func integer(raw json.RawMessage) (any, error) {
	var n int64
	if json.Unmarshal(raw, &n) == nil {
		return n, nil
	}
	var f float64
	if json.Unmarshal(raw, &f) == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
		return int64(f), nil
	}
	return nil, errors.New("must be a whole number within 64 bits")
}

// BoundComment returns what was bound as $n, as a comment line after the statement. A footnote uses it to name its
// query.
func BoundComment(n int, name string, arg any) string {
	return fmt.Sprintf("\n-- $%d %s: %s", n, name, reply.JSON(arg))
}
