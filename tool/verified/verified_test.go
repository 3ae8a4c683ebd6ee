package verified_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	knowledge "github.com/footnotehq/footnote/knowledge/verified"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/tooltest"
	"github.com/footnotehq/footnote/tool/verified"
)

// bound is a source that records what it is asked to run.
type bound struct {
	source.Source
	args []any
	sql  string
}

func (b *bound) Query(_ context.Context, q source.Query, each func([]any) error) (source.Summary, error) {
	b.args, b.sql = q.Args, q.SQL
	return source.Summary{
		Columns: []footnote.Column{{Name: "n", Kind: footnote.KindInteger}}, Rows: 1,
	}, each([]any{int64(7)})
}

func (b *bound) Schema(context.Context) (source.Schema, error) { return source.Schema{}, nil }

const header = "-- source: shop\n-- author: Ann\n-- date: 2026-11-02\n"

func queries(t *testing.T) *knowledge.Set {
	t.Helper()
	var all []*knowledge.Query
	for name, text := range map[string]string{
		"orders_in_month": "-- question: Orders in {month}\n-- parameter: month month\n" + header +
			"SELECT count(*) AS n FROM orders WHERE month = $1",
		"orders_by_status": "-- question: {status} orders\n-- parameter: status one of open, closed\n" +
			"-- roles: board\n" + header + "SELECT count(*) AS n FROM orders WHERE status = $1",
		"old_orders": "-- question: Old orders\n-- expires: 2026-11-26\n" + header + "SELECT 1",
	} {
		q, err := knowledge.Parse("verified/"+name+".sql", text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, q)
	}
	s, err := knowledge.New(all)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask calls the tool with an input, after the user has asked a question.
func ask(t *testing.T, src source.Source, question string, in map[string]any, roles ...string) tool.Output {
	t.Helper()
	set := queries(t)
	tl := verified.New(verified.Options{
		Queries: func() *knowledge.Set { return set }, Sources: tooltest.Sources{"shop": src},
		Now: func() time.Time { return time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC) },
	})
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := tl.Call(t.Context(), tool.Call{
		Name: tl.Spec().Name, Input: data, Sources: []string{"shop"}, ResultID: "r3",
		Principal: footnote.Principal{Roles: roles},
		Read: []footnote.Event{
			{Seq: 1, Body: footnote.UserMessage{Text: "Orders in May 2025"}},
			{Seq: 2, Body: footnote.UserMessage{Text: question}},
			{Seq: 3, Body: footnote.UserMessage{Context: "Today is Friday."}},
			{Seq: 4, Body: footnote.UserMessage{Text: "Orders in June 2025"}},
			{Seq: 5, Body: footnote.Rewound{ToSeq: 3}}, // the answer to question is made again
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestExactQuestion(t *testing.T) {
	src := &bound{}
	const question = "orders in MARCH 2026?"
	out := ask(t, src, question, map[string]any{"question": question})
	const sql = "SELECT count(*) AS n FROM orders WHERE month = $1"
	if src.sql != sql || !reflect.DeepEqual(src.args, []any{"2026-03-01"}) {
		t.Errorf("ran %q with %v", src.sql, src.args)
	}
	if out.IsError || out.Rows == nil || out.Source != "shop" || out.SQL != sql+"\n-- $1 month: \"2026-03-01\"" {
		t.Errorf("%+v", out)
	}
	want := footnote.Verified{
		Query: "orders_in_month", Question: "Orders in March 2026", By: "Ann", On: "2026-11-02",
		Digest: footnote.DigestOf([]byte(sql)),
	}
	if out.Verified == nil || *out.Verified != want {
		t.Errorf("%+v, want %+v", out.Verified, want)
	}
}

// TestBadge checks when rows are marked as verified: when the user's own question is that of the query that ran.
func TestBadge(t *testing.T) {
	byName := map[string]any{"name": "orders_in_month", "parameters": map[string]any{"month": "2026-03"}}
	for name, c := range map[string]struct {
		question string
		in       map[string]any
		want     bool
	}{
		"word for word":       {"Orders in 2026-03", map[string]any{"question": "Orders in 2026-03"}, true},
		"another wording":     {"Orders in 2026-03", map[string]any{"question": "Orders in March 2026"}, true},
		"by name":             {"Orders in 2026-03", byName, true},
		"another month":       {"Orders in 2026-04", byName, false},
		"a near miss by name": {"Orders in March 2026 without returns", byName, false},
		"a near miss changed": {
			"Orders in March 2026 by city", map[string]any{"question": "Orders in March 2026"}, false,
		},
		"a rewound question":  {"And then?", map[string]any{"question": "Orders in June 2025"}, false},
		"an earlier question": {"And in the month before?", map[string]any{"question": "Orders in May 2025"}, false},
	} {
		out := ask(t, &bound{}, c.question, c.in)
		if out.IsError || out.Rows == nil || (out.Verified != nil) != c.want {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// TestNoQuery checks calls that run nothing: the model gets the nearest queries that exist for the user, or a reason.
func TestNoQuery(t *testing.T) {
	src := &bound{}
	byName := func(name string, parameters map[string]any) map[string]any {
		return map[string]any{"name": name, "parameters": parameters}
	}
	for name, c := range map[string]struct {
		in         map[string]any
		want, lack string
		failed     bool
	}{
		"near": {map[string]any{"question": "orders in March"}, `"name":"orders_in_month"`, "orders_by_status", false},
		"far":  {map[string]any{"question": "hello"}, "none is similar", "orders", false},
		"expired": {
			map[string]any{"question": "Old orders"}, `"parameters":{"month":"month"}`, "old_orders", false,
		},
		"no role":         {map[string]any{"question": "open orders"}, "orders_in_month", "orders_by_status", false},
		"no role by name": {byName("orders_by_status", nil), "There is no verified query", "", true},
		"expired by name": {byName("old_orders", nil), "There is no verified query", "", true},
		"missing":         {byName("orders_in_month", nil), "The parameter month is missing.", "", true},
		"bad":             {byName("orders_in_month", map[string]any{"month": "May"}), "must be a month", "", true},
		"too many": {
			byName("orders_in_month", map[string]any{"month": "2026-05", "x": "1"}), "only these parameters: month", "",
			true,
		},
		"both": {map[string]any{"name": "a", "question": "b"}, "Give either", "", true},
	} {
		out := ask(t, src, "Orders in March 2026", c.in)
		if out.IsError != c.failed || out.Rows != nil || out.Verified != nil || src.sql != "" ||
			!strings.Contains(out.Content, c.want) || c.lack != "" && strings.Contains(out.Content, c.lack) {
			t.Errorf("%s: %+v", name, out)
		}
	}
	out := ask(t, src, "Open orders", map[string]any{"question": "Open orders"}, "board")
	if out.Verified == nil || !reflect.DeepEqual(src.args, []any{"open"}) {
		t.Errorf("%+v %v", out, src.args)
	}
}
