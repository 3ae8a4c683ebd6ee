package source_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// billed is a source whose engine bills statements.
type billed struct {
	source.Source // nil
	estimate      func(context.Context) (source.Estimate, error)
	ran           int
}

func (b *billed) Estimate(ctx context.Context, _ source.Query) (source.Estimate, error) {
	return b.estimate(ctx)
}

func (b *billed) Bills() bool { return true }

func (b *billed) Query(context.Context, source.Query, func([]any) error) (source.Summary, error) {
	b.ran++
	return source.Summary{}, nil
}

// TestEstimated checks what runs, what is asked and what is paid, by estimate.
func TestEstimated(t *testing.T) {
	large := source.Estimate{Rows: 2_000_000, Bytes: 3 << 30, MicroUSD: 20_000, Why: "reads all of orders"}
	poor := footnote.Errorf(footnote.BudgetExceeded, "Nothing is left.")
	for _, test := range []struct {
		name      string
		estimate  source.Estimate
		allowed   source.Allowed
		clearance *footnote.Clearance
		budget    error
		refusal   string // a part of it; empty: the statement runs
		asked     bool
		paid      int64
	}{
		{name: "no limits", estimate: large, paid: 20_000},
		{name: "within", estimate: large, allowed: source.Allowed{Rows: 2_000_000, MicroUSD: 20_000}, paid: 20_000},
		{name: "unknown", estimate: source.Unknown(), allowed: source.Allowed{Rows: 1, Bytes: 1, MicroUSD: 1}},
		{name: "rows", estimate: large, allowed: source.Allowed{Rows: 1_000}, refusal: "is 1,000 rows. Read less"},
		{name: "bytes", estimate: large, allowed: source.Allowed{Bytes: 1e9}, refusal: "the limit is 1.0 GB"},
		{name: "money", estimate: large, allowed: source.Allowed{MicroUSD: 10_000}, refusal: "the limit is 0.01 USD"},
		{
			name: "ask", estimate: large, allowed: source.Allowed{Rows: 1, Ask: true},
			clearance: &footnote.Clearance{CanAsk: true}, refusal: "A person must approve it.", asked: true,
		},
		{
			name: "nobody to ask", estimate: large, allowed: source.Allowed{Rows: 1, Ask: true},
			refusal: "no one can do so here",
		},
		{
			name: "approved", estimate: large, allowed: source.Allowed{Rows: 1, Ask: true},
			clearance: &footnote.Clearance{CanAsk: true, Given: true}, paid: 20_000,
		},
		{
			name: "approved by its estimate", estimate: large, allowed: source.Allowed{Rows: 1, Ask: true},
			clearance: &footnote.Clearance{Given: true, Estimate: large.String()}, paid: 20_000,
		},
		{
			name: "another estimate", estimate: large, allowed: source.Allowed{Rows: 1, Ask: true},
			clearance: &footnote.Clearance{Given: true, Estimate: "about 2 rows"},
			refusal:   "What a person approved was about 2 rows.",
		},
		{
			name: "never asks", estimate: large, allowed: source.Allowed{Rows: 1},
			clearance: &footnote.Clearance{CanAsk: true, Given: true},
			refusal:   "about 2,000,000 rows, about 3.2 GB, about 0.02 USD (reads all of orders), and the limit is 1 rows",
		},
		{name: "too poor", estimate: large, budget: poor, refusal: "The statement was not run. Nothing is left."},
	} {
		t.Run(test.name, func(t *testing.T) {
			src := &billed{estimate: func(context.Context) (source.Estimate, error) { return test.estimate, nil }}
			clearance := test.clearance
			if clearance == nil {
				clearance = &footnote.Clearance{}
			}
			paid := int64(0)
			clearance.Reserve = func(_ context.Context, microUSD int64) error {
				if test.budget == nil {
					paid += microUSD
				}
				return test.budget
			}
			ctx, ran := footnote.WithStatements(footnote.WithClearance(t.Context(), clearance))
			_, _, err := source.Collect(ctx, source.Estimated(src, test.allowed), source.Query{SQL: "SELECT 1"})
			refused := ""
			if bad, ok := errors.AsType[*source.Error](err); ok {
				refused = bad.Reason
			} else if err != nil {
				t.Fatal(err)
			}
			if (refused == "") != (test.refusal == "") || !strings.Contains(refused, test.refusal) {
				t.Errorf("refused with %q, want %q", refused, test.refusal)
			}
			if (src.ran == 1) != (test.refusal == "") || paid != test.paid || (clearance.Reason() != "") != test.asked {
				t.Errorf("ran %d times, paid %d, asked %q", src.ran, paid, clearance.Reason())
			}
			if list := ran.All(); len(list) != 1 || list[0].Estimate != test.estimate.String() {
				t.Errorf("recorded %+v", list)
			}
		})
	}
}

// TestSlowEstimate checks that a statement that must be paid for does not run without an estimate.
func TestSlowEstimate(t *testing.T) {
	src := &billed{estimate: func(ctx context.Context) (source.Estimate, error) {
		end, ok := ctx.Deadline()
		if !ok || time.Until(end) > source.EstimateTime {
			t.Error("an estimate without a time limit")
		}
		return source.Unknown(), source.Limitf("The estimate took too long.")
	}}
	_, _, err := source.Collect(t.Context(), source.Estimated(src, source.Allowed{}), source.Query{SQL: "SELECT 1"})
	if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Limited || src.ran != 0 {
		t.Errorf("%v after %d statements", err, src.ran)
	}
}
