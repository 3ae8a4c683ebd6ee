// Package typed reads values that a call gives, by their declared type, into what a
// source binds. What is read here becomes an argument of a statement and never a
// part of it.
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

// All are the types, in the order in which messages name them.
var All = []string{Text, Integer, Number, Boolean, Date}

// Longest is the bytes of a text that is bound.
const Longest = 1000

// Value reads a value of a type; null is nil. Values, where there are any, are the
// texts that are taken. The error goes on after a name: "must be a number".
func Value(typ string, values []string, raw json.RawMessage) (any, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	switch typ {
	case Integer:
		return whole(raw)
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
	case len(s) > Longest || strings.ContainsRune(s, 0):
		return nil, fmt.Errorf("must have at most %d bytes, none of them NUL", Longest)
	case len(values) > 0 && !slices.Contains(values, s):
		return nil, fmt.Errorf("must be one of %s", strings.Join(values, ", "))
	}
	return s, nil
}

// whole reads an integer; 5.0 is one, too.
func whole(raw json.RawMessage) (any, error) {
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

// Said tells what was bound as $n, as a line of comment behind the statement, by
// which a footnote names its query.
func Said(n int, name string, arg any) string {
	return fmt.Sprintf("\n-- $%d %s: %s", n, name, reply.JSON(arg))
}
