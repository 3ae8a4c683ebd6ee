package app

import (
	"context"
	"fmt"

	"github.com/footnotehq/footnote/knowledge"
)

// openKnowledge reads the folder of the company's context and watches it until Close.
func (a *App) openKnowledge(ctx context.Context) error {
	if a.cfg.Context == "" {
		return nil
	}
	w, err := knowledge.Watch(ctx, a.cfg.Context, knowledge.WatchOptions{Changed: a.knowledgeChanged})
	if err != nil {
		return contextError(a.cfg.Context, err)
	}
	a.knowledge = w
	a.onClose(w.Close)
	return nil
}

// contextError says which folder is faulty.
func contextError(folder string, err error) error {
	return fmt.Errorf("context is %q, and the folder cannot be used: %w", folder, err)
}

// knowledgeChanged logs a change of the context folder.
func (a *App) knowledgeChanged(c *knowledge.Context, fault error) {
	if fault != nil {
		a.log.Error("the context folder is faulty; the last good version stays in use", "folder", a.cfg.Context,
			"digest", c.Digest, "err", fault)
		return
	}
	a.log.Info("the context folder has changed; new conversations use it", "folder", a.cfg.Context, "digest", c.Digest)
}

// words returns what the company says about its data; an empty Context if it says nothing.
func (a *App) words() *knowledge.Context {
	if a.knowledge == nil {
		return &knowledge.Context{}
	}
	return a.knowledge.Current()
}
