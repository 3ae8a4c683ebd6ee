package app

import (
	"cmp"
	"context"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/store/transfer"
)

// Frame returns the initial content of a new conversation of p with an assistant.
func (a *App) Frame(ctx context.Context, name string, p footnote.Principal) (transfer.Frame, error) {
	for _, as := range a.assistants {
		if as.Name != cmp.Or(name, a.assistant.Name) {
			continue
		}
		system, sources, err := as.Opening(ctx, p, nil)
		return transfer.Frame{
			Assistant: as.Name, Model: as.ModelName, Sources: sources, System: system,
			Tools: agent.Freeze(as.Tools, as.Policy),
			Org:   p.Org, User: p.User, Now: time.Now,
		}, err
	}
	return transfer.Frame{}, footnote.Errorf(footnote.ModelNotFound, "There is no assistant named %q.", name)
}
