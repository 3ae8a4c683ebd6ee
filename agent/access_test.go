package agent_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
)

// without allows everything, except one model for principals without a role.
type without string

func (without) Assistant(footnote.Principal, string) bool { return true }
func (without) Source(footnote.Principal, string) bool    { return true }
func (without) EverySource(footnote.Principal) bool       { return true }
func (without) Tool(footnote.Principal, string) bool      { return true }
func (without) Tier(footnote.Principal, string) bool      { return true }
func (w without) Model(p footnote.Principal, name string) bool {
	return name != string(w) || len(p.Roles) > 0
}

// TestTitleUsesPermittedModel checks that a title is made by the cheapest model that the user may use.
func TestTitleUsesPermittedModel(t *testing.T) {
	for name, c := range map[string]struct {
		access agent.Access
		tiers  []agent.Tier
		want   string
	}{
		"all may be used": {
			nil, []agent.Tier{
				{Name: "high", Model: "big", Multiplier: 5}, {Name: "low", Model: "small", Multiplier: 1},
			}, "small",
		},
		"small may not": {
			without("small"), []agent.Tier{
				{Name: "high", Model: "big", Multiplier: 5}, {Name: "low", Model: "small", Multiplier: 1},
			}, "big",
		},
		"no tier is left": {
			without("small"), []agent.Tier{{Name: "low", Model: "small", Multiplier: 1}}, "scripted",
		},
		"there are no tiers": {without("small"), nil, "scripted"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := agenttest.Script(agenttest.Say("42"), agenttest.Say("Orders"))
				r := newRig(t, model, nil, func(a *agent.Assistant, o *agent.Options) {
					a.Titles, a.Tiers, o.Access = true, c.tiers, c.access
				})
				r.read(r.submit(agent.Turn{Text: "how many?"}))
				synctest.Wait()
				asked := model.Requests()
				if len(asked) != 2 || asked[0].Model != "scripted" || asked[1].Model != c.want {
					t.Errorf("%d calls, the title by %q, want %q", len(asked), asked[len(asked)-1].Model, c.want)
				}
			})
		})
	}
}

// TestRecoveryStopsRunWithForbiddenModel checks that recovery applies the current access rules to the runs of a dead
// server. The roles are those with which the run was requested.
func TestRecoveryStopsRunWithForbiddenModel(t *testing.T) {
	for name, c := range map[string]struct {
		access agent.Access
		want   string
	}{"allowed by role": {without("scripted"), "run_finished"}, "forbidden": {denied{}, "run_stopped"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := agenttest.Script(agenttest.Say("ok"))
				r := newRig(t, model, nil, func(_ *agent.Assistant, o *agent.Options) { o.Access = c.access })
				id := crashed(t, r, agent.Continue, 0)
				if err := r.engine.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				var last footnote.Body
				for ev := range r.log.Events(t.Context(), id, 0) {
					last = ev.Body
				}
				if called := len(model.Requests()) > 0; footnote.KindOf(last) != c.want ||
					called != (c.want == "run_finished") {
					t.Errorf("it ended with %+v, and the model was called: %v", last, called)
				}
			})
		})
	}
}

// denied allows no model.
type denied struct{ without }

func (denied) Model(footnote.Principal, string) bool { return false }

// weighted is a budget without limits, with the weights of tiers.
type weighted map[string]int64

func (weighted) Admit(context.Context, footnote.Principal, string) (func(), error) {
	return func() {}, nil
}

func (weighted) Reserve(_ context.Context, _ footnote.Principal, c agent.Spending) (agent.Reservation, error) {
	return granted(c.Max), nil
}

func (weighted) PerRun(footnote.Principal) int64 { return 0 }
func (weighted) ToolPrice(string) int64          { return 0 }
func (w weighted) Weight(tier string) int64      { return max(1, w[tier]) }

// granted is a reservation that nothing settles.
type granted footnote.Amount

func (g granted) Amount() footnote.Amount                                           { return footnote.Amount(g) }
func (granted) Reserved() bool                                                      { return false }
func (granted) Settle(footnote.Usage, footnote.Cost, bool) (none []footnote.Settle) { return none }
func (granted) Freed()                                                              {}
func (granted) Drop()                                                               {}

// onlyTiers allows the tiers of a list.
type onlyTiers []string

func (onlyTiers) Assistant(footnote.Principal, string) bool  { return true }
func (onlyTiers) Source(footnote.Principal, string) bool     { return true }
func (onlyTiers) EverySource(footnote.Principal) bool        { return true }
func (onlyTiers) Tool(footnote.Principal, string) bool       { return true }
func (onlyTiers) Model(footnote.Principal, string) bool      { return true }
func (o onlyTiers) Tier(_ footnote.Principal, n string) bool { return slices.Contains(o, n) }

// TestMessageWithoutTierUsesDefaultTier checks that a conversation without a choice runs the default tier and counts as
// such, and which tier a principal gets who may not choose it.
func TestMessageWithoutTierUsesDefaultTier(t *testing.T) {
	for name, c := range map[string]struct {
		access agent.Access
		tier   string
		model  string
		weight int64
	}{
		"every tier may be chosen": {nil, "high", "middle", 3},
		"only others may be":       {onlyTiers{"low"}, "low", "small", 0},
		"none may be":              {onlyTiers{}, "high", "middle", 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := agenttest.Script(agenttest.Say("42"), agenttest.Say("43"))
				r := newRig(t, model, nil, func(a *agent.Assistant, o *agent.Options) {
					o.Access, o.Budget = c.access, weighted{"high": 3, "pro": 5}
					a.Tiers = []agent.Tier{
						{Name: "pro", Model: "big"}, {Name: "high", Model: "middle", Default: true},
						{Name: "low", Model: "small"},
					}
				})
				ticket := r.submit(agent.Turn{Text: "how many?"})
				r.read(ticket)
				synctest.Wait()
				r.must(ticket.Conversation, agent.Turn{Text: "and now?"})
				opened := bodies[footnote.Opened](r, ticket.Conversation)[0]
				if opened.Tier != c.tier || opened.Model != c.model {
					t.Errorf("opened = %+v", opened)
				}
				for i, s := range bodies[footnote.RunStarted](r, ticket.Conversation) {
					if s.Weight != c.weight || model.Requests()[i].Model != c.model {
						t.Errorf("run %d has weight %d and model %s", i, s.Weight, model.Requests()[i].Model)
					}
				}
				if a := r.engine.Assistants(alice)[0]; a.DefaultTier != c.tier || a.Model != c.model {
					t.Errorf("default tier %q, model %q", a.DefaultTier, a.Model)
				}
			})
		})
	}
}
