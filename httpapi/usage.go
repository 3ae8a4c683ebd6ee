package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/ledger/usage"
	"github.com/footnotehq/footnote/protocol"
)

// Usage is the part of usage.Totals that the endpoints need. Whole is false while a long log is still being
// added up.
type Usage interface {
	User(ctx context.Context, p footnote.Principal) (days []usage.Day, whole bool, err error)
	// Org returns the usage of each user in an organisation.
	Org(ctx context.Context, org string) (users map[string][]usage.Day, whole bool, err error)
	// Runs returns the organisation's most recent runs, newest first.
	Runs(ctx context.Context, org string) (runs []usage.Run, whole bool, err error)
	// Settle waits until the whole log has been added up.
	Settle(ctx context.Context) error
}

// Ledger is the part of ledger.Ledger that the endpoints need.
type Ledger interface {
	// Left returns each limit that applies to p, with what is left of it.
	Left(ctx context.Context, p footnote.Principal) ([]footnote.OverLimit, error)
	// Request counts a request of p. It returns RateLimited when the limit is reached.
	Request(ctx context.Context, p footnote.Principal) error
	// Weight returns how often tokens of a tier count.
	Weight(tier string) int64
}

func (s *Server) usageRoutes() {
	if s.opts.Usage == nil {
		return
	}
	s.Handle("/api/usage", protocol.Native, get(s.getUsage))
	s.Handle("/api/usage/people", protocol.Native, get(s.forAdmins(s.getPeople)))
	s.Handle("/api/usage/questions", protocol.Native, get(s.forAdmins(s.getQuestions)))
}

// daysShown is the number of days with usage that the response lists.
const daysShown = 90

type usedDay struct {
	Day      string  `json:"day"`
	Tokens   int64   `json:"tokens"`
	Weighted int64   `json:"weighted_tokens"`
	CostUSD  float64 `json:"cost_usd"`
}

type usedTier struct {
	Multiplier int64   `json:"multiplier"`
	Tokens     int64   `json:"tokens"`
	Weighted   int64   `json:"weighted_tokens"`
	CostUSD    float64 `json:"cost_usd"`
}

// getUsage handles GET /api/usage: the caller's usage, in total and by day. Tokens are multiplied by the
// multiplier of their tier.
func (s *Server) getUsage(w http.ResponseWriter, r *http.Request) error {
	days, whole, err := s.opts.Usage.User(r.Context(), PrincipalOf(r.Context()))
	if err != nil {
		return err
	}
	out := struct {
		Tokens   int64               `json:"tokens"`                 // as the models counted them
		Used     int64               `json:"used_tokens"`            // weighted
		Limit    int64               `json:"limit_tokens,omitempty"` // per day
		Today    *int64              `json:"used_today,omitempty"`
		Left     *int64              `json:"left_tokens,omitempty"` // today
		Resets   *time.Time          `json:"resets,omitempty"`
		CostUSD  float64             `json:"cost_usd"`
		Unpriced bool                `json:"cost_is_upper_bound,omitempty"`
		Tiers    map[string]usedTier `json:"tiers"`
		Days     []usedDay           `json:"days"`
		Limits   []protocol.Limit    `json:"limits"`
		Partial  bool                `json:"incomplete,omitempty"` // a long log is still being added up
		// Unreadable counts events of the caller's log that cannot be read; they may have had a cost that is
		// not included.
		Unreadable int64 `json:"unreadable_events,omitempty"`
	}{Tiers: s.tiers(r), Days: []usedDay{}, Limits: []protocol.Limit{}, Partial: !whole}
	var cost footnote.Cost
	for _, d := range days {
		out.Unreadable += d.Unreadable
		tokens := d.Usage.Prompt() + d.Usage.Output
		if tokens == 0 && d.Cost == (footnote.Cost{}) {
			continue // a day with only free questions
		}
		weighted := d.Usage.Weighted(s.weight(d.Tier))
		if tier, ok := out.Tiers[d.Tier]; ok {
			tier.Tokens += tokens
			tier.Weighted += weighted
			tier.CostUSD += d.Cost.USD()
			out.Tiers[d.Tier] = tier
		}
		out.Tokens, out.Used = out.Tokens+tokens, out.Used+weighted
		cost = cost.Add(d.Cost)
		if n := len(out.Days); n == 0 || out.Days[n-1].Day != d.Date {
			out.Days = append(out.Days, usedDay{Day: d.Date})
		}
		day := &out.Days[len(out.Days)-1]
		day.Tokens, day.Weighted, day.CostUSD = day.Tokens+tokens, day.Weighted+weighted, day.CostUSD+d.Cost.USD()
	}
	if s.opts.Ledger != nil {
		limits, err := s.opts.Ledger.Left(r.Context(), PrincipalOf(r.Context()))
		if err != nil {
			return err
		}
		for _, o := range limits {
			out.Limits = append(out.Limits, protocol.LimitOf(o))
			if o.Name == "tokens_per_day" {
				out.Limit, out.Today, out.Left, out.Resets = int64(o.Limit), new(int64(o.Limit-o.Left)),
					new(int64(o.Left)), new(o.Resets)
			}
		}
	}
	out.CostUSD, out.Unpriced = cost.USD(), cost.Unpriced
	out.Days = out.Days[max(0, len(out.Days)-daysShown):]
	return protocol.WriteValue(w, http.StatusOK, out)
}

// weight returns how often tokens of a tier count against limits.
func (s *Server) weight(tier string) int64 {
	if s.opts.Ledger == nil {
		return 1
	}
	return s.opts.Ledger.Weight(tier)
}

// tiers maps the names of all assistants' tiers to what the response shows of them.
func (s *Server) tiers(r *http.Request) map[string]usedTier {
	tiers := map[string]usedTier{}
	for _, a := range s.opts.Engine.Assistants(PrincipalOf(r.Context())) {
		for _, t := range a.Tiers {
			tiers[t.Name] = usedTier{Multiplier: int64(max(t.Multiplier, 1))}
		}
	}
	return tiers
}
