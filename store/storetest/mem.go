package storetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/internal/lease"
)

// Mem is a Store in memory, for tests and for trying things out. It keeps events
// encoded, so what it gives back is what a store on disk would.
type Mem struct {
	now func() time.Time

	leases lease.Table
	mu     sync.RWMutex // guards below
	closed bool
	byID   map[string]*memStream
	client map[clientKey]string
	blobs  map[footnote.Digest]*memBlob
	tail   []memEvent // of all streams, by position
	cursor map[string]int64
	keys   map[string]store.Key
	last   int64 // position

	balances map[store.Account]footnote.Balance
	reserved map[string]footnote.Reservation
}

type clientKey struct{ org, user, kind, id string }

type memStream struct {
	head   store.Stream
	events []memEvent
	blobs  map[footnote.Digest]bool
}

type memBlob struct {
	data []byte
	refs int
}

type memEvent struct {
	position int64
	stream   *memStream
	seq      int64
	time     time.Time
	run      string
	kind     string
	body     []byte
}

var _ store.Store = (*Mem)(nil)

// NewMem makes an empty store in memory.
func NewMem() *Mem { return NewMemAt(time.Now) }

// NewMemAt is NewMem with a clock.
func NewMemAt(now func() time.Time) *Mem {
	return &Mem{
		now:    now,
		byID:   make(map[string]*memStream),
		client: make(map[clientKey]string),
		blobs:  make(map[footnote.Digest]*memBlob),
		cursor: make(map[string]int64),
		keys:   make(map[string]store.Key),

		balances: make(map[store.Account]footnote.Balance),
		reserved: make(map[string]footnote.Reservation),
	}
}

// lock begins a write, and rlock a read; each is refused when ctx is done or the
// store is closed.
func (m *Mem) lock(ctx context.Context) (unlock func(), err error) {
	m.mu.Lock()
	if err := m.usable(ctx); err != nil {
		m.mu.Unlock()
		return nil, err
	}
	return m.mu.Unlock, nil
}

func (m *Mem) rlock(ctx context.Context) (unlock func(), err error) {
	m.mu.RLock()
	if err := m.usable(ctx); err != nil {
		m.mu.RUnlock()
		return nil, err
	}
	return m.mu.RUnlock, nil
}

func (m *Mem) usable(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("use the store: %w", context.Cause(ctx))
	}
	if m.closed {
		return store.ErrClosed()
	}
	return nil
}

// Create implements Store.
func (m *Mem) Create(ctx context.Context, s store.Stream) error {
	if err := store.CheckStream(s); err != nil {
		return err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := m.free(s); err != nil {
		return err
	}
	m.insert(s, store.Micros(m.now()))
	return nil
}

// free reports a conflict for an id that is taken. m.mu must be held.
func (m *Mem) free(s store.Stream) error {
	if _, ok := m.byID[s.ID]; ok {
		return store.ErrTaken(s.ID)
	}
	if _, ok := m.client[clientKey{s.Org, s.User, s.Kind, s.ClientID}]; ok && s.ClientID != "" {
		return store.ErrTaken(s.ClientID)
	}
	return nil
}

func (m *Mem) insert(s store.Stream, now time.Time) *memStream {
	st := &memStream{
		head: store.Stream{
			ID: s.ID, Kind: s.Kind, Org: s.Org, User: s.User, ClientID: s.ClientID,
			Assistant: s.Assistant, Title: store.CleanTitle(s.Title), Created: now, Updated: now,
		},
		blobs: make(map[footnote.Digest]bool),
	}
	m.byID[s.ID] = st
	if s.ClientID != "" {
		m.client[clientKey{s.Org, s.User, s.Kind, s.ClientID}] = s.ID
	}
	return st
}

// CreateAppend implements Store.
func (m *Mem) CreateAppend(ctx context.Context, s store.Stream, a store.Append) ([]footnote.Event, error) {
	a, err := store.FirstAppend(s, a)
	if err != nil {
		return nil, err
	}
	kinds, data, err := store.EncodeBodies(a.Bodies)
	if err != nil {
		return nil, err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := m.free(s); err != nil {
		return nil, err
	}
	if err := m.settleable(a); err != nil {
		return nil, err
	}
	now := store.Micros(m.now())
	return m.write(m.insert(s, now), a, kinds, data, now), nil
}

// Append implements Store.
func (m *Mem) Append(ctx context.Context, a store.Append) ([]footnote.Event, error) {
	if err := store.CheckAppend(a); err != nil {
		return nil, err
	}
	kinds, data, err := store.EncodeBodies(a.Bodies)
	if err != nil {
		return nil, err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	st, ok := m.byID[a.Stream]
	if !ok {
		return nil, store.ErrNoStream(a.Stream)
	}
	now := store.Micros(m.now())
	if st.head.Last != a.After {
		return nil, store.ErrMoved(a.Stream, a.After, st.head.Last)
	}
	if !m.leases.Allows(a, now) {
		return nil, store.ErrHeld(a.Stream)
	}
	if err := m.settleable(a); err != nil {
		return nil, err
	}
	return m.write(st, a, kinds, data, now), nil
}

// write does an append that was checked. m.mu must be held.
func (m *Mem) write(st *memStream, a store.Append, kinds []string, data [][]byte, now time.Time) []footnote.Event {
	events := make([]footnote.Event, len(a.Bodies))
	for i, b := range a.Bodies {
		m.last++
		st.head.Last++
		events[i] = footnote.Event{Stream: a.Stream, Seq: st.head.Last, Time: now, Run: a.Run, Body: b}
		e := memEvent{
			position: m.last, stream: st, seq: st.head.Last, time: now, run: a.Run, kind: kinds[i], body: data[i],
		}
		st.events = append(st.events, e)
		m.tail = append(m.tail, e)
	}
	for d, data := range a.Blobs {
		if st.blobs[d] {
			continue
		}
		st.blobs[d] = true
		if m.blobs[d] == nil {
			m.blobs[d] = &memBlob{data: bytes.Clone(data)}
		}
		m.blobs[d].refs++
	}
	c := store.ChangeOf(a.Run, a.Bodies)
	if c.SetRun {
		st.head.Run, st.head.RunState, st.head.Deadline = c.Run, c.RunState, c.Deadline
	}
	if c.SetTitle {
		st.head.Title = c.Title
	}
	if len(events) > 0 {
		st.head.Updated = now
	}
	m.settle(a, now)
	m.leases.Apply(a, now)
	return events
}

// Get implements Store.
func (m *Mem) Get(ctx context.Context, id string) (store.Stream, error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return store.Stream{}, err
	}
	defer unlock()
	st, ok := m.byID[id]
	if !ok {
		return store.Stream{}, store.ErrNoStream(id)
	}
	return st.head, nil
}

// Find implements Store.
func (m *Mem) Find(ctx context.Context, org, user, kind, clientID string) (store.Stream, error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return store.Stream{}, err
	}
	defer unlock()
	id, ok := m.client[clientKey{org, user, kind, clientID}]
	if !ok {
		return store.Stream{}, store.ErrNoStream(clientID)
	}
	return m.byID[id].head, nil
}

// List implements Store.
func (m *Mem) List(ctx context.Context, p store.Page) ([]store.Stream, string, error) {
	updated, id, err := store.From(p)
	if err != nil {
		return nil, "", err
	}
	unlock, err := m.rlock(ctx)
	if err != nil {
		return nil, "", err
	}
	defer unlock()
	query := store.Fold(p.Query)
	var page []store.Stream
	for _, st := range m.byID {
		h := st.head
		if h.Org != p.Org || h.User != p.User || (p.Kind != "" && h.Kind != p.Kind) {
			continue
		}
		if cmp.Or(cmp.Compare(h.Updated.UnixMicro(), updated), cmp.Compare(h.ID, id)) >= 0 {
			continue
		}
		if strings.Contains(store.Fold(h.Title), query) {
			page = append(page, h)
		}
	}
	slices.SortFunc(page, func(a, b store.Stream) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(b.ID, a.ID))
	})
	if len(page) <= p.Limit {
		return page, "", nil
	}
	return page[:p.Limit:p.Limit], store.CursorOf(page[p.Limit-1]), nil
}

// Events implements Store.
func (m *Mem) Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error] {
	return func(yield func(footnote.Event, error) bool) {
		unlock, err := m.rlock(ctx)
		if err != nil {
			yield(footnote.Event{}, err)
			return
		}
		st, ok := m.byID[stream]
		var events []memEvent
		if ok {
			events = st.events[min(max(after, 0), int64(len(st.events))):] // never changed, only grown
		}
		unlock()
		if !ok {
			yield(footnote.Event{}, store.ErrNoStream(stream))
			return
		}
		for _, e := range events {
			if ctx.Err() != nil {
				yield(footnote.Event{}, fmt.Errorf("read %s: %w", stream, context.Cause(ctx)))
				return
			}
			if !yield(e.decode(), nil) {
				return
			}
		}
	}
}

func (e memEvent) decode() footnote.Event {
	return footnote.Event{
		Stream: e.stream.head.ID, Seq: e.seq, Time: e.time, Run: e.run, Body: footnote.ReadBody(e.kind, e.body),
	}
}

// Blob implements Store.
func (m *Mem) Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	st, ok := m.byID[stream]
	if !ok {
		return nil, store.ErrNoStream(stream)
	}
	if !st.blobs[d] {
		return nil, store.ErrNoBlob(d)
	}
	return bytes.Clone(m.blobs[d].data), nil
}

// Blobs implements Store.
func (m *Mem) Blobs(ctx context.Context, stream string) (map[footnote.Digest]int64, error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	st, ok := m.byID[stream]
	if !ok {
		return nil, store.ErrNoStream(stream)
	}
	sizes := make(map[footnote.Digest]int64, len(st.blobs))
	for d := range st.blobs {
		sizes[d] = int64(len(m.blobs[d].data))
	}
	return sizes, nil
}

// DropBlobs implements Store.
func (m *Mem) DropBlobs(ctx context.Context, stream string, digests []footnote.Digest) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	st, ok := m.byID[stream]
	if !ok {
		return store.ErrNoStream(stream)
	}
	for _, d := range digests {
		if !st.blobs[d] {
			continue
		}
		delete(st.blobs, d)
		if m.blobs[d].refs--; m.blobs[d].refs == 0 {
			delete(m.blobs, d)
		}
	}
	return nil
}

// Holdings implements Store.
func (m *Mem) Holdings(ctx context.Context, org, kind string) ([]footnote.Holding, error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var list []footnote.Holding
	for id, st := range m.byID {
		if st.head.Org != org || st.head.Kind != kind || len(st.blobs) == 0 {
			continue
		}
		h := footnote.Holding{Stream: id, Updated: st.head.Updated}
		for d := range st.blobs {
			h.Bytes += int64(len(m.blobs[d].data))
		}
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b footnote.Holding) int {
		return cmp.Or(a.Updated.Compare(b.Updated), cmp.Compare(a.Stream, b.Stream))
	})
	return list, nil
}

// Delete implements Store.
func (m *Mem) Delete(ctx context.Context, id string) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	st, ok := m.byID[id]
	if !ok {
		return store.ErrNoStream(id)
	}
	for d := range st.blobs {
		if m.blobs[d].refs--; m.blobs[d].refs == 0 {
			delete(m.blobs, d)
		}
	}
	m.tail = slices.DeleteFunc(m.tail, func(e memEvent) bool { return e.stream == st })
	delete(m.byID, id)
	account := store.Account{Org: st.head.Org, User: st.head.User, Stream: id}
	gone := store.Changes{}
	gone.Delete(st.head.Org, st.head.User, m.balances[account])
	m.change(gone)
	delete(m.balances, account)
	if st.head.ClientID != "" {
		delete(m.client, clientKey{st.head.Org, st.head.User, st.head.Kind, st.head.ClientID})
	}
	m.leases.Drop(id)
	return nil
}

// Renew implements Store.
func (m *Mem) Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error {
	if err := store.CheckTTL(ttl); err != nil {
		return err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if !m.leases.Renew(stream, token, ttl, m.now()) {
		return store.ErrHeld(stream)
	}
	return nil
}

// Release implements Store.
func (m *Mem) Release(ctx context.Context, stream string, token int64) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	m.leases.Release(stream, token)
	return nil
}

// Unfinished implements Store.
func (m *Mem) Unfinished(ctx context.Context, now time.Time, limit int) ([]store.Stream, error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return m.heads(limit, func(h store.Stream) bool {
		return h.RunState == "running" && !m.leases.Held(h.ID, now) || h.RunState == "parked" && h.Deadline.Before(now)
	}), nil
}

// heads are those that keep lets through, the one that has not changed for longest
// first. m.mu must be held.
func (m *Mem) heads(limit int, keep func(store.Stream) bool) []store.Stream {
	var heads []store.Stream
	for _, st := range m.byID {
		if keep(st.head) {
			heads = append(heads, st.head)
		}
	}
	slices.SortFunc(heads, func(a, b store.Stream) int {
		return cmp.Or(a.Updated.Compare(b.Updated), cmp.Compare(a.ID, b.ID))
	})
	return heads[:min(max(limit, 0), len(heads))]
}

// Tail implements Store.
func (m *Mem) Tail(ctx context.Context, after int64, limit int) ([]store.Positioned, error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	i, _ := slices.BinarySearchFunc(m.tail, after, func(e memEvent, after int64) int {
		if e.position <= after {
			return -1
		}
		return 1
	})
	events := m.tail[i:]
	events = events[:min(max(limit, 0), len(events))]
	out := make([]store.Positioned, 0, len(events))
	for _, e := range events {
		out = append(out, store.Positioned{
			Event: e.decode(), Position: e.position, Org: e.stream.head.Org, User: e.stream.head.User,
		})
	}
	return out, nil
}

// Cursor implements Store.
func (m *Mem) Cursor(ctx context.Context, name string) (int64, error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return m.cursor[name], nil
}

// SetCursor implements Store.
func (m *Mem) SetCursor(ctx context.Context, name string, position int64) error {
	if err := store.CheckCursor(name, position); err != nil {
		return err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	m.cursor[name] = position
	return nil
}

// Ping implements Store.
func (m *Mem) Ping(ctx context.Context) error {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return err
	}
	unlock()
	return nil
}

// Close forgets everything. It may be called twice.
func (m *Mem) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.byID, m.client, m.blobs, m.tail, m.cursor = nil, nil, nil, nil, nil
	return nil
}
