package own_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/tooltest"
	"github.com/footnotehq/footnote/tool/own"
)

// bound is a source that records the bound parameters.
type bound struct {
	source.Source
	args []any
	sql  string
}

func (b *bound) Query(_ context.Context, q source.Query, each func([]any) error) (source.Summary, error) {
	b.args, b.sql = q.Args, q.SQL
	return source.Summary{
		Columns: []footnote.Column{{Name: "n", Kind: footnote.KindInteger}},
		Rows:    1,
	}, each([]any{int64(7)})
}

func (b *bound) Schema(context.Context) (source.Schema, error) { return source.Schema{}, nil }

func options(src source.Source) own.Options {
	return own.Options{
		Name: "orders_of", Description: "Orders of a city.", Source: "shop", Sources: tooltest.Sources{"shop": src},
		SQL: "SELECT count(*) AS n FROM orders WHERE city = $1 AND total > $2 AND id < $3 AND paid = $4 AND day >= " +
			"$5 AND status = coalesce($6, status) AND city <> $1",
		Parameters: []own.Parameter{
			{
				Name: "city",
				Type: own.Text,
			},
			{Name: "least", Type: own.Number},
			{Name: "id", Type: own.Integer},
			{Name: "paid", Type: own.Boolean},
			{
				Name: "since",
				Type: own.Date,
			},
			{Name: "status", Type: own.Text, Values: []string{"open", "done"}, Optional: true},
		},
	}
}

func TestCall(t *testing.T) {
	src := &bound{}
	tool, err := own.New(options(src))
	if err != nil {
		t.Fatal(err)
	}
	hostile := "O'Slo\n; DROP TABLE orders -- $2"
	call := tooltest.Call(t, tool, map[string]any{
		"thought": "why", "city": hostile, "least": 1.5, "id": json.RawMessage("9007199254740993"), "paid": true,
		"since": "2026-01-31",
	}, "shop")
	out, err := tool.Call(t.Context(), call)
	if err != nil || out.IsError {
		t.Fatalf("call: %+v, %v", out, err)
	}
	if want := []any{
		hostile, 1.5, int64(9007199254740993), true, "2026-01-31", nil,
	}; !reflect.DeepEqual(src.args, want) {
		t.Errorf("bound %#v, want %#v", src.args, want)
	}
	if src.sql != options(nil).SQL {
		t.Errorf("the statement became %s", src.sql)
	}
	for _, line := range strings.Split(strings.TrimPrefix(out.SQL, src.sql), "\n")[1:] {
		if !strings.HasPrefix(line, "-- $") {
			t.Errorf("a line beside the comment: %q", line)
		}
	}
	if !strings.Contains(out.SQL, `-- $1 city: "O'Slo\n; DROP TABLE orders -- $2"`) ||
		!strings.Contains(out.SQL, "-- $6 status: null") {
		t.Errorf("the reported SQL is %s", out.SQL)
	}
	if out.Source != "shop" || out.Rows == nil || !strings.Contains(out.Content, `"r1"`) {
		t.Errorf("output: %+v", out)
	}
	if out, err := tool.Call(t.Context(), tooltest.Call(t, tool, call.Input, "other")); err != nil || !out.IsError {
		t.Errorf("a conversation without its source: %+v, %v", out, err)
	}
}

func TestInvalidArguments(t *testing.T) {
	tl, err := own.New(options(&bound{}))
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]string{
		"city": `"Oslo"`, "least": "1", "id": "5.0", "paid": "false", "since": `"2026-01-31"`, "status": `"open"`,
	}
	call := func(name, value string) tool.Output {
		var fields []string
		for n, v := range good {
			if n == name {
				v = value
			}
			if v != "" {
				fields = append(fields, fmt.Sprintf("%q:%s", n, v))
			}
		}
		out, err := tl.Call(t.Context(), tooltest.Call(t, tl, "{"+strings.Join(fields, ",")+"}", "shop"))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := call("", ""); out.IsError {
		t.Fatalf("a good call: %s", out.Content)
	}
	for _, c := range [][2]string{
		{"city", ""},
		{"city", "null"}, {"city", "1"}, {"city", `"a\u0000b"`}, {"city", `"` + strings.Repeat("x", 1001) + `"`},
		{"least", `"1"`},
		{"least", "1e999"}, {"id", "1.5"}, {"id", "9223372036854775808"}, {"paid", "1"}, {"paid", `"true"`},
		{"since", `"2026-02-30"`}, {"since", `"tomorrow"`}, {"status", `"all"`},
	} {
		if out := call(c[0], c[1]); !out.IsError || !strings.Contains(out.Content, c[0]) {
			t.Errorf("%s = %.40s: %+v", c[0], c[1], out)
		}
	}
}

func TestInvalidOptions(t *testing.T) {
	for name, change := range map[string]func(*own.Options){
		"name":                   func(o *own.Options) { o.Name = "Orders of" },
		"description":            func(o *own.Options) { o.Description = " " },
		"no sql":                 func(o *own.Options) { o.SQL = "" },
		"too few places":         func(o *own.Options) { o.SQL = "SELECT $1" },
		"too many places":        func(o *own.Options) { o.SQL += " AND x = $7" },
		"places out of order":    func(o *own.Options) { o.SQL = "SELECT $2, $1, $3, $4, $5, $6" },
		"type":                   func(o *own.Options) { o.Parameters[0].Type = "varchar" },
		"name of a parameter":    func(o *own.Options) { o.Parameters[0].Name = "City" },
		"name that is taken":     func(o *own.Options) { o.Parameters[0].Name = "least" },
		"the name of the remark": func(o *own.Options) { o.Parameters[0].Name = "thought" },
		"values of a number":     func(o *own.Options) { o.Parameters[1].Values = []string{"1"} },
		"too many parameters":    func(o *own.Options) { o.Parameters = make([]own.Parameter, 33) },
	} {
		o := options(nil)
		change(&o)
		if _, err := own.New(o); err == nil || !strings.Contains(err.Error(), o.Name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
