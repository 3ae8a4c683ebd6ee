package postgres

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote/store"
)

// This file turns Go values into columns, for statements that write many rows together, and rows into Go values.

// leaves returns the fields of a struct in order. It returns the fields of a field that is a struct itself in its
// place, unless it is a time.
func leaves(v reflect.Value) (fields []reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Struct && f.Type() != reflect.TypeFor[time.Time]() {
			fields = append(fields, leaves(f)...)
		} else {
			fields = append(fields, f)
		}
	}
	return fields
}

// columns returns the leaves of structs as the arguments of unnest: a slice for each leaf.
func columns[T any](rows []T) []any {
	var zero T
	var lists []reflect.Value
	for _, leaf := range leaves(reflect.ValueOf(zero)) {
		lists = append(lists, reflect.MakeSlice(reflect.SliceOf(leaf.Type()), len(rows), len(rows)))
	}
	for at, row := range rows {
		for i, leaf := range leaves(reflect.ValueOf(row)) {
			lists[i].Index(at).Set(leaf)
		}
	}
	args := make([]any, len(lists))
	for i, list := range lists {
		args[i] = list.Interface()
	}
	return args
}

// scan reads a row into the leaves of a struct, with times in UTC.
func scan[T any](row pgx.CollectableRow) (v T, err error) {
	var to []any
	for _, leaf := range leaves(reflect.ValueOf(&v).Elem()) {
		to = append(to, leaf.Addr().Interface())
	}
	err = row.Scan(to...)
	for _, field := range to {
		if t, ok := field.(*time.Time); ok {
			*t = t.UTC()
		}
	}
	return v, err
}

// newStream is a row of sqlCreate: a new stream with the head that it has after its first events.
type newStream struct {
	ID, Kind, Org, User, ClientID, Assistant, Title string

	Last       int64
	Run, State string
	Deadline   *time.Time
	Token      int64
	Owner      string
	TTL        *int64
	Write      int64
}

// newStreams returns the rows of the streams to create, in the order in which all transactions create them.
func newStreams(writes []*write) (rows []newStream) {
	for _, p := range writes {
		if p.create == nil {
			continue
		}
		s, c := p.create, p.change
		title := store.CleanTitle(s.Title)
		if c.SetTitle {
			title = c.Title
		}
		token, owner, ttl := p.lease()
		if token == nil {
			token = new(int64(0))
		}
		rows = append(rows, newStream{s.ID, s.Kind, s.Org, s.User, s.ClientID, s.Assistant, title,
			int64(len(p.a.Bodies)), c.Run, c.RunState, timeOrNull(c.Deadline), *token, owner, ttl, p.id})
	}
	slices.SortFunc(rows, func(a, b newStream) int {
		return cmp.Or(cmp.Compare(a.ClientID, b.ClientID), cmp.Compare(a.ID, b.ID))
	})
	return rows
}

// headChange is a row of sqlAdvance: the change of a head by an append.
type headChange struct {
	N, Count   int64
	Time       time.Time
	SetRun     bool
	Run, State string
	Deadline   *time.Time
	Title      *string
	Token      *int64
	Owner      string
	TTL        *int64
}

// head returns the change of the stream's head. ok is false if there is none.
func (p *write) head() (h headChange, ok bool) {
	token, owner, ttl := p.lease()
	if p.create != nil || len(p.a.Bodies) == 0 && token == nil {
		return h, false
	}
	c := p.change
	h = headChange{N: p.n, Count: int64(len(p.a.Bodies)), Time: p.time, SetRun: c.SetRun, Run: c.Run, State: c.RunState,
		Deadline: timeOrNull(c.Deadline), Token: token, Owner: owner, TTL: ttl}
	if c.SetTitle {
		h.Title = &c.Title
	}
	return h, true
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

// newBlob is a row of sqlBlobs.
type newBlob struct {
	Stream int64
	Digest string
	Data   []byte
}

func (p *write) blobs() (rows []newBlob) {
	for digest, data := range p.a.Blobs {
		rows = append(rows, newBlob{p.n, digest, notNil(data)})
	}
	return rows
}

// newEvent is a row of sqlEvents.
type newEvent struct {
	Stream, Seq     int64
	Write           *int64 // only for the first event of a write
	Time            time.Time
	Run, Kind, Body string
}

func (p *write) eventRows() (rows []newEvent) {
	id := &p.id
	for i, ev := range p.events {
		rows = append(rows, newEvent{p.n, ev.Seq, id, ev.Time, ev.Run, p.kinds[i], p.data[i]})
		id = nil
	}
	return rows
}

// insertEvents returns the arguments of sqlEvents.
func insertEvents(rows []newEvent) []any { return append(columns(rows), int64(lockPosition)) }

// notNil returns data as it is stored: empty rather than NULL.
func notNil(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// timeOrNull returns t as it is stored; the zero time is NULL.
func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
