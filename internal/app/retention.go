package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/internal/module"
	"github.com/footnotehq/footnote/source/catalog"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/postgres"
	"github.com/footnotehq/footnote/store/retention"
)

// retention returns the job that deletes old conversations and records each deletion.
func (a *App) retention(note func(retention.Deleted) error, now func() time.Time) (*retention.Job, error) {
	rules, err := a.cfg.RetentionRules()
	if err != nil {
		return nil, err
	}
	o := retention.Options{
		Log:   a.store.(store.Movable),                      // every store of a server is Movable
		Rules: rules, Logger: a.log, Before: a.usage.Settle, // keep the usage numbers
		Note: note, Now: now, Document: a.isDocument,
		Files: func(_ context.Context, rules retention.Rules, active map[retention.Person]bool) error {
			return a.expireUploads(rules, active, now())
		},
	}
	o.After = func(ctx context.Context, conversation string) error {
		a.forget(ctx, conversation)
		if a.workspaces == nil {
			return nil
		}
		return a.workspaces.Remove(ctx, conversation)
	}
	if p, ok := a.store.(*postgres.Store); ok {
		o.Lead = func(ctx context.Context) (func(), bool, error) { return p.Lead(ctx, "retention") }
	}
	return retention.New(o), nil
}

// checkRetention reports how long conversations are kept.
func checkRetention(c config.Config) doctor.Check {
	rules, err := c.RetentionRules()
	switch {
	case err != nil:
		return doctor.Fail("retention", err.Error())
	case len(rules) == 0:
		return doctor.OK("retention", "none: conversations are kept forever")
	}
	var parts []string
	for _, org := range slices.Sorted(maps.Keys(rules)) {
		owner := org
		if org == "*" {
			owner = "all others"
		}
		parts = append(parts, fmt.Sprintf("%s %d days", owner, int(rules[org].Hours()/24)))
	}
	if _, all := rules["*"]; !all {
		parts = append(parts, "all others forever")
	}
	return doctor.OK("retention", "conversations are kept after their last event: "+strings.Join(parts, ", "))
}

// expireUploads deletes uploads that are older than the retention period and whose owners have no conversations left.
func (a *App) expireUploads(rules retention.Rules, active map[retention.Person]bool, now time.Time) error {
	busy := map[retention.Person]bool{}
	for p := range active {
		busy[retention.Person{Org: catalog.Digest(p.Org), User: catalog.Digest(p.User)}] = true
	}
	ages := map[string]time.Duration{}
	for org, age := range rules {
		ages[catalog.Digest(org)] = age
	}
	others, ok := rules[retention.Others]
	if !ok {
		others = -1
	}
	return a.catalog.Expire(now, func(org, user string) time.Duration {
		if busy[retention.Person{Org: org, User: user}] {
			return -1
		}
		if age, ok := ages[org]; ok {
			return age
		}
		return others
	})
}

// isDocument reports whether a log is a document of a module rather than a conversation.
func (a *App) isDocument(head store.Stream) bool {
	return slices.ContainsFunc(a.modules, func(m *module.Opened) bool { return m.Document(head) })
}
