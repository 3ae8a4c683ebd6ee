package rowfilter

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
)

func TestFor(t *testing.T) {
	rules, err := Parse(map[string]string{
		"orders": "org_id = {org}", "customers": "region IN ({attributes.regions[]}) AND NOT hidden",
		"notes": "owner = {user} OR shared_with IN ({roles[]})",
		"plans": "tier = {attributes.tier} AND label <> 'it''s (new'", "products": "ALL",
	})
	if err != nil {
		t.Fatal(err)
	}
	whole := footnote.Principal{
		Org: "o'hara", User: "ada", Roles: []string{"a", "b"},
		Attributes: map[string]string{"regions": "eu, us,,x') OR ('1'='1", "tier": "a,b"},
	}
	for _, c := range []struct {
		what  string
		p     footnote.Principal
		table string
		want  string
	}{
		{"a quote", whole, "orders", "org_id = 'o''hara'"},
		{"a list", whole, "customers", "region IN ('eu', 'us', 'x'') OR (''1''=''1') AND NOT hidden"},
		{"user and roles", whole, "notes", "owner = 'ada' OR shared_with IN ('a', 'b')"},
		{"a comma in one value", whole, "plans", "tier = 'a,b' AND label <> 'it''s (new'"},
		{"no roles: not even what is the user's", footnote.Principal{Org: "o", User: "ada"}, "notes", nothing},
		{"no attribute, under NOT or not", footnote.Principal{Org: "o", User: "ada"}, "customers", nothing},
		{
			"a list of nothing", footnote.Principal{
				Org:        "o",
				Attributes: map[string]string{"regions": " , "},
			}, "customers", nothing,
		},
		{"an empty value", footnote.Principal{Org: "o", Attributes: map[string]string{"tier": ""}}, "plans", nothing},
		{"a NUL", footnote.Principal{Org: "a\x00b"}, "orders", nothing},
		{"no text", footnote.Principal{Org: "a\xff"}, "orders", nothing},
	} {
		if got := rules.For(footnote.WithPrincipal(t.Context(), c.p))[c.table]; got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	if _, filtered := rules.For(t.Context())["products"]; filtered || !rules.Opened()["products"] ||
		rules.Opened()["orders"] {
		t.Error("an open table has a condition, or another is open")
	}
	for table, text := range rules.For(t.Context()) {
		if text != nothing {
			t.Errorf("a caller without a principal sees rows of %s (%s)", table, text)
		}
	}
	one, other := rules.For(footnote.WithPrincipal(t.Context(), whole)), rules.For(t.Context())
	if one.Digest() == other.Digest() ||
		one.Digest() != rules.For(footnote.WithPrincipal(t.Context(), whole)).Digest() {
		t.Error("want equal digests for equal conditions and different ones otherwise")
	}
	if !rules.Asks("user") || rules.Asks("attributes.none") || (*Rules)(nil).Asks("user") {
		t.Error("it does not know what its filters ask for")
	}
	if blank := rules.Blank()["customers"]; blank != "region IN (NULL) AND NOT hidden" {
		t.Error(blank)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"": "empty", "org = '{org}'": "inside quotes", `"{org}" = 1`: "inside quotes", "org = {orgs}": "{orgs}",
		"org = {attributes.}": "{attributes.}", "r = {roles}": "{roles[]}",
		"org = {org": "brace", "org = org}": "brace", "a) OR (b": "parenthesis", "(a": "parenthesis", "a = 'x": "quote",
		"a = 1; DROP TABLE x": "character",
		"a = 1 -- {org}":      "comment", "a /* */ = 1": "comment", `a = 'x\' OR 1 = 1'`: "character",
		"a = $$x$$": "character", "[a'b] = 1": "bracket", "a = `b`": "character",
	} {
		if _, err := Parse(map[string]string{"t": text}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q in it", text, err, why)
		}
	}
	if _, err := Parse(map[string]string{"a": "all", "A": "all"}); err == nil {
		t.Error("two filters for one table were accepted")
	}
	if r, err := Parse(nil); r != nil || err != nil {
		t.Error(r, err)
	}
}
