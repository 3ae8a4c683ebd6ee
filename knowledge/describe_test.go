package knowledge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/knowledge"
	"github.com/footnotehq/footnote/source"
)

const described = `
name: shop
description: The web shop.
ai_context: {instructions: Amounts are net.}
datasets:
- name: orders
  source: shop.sales.orders
  description: One row for each order
  synonyms: [purchases]
  primary_key: [id]
  fields:
  - {name: total, description: What the customer paid, unit: EUR, format: "0.00", synonyms: [revenue, takings]}
  - {name: weight, unit: kg}
  - {name: margin, roles: [finance]}
  - {name: note, hidden: true}
- name: clients
  source: customers
  roles: [sales]
relationships:
- {name: placed_by, from: orders, to: clients, from_columns: [client], to_columns: [id]}
- {name: noted, from: orders, to: clients, from_columns: [note], to_columns: [id]}
metrics:
- {name: revenue, expression: SUM(orders.total), unit: EUR, description: Paid orders, synonyms: [turnover]}
- {name: profit, expression: SUM(orders.margin)}
- {name: cost, expression: SUM(orders.total) / 2, roles: [finance]}
`

func model(t *testing.T) *knowledge.Context {
	t.Helper()
	c, err := knowledge.Read(folder("model.yaml", described))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func columns(names ...string) (list []source.Column) {
	for _, n := range names {
		list = append(list, source.Column{Name: n})
	}
	return list
}

func TestHiddenByRole(t *testing.T) {
	c, all := model(t), []string{"crm", "shop"}
	for _, x := range []struct {
		source string
		roles  []string
		want   source.Hidden
	}{
		{"shop", nil, source.Hidden{
			{Schema: "sales", Table: "orders", Columns: []string{"margin", "note"}}, {Table: "customers"},
		}},
		{"shop", []string{"finance", "sales"}, source.Hidden{
			{Schema: "sales", Table: "orders", Columns: []string{"note"}},
		}},
		{"crm", []string{"finance"}, source.Hidden{{Table: "customers"}}},
		{"crm", []string{"sales"}, nil},
	} {
		got := c.Hidden(x.source, all, footnote.Principal{Roles: x.roles})
		if got.Digest() != x.want.Digest() {
			t.Errorf("%s, %v: hidden are %+v, want %+v", x.source, x.roles, got, x.want)
		}
	}
	if !c.Hides("crm", all) {
		t.Error("nothing of crm is hidden from anybody")
	}
}

func TestDescribe(t *testing.T) {
	s := source.Schema{Tables: []source.Table{
		{Schema: "old", Name: "orders", Columns: columns("id", "total")},
		{Schema: "sales", Name: "Orders", Comment: "stored", Columns: columns("id", "Total", "weight", "client")},
		{Name: "customers", Columns: columns("id"), PrimaryKey: []string{"id"}},
	}}
	got := model(t).Describe("shop", []string{"shop"}, s)
	orders := got.Tables[1]
	total := orders.Columns[1]
	switch {
	case orders.Comment != "One row for each order. Also called purchases." || orders.Synonyms[0] != "purchases":
	case got.Tables[0].Comment != "":
	case total.Comment != "What the customer paid. Unit: EUR. Also called revenue, takings." || total.Unit != "EUR":
	case total.Format != "0.00" || !slices.Equal(total.Synonyms, []string{"revenue", "takings"}):
	case orders.Columns[2].Comment != "Unit: kg." || orders.PrimaryKey[0] != "id":
	case len(orders.ForeignKeys) != 1 || orders.ForeignKeys[0].RefTable != "customers":
	case s.Tables[1].Columns[1].Unit != "" || s.Tables[1].PrimaryKey != nil: // the schema may be shared
	default:
		return
	}
	t.Errorf("the schema is %+v", got.Tables)
}

func TestLabel(t *testing.T) {
	all := []footnote.Column{
		{Name: "total", Kind: footnote.KindDecimal}, {Name: "sum(o.total)", Kind: footnote.KindNumber},
		{Name: `MAX("weight")`, Kind: footnote.KindInteger}, {Name: "revenue", Kind: footnote.KindNumber},
		{Name: "id", Kind: footnote.KindInteger}, {Name: "total", Kind: footnote.KindText},
		{Name: "count(total)", Kind: footnote.KindInteger},
	}
	model(t).Label("shop", []string{"shop"}, []string{"sales.orders"}, all)
	var units []string
	for _, c := range all {
		units = append(units, c.Unit)
	}
	if got := strings.Join(units, ","); got != "EUR,EUR,kg,EUR,,," || all[0].Format != "0.00" {
		t.Errorf("units are %s, format %q", got, all[0].Format)
	}
	other := []footnote.Column{{Name: "total", Kind: footnote.KindNumber}}
	if model(t).Label("shop", []string{"shop"}, []string{"invoices"}, other); other[0].Unit != "" {
		t.Errorf("a column of another table has the unit %s", other[0].Unit)
	}
}

// TestPromptByRole checks that metrics that are not for a role, or use a column that is not, are left out.
func TestPromptByRole(t *testing.T) {
	const shared = "The web shop.\nAmounts are net.\n- revenue = SUM(orders.total) (EUR): Paid orders. Also called turnover.\n"
	if got := model(t).Prompt(footnote.Principal{}); got != shared {
		t.Errorf("the prompt is\n%s", got)
	}
	finance := footnote.Principal{Roles: []string{"finance"}}
	want := shared + "- profit = SUM(orders.margin)\n- cost = SUM(orders.total) / 2\n"
	if got := model(t).Prompt(finance); got != want {
		t.Errorf("for finance, the prompt is\n%s", got)
	}
}

func TestCheckTables(t *testing.T) {
	c := model(t)
	schemas := map[string]source.Schema{"shop": {Tables: []source.Table{
		{Schema: "sales", Name: "orders", Columns: columns("id", "total", "margin", "note")},
		{Name: "customers", Columns: columns("id")},
	}}}
	remarks, err := c.CheckTables([]string{"shop"}, schemas)
	if err != nil || len(remarks) != 1 || remarks[0].String() != `model.yaml:13: the table sales.orders has no column `+
		`"weight"; correct the field, or remove it` {
		t.Errorf("remarks %v, error %v", remarks, err)
	}
	schemas["shop"].Tables[0].Columns = columns("id", "total", "weight")
	if _, err = c.CheckTables([]string{"shop"}, schemas); err == nil ||
		!strings.Contains(err.Error(), `model.yaml:14: the table sales.orders has no column "margin"`) ||
		!strings.Contains(err.Error(), `model.yaml:15: the table sales.orders has no column "note"`) {
		t.Errorf("error is %v", err)
	}
	if _, err = c.CheckTables([]string{"shop"}, nil); err != nil {
		t.Errorf("a source that cannot be read is judged: %v", err)
	}
}
