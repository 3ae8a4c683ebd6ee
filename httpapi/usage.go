package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/usage"
)

// Usage is what the endpoints need of a usage.Totals. Whole is false while a long log is
// still being added up.
type Usage interface {
	User(ctx context.Context, p footnote.Principal) (days []usage.Day, whole bool, err error)
	// Org is what each user of an organisation has used.
	Org(ctx context.Context, org string) (users map[string][]usage.Day, whole bool, err error)
	// Runs are its newest questions, newest first.
	Runs(ctx context.Context, org string) (runs []usage.Run, whole bool, err error)
	// Settle adds up all that there is, however long it takes.
	Settle(ctx context.Context) error
}

type noUsage struct{}

func (noUsage) User(context.Context, footnote.Principal) ([]usage.Day, bool, error) {
	return nil, true, nil
}

func (noUsage) Org(context.Context, string) (map[string][]usage.Day, bool, error) {
	return nil, true, nil
}
func (noUsage) Runs(context.Context, string) ([]usage.Run, bool, error) { return nil, true, nil }
func (noUsage) Settle(context.Context) error                            { return nil }

// Ledger is what the endpoints need of a ledger.Ledger.
type Ledger interface {
	// Left is what somebody may use and what is left of it, of every limit that holds.
	Left(ctx context.Context, p footnote.Principal) ([]footnote.OverLimit, error)
	// Request counts a request of somebody. It refuses with RateLimited.
	Request(ctx context.Context, p footnote.Principal) error
}

func (s *Server) usageRoutes() {
	s.Handle("/api/usage", Native, get(s.getUsage))
	s.Handle("/api/usage/people", Native, get(s.forAdmins(s.getPeople)))
	s.Handle("/api/usage/questions", Native, get(s.forAdmins(s.getQuestions)))
}

// daysShown is how many days the usage lists, of those on which there was any.
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

// limitLeft is a limit and what is left of it.
type limitLeft struct {
	Name   string     `json:"name"`
	Unit   string     `json:"unit"` // requests, runs, tokens or usd
	Limit  float64    `json:"limit"`
	Left   float64    `json:"left"`
	Resets *time.Time `json:"resets,omitempty"`
}

func limitOf(o footnote.OverLimit) limitLeft {
	out := limitLeft{Name: o.Name, Unit: o.Unit, Limit: o.Limit, Left: o.Left}
	if !o.Resets.IsZero() {
		out.Resets = new(o.Resets.UTC().Truncate(time.Second))
	}
	return out
}

// getUsage is GET /api/usage: what the caller has used, in all and by day. A token
// counts as often as the multiplier of its tier says.
func (s *Server) getUsage(w http.ResponseWriter, r *http.Request) error {
	days, whole, err := s.opts.Usage.User(r.Context(), PrincipalOf(r.Context()))
	if err != nil {
		return err
	}
	out := struct {
		Used     int64               `json:"used_tokens"`            // weighted
		Limit    int64               `json:"limit_tokens,omitempty"` // of one day
		Today    *int64              `json:"used_today,omitempty"`
		Left     *int64              `json:"left_tokens,omitempty"` // today
		Resets   *time.Time          `json:"resets,omitempty"`
		CostUSD  float64             `json:"cost_usd"`
		Unpriced bool                `json:"cost_is_upper_bound,omitempty"`
		Tiers    map[string]usedTier `json:"tiers"`
		Days     []usedDay           `json:"days"`
		Limits   []limitLeft         `json:"limits"`
		Partial  bool                `json:"incomplete,omitempty"` // a long log is still being added up
		// Unreadable events of the caller's log may have cost something that is not counted.
		Unreadable int64 `json:"unreadable_events,omitempty"`
	}{Tiers: s.tiers(r), Days: []usedDay{}, Limits: []limitLeft{}, Partial: !whole}
	var cost footnote.Cost
	for _, d := range days {
		out.Unreadable += d.Unreadable
		tokens := d.Usage.Prompt() + d.Usage.Output
		if tokens == 0 && d.Cost == (footnote.Cost{}) {
			continue // there were only questions that cost nothing
		}
		weighted := tokens
		if tier, ok := out.Tiers[d.Tier]; ok {
			weighted *= tier.Multiplier
			tier.Tokens += tokens
			tier.Weighted += weighted
			tier.CostUSD += d.Cost.USD()
			out.Tiers[d.Tier] = tier
		}
		out.Used += weighted
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
			out.Limits = append(out.Limits, limitOf(o))
			if o.Name == "tokens_per_day" {
				out.Limit, out.Today, out.Left, out.Resets = int64(o.Limit), new(int64(o.Limit-o.Left)), new(int64(o.Left)), new(o.Resets)
			}
		}
	}
	out.CostUSD, out.Unpriced = cost.USD(), cost.Unpriced
	out.Days = out.Days[max(0, len(out.Days)-daysShown):]
	return writeValue(w, http.StatusOK, out)
}

// tiers are the tiers of all assistants, by name.
func (s *Server) tiers(r *http.Request) map[string]usedTier {
	tiers := map[string]usedTier{}
	for _, a := range s.opts.Engine.Assistants(PrincipalOf(r.Context())) {
		for _, t := range a.Tiers {
			tiers[t.Name] = usedTier{Multiplier: int64(max(t.Multiplier, 1))}
		}
	}
	return tiers
}
