package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
)

const (
	maxTitle       = 200 // characters of a title
	maxFeedback    = 2_000
	maxExtraEvents = 1_000 // beyond Limits.Events
	raceTries      = 5
)

// errStale is returned when a person has already chosen a title.
var errStale = errors.New("the user has already chosen a title")

// Append adds an event to a conversation outside its runs, also while one is in progress: a Titled, a Feedback, a
// SourceAdded or a QueryRun. The rows of a QueryRun are stored with it. Its Result needs a source and a statement;
// Append fills in the rest, and By. Append returns the sequence of the event once it is stored.
//
// The error's code is NotFound for a conversation that is not the principal's, InvalidRequest for an invalid body,
// TooLarge when the conversation has a thousand events more than Limits.Events, and Conflict when another process
// drives the run, or the conversation changes too fast.
func (e *Engine) Append(ctx context.Context, p footnote.Principal, conversation string, body footnote.Body,
	rows *footnote.Result) (int64, footnote.Body, error) {
	leave, err := e.enter()
	if err != nil {
		return 0, nil, err
	}
	defer leave()
	return e.appendTo(ctx, p, conversation, addition{body: body, rows: rows})
}

// Record adds a statement that a person ran, with its rows, to a conversation without a run. The client may name the
// conversation; one that does not exist yet is opened. Record completes the run like Append.
func (e *Engine) Record(ctx context.Context, p footnote.Principal, clientID string, run footnote.QueryRun,
	rows *footnote.Result) (conversation string, stored footnote.QueryRun, err error) {
	leave, err := e.enter()
	if err != nil {
		return "", run, err
	}
	defer leave()
	for range raceTries {
		head, found, err := e.find(ctx, &Turn{Principal: p, ClientID: clientID})
		if err != nil {
			return "", run, err
		}
		if !found {
			conversation, run, err := e.openFor(ctx, p, clientID, run, rows)
			if footnote.CodeOf(err) == footnote.Conflict && clientID != "" {
				continue // meanwhile another statement has opened it
			}
			return conversation, run, err
		}
		_, body, err := e.appendTo(ctx, p, head.ID, addition{body: run, rows: rows})
		if err != nil {
			return "", run, err
		}
		return head.ID, body.(footnote.QueryRun), nil
	}
	return "", run, footnote.Errorf(footnote.Conflict, "The conversation changes too fast. Try again.")
}

// openFor opens a conversation with a statement that a person ran.
func (e *Engine) openFor(ctx context.Context, p footnote.Principal, clientID string, run footnote.QueryRun,
	rows *footnote.Result) (string, footnote.QueryRun, error) {
	a, err := e.assistant(p, "", "")
	if err != nil {
		return "", run, err
	}
	t := &Turn{Principal: p, ClientID: clientID, Text: run.Result.SQL, Sources: []string{run.Result.Source}}
	head, opened, blobs, err := e.opening(ctx, a, t)
	if err != nil {
		return "", run, err
	}
	body, more, err := (&state{}).completed(p, addition{body: run, rows: rows})
	if err != nil {
		return "", run, err
	}
	maps.Copy(blobs, more)
	_, err = e.opts.Log.CreateAppend(ctx, head, footnote.Append{
		Stream: head.ID, Bodies: append(openingBodies(opened, t), body), Blobs: blobs,
	})
	return head.ID, body.(footnote.QueryRun), err
}

// addition is an event to append to a conversation, outside of its runs.
type addition struct {
	body   footnote.Body
	rows   *footnote.Result
	settle []footnote.Settle
}

func (e *Engine) appendTo(ctx context.Context, p footnote.Principal, conversation string,
	n addition) (int64, footnote.Body, error) {
	head, found, err := e.find(ctx, &Turn{Principal: p, Conversation: conversation})
	if err != nil {
		return 0, nil, err
	} else if !found {
		return 0, nil, noConversation(nil)
	}
	if a := e.byName[head.Assistant]; a != nil && head.Last >= a.Limits.Events+maxExtraEvents {
		return 0, nil, footnote.Errorf(footnote.TooLarge, "The conversation has %d events and is full.", head.Last)
	}
	if err := e.awaitElsewhere(ctx, conversation, elsewhereIn); err != nil {
		return 0, nil, err
	}
	for range raceTries {
		if r := e.running(conversation); r != nil {
			seq, body, done, err := r.appendDuringRun(ctx, p, n)
			if done || err != nil {
				return seq, body, err
			}
			if err := r.waitUntilOver(ctx); err != nil { // it is about to park, or to end
				return 0, nil, err
			}
			continue
		}
		var seq int64
		var body footnote.Body
		seq, body, err = e.appendIdle(ctx, p, conversation, n)
		if footnote.CodeOf(err) != footnote.Conflict {
			return seq, body, err
		}
	}
	return 0, nil, err
}

// appendDuringRun appends an event to a conversation with an active run. done is false if the run is about to end.
func (r *run) appendDuringRun(ctx context.Context, p footnote.Principal,
	n addition) (seq int64, body footnote.Body, done bool, err error) {
	if err := r.w.outageErr(); err != nil {
		return 0, nil, false, err
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return 0, nil, false, nil
	}
	body, blobs, err := r.s.completed(p, n)
	if err == nil {
		if seq, done = r.w.putOutside(n.settle, blobs, body); done {
			r.apply(seq, []footnote.Body{body})
		}
	}
	r.mu.Unlock()
	if err != nil || !done {
		return 0, nil, false, err
	}
	return seq, body, true, r.w.stored(ctx)
}

// appendIdle appends an event to a conversation in which nothing is running.
func (e *Engine) appendIdle(ctx context.Context, p footnote.Principal, conversation string,
	n addition) (int64, footnote.Body, error) {
	unlock, err := e.lock(ctx, conversation)
	if err != nil {
		return 0, nil, err
	}
	defer unlock()
	head, err := e.quiet(ctx, conversation)
	if err != nil {
		return 0, nil, err
	}
	s, err := e.load(ctx, head)
	if err != nil {
		return 0, nil, err
	}
	body, blobs, err := s.completed(p, n)
	if err != nil {
		return 0, nil, err
	}
	err = e.appendAndShow(ctx, footnote.Append{
		Stream: conversation, After: head.Last, Bodies: []footnote.Body{body}, Blobs: blobs, Settle: n.settle,
	})
	return head.Last + 1, body, err
}

// appendAfter appends an event to a conversation whose newest event is last and in which nothing is running. It
// reads nothing; the error's code is Conflict if the conversation has changed.
func (e *Engine) appendAfter(ctx context.Context, conversation string, last int64, body footnote.Body,
	settle []footnote.Settle) error {
	unlock, err := e.lock(ctx, conversation)
	if err != nil {
		return err
	}
	defer unlock()
	if e.running(conversation) != nil {
		return errBusy
	}
	return e.appendAndShow(ctx, footnote.Append{
		Stream: conversation, After: last, Bodies: []footnote.Body{body}, Settle: settle,
	})
}

// appendAndShow appends an event that belongs to no run, and shows it. The conversation must be locked.
func (e *Engine) appendAndShow(ctx context.Context, a footnote.Append) error {
	events, err := e.opts.Log.Append(ctx, a)
	if err != nil {
		return err
	}
	topic := e.opts.Hub.Open(a.Stream, a.After)
	topic.Publish(events...)
	topic.Trim()
	topic.Close()
	return nil
}

// maxSources is the maximum number of sources of a conversation.
const maxSources = 32

// completed checks an addition and completes its event.
func (s *state) completed(p footnote.Principal, n addition) (footnote.Body, map[footnote.Digest][]byte, error) {
	switch b := n.body.(type) {
	case footnote.Titled:
		b.Title = strings.Join(strings.Fields(strings.ToValidUTF8(b.Title, "\uFFFD")), " ")
		if c := utf8.RuneCountInString(b.Title); c == 0 || c > maxTitle {
			return nil, nil, footnote.Invalidf("A title must have 1 to %d characters.", maxTitle)
		}
		if b.Auto && s.titled.Title != "" && !s.titled.Auto {
			return nil, nil, errStale
		}
		return b, nil, nil
	case footnote.Feedback:
		b.Words = strings.ToValidUTF8(b.Words, "\uFFFD")
		if utf8.RuneCountInString(b.Words) > maxFeedback {
			return nil, nil, footnote.Errorf(footnote.InputTooLong, "Feedback has at most %d characters.", maxFeedback)
		}
		if !slices.ContainsFunc(s.events, func(ev footnote.Event) bool {
			_, answer := ev.Body.(footnote.Answered)
			return answer && ev.Seq == b.Seq
		}) {
			return nil, nil, footnote.Invalidf("Event %d is not an answer of this conversation.", b.Seq)
		}
		return b, nil, nil
	case footnote.QueryRun:
		return s.queried(p, b, n.rows)
	case footnote.SourceAdded:
		switch {
		case slices.Contains(s.opened.Sources, b.Source):
			return nil, nil, footnote.Invalidf("The conversation has the source %.80q already.", b.Source)
		case len(s.opened.Sources) >= maxSources:
			return nil, nil, footnote.Invalidf("A conversation can have at most %d sources.", maxSources)
		}
		b.By = p.User
		return b, nil, nil
	default:
		return nil, nil, footnote.Invalidf("A client cannot add an event of kind %s.", footnote.KindOf(n.body))
	}
}

// queried completes the record of a query that a person ran.
func (s *state) queried(p footnote.Principal, b footnote.QueryRun,
	rows *footnote.Result) (footnote.Body, map[footnote.Digest][]byte, error) {
	if rows == nil {
		return nil, nil, footnote.Invalidf("A query needs the rows it returned.")
	}
	if len(b.Result.SQL) > maxSQL {
		return nil, nil, footnote.Errorf(footnote.TooLarge, "The statement has %d bytes; at most %d are allowed.",
			len(b.Result.SQL), maxSQL)
	}
	if b.Replaces != "" &&
		!slices.ContainsFunc(s.stored, func(r footnote.StoredResult) bool { return r.ID == b.Replaces }) {
		return nil, nil, footnote.Invalidf("There is no result %.40q in this conversation.", b.Replaces)
	}
	b.By = p.User
	stored, blobs := storeRows(resultID(openCall{ordinal: s.ordinal + 1}), b.Result.Source, b.Result.SQL, *rows)
	stored.Parents, stored.Verified = b.Result.Parents, b.Result.Verified
	stored.RowCount = max(stored.RowCount, b.Result.RowCount) // larger for a query that ran in a browser
	b.Result = *stored
	return b, blobs, nil
}
