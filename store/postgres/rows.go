package postgres

import (
	"cmp"
	"slices"
	"time"

	"github.com/footnotehq/footnote/store"
)

// This file turns the writes of a batch into columns for the statements that write them together.

// newStreamRows returns the rows of the streams to create, in the order in which all transactions create them.
func newStreamRows(writes []*write) streamRows {
	var creates []*write
	for _, p := range writes {
		if p.create != nil {
			creates = append(creates, p)
		}
	}
	slices.SortFunc(creates, func(a, b *write) int {
		return cmp.Or(cmp.Compare(a.create.ClientID, b.create.ClientID), cmp.Compare(a.create.ID, b.create.ID))
	})
	var rows streamRows
	for _, p := range creates {
		rows.add(p)
	}
	return rows
}

// streamRows are new streams with the heads that they have after their first events.
type streamRows struct {
	id, kind, org, user, client, assistant, title, fold []string
	last                                                []int64
	run, state                                          []string
	deadline                                            []*time.Time
	token                                               []int64
	owner                                               []string
	ttl                                                 []*int64
	write                                               []int64
}

func (r *streamRows) add(p *write) {
	s, c := p.create, p.change
	title := store.CleanTitle(s.Title)
	if c.SetTitle {
		title = c.Title
	}
	token, owner, ttl := p.lease()
	if token == nil {
		token = new(int64(0))
	}
	r.id, r.kind, r.org, r.user = append(r.id, s.ID), append(r.kind, s.Kind), append(r.org, s.Org),
		append(r.user, s.User)
	r.client, r.assistant = append(r.client, s.ClientID), append(r.assistant, s.Assistant)
	r.title, r.fold = append(r.title, title), append(r.fold, store.Fold(title))
	r.last = append(r.last, int64(len(p.a.Bodies)))
	r.run, r.state, r.deadline = append(r.run, c.Run), append(r.state, c.RunState),
		append(r.deadline, timeOrNull(c.Deadline))
	r.token, r.owner, r.ttl = append(r.token, *token), append(r.owner, owner), append(r.ttl, ttl)
	r.write = append(r.write, p.id)
}

func (r *streamRows) args() []any {
	return []any{r.id, r.kind, r.org, r.user, r.client, r.assistant, r.title, r.fold, r.last, r.run, r.state,
		r.deadline,
		r.token, r.owner, r.ttl, r.write}
}

// headRows are the changes of heads by appends.
type headRows struct {
	n, count    []int64
	time        []time.Time
	setRun      []bool
	run, state  []string
	deadline    []*time.Time
	title, fold []*string
	token       []*int64
	owner       []string
	ttl         []*int64
}

func (r *headRows) add(p *write) {
	token, owner, ttl := p.lease()
	if p.create != nil || len(p.a.Bodies) == 0 && token == nil {
		return
	}
	c := p.change
	var title, fold *string
	if c.SetTitle {
		title, fold = &c.Title, new(store.Fold(c.Title))
	}
	r.n, r.count, r.time = append(r.n, p.n), append(r.count, int64(len(p.a.Bodies))), append(r.time, p.time)
	r.setRun, r.run, r.state = append(r.setRun, c.SetRun), append(r.run, c.Run), append(r.state, c.RunState)
	r.deadline = append(r.deadline, timeOrNull(c.Deadline))
	r.title, r.fold = append(r.title, title), append(r.fold, fold)
	r.token, r.owner, r.ttl = append(r.token, token), append(r.owner, owner), append(r.ttl, ttl)
}

func (r *headRows) args() []any {
	return []any{r.n, r.count, r.time, r.setRun, r.run, r.state, r.deadline, r.title, r.fold, r.token, r.owner, r.ttl}
}

// lease returns the change of the stream's lease: none if token is nil, and a release if it is 0.
func (p *write) lease() (token *int64, owner string, ttl *int64) {
	switch {
	case p.a.Release:
		return new(int64(0)), "", nil
	case p.a.Take != nil:
		return new(p.a.After + 1), p.a.Take.Owner, new(p.a.Take.TTL.Microseconds())
	}
	return nil, "", nil
}

type blobRows struct {
	stream []int64
	digest []string
	data   [][]byte
}

func (r *blobRows) add(p *write) {
	for digest, data := range p.a.Blobs {
		if data == nil {
			data = []byte{} // empty, not NULL
		}
		r.stream, r.digest, r.data = append(r.stream, p.n), append(r.digest, digest), append(r.data, data)
	}
}

type eventRows struct {
	stream, seq []int64
	write       []*int64 // only for the first event of a write
	time        []time.Time
	run, kind   []string
	body        []string
}

func (r *eventRows) add(p *write) {
	for i, ev := range p.events {
		var id *int64
		if i == 0 {
			id = &p.id
		}
		r.stream, r.seq, r.write = append(r.stream, p.n), append(r.seq, ev.Seq), append(r.write, id)
		r.time, r.run = append(r.time, ev.Time), append(r.run, ev.Run)
		r.kind, r.body = append(r.kind, p.kinds[i]), append(r.body, p.data[i])
	}
}

func (r *eventRows) args() []any {
	return []any{r.stream, r.seq, r.write, r.time, r.run, r.kind, r.body, int64(lockPosition)}
}

// timeOrNull returns t as it is stored; the zero time is NULL.
func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
