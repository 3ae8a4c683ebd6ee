package retention_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/retention"
	"github.com/footnotehq/footnote/store/sqlite"
)

const day = 24 * time.Hour

// fixture returns an empty store and the clock that it reads.
func fixture(t *testing.T) (*sqlite.Store, *time.Time) {
	t.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := &now
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "footnote.db"), sqlite.Options{
		Now: func() time.Time { return *clock },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, clock
}

// newJob returns a job whose other options do nothing.
func newJob(o retention.Options) *retention.Job {
	if o.Before == nil {
		o.Before = func(context.Context) error { return nil }
	}
	if o.After == nil {
		o.After = func(context.Context, string) error { return nil }
	}
	if o.Files == nil {
		o.Files = func(context.Context, retention.Rules, map[retention.Person]bool) error { return nil }
	}
	if o.Document == nil {
		o.Document = func(store.Stream) bool { return false }
	}
	if o.Note == nil {
		o.Note = func(retention.Deleted) error { return nil }
	}
	o.Logger = slog.New(slog.DiscardHandler)
	return retention.New(o)
}

// create creates a conversation with one message, the given events and a blob.
func create(t *testing.T, s store.Store, id, org string, bodies ...footnote.Body) {
	t.Helper()
	blob := []byte("rows of " + id)
	st := store.Stream{ID: id, Kind: store.Conversation, Org: org, User: "u"}
	a := store.Append{
		Run:    "r",
		Bodies: append([]footnote.Body{footnote.UserMessage{Text: "Hi"}}, bodies...),
		Blobs:  map[footnote.Digest][]byte{footnote.DigestOf(blob): blob},
	}
	if _, err := s.CreateAppend(t.Context(), st, a); err != nil {
		t.Fatal(err)
	}
}

func ids(t *testing.T, s store.Movable) (list []string) {
	t.Helper()
	heads, err := s.Walk(t.Context(), "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range heads {
		list = append(list, h.ID)
	}
	return list
}

func TestRulePerOrganisation(t *testing.T) {
	s, now := fixture(t)
	create(t, s, "acme-old", "acme")
	create(t, s, "beta-old", "beta")
	create(t, s, "acme-running", "acme", footnote.RunStarted{})
	create(t, s, "acme-parked", "acme", footnote.RunStarted{}, footnote.RunParked{Deadline: now.Add(300 * day)})
	*now = now.Add(40 * day)
	create(t, s, "acme-new", "acme")
	var noted []retention.Deleted
	var removed []string
	j := newJob(retention.Options{
		Log: s, Rules: retention.Rules{"acme": 30 * day, retention.Others: 90 * day},
		Now:   func() time.Time { return *now },
		Note:  func(d retention.Deleted) error { noted = append(noted, d); return nil },
		After: func(_ context.Context, id string) error { removed = append(removed, id); return nil },
	})
	pass := func(want int, left ...string) {
		t.Helper()
		if n, err := j.Pass(t.Context()); err != nil || n != want {
			t.Errorf("deleted %d, %v; want %d", n, err, want)
		}
		if got := ids(t, s); !slices.Equal(got, left) {
			t.Errorf("remaining: %v, want %v", got, left)
		}
	}
	pass(1, "acme-new", "acme-parked", "acme-running", "beta-old")
	if len(noted) != 1 || noted[0].SessionID != "acme-old" || noted[0].Events != 1 || noted[0].Kept != "720h0m0s" ||
		!slices.Equal(removed, []string{"acme-old"}) {
		t.Errorf("noted %+v, removed %v", noted, removed)
	}
	*now = now.Add(60 * day)
	pass(2, "acme-parked", "acme-running")
	// A conversation can expire once its run has ended.
	if _, err := s.Append(t.Context(), store.Append{
		Stream: "acme-running", After: 2, Run: "r", Bodies: []footnote.Body{footnote.RunStopped{By: "user"}},
	}); err != nil {
		t.Fatal(err)
	}
	pass(0, "acme-parked", "acme-running")
	*now = now.Add(31 * day)
	pass(1, "acme-parked")
}

// changing is a store in which a conversation gets another message just before it is deleted.
type changing struct {
	*sqlite.Store
	t *testing.T
}

func (m changing) DeleteAt(ctx context.Context, id string, last int64) error {
	if _, err := m.Append(ctx, store.Append{
		Stream: id,
		After:  last,
		Bodies: []footnote.Body{footnote.UserMessage{Text: "Still here."}},
	}); err != nil {
		m.t.Error(err)
	}
	return m.Store.DeleteAt(ctx, id, last)
}

func TestConversationChangedDuringPassIsKept(t *testing.T) {
	s, now := fixture(t)
	create(t, s, "a", "acme")
	*now = now.Add(40 * day)
	j := newJob(retention.Options{
		Log:   changing{s, t},
		Rules: retention.Rules{"acme": day},
		Now:   func() time.Time { return *now },
	})
	if n, err := j.Pass(t.Context()); n != 0 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	if got := ids(t, s); len(got) != 1 {
		t.Errorf("remaining: %v", got)
	}
}

func TestOnlyLeaderDeletes(t *testing.T) {
	s, now := fixture(t)
	create(t, s, "a", "acme")
	*now = now.Add(40 * day)
	var active map[retention.Person]bool
	j := newJob(retention.Options{
		Log: s, Rules: retention.Rules{"acme": day}, Now: func() time.Time { return *now },
		Lead:  func(context.Context) (func(), bool, error) { return nil, false, nil },
		Files: func(_ context.Context, _ retention.Rules, a map[retention.Person]bool) error { active = a; return nil },
	})
	if n, err := j.Pass(t.Context()); n != 0 || err != nil || len(ids(t, s)) != 1 ||
		!active[retention.Person{Org: "acme", User: "u"}] {
		t.Errorf("deleted %d, %v; active: %v", n, err, active)
	}
}

func TestFailedFileDeletionsAreRetried(t *testing.T) {
	s, now := fixture(t)
	for i := range 3 {
		create(t, s, fmt.Sprint("c", i), "acme")
	}
	*now = now.Add(40 * day)
	full, tried := true, map[string]int{}
	j := newJob(retention.Options{
		Log: s, Rules: retention.Rules{"acme": day}, Now: func() time.Time { return *now },
		After: func(_ context.Context, id string) error {
			if tried[id]++; full {
				return errors.New("the disk is unavailable")
			}
			return nil
		},
	})
	if n, err := j.Pass(t.Context()); n != 3 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	full = false
	before := tried["c2"]
	for range 2 {
		if _, err := j.Pass(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if tried["c2"] != before+1 {
		t.Errorf("tried %v", tried)
	}
}

func TestFailingBeforePreventsDeletion(t *testing.T) {
	s, now := fixture(t)
	create(t, s, "a", "acme")
	*now = now.Add(40 * day)
	full := errors.New("the disk is full")
	j := newJob(retention.Options{
		Log: s, Rules: retention.Rules{"acme": day}, Now: func() time.Time { return *now },
		Before: func(context.Context) error { return full },
	})
	if n, err := j.Pass(t.Context()); n != 0 || !errors.Is(err, full) || len(ids(t, s)) != 1 {
		t.Errorf("deleted %d, %v", n, err)
	}
}

// TestDocumentsExpireAfterConversations checks that an old document is deleted once its owner has no conversations
// left, and not before.
func TestDocumentsExpireAfterConversations(t *testing.T) {
	s, now := fixture(t)
	document := store.Stream{ID: "draw_u", Kind: store.Document, Org: "acme", User: "u"}
	if _, err := s.CreateAppend(t.Context(), document, store.Append{
		Bodies: []footnote.Body{footnote.DrawingChanged{ID: "d", Action: "create", By: "human"}},
	}); err != nil {
		t.Fatal(err)
	}
	other := store.Stream{ID: "work_u", Kind: store.Document, Org: "acme", User: "u"}
	if err := s.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	*now = now.Add(40 * day)
	create(t, s, "acme-new", "acme")
	j := newJob(retention.Options{
		Log: s, Rules: retention.Rules{"acme": 30 * day}, Now: func() time.Time { return *now },
		Document: func(head store.Stream) bool { return head.ID == "draw_u" },
	})
	if _, err := j.Pass(t.Context()); err != nil || len(ids(t, s)) != 3 {
		t.Errorf("with a conversation: %v, %v", ids(t, s), err)
	}
	if err := s.Delete(t.Context(), "acme-new"); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Pass(t.Context()); err != nil || !slices.Equal(ids(t, s), []string{"work_u"}) {
		t.Errorf("afterwards: %v, %v", ids(t, s), err)
	}
}

// undeletable is a store that fails to delete some conversations.
type undeletable struct {
	*sqlite.Store
	ids []string
}

func (u undeletable) DeleteAt(ctx context.Context, id string, last int64) error {
	if slices.Contains(u.ids, id) {
		return errors.New("database disk image is malformed")
	}
	return u.Store.DeleteAt(ctx, id, last)
}

func TestPassContinuesAfterFailedDeletion(t *testing.T) {
	s, now := fixture(t)
	for _, id := range []string{"a", "b", "c"} {
		create(t, s, id, "acme")
	}
	*now = now.Add(40 * day)
	j := newJob(retention.Options{
		Log: undeletable{s, []string{"a"}}, Rules: retention.Rules{"acme": 30 * day},
		Now: func() time.Time { return *now },
	})
	if n, err := j.Pass(t.Context()); n != 2 || err == nil {
		t.Errorf("deleted %d, %v; want 2 and an error", n, err)
	}
	if got := ids(t, s); !slices.Equal(got, []string{"a"}) {
		t.Errorf("remaining: %v", got)
	}
}
