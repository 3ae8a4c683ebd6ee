package app

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/ledger"
	"github.com/footnotehq/footnote/ledger/redisrate"
)

// allowances returns the function that gives each principal its configured limits.
func allowances(c config.Config) func(footnote.Principal) ledger.Allowance {
	return func(p footnote.Principal) ledger.Allowance {
		a := c.Limits.Of(p)
		return ledger.Allowance{
			Requests: a.Requests, OrgRequests: a.OrgRequests, Runs: a.Runs, OrgRuns: a.OrgRuns,
			TokensPerDay: cmp.Or(a.TokensPerDay, c.TokensPerDay), OrgTokensPerDay: a.OrgTokensPerDay,
			PerRun: micro(a.PerRun), PerConversation: micro(a.PerConversation), PerUser: micro(a.PerUser),
			PerUserDay: micro(a.PerUserDay),
			PerOrg:     micro(a.PerOrg), PerOrgDay: micro(a.PerOrgDay), PerDay: micro(a.PerDay),
		}
	}
}

// micro converts dollars to millionths. A positive amount never becomes zero.
func micro(usd float64) int64 {
	n := int64(math.Round(min(usd, 1e12) * 1e6))
	if n == 0 && usd > 0 {
		return 1
	}
	return n
}

// toolPrices returns the prices of tool calls, in millionths of a dollar.
func toolPrices(c config.Config) map[string]int64 {
	prices := map[string]int64{}
	for tool, usd := range c.Limits.ToolPrices {
		prices[tool] = micro(usd)
	}
	return prices
}

// openCounter opens the request counter: in Redis if several servers share one.
func (a *App) openCounter() (ledger.Counter, error) {
	own := ledger.NewShare(a.cfg.Limits.Replicas)
	if a.cfg.Redis == "" {
		return own, nil
	}
	counter, err := redisrate.Open(string(a.cfg.Redis), own, a.log)
	if err != nil {
		return nil, err
	}
	a.onClose(counter.Close)
	return counter, nil
}

// checkLimits reports the limits in force.
func checkLimits(c config.Config, r *doctor.Report) {
	var parts []string
	if c.Limits.Default != (config.Allowance{}) || c.TokensPerDay > 0 {
		parts = append(parts, "for everybody")
	}
	for _, group := range []struct {
		what string
		n    int
	}{{"org", len(c.Limits.Orgs)}, {"role", len(c.Limits.Roles)}, {"user", len(c.Limits.Users)}} {
		if group.n > 0 {
			parts = append(parts, "for "+doctor.Counted(group.n, group.what))
		}
	}
	switch {
	case len(parts) == 0 && c.Listen != "" && len(c.APIKeys) > 0:
		r.Warn("limits", fmt.Sprintf("none but %.2f USD for one question (max_budget_usd): nothing "+
			"limits what a key may cost in a day. See limits.default", c.MaxBudgetUSD))
	case len(parts) == 0:
		r.OK("limits", fmt.Sprintf("%.2f USD for one question", c.MaxBudgetUSD))
	case c.Store != "" && c.Redis == "" && c.Limits.Replicas == 1 && c.Limits.Default.Requests > 0:
		r.Warn("limits", "without redis each server counts requests by itself: set limits.replicas "+
			"to the number of servers")
	default:
		r.OK("limits", strings.Join(parts, ", "))
	}
}

const (
	assumedFiles = 8192   // where the system does not report a limit
	usefulFiles  = 65_536 // more streams than this allows also need more processors
	maxPerUser   = 2000   // streams, unless configured
)

// openLimits limits how many connections and streams may be open at once. The limits follow from the open-file limit
// of the process, because each connection is a file.
type openLimits struct{ connections, streams, perUser int }

// limitsOfFiles reserves some of the files for databases and child processes, and a third of the others for
// connections to models. Three quarters of the rest are for streams.
func limitsOfFiles(files uint64, l config.Limits) openLimits {
	n := int(min(files, usefulFiles))
	n -= min(n/4, 512)
	o := openLimits{connections: max(n*2/3, 8)}
	o.streams = cmp.Or(l.Streams, max(o.connections*3/4, 4))
	o.connections = max(o.connections, o.streams+o.streams/3) // the operator's setting wins
	o.perUser = cmp.Or(l.StreamsPerUser, min(max(o.streams/4, 1), maxPerUser))
	return o
}
