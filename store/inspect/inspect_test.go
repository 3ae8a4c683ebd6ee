package inspect_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store/inspect"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

// fakeLog is a log with the content a test gives it.
type fakeLog struct {
	events []footnote.Positioned
	head   footnote.Stream
	gone   footnote.Digest
	cursor int64
	books  []footnote.Tally
}

func (l *fakeLog) Get(context.Context, string) (footnote.Stream, error) { return l.head, nil }

func (l *fakeLog) Blob(_ context.Context, _ string, d footnote.Digest) ([]byte, error) {
	if d == l.gone {
		return nil, footnote.Errorf(footnote.NotFound, "gone")
	}
	return nil, nil
}

func (l *fakeLog) Tallies(_ context.Context, after footnote.Tally, _ int) ([]footnote.Tally, error) {
	if after != (footnote.Tally{}) {
		return nil, nil
	}
	return l.books, nil
}

func (l *fakeLog) Tail(_ context.Context, after int64, _ int) ([]footnote.Positioned, error) {
	return l.events[min(int(after), len(l.events)):], nil
}

func (l *fakeLog) Cursor(context.Context, string) (int64, error) { return l.cursor, nil }

// sound returns a log without defects.
func sound() *fakeLog {
	call := footnote.AssistantMessage{Step: 1, Usage: footnote.Usage{Input: 1}, Cost: footnote.Cost{MicroUSD: 5},
		Blocks: []json.RawMessage{
			json.RawMessage(`{"type":"text","text":"x"}`),
			json.RawMessage(`{"type":"tool_use","id":"a","name":"q","input":{}}`),
		}}
	last := footnote.AssistantMessage{Step: 2, Usage: footnote.Usage{Input: 2}, Cost: footnote.Cost{MicroUSD: 6}}
	l := &fakeLog{head: footnote.Stream{ID: "c", Org: "o", User: "u", Last: 8}}
	for i, b := range []footnote.Body{
		footnote.Opened{System: "sha256:s", Tools: "sha256:t"}, footnote.UserMessage{}, footnote.RunStarted{}, call,
		footnote.ToolResult{
			CallID: "a",
			Result: &footnote.StoredResult{Chunks: []footnote.Chunk{{Digest: "sha256:r"}}},
		}, footnote.StepFailed{Usage: footnote.Usage{Output: 1}}, last,
		footnote.RunFinished{Usage: footnote.Usage{Input: 3, Output: 1}, Cost: footnote.Cost{MicroUSD: 11}},
	} {
		l.events = append(l.events, footnote.Positioned{
			Position: int64(i + 1), Org: "o", User: "u",
			Event: footnote.Event{Stream: "c", Seq: int64(i + 1), Run: "r", Body: b},
		})
	}
	spent := footnote.Balance{Spent: footnote.Amount{MicroUSD: 11, Tokens: 4}}
	for _, a := range []footnote.Tally{
		{
			Org:    "o",
			User:   "u",
			Stream: "c",
		},
		{Org: "o", User: "u"},
		{Org: "o", User: "u", Day: day},
		{Org: "o"},
		{Org: "o", Day: day},
		{Day: day},
	} {
		a.Balance = spent
		l.books = append(l.books, a)
	}
	return l
}

// day is the day of all events in this test.
const day = "0001-01-01"

// deleted simulates the deletion of a conversation that had used something.
func (l *fakeLog) deleted(usd int64) {
	for i := range l.books[1:] {
		l.books[i+1].Spent.MicroUSD += usd
	}
	l.books = append(l.books, footnote.Tally{
		Org: "o", User: "u", Day: footnote.DayDeleted, Balance: footnote.Balance{Spent: footnote.Amount{MicroUSD: usd}},
	})
}

func (l *fakeLog) drop(seq int) {
	l.events = append(l.events[:seq-1:seq-1], l.events[seq:]...)
	for i := range l.events {
		l.events[i].Position, l.events[i].Seq = int64(i+1), int64(i+1)
	}
	l.head.Last = int64(len(l.events))
}

// TestCost checks that the report has the cost of everything, also outside runs.
func TestCost(t *testing.T) {
	log := sound()
	for _, b := range []footnote.Body{
		footnote.Titled{Cost: footnote.Cost{MicroUSD: 100}}, footnote.Spent{Cost: footnote.Cost{MicroUSD: 1000}},
	} {
		next := int64(len(log.events) + 1)
		log.events = append(log.events, footnote.Positioned{
			Position: next, Org: "o", User: "u", Event: footnote.Event{Stream: "c", Seq: next, Body: b},
		})
	}
	report, err := inspect.Read(t.Context(), log, nil, 0)
	if err != nil || report.Cost.MicroUSD != 1111 {
		t.Errorf("%+v, %v", report.Cost, err)
	}
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*fakeLog)
		want  string
	}{
		"nothing":      {func(*fakeLog) {}, ""},
		"a gap":        {func(l *fakeLog) { l.events[4].Seq = 9 }, "the event before it is 4"},
		"positions":    {func(l *fakeLog) { l.events[3].Position = 3 }, "the position 3 comes after 3"},
		"another user": {func(l *fakeLog) { l.events[3].User = "eve" }, "belongs to o/eve"},
		"another org":  {func(l *fakeLog) { l.head.Org = "evil" }, "the stream belongs to evil/u"},
		"no result":    {func(l *fakeLog) { l.drop(5) }, "before the result of a"},
		"no call":      {func(l *fakeLog) { l.drop(4) }, "without its call"},
		"two results":  {func(l *fakeLog) { l.events[5].Body = footnote.ToolResult{CallID: "a"} }, "already"},
		"a call at an end": {
			func(l *fakeLog) {
				l.events = append(l.events[:4:4], l.events[7])
				l.events[4].Position = 5
			}, "has no result",
		},
		"two ends":       {func(l *fakeLog) { l.events[6].Body = l.events[7].Body }, "ends twice"},
		"no beginning":   {func(l *fakeLog) { l.events[2].Body = footnote.UserMessage{} }, "has not begun"},
		"two beginnings": {func(l *fakeLog) { l.events[1].Body = footnote.RunStarted{} }, "begins twice"},
		"interleaved": {
			func(l *fakeLog) {
				l.events[1].Body, l.events[1].Run = footnote.RunStarted{}, "other"
			}, "while other is active",
		},
		"after the end": {func(l *fakeLog) {
			l.events[7], l.events[6].Body = l.events[6], l.events[7].Body
			l.events[7].Position, l.events[7].Seq = 8, 8
		}, "after the end"},
		"money": {
			func(l *fakeLog) {
				l.events[7].Body = footnote.RunFinished{Usage: footnote.Usage{Input: 3, Output: 1}}
			}, "the run took",
		},
		"tokens": {
			func(l *fakeLog) {
				l.events[7].Body = footnote.RunFailed{Cost: footnote.Cost{MicroUSD: 11}}
			}, "the run took",
		},
		"rows":   {func(l *fakeLog) { l.gone = "sha256:r" }, "sha256:r are not there"},
		"prompt": {func(l *fakeLog) { l.gone = "sha256:s" }, "sha256:s are not there"},
		"conversation": {
			func(l *fakeLog) {
				l.books[0].Spent.MicroUSD++
			}, "c: o/u: the balance is 12 millionths of a USD, but the log adds up to 11",
		},
		"user": {
			func(l *fakeLog) {
				l.books[1].Spent.MicroUSD--
			}, "o/u: the balance is 10 millionths of a USD, but the log adds up to 11",
		},
		"user's day": {
			func(l *fakeLog) {
				l.books[2].Spent.Tokens = 0
			}, "o/u on 0001-01-01: the balance is 0 tokens, but the log adds up to 4",
		},
		"org": {
			func(l *fakeLog) { l.books[3].Spent.Tokens = 5 }, "o: the balance is 5 tokens, but the log adds up to 4",
		},
		"no balance": {
			func(l *fakeLog) {
				l.books = l.books[:4]
			}, "o on 0001-01-01: the balance is 0 millionths of a USD, but the log adds up to 11",
		},
		"everybody's day": {
			func(l *fakeLog) { l.books[5].Spent.MicroUSD = 7 }, "everybody on 0001-01-01: the balance is 7 millionths",
		},
		"a day not in it": {
			func(l *fakeLog) {
				l.books[5].Day = "2026-01-02"
			}, "everybody on 2026-01-02: the balance is 11 millionths of a USD, but the log adds up to 0",
		},
		"reserved": {func(l *fakeLog) { l.books[1].Reserved.Tokens = -1 }, "the reserved amount is negative"},
		"deleted":  {func(l *fakeLog) { l.deleted(9) }, ""},
		"deleted and wrong": {
			func(l *fakeLog) {
				l.deleted(9)
				l.books[1].Spent.MicroUSD--
			}, "o/u: the balance is 19 millionths of a USD, but the log adds up to 20",
		},
		"deleted, that day": {
			func(l *fakeLog) {
				l.deleted(9)
				l.books[2].Spent.MicroUSD = 21
			}, "o/u on 0001-01-01: the balance is 21 millionths of a USD, but the log adds up to 11 to 20",
		},
		"tier": {func(l *fakeLog) {
			l.events[0].Body = footnote.Opened{Tier: "pro"}
			for i := range l.books {
				l.books[i].Spent.Tokens = 20
			}
		}, ""},
		"tier, too many": {
			func(l *fakeLog) {
				l.events[0].Body = footnote.Opened{Tier: "pro"}
				l.books[0].Spent.Tokens = 21
			}, "c: o/u: the balance is 21 tokens, but the log adds up to 4 to 20",
		},
		"head":  {func(l *fakeLog) { l.head.Last = 7 }, "its last event is 7"},
		"state": {func(l *fakeLog) { l.head.RunState = "running" }, `the stream head says run "running"`},
	} {
		t.Run(name, func(t *testing.T) {
			l := sound()
			c.spoil(l)
			report, err := inspect.Read(t.Context(), l, map[string]int64{"pro": 5}, 0)
			if err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, p := range report.Problems {
				words = append(words, p.String())
			}
			if all := strings.Join(words, "\n"); c.want == "" && all != "" || !strings.Contains(all, c.want) {
				t.Errorf("the problems are\n%s\nwant %q", all, c.want)
			}
		})
	}
}

// TestInspectRealStore inspects the events of a real store, including an active run.
func TestInspectRealStore(t *testing.T) {
	log := sqlitetest.New(t)
	if err := log.Create(t.Context(), footnote.Stream{ID: "c", Kind: "conversation", Org: "o", User: "u"}); err != nil {
		t.Fatal(err)
	}
	take := &footnote.Take{Owner: "x", TTL: time.Minute}
	if _, err := log.Append(t.Context(), footnote.Append{
		Stream: "c", Run: "r", Bodies: []footnote.Body{footnote.RunStarted{}}, Take: take,
	}); err != nil {
		t.Fatal(err)
	}
	report, err := inspect.Read(t.Context(), log, nil, 0)
	if err != nil || len(report.Problems) > 0 || report.Unfinished != 1 || report.Events != 1 || report.Runs != 1 {
		t.Errorf("report: %+v, %v", report, err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := inspect.Read(t.Context(), log, nil, 0); err == nil {
		t.Error("a store that is closed was read to its end")
	}
}
