package app

import (
	"context"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/source"
)

// TestTableLimits checks the setting tables on the demo shop: what it leaves out is neither listed nor readable, and
// what it describes is described.
func TestTableLimits(t *testing.T) {
	shop, err := DemoShop(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	open := func(tables config.Tables) (source.Source, error) {
		c := config.Default()
		c.Data, c.Sources, c.Tables = t.TempDir(), shop, map[string]config.Tables{"shop": tables}
		src, end, err := OpenSource(t.Context(), c, Options{})
		if err == nil {
			t.Cleanup(func() { _ = end() })
		}
		return src, err
	}
	type names = []string
	for name, c := range map[string]struct {
		include, exclude names
		want             string // the tables, or a part of the error
	}{
		"one":          {names{"customers"}, nil, "customers"},
		"patterns":     {names{"C*S", "order*"}, names{"*_ITEMS"}, "customers, orders"},
		"exclude":      {names{"customers", "orders"}, names{"Orders"}, "customers"},
		"misspelled":   {nil, names{"custmers"}, `tables.shop names "custmers"`},
		"other schema": {names{"sales.*"}, nil, "Tables of the default schema are named without it"},
	} {
		src, err := open(config.Tables{Include: c.include, Exclude: c.exclude})
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
			continue
		}
		s, err := src.Schema(t.Context())
		var listed names
		for _, table := range s.Tables {
			listed = append(listed, table.Name)
		}
		if got := strings.Join(listed, ", "); err != nil || got != c.want {
			t.Errorf("%s: %s (%v), want %s", name, got, err, c.want)
		}
		_, _, err = source.Collect(t.Context(), src, source.Query{SQL: "SELECT * FROM order_items"})
		if err == nil || strings.Contains(err.Error(), "categories") {
			t.Errorf("%s: a table that is left out: %v", name, err)
		}
	}
	_, err = open(config.Tables{Descriptions: map[string]string{"customers.nme": "x"}})
	if err == nil || !strings.Contains(err.Error(), "no such table or column") {
		t.Errorf("a description of nothing: %v", err)
	}
	src, err := open(config.Tables{Descriptions: map[string]string{
		"customers": "One row per buyer.", "Customers.City": "Where the bill goes.",
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := src.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table, _ := s.Table("customers")
	city, _ := table.Column("city")
	if table.Comment != "One row per buyer." || city.Comment != "Where the bill goes." {
		t.Errorf("descriptions: %q, %q", table.Comment, city.Comment)
	}
}

// contextHiding hides and describes as a context folder does.
type contextHiding struct{ source.Hiding }

func (contextHiding) Any() bool { return true }
func (contextHiding) For(context.Context) source.Hidden {
	return source.Hidden{{Table: "staff"}}
}
func (contextHiding) Digest() string                    { return "digest" }
func (contextHiding) Label([]string, []footnote.Column) {}
func (contextHiding) Describe(s source.Schema) source.Schema {
	s.Tables[0].Comment = strings.ToUpper(s.Tables[0].Comment)
	return s
}

// TestTableLimitsAndContext checks that the setting tables adds to what the context folder hides and says.
func TestTableLimitsAndContext(t *testing.T) {
	setting := config.Tables{Exclude: []string{"x"}, Descriptions: map[string]string{"t": "what"}}
	l := limitTables(setting, contextHiding{})
	h := l.For(t.Context())
	if _, whole := h.Of("", "staff"); !whole {
		t.Error("what the context hides is shown")
	}
	if _, whole := h.Of("any", "X"); !whole {
		t.Error("what the setting excludes is shown")
	}
	s := l.(source.Describer).Describe(source.Schema{Tables: []source.Table{{Name: "t"}}})
	if s.Tables[0].Comment != "WHAT" {
		t.Errorf("comment: %q", s.Tables[0].Comment)
	}
	if limitTables(config.Tables{}, nil) != nil {
		t.Error("no setting limits something")
	}
}
