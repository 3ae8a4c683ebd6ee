package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/internal/module"
	"github.com/footnotehq/footnote/source/catalog"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/postgres"
	"github.com/footnotehq/footnote/store/retention"
)

// Forget deletes a user's data and returns in words how much that was. It stops an active run. It repeats until nothing
// is left to delete, because the run or a second device may add data meanwhile, and continues after something cannot be
// deleted.
func (a *App) Forget(ctx context.Context, p footnote.Principal) (deleted string, err error) {
	if err := a.usage.Settle(ctx); err != nil { // keep the usage numbers
		return "nothing", err
	}
	var total []module.Deleted
	for {
		var round []module.Deleted
		round, err = a.forgetOnce(ctx, p)
		more := false
		for _, d := range round {
			more = more || d.Count > 0
			i := slices.IndexFunc(total, func(t module.Deleted) bool { return t.Noun == d.Noun })
			if i < 0 {
				total = append(total, d)
			} else {
				total[i].Count += d.Count
			}
		}
		if !more || ctx.Err() != nil {
			break
		}
	}
	words := make([]string, len(total))
	for i, d := range total {
		words[i] = d.String()
	}
	return strings.Join(words, ", "), err
}

// forgetOnce deletes the data that a user has now, as far as it can be deleted.
func (a *App) forgetOnce(ctx context.Context, p footnote.Principal) ([]module.Deleted, error) {
	conversations, err := a.forgetConversations(ctx, p)
	uploads, failed := a.catalog.Forget(p)
	deleted := []module.Deleted{{Count: conversations, Noun: "conversation"}, {Count: uploads, Noun: "upload"}}
	errs := []error{err, failed}
	for _, m := range a.modules {
		more, err := m.Forget(ctx, p)
		deleted, errs = append(deleted, more...), append(errs, err)
	}
	return deleted, errors.Join(errs...)
}

// forgetConversations deletes all conversations it can: a workspace may be in another server's folder.
func (a *App) forgetConversations(ctx context.Context, p footnote.Principal) (n int, err error) {
	log := a.deleting()
	var failed error
	for before, left := "", 0; ; {
		heads, next, err := log.List(ctx, footnote.Page{
			Org: p.Org, User: p.User, Kind: store.Conversation, Before: before, Limit: 200,
		})
		if err != nil {
			return n, err
		}
		for _, head := range heads {
			if err := a.stopRun(ctx, head); err != nil {
				return n, err
			}
			switch err := log.Delete(ctx, head.ID); footnote.CodeOf(err) {
			case "":
				n++
			case footnote.NotFound: // its user deletes it at the same time
			default:
				if left++; a.store.Ping(ctx) != nil {
					return n, err // the next ones would fail as well
				}
				failed = fmt.Errorf("%s cannot be deleted, the last of them %s: %w",
					doctor.Counted(left, "conversation"),
					head.ID, err)
			}
		}
		if before = next; next == "" {
			return n, failed
		}
	}
}

// stopWait limits how long a run on another server may take to end after a stop request, and stopPoll is the
// polling interval.
const (
	stopWait = 10 * time.Second
	stopPoll = 50 * time.Millisecond
)

// stopRun asks the server that drives the conversation's run to stop it, and waits a moment for its end, so that its
// usage is recorded. With a data folder there is no other server.
func (a *App) stopRun(ctx context.Context, head store.Stream) error {
	servers := shared(a.store)
	if servers == nil || head.RunState != "running" {
		return nil
	}
	if err := servers.AskStop(ctx, head.ID, head.Run, "user"); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	tick := time.NewTicker(stopPoll)
	defer tick.Stop()
	for run := head.Run; head.Run == run && head.RunState == "running"; {
		select {
		case <-tick.C:
		case <-wait.Done():
			return ctx.Err() // no server drives it; the store has all its data
		}
		var err error
		if head, err = a.store.Get(ctx, head.ID); footnote.CodeOf(err) == footnote.NotFound {
			return nil
		} else if err != nil {
			return err
		}
	}
	return a.usage.Settle(ctx)
}

// deleting returns the log that deletes a conversation together with its data outside the log.
func (a *App) deleting() store.Store { return withWorkspaces{cacheForgetter{a.store, a}, a.workspaces} }

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

// resultsExpiry returns the job that deletes the rows of old results.
func (a *App) resultsExpiry(now func() time.Time) *retention.Results {
	r := &retention.Results{
		Log: a.store, Keep: a.cfg.Results.Keep, Logger: a.log, Now: now,
		Lead: func(context.Context) (func(), bool, error) { return func() {}, true, nil },
	}
	if p, ok := a.store.(*postgres.Store); ok {
		r.Lead = func(ctx context.Context) (func(), bool, error) { return p.Lead(ctx, "results") }
	}
	return r
}

// checkRetention reports how long conversations are kept.
func checkRetention(c config.Config, r *doctor.Report) {
	rules, _ := c.RetentionRules() // Check has validated them
	if len(rules) == 0 {
		r.OK("retention", "none: conversations are kept forever")
		return
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
	r.OK("retention", "conversations are kept after their last event: "+strings.Join(parts, ", "))
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
