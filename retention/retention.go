// Package retention deletes the conversations that an organisation no longer wants to
// keep: whole ones, by the time of their last event, and never one that is answering.
// Documents of people who have no conversation any more go when they are as old. Of
// several servers one deletes.
package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// Others is the rule of organisations that have none of their own.
const Others = "*"

// Rules say how long an organisation keeps a conversation after its last event. One
// without a rule keeps it for ever.
type Rules map[string]time.Duration

// Age is the rule of an organisation.
func (r Rules) Age(org string) (age time.Duration, ok bool) {
	if age, ok = r[org]; !ok {
		age, ok = r[Others]
	}
	return age, ok
}

// Log is what a job needs of a store.
type Log interface {
	Walk(ctx context.Context, after string, limit int) ([]store.Stream, error)
	DeleteAt(ctx context.Context, id string, last int64) error
}

// Person is whose conversations there are.
type Person struct{ Org, User string }

// Options are what a job is made of. Log and Rules are required.
type Options struct {
	Log   Log
	Rules Rules
	// Lead asks whether this server is the one that deletes; nil: it is the only one.
	Lead func(ctx context.Context) (release func(), ok bool, err error)
	// Before is called before the first deletion of a pass; an error ends the pass.
	Before func(ctx context.Context) error
	// After removes what belongs to a conversation beside its log; it is called again, in
	// the next pass, when it fails.
	After func(ctx context.Context, id string) error
	// Files removes files of people who have no conversations any more.
	Files func(ctx context.Context, rules Rules, active map[Person]bool) error
	// Document reports whether a stream is a person's own, and not part of a
	// conversation: it is kept as long as the person has one. Nil: none is.
	Document func(head store.Stream) bool
	// Note writes down a deletion.
	Note   func(Deleted) error
	Logger *slog.Logger
	Now    func() time.Time
}

// Deleted is the audit's line about a conversation that was deleted.
type Deleted struct {
	Type      string `json:"type"` // "retention"
	SessionID string `json:"session_id"`
	Timestamp string `json:"timestamp"` // RFC 3339
	Org       string `json:"org"`
	User      string `json:"user"`
	LastEvent string `json:"last_event"` // RFC 3339
	Events    int64  `json:"events"`
	Kept      string `json:"kept"` // the rule
}

// Job deletes what is too old. Its methods belong to one goroutine.
type Job struct {
	opts Options
	left []string // conversations whose files are still to be removed
}

// New makes a job.
func New(o Options) *Job {
	if o.Lead == nil {
		o.Lead = func(context.Context) (func(), bool, error) { return func() {}, true, nil }
	}
	if o.Before == nil {
		o.Before = func(context.Context) error { return nil }
	}
	if o.After == nil {
		o.After = func(context.Context, string) error { return nil }
	}
	if o.Files == nil {
		o.Files = func(context.Context, Rules, map[Person]bool) error { return nil }
	}
	if o.Document == nil {
		o.Document = func(store.Stream) bool { return false }
	}
	if o.Note == nil {
		o.Note = func(Deleted) error { return nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Job{opts: o}
}

// How often the job works, and how much at a time: between batches others write.
const (
	every     = time.Hour
	soon      = time.Minute
	batch     = 100
	betweenIt = 200 * time.Millisecond
	page      = 500
)

// Run works until ctx ends: soon, and then every hour.
func (j *Job) Run(ctx context.Context) {
	if len(j.opts.Rules) == 0 {
		return
	}
	for wait := soon; pause(ctx, wait) == nil; wait = every {
		n, err := j.Pass(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			j.opts.Logger.Error("retention broke off; it goes on in an hour", "deleted", n, "err", err)
		case n > 0:
			j.opts.Logger.Info("retention", "deleted", n)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// maxFailures is how many conversations a pass fails to delete before it gives up: then
// the store is at fault rather than the conversations.
const maxFailures = 10

// Pass looks at every conversation once, and returns how many it deleted. The error tells
// of the conversations that could not be deleted, too.
func (j *Job) Pass(ctx context.Context) (deleted int, err error) {
	release, leads, err := j.opts.Lead(ctx)
	if err != nil {
		return 0, err
	}
	if leads {
		defer release()
	}
	active := map[Person]bool{}
	prepared := false
	var failures []error // of conversations that could not be deleted
	var documents []store.Stream
	for after := ""; ; {
		heads, err := j.opts.Log.Walk(ctx, after, page)
		if err != nil {
			return deleted, err
		}
		for _, head := range heads {
			after = head.ID
			if head.Kind != store.Conversation {
				if leads && j.opts.Document(head) && j.over(head) {
					documents = append(documents, head)
				}
				continue
			}
			if !j.over(head) || !leads {
				active[Person{head.Org, head.User}] = true
				continue
			}
			if !prepared {
				if err := j.opts.Before(ctx); err != nil {
					return deleted, err
				}
				prepared = true
			}
			gone, err := j.remove(ctx, head)
			if err != nil {
				// One that is damaged does not keep the others.
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
				if err := pause(ctx, betweenIt); err != nil {
					return deleted, err
				}
			}
		}
		if len(heads) < page {
			break
		}
	}
	j.clear(ctx)
	if err := j.outlived(ctx, documents, active); err != nil {
		return deleted, err
	}
	return deleted, errors.Join(append(failures, j.opts.Files(ctx, j.opts.Rules, active))...)
}

// outlived deletes old documents of people who have no conversation any more.
func (j *Job) outlived(ctx context.Context, documents []store.Stream, active map[Person]bool) error {
	for _, head := range documents {
		if active[Person{head.Org, head.User}] {
			continue
		}
		switch err := j.opts.Log.DeleteAt(ctx, head.ID, head.Last); footnote.CodeOf(err) {
		case "":
			age, _ := j.opts.Rules.Age(head.Org)
			if err := j.opts.Note(j.deleted(head, age)); err != nil {
				return err
			}
		case footnote.Conflict, footnote.NotFound:
		default:
			return err
		}
	}
	return nil
}

// over reports whether a conversation's time is over. One that is answering, or waits
// for an answer, is left alone.
func (j *Job) over(head store.Stream) bool {
	age, ok := j.opts.Rules.Age(head.Org)
	return ok && head.RunState == "" && j.opts.Now().Sub(head.Updated) > age
}

// remove deletes a conversation, unless something has happened in it meanwhile.
func (j *Job) remove(ctx context.Context, head store.Stream) (gone bool, err error) {
	switch err := j.opts.Log.DeleteAt(ctx, head.ID, head.Last); footnote.CodeOf(err) {
	case "":
	case footnote.Conflict, footnote.NotFound:
		return footnote.CodeOf(err) == footnote.NotFound, nil
	default:
		return false, err
	}
	j.left = append(j.left, head.ID)
	j.clear(ctx)
	age, _ := j.opts.Rules.Age(head.Org)
	return true, j.opts.Note(j.deleted(head, age))
}

func (j *Job) deleted(head store.Stream, age time.Duration) Deleted {
	return Deleted{
		Type: "retention", SessionID: head.ID, Timestamp: j.opts.Now().UTC().Format(time.RFC3339), Org: head.Org, User: head.User,
		LastEvent: head.Updated.UTC().Format(time.RFC3339), Events: head.Last, Kept: age.String(),
	}
}

// clear removes what is left beside logs that are gone.
func (j *Job) clear(ctx context.Context) {
	var still []string
	var errs []error
	for _, id := range j.left {
		if err := j.opts.After(ctx, id); err != nil {
			still, errs = append(still, id), append(errs, err)
		}
	}
	j.left = still
	if err := errors.Join(errs...); err != nil {
		j.opts.Logger.Error("what belonged to deleted conversations is still there", "conversations", len(still), "err", err)
	}
}
