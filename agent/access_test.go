package agent_test

import (
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
