package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/prompt"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/store/transfer"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/ask"
	"github.com/footnotehq/footnote/tool/browser"
	"github.com/footnotehq/footnote/tool/calculate"
	"github.com/footnotehq/footnote/tool/chart"
	"github.com/footnotehq/footnote/tool/profile"
	"github.com/footnotehq/footnote/tool/query"
	"github.com/footnotehq/footnote/tool/schema"
	"github.com/footnotehq/footnote/tool/search"
	"github.com/footnotehq/footnote/tool/verified"
)

// allAssistants returns the assistants of the process, the default one first.
func (a *App) allAssistants(ctx context.Context) ([]*agent.Assistant, error) {
	coder, err := a.coder(ctx)
	if err != nil {
		return nil, err
	}
	analyst, err := a.analyst(ctx)
	if err != nil {
		return nil, err
	}
	all := []*agent.Assistant{analyst, a.explore(), coder}
	for _, m := range a.modules {
		all = append(all, m.Assistants...)
	}
	for _, as := range all {
		specs := make([]tool.Spec, len(as.Tools))
		for i, t := range as.Tools {
			specs[i] = t.Spec()
		}
		validate, err := schema.Validator(specs) // per assistant: their tools may share names
		if err != nil {
			return nil, fmt.Errorf("tool schemas of %s: %w", as.Name, err)
		}
		as.Validate = validate
		as.Limits = a.limits()
		if as.Model == nil {
			as.Model = a.model
		}
		as.ModelName = a.cfg.Model
		as.Titles = a.cfg.Upstream != config.Offline && a.wrap == nil
		as.Summaries = as.Titles
		as.Created = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	}
	return all, nil
}

func (a *App) limits() agent.Limits {
	c := a.cfg
	return agent.Limits{
		Steps: c.MaxTurns, MicroUSD: int64(c.MaxBudgetUSD * 1e6), Run: c.RunTimeout, Tool: c.ToolTimeout,
		Park: c.ParkTimeout, InputSize: c.InputMaxChars, Events: c.MaxEvents, History: c.MaxHistory,
	}
}

// tiers returns the configured tiers. A tier without a model uses the model of the process.
func (a *App) tiers() []agent.Tier {
	tiers := a.cfg.Tiers.List()
	for i := range tiers {
		tiers[i].Model = cmp.Or(tiers[i].Model, a.cfg.Model)
	}
	return tiers
}

// policy returns the configured tool policy.
func (a *App) policy() agent.Policy {
	t := a.cfg.Tools
	return agent.Policy{Offer: t.Offer, Approve: t.Approve, Deny: t.Deny}
}

// analyst returns the assistant that answers from the sources.
func (a *App) analyst(ctx context.Context) (*agent.Assistant, error) {
	a.verified = verified.New(verified.Options{Queries: a.verifiedQueries, Sources: a.catalog, Now: a.now})
	var tools []tool.Tool
	if a.knowledge != nil {
		tools = append(tools, a.verified)
	}
	tools = append(tools, query.New(query.Options{Sources: a.catalog})...)
	tools = append(tools, profile.New(profile.Options{Sources: a.catalog})...)
	if a.calculator != nil {
		tools = append(tools, calculate.New(a.calculator))
	}
	tools = append(tools, chart.New())
	tools, err := a.searchTool(ctx, tools)
	if err != nil {
		return nil, err
	}
	tools, err = a.ownTools(tools)
	if err != nil {
		return nil, err
	}
	if len(a.cfg.Tools.Offer) > 0 {
		tools = append(tools, ask.New()) // opt-in: a question parks the run until a person answers
	}
	return &agent.Assistant{
		Name: "analyst", Title: "Analyst", Description: "Answers questions from the databases of this server.",
		Aliases: []string{"claude-da/analyst"}, Tiers: a.tiers(), Tools: a.cached(tools), Opening: a.opening,
		Policy: a.policy(),
	}, nil
}

// explore returns the assistant for files that stay in the user's browser.
func (a *App) explore() *agent.Assistant {
	as := &agent.Assistant{
		Name: "explore", Title: "Local files", Description: "Answers questions from files that stay in your browser.",
		Tiers: a.tiers(),
		Tools: append(browser.New(), ask.New()),
		Opening: a.fixed(prompt.Local(),
			"The assistant explore works on files in the browser and has no sources."),
		Policy: agent.Policy{Deny: a.cfg.Tools.Deny},
	}
	if a.cfg.Upstream == config.Offline {
		as.Model = offline.Local{}
	}
	return as
}

// fixed returns the Opening of an assistant that has no sources: its rules follow the company's glossary. A question
// about a source gets the message refusal.
func (a *App) fixed(rules, refusal string) func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
	return func(_ context.Context, _ footnote.Principal, asked []string) (agent.Opening, error) {
		if len(asked) > 0 {
			return agent.Opening{}, footnote.Invalidf("%s", refusal)
		}
		words := a.words()
		return agent.Opening{
			System: prompt.Blocks(prompt.Glossary(words.Glossary) + rules), Context: words.Digest,
		}, nil
	}
}

// searchTool adds search_database if the configuration names tables for it.
func (a *App) searchTool(ctx context.Context, tools []tool.Tool) ([]tool.Tool, error) {
	if len(a.cfg.Tools.Search) == 0 {
		return tools, nil
	}
	if err := checkSearchSources(a.cfg); err != nil {
		return nil, err
	}
	t, remarks, err := search.New(ctx, search.Options{Tables: a.cfg.Tools.Search, Sources: a.catalog, Logger: a.log})
	if err != nil {
		return nil, err
	}
	for _, words := range remarks {
		a.log.DebugContext(ctx, "table can be searched", "how", words)
	}
	return append(tools, t), nil
}

// checkSearchSources rejects search tables of sources that are not configured.
func checkSearchSources(c config.Config) error {
	var errs []error
	for _, t := range c.Tools.Search {
		if _, ok := c.Sources[t.Source]; !ok {
			errs = append(errs, fmt.Errorf("tools.search: the table %q: source is %q, which is not configured", t.Table,
				t.Source))
		}
	}
	return errors.Join(errs...)
}

// checkSearch checks that the tables of a source can be searched as configured.
func checkSearch(ctx context.Context, c config.Config, name string, src source.Source, r *doctor.Report) {
	tables := slices.DeleteFunc(slices.Clone(c.Tools.Search), func(t search.Table) bool { return t.Source != name })
	if len(tables) == 0 {
		return
	}
	what := "source " + name
	_, remarks, err := search.New(ctx, search.Options{Tables: tables, Sources: sources{name: src}})
	if err != nil {
		r.Fail(what, err.Error())
	}
	for _, words := range remarks {
		r.OK(what, "search: "+words)
	}
}

// Frame returns the initial content of a new conversation of p with an assistant.
func (a *App) Frame(ctx context.Context, name string, p footnote.Principal) (transfer.Frame, error) {
	for _, as := range a.assistants {
		if as.Name != cmp.Or(name, a.assistant.Name) {
			continue
		}
		frozen, err := as.Opening(ctx, p, nil)
		tier := as.DefaultTier()
		return transfer.Frame{
			Assistant: as.Name, Sources: frozen.Sources, System: frozen.System, Context: frozen.Context,
			Tools: agent.Freeze(as.Tools, as.Policy), Org: p.Org, User: p.User, Now: time.Now,
			Choice: footnote.Choice{Model: tier.Model, Tier: tier.Name, Effort: tier.Effort},
		}, err
	}
	return transfer.Frame{}, footnote.Errorf(footnote.ModelNotFound, "There is no assistant named %q.", name)
}
