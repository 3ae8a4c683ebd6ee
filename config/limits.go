package config

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// Allowance holds the limits of users. A zero field sets no limit; a negative one lifts the limit of a wider setting.
// Days are UTC.
type Allowance struct {
	Requests        int64   `yaml:"requests_per_minute"` // per user
	OrgRequests     int64   `yaml:"org_requests_per_minute"`
	Runs            int64   `yaml:"runs"` // of one user at once
	OrgRuns         int64   `yaml:"org_runs"`
	TokensPerDay    int64   `yaml:"tokens_per_day"` // per user, each weighted by its tier
	OrgTokensPerDay int64   `yaml:"org_tokens_per_day"`
	PerRun          float64 `yaml:"usd_per_run"` // instead of max_budget_usd
	PerConversation float64 `yaml:"usd_per_conversation"`
	PerUser         float64 `yaml:"usd_per_user"` // in total
	PerUserDay      float64 `yaml:"usd_per_user_day"`
	PerOrg          float64 `yaml:"usd_per_org"` // in total
	PerOrgDay       float64 `yaml:"usd_per_org_day"`
	PerDay          float64 `yaml:"usd_per_day"` // for all users together
}

// overrideWith overrides a with the non-zero fields of b.
func (a Allowance) overrideWith(b Allowance) Allowance {
	to, from := reflect.ValueOf(&a).Elem(), reflect.ValueOf(b)
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return a
}

// higherLimits returns the more generous value of each field, which is the higher one or no limit.
func (a Allowance) higherLimits(b Allowance) Allowance {
	to, from := reflect.ValueOf(&a).Elem(), reflect.ValueOf(b)
	for i := range from.NumField() {
		if limitRank(from.Field(i)) > limitRank(to.Field(i)) {
			to.Field(i).Set(from.Field(i))
		}
	}
	return a
}

func limitRank(v reflect.Value) float64 {
	if n := number(v); n >= 0 {
		return n
	}
	return math.Inf(1)
}

// number returns a number or duration as a float.
func number(v reflect.Value) float64 { return v.Convert(reflect.TypeFor[float64]()).Float() }

// Of returns the limits of a principal. The user's entry overrides those of the roles, which override the org's,
// which overrides the default. Among roles, the most generous value applies.
func (l Limits) Of(p footnote.Principal) Allowance {
	a := l.Default.overrideWith(l.Orgs[p.Org])
	var roles Allowance
	for _, role := range p.Roles {
		roles = roles.higherLimits(l.Roles[role])
	}
	return a.overrideWith(roles).overrideWith(l.Users[p.Org+"/"+p.User])
}

// sharedLimits lists the limits that apply to more than one user.
var sharedLimits = []string{
	"org_requests_per_minute", "org_runs", "org_tokens_per_day", "usd_per_org", "usd_per_org_day", "usd_per_day",
}

func (c Config) checkLimits() error {
	if a, b := c.TokensPerDay, c.Limits.Default.TokensPerDay; a != 0 && b != 0 && a != b {
		return fmt.Errorf("tokens_per_day is %d and limits.default.tokens_per_day is %d; set one of them", a, b)
	}
	return c.Limits.check()
}

// check returns an error for the first invalid setting.
func (l Limits) check() error {
	if err := l.Default.check("limits.default", nil); err != nil {
		return err
	}
	for _, group := range []struct {
		name   string
		of     map[string]Allowance
		refuse []string
	}{
		{"limits.orgs", l.Orgs, []string{"usd_per_day"}},
		{"limits.roles", l.Roles, sharedLimits},
		{"limits.users", l.Users, sharedLimits},
	} {
		for _, name := range slices.Sorted(maps.Keys(group.of)) {
			if org, user, ok := strings.Cut(name, "/"); group.name == "limits.users" &&
				(!ok || org == "" || user == "") {
				return fmt.Errorf("limits.users has %q; it must be org/user", name)
			}
			if err := group.of[name].check(group.name+"."+name, group.refuse); err != nil {
				return err
			}
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(l.ToolPrices)) {
		if price := l.ToolPrices[tool]; !(price >= 0 && price <= 10_000) {
			return fmt.Errorf("limits.tool_prices.%s is %v; it must be 0 to 10000 US dollars", tool, price)
		}
	}
	if l.BudgetWait < 0 || l.BudgetWait > 5*time.Minute {
		return fmt.Errorf("limits.budget_wait is %v; it must be 0s to 5m", l.BudgetWait)
	}
	if l.Replicas < 1 || l.Replicas > 10_000 {
		return fmt.Errorf("limits.replicas is %d; it must be 1 to 10000", l.Replicas)
	}
	return nil
}

func (a Allowance) check(name string, refuse []string) error {
	v := reflect.ValueOf(a)
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("yaml")
		n := number(v.Field(i))
		switch {
		case n == 0:
		case slices.Contains(refuse, tag):
			return fmt.Errorf("%s.%s cannot be set: the limit covers more users than this entry; "+
				"set it in limits.default", name, tag)
		case !(n >= -1e15 && n <= 1e15), n < 0 && tag == "usd_per_run":
			return fmt.Errorf("%s.%s is %v; it must be a positive number, or negative for no limit", name, tag, n)
		}
	}
	return nil
}
