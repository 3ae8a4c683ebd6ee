package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

func testAppend(t *testing.T, s store.Store) {
	create(t, s, "c", "d")
	events := write(t, s, "c", 0, say("one", "two")...)
	gapless(t, "c", events)
	equal(t, "run", events[1].Run, "run1")
	if ev := events[0]; ev.Time.Location() != time.UTC || !ev.Time.Equal(store.Micros(ev.Time)) {
		t.Fatalf("time %v", ev.Time)
	}
	h := get(t, s, "c")
	equal(t, "head", []any{h.Last, h.Updated}, []any{int64(2), events[1].Time})

	for _, after := range []int64{0, 1, 3, 1 << 62} {
		_, err := s.Append(begin(t), store.Append{Stream: "c", After: after, Bodies: say("lost")})
		wantCode(t, err, footnote.Conflict)
	}
	_, err := s.Append(begin(t), store.Append{Stream: "nobody", Bodies: say("lost")})
	wantCode(t, err, footnote.NotFound)
	events = append(events, write(t, s, "c", 2, say("three")...)...)
	equal(t, "events", read(t, s, "c", 0), events)
	equal(t, "other stream", len(read(t, s, "d", 0)), 0)
}

func testAppendNothing(t *testing.T, s store.Store) {
	create(t, s, "c")
	write(t, s, "c", 0, say("one")...)
	before := get(t, s, "c")
	events, err := s.Append(begin(t), store.Append{Stream: "c", After: 1})
	must(t, err)
	equal(t, "events", len(events), 0)
	_, err = s.Append(begin(t), store.Append{Stream: "c", After: 0})
	wantCode(t, err, footnote.Conflict)
	_, err = s.Append(begin(t), store.Append{Stream: "d"})
	wantCode(t, err, footnote.NotFound)
	data := []byte("chunk")
	_, err = s.Append(begin(t), store.Append{
		Stream: "c",
		After:  1,
		Blobs:  map[footnote.Digest][]byte{footnote.DigestOf(data): data},
	})
	must(t, err)
	got, err := s.Blob(begin(t), "c", footnote.DigestOf(data))
	must(t, err)
	equal(t, "blob", got, data)
	equal(t, "head", get(t, s, "c"), before)
}

func testCreateAppend(t *testing.T, s store.Store) {
	st := conversation("c")
	st.ClientID = "mine"
	first := store.Append{Run: "r",
		Bodies: []footnote.Body{footnote.Opened{Assistant: "analyst"}, footnote.UserMessage{Text: "hi"},
			footnote.RunStarted{}, footnote.Titled{Title: "Hi"}}}
	events, err := s.CreateAppend(begin(t), st, first)
	must(t, err)
	gapless(t, "c", events)
	equal(t, "events", read(t, s, "c", 0), events)
	h := get(t, s, "c")
	equal(t, "head", []any{
		h.Last, h.Run, h.RunState, h.Title, h.ClientID,
	}, []any{int64(4), "r", "running", "Hi", "mine"})

	_, err = s.CreateAppend(begin(t), st, first)
	wantCode(t, err, footnote.Conflict)
	other := conversation("d")
	other.ClientID = "mine"
	_, err = s.CreateAppend(begin(t), other, first)
	wantCode(t, err, footnote.Conflict)
	_, err = s.Get(begin(t), "d")
	wantCode(t, err, footnote.NotFound)
	equal(t, "events", len(read(t, s, "c", 0)), 4)

	for _, a := range []store.Append{{Stream: "other"}, {After: 1}, {Lease: 1}} {
		_, err = s.CreateAppend(begin(t), conversation("e"), a)
		wantCode(t, err, footnote.InvalidRequest)
	}
	_, err = s.CreateAppend(begin(t), conversation("f"), store.Append{Stream: "f"})
	must(t, err)
	equal(t, "empty", get(t, s, "f").Last, int64(0))
}

func testRefused(t *testing.T, s store.Store) {
	create(t, s, "c")
	long := strings.Repeat("x", store.MaxID+1)
	for _, bad := range []string{"a\x00b", "\xff", long} {
		for _, st := range []store.Stream{
			{ID: bad, Kind: "k"}, {ID: "i", Kind: bad}, {ID: "i", Kind: "k", Org: bad}, {ID: "i", Kind: "k", User: bad},
			{ID: "i", Kind: "k", ClientID: bad}, {ID: "i", Kind: "k", Assistant: bad},
		} {
			wantCode(t, s.Create(begin(t), st), footnote.InvalidRequest)
		}
		_, err := s.Append(begin(t), store.Append{Stream: "c", Run: bad, Bodies: say("x")})
		wantCode(t, err, footnote.InvalidRequest)
		wantCode(t, s.SetCursor(begin(t), bad, 1), footnote.InvalidRequest)
	}
	wantCode(t, s.Create(begin(t), store.Stream{Kind: "k"}), footnote.InvalidRequest)
	wantCode(t, s.Create(begin(t), store.Stream{ID: "i"}), footnote.InvalidRequest)
	take := &footnote.Take{Owner: "me", TTL: time.Minute}
	for name, a := range map[string]store.Append{
		"negative after":             {After: -1},
		"negative lease":             {Lease: -1},
		"no body":                    {Bodies: []footnote.Body{nil}},
		"no run":                     {Bodies: []footnote.Body{footnote.RunStarted{}}},
		"end without run":            {Bodies: []footnote.Body{footnote.RunFinished{}}},
		"take while holding a lease": {Bodies: say("x"), Lease: 1, Take: take},
		"take without events":        {Take: take},
		"no owner":                   {Bodies: say("x"), Take: &footnote.Take{TTL: time.Minute}},
		"no time":                    {Bodies: say("x"), Take: &footnote.Take{Owner: "me"}},
		"eternity":                   {Bodies: say("x"), Take: &footnote.Take{Owner: "me", TTL: 1 << 62}},
		"wrong digest":               {Blobs: map[footnote.Digest][]byte{footnote.DigestOf([]byte("a")): []byte("b")}},
		"no digest":                  {Blobs: map[footnote.Digest][]byte{"../../etc/passwd": []byte("b")}},
		"bad JSON": {
			Bodies: []footnote.Body{footnote.AssistantMessage{Blocks: []json.RawMessage{[]byte("{")}}},
		},
	} {
		a.Stream = "c"
		if _, err := s.Append(begin(t), a); footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := s.Append(begin(t), store.Append{Stream: "c", Bodies: make([]footnote.Body, store.MaxBodies+1)})
	wantCode(t, err, footnote.TooLarge)
	equal(t, "last", get(t, s, "c").Last, int64(0))
}

// everyBody returns a body of each kind with its fields set.
func everyBody() []footnote.Body {
	row := 0
	return []footnote.Body{
		footnote.Opened{
			Assistant: "a", Model: "m", Tier: "high", Effort: "low", Sources: []string{"s"},
			System: footnote.DigestOf(nil), Tools: footnote.DigestOf(nil),
		},
		footnote.UserMessage{
			Text: "<b>&amp;\u2028", Context: "c", ID: "m", Where: json.RawMessage(`{"symbol":"EURUSD"}`),
		}, footnote.Imported{Turns: []footnote.TextTurn{{Role: "user", Text: "x"}}},
		footnote.AssistantMessage{Step: 1, Upstream: "u", Request: "r", Model: "m", StopReason: "end_turn",
			Blocks: []json.RawMessage{
				json.RawMessage(`{"type":"text","text":"<&>\u00e9"}`), json.RawMessage(`{"n":12345678901234567890.10}`),
			},
			Usage: footnote.Usage{Input: 1 << 60, Output: 2}, Cost: footnote.Cost{MicroUSD: 3, Unpriced: true}},
		footnote.ToolResult{CallID: "c", Name: "query", Content: "1", IsError: true, Fault: footnote.FaultLimited,
			Millis: 5, CacheHit: true, RanAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), By: "server",
			Result: &footnote.StoredResult{ID: "r1", SQL: "SELECT 1",
				Columns:  []footnote.Column{{Name: "n", Kind: footnote.KindInteger}},
				RowCount: 1, Chunks: []footnote.Chunk{{Digest: footnote.DigestOf(nil), Rows: 1}}},
			Chart: json.RawMessage(`{"x":1}`), Detail: json.RawMessage(`{"diff":"+a"}`), AnswerDigest: footnote.DigestOf(nil)},
		footnote.ApprovalAsked{ApprovalID: "a", CallID: "c"},
		footnote.ApprovalGiven{
			ApprovalID: "a", CallID: "c", Approved: true, Reason: "r", User: "u", Always: true, Tool: "t",
		},
		footnote.RunStarted{
			Protocol: "d", OnDisconnect: "cancel", RequestID: "r", Unattended: true, Roles: []string{"a"},
			Attributes: map[string]string{"k": "v"}, MaxTokens: 9, Trace: "t",
		},
		footnote.RunParked{Calls: []string{"c"}, Deadline: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)},
		footnote.RunResumed{Attempt: 2, Reason: "answered"},
		footnote.RunFinished{Reason: "end_turn", Steps: 1, Millis: 9},
		footnote.RunFailed{Code: footnote.AgentTimeout, Message: "m", Steps: 1},
		footnote.RunStopped{By: "user"},
		footnote.StepFailed{Step: 1, Attempt: 1, Partial: "p", Code: footnote.ModelUnavailable},
		footnote.Segmented{FromSeq: 1, Summary: "s"},
		footnote.Rewound{ToSeq: 1},
		footnote.Answered{Text: "42",
			Cites:      []footnote.Cite{{End: 2, Text: "42", Result: "r1", Row: &row, Column: "n", Confidence: 1}},
			Unresolved: []footnote.Unresolved{{Text: "7"}}, Chart: json.RawMessage(`[]`)},
		footnote.Titled{Title: "t", Auto: true, Usage: footnote.Usage{Input: 1}, Cost: footnote.Cost{MicroUSD: 2}},
		footnote.Feedback{Seq: 1, Good: true, Words: "w"},
		footnote.QueryRun{
			Result:   footnote.StoredResult{ID: "r2", SQL: "SELECT 2", Columns: []footnote.Column{{Name: "n"}}},
			Replaces: "r1", By: "u", Millis: 4,
		},
		footnote.DrawingChanged{
			ID: "d", Action: "update", Drawing: json.RawMessage(`{}`), By: "agent", User: "u", Reason: "r",
			Conversation: "c", Run: "n", CallID: "t", Step: 3, Reverts: 2,
		},
		footnote.WorkspaceChanged{
			Path: "a", Op: "create", After: "sha256:1", Size: 1, Kept: true, Diff: "+a\n", Tool: "tool",
			Conversation: "c", CallID: "t",
		},
		footnote.Spent{Model: "m", Usage: footnote.Usage{Input: 1}, Cost: footnote.Cost{MicroUSD: 2}},
		footnote.Proposed{
			Name: "n", Query: "-- q\nSELECT 1", Test: "tests:", Source: "s", By: "u", Conversation: "c", Seq: 2,
			Fails: "f", Warnings: []string{"w"},
		},
		footnote.Reviewed{Proposal: 1, Approved: true, By: "v", Words: "w"},
	}
}

func testBodies(t *testing.T, s store.Store) {
	create(t, s, "c")
	bodies := everyBody()
	written := write(t, s, "c", 0, bodies...)
	got := read(t, s, "c", 0)
	equal(t, "count", len(got), len(bodies))
	for i := range got {
		equal(t, footnote.KindOf(bodies[i]), got[i], written[i])
	}
	// The store must not share the caller's memory.
	raw := json.RawMessage(`{"a":1}`)
	write(t, s, "c", int64(len(bodies)), footnote.DrawingChanged{ID: "d", Drawing: raw})
	raw[2] = 'b'
	last := read(t, s, "c", int64(len(bodies)))[0].Body.(footnote.DrawingChanged)
	equal(t, "drawing", string(last.Drawing), `{"a":1}`)
}

func testHostileText(t *testing.T, s store.Store) {
	texts := []string{
		"", "\x00", "a\x00b\x00", "'; DROP TABLE events; --", `"quoted"`, "back\\slash", "\u2028\u2029",
		"\u202eright to left",
		"🦆👩‍👩‍👧‍👦", "e\u0301 \u00e9", "%s%n$1?1:id@p", "line\r\nbreak\ttab", "\x1b[31m", "\ufeffbom",
		"\uffff\U0010ffff", `\u0000 as text`,
	}
	ids := []string{
		"'; --", `"`, "a b", "../..", "ünïcödé", "%", "_", "?1", "$1", ":id", "\n", "\x01",
		strings.Repeat("é", store.MaxID/2),
	}
	for _, id := range ids {
		st := store.Stream{ID: id, Kind: id, Org: id, User: id, ClientID: id, Assistant: id, Title: id}
		must(t, s.Create(begin(t), st))
	}
	for _, id := range ids {
		equal(t, "events", len(write(t, s, id, 0, say(texts...)...)), len(texts))
		got := read(t, s, id, 0)
		for i, text := range texts {
			equal(t, "text", got[i].Body, footnote.Body(footnote.UserMessage{Text: text}))
		}
		h, err := s.Find(begin(t), id, id, id, id)
		must(t, err)
		equal(t, "head", []string{
			h.ID, h.Kind, h.Org, h.User, h.ClientID, h.Assistant,
		}, []string{id, id, id, id, id, id})
		heads, _, err := s.List(begin(t), store.Page{Org: id, User: id, Kind: id, Limit: 10})
		must(t, err)
		equal(t, "list", len(heads), 1)
		must(t, s.SetCursor(begin(t), id, 1))
	}
}

func testLargeText(t *testing.T, s store.Store) {
	create(t, s, "c")
	big := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	for i := range int64(4) {
		write(t, s, "c", 3*i, say(big, "small", big+"!")...)
	}
	events := read(t, s, "c", 0)
	equal(t, "count", len(events), 12)
	gapless(t, "c", events)
	for i, ev := range events {
		if want := []string{big, "small", big + "!"}[i%3]; ev.Body.(footnote.UserMessage).Text != want {
			t.Fatalf("event %d differs from the one written", ev.Seq)
		}
	}
}

func testReadAfter(t *testing.T, s store.Store) {
	create(t, s, "c")
	all := write(t, s, "c", 0, say("1", "2", "3")...)
	for after := range int64(3) {
		equal(t, fmt.Sprint("after ", after), read(t, s, "c", after), all[after:])
	}
	equal(t, "before all", len(read(t, s, "c", -5)), 3)
	equal(t, "at the end", len(read(t, s, "c", 3)), 0)
	equal(t, "far behind", len(read(t, s, "c", 1<<62)), 0)
	_, err := collect(begin(t), s, "nobody", 0)
	wantCode(t, err, footnote.NotFound)
	_, err = collect(begin(t), s, "nobody", 100)
	wantCode(t, err, footnote.NotFound)
	n := 0
	for range s.Events(begin(t), "c", 0) {
		if n++; n == 2 {
			break
		}
	}
	equal(t, "left early", n, 2)
}

// testReadWhileReading nests more reading loops than any pool has connections.
func testReadWhileReading(t *testing.T, s store.Store) {
	create(t, s, "c")
	write(t, s, "c", 0, say("1", "2")...)
	var nest func(depth int)
	nest = func(depth int) {
		for ev, err := range s.Events(begin(t), "c", 0) {
			must(t, err)
			if depth > 0 && ev.Seq == 1 {
				nest(depth - 1)
			}
		}
	}
	nest(64)
	for ev, err := range s.Events(begin(t), "c", 0) {
		must(t, err)
		if ev.Seq <= 2 {
			write(t, s, "c", ev.Seq+1, say("more")...)
		}
	}
	equal(t, "last", get(t, s, "c").Last, int64(4))
}

func testReadMany(t *testing.T, s store.Store) {
	create(t, s, "c")
	bodies := say(make([]string, 500)...)
	for i := range int64(5) {
		write(t, s, "c", 500*i, bodies...)
	}
	events := read(t, s, "c", 0)
	equal(t, "count", len(events), 2500)
	gapless(t, "c", events)
	equal(t, "rest", len(read(t, s, "c", 2499)), 1)
}

func testBlobs(t *testing.T, s store.Store) {
	create(t, s, "c", "d")
	small, empty, large := []byte("\x00\xff blob"), []byte{}, bytes.Repeat([]byte("large"), 1<<19)
	blobs := map[footnote.Digest][]byte{}
	for _, b := range [][]byte{small, empty, large} {
		blobs[footnote.DigestOf(b)] = b
	}
	a := store.Append{Stream: "c", Bodies: say("x"), Blobs: blobs}
	_, err := s.Append(begin(t), a)
	must(t, err)
	for d, want := range blobs {
		got, err := s.Blob(begin(t), "c", d)
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Fatalf("blob %s has %d bytes, want %d", d, len(got), len(want))
		}
	}
	got, err := s.Blob(begin(t), "c", footnote.DigestOf(small))
	must(t, err)
	got[0] = 'X' // the caller may change it
	got, err = s.Blob(begin(t), "c", footnote.DigestOf(small))
	must(t, err)
	equal(t, "blob", got, small)

	for _, c := range [][2]string{
		{"d", footnote.DigestOf(small)},
		{"c", footnote.DigestOf([]byte("no"))},
		{"c", ""},
		{"c", "sha256:"},
		{"nobody", footnote.DigestOf(small)},
	} {
		_, err := s.Blob(begin(t), c[0], c[1])
		wantCode(t, err, footnote.NotFound)
	}
	a.After = 1
	_, err = s.Append(begin(t), a) // again: not an error
	must(t, err)
	a.After = 0
	a.Blobs = map[footnote.Digest][]byte{footnote.DigestOf([]byte("lost")): []byte("lost")}
	_, err = s.Append(begin(t), a)
	wantCode(t, err, footnote.Conflict)
	_, err = s.Blob(begin(t), "c", footnote.DigestOf([]byte("lost")))
	wantCode(t, err, footnote.NotFound)
	must(t, s.Delete(begin(t), "c"))
	_, err = s.Append(begin(t), store.Append{
		Stream: "d",
		Bodies: say("x"),
		Blobs:  map[footnote.Digest][]byte{footnote.DigestOf(small): small},
	})
	must(t, err)
	got, err = s.Blob(begin(t), "d", footnote.DigestOf(small))
	must(t, err)
	equal(t, "blob", got, small)
}

// testDropBlobs checks that a stream can drop blobs without its events, and that other streams keep theirs.
func testDropBlobs(t *testing.T, s store.Store) {
	one, two := []byte("one"), make([]byte, 2<<20)
	put := func(st store.Stream, blobs ...[]byte) {
		t.Helper()
		a := store.Append{Bodies: say("x"), Blobs: map[footnote.Digest][]byte{}}
		for _, b := range blobs {
			a.Blobs[footnote.DigestOf(b)] = b
		}
		_, err := s.CreateAppend(begin(t), st, a)
		must(t, err)
	}
	put(conversation("c"), one, two)
	put(conversation("d"), one)
	put(conversation("empty"))
	other := conversation("e")
	other.Kind = "document"
	put(other, two)

	sizes, err := s.Blobs(begin(t), "c")
	must(t, err)
	equal(t, "sizes", sizes, map[footnote.Digest]int64{footnote.DigestOf(one): 3, footnote.DigestOf(two): 2 << 20})
	sizes, err = s.Blobs(begin(t), "empty")
	must(t, err)
	equal(t, "sizes of none", len(sizes), 0)
	_, err = s.Blobs(begin(t), "nowhere")
	wantCode(t, err, footnote.NotFound)
	holdings := func(kind string) map[string]int64 {
		t.Helper()
		list, err := s.Holdings(begin(t), "acme", kind)
		must(t, err)
		m := map[string]int64{}
		for i, h := range list {
			m[h.Stream] = h.Bytes
			if i > 0 && h.Updated.Before(list[i-1].Updated) {
				t.Errorf("holdings are not in order: %v", list)
			}
		}
		return m
	}
	equal(t, "holdings", holdings(store.Conversation), map[string]int64{"c": 2<<20 + 3, "d": 3})
	equal(t, "holdings of documents", holdings("document"), map[string]int64{"e": 2 << 20})
	none, err := s.Holdings(begin(t), "nobody", store.Conversation)
	must(t, err)
	equal(t, "holdings of an unknown stream", len(none), 0)

	must(t, s.DropBlobs(begin(t), "c", []footnote.Digest{
		footnote.DigestOf(one), footnote.DigestOf(two), footnote.DigestOf([]byte("never")),
	}))
	wantCode(t, s.DropBlobs(begin(t), "nowhere", []footnote.Digest{footnote.DigestOf(one)}), footnote.NotFound)
	for _, data := range [][]byte{one, two} {
		_, err = s.Blob(begin(t), "c", footnote.DigestOf(data))
		wantCode(t, err, footnote.NotFound)
	}
	data, err := s.Blob(begin(t), "d", footnote.DigestOf(one))
	must(t, err)
	equal(t, "shared blob", string(data), "one")
	data, err = s.Blob(begin(t), "e", footnote.DigestOf(two))
	must(t, err)
	equal(t, "shared blob", len(data), 2<<20)
	equal(t, "events", len(read(t, s, "c", 0)), 1)
	equal(t, "holdings", holdings(store.Conversation), map[string]int64{"d": 3})
	// A dropped blob can be appended again.
	_, err = s.Append(begin(t), store.Append{
		Stream: "c", After: 1, Bodies: say("y"), Blobs: map[footnote.Digest][]byte{footnote.DigestOf(one): one},
	})
	must(t, err)
	_, err = s.Blob(begin(t), "c", footnote.DigestOf(one))
	must(t, err)
}
