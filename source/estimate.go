package source

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// Estimator is a Source that knows, before a statement runs, about how much it would read.
type Estimator interface {
	// Estimate passes the statement through the gate as Query does, and returns what the engine expects of it. It never
	// runs the statement. Its errors are those of Query.
	Estimate(ctx context.Context, q Query) (Estimate, error)
}

// Biller is an Estimator whose engine may bill by what a statement reads.
type Biller interface {
	Estimator
	Bills() bool
}

// bills reports whether statements of a source cost money.
func bills(s Source) bool {
	b, ok := s.(Biller)
	return ok && b.Bills()
}

// Estimate holds how many rows and bytes an engine expects a statement to read, or to compute by joins if that is more.
// Estimates are often wrong by a factor of ten, except for bytes of an engine that bills by them.
type Estimate struct {
	Rows  int64 // -1 when not known
	Bytes int64 // -1 when not known
	// MicroUSD is the price of the statement in millionths of a US dollar, for engines that bill by bytes.
	MicroUSD int64
	// Why names the part of the plan that reads most, such as "reads all of orders". It may be empty.
	Why string
}

// String describes the estimate for people and models, such as "about 2,000,000 rows (reads all of orders)". It is
// empty for an unknown one.
func (e Estimate) String() string {
	var parts []string
	if e.Rows >= 0 {
		rows := " rows"
		if e.Rows == 1 {
			rows = " row"
		}
		parts = append(parts, "about "+grouped(e.Rows)+rows)
	}
	if e.Bytes >= 0 {
		parts = append(parts, "about "+size(e.Bytes))
	}
	if e.MicroUSD > 0 {
		parts = append(parts, fmt.Sprintf("about %.2f USD", float64(e.MicroUSD)/1e6))
	}
	text := strings.Join(parts, ", ")
	if e.Why != "" && text != "" {
		text += " (" + e.Why + ")"
	}
	return text
}

// size formats bytes for people.
func size(bytes int64) string {
	if bytes < 1e6 {
		return grouped(bytes) + " bytes"
	}
	units := []string{"MB", "GB", "TB", "PB"}
	n := float64(bytes) / 1e6
	for n >= 1000 && len(units) > 1 {
		n, units = n/1000, units[1:]
	}
	return strconv.FormatFloat(n, 'f', 1, 64) + " " + units[0]
}

// grouped formats a count with commas.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Unknown returns the estimate of an engine that cannot tell.
func Unknown() Estimate { return Estimate{Rows: -1, Bytes: -1} }

// Plans says how estimates are read from the plans that an engine makes.
type Plans struct {
	// Explain precedes a statement to get its plan. The engine must not run the statement for it.
	Explain string
	// Read reads a plan. Rows returns the number of rows of a table by its name, or -1 when it is not known. Largest is
	// the largest table that the statement reads.
	Read func(plan footnote.Result, rows func(table string) int64, largest int64) Estimate
}

// EstimateOf estimates a statement. The source itself knows the estimate if it is an Estimator; otherwise it is read
// from the engine's plan. It is unknown if the engine makes no plan of the statement, or must not show it: a plan
// reveals rows and columns that the principal does not see.
func EstimateOf(ctx context.Context, s Source, q Query) (Estimate, error) {
	if e, ok := s.(Estimator); ok {
		return e.Estimate(ctx, q)
	}
	plans := s.Dialect().Plans
	if plans == nil {
		return Unknown(), nil
	}
	var plan footnote.Result
	explain := Query{SQL: plans.Explain + q.SQL, Args: q.Args, Limits: q.Limits, Own: q.Own}
	sum, err := s.Query(ctx, explain, func(row []any) error {
		plan.Rows = append(plan.Rows, row)
		return nil
	})
	if bad, ok := errors.AsType[*Error](err); ok && !bad.TimedOut {
		return Unknown(), nil // the statement itself says what is wrong with it
	}
	if err != nil || sum.Truncated {
		return Unknown(), err
	}
	plan.Columns = sum.Columns
	schema, err := s.Schema(ctx)
	if err != nil {
		return Unknown(), err
	}
	rows := func(table string) int64 {
		if t, ok := schema.Table(table); ok {
			return t.Rows
		}
		return -1
	}
	largest := int64(-1)
	for _, name := range sum.Tables {
		largest = max(largest, rows(name))
	}
	return plans.Read(plan, rows, largest), nil
}

// Work adds up what the parts of a plan read. The zero value has read nothing.
type Work struct {
	rows, most float64
	why        string
}

// Add adds a part that reads rows, and says why.
func (w *Work) Add(rows float64, why string) {
	w.rows += rows
	if rows > w.most {
		w.most, w.why = rows, why
	}
}

// Scan adds a part that reads a table as often as given. All means that it reads the whole table each time.
func (w *Work) Scan(table string, rows, times float64, all bool) {
	why := "reads a part of " + table
	if all {
		why = "reads all of " + table
	}
	if times > 1 {
		why += " about " + grouped(toInt(times)) + " times"
	}
	w.Add(rows*max(times, 1), why)
}

// AtLeast raises the estimate to what a join computes.
func (w *Work) AtLeast(rows float64, why string) {
	if rows > w.rows {
		w.rows, w.most, w.why = rows, rows, why
	}
}

// Estimate returns the sum.
func (w *Work) Estimate() Estimate { return Estimate{Rows: toInt(w.rows), Bytes: -1, Why: w.why} }

// toInt rounds a count, which may be too large for an integer.
func toInt(n float64) int64 {
	if n >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(math.Round(n))
}

// Allowed limits what a statement may read by its estimate. Zero fields limit nothing.
type Allowed struct {
	Rows, Bytes, MicroUSD int64
	// Ask lets a person approve a statement that exceeds a limit, where one can. Otherwise it is refused.
	Ask bool
}

// exceeds returns what is too much in an estimate, as a sentence, or "".
func (a Allowed) exceeds(e Estimate) string {
	var limit string
	switch {
	case a.Rows > 0 && e.Rows > a.Rows:
		limit = grouped(a.Rows) + " rows"
	case a.Bytes > 0 && e.Bytes > a.Bytes:
		limit = size(a.Bytes)
	case a.MicroUSD > 0 && e.MicroUSD > a.MicroUSD:
		limit = fmt.Sprintf("%.2f USD", float64(a.MicroUSD)/1e6)
	default:
		return ""
	}
	return "The database expects this statement to read " + e.String() + ", and the limit is " + limit + "."
}

// EstimateTime limits how long an estimate may take. A statement without one runs within its other limits.
const EstimateTime = 5 * time.Second

// Estimated returns a source that estimates each statement before it runs it, and refuses one that would read more
// than allowed. If allowed.Ask is set, it runs one that a person has approved; see footnote.Clearance. A statement that
// costs money is paid for first. It returns s itself if there is nothing to estimate for.
func Estimated(s Source, allowed Allowed) Source {
	if !bills(s) && allowed == (Allowed{Ask: allowed.Ask}) {
		return s
	}
	return estimated{s, allowed}
}

type estimated struct {
	Source
	allowed Allowed
}

// Inner returns the source itself, for what is not about statements.
func Inner(s Source) Source {
	if e, ok := s.(estimated); ok {
		return e.Source
	}
	return s
}

// Query implements Source.
func (s estimated) Query(ctx context.Context, q Query, each func(row []any) error) (Summary, error) {
	e, err := s.estimate(ctx, q)
	if err != nil {
		return Summary{}, err
	}
	clearance := footnote.ClearanceOf(ctx)
	approved := s.allowed.Ask && clearance.Given && (clearance.Estimate == "" || clearance.Estimate == e.String())
	if words := s.allowed.exceeds(e); words != "" && !approved {
		return Summary{Estimate: e.String()}, s.refusal(words, clearance)
	}
	if e.MicroUSD > 0 {
		err := clearance.Pay(ctx, e.MicroUSD)
		if footnote.CodeOf(err) == footnote.BudgetExceeded {
			err = Limitf("The statement was not run. %s", footnote.MessageOf(err))
		}
		if err != nil {
			return Summary{Estimate: e.String()}, err
		}
	}
	sum, err := s.Source.Query(ctx, q, each)
	sum.Estimate = e.String()
	return sum, err
}

// refusal returns the error of a statement that exceeds a limit, and asks for an approval of its call where a person
// can give it.
func (s estimated) refusal(words string, clearance *footnote.Clearance) error {
	switch {
	case s.allowed.Ask && clearance.CanAsk:
		clearance.Ask(words)
		return Refusef("%s A person must approve it.", words)
	case s.allowed.Ask && clearance.Estimate != "":
		return Refusef("%s What a person approved was %s. Ask the question again, and approve it anew.", words,
			clearance.Estimate)
	case s.allowed.Ask:
		words += " A person must approve it, and no one can do so here."
	}
	return Refusef("%s Read less: filter by an indexed column, or aggregate a smaller part.", words)
}

// estimate estimates a statement in a bounded time.
func (s estimated) estimate(ctx context.Context, q Query) (Estimate, error) {
	limited, cancel := context.WithTimeout(ctx, EstimateTime)
	defer cancel()
	q.Limits = Limits{Time: EstimateTime}
	e, err := EstimateOf(limited, s.Source, q)
	if err == nil || ctx.Err() != nil {
		return e, err
	}
	bad, ok := errors.AsType[*Error](err)
	if !bills(s.Source) && (limited.Err() != nil || ok && bad.TimedOut) {
		return Unknown(), nil
	}
	return e, err
}
