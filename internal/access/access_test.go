package access

import (
	"testing"

	"github.com/footnotehq/footnote"
)

func TestRules(t *testing.T) {
	rules := []Rule{
		{Orgs: []string{"acme"}, Assistants: []string{"analyst"}, Sources: []string{"shop_*"}, Models: []string{"*"}},
		{
			Orgs: []string{"acme", "beta"}, Roles: []string{"boss", "admin"}, Sources: []string{"pay"},
			Tools: []string{"run_*"},
		},
		{Users: []string{"eve"}, Assistants: []string{}},
	}
	a, err := New(rules, []string{"shop_eu", "pay", "crm"})
	if err != nil {
		t.Fatal(err)
	}
	user := footnote.Principal{Org: "acme", User: "ann"}
	boss := footnote.Principal{Org: "acme", User: "bob", Roles: []string{"other", "admin"}}
	beta := footnote.Principal{Org: "beta", User: "cem", Roles: []string{"boss"}}
	eve := footnote.Principal{Org: "evil", User: "eve", Roles: []string{"boss"}}
	for _, c := range []struct {
		what string
		p    footnote.Principal
		ask  func(footnote.Principal, string) bool
		name string
		want bool
	}{
		{"a name", user, a.Assistant, "analyst", true},
		{"another name", user, a.Assistant, "coder", false},
		{"a list that is left out", user, a.Tier, "low", false},
		{"a glob", user, a.Source, "shop_eu", true},
		{"another source", user, a.Source, "crm", false},
		{"of a role", user, a.Source, "pay", false},
		{"an upload", user, a.Source, "mine_1", true},
		{"a name with a slash", user, a.Model, "vendor/model", true},
		{"the role", boss, a.Source, "pay", true},
		{"both rules", boss, a.Source, "shop_eu", true},
		{"tools of the role", boss, a.Tool, "run_query", true},
		{"no other", boss, a.Tool, "bash", false},
		{"another org", beta, a.Source, "pay", true},
		{"what its rules do not name", beta, a.Assistant, "analyst", false},
		{"an empty list", eve, a.Assistant, "analyst", false},
		{"the role elsewhere", eve, a.Source, "pay", false},
		{"nobody", footnote.Principal{}, a.Assistant, "analyst", false},
	} {
		if got := c.ask(c.p, c.name); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

func TestNoRulesAllowEverything(t *testing.T) {
	a, err := New(nil, []string{"shop"})
	p := footnote.Principal{Org: "o", User: "u"}
	if err != nil || a != nil || !a.Assistant(p, "x") || !a.Source(p, "shop") || !a.EverySource(p) || !a.Tool(p, "x") ||
		!a.Tier(p, "x") || !a.Model(p, "x") {
		t.Error(a, err)
	}
}

func TestWrongRules(t *testing.T) {
	for name, r := range map[string]Rule{
		"a glob":  {Tools: []string{"["}},
		"nothing": {Sources: []string{""}},
		"an org":  {Orgs: []string{""}},
	} {
		if _, err := New([]Rule{r}, nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
