package store_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

func testCreate(t *testing.T, s store.Store) {
	before := time.Now().Add(-time.Hour) // the store may use another clock
	in := conversation("c")
	in.Title, in.ClientID = "Sales", "client-1"
	must(t, s.Create(begin(t), in))
	h := get(t, s, "c")
	if h.Created.Before(before) || !h.Updated.Equal(h.Created) || h.Created.Location() != time.UTC {
		t.Fatalf("Created %v, Updated %v", h.Created, h.Updated)
	}
	in.Created, in.Updated = h.Created, h.Updated
	equal(t, "head", h, in)

	wantCode(t, s.Create(begin(t), conversation("c")), footnote.Conflict)
	_, err := s.Get(begin(t), "C")
	wantCode(t, err, footnote.NotFound)
	_, err = s.Get(begin(t), "")
	wantCode(t, err, footnote.NotFound)

	// A caller cannot set the fields that follow from the events.
	in = conversation("d")
	in.Last, in.Run, in.RunState, in.Deadline = 7, "run", "parked", time.Now()
	must(t, s.Create(begin(t), in))
	h = get(t, s, "d")
	if h.Last != 0 || h.Run != "" || h.RunState != "" || !h.Deadline.IsZero() {
		t.Fatalf("head of an empty stream: %+v", h)
	}
}

func testFind(t *testing.T, s store.Store) {
	in := conversation("c")
	in.ClientID = "mine"
	must(t, s.Create(begin(t), in))
	h, err := s.Find(begin(t), "acme", "ann", store.Conversation, "mine")
	must(t, err)
	equal(t, "id", h.ID, "c")

	again := conversation("d")
	again.ClientID = "mine"
	wantCode(t, s.Create(begin(t), again), footnote.Conflict)
	for i, other := range []store.Stream{
		{ID: "o1", Kind: store.Document, Org: "acme", User: "ann", ClientID: "mine"},
		{ID: "o2", Kind: store.Conversation, Org: "acme", User: "bob", ClientID: "mine"},
		{ID: "o3", Kind: store.Conversation, Org: "globex", User: "ann", ClientID: "mine"},
	} {
		must(t, s.Create(begin(t), other))
		h, err := s.Find(begin(t), other.Org, other.User, other.Kind, "mine")
		must(t, err)
		equal(t, fmt.Sprint("other ", i), h.ID, other.ID)
	}
	create(t, s, "n1", "n2") // streams without a client id cannot conflict
	for _, args := range [][4]string{
		{"acme", "ann", store.Conversation, ""},
		{"acme", "ann", store.Conversation, "MINE"},
		{"acme", "eve", store.Conversation, "mine"},
	} {
		_, err := s.Find(begin(t), args[0], args[1], args[2], args[3])
		wantCode(t, err, footnote.NotFound)
	}
}

func testHeads(t *testing.T, s store.Store) {
	create(t, s, "c")
	deadline := time.Now().Add(time.Hour)
	check := func(run, state string, deadline time.Time) {
		t.Helper()
		h := get(t, s, "c")
		if h.Run != run || h.RunState != state || !h.Deadline.Equal(store.Micros(deadline)) && !deadline.IsZero() ||
			h.Deadline.IsZero() != deadline.IsZero() {
			t.Fatalf("head is %q %q %v at %d, want %q %q %v", h.Run, h.RunState, h.Deadline, h.Last, run, state,
				deadline)
		}
	}
	check("", "", time.Time{})
	write(t, s, "c", 0, footnote.UserMessage{Text: "hello"}, footnote.RunStarted{Protocol: "native"})
	check("run1", "running", time.Time{})
	write(t, s, "c", 2, footnote.AssistantMessage{Model: "m"})
	check("run1", "running", time.Time{})
	write(t, s, "c", 3, footnote.RunParked{Calls: []string{"a"}, Deadline: deadline})
	check("run1", "parked", deadline)
	write(t, s, "c", 4, footnote.RunResumed{Attempt: 1, Reason: "answered"})
	check("run1", "running", time.Time{})
	for i, end := range []footnote.Body{footnote.RunFinished{}, footnote.RunFailed{}, footnote.RunStopped{}} {
		after := int64(5 + 2*i)
		write(t, s, "c", after, end)
		check("", "", time.Time{})
		write(t, s, "c", after+1, footnote.RunStarted{})
		check("run1", "running", time.Time{})
	}
	write(t, s, "c", 11, footnote.RunStopped{}, footnote.RunStarted{}, footnote.RunParked{
		Deadline: deadline,
	}, footnote.Titled{Title: "New"})
	check("run1", "parked", deadline)
	h := get(t, s, "c")
	equal(t, "title and last", []any{h.Title, h.Last}, []any{"New", int64(15)})
	write(t, s, "c", 15, footnote.Titled{
		Title: "One\x00\xff",
	}, footnote.Titled{Title: "Zwei\x00" + strings.Repeat("ü", 5000)})
	if title := get(t, s, "c").Title; !strings.HasPrefix(title, "Zwei\uFFFDü") || len([]rune(title)) != 300 {
		t.Fatalf("title %q", title)
	}
}

func testUnfinished(t *testing.T, s store.Store) {
	now := time.Now()
	create(t, s, "idle", "running", "held", "parked", "overdue", "done")
	start := footnote.RunStarted{}
	write(t, s, "running", 0, start)
	write(t, s, "parked", 0, start, footnote.RunParked{Deadline: now.Add(time.Hour)})
	write(t, s, "overdue", 0, start, footnote.RunParked{Deadline: now.Add(-time.Second)})
	write(t, s, "done", 0, start, footnote.RunFinished{})
	_, err := s.Append(begin(t), store.Append{Stream: "held", Run: "r", Bodies: []footnote.Body{start},
		Take: &footnote.Take{Owner: "me", TTL: time.Minute}})
	must(t, err)
	ids := func(now time.Time, limit int) []string {
		t.Helper()
		heads, err := s.Unfinished(begin(t), now, limit)
		must(t, err)
		var ids []string
		for _, h := range heads {
			ids = append(ids, h.ID)
		}
		slices.Sort(ids)
		return ids
	}
	equal(t, "now", ids(now, 100), []string{"overdue", "running"})
	equal(t, "in ten minutes", ids(now.Add(10*time.Minute), 100), []string{"held", "overdue", "running"})
	equal(t, "in two hours", ids(now.Add(2*time.Hour), 100), []string{"held", "overdue", "parked", "running"})
	equal(t, "limit", len(ids(now.Add(2*time.Hour), 3)), 3)
	must(t, s.Release(begin(t), "held", 1))
	equal(t, "released", ids(now, 100), []string{"held", "overdue", "running"})
}

func testList(t *testing.T, s store.Store) {
	var want []string
	for i := range 25 {
		id := fmt.Sprintf("c%02d", i)
		create(t, s, id)
		want = append(want, id)
	}
	for _, other := range []store.Stream{
		{ID: "x1", Kind: store.Conversation, Org: "acme", User: "bob"},
		{ID: "x2", Kind: store.Conversation, Org: "globex", User: "ann"},
		{ID: "x3", Kind: store.Document, Org: "acme", User: "ann"},
	} {
		must(t, s.Create(begin(t), other))
	}
	// The oldest one changes last.
	eventually(t, "a clock that moves", func() bool {
		h := get(t, s, "c00")
		write(t, s, "c00", h.Last, say("again")...)
		return get(t, s, "c00").Updated.After(get(t, s, "c24").Updated)
	})
	page := store.Page{Org: "acme", User: "ann", Kind: store.Conversation, Limit: 10}
	var heads []store.Stream
	for n := 0; ; n++ {
		part, next, err := s.List(begin(t), page)
		must(t, err)
		heads = append(heads, part...)
		if next == "" {
			equal(t, "pages", n, 2)
			break
		}
		equal(t, "page size", len(part), 10)
		page.Before = next
	}
	equal(t, "first", heads[0].ID, "c00")
	equal(t, "whole head", heads[0], get(t, s, "c00"))
	if !slices.IsSortedFunc(heads, func(a, b store.Stream) int { return b.Updated.Compare(a.Updated) }) {
		t.Fatal("the newest change is not first")
	}
	var got []string
	for _, h := range heads {
		got = append(got, h.ID)
	}
	slices.Sort(got)
	equal(t, "all of them once", got, want)

	heads, next, err := s.List(begin(t), store.Page{Org: "acme", User: "ann", Limit: 26})
	must(t, err)
	equal(t, "of any kind, in one full page", []any{len(heads), next}, []any{26, ""})
	heads, _, err = s.List(begin(t), store.Page{Org: "acme", User: "eve", Kind: store.Conversation, Limit: 10})
	must(t, err)
	equal(t, "streams of another user", len(heads), 0)
}

func testListSearch(t *testing.T, s store.Store) {
	for i, title := range []string{
		"Sales in May", "100% of SALES", "a_b", "axb", `back\slash`, "O'Brien; DROP TABLE streams", "ÜBERSICHT Łódź",
	} {
		st := conversation(fmt.Sprint("c", i))
		st.Title = title
		must(t, s.Create(begin(t), st))
	}
	for query, want := range map[string]int{
		"sales": 2, "SALES": 2, "in may": 1, "%": 1, "100%": 1, "_": 1, "a_b": 1, `\`: 1, "'": 1, "';": 0,
		"übersicht": 1, "ŁÓDŹ": 1, "": 7, "nothing": 0, "sales\x00": 0, `"`: 0, "*": 0,
	} {
		heads, _, err := s.List(begin(t), store.Page{
			Org: "acme", User: "ann", Kind: store.Conversation, Query: query, Limit: 50,
		})
		must(t, err)
		if len(heads) != want {
			t.Errorf("%q finds %d, want %d", query, len(heads), want)
		}
	}
	write(t, s, "c0", 0, footnote.Titled{Title: "Renamed"})
	heads, _, err := s.List(begin(t), store.Page{Org: "acme", User: "ann", Query: "reNAMED", Limit: 50})
	must(t, err)
	equal(t, "renamed", len(heads), 1)
}

// testSearchMessages checks that a search also finds questions and answers that still count, of its own user only, with
// the words around the match, and that its pages have each conversation once.
func testSearchMessages(t *testing.T, s store.Store) {
	create(t, s, "c1", "c2", "c3", "c4")
	long := strings.Repeat("A long beginning. ", 20) + "In ŁÓDŹ we sold 42." + strings.Repeat(" And an end.", 20)
	write(t, s, "c1", 0, footnote.UserMessage{Text: "Revenue of Zürich?", Context: "The schema has turnips."},
		footnote.AssistantMessage{Blocks: []json.RawMessage{json.RawMessage(`{"type":"text","text":"Looking at beets."}`)}},
		footnote.ToolResult{CallID: "a", Content: "carrots"}, footnote.Answered{Text: long})
	write(t, s, "c2", 0, footnote.UserMessage{Text: "undone parsnips"}, footnote.Rewound{ToSeq: 0},
		footnote.UserMessage{Text: "Zürich again"})
	eve := conversation("e1")
	eve.User = "eve"
	must(t, s.Create(begin(t), eve))
	write(t, s, "e1", 0, footnote.UserMessage{Text: "Zürich, secretly"})
	find := func(query, before string, limit int) ([]store.Stream, string) {
		heads, next, err := s.List(begin(t), store.Page{
			Org: "acme", User: "ann", Kind: store.Conversation, Query: query, Before: before, Limit: limit,
		})
		must(t, err)
		return heads, next
	}
	for query, want := range map[string]int{
		"zürich": 2, "ZÜRICH A": 1, "turnips": 0, "carrots": 0, "parsnips": 0, "secretly": 0, "text": 0, "42": 1,
	} {
		if heads, _ := find(query, "", 50); len(heads) != want {
			t.Errorf("%q finds %d, want %d", query, len(heads), want)
		}
	}
	heads, _ := find("łódź", "", 50)
	equal(t, "found", len(heads), 1)
	if got := heads[0].Found; !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "…") || len([]rune(got)) > 130 ||
		!strings.Contains(got, "In ŁÓDŹ we sold 42.") {
		t.Errorf("excerpt: %q", got)
	}
	var ids []string
	for before, first := "", true; first || before != ""; first = false {
		var page []store.Stream
		page, before = find("zürich", before, 1)
		for _, h := range page {
			ids = append(ids, h.ID)
		}
	}
	slices.Sort(ids)
	equal(t, "pages", ids, []string{"c1", "c2"})
}

func testListCursor(t *testing.T, s store.Store) {
	create(t, s, "a", "b", "c")
	good := store.Page{Org: "acme", User: "ann", Kind: store.Conversation, Limit: 1}
	_, next, err := s.List(begin(t), good)
	must(t, err)
	raw := base64.RawURLEncoding.EncodeToString
	for _, cursor := range []string{
		"!", "a", next + "=", next[:len(next)-1] + "*", raw([]byte("12")), raw([]byte("x y")), raw([]byte("12 ")),
		raw([]byte("99999999999999999999 a")), raw([]byte("12 a\x00")), raw([]byte("12 \xff")),
		strings.Repeat("A", 1<<20),
	} {
		p := good
		p.Before = cursor
		_, _, err := s.List(begin(t), p)
		if footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("cursor %.40q: %v", cursor, err)
		}
	}
	for _, limit := range []int{-1, 0, 201, 1 << 40} {
		p := good
		p.Limit = limit
		_, _, err := s.List(begin(t), p)
		wantCode(t, err, footnote.InvalidRequest)
	}
	// Another user's cursor is only a position and reveals nothing.
	_, theirs, err := s.List(begin(t), good)
	must(t, err)
	heads, _, err := s.List(begin(t), store.Page{Org: "acme", User: "bob", Limit: 10, Before: theirs})
	must(t, err)
	equal(t, "theirs", len(heads), 0)
	_, _, err = s.List(begin(t), store.Page{Org: "acme", User: "ann", Query: strings.Repeat("q", 1<<20), Limit: 1})
	wantCode(t, err, footnote.InvalidRequest)
}

func testDelete(t *testing.T, s store.Store) {
	st := conversation("c")
	st.ClientID = "mine"
	shared, own := []byte("shared"), []byte("own")
	blobs := map[footnote.Digest][]byte{footnote.DigestOf(shared): shared, footnote.DigestOf(own): own}
	_, err := s.CreateAppend(begin(t), st, store.Append{Run: "r", Bodies: say("secret", "words"), Blobs: blobs,
		Take: &footnote.Take{Owner: "me", TTL: time.Hour}})
	must(t, err)
	_, err = s.CreateAppend(begin(t), conversation("d"), store.Append{Bodies: say("kept"),
		Blobs: map[footnote.Digest][]byte{footnote.DigestOf(shared): shared}})
	must(t, err)
	last, err := s.Tail(begin(t), 0, 10)
	must(t, err)
	equal(t, "tail", len(last), 3)

	must(t, s.Delete(begin(t), "c"))
	wantCode(t, s.Delete(begin(t), "c"), footnote.NotFound)
	_, err = s.Get(begin(t), "c")
	wantCode(t, err, footnote.NotFound)
	_, err = collect(begin(t), s, "c", 0)
	wantCode(t, err, footnote.NotFound)
	_, err = s.Blob(begin(t), "c", footnote.DigestOf(own))
	wantCode(t, err, footnote.NotFound)
	_, err = s.Append(begin(t), store.Append{Stream: "c", After: 2, Lease: 1, Bodies: say("late")})
	wantCode(t, err, footnote.NotFound)
	_, err = s.Find(begin(t), "acme", "ann", store.Conversation, "mine")
	wantCode(t, err, footnote.NotFound)
	data, err := s.Blob(begin(t), "d", footnote.DigestOf(shared))
	must(t, err)
	equal(t, "shared blob", string(data), "shared")
	tail, err := s.Tail(begin(t), 0, 10)
	must(t, err)
	equal(t, "tail", tail, last[2:])

	// The ids are free again, and nothing of the deleted stream is visible.
	must(t, s.Create(begin(t), st))
	equal(t, "events", len(read(t, s, "c", 0)), 0)
	_, err = s.Blob(begin(t), "c", footnote.DigestOf(own))
	wantCode(t, err, footnote.NotFound)
	write(t, s, "c", 0, say("new")...) // the lease is gone, too
	tail, err = s.Tail(begin(t), last[2].Position, 10)
	must(t, err)
	equal(t, "tail continues", []any{len(tail), tail[0].Stream, tail[0].Seq}, []any{1, "c", int64(1)})
}
