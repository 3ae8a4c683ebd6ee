// Package retention deletes conversations that are older than an organisation's retention period. It deletes whole
// conversations by the time of their last event, and never one with an active run. It deletes documents of the same
// age once their owner has no conversations left. Of several servers, one does the deleting.
package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pause"
	"github.com/footnotehq/footnote/store"
)

// Others is the key of the rule for organisations that have no rule themselves.
const Others = "*"

// Rules maps an organisation to the time it keeps a conversation after its last event. Without a rule it keeps
// conversations forever.
type Rules map[string]time.Duration

// Age returns the retention period of an organisation.
func (r Rules) Age(org string) (age time.Duration, ok bool) {
	if age, ok = r[org]; !ok {
		age, ok = r[Others]
	}
	return age, ok
}

// Log is the part of a store that a job uses.
type Log interface {
	Walk(ctx context.Context, after string, limit int) ([]store.Stream, error)
	DeleteAt(ctx context.Context, id string, last int64) error
}

// Person is an owner of conversations.
type Person struct{ Org, User string }

// Options configures a job. Everything but Lead is required.
type Options struct {
	Log   Log
	Rules Rules
	// Lead reports whether this server may delete, and returns a function that gives the right back. Nil means that
	// there is only one server.
	Lead func(ctx context.Context) (release func(), ok bool, err error)
	// Before is called before the first deletion of a pass; an error ends the pass.
	Before func(ctx context.Context) error
	// After deletes a conversation's data outside the log. If it fails, the next pass calls it again.
	After func(ctx context.Context, id string) error
	// Files deletes files of people without conversations.
	Files func(ctx context.Context, rules Rules, active map[Person]bool) error
	// Document reports whether a stream is a person's own document rather than a conversation. It is kept as long as
	// the person has a conversation.
	Document func(head store.Stream) bool
	// Note records a deletion.
	Note   func(Deleted) error
	Logger *slog.Logger
	Now    func() time.Time
}

// Deleted is the audit line of a deleted conversation.
type Deleted struct {
	Type      string `json:"type"` // "retention"
	SessionID string `json:"session_id"`
	Timestamp string `json:"timestamp"` // RFC 3339
	Org       string `json:"org"`
	User      string `json:"user"`
	LastEvent string `json:"last_event"` // RFC 3339
	Events    int64  `json:"events"`
	Kept      string `json:"kept"` // the rule that applied
}

// Job deletes expired conversations. It must be used by one goroutine only.
type Job struct {
	opts    Options
	pending []string // deleted conversations whose files still have to be deleted
}

// New returns a job.
func New(o Options) *Job {
	if o.Lead == nil {
		o.Lead = func(context.Context) (func(), bool, error) { return func() {}, true, nil }
	}
	return &Job{opts: o}
}

// The schedule of the job. It pauses after each batch of deletions so that other writers are not blocked.
const (
	interval   = time.Hour
	firstDelay = time.Minute
	batch      = 100
	batchPause = 200 * time.Millisecond
)

// Run deletes until ctx ends: shortly after the start, and then every hour.
func (j *Job) Run(ctx context.Context) {
	if len(j.opts.Rules) == 0 {
		return
	}
	for wait := firstDelay; pause.For(ctx, wait) == nil; wait = interval {
		n, err := j.Pass(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			j.opts.Logger.Error("retention failed; retrying in an hour", "deleted", n, "err", err)
		case n > 0:
			j.opts.Logger.Info("retention", "deleted", n)
		}
	}
}

// maxFailures is the number of failed deletions after which a pass gives up: the store is then more likely at fault
// than the conversations.
const maxFailures = 10

// Pass checks every conversation once, and returns how many it deleted. The error includes the conversations it could
// not delete.
func (j *Job) Pass(ctx context.Context) (deleted int, err error) {
	release, leader, err := j.opts.Lead(ctx)
	if err != nil {
		return 0, err
	}
	if leader {
		defer release()
	}
	active := map[Person]bool{}
	before := once(j.opts.Before)
	var failures []error // failed deletions of single conversations
	var documents []store.Stream
	for head, err := range store.Walk(ctx, j.opts.Log.Walk) {
		if err != nil {
			return deleted, err
		}
		if head.Kind != store.Conversation {
			if leader && j.opts.Document(head) && j.expired(head) {
				documents = append(documents, head)
			}
			continue
		}
		if !j.expired(head) || !leader {
			active[Person{head.Org, head.User}] = true
			continue
		}
		if err := before(ctx); err != nil {
			return deleted, err
		}
		gone, err := j.remove(ctx, head)
		if err != nil {
			// A damaged conversation does not stop the pass.
			failures = append(failures, fmt.Errorf("delete %s: %w", head.ID, err))
			if gone || ctx.Err() != nil || len(failures) == maxFailures {
				return deleted, errors.Join(failures...)
			}
		}
		if !gone {
			active[Person{head.Org, head.User}] = true
			continue
		}
		if deleted++; deleted%batch == 0 {
			if err := pause.For(ctx, batchPause); err != nil {
				return deleted, err
			}
		}
	}
	j.deleteFiles(ctx)
	if err := j.deleteDocuments(ctx, documents, active); err != nil {
		return deleted, err
	}
	return deleted, errors.Join(append(failures, j.opts.Files(ctx, j.opts.Rules, active))...)
}

// once returns a function that calls f until it succeeds.
func once(f func(context.Context) error) func(context.Context) error {
	done := false
	return func(ctx context.Context) error {
		if done {
			return nil
		}
		err := f(ctx)
		done = err == nil
		return err
	}
}

// deleteDocuments deletes old documents of people without conversations.
func (j *Job) deleteDocuments(ctx context.Context, documents []store.Stream, active map[Person]bool) error {
	for _, head := range documents {
		if active[Person{head.Org, head.User}] {
			continue
		}
		if _, err := j.remove(ctx, head); err != nil {
			return err
		}
	}
	return nil
}

// expired reports whether a conversation has expired. A conversation with an active or parked run never has.
func (j *Job) expired(head store.Stream) bool {
	age, ok := j.opts.Rules.Age(head.Org)
	return ok && head.RunState == "" && j.opts.Now().Sub(head.Updated) > age
}

// remove deletes a conversation or document, unless it has changed since it was read.
func (j *Job) remove(ctx context.Context, head store.Stream) (gone bool, err error) {
	switch err := j.opts.Log.DeleteAt(ctx, head.ID, head.Last); footnote.CodeOf(err) {
	case "":
	case footnote.NotFound:
		return true, nil
	case footnote.Conflict:
		return false, nil
	default:
		return false, err
	}
	if head.Kind == store.Conversation {
		j.pending = append(j.pending, head.ID)
		j.deleteFiles(ctx)
	}
	age, _ := j.opts.Rules.Age(head.Org)
	return true, j.opts.Note(Deleted{
		Type: "retention", SessionID: head.ID, Timestamp: j.opts.Now().UTC().Format(time.RFC3339), Org: head.Org,
		User: head.User, LastEvent: head.Updated.UTC().Format(time.RFC3339), Events: head.Last, Kept: age.String(),
	})
}

// deleteFiles deletes what deleted conversations have stored outside the log. Failures are retried in the next pass.
func (j *Job) deleteFiles(ctx context.Context) {
	var remaining []string
	var errs []error
	for _, id := range j.pending {
		if err := j.opts.After(ctx, id); err != nil {
			remaining, errs = append(remaining, id), append(errs, err)
		}
	}
	j.pending = remaining
	if err := errors.Join(errs...); err != nil {
		j.opts.Logger.Error("cannot delete the files of deleted conversations; retrying later",
			"conversations", len(remaining), "err", err)
	}
}
