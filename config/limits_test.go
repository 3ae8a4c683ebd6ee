package config_test

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
)

// TestLimitsPerPrincipal checks that a user's entry overrides the roles, the best role overrides the org, and the org
// overrides the default.
func TestLimitsPerPrincipal(t *testing.T) {
	c, err := config.Load(file(t, `
limits:
  default: {requests_per_minute: 60, runs: 2, usd_per_user_day: 1, usd_per_day: 100}
  orgs:
    acme: {runs: 4, usd_per_org_day: 20}
  roles:
    analyst: {usd_per_user_day: 5, runs: 8}
    lead: {usd_per_user_day: 9, requests_per_minute: -1}
  users:
    acme/ann: {runs: 1}
  tool_prices: {web_search: 0.01}
`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		p    footnote.Principal
		want config.Allowance
	}{
		{
			footnote.Principal{
				Org:  "other",
				User: "x",
			}, config.Allowance{Requests: 60, Runs: 2, PerUserDay: 1, PerDay: 100},
		},
		{
			footnote.Principal{
				Org:  "acme",
				User: "bob",
			}, config.Allowance{Requests: 60, Runs: 4, PerUserDay: 1, PerOrgDay: 20, PerDay: 100},
		},
		{
			footnote.Principal{
				Org:   "acme",
				User:  "bob",
				Roles: []string{"lead", "analyst", "none"},
			}, config.Allowance{Requests: -1, Runs: 8, PerUserDay: 9, PerOrgDay: 20, PerDay: 100},
		},
		{
			footnote.Principal{
				Org:   "acme",
				User:  "ann",
				Roles: []string{"analyst"},
			}, config.Allowance{Requests: 60, Runs: 1, PerUserDay: 5, PerOrgDay: 20, PerDay: 100},
		},
	} {
		if got := c.Limits.Of(test.p); got != test.want {
			t.Errorf("%+v: %+v", test.p, got)
		}
	}
}

func TestImpossibleLimits(t *testing.T) {
	for yaml, words := range map[string]string{
		"limits: {users: {ann: {runs: 1}}}":                         "org/user",
		"limits: {users: {a/b: {usd_per_org: 1}}}":                  "limits.users.a/b.usd_per_org",
		"limits: {roles: {r: {org_runs: 1}}}":                       "limits.roles.r.org_runs",
		"limits: {orgs: {o: {usd_per_day: 1}}}":                     "limits.orgs.o.usd_per_day",
		"limits: {orgs: {o: {dollars: 1}}}":                         "limits.orgs.o.dollars",
		"limits: {default: {usd_per_run: -1}}":                      "usd_per_run",
		"limits: {default: {usd_per_day: .nan}}":                    "usd_per_day",
		"limits: {tool_prices: {x: -1}}":                            "tool_prices.x",
		"limits: {replicas: 0}":                                     "replicas",
		"tokens_per_day: 5\nlimits: {default: {tokens_per_day: 6}}": "set one of them",
	} {
		if _, err := config.Load(file(t, yaml), nil, nil); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}
